"""Ranks against Demšar's worked example, the paper's ranks, and Student's t."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from benchmark.files import CHECKOUT
from benchmark.measure.intervals import influence, jackknife
from leaderboard.paper.mapping import RANKED
from leaderboard.paper.read import read
from leaderboard.stats.ranks import _ranked, critical_difference, friedman, rank_intervals

DEMSAR_METHODS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
DEMSAR_AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # printed as 0.975 (rank 2) and 0.975 (rank 3)
        [0.957, 0.978, 0.946, 0.970],
    ]
)
"""Demšar 2006 (JMLR 7:1–30), table 6: AUC of four algorithms on 14 datasets."""

PUBLISHED = pd.DataFrame(read(CHECKOUT / "leaderboard" / "paper" / "numbers.csv"))
PAPER = PUBLISHED.query("table == 'seed_sensitivity' and canonical_seed == 99 and metric == 'churn'")
PAPER = PAPER.pivot(index="dataset", columns="method", values="value")[[*RANKED]]
"""The paper's churn (%) on canonical split 99 (seed-sensitivity table), to which its Friedman test belongs."""
PAPER_CHURN, PAPER_METHODS, PAPER_DATASETS = PAPER.to_numpy(), [*PAPER.columns], [*PAPER.index]


def nemenyi(churn: np.ndarray) -> np.ndarray:
    """The p of each pair of methods by scikit-posthocs."""
    from scikit_posthocs import posthoc_nemenyi_friedman

    return posthoc_nemenyi_friedman(churn).to_numpy()


def names(n: int) -> list[str]:
    return [f"d{i}" for i in range(n)]


def test_demsars_worked_example() -> None:
    ranking = friedman(-DEMSAR_AUC, DEMSAR_METHODS, names(14))
    assert ranking.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    uncorrected = ranking.chi2 * (1 - (3 * 6 + 60) / (14 * 4 * 15))  # three ties of two and one of four
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.005)  # Iman and Davenport's F
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.005)
    assert ranking.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)  # "not powerful enough" at 5 %
    assert ranking.n == 14


@pytest.mark.parametrize(
    ("k", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_the_critical_difference_has_demsars_critical_values(k: int, q: float) -> None:
    assert critical_difference(10, k) / np.sqrt(k * (k + 1) / 60) == pytest.approx(q, abs=0.001)  # his table 5a


def test_the_papers_churn_gives_the_papers_test() -> None:
    """The published ranks (5.78 …, χ² = 44.8, p = 5.2e-8, CD = 3.0) follow from the published churn on split 99.

    The table is rounded to 0.1 pp and so has ties that the paper's numbers had not: of each of two ties of three,
    one value lies off the other two by less than the rounding. Only this gives the published ranks.
    """
    churn = PAPER_CHURN.copy()
    churn[PAPER_DATASETS.index("cyp2d6_substrate"), PAPER_METHODS.index("swa")] += 0.01
    churn[PAPER_DATASETS.index("tadf"), PAPER_METHODS.index("swa")] -= 0.01
    ranking = friedman(churn, PAPER_METHODS, PAPER_DATASETS)
    assert ranking.mean_ranks == pytest.approx([5.78, 6.11, 4.94, 5.17, 2.89, 1.67, 1.44], abs=0.005)
    assert ranking.chi2 == pytest.approx(44.8, abs=0.05)
    assert ranking.p == pytest.approx(5.2e-8, abs=0.05e-8)
    assert ranking.critical_difference == pytest.approx(3.0, abs=0.05)
    twin = nemenyi(churn)[PAPER_METHODS.index("twin_lam300")]
    different = [m for m, p in zip(PAPER_METHODS, twin, strict=True) if p < 0.05]
    assert different == ["erm", "mc_dropout", "swa", "deep_ensemble_k5"]  # as the paper says


def test_groups_are_the_largest_sets_without_a_significant_difference() -> None:
    ranking = friedman(PAPER_CHURN, PAPER_METHODS, PAPER_DATASETS)
    index = {name: m for m, name in enumerate(PAPER_METHODS)}
    pairs = nemenyi(PAPER_CHURN)

    def tied(group) -> bool:
        return all(pairs[index[a], index[b]] >= 0.05 for a in group for b in group)

    assert {method for group in ranking.groups for method in group} == set(PAPER_METHODS)
    for group in ranking.groups:
        assert tied(group)
        assert not any(tied((*group, other)) for other in PAPER_METHODS if other not in group)
    assert ranking.groups[0] == ("twin_lam300", "bagging_k5", "bagging_k2")
    apart = np.tile([1.0, 2.0, 3.0], (40, 1))
    assert friedman(apart, "abc", names(40)).groups == (("a",), ("b",), ("c",)), "each differs from all"


def test_incomplete_datasets_are_dropped_and_named() -> None:
    holes = DEMSAR_AUC.copy()
    holes[[3, 7], [0, 2]] = np.nan
    ranking = friedman(holes, DEMSAR_METHODS, names(14))
    rest = friedman(np.delete(DEMSAR_AUC, [3, 7], axis=0), DEMSAR_METHODS, names(12))
    assert (ranking.n, ranking.chi2, ranking.p) == (12, rest.chi2, rest.p)


def test_a_family_counts_once() -> None:
    once = friedman(PAPER_CHURN, PAPER_METHODS, PAPER_DATASETS)
    churn, families = np.vstack([PAPER_CHURN, PAPER_CHURN[2]]), [*PAPER_DATASETS, PAPER_DATASETS[2]]
    twice = friedman(churn, PAPER_METHODS, [*PAPER_DATASETS, "copy"], families)
    assert twice.n == 9
    assert twice.blocks[2] == "bbb_martins + copy"
    assert (twice.mean_ranks.tolist(), twice.chi2) == (once.mean_ranks.tolist(), once.chi2)


def test_a_family_is_averaged_over_what_is_complete_of_it() -> None:
    values = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 7.0], [np.nan, 0.0, 9.0], [1.0, 2.0, 3.0]])
    ranking = friedman(values, "abc", "wxyz", ["f", "f", "f", "z"])
    assert ranking.blocks == ("w + x", "z")
    assert ranking.mean_ranks.tolist() == [1.25, 1.75, 3.0]  # (2, 2, 4) and (1, 2, 3)


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 3), (5, 2), (5, 1), (0, 0)])
def test_too_few_methods_or_datasets_have_ranks_but_no_test(n: int, k: int) -> None:
    ranking = friedman(np.tile(np.arange(k, dtype=float), (n, 1)), [f"m{i}" for i in range(k)], names(n))
    assert np.isnan([ranking.chi2, ranking.p, ranking.critical_difference]).all()
    assert ranking.mean_ranks == pytest.approx(np.arange(1, k + 1) if n else np.full(k, np.nan), nan_ok=True)
    assert [len(group) for group in ranking.groups] == [k] * bool(k)


def test_values_that_are_all_equal_have_no_statistic() -> None:
    ranking = friedman(np.ones((4, 3)), "abc", names(4))
    assert np.isnan(ranking.p)
    assert ranking.mean_ranks.tolist() == [2, 2, 2]
    assert ranking.groups == (("a", "b", "c"),)


def pairwise(rng: np.random.Generator, r: int, mean: float, shared: np.ndarray) -> np.ndarray:
    """A symmetric matrix whose pairs share their runs' effects, and the runs those of other methods."""
    effect = shared + rng.normal(scale=0.02, size=r)
    noise = np.triu(rng.normal(scale=0.02, size=(r, r)), 1)
    matrix = mean + effect[:, None] + effect + noise + noise.T
    np.fill_diagonal(matrix, 0)
    return matrix


def intervals(quantities: Sequence[Sequence[Sequence[np.ndarray]]], families: Sequence[str] | None = None):
    """Those of values (R,) by run, or (R, R) by pair of runs, by dataset, method and split."""
    cells = [[influence(splits) if splits else (np.nan, []) for splits in row] for row in quantities]
    return rank_intervals(cells, families)


def test_rank_intervals_agree_with_friedman_and_contain_the_mean_rank() -> None:
    rng = np.random.default_rng(2)
    means = np.array([0.20, 0.19, 0.15, 0.08])
    quantities = [[[pairwise(rng, 8, m, np.zeros(8))] for m in means * rng.uniform(0.5, 2)] for _ in range(6)]
    values = np.array([[jackknife(splits).value for splits in methods] for methods in quantities])
    ranking = friedman(values, "abcd", names(6))
    found = intervals(quantities)
    assert [e.value for e in found] == pytest.approx(ranking.mean_ranks.tolist())
    assert all(1 <= e.low <= e.value <= e.high <= 4 for e in found)
    again = intervals(quantities)
    assert found == again


def test_rank_intervals_use_complete_datasets_and_count_families_once() -> None:
    rng = np.random.default_rng(3)
    quantities = [[[rng.normal(m, 1, size=5)] for m in (0.0, 0.5, 1.0)] for _ in range(4)]
    incomplete = [*quantities, [[rng.normal(size=5)], [], [rng.normal(size=5)]]]
    assert intervals(incomplete) == intervals(quantities)
    values = np.array([[jackknife(splits).value for splits in methods] for methods in quantities])
    families = ["f", "f", "g", "h"]
    expected = friedman(values, "abc", names(4), families).mean_ranks
    assert [e.value for e in intervals(quantities, families)] == pytest.approx(expected.tolist())


def test_rank_intervals_take_methods_with_different_numbers_of_runs_and_splits() -> None:
    rng = np.random.default_rng(4)
    quantities = [[[rng.normal(size=9)], [rng.normal(size=10), rng.normal(size=8)]] for _ in range(3)]
    assert not np.isnan([e.low for e in intervals(quantities)]).any()


def test_methods_without_any_variance_have_certain_ranks() -> None:
    found = intervals([[[np.zeros((5, 5))], [np.zeros((5, 5))], [np.ones((5, 5))]]])
    assert [(e.low, e.value, e.high) for e in found] == [(1.5, 1.5, 1.5), (1.5, 1.5, 1.5), (3, 3, 3)]


def test_resamples_have_the_ranks_of_scipy_with_and_without_ties() -> None:
    rows = np.random.default_rng(5).normal(size=(40, 7))
    rows[::3] = np.round(rows[::3])
    rows[4, 2:4] = 0.0, -0.0
    assert np.array_equal(_ranked(rows), rankdata(rows, axis=1))
    assert np.array_equal(_ranked(np.zeros((2, 0))), np.zeros((2, 0)))


def test_too_few_runs_have_ranks_without_intervals() -> None:
    found = intervals([[[np.array([[0, 0.1], [0.1, 0]])], [np.array([[0, 0.2], [0.2, 0]])]]])
    assert [e.value for e in found] == [1, 2]
    assert np.isnan([e.low for e in found]).all()
    none = intervals([[[], []]])
    assert np.isnan([e.value for e in none]).all()
    assert rank_intervals([]) == ()


def test_equal_counts_are_ties_however_they_were_added() -> None:
    """Three methods with the same flips: a mean of pairs may differ in the last bit, and is no order."""
    values = np.array([[0.1 + 0.2, 0.3, 0.15 * 2], [0.5, 0.25, 0.125]])
    assert len({*values[0].tolist()}) > 1, "rounding told them apart"
    assert friedman(values, "abc", names(2)).mean_ranks.tolist() == [2.5, 2.0, 1.5]
    quantities = [[[np.full(4, value)] for value in row] for row in values]
    assert [e.value for e in intervals(quantities)] == [2.5, 2.0, 1.5]
