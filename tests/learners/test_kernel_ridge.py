"""Least squares on similarities, against plain linear algebra and scikit-learn's Gaussian process."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GroupKFold

from benchmark.learners._estimator import tanimoto
from benchmark.learners._ridge import Labels, Stretched
from benchmark.run.check import synthetic
from benchmark.types import PAPER, Sampling
from tests.plain import rows_of


def scores(train: np.ndarray, y: np.ndarray, test: np.ndarray, l2: float) -> np.ndarray:
    """The solution of the normal equations, without the mean."""
    return tanimoto(test, train) @ np.linalg.solve(tanimoto(train, train) + l2 * np.eye(len(y)), y - y.mean())


@pytest.mark.parametrize("l2", [0.5, 10.0])
def test_the_probability_of_a_class_rises_with_the_score_of_least_squares(retrained, l2):
    problem = synthetic("classification")
    (found,) = retrained(problem, f"kernel_ridge:l2={l2}", [1], "halves").predict(problem.evals["id"].inputs)
    x, y, _, test = rows_of(problem, 1, "halves")
    wanted = scores(x, 2.0 * (y == 1) - 1, test, l2)
    np.testing.assert_array_equal(np.argsort(found[:, 1], kind="stable"), np.argsort(wanted, kind="stable"))


def test_the_scores_of_labels_are_the_mean_of_a_gaussian_process_for_each_class():
    rng = np.random.default_rng(0)
    x, y, test, similar = rng.normal(size=(30, 4)), np.arange(30) % 3, rng.normal(size=(8, 4)), RBF(1.0)
    labels = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    process = GaussianProcessRegressor(similar, alpha=2.0, optimizer=None).fit(x, labels - labels.mean(axis=0))
    model = Labels(2.0).fit(similar(x), y)
    found = model.decision_function(similar(test, x))
    np.testing.assert_allclose(found, process.predict(test) + labels.mean(axis=0), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(similar(test, x)), found.argmax(axis=1))


def test_weights_are_repeats_of_rows():
    rng = np.random.default_rng(1)
    x, y, weight = (rng.random((12, 9)) < 0.4).astype(float), np.arange(12) % 2, rng.integers(1, 4, 12)
    rows, near = np.repeat(np.arange(12), weight), tanimoto(x, x)
    once = Labels(3.0).fit(near, y, weight.astype(float)).decision_function(near)
    often = Labels(3.0).fit(near[np.ix_(rows, rows)], y[rows]).decision_function(near[:, rows])
    np.testing.assert_allclose(once, often)


@pytest.mark.parametrize("sampling", ["halves", PAPER])
def test_a_regression_is_stretched_by_the_least_squares_factor_of_its_folds(retrained, sampling: Sampling):
    problem = synthetic("regression")
    (found,) = retrained(problem, "kernel_ridge:l2=2", [1], sampling).predict(problem.evals["id"].inputs)
    x, y, rows, test = rows_of(problem, 1, sampling)
    near, deviations, held_out = tanimoto(x, x), y - y.mean(dtype=np.float64), np.empty(len(y))
    for fit, judge in GroupKFold(5).split(x, groups=rows):
        assert not {*rows[fit]} & {*rows[judge]}
        alpha = np.linalg.solve(near[np.ix_(fit, fit)] + 2 * np.eye(len(fit)), deviations[fit])
        held_out[judge] = near[np.ix_(judge, fit)] @ alpha
    (factor,), *_ = np.linalg.lstsq(held_out[:, None], deviations)
    assert factor > 1
    wanted = y.mean() + factor * scores(x, y.astype(np.float64), test, 2)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-5)


def test_a_regression_without_any_signal_predicts_the_mean():
    y = np.array([1.0, -1, 1, -1, 1, -1, 1, -1, 1, -1])  # of equal molecules, those left out deviate from the others
    model = Stretched(KernelRidge(alpha=1.0, kernel="precomputed")).fit(np.ones((10, 10)), y, np.arange(10))
    assert model.factor == 0
    np.testing.assert_array_equal(model.predict(np.ones((3, 10))), np.full(3, y.mean()))
