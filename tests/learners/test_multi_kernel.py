"""The mean of two kernels, and support vectors on it, against what numpy, scipy and scikit-learn compute."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from benchmark.learners._estimator import Kernel, kernel_for
from benchmark.learners._kernels import MeanKernel
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.types import TASKS, Problem, Task
from tests.plain import rows_of

BITS, NUMBERS = slice(0, 24), slice(24, 30)


def rows(n: int, seed: int = 0) -> np.ndarray:
    """24 bits, then 6 numbers of which some are far from their mean."""
    rng = np.random.default_rng(seed)
    return np.hstack([rng.random((n, 24)) < 0.3, 2 * rng.standard_t(3, (n, 6))])


def by_hand(a: np.ndarray, b: np.ndarray, like: np.ndarray) -> list[np.ndarray]:
    """The two kernels of rows of bits and numbers."""
    bits = 1 - cdist(a[:, BITS].astype(bool), b[:, BITS].astype(bool), "jaccard")
    cut = np.clip(like[:, NUMBERS], -3, 3)
    squares = cdist(np.clip(a[:, NUMBERS], -3, 3), np.clip(b[:, NUMBERS], -3, 3), "sqeuclidean")
    return [bits, np.exp(-squares / (cut.shape[1] * cut.var()))]


@pytest.mark.parametrize(("part", "kinds"), [(slice(None), slice(None)), (BITS, slice(1)), (NUMBERS, slice(1, 2))])
def test_the_kernel_is_the_mean_of_tanimotos_on_bits_and_a_gaussian_one_on_numbers_within_three_deviations(part, kinds):
    train, test = rows(40), rows(15, 1)
    assert (np.abs(train[:, NUMBERS]) > 3).any()
    found = MeanKernel.of(train[:, part])(test[:, part], train[:, part])
    np.testing.assert_allclose(found, np.mean(by_hand(test, train, train)[kinds], axis=0))


def test_which_columns_are_bits_is_decided_on_the_training_rows_alone():
    train = rows(40)
    kernel = MeanKernel.of(train)
    moved = rows(15, 1)
    moved[:, NUMBERS] = np.round(moved[:, NUMBERS])  # zeros and ones here make no bits of them
    np.testing.assert_allclose(kernel(moved, train), np.mean(by_hand(moved, train, train), axis=0))


def test_numbers_that_do_not_vary_have_a_kernel_without_a_division_by_zero():
    x = np.full((5, 2), 2.0)
    np.testing.assert_array_equal(MeanKernel.of(x)(x, x), np.ones((5, 5)))


def problem_of(task: Task, part: slice) -> Problem:
    """A problem on bits, on numbers, or on both."""
    problem = synthetic(task)

    def widened(x: np.ndarray, seed: int) -> np.ndarray:
        noise = np.random.default_rng(seed).normal(scale=0.7, size=(len(x), 6))
        return np.hstack([x[:, :24], x[:, :6] + noise])[:, part].astype(np.float32)

    tests = {name: replace(test, x=widened(test.x, 1)) for name, test in problem.evals.items()}
    return replace(problem, train=replace(problem.train, x=widened(problem.train.x, 0)), evals=tests)


def of_scikit_learn(task: Task, kernel: Kernel, c: float, x: np.ndarray, y: np.ndarray, rows: np.ndarray):
    """The same machine, given the kernel as a function, which scikit-learn calls for each fold."""
    if task == "regression":
        return TransformedTargetRegressor(SVR(C=c, kernel=kernel), transformer=StandardScaler()).fit(x, y)
    folds = list(StratifiedGroupKFold(5).split(x, y, groups=rows))
    return CalibratedClassifierCV(SVC(C=c, kernel=kernel), cv=folds, ensemble=False).fit(x, y)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("part", [BITS, NUMBERS, slice(None)])
@pytest.mark.parametrize(
    ("text", "kernel", "c"),
    [("svm", kernel_for, 1.0), ("svm:C=3", kernel_for, 3.0), ("multi_kernel", MeanKernel.of, 0.7)],
)
def test_predictions_are_those_of_scikit_learn_with_the_kernel_given_as_a_function(
    retrained, task, part, text, kernel, c
):
    problem = problem_of(task, part)
    values = retrained(problem, text, [3, 1]).predict(problem.evals["id"].inputs)
    with threadpool_limits(1):
        for seed, found in zip([3, 1], values, strict=True):
            x, y, chosen, test = rows_of(problem, seed)
            model = of_scikit_learn(task, kernel(x), c, x, y, chosen)
            expected = model.predict(test)[:, None] if task == "regression" else model.predict_proba(test)
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_its_own_features_are_the_counted_fingerprints_and_the_descriptors():
    method = make_method("multi_kernel", "classification")
    assert method.reading.features == ("morgan_counts:4096:2", "atom_pairs:4096", "rdkit_descriptors")
    assert make_method("svm", "classification").reading.features == ()
    assert make_method("multi_kernel", "classification", features="maccs").reading.features == ("maccs",)
