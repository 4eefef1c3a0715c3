"""Measures that cannot be bought: invariance, hand calculations, scikit-learn, an analysis of variance, and theory."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import accuracy_score, cohen_kappa_score, recall_score

from benchmark.measure import catalogue as c
from benchmark.measure import matched
from benchmark.types import Predictions
from tests.measure.test_catalogue import predictions


def of_scores(scores: object, y: object, share: float | None = None) -> Predictions:
    """Two classes from scores (R, T) of class 1; ``share`` is that of class 1 in the training pool."""
    one, y = np.asarray(scores, dtype=float), np.asarray(y)
    shares = () if share is None else (1 - share, share)
    ids = np.array([f"m{i:05d}" for i in range(len(y))])
    values = np.stack([1 - one, one], axis=-1)
    return Predictions(tuple(range(1, len(one) + 1)), ids, y, values, "classification", class_shares=shares)


def noisy(n: int = 500, runs: int = 4, share: float = 0.3) -> Predictions:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < share).astype(int)
    common = 2.0 * y - 1.5 + rng.normal(size=n)
    return of_scores(expit(common + rng.normal(size=(runs, n))), y, share)


@pytest.mark.parametrize(
    "transform",
    [
        lambda p, r: p**0.3,
        lambda p, r: p**4,
        lambda p, r: expit(logit(p) - 2),
        lambda p, r: expit(logit(p) + (-1) ** r),  # another shift in each retraining
        lambda p, r: 0.2 + 0.7 * p,
    ],
)
def test_no_increasing_transformation_of_a_retraining_changes_what_is_matched_or_listed(transform):
    p = noisy()
    warped = [transform(run[:, 1], r) for r, run in enumerate(p.values)]
    other = replace(p, values=np.stack([1 - np.array(warped), np.array(warped)], axis=-1))
    assert c.CHURN.mean(other) != pytest.approx(c.CHURN.mean(p), rel=0.02)
    for measure in (c.MATCHED_CHURN, c.MATCHED_ACCURACY, c.find("list_churn_10pc", "classification")):
        np.testing.assert_allclose(measure.of_runs(other), measure.of_runs(p), atol=1e-12)


def test_matched_calls_are_the_k_highest_by_a_loop():
    p = noisy(60)
    k = round(60 * 0.3)
    first = [set(np.argsort(-run[:, 1])[:k].tolist()) for run in p.values]
    for i, j in combinations(range(4), 2):
        assert c.MATCHED_CHURN.of_runs(p)[i, j] == pytest.approx(len(first[i] ^ first[j]) / 60)
    for run, accuracy in zip(first, c.MATCHED_ACCURACY.of_runs(p), strict=True):
        assert accuracy == pytest.approx(np.mean([(t in run) == p.y[t] for t in range(60)]))
    top = [set(np.argsort(-run[:, 1])[:6].tolist()) for run in p.values]
    for i, j in combinations(range(4), 2):
        lists = c.find("list_churn_10pc", "classification").of_runs(p)
        assert lists[i, j] == pytest.approx(1 - len(top[i] & top[j]) / 6)


def test_ties_at_the_cut_are_drawn_at_random_in_expectation():
    y, share = np.arange(10) % 2, 0.3
    constant = of_scores(np.full((2, 10), 0.4), y, share)
    assert c.MATCHED_CHURN.mean(constant) == pytest.approx(2 * 0.3 * 0.7)
    assert c.find("list_churn_20pc", "classification").mean(constant) == pytest.approx(0.8)
    assert c.MATCHED_ACCURACY.mean(constant) == pytest.approx(0.5 * 0.3 + 0.5 * 0.7)
    # Two levels: 2 above the cut in both, 3 of 8 and 2 of 4 tied; k = 4, so f = 2/4 in the first and 2/8 in the second.
    first = [0.9] * 2 + [0.5] * 4 + [0.1] * 4
    second = [0.9] * 2 + [0.5] * 8
    p = of_scores([first, second], y, 0.4)
    by_hand = 4 * (0.5 * 0.75 + 0.25 * 0.5) + 4 * 0.25
    assert c.MATCHED_CHURN.mean(p) == pytest.approx(by_hand / 10)
    np.testing.assert_allclose(10 * c.MATCHED_CHURN.of_examples(p), [0, 0, *[5.0] * 4, *[2.5] * 4])


def test_the_expectation_is_the_mean_of_random_draws():
    rng = np.random.default_rng(2)
    p = of_scores(np.round(noisy(40, 2).values[..., 1], 1), np.arange(40) % 2, 0.3)
    k, draws = 12, []
    for _ in range(4000):
        calls = [set(np.lexsort((rng.random(40), -run[:, 1]))[:k].tolist()) for run in p.values]
        draws.append(len(calls[0] ^ calls[1]) / 40)
    assert c.MATCHED_CHURN.mean(p) == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / 4000**0.5)


def test_a_majority_predictor_and_independent_predictors_have_the_values_of_theory():
    rng, n = np.random.default_rng(3), 100_000
    y = (rng.random(n) < 0.2).astype(int)
    independent = of_scores(rng.random((2, n)), y, 0.2)
    assert c.MATCHED_CHURN.mean(independent) == pytest.approx(2 * 0.2 * 0.8, abs=0.005)
    assert c.CHANCE_CORRECTED.mean(independent) == pytest.approx(1, abs=0.01)
    assert c.find("list_churn_5pc", "classification").mean(independent) == pytest.approx(0.95, abs=0.01)
    majority = of_scores(0.4 * rng.random((2, n)), y, 0.2)  # never class 1, with scores that say nothing
    assert c.CHURN.mean(majority) == c.RECALL_OF_RARER.mean(majority) == c.MCC.mean(majority) == 0
    assert c.BALANCED_ACCURACY.mean(majority) == 0.5
    assert c.MATCHED_CHURN.mean(majority) == pytest.approx(2 * 0.2 * 0.8, abs=0.005)
    assert np.isnan(c.CHANCE_CORRECTED.mean(majority))
    one_of_three = predictions(np.tile([0.6, 0.2, 0.2], (3, 30, 1)), np.arange(30) % 3)
    assert np.isnan([c.MATCHED_CHURN.mean(one_of_three), *c.MATCHED_CHURN.of_examples(one_of_three)]).all()


@pytest.mark.parametrize("n", [2, 3])
def test_chance_corrected_churn_is_one_less_scikit_learns_kappa(n):
    rng = np.random.default_rng(n)
    values = rng.dirichlet(np.full(n, 0.5), size=(4, 50))
    p = predictions(values, rng.integers(n, size=50))
    classes = values.argmax(axis=2)
    for i, j in combinations(range(4), 2):
        kappa = cohen_kappa_score(classes[i], classes[j], labels=range(n))
        assert c.CHANCE_CORRECTED.of_runs(p)[i, j] == pytest.approx(1 - kappa)
        if n == 3:  # chance-corrected churn stands in, on the scale of churn
            shares = np.bincount(p.y) / 50
            assert c.MATCHED_CHURN.of_runs(p)[i, j] == pytest.approx((1 - kappa) * (1 - (shares**2).sum()))
    if n == 3:
        np.testing.assert_allclose(c.MATCHED_ACCURACY.of_runs(p), [accuracy_score(p.y, run) for run in classes])


def test_the_positives_are_the_pools_share_and_that_of_the_labels_where_it_is_unknown():
    p = noisy(200)
    assert matched.positives(p) == 60
    assert matched.positives(replace(p, class_shares=())) == p.y.sum()
    assert matched.positives(replace(p, class_shares=(0.999, 0.001))) == 1


def test_the_rarer_class_is_that_of_the_pool():
    p = noisy(200)
    swapped = replace(p, class_shares=(0.3, 0.7))
    classes = p.values.argmax(axis=2)
    for q, label in ((p, 1), (swapped, 0)):
        expected = [recall_score(p.y, run, pos_label=label) for run in classes]
        np.testing.assert_allclose(c.RECALL_OF_RARER.of_runs(q), expected)
        of = p.y == label
        assert c.CHURN_OF_RARER.of_runs(q)[0, 1] == pytest.approx((classes[0] != classes[1])[of].mean())


def anova_icc(ratings: np.ndarray) -> float:
    """ICC(2,1) of ratings (n, k) from the mean squares of a two-way analysis of variance (Shrout and Fleiss 1979)."""
    n, k = ratings.shape
    grand, rows, columns = ratings.mean(), ratings.mean(axis=1), ratings.mean(axis=0)
    between = k * np.sum((rows - grand) ** 2) / (n - 1)
    raters = n * np.sum((columns - grand) ** 2) / (k - 1)
    error = np.sum((ratings - rows[:, None] - columns + grand) ** 2) / ((n - 1) * (k - 1))
    return float((between - error) / (between + (k - 1) * error + k * (raters - error) / n))


def of_values(values: object) -> Predictions:
    array = np.asarray(values, dtype=float)
    return predictions(array[..., None], array[0])


def test_the_reference_for_the_icc_has_the_published_value():
    """Shrout and Fleiss (1979), table 2: six targets and four judges, ICC(2,1) = 0.29."""
    judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert anova_icc(np.array(judges, dtype=float)) == pytest.approx(0.29, abs=0.005)


def test_one_less_icc_is_that_of_an_analysis_of_variance_in_any_unit_and_shrinking_does_not_buy_it():
    rng = np.random.default_rng(4)
    common = rng.normal(size=30)
    values = common + 0.5 * rng.normal(size=(4, 30)) + np.array([[0], [0.3], [0], [-0.2]])
    p = of_values(values)
    for i, j in combinations(range(4), 2):
        expected = 1 - anova_icc(values[[i, j]].T)
        assert c.ONE_MINUS_ICC.of_runs(p)[i, j] == pytest.approx(expected)
    for other in (1e-6 * values, 7 + 0.1 * values):
        np.testing.assert_allclose(c.ONE_MINUS_ICC.of_runs(of_values(other)), c.ONE_MINUS_ICC.of_runs(p), rtol=1e-6)
    assert c.CHURN_OF_VALUES.mean(of_values(0.1 * values)) == pytest.approx(0.1 * c.CHURN_OF_VALUES.mean(p))
    constants = of_values([[1.0] * 5, [1.0] * 5, [2.0] * 5])
    assert np.isnan(c.ONE_MINUS_ICC.of_runs(constants)[0, 1])
    assert c.ONE_MINUS_ICC.of_runs(constants)[0, 2] == pytest.approx(1)


def test_one_example_has_no_correlation():
    assert np.isnan(c.ONE_MINUS_ICC.of_runs(of_values(np.array([[1.0], [2.0]])))).all()
