"""The scorecard: each number is a mean over families of a measure of the predictions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import r2_score, roc_auc_score

from benchmark.measure.catalogue import AUROC
from leaderboard.read.results import Results
from leaderboard.tables.scorecard import card, classification, regression


def test_the_auroc_is_the_mean_over_families_of_scikit_learns(world: Results):
    body = classification(world, "runs")
    assert body is not None
    column = body.header.index("AUROC")
    for row in body.rows:
        families: dict[str, list[float]] = {}
        for dataset in body.datasets:
            cells = dataset.entry(row[0]).cells.values()
            tests = [cell.predictions["id"] for cell in cells]
            of_splits = [np.mean([roc_auc_score(p.y, values[:, 1]) for values in p.values]) for p in tests]
            families.setdefault(dataset.family, []).append(float(np.mean(of_splits)))
        expected = np.mean([np.mean(values) for values in families.values()])
        assert row[column].number == pytest.approx(expected)


def test_its_interval_is_students_for_one_dataset(world: Results):
    (mid,) = (d for d in world.headline() if d.name == "mid")
    p = mid.entry("ERM").cells[99].predictions["id"]
    runs = [roc_auc_score(p.y, values[:, 1]) for values in p.values]
    (ours,) = card([mid], "ERM", [AUROC], "runs")
    interval = stats.ttest_1samp(runs, 0).confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))


def test_a_regression_shows_measures_without_a_unit(world: Results):
    body = regression(world, "runs")
    assert body is not None
    assert body.header[:2] == ("Method", "R²")
    (dataset,) = body.datasets
    for title, first, *_ in body.rows:
        p = dataset.entry(title).cells[99].predictions["id"]
        assert first.number == pytest.approx(np.mean([r2_score(p.y, values[:, 0]) for values in p.values]), rel=1e-5)


def test_without_results_there_is_no_scorecard(world: Results):
    assert regression(Results((), "nothing"), "runs") is None
    assert classification(Results((), "nothing"), "runs") is None
