"""The slope of churn against training rows, on power laws that are made, and its jackknife by hand."""

import numpy as np
import pytest
from scipy.stats import entropy

from benchmark.errors import UserError
from benchmark.studies import make_study
from benchmark.studies.n_scaling import slope

from .conftest import retrained


def test_the_pseudo_values_are_those_of_leaving_each_run_out_by_hand() -> None:
    rng = np.random.default_rng(0)
    sizes, splits, runs = [50, 120, 400], (99, 7), 5
    first = {(n, s): rng.uniform(0.05, 0.95, size=(runs, 8)) for n in sizes for s in splits}
    values = {key: np.stack([p, 1 - p], axis=-1) for key, p in first.items()}

    def fitted(keep: list[int]) -> float:
        pairs = [(i, j) for i in keep for j in keep if i != j]
        means = [
            np.mean([entropy(values[n, s][i], values[n, s][j], axis=1) for s in splits for i, j in pairs])
            for n in sizes
        ]
        return float(np.polyfit(np.log(sizes), np.log(means), 1)[0])

    everyone = list(range(runs))
    whole = fitted(everyone)
    by_hand = np.array([runs * whole - (runs - 1) * fitted([j for j in everyone if j != i]) for i in everyone])
    found = slope(sizes, [[retrained(values[n, s], "erm", f"bace@train={n}", s) for s in splits] for n in sizes])
    assert found.mean() == pytest.approx(whole), "the slope itself is shown, not corrected for bias"
    assert found == pytest.approx(by_hand - by_hand.mean() + whole)


@pytest.mark.parametrize("sizes", ["a-b", "200", "200-200", "200--300", "-200"])
def test_sizes_are_two_numbers_or_more(sizes: str) -> None:
    with pytest.raises(UserError, match=f"sizes={sizes}: expected at least two numbers of rows, as in 200-400-968"):
        make_study("n-scaling", {"sizes": sizes})


def test_leaving_one_retraining_out_must_leave_two() -> None:
    with pytest.raises(UserError, match="seeds=2: the slope's interval needs at least three retrainings"):
        make_study("n-scaling", {"seeds": "2"})
    make_study("n-scaling", {"seeds": "4,7,9"})
