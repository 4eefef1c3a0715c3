"""Intervals for these splits, other splits and other families, against calculations by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from benchmark.measure.catalogue import MATCHED_CHURN
from benchmark.store.cell import Cell
from leaderboard.read.results import collect
from leaderboard.tables.builders.generality import split_variance, statements

N, RUNS = 150, 8


def predictions(seed: int, flips: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    labels = np.where(rng.random((RUNS, N)) < flips, 1 - y, y)
    return np.where(labels[..., None] == np.arange(2), 0.9, 0.1)


def delta(cells: list[Cell], dataset: str, split: int) -> tuple[float, float]:
    """Difference in matched churn of CALM and ERM and its jackknife variance, by double loops."""
    found = {
        c.title: MATCHED_CHURN.of_runs(c.predictions["id"])
        for c in cells
        if (c.key.dataset, c.key.canonical_seed) == (dataset, split)
    }

    def of(runs: list[int]) -> float:
        churns = {t: np.mean([x[a, b] for a, b in combinations(runs, 2)]) for t, x in found.items()}
        return float(churns["CALM"] - churns["ERM"])

    every = list(range(RUNS))
    without = np.array([of([r for r in every if r != out]) for out in every])
    return of(every), float((RUNS - 1) / RUNS * np.sum((without - without.mean()) ** 2))


@pytest.fixture(scope="module")
def cells(make_cell) -> list[Cell]:
    """Four families; on two of them three splits, which differ in how often predictions flip."""
    made = []
    for d in range(4):
        for split, more in ((99, 0.0), (7, 0.06), (42, -0.05)) if d < 2 else ((99, 0.0),):
            for i, (method, rate) in enumerate({"erm": 0.2, "calm": 0.08 + 0.02 * d}.items()):
                made.append(
                    make_cell(
                        method,
                        predictions(100 * d + 10 * i + split, rate + more * (1 - i)),
                        dataset=f"d{d}",
                        split=split,
                    )
                )
    return made


def test_the_variance_between_splits_is_that_of_the_differences_less_that_of_retraining(cells: list[Cell]):
    (found,) = split_variance(collect(cells)).values()
    parts = [[delta(cells, d, s) for s in (7, 42, 99)] for d in ("d0", "d1")]
    by_hand = np.mean([np.var([v for v, _ in of], ddof=1) - np.mean([var for _, var in of]) for of in parts])
    assert found.variance == pytest.approx(by_hand)
    assert found.df == 4


def test_each_statement_has_its_own_interval_of_one_mean(cells: list[Cell]):
    body = statements(collect(cells), "runs")
    assert body is not None
    ((title, here, splits, families),) = body.rows
    assert title == "CALM"
    of = {
        d: [delta(cells, d, s) for s in ((7, 42, 99) if d in ("d0", "d1") else (99,))] for d in ("d0", "d1", "d2", "d3")
    }
    means = [100 * np.mean([v for v, _ in each]) for each in of.values()]
    low, high = stats.t.interval(0.95, 3, np.mean(means), stats.sem(means))
    assert (families.number, families.low, families.high) == pytest.approx((np.mean(means), low, high))
    assert [here.number, splits.number] == pytest.approx([families.number] * 2)
    between = split_variance(collect(cells))["CALM"]
    added = sum(between.variance / len(each) for each in of.values()) / 16
    own = sum(sum(var for _, var in each) / len(each) ** 2 for each in of.values()) / 16
    assert here.high - here.low < splits.high - splits.low
    half = (splits.high - splits.low) / 200
    assert np.sqrt(own + added) * stats.t.ppf(0.975, 30) < half < np.sqrt(2 * own + added) * stats.t.ppf(0.975, 3)
    assert f"in pp: CALM {100 * np.sqrt(between.variance):.1f} (4 or more degrees of freedom)" in body.notes[1]


def test_with_one_split_each_nothing_is_said_of_other_splits(cells: list[Cell]):
    body = statements(collect([cell for cell in cells if cell.key.canonical_seed == 99]), "runs")
    assert body is not None
    assert body.rows[0][2].text == "–"
    assert body.notes[1].startswith("No method has several canonical splits")
