"""Intervals of triage, against leaving runs out by hand."""

import numpy as np
import pytest

from benchmark.measure.triage import measured
from leaderboard.tables.builders.comparisons import estimates


def test_intervals_leave_out_one_run_after_the_other(predictions):
    p = predictions(6)
    estimate = estimates([p])["recall of churn"]
    without = [measured(p.only([r for r in range(6) if r != out]))["recall of churn"] for out in range(6)]
    error = np.sqrt(5 / 6 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert estimate.value == pytest.approx(measured(p)["recall of churn"])
    assert (estimate.high - estimate.low) / 2 == pytest.approx(
        2.5705818 * error
    )  # Student's t with 5 degrees of freedom
    assert np.isnan(estimates([predictions(3)])["recall of churn"].low)
