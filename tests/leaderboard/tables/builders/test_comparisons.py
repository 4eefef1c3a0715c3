"""Intervals of triage, against leaving runs out by hand, and compute times."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.measure.triage import measured
from leaderboard.read.results import collect
from leaderboard.tables.builders.comparisons import compute_times, estimates
from leaderboard.tables.table import MISSING, Value


def test_intervals_leave_out_one_run_after_the_other(predictions):
    p = predictions(6)
    estimate = estimates([p])["recall of churn"]
    without = [measured(p.only([r for r in range(6) if r != out]))["recall of churn"] for out in range(6)]
    error = np.sqrt(5 / 6 * np.sum((np.array(without) - np.mean(without)) ** 2))
    assert estimate.value == pytest.approx(measured(p)["recall of churn"])
    student = 2.5705818  # with 5 degrees of freedom
    assert (estimate.high - estimate.low) / 2 == pytest.approx(student * error)
    assert np.isnan(estimates([predictions(3)])["recall of churn"].low)


def test_a_submission_has_no_compute_time_and_no_nan_in_its_place(make_cell):
    rng = np.random.default_rng(0)
    erm, other = (replace(make_cell(m, rng.dirichlet([1, 1], size=(4, 20))), fit_seconds=2.0) for m in ("erm", "calm"))
    rows = dict(compute_times(collect([erm, replace(other, fit_seconds=float("nan"))]), "runs").rows)
    assert rows == {"ERM": Value("1.0", 1.0), "CALM": Value(MISSING)}
