"""What comes from the cache is what the cells give, and only that of changed datasets is computed again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.store.cell import Cell
from leaderboard.read import jobs
from leaderboard.read.results import Results, collect
from leaderboard.tables.boards import boards, over_both
from leaderboard.tables.builders.comparisons import curves, flips_found
from leaderboard.tables.builders.scorecard import card
from leaderboard.tables.influences import flipping, influences
from leaderboard.tables.layouts import by_method
from leaderboard.tables.order import order
from leaderboard.tables.prepare import HIDDEN, prepare


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    return tmp_path / "site"


def cells_of(world: Results) -> list[Cell]:
    return [cell for d in world.datasets for entry in d.entries for cell in entry.cells.values()]


def prepared(cells: Sequence[Cell]) -> Results:
    results = collect(cells)
    prepare(results, "runs")
    return results


def assert_as_from_scratch(results: Results, cells: Sequence[Cell]) -> None:
    fresh = collect(cells)
    assert repr(boards(results)) == repr(boards(fresh))  # nan is not equal to nan
    for ours, theirs in zip(results.datasets, fresh.datasets, strict=True):
        assert repr(card(ours)) == repr(card(theirs))
        assert influences(ours) == influences(theirs)
        assert flipping(ours) == flipping(theirs)
        assert curves(ours) == curves(theirs)
        assert repr(over_both(ours)) == repr(over_both(theirs))
        hidden = (by_method(one, HIDDEN, "runs") if one.headline else {} for one in (ours, theirs))
        assert repr(next(hidden)) == repr(next(hidden))
        if theirs.task == "classification":
            assert repr(flips_found(ours)) == repr(flips_found(theirs))
        titles = [entry.title for entry in ours.entries]
        assert repr(order([ours], titles, "runs")) == repr(order([theirs], titles, "runs"))


def test_boards_from_other_processes_and_from_the_cache_are_those_of_this_one(world, cache, monkeypatch):
    cells = cells_of(world)
    monkeypatch.setattr(jobs, "cpu_count", lambda: 2)
    assert_as_from_scratch(prepared(cells), cells)
    of_dataset = ("boards._board", "boards._over_both", "order.values_of", "builders.comparisons.estimates")
    others = (
        "builders.comparisons._curves",
        "builders.scorecard._card",
        "influences._influences",
        "influences._flipping",
    )
    for computed in (*of_dataset, *others):
        monkeypatch.setattr(f"leaderboard.tables.{computed}", lambda *given: pytest.fail(f"{given} is computed again"))
    again = prepared(cells)
    assert len(boards(again)) == 5
    assert all(map(over_both, again.datasets))
    assert all(order([d], [entry.title for entry in d.entries], "runs").churn for d in again.datasets)
    assert all(map(card, again.datasets))
    assert all(map(influences, again.datasets))
    assert all(map(flipping, again.datasets))
    assert any(map(curves, again.datasets))
    assert any(flips_found(dataset) for dataset in again.datasets if dataset.headline)


@pytest.mark.parametrize("change", ["added", "removed", "predictions", "code", "title"])
def test_a_cell_that_is_added_removed_or_changed_touches_its_dataset_alone(world, make_cell, cache, change):
    cells = cells_of(world)
    prepared(cells)
    before = set(cache.iterdir())
    place = next(i for i, cell in enumerate(cells) if (cell.key.dataset, cell.key.method) == ("mid", "bagging"))
    old = cells[place]
    p = old.predictions["id"]
    new = {
        "added": [old, replace(old, key=replace(old.key, method="new"), title="New")],
        "removed": [],
        "predictions": [replace(old, predictions={"id": replace(p, values=p.values[::-1].copy())})],
        "code": [replace(old, key=replace(old.key, code="d" * 16))],
        "title": [replace(old, title="Renamed")],
    }[change]
    changed = [*cells[:place], *new, *cells[place + 1 :]]
    results = prepared(changed)
    assert len(set(cache.iterdir()) - before) == 1
    assert_as_from_scratch(results, changed)
