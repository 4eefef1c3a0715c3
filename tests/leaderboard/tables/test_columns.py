"""Measures with each kind of interval, and columns against ERM."""

import numpy as np
import pytest

from benchmark.measure.catalogue import ACCURACY, CHURN, PRECISION, SYM_KL, TOP_JACCARD, churn_of_class, example_flips
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import jackknife, over_both, over_examples, pair_bootstrap
from leaderboard.tables.columns import matched, pairs_of, versus

DELTA = versus(CHURN)


@pytest.fixture
def pairs(world):
    dataset = world.dataset("small")
    return pairs_of(dataset, dataset.entry("CALM"))


def test_each_kind_of_interval_is_taken_of_the_paired_differences(pairs):
    both = matched(pairs)
    runs = [CHURN.of_runs(ours) - CHURN.of_runs(erm) for ours, erm in both]
    examples = [example_flips(ours) - example_flips(erm) for ours, erm in both]
    assert len(both) == 2
    assert DELTA.value(pairs, "id", "runs") == jackknife(runs)
    assert DELTA.value(pairs, "id", "examples") == over_examples(examples)
    assert DELTA.value(pairs, "id", "both") == over_both(runs, examples)
    assert DELTA.value(pairs, "id", "paper") == pair_bootstrap(runs)


def test_a_measure_that_is_no_mean_over_examples_keeps_its_interval_over_runs(pairs):
    splits = [(cell.predictions["id"], None) for cell, _ in pairs]
    over_runs = jackknife([TOP_JACCARD.of_runs(p) for p, _ in splits])
    assert estimate(TOP_JACCARD, splits, "examples") == estimate(TOP_JACCARD, splits, "both") == over_runs


KINDS = ("runs", "examples", "both", "paper")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", [4, 5])
def test_below_five_test_examples_there_is_no_interval_of_any_kind(make_cell, kind, t):
    p = make_cell("erm", np.random.default_rng(3).dirichlet([1, 1], size=(6, t))).predictions["id"]
    over_runs = {CHURN: kind, ACCURACY: kind, SYM_KL: kind, PRECISION: "runs"}
    for measure, of in over_runs.items():
        found = estimate(measure, [(p, None)], kind)
        assert np.isnan([found.low, found.high]).all() == (t < 5 or of in ("examples", "both"))  # those take eight
        assert found.value == pytest.approx(measure.mean(p))


@pytest.mark.parametrize("kind", KINDS)
def test_the_churn_of_a_class_needs_five_examples_of_it(make_cell, kind):
    values = np.random.default_rng(4).dirichlet([1, 1], size=(6, 60))
    p = make_cell("erm", values, y=(np.arange(60) < 4).astype(int)).predictions["id"]
    assert np.isnan(estimate(churn_of_class(1), [(p, None)], kind).low)
    assert not np.isnan(estimate(churn_of_class(0), [(p, None)], kind).low)
