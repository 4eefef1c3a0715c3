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

from ..conftest import keyed


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    return tmp_path / "site"


def cells_of(world: Results) -> list[Cell]:
    return [cell for dataset in world.datasets for cell in dataset.cells]


def prepared(cells: Sequence[Cell]) -> Results:
    results = collect(cells)
    prepare(results, "runs")
    return results


def taken(results: Results) -> list[str]:
    """What tables take of each dataset, in words, because nan is not equal to nan."""
    found = []
    for d in results.datasets:
        some = [boards(replace(results, datasets=(d,))), card(d, "runs"), over_both(d), influences(d), flipping(d)]
        some += [curves(d), order([d], [entry.title for entry in d.entries], "runs")]
        some += [by_method(d, HIDDEN, "runs"), flips_found(d)] if d.headline else []
        found.append(repr(some))
    return found


class Complete(dict):
    """A cache that needs nothing more."""

    def __setitem__(self, key: object, value: object) -> None:
        pytest.fail(f"{key} is computed again")


def test_boards_from_other_processes_and_from_the_cache_are_those_of_this_one(world, cache, monkeypatch):
    cells = cells_of(world)
    monkeypatch.setattr(jobs, "cpu_count", lambda: 2)
    fresh, first, again = collect(cells), prepared(cells), prepared(cells)
    for dataset in again.datasets:
        object.__setattr__(dataset, "computed", Complete(dataset.computed))
    assert taken(fresh) == taken(first) == taken(again)


def test_a_cell_that_is_added_removed_or_changed_touches_its_dataset_alone(world, cache):
    cells = [cell for cell in cells_of(world) if cell.key.dataset in ("mid", "edge")]
    prepared(cells)
    place = next(i for i, cell in enumerate(cells) if (cell.key.dataset, cell.key.method) == ("mid", "bagging"))
    old = cells[place]
    p = old.predictions["id"]
    changes = {
        "added": [old, replace(keyed(old, method="new"), title="New")],
        "removed": [],
        "predictions": [replace(old, predictions={"id": replace(p, values=p.values[::-1].copy())})],
        "code": [keyed(old, code="d" * 16)],
        "title": [replace(old, title="Renamed")],
    }
    for change, new in changes.items():
        before = set(cache.iterdir())
        changed = [*cells[:place], *new, *cells[place + 1 :]]
        results = prepared(changed)
        assert len(set(cache.iterdir()) - before) == 1, change
        assert taken(results) == taken(collect(changed))
