"""The baselines make the same predictions as direct calls of scikit-learn on the same bootstraps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rdkit import DataStructs
from scipy.stats import multivariate_normal, norm
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.ensemble import HistGradientBoostingClassifier as Boosting
from sklearn.ensemble import HistGradientBoostingRegressor as BoostingR
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from benchmark.errors import UserError
from benchmark.learners._estimator import Estimators, TrainingSet, tanimoto
from benchmark.learners.gaussian_process import most_likely
from benchmark.learners.knn import Neighbours
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.train import bootstrap, sample_for
from benchmark.types import PAPER, TASKS, Problem, Task
from tests.plain import outputs, rows_of, state

SEEDS = [3, 1]


def problem_of(task: Task, numbers: bool) -> Problem:
    """Return a problem on bits, or on numbers: bits with noise."""
    problem = synthetic(task)
    if not numbers:
        return problem

    def noisy(rows: Any, seed: int) -> Any:
        noise = np.random.default_rng(seed).normal(scale=0.1, size=rows.x.shape)
        return replace(rows, x=(rows.x + noise).astype(np.float32))

    evals = {name: noisy(rows, 1) for name, rows in problem.evals.items()}
    return replace(problem, train=noisy(problem.train, 0), evals=evals)


@pytest.fixture
def predicted(retrained) -> Callable[[str, Problem], np.ndarray]:
    """A function that trains a method at each seed and predicts the test set."""
    return lambda text, problem: retrained(problem, text, SEEDS).predict(problem.evals["id"].inputs)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(
    ("text", "task", "by_hand"),
    [
        ("random_forest:trees=7", "classification", lambda s: RandomForestClassifier(7, random_state=s)),
        ("random_forest:trees=7", "regression", lambda s: RandomForestRegressor(7, random_state=s)),
        ("random_forest:trees=7:leaf=4", "classification",
         lambda s: RandomForestClassifier(7, min_samples_leaf=4, random_state=s)),
        ("extra_trees:trees=7", "classification", lambda s: ExtraTreesClassifier(7, random_state=s)),
        ("extra_trees:trees=7", "regression", lambda s: ExtraTreesRegressor(7, random_state=s)),
        ("gradient_boosting:trees=9", "classification", lambda s: Boosting(max_iter=9)),
        ("gradient_boosting:rate=0.3:trees=9", "regression", lambda s: BoostingR(learning_rate=0.3, max_iter=9)),
        ("linear:l2=0.5", "classification", lambda s: LogisticRegression(C=2.0, max_iter=5000)),
        ("linear:l2=0.5", "regression", lambda s: Ridge(0.5)),
        ("sklearn:sklearn.linear_model.LogisticRegression:C=10:fit_intercept=false", "classification",
         lambda s: LogisticRegression(C=10, fit_intercept=False)),
        ("sklearn:sklearn.tree.DecisionTreeClassifier:max_depth=4:criterion=entropy", "classification",
         lambda s: DecisionTreeClassifier(max_depth=4, criterion="entropy", random_state=s)),
    ],
)  # fmt: skip
def test_an_estimator_is_fitted_to_each_bootstrap_as_scikit_learn_fits_it(predicted, text, task, by_hand, numbers):
    problem = problem_of(task, numbers)
    predictions = predicted(text, problem)
    with threadpool_limits(1):
        for seed, values in zip(SEEDS, predictions, strict=True):
            x, y, _, test = rows_of(problem, seed)
            np.testing.assert_array_equal(values, outputs(by_hand(state(seed)).fit(x, y), test))


def test_tanimoto_similarity_equals_rdkits_and_is_one_for_rows_without_ones():
    rng = np.random.default_rng(0)
    a, b = (rng.random((n, 40)) < 0.3 for n in (6, 9))
    a[0] = b[0] = False
    bits = [
        [DataStructs.CreateFromBitString("".join("01"[bit] for bit in row.astype(int))) for row in x] for x in (a, b)
    ]
    expected = np.array([[DataStructs.TanimotoSimilarity(one, other) for other in bits[1]] for one in bits[0]])
    expected[0, 0] = 1
    np.testing.assert_allclose(tanimoto(a.astype(float), b.astype(float)), expected)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("numbers", [False, True])
def test_nearest_neighbours_are_those_of_jaccard_or_euclidean_distance(predicted, task, numbers):
    problem = problem_of(task, numbers)
    kind = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
    for seed, values in zip(SEEDS, predicted("knn:k=3", problem), strict=True):
        x, y, _, test = rows_of(problem, seed)
        x, test = (x, test) if numbers else (x.astype(bool), test.astype(bool))
        metric = "euclidean" if numbers else "jaccard"
        model = kind(n_neighbors=3, metric=metric, algorithm="brute").fit(x, y)
        distance, _ = model.kneighbors(test, n_neighbors=4)
        decided = distance[:, 2] < distance[:, 3] - 1e-9
        assert decided.mean() > 0.3  # scikit-learn may break ties for third place differently
        np.testing.assert_allclose(values[decided], outputs(model, test)[decided], rtol=1e-6)


def test_the_first_drawn_of_tied_neighbours_count():
    x = np.eye(4)
    model = Neighbours(2, tanimoto, x, np.eye(2)[[1, 0, 1, 1]], np.arange(2))
    assert model.predict_proba(np.zeros((1, 4))).tolist() == [[0.5, 0.5]]  # four at the same distance
    assert model.predict_proba(np.array([[0, 1.0, 1, 1]])).tolist() == [[0.5, 0.5]]  # three at the same distance


@pytest.mark.parametrize("task", TASKS)
def test_a_gaussian_process_is_the_exact_one_on_the_bootstrap_with_its_repeats(predicted, task):
    problem = problem_of(task, numbers=True)
    for seed, values in zip(SEEDS, predicted("gaussian_process", problem), strict=True):
        x, y, rows, test = rows_of(problem, seed)
        target = np.where(y == 1, 1.0, -1.0) if task == "classification" else y.astype(float)
        _, first = np.unique(rows, return_index=True)
        gamma = 1 / (x.shape[1] * x[first].var())
        kernel = RBF(length_scale=(2 * gamma) ** -0.5, length_scale_bounds="fixed")
        centred = (target - target.mean())[:, None]
        ratio, (variance,) = most_likely(kernel(x[first]), centred[first])
        exact = GaussianProcessRegressor(kernel, alpha=ratio, optimizer=None).fit(x, target - target.mean())
        mean, deviation = exact.predict(test, return_std=True)
        mean += target.mean()
        if task == "regression":
            np.testing.assert_allclose(values[:, 0], mean, rtol=1e-6, atol=1e-8)
        else:
            expected = norm.cdf(mean / np.sqrt(variance * (deviation**2 + ratio)))
            np.testing.assert_allclose(values[:, 1], expected, rtol=1e-6, atol=1e-8)


def test_the_noise_of_a_gaussian_process_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    similar = RBF(0.5)(rng.random((50, 3)))
    y = rng.multivariate_normal(np.zeros(50), 2.0 * (similar + 0.2 * np.eye(50)))[:, None]

    def likelihood(ratio: float, variance: float) -> float:
        return float(multivariate_normal.logpdf(y[:, 0], cov=variance * (similar + ratio * np.eye(50))))

    ratio, (variance,) = most_likely(similar, y)
    best = likelihood(ratio, variance)
    for a in (0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2):
        for b in (0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2):
            assert likelihood(a * ratio, b * variance) <= best + 1e-6


class Threads(Estimators):
    """An estimator that trains nothing and counts the threads that libraries may start."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def trained(self, data: TrainingSet) -> Any:
        self.predict(data.x)
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.seen += [library["num_threads"] for library in threadpool_info()]
        return np.zeros(len(x))


def test_estimators_train_and_predict_on_one_thread(retrained):
    learner, problem = Threads(), synthetic("regression")
    with threadpool_limits(2):
        retrained(problem, learner, SEEDS).predict(problem.evals["id"].inputs)
        assert 2 in {library["num_threads"] for library in threadpool_info()}
    assert set(learner.seen) == {1}


@pytest.mark.parametrize("text", ["extra_trees:trees=5", "linear", "knn", "gaussian_process"])
def test_a_class_that_a_bootstrap_lacks_has_probability_zero(predicted, text):
    problem = synthetic("classification")
    y = problem.train.y.copy()
    (rows,) = bootstrap(sample_for(problem, PAPER, 3)[0])
    y[np.setdiff1d(np.arange(len(y)), rows)[0]] = 2
    problem = replace(problem, train=replace(problem.train, y=y), n_outputs=3)
    values = predicted(text, problem)
    np.testing.assert_allclose(values.sum(axis=2), 1)
    assert (values[0, :, 2] == 0).all()


@pytest.mark.parametrize(
    "text", ["svm", "multi_kernel", "kernel_ridge", "random_forest:trees=20", "gaussian_process", "linear"]
)
@pytest.mark.parametrize("rare", [0, 1, 2, 3])
def test_a_class_of_few_molecules_is_learnt_or_left_out_but_stops_no_training(predicted, text, rare):
    problem = synthetic("classification")
    y = np.arange(len(problem.train)) < rare
    values = predicted(text, replace(problem, train=replace(problem.train, y=y.astype(np.int64))))
    assert np.isfinite(values).all()
    assert values[..., 0].mean() > 0.5
    assert rare or (values[..., 0] == 1).all()


@pytest.mark.parametrize("name", ["svm", "gaussian_process", "multi_kernel", "kernel_ridge"])
def test_too_many_rows_for_a_kernel_are_refused_with_the_memory_that_they_need(name):
    rows = np.arange(40_000)
    sample = sample_for(synthetic("classification"), PAPER, 1)[0]
    large = replace(sample, x=sample.x[rows % len(sample)], y=sample.y[rows % len(sample)], rows=rows)
    with pytest.raises(UserError, match=r"40,000 training rows: .* need 12 GiB of memory, and at most 20,000 rows"):
        make_method(name, "classification").fit(replace(large, smiles=sample.smiles[rows % len(sample)]))
