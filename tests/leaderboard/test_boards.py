"""From cells to boards and to HTML, LaTeX and CSV."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.types import Cell, CellKey, Predictions
from leaderboard.boards import boards
from leaderboard.render import latex, texts, to_csv, write_site
from leaderboard.results import collect

ABOUT = {
    "command": "python -m benchmark run --method …",
    "dataset.title": "Made up & <b>small</b>",
    "dataset.group": "extra",
    "dataset.licence": "CC0-1.0",
    "dataset.cite": "-",
    "rows": "9 train, 40 id",
    "fingerprint.data": "d",
    "fingerprint.split": "s",
}


def cell(
    method: str,
    values: np.ndarray,
    *,
    seeds: tuple[int, ...] | None = None,
    canonical_seed: int = 99,
    problem: str = "p",
    y: np.ndarray | None = None,
    params: Mapping[str, float] | None = None,
    seconds: float = 1.0,
) -> Cell:
    seeds = seeds or tuple(range(1, len(values) + 1))
    n = values.shape[1]
    y = np.arange(n) % 2 if y is None else y
    ids = np.array([f"m{i}" for i in range(n)])
    key = CellKey("made_up", method, dict(params or {}), canonical_seed, seeds, problem, "c")
    task = "classification" if values.shape[2] > 1 else "regression"
    return Cell(key, method.upper(), {"id": Predictions(seeds, ids, y, values, task)}, seconds, ABOUT)


def classes(labels: np.ndarray) -> np.ndarray:
    """Probabilities 0.9 and 0.1 for a table of predicted classes (R, T)."""
    return np.where(labels[..., None] == np.arange(2), 0.9, 0.1)


def noisy(rng: np.random.Generator, rate: float, runs: int = 5, n: int = 40) -> np.ndarray:
    truth = np.arange(n) % 2
    return classes(np.where(rng.random((runs, n)) < rate, 1 - truth, truth))


RNG = np.random.default_rng(0)
ERM = cell("erm", noisy(RNG, 0.25))
CALM = cell("calm", noisy(RNG, 0.05), seconds=2.5)


def test_differences_are_taken_pair_by_pair_at_equal_seeds() -> None:
    fewer = cell("calm", CALM.predictions["id"].values[[4, 0, 2]], seeds=(5, 1, 3))
    (board,) = boards(collect([fewer, ERM]))
    row = next(row for row in board.rows if row.method == "calm")
    ours = fewer.predictions["id"].values.argmax(-1)[[1, 2, 0]]
    theirs = ERM.predictions["id"].values.argmax(-1)[[0, 2, 4]]
    expected = np.mean(
        [(ours[i] != ours[j]).mean() - (theirs[i] != theirs[j]).mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    )
    delta = row.estimates["delta_churn"]
    assert delta is not None
    assert delta.value == pytest.approx(expected)
    assert row.estimates["compute"].value == pytest.approx(1.0)  # type: ignore[union-attr]


def test_the_lowest_churn_comes_first_and_erm_has_no_difference_to_itself() -> None:
    (board,) = boards(collect([ERM, CALM]))
    assert [row.method for row in board.rows] == ["calm", "erm"]
    assert board.rows[1].estimates["delta_churn"] is None
    assert board.rows[0].estimates["compute"].value == 2.5  # type: ignore[union-attr]


def test_the_newest_cell_counts_and_other_data_is_left_out_with_a_note() -> None:
    older = replace(ERM, key=replace(ERM.key, problem="older data"))
    repeated = cell("erm", noisy(RNG, 0.4))
    (board,) = boards(collect([CALM, ERM, repeated, older]))
    erm = next(row for row in board.rows if row.method == "erm")
    assert erm.estimates["accuracy"].value == pytest.approx(  # type: ignore[union-attr]
        (ERM.predictions["id"].values.argmax(-1) == ERM.predictions["id"].y).mean()
    )
    assert any("left out" in note and "older data" in note for note in board.notes)


def test_low_churn_bought_with_errors_is_marked_and_never_best() -> None:
    wrong = cell("wrong", classes(np.repeat(1 - (np.arange(40) % 2)[None], 5, axis=0)))
    constant = cell("constant", classes(np.zeros((5, 40), dtype=int)))
    (board,) = boards(collect([ERM, CALM, wrong, constant]))
    marks = {row.method: row.marks for row in board.rows}
    assert marks == {"erm": (), "calm": (), "wrong": ("†",), "constant": ("†", "collapsed")}
    page = to_csv(board)
    assert page.count("†") == 2


def test_without_erm_the_board_says_how_to_get_it() -> None:
    (board,) = boards(collect([CALM]))
    assert any("run --method erm --dataset made_up" in note for note in board.notes)
    assert texts(board)[1][2] == "–"


def test_several_splits_are_averaged() -> None:
    other = cell("erm", noisy(RNG, 0.1), canonical_seed=7)
    (board,) = boards(collect([ERM, other]))
    single = [boards(collect([c]))[0].rows[0].estimates["churn"].value for c in (ERM, other)]  # type: ignore[union-attr]
    assert board.rows[0].estimates["churn"].value == pytest.approx(np.mean(single))  # type: ignore[union-attr]
    assert board.rows[0].splits == (7, 99)


def test_a_regression_has_its_own_columns() -> None:
    y = np.linspace(-1, 1, 40).astype(np.float32)
    values = y[None, :, None] + RNG.normal(size=(4, 40, 1))
    (board,) = boards(collect([cell("erm", values, y=y)]))
    assert [column.key for column in board.columns] == ["mae", "delta_mae", "churn", "delta_churn", "compute"]
    assert board.rows[0].estimates["churn"].value > 0.5  # type: ignore[union-attr]


def test_the_csv_holds_the_numbers_of_the_table() -> None:
    (board,) = boards(collect([ERM, CALM]))
    rows = list(csv.DictReader(io.StringIO(to_csv(board))))
    assert [row["method"] for row in rows] == ["calm", "erm"]
    assert float(rows[0]["churn"]) == pytest.approx(board.rows[0].estimates["churn"].value)  # type: ignore[union-attr]
    assert rows[1]["delta_churn"] == ""


def test_latex_escapes_what_latex_would_misread() -> None:
    assert latex("50 % & a_b {x} λ=3 Δ −1 ×2 \\ -4.2 a-b") == (
        r"50 \% \& a\_b \{x\} $\lambda$=3 $\Delta$ $-$1 $\times$2 \textbackslash{} $-$4.2 a-b"
    )


def test_the_site_is_whole_escaped_and_needs_no_network(tmp_path: Path) -> None:
    out = tmp_path / "site"
    page = write_site(boards(collect([ERM, CALM])), "sqlite:///x.db", out).read_text()
    assert "Made up &amp; &lt;b&gt;small&lt;/b&gt;" in page
    assert "http" not in page.replace("https://www.w3.org", "")
    tex = (out / "tables" / "made_up-id.tex").read_text()
    assert tex.count(r"\\") == 3
    assert "jackknife over runs" in tex
    write_site([], "sqlite:///x.db", out)
    assert "holds no finished cell yet" in (out / "index.html").read_text()
    assert not (out / "tables" / "made_up-id.tex").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_folder_that_is_not_ours_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="not a leaderboard"):
        write_site([], "sqlite:///x.db", tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
