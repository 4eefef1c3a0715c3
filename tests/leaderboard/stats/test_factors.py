"""Shares of variance against statsmodels, and in simulations whose truth is known."""

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem, t
from statsmodels.formula.api import ols

from leaderboard.stats.factors import FAMILY, REST, shares, told_apart

Levels = Mapping[str, list[str]]


def grid(*left_out: int) -> Levels:
    """Three kinds of a and four of b, each with each, without some."""
    cells = [pair for i, pair in enumerate(itertools.product("xyz", "1234")) if i not in left_out]
    return {"a": [a for a, _ in cells], "b": [b for _, b in cells]}


def by_statsmodels(levels: Levels, values: np.ndarray) -> dict[tuple[str, ...], float]:
    """Shares from sums of squares, the mean of both orders of a and b, as estimates of a mixed model."""
    p, f = np.indices(values.shape).reshape(2, -1)
    data = pd.DataFrame({"y": values.ravel(), "f": f.astype(str), **{k: np.array(v)[p] for k, v in levels.items()}})
    squares = {"Residual": 0.0}
    for first, second in ("ab", "ba"):
        terms = ["1", first, second, "f", "a:b", f"{first}:f", f"{second}:f"]
        left = [ols(f"y ~ {' + '.join(terms[:n])}", data).fit().ssr for n in range(1, 8)]
        for term, before, after in zip(terms[1:], left[:-1], left[1:], strict=True):
            squares[term] = squares.get(term, 0) + (before - after) / 2
        squares["Residual"] += left[-1] / 2
    n = values.shape[1]
    between = {"a": squares["a:f"], "b": squares["b:f"], "a:b": squares["Residual"]}
    parts = {(*name.split(":"),): squares[name] / n - between[name] / n / (n - 1) for name in between}
    parts |= {(name, FAMILY): between[name] / (n - 1) for name in "ab"}
    parts |= {(FAMILY,): squares["f"] / (n - 1), (REST,): squares["Residual"] / (n - 1)}
    return {term: value / sum(parts.values()) for term, value in parts.items()}


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
@pytest.mark.parametrize("left_out", [(), (1, 6, 7, 11)])
def test_shares_are_those_of_an_analysis_of_variance_by_statsmodels(left_out: tuple[int, ...]) -> None:
    """Of a balanced grid, and of one in which the order of factors matters; intervals are the jackknife's, by hand."""
    rng = np.random.default_rng(0)
    levels = grid(*left_out)
    values = rng.normal(size=(12, 5))[: 12 - len(left_out)] + np.linspace(0, 3, 12 - len(left_out))[:, None]
    found, whole = shares(levels, values), by_statsmodels(levels, values)
    without = [by_statsmodels(levels, np.delete(values, f, axis=1)) for f in range(5)]
    assert found.keys() == whole.keys()
    for term, estimate in found.items():
        pseudo = [5 * whole[term] - 4 * one[term] for one in without]
        half = t.ppf(0.975, 4) * sem(pseudo)
        assert (estimate.value, estimate.high - estimate.value) == (pytest.approx(np.mean(pseudo)), pytest.approx(half))


def drawn(rng: np.random.Generator, levels: Levels, families: int) -> np.ndarray:
    """Values with fixed effects of a, none of b, and both with effects of their own in each family."""
    values = np.zeros((len(levels["a"]), families)) + 2 * rng.normal(size=families)
    for name, fixed, size in (("a", {"x": -1, "y": 0, "z": 1}, 1.0), ("b", {}, 0.5)):
        kinds = sorted(set(levels[name]))
        of_family = size * rng.normal(size=(len(kinds), families))
        values += [fixed.get(level, 0) + of_family[kinds.index(level)] for level in levels[name]]
    return values + 0.5 * rng.normal(size=values.shape)


def test_shares_are_right_on_average_and_their_intervals_cover_them() -> None:
    rng, levels, worlds = np.random.default_rng(0), grid(), 300
    # Kinds of a are of 4 pipelines each, and vary in 2 dimensions; those of b are of 3, and vary in 3.
    truth = {("a",): 8.0, ("b",): 0.0, ("a", "b"): 0.0, (FAMILY,): 12 * 4 + 4 * 1 + 3 * 0.25 + 0.25}
    truth |= {("a", FAMILY): 2 * (4 * 1 + 0.25), ("b", FAMILY): 3 * (3 * 0.25 + 0.25), (REST,): 6 * 0.25}
    found = [shares(levels, drawn(rng, levels, 25)) for _ in range(worlds)]
    for term, size in truth.items():
        share = size / sum(truth.values())
        values = np.array([one[term].value for one in found])
        covered = np.mean([one[term].low <= share <= one[term].high for one in found])
        assert abs(values.mean() - share) < 4 * values.std() / np.sqrt(worlds)
        assert 0.87 <= covered <= 0.995, term


def test_a_factor_that_others_determine_is_not_told_apart_from_them() -> None:
    levels = {"learner": ["svm", "gin", "gin", "svm"], "reads": ["bits", "graph", "graph", "bits"], "one": ["1"] * 4}
    assert told_apart(levels) == ()
    levels["reads"] = ["bits", "graph", "graph", "counts"]
    assert told_apart(levels) == ("reads",)
    with pytest.raises(ValueError, match="factors that can be told apart"):
        shares(levels, np.ones((4, 5)))


def test_pairs_of_which_the_grid_knows_nothing_and_a_rest_that_it_cannot_have_are_left_out() -> None:
    levels = {"a": ["x", "y", "x"], "b": ["1", "1", "2"]}
    found = shares(levels, np.random.default_rng(0).normal(size=(3, 6)))
    assert [*found] == [("a",), ("b",), (FAMILY,), ("a", FAMILY), ("b", FAMILY)]
    assert sum(estimate.value for estimate in found.values()) == pytest.approx(1)
