"""Churn between disjoint samples: which rows they have, and the fits by scipy and on power laws."""

import numpy as np
import pytest
from scipy.stats import linregress

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.studies import n_scaling_disjoint
from benchmark.studies.n_scaling_disjoint import NScalingDisjoint, between, law, share_out
from benchmark.study.report import Sampled
from benchmark.train import sample_for
from benchmark.types import Problem, Sampling

TINY = "b3db_measured@batch_size=16@epochs=1@hidden=16@lr=0.01@train=101"
SIZES = np.array([121, 242, 484])
ERM = make_method("erm", "classification")


# The samples


@pytest.mark.parametrize(("part", "rows"), [(4, 12), (2, 25), (1, 50)])
def test_two_models_share_out_a_part_of_the_pool_and_no_molecule_is_in_both(monkeypatch, part: int, rows: int) -> None:
    seen: list[set[str]] = []

    def noted(method: object, problem: Problem, seeds: tuple[int, int], sampling: Sampling):
        seen.extend(set(problem.train.ids[sample_for(problem, sampling, seed)[1]]) for seed in seeds)
        return retrain(ERM, problem, seeds, sampling)

    monkeypatch.setattr(n_scaling_disjoint, "retrain", noted)
    problem = load_problem(TINY)
    for halving in (1, 2):
        between(problem, ERM, part, halving)
    assert [len(ids) for ids in seen] == [rows] * 4
    assert not seen[0] & seen[1]
    assert not seen[2] & seen[3]
    assert set().union(*seen) <= set(problem.train.ids)
    assert seen[0] | seen[1] != seen[2] | seen[3], "each halving draws its own rows"


def test_the_whole_pool_is_shared_out_as_under_the_sampling_halves() -> None:
    problem = load_problem(TINY)
    halves = retrain(ERM, problem, (1, 2, 3, 4), "halves")["id"]
    found = [between(problem, ERM, 1, halving) for halving in (1, 2)]
    assert [churn for churn, _ in found] == CHURN.of_runs(halves).tolist()
    assert [accuracy for _, accuracy in found] == pytest.approx(ACCURACY.of_runs(halves))


def test_a_record_has_one_row_for_each_size_and_one_column_for_each_halving(here) -> None:
    problem = load_problem(TINY)
    record = share_out(here, problem, ERM, 3)
    assert (record["rows"], record["pool"]) == ([12, 25, 50], 101)
    for i, part in enumerate((4, 2, 1)):
        expected = [between(problem, ERM, part, halving) for halving in (1, 2, 3)]
        assert [*zip(record["churn"][i], record["accuracy"][i], strict=True)] == expected


# The fits


def test_the_pseudo_values_are_those_of_leaving_out_each_halving_at_all_sizes_by_scipy() -> None:
    sizes, pool, halvings = np.array([19, 38, 76, 152]), 305, 6
    churn = np.random.default_rng(0).uniform(0.1, 0.4, size=(4, halvings))
    x = np.log(sizes)

    def fitted(keep: list[int]) -> np.ndarray:
        c = np.array([np.mean([of_size[j] for j in keep]) for of_size in churn])
        every, first, last = (linregress(x[at], np.log(c[at])) for at in ([0, 1, 2, 3], [0, 1], [2, 3]))
        line = linregress(x, c)
        powers = [np.exp(fit.intercept + fit.slope * np.log(pool)) for fit in (every, last)]
        return np.array([every.slope, last.slope - first.slope, *powers, line.intercept + line.slope * np.log(pool)])

    everyone = list(range(halvings))
    whole = fitted(everyone)
    without = np.array([fitted([j for j in everyone if j != i]) for i in everyone])
    found = np.array(law(sizes, pool, churn))
    assert found.mean(axis=1) == pytest.approx(whole), "the fit itself is shown, not corrected for bias"
    assert found == pytest.approx((whole + (halvings - 1) * (without.mean(axis=0) - without)).T)


def test_halvings_without_flips_count_but_a_size_without_flips_has_no_power_law() -> None:
    found = law(SIZES, 968, np.array([[0.2, 0.2, 0.2], [0.0, 0.1, 0.1], [0.1, 0.0, 0.05]]))
    assert len(found.at_pool) == 3
    assert np.isfinite(found).all()
    none = law(SIZES, 968, np.array([[0.2, 0.2, 0.2], [0.0, 0.0, 0.0], [0.1, 0.1, 0.1]]))
    assert all(np.isnan(values).all() for values in none[:4])
    assert none.by_line.mean() == pytest.approx(0.1 - 2 * 0.05)


# The report


def report(told, churn: list[list[float]]):
    record = {"rows": [121, 242, 484], "pool": 968, "churn": churn, "accuracy": [[0.7] * 3, [0.75] * 3, [0.8] * 3]}
    other = {**record, "churn": (np.array(churn) / 2).tolist()}
    records = {f"bace, split {split}, {ERM}, 3 halvings": of for split, of in ((99, record), (7, other))}
    return NScalingDisjoint(dataset="bace", canonical_seed="99,7", methods="erm", halvings=3).report(
        told(None, records)
    )


def test_churn_is_a_mean_over_splits_and_said_with_the_condition_of_its_extrapolation(told) -> None:
    found = report(told, [[0.4] * 3, [0.32] * 3, [0.256] * 3])
    assert found.answer == [
        "BACE, ERM: two models on disjoint samples disagree on 30.0 % of the test with 121 rows each, on 19.2 % with "
        "484. A power law with exponent −0.32 extrapolates to 15.4 % with 968 rows each; the last two sizes alone give "
        "15.4 %, and a straight line in log rows gives 13.6 %. The table has the intervals."
    ]
    sizes, _ = found.sheets
    assert [row[2] for row in sizes.rows] == ["121", "242", "484", "968, extrapolated"]
    shown = [number.values.mean() for row in sizes.rows for number in row[3:] if isinstance(number, Sampled)]
    assert shown == pytest.approx([0.7, 0.3, 0.75, 0.24, 0.8, 0.192, 0.1536])
    (chart,) = found.charts
    assert [(point.x, point.chosen) for point in chart.series["BACE, ERM"]] == [
        *((size, False) for size in (121, 242, 484)),
        (968, True),
    ]
    assert "do not cover the variation between pools" in sizes.caption
    assert "valid only if the power law holds up to that size" in chart.caption


def test_without_flips_nothing_is_extrapolated(told) -> None:
    (sentence,) = report(told, [[0.4] * 3, [0.2] * 3, [0.0] * 3]).answer
    assert sentence.endswith("At least one size has no flips, so no power law can be fitted.")


# Mistakes


def test_a_method_that_needs_the_whole_pool_is_refused_before_anything_is_trained(told) -> None:
    with pytest.raises(UserError, match="anchor needs more of the training pool than a retraining sees under --samp"):
        NScalingDisjoint(methods="anchor").report(told(None))


def test_a_pool_too_small_for_samples_of_an_eighth_is_named(here) -> None:
    with pytest.raises(UserError, match="the training pool has 7 rows; expected at least 8, so that an eighth"):
        share_out(here, load_problem("b3db_measured@train=7"), ERM, 3)
