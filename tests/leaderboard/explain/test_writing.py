"""Runs that explain themselves, in a real store: the numbers are the board's, and a stranger finds the answers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from mlflow.entities import Run

from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.measure.catalogue import MAE, churn, scorecard
from benchmark.store.artifacts import local_folder
from benchmark.store.cell import Cell
from benchmark.store.describe import NOTE
from benchmark.store.explaining import BOARD
from benchmark.store.tracking import Store
from leaderboard.__main__ import app
from leaderboard.explain.methods import groups
from leaderboard.explain.writing import Written, explain
from leaderboard.read.results import Results, collect
from leaderboard.read.source import read
from leaderboard.tables.boards import board, boards
from leaderboard.tables.summary import summaries

Open = Callable[[], Store]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Returns a store in which two datasets, one of them of molecules, and a regression were recorded and explained."""
    folder = tmp_path_factory.mktemp("explained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        patch.chdir(folder)
        yield Store


def molecules(n: int) -> np.ndarray:
    return load_rows(load_spec("b3db_measured")).used["id"].to_numpy(dtype=str)[:n]


def of_molecules(cell: Cell) -> Cell:
    """Give the examples of a cell the ids of real molecules."""
    p = cell.predictions["id"]
    return replace(cell, predictions={"id": replace(p, ids=molecules(len(p.ids)))})


@pytest.fixture(scope="module")
def cells(world: Results) -> list[Cell]:
    """ERM and two methods on a headline dataset of molecules, and on a regression."""
    chosen = []
    for dataset in (d for d in world.datasets if d.name in ("small", "solubility")):
        for entry in dataset.entries:
            cell = entry.cells[99]
            key = replace(cell.key, dataset="b3db_measured" if dataset.name == "small" else dataset.name)
            cell = replace(cell, key=key)
            chosen.append(of_molecules(cell) if dataset.name == "small" else cell)
    return chosen


@pytest.fixture(scope="module")
def first(opened: Open, cells: list[Cell]) -> Written:
    """Everything is recorded, ERM last, and explained."""
    store = opened()
    for cell in sorted(cells, key=lambda cell: cell.key.method == "erm"):
        store.log(cell)
    return explain(store)


@pytest.fixture(scope="module")
def runs(opened: Open, first: Written) -> dict[tuple[str, str], Run]:
    """The runs of cells by dataset and method."""
    found = opened()._runs("cell")
    return {(run.data.tags["churn.dataset"], run.data.tags["churn.method"]): run for run in found}


def artifact(run: Run, name: str) -> str:
    return (local_folder(run.info.artifact_uri) / name).read_text(encoding="utf-8")


def test_the_metrics_of_a_run_are_the_numbers_of_the_board(
    runs: dict[tuple[str, str], Run], cells: list[Cell], first: Written
) -> None:
    assert first.changed == first.runs == len(cells)
    for dataset in collect(cells).datasets:
        quality = "accuracy" if dataset.task == "classification" else "mae"
        for row in board(dataset).rows:
            metrics = runs[dataset.name, row.method].data.metrics
            for key in ("delta_churn", f"delta_{quality}", "churn", quality):
                expected = row.estimates[key]
                if expected is None:
                    assert row.method == "erm"
                    assert f"id/{key}" not in metrics
                    continue
                assert metrics[f"id/{key}"] == pytest.approx(expected.value)
                if expected.low == expected.low:
                    floor = -np.inf if key.startswith("delta_") else 0
                    assert metrics[f"id/{key}_low"] == pytest.approx(max(expected.low, floor))
                    assert metrics[f"id/{key}_high"] >= metrics[f"id/{key}"]
                else:
                    assert f"id/{key}_low" not in metrics
            p = dataset.entry(row.title).cells[99].predictions["id"]
            for measure in scorecard(dataset.task):
                if np.isfinite(measure.mean(p)):
                    assert metrics[f"id/{measure.key}"] == pytest.approx(measure.mean(p))
            assert "compute_vs_erm" in metrics, "also if ERM was recorded later"


def test_the_description_says_who_is_calmest_whether_it_is_real_what_flips_and_how_to_repeat_it(
    runs: dict[tuple[str, str], Run], cells: list[Cell]
) -> None:
    dataset = next(d for d in collect(cells).datasets if d.name == "b3db_measured")
    row = next(row for row in board(dataset).rows if row.method == "calm")
    delta = row.estimates["delta_churn"]
    assert delta is not None
    assert delta.excludes_zero
    run = runs["b3db_measured", "calm"]
    note = run.data.tags[NOTE]
    assert "**Place 1 of 3 by churn**" in note, "the method that loses accuracy has no place"
    assert f"**Differs from ERM**: churn −{abs(100 * delta.value):.1f} pp [−" in note
    assert f"`{run.data.tags['command']}`" in note
    assert re.search(r"\d+ of 80 examples of the ID test flip", note)
    assert "[All methods on Small](#/experiments/" in note
    assert "No place by churn, because of its marks" in runs["b3db_measured", "wrong"].data.tags[NOTE]
    assert "This is ERM, the reference" in runs["b3db_measured", "erm"].data.tags[NOTE]
    regression = runs["solubility", "calm"].data.tags[NOTE]
    assert "Two retrainings differ by" in regression
    assert "log mol/l [" in regression


def test_the_list_of_flips_is_the_measure_of_each_example_most_fragile_first(
    runs: dict[tuple[str, str], Run], cells: list[Cell]
) -> None:
    by = {(cell.key.dataset, cell.key.method): cell.predictions["id"] for cell in cells}
    smiles = load_rows(load_spec("b3db_measured")).used.set_index("id")["smiles"]
    p, erm = by["b3db_measured", "bagging"], by["b3db_measured", "erm"]
    fragility, of_erm = (
        dict(zip(one.ids.tolist(), churn("classification").of_examples(one), strict=True))  # type: ignore[misc]
        for one in (p, erm)
    )
    rows = list(csv.DictReader(io.StringIO(artifact(runs["b3db_measured", "bagging"], "flips.csv"))))
    assert {row["example_id"] for row in rows} == {i for i, value in fragility.items() if value > 0}
    shares = [float(row["churn"]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    for row in rows:
        assert float(row["churn"]) == pytest.approx(fragility[row["example_id"]], rel=1e-4)
        assert float(row["churn_erm"]) == pytest.approx(of_erm[row["example_id"]], rel=1e-4, abs=1e-6)
        assert row["smiles"] == smiles[row["example_id"]]
    differences = list(csv.DictReader(io.StringIO(artifact(runs["solubility", "calm"], "flips.csv"))))
    mean = np.mean([float(row["mean_difference"]) for row in differences])
    assert mean == pytest.approx(churn("regression").mean(by["solubility", "calm"]), rel=1e-3)
    assert "smiles" in differences[0], "empty, as the structures are unknown"


def test_the_pages_and_pictures_need_no_other_file(runs: dict[tuple[str, str], Run]) -> None:
    for (dataset, method), run in runs.items():
        if method == "wrong":
            continue  # its retrainings agree
        page = artifact(run, "flips.html")
        assert not re.search(r"(src|href)=|url\(|@import", page)
        assert ("<svg" in page) == (dataset == "b3db_measured")
        names = ["forest.svg", *(["heatmap.svg"] if dataset == "b3db_measured" else [])]
        for name in names:
            root = ElementTree.fromstring(artifact(run, name))
            assert root.tag.endswith("}svg")
            assert "background:#ffffff" in root.attrib["style"]


def test_an_experiment_shows_its_board_and_links_to_its_runs(opened: Open, runs: dict[tuple[str, str], Run]) -> None:
    run = runs["b3db_measured", "calm"]
    experiment = opened().client.get_experiment(run.info.experiment_id)
    note = experiment.tags[NOTE]
    lines = [line for line in note.splitlines() if line.startswith("| ")]
    assert [line.split("|")[1].split()[0] for line in lines[2:]] == ["WRONG", "CALM", "BAGGING", "ERM"]
    assert f"(#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey=" in note


def test_the_board_has_a_run_for_each_method_with_the_numbers_of_the_summary(
    opened: Open, cells: list[Cell], first: Written
) -> None:
    store = opened()
    experiment = store.client.get_experiment_by_name(BOARD)
    assert first.boards == [
        f"#/experiments/{experiment.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey=churn"
    ]
    found = {run.info.run_name: run for run in store.client.search_runs([experiment.experiment_id])}
    summary = next(one for one in summaries(collect(cells)) if one.key == "classification/headline")
    assert set(found) == {"ERM", "BAGGING", "CALM", "WRONG"}
    for row in summary.rows:
        metrics = found[row.title].data.metrics
        assert metrics.get("headline/rank") == (row.rank and pytest.approx(row.rank.value))
        delta = row.estimates["delta_churn"]
        assert metrics.get("headline/delta_churn") == (delta and pytest.approx(delta.value))
        assert metrics["headline/datasets"] == 1
    assert "regression/delta_churn" in found["CALM"].data.metrics
    assert "- [Small, split 99](#/experiments/" in found["CALM"].data.tags[NOTE]


def test_nothing_is_written_or_read_where_nothing_has_changed(opened: Open, first: Written) -> None:
    store = opened()
    again = explain(store)
    assert (again.runs, again.changed, again.boards) == (first.runs, 0, [])
    results, _ = read(store.uri)
    assert results.unreadable == ()
    assert len(boards(results)) == 2, "explanations are no results"


def test_a_new_cell_changes_the_explanations_of_its_dataset_alone(
    opened: Open, cells: list[Cell], first: Written
) -> None:
    store, lines = opened(), []
    erm = next(cell for cell in cells if (cell.key.dataset, cell.key.method) == ("solubility", "erm"))
    other = replace(erm, key=replace(erm.key, method="late"), title="Late")
    run = store.log(other)
    done = explain(store, ["solubility"], lines.append)
    assert (done.runs, done.changed, done.boards) == (4, 4, [])
    assert lines == ["explained Solubility, sampling paper: 4 runs written"]
    metrics = store.client.get_run(run).data.metrics
    assert metrics["id/delta_churn"] == 0, "its predictions are ERM's"
    assert metrics["id/mae"] == pytest.approx(MAE.mean(erm.predictions["id"]))
    with pytest.raises(UserError, match="no finished run on solubilty"):
        explain(store, ["solubilty"])


def test_a_killed_explanation_is_taken_up_again(opened: Open, cells: list[Cell], first: Written) -> None:
    store = opened()
    erm = next(cell for cell in cells if (cell.key.dataset, cell.key.method) == ("b3db_measured", "erm"))
    run = store.log(replace(erm, key=replace(erm.key, method="later"), title="Later"))

    def killed(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explain(store, ["b3db_measured"], killed)  # the runs are written, the experiment is not finished
    assert explain(store, ["b3db_measured"]).changed == 0
    assert "**Place" in store.client.get_run(run).data.tags[NOTE]
    assert explain(store).boards, "the board is not up to date"
    assert not explain(store).boards


def test_a_store_of_variants_has_a_board_of_variants_and_one_of_unknown_groups_none(
    make_cell: Callable[..., Cell], cells: list[Cell]
) -> None:
    p = cells[0].predictions["id"]
    for group, expected in (("variant", ["classification"]), ("unheard of", [])):
        made = [make_cell(method, p.values, y=p.y, about={"group": group}) for method in ("erm", "knn")]
        assert list(groups(collect(made))) == expected


def test_the_command_says_what_it_did(opened: Open, first: Written, capsys: pytest.CaptureFixture[str]) -> None:
    explain(opened())
    with pytest.raises(SystemExit) as ended:
        app(["explain"])
    assert ended.value.code == 0
    assert re.search(r"^\d+ runs: 0 explained, \d+ unchanged$", capsys.readouterr().out, flags=re.M)


def test_a_store_that_does_not_exist_is_not_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(["explain", "--store", f"sqlite:///{tmp_path}/none.db"])
    assert ended.value.code == 2
    assert "create one with python -m benchmark run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
