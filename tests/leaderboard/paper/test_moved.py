"""What moved between two generations of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from benchmark.errors import UserError
from benchmark.store.cell import Cell
from leaderboard.paper.moved import by_method, moves, read, report, sentence
from leaderboard.read.results import Results, collect
from leaderboard.write.formats import to_markdown


@pytest.fixture
def generations(make_cell: Callable[..., Cell]) -> tuple[Results, Results]:
    """Two methods on two datasets; then other code trained ``erm`` again, and one prediction in ten moved."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    before, now = [], []
    for dataset in ("one", "two"):
        for method in ("erm", "forest"):
            share = rng.random((5, 60))
            before.append(make_cell(method, np.stack([1 - share, share], -1), y=y, dataset=dataset))
            if method == "erm":
                share = np.where(rng.random(share.shape) < 0.1, 1 - share, share)
            again = make_cell(method, np.stack([1 - share, share], -1), y=y, dataset=dataset)
            now.append(replace(again, key=replace(again.key, code="d" * 16)) if method == "erm" else again)
    return collect(before, "before"), collect(now, "now")


def test_a_move_is_the_paired_difference_of_cells_that_other_code_trained(generations):
    moved = list(moves(*generations))
    assert [(m.dataset, m.method, m.measure) for m in moved] == [
        (dataset, "ERM", measure) for dataset in ("one", "two") for measure in ("accuracy", "churn")
    ]
    old, new = (next(iter(g.datasets[0].entries[0].cells.values())).predictions["id"] for g in generations)
    right = [(p.values.argmax(2) == p.y).mean(1) for p in (old, new)]
    accuracy, churn = moved[:2]
    interval = ttest_1samp(right[1] - right[0], 0).confidence_interval()
    assert (accuracy.low, accuracy.high) == pytest.approx(tuple(interval))
    flips = [np.mean([(a != b).mean() for a, b in combinations(p.values.argmax(2), 2)]) for p in (old, new)]
    assert (churn.before, churn.now) == pytest.approx(tuple(flips))
    assert churn.difference == pytest.approx(flips[1] - flips[0])


def test_moves_come_back_from_the_file_of_the_report(generations, tmp_path: Path):
    moved = list(moves(*generations))
    assert to_markdown(by_method(moved)) in report(*generations, tmp_path / "moved.csv")
    again = read(tmp_path / "moved.csv")
    assert [(m.dataset, m.measure, m.canonical_seed) for m in again] == [
        (m.dataset, m.measure, m.canonical_seed) for m in moved
    ]
    assert again[1].difference == pytest.approx(moved[1].difference, rel=1e-6)
    assert to_markdown(by_method(again)) == to_markdown(by_method(moved))
    with pytest.raises(UserError, match="before: none of its cells has been trained again"):
        report(generations[0], generations[0])


def test_the_sentence_counts_the_cells_whose_interval_excludes_zero(generations):
    accuracy, churn, *others = moves(*generations)
    moved = [replace(accuracy, low=-0.1, high=0.1), replace(churn, difference=-0.08, low=-0.1, high=-0.01), *others]
    expected = sum(m.low > 0 or m.high < 0 for m in others if m.measure == "churn") + 1
    assert f"in churn excludes 0 for {expected} of 2 cells" in sentence(moved)
    assert "The largest difference in churn is −8.0 pp: ERM on one, sampling paper." in sentence(moved)


def test_the_mean_over_families_counts_a_family_once(generations):
    moved = [m for m in moves(*generations) if m.measure == "churn"]
    third = replace(moved[1], dataset="twin of two", difference=moved[1].difference + 0.02)
    (row,) = by_method([*moved, third, *(replace(m, measure="accuracy") for m in (*moved, third))]).rows
    assert row[2].number == pytest.approx(100 * (moved[0].difference + moved[1].difference + 0.01) / 2)
