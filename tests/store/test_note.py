"""What a run shows in MLflow: the board's numbers, the flips, and a note that begins with the result."""

import io
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from benchmark.measure.catalogue import ORDER
from benchmark.store import note
from benchmark.store.artifacts import local_path
from benchmark.store.cell import Cell
from benchmark.store.tracking import Store
from benchmark.types import Task
from leaderboard.read.results import collect
from leaderboard.tables.boards import board

from .conftest import planned, trained


@cache
def cells(task: Task, *texts: str) -> list[Cell]:
    """Return trained cells, ERM's first."""
    plans = [planned(text, 1, 2, 3, 4, task=task) for text in texts]
    return sorted(trained(*plans), key=lambda cell: cell.key.method != "erm")


@pytest.fixture(scope="module", params=["classification", "regression"])
def pair(request: pytest.FixtureRequest) -> list[Cell]:
    """ERM and another method."""
    return cells(request.param, "erm", "knn")


def test_metrics_and_table_are_the_numbers_of_the_board(pair: list[Cell]) -> None:
    erm, knn = pair
    (dataset,) = collect(pair).datasets
    (row,) = (row for row in board(dataset, "id", "runs").rows if row.method == "knn")
    shown = note.show(knn, erm)
    rows = pd.read_csv(io.BytesIO(shown.files["measures.csv"])).set_index(["test", "measure"])
    for measure in (key for key in row.estimates if ("id", key) in rows.index):
        for name, key in (("value", measure), ("delta", f"delta_{measure}")):
            expected = row.estimates[key]
            assert expected is not None
            assert rows.loc[("id", measure), name] == pytest.approx(expected.value, rel=1e-5, abs=1e-9)
            if name == "delta":
                ends = pytest.approx([expected.low, expected.high], rel=1e-5, abs=1e-9, nan_ok=True)
                assert rows.loc[("id", measure), ["delta_low", "delta_high"]].tolist() == ends
    ordered = ORDER[dataset.task].key
    difference = row.estimates[f"delta_{ordered}"]
    assert difference is not None
    ends = [shown.metrics[f"id/delta_{ordered}{end}"] for end in ("", "_low", "_high")]
    assert ends == pytest.approx([difference.value, difference.low, difference.high])
    assert len(shown.metrics) <= 10
    assert shown.metrics["compute_vs_erm"] == pytest.approx(knn.fit_seconds / erm.fit_seconds)


def test_the_first_line_says_the_result_and_the_note_how_to_repeat_it(pair: list[Cell]) -> None:
    erm, knn = pair
    shown = note.show(knn, erm)
    first = shown.tags[note.NOTE].splitlines()[0]
    assert first.startswith("**k-NN")
    regression = knn.predictions["id"].task == "regression"
    assert ("two retrainings differ by " if regression else "two retrainings disagree on ") in first
    ordered = ORDER[knn.predictions["id"].task]
    low, high = (shown.metrics[f"id/delta_{ordered.key}_{end}"] for end in ("low", "high"))
    assert (f"Its {ordered.name} differs from ERM's by" in first) == (low > 0 or high < 0)
    assert f"Repeat it: `{knn.facts.command}`" in shown.tags[note.NOTE]
    assert "This is ERM" in note.show(erm, None).tags[note.NOTE].splitlines()[0]
    assert "There is no ERM" in note.show(knn, None).tags[note.NOTE].splitlines()[0]
    alone = note.show(knn.only([1]), erm)
    assert "a single retraining has no churn" in alone.tags[note.NOTE].splitlines()[0]
    assert "flips.parquet" not in alone.files


def test_a_target_in_mol_per_litre_is_not_rounded_to_zero() -> None:
    erm, knn = cells("regression", "erm", "knn")
    small = [
        replace(cell, predictions={k: replace(p, y=p.y * 1e-8, values=p.values * 1e-8) for k, p in tests.items()})
        for cell in (erm, knn)
        if (tests := cell.predictions)
    ]
    text = note.show(small[1], small[0]).tags[note.NOTE]
    assert "e\u221208 [" in text.splitlines()[0] or "e\u221209 [" in text.splitlines()[0]
    assert "0.000 " not in text


def test_the_flips_are_the_examples_that_differ_most_first() -> None:
    erm, knn = cells("classification", "erm", "knn")
    flips = pd.read_parquet(io.BytesIO(note.show(knn, erm).files["flips.parquet"]))
    p = knn.predictions["id"]
    classes = p.values.argmax(-1)
    share = pd.Series(np.mean([classes[i] != classes[j] for i in range(4) for j in range(i)], axis=0), p.ids)
    assert flips.set_index("example_id")["churn"].to_dict() == pytest.approx(share[share > 0].to_dict())
    assert flips["churn"].is_monotonic_decreasing
    assert {"y_true", "churn_erm"} <= {*flips}


@pytest.mark.parametrize("order", [("erm", "knn"), ("knn", "erm")])
def test_a_run_is_compared_with_erm_whichever_is_recorded_first(store: Store, order: tuple[str, str]) -> None:
    by_method = {cell.key.method: cell for cell in cells("classification", "erm", "knn")}
    runs = {method: store.log(by_method[method]) for method in order}
    data = store.client.get_run(runs["knn"]).data
    expected = note.show(by_method["knn"], by_method["erm"])
    assert dict(data.metrics) == pytest.approx(dict(expected.metrics))
    assert data.tags[note.NOTE] == expected.tags[note.NOTE]
    folder = local_path(store.client.get_run(runs["knn"]).info.artifact_uri)
    assert folder is not None
    assert (folder / "measures.csv").read_bytes() == expected.files["measures.csv"]
    assert len(list(store.cells())) == 2
    assert store.unreadable == []


def test_when_erm_is_recorded_again_the_numbers_change_and_an_edited_note_stays(store: Store) -> None:
    erm, knn = cells("classification", "erm", "knn")
    store.log(erm)
    run = store.log(knn)
    mine = f"{store.client.get_run(run).data.tags[note.NOTE]}\n\nWe deploy this one."
    store.client.set_tag(run, note.NOTE, mine)
    store.log(replace(erm, fit_seconds=4 * knn.fit_seconds))
    data = store.client.get_run(run).data
    assert data.metrics["compute_vs_erm"] == pytest.approx(0.25)
    assert data.tags[note.NOTE] == mine


def test_erm_on_other_features_or_without_a_time_gives_no_cost_and_forests_have_no_recipe(store: Store) -> None:
    erm, knn = cells("classification", "erm", "knn")
    other = replace(erm, key=replace(erm.key, features="atom_pairs.64"))
    params = store.client.get_run(store.log(other)).data.params
    assert (params["features"], "recipe.lr" in params) == ("atom_pairs.64", True)
    run = store.log(knn)
    data = store.client.get_run(run).data
    assert "compute_vs_erm" not in data.metrics, "there is no reference yet"
    assert "recipe.lr" not in data.params
    store.log(replace(erm, fit_seconds=0.0))
    metrics = store.client.get_run(run).data.metrics
    assert "compute_vs_erm" not in metrics
    assert "id/delta_matched_churn" in metrics
