"""Boards from cells."""

import numpy as np
import pandas as pd
import pytest

from benchmark.measure.catalogue import CHURN
from benchmark.store.cell import Cell
from leaderboard.read.results import collect
from leaderboard.tables.boards import SUSPICIONS, boards, to_table
from leaderboard.tables.table import Value

from ..conftest import cell, flipping, keyed, submitted, sure

RNG = np.random.default_rng(0)
ERM = cell("erm", sure(flipping(RNG, 0.25, 5, 40)))
CALM = cell("calm", sure(flipping(RNG, 0.05, 5, 40)))


def test_differences_are_taken_pair_by_pair_at_equal_seeds() -> None:
    fewer = cell("calm", CALM.predictions["id"].values[[4, 0, 2]], seeds=(5, 1, 3), seconds=2.5)
    (board,) = boards(collect([fewer, ERM]))
    row, erm = board.rows
    assert (row.method, erm.method) == ("calm", "erm")
    ours, theirs = (CHURN.mean(one.only([1, 3, 5]).predictions["id"]) for one in (CALM, ERM))
    assert row.estimates["delta_churn"].value == pytest.approx(ours - theirs)
    assert erm.estimates["delta_churn"] is None
    assert row.estimates["compute"].value == 2.5
    assert any("same train seeds" in note for note in board.notes)
    assert not any("train seeds" in note for note in boards(collect([CALM, ERM]))[0].notes)


def losing(rate: float, spread: float) -> Cell:
    """Return a cell whose runs are wrong on ``rate`` more examples than ERM's on average, ``spread`` more or less."""
    p = ERM.predictions["id"]
    rng = np.random.default_rng(1)
    labels = p.values.argmax(-1)
    for run, share in zip(labels, rate + spread * np.array([-1, -0.5, 0, 0.5, 1]), strict=True):
        right = np.flatnonzero(run == p.y)
        flipped = rng.choice(right, round(abs(share) * len(p.y)), replace=False)
        run[flipped] = 1 - run[flipped]
    return cell("losing", sure(labels))


@pytest.mark.parametrize(
    ("rate", "spread", "expected"),
    [
        (0.2, 0.025, ("†",)),  # 20 pp, give or take 2.5 pp: beyond the limit of 5 pp
        (0.1, 0.1, ("†?",)),  # measured beyond the limit, but the interval contains it
        (0.025, 0.05, ()),  # measured within the limit, whatever the interval
        (0.0, 0.0, ()),
    ],
)
def test_a_loss_of_accuracy_whose_interval_contains_the_limit_is_marked_as_undecided(rate, spread, expected):
    (board,) = boards(collect([ERM, losing(rate, spread)]))
    row = next(row for row in board.rows if row.method == "losing")
    assert row.marks == expected
    delta = row.estimates["delta_accuracy"]
    assert (delta.value < -0.05) == bool(expected)
    assert (delta.low < -0.05 < delta.high) == (expected == ("†?",) or rate == 0.025)


def test_without_an_interval_a_loss_beyond_the_limit_is_undecided() -> None:
    wrong = cell("wrong", sure(1 - (np.arange(40) % 2)[None]))
    right = cell("right", sure((np.arange(40) % 2)[None]))
    (board,) = boards(collect([ERM.only([1]), wrong, right]))
    assert {row.method: row.marks for row in board.rows} == {"erm": (), "wrong": ("†?",), "right": ()}


def test_a_regression_that_buys_low_churn_with_errors_is_marked_and_never_best() -> None:
    rng = np.random.default_rng(2)
    y = np.linspace(-1, 1, 40).astype(np.float32)

    def runs(slope: float, noise: float) -> np.ndarray:
        return (slope * y + noise * rng.normal(size=(5, 40)))[..., None].astype(np.float32)

    erm = cell("erm", runs(1, 0.2), y=y)
    cells = {
        "calm": runs(1, 0.1),
        "shrunk": runs(0.5, 0.01),  # half the truth, an MAE of 0.26 against ERM's 0.16
        "constant": np.full((5, 40, 1), 0.1, dtype=np.float32),
        "shuffled": np.broadcast_to(rng.permutation(y)[None, :, None], (5, 40, 1)),  # no constant, and no better
    }
    (board,) = boards(collect([erm, *(cell(name, values, y=y) for name, values in cells.items())]))
    collapsed = dict.fromkeys(("constant", "shuffled"), ("†", "collapsed"))
    assert {row.method: row.marks for row in board.rows} == {"erm": (), "calm": (), "shrunk": ("†",), **collapsed}
    assert board.rows[0].method == "shuffled", "it never changes"
    assert board.rows[-1].method == "constant", "its 1 − ICC is undefined"
    table = to_table(board)
    best = [row[0] for row in table.rows for value in row[1:] if value.mark == "best"]
    assert set(best) == {"CALM"}
    assert any("regression" in note for note in table.notes if note.startswith("†"))
    assert any("best constant" in note for note in table.notes if note.startswith("Collapsed"))


def test_without_erm_the_board_names_the_command_to_run_it() -> None:
    (board,) = boards(collect([CALM]))
    assert any("run --method erm --dataset made_up" in note for note in board.notes)
    assert to_table(board).rows[0][2] == Value("–")


def test_the_table_of_a_board_marks_the_best_unmarked_method() -> None:
    wrong = cell("wrong", sure(np.repeat(1 - (np.arange(40) % 2)[None], 5, axis=0)))
    constant = cell("constant", sure(np.zeros((5, 40), dtype=int)))
    (board,) = boards(collect([ERM, CALM, wrong, constant]))
    table = to_table(board)
    assert table.header[:3] == ("Method", "Matched churn (%)", "Δ matched churn (pp)")
    assert [row[0] for row in table.rows] == ["WRONG †", "CALM", "ERM", "CONSTANT † collapsed"]
    best = pd.DataFrame(table.rows, columns=table.header).set_index("Method").map(lambda value: value.mark == "best")
    for title in ("Matched churn (%)", "Accuracy", "Churn (%)", "Sym-KL (nats)", "Brier score"):
        assert [*best.index[best[title]]] == ["CALM"], title
    assert not best["Predicted positive (%)"].any(), "neither more nor less is better"
    assert any(note.startswith("† Accuracy more than 5 pp below ERM's") for note in table.notes)
    assert (table.datasets, table.key, table.kind) == (("made_up",), "made_up-id", "runs")


def test_the_kind_of_interval_reaches_every_column_and_the_caption() -> None:
    (over_runs,), (over_examples,) = boards(collect([ERM, CALM])), boards(collect([ERM, CALM]), "examples")
    for ours, theirs in zip(over_runs.rows, over_examples.rows, strict=True):
        assert ours.estimates["churn"].value == pytest.approx(theirs.estimates["churn"].value)
        assert ours.estimates["churn"].low != theirs.estimates["churn"].low
    assert "over test examples" in to_table(over_examples).caption


def test_the_marks_of_a_submission_are_shown_with_their_meaning_and_never_at_the_best_value() -> None:
    copied = cell("copied", np.repeat(CALM.predictions["id"].values[:1], 5, axis=0), title="Copied")
    (board,) = boards(collect([ERM, CALM, submitted(copied, marks="alike unrelated")]))
    table = to_table(board)
    assert table.rows[0][0] == "Copied alike unrelated"
    assert {SUSPICIONS["alike"], SUSPICIONS["unrelated"]} <= set(table.notes)
    churn = table.header.index("Churn (%)")
    assert [row[churn].mark for row in table.rows] == ["", "best", ""]


def with_versions(one: Cell, **changes: str) -> Cell:
    versions = {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "suite": "0.1.0"}
    return one.with_facts(versions=versions | changes)


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        (with_versions(CALM, torch="2.12.0"), with_versions(ERM), "torch 2.12.0, ERM's 2.13.0"),
        (keyed(CALM, code="calm@1 mlp@2"), keyed(ERM, code="erm@1 mlp@1"), "mlp 2, ERM's 1"),
        (keyed(CALM, device="cuda"), ERM, "device cuda, ERM's cpu"),
        (CALM.with_facts(modified=True), ERM.with_facts(modified=False), "uncommitted changes in it alone"),
    ],
)
def test_a_difference_from_an_erm_of_other_code_versions_or_device_is_marked(mine, theirs, said):
    (board,) = boards(collect([mine, theirs]))
    assert {row.method: row.differs for row in board.rows} == {"calm": (said,), "erm": ()}
    table = to_table(board)
    shown = {column.key: cell for column, cell in zip(board.columns, table.rows[0][1:], strict=False)}
    flags = {key for key, cell in shown.items() if isinstance(cell, Value) and "‡" in cell.flags}
    assert flags == {column.key for column in board.columns if column.versus} | {"compute"}
    assert shown["churn"].mark == "best"
    assert f"‡ CALM: {said}." in table.notes
    assert any(note.startswith("‡ Other code, library versions or device") for note in table.notes)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (with_versions(CALM, python="3.12.1", pillow="9"), with_versions(ERM)),
        (keyed(with_versions(CALM, suite="0.2.0"), code="calm@1 mlp@1"), keyed(with_versions(ERM), code="erm@1 mlp@1")),
        (CALM.with_facts(commit="1" * 40, device="cpu (x86_64, AVX512)"), ERM.with_facts(device="cpu (x86_64)")),
        (CALM.with_facts(modified=True), ERM.with_facts(modified=None)),
        (keyed(CALM, device="unknown"), ERM),
    ],
)
def test_what_changes_no_prediction_or_is_unknown_is_not_marked(mine: Cell, theirs: Cell) -> None:
    (board,) = boards(collect([mine, theirs]))
    assert [row.differs for row in board.rows] == [(), ()]
    assert "‡" not in repr(to_table(board))
