"""The estimators follow scikit-learn's interface and give the benchmark's predictions."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmark.data.features import standardise
from benchmark.errors import UserError
from benchmark.estimators import MethodClassifier, MethodRegressor, retrain
from benchmark.learners._estimator import probabilities
from benchmark.run.check import synthetic
from benchmark.train import bootstrap, sample_for
from benchmark.types import PAPER, Examples, Inputs, Problem

SMALL = "mlp:hidden=16:lr=0.03:epochs=8"
ESTIMATORS = [
    MethodClassifier("knn"),
    MethodRegressor("bagging:k=2", learner=SMALL),
]


def rounding(estimator: MethodClassifier | MethodRegressor) -> dict[str, str]:
    reason = "networks predict in single precision: the last bits of a row depend on the rows beside it"
    return {"check_methods_subset_invariance": reason} if estimator.learner else {}


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=rounding)
def test_the_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [MethodClassifier, MethodRegressor])
@pytest.mark.parametrize("name", ["erm", "twin", "svm"])
def test_a_random_state_gives_the_model_of_the_benchmark_at_that_train_seed(retrained, estimator, name):
    task = "classification" if "Classifier" in estimator.__name__ else "regression"
    problem = synthetic(task)
    rng = np.random.default_rng(1)

    def mixed(examples: Examples) -> np.ndarray:
        return np.hstack([examples.x, rng.normal(5, 3, size=(len(examples), 2))])

    train, test = mixed(problem.train), mixed(problem.evals["id"])
    scaled = np.arange(train.shape[1]) >= problem.train.x.shape[1]
    x = standardise(np.vstack([train, test]), scaled, np.arange(len(train)))
    y = problem.train.y
    centre, width = (y.mean(dtype=float), y.std(dtype=float)) if task == "regression" else (0, 1)
    seen = Examples(x[: len(train)], ((y - centre) / width).astype(y.dtype), problem.train.ids, problem.train.smiles)
    inputs = Inputs(x[len(train) :], problem.evals["id"].smiles)
    (expected,) = retrained(replace(problem, train=seen), name, [7]).predict(inputs)

    learner = None if name == "svm" else f"mlp:epochs={problem.recipe.epochs}"
    model = estimator(name, learner=learner, random_state=7).fit(train, y)
    values = model.predict_proba(test) if task == "classification" else model.predict(test)[:, None]
    np.testing.assert_allclose(values, expected * width + centre, atol=1e-4)


def test_pickled_the_estimator_predicts_the_same_and_holds_no_training_data():
    problem = synthetic("classification", n=4000)
    model = MethodClassifier("twin", learner="mlp:hidden=16:epochs=1", random_state=1).fit(
        problem.train.x, problem.train.y
    )
    pickled = pickle.dumps(model)
    assert len(pickled) < problem.train.x.nbytes / 4
    new = problem.evals["id"].x
    np.testing.assert_array_equal(pickle.loads(pickled).predict_proba(new), model.predict_proba(new))


def test_without_a_random_state_two_fits_differ_and_a_generator_repeats_them():
    problem = synthetic("classification")
    x, y = problem.train.x, problem.train.y

    def fitted(state: object) -> np.ndarray:
        return MethodClassifier("erm", learner=SMALL, random_state=state).fit(x, y).predict_proba(x)

    assert not np.allclose(fitted(None), fitted(None))
    np.testing.assert_array_equal(fitted(np.random.RandomState(3)), fitted(np.random.RandomState(3)))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MethodClassifier(learner="mlp:hidden=20"), "multiple of 16"),
        (MethodClassifier("twins"), "unknown method 'twins': did you mean 'twin'"),
        (MethodClassifier(learner="gin"), "gin reads smiles, and X has numbers: use another learner"),
        (MethodClassifier("warm_start"), "under --sampling paper"),
        (MethodRegressor("logit_penalty"), "logit_penalty learns classification, not regression"),
    ],
)
def test_what_cannot_be_trained_is_refused_when_fitting(estimator, message):
    problem = synthetic("classification")
    with pytest.raises(ValueError, match=message):
        estimator.fit(problem.train.x, problem.train.y)
    with pytest.raises(ValueError, match="y has one class, 'active': a classifier needs two or more"):
        MethodClassifier().fit(np.eye(4), np.full(4, "active"))


def test_retrainings_of_an_estimator_are_those_of_the_benchmark():
    problem = synthetic("classification")
    x, y, new = problem.train.x, problem.train.y, problem.evals["id"].x
    forest = RandomForestClassifier(n_estimators=5)
    runs = retrain(forest, x, y, new, [1, 2])
    for run, seed in zip(runs, [1, 2], strict=True):
        (rows,) = bootstrap(sample_for(problem, PAPER, seed)[0])
        again = RandomForestClassifier(n_estimators=5, random_state=seed).fit(x[rows], y[rows])
        np.testing.assert_array_equal(run, again.predict_proba(new))
    assert forest.random_state is None

    framed = retrain(make_pipeline(StandardScaler(), forest), pd.DataFrame(x), pd.Series(y), pd.DataFrame(new), [1, 2])
    assert framed.shape == runs.shape

    numbers = retrain(RandomForestRegressor(n_estimators=3), x, x[:, 0], new, [1, 2])
    assert numbers.shape == (2, 50, 1)

    twin = MethodClassifier("twin", learner=SMALL)
    own = retrain(twin, x, y, new, [4])
    np.testing.assert_array_equal(own[0], clone(twin).set_params(random_state=4).fit(x, y).predict_proba(new))
    np.testing.assert_allclose(
        retrain(make_pipeline(StandardScaler(with_mean=False, with_std=False), twin), x, y, new, [4]), own
    )


def test_retrainings_keep_the_order_of_classes_where_a_bootstrap_lacks_one_or_no_probability_is_given():
    x, y = np.arange(24.0).reshape(12, 2), np.array(["b"] * 11 + ["a"])
    seeds = range(20)
    names = np.arange(12).astype(str)
    problem = Problem("X", "classification", 2, Examples(x, y, names, names))
    lacking = [seed for seed in seeds if 11 not in bootstrap(sample_for(problem, PAPER, seed)[0])]
    assert 0 < len(lacking) < len(seeds)
    runs = retrain(RandomForestClassifier(n_estimators=3), x, y, x, seeds)
    np.testing.assert_allclose(runs.sum(axis=2), 1)
    assert (runs[lacking][..., 1] == 1).all()
    present = [seed for seed in seeds if seed not in lacking]
    classes = retrain(LinearSVC(), x, y, x, present[:2])
    assert set(np.unique(classes)) <= {0.0, 1.0}
    assert (classes.sum(axis=2) == 1).all()


class Nameless(ClassifierMixin, BaseEstimator):
    """A classifier that does not say which classes its probabilities are of."""

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_probabilities_of_unnamed_classes_are_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(UserError, match=r"Nameless has predict_proba, but no classes_ .* self\.classes_ = np\.unique"):
        retrain(Nameless(), X, y, X, seeds=[1, 2])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "This LogisticRegression instance is not fitted yet"),
        (
            LogisticRegression().fit([[0], [1]], ["no", "yes"]),
            "LogisticRegression predicts 'no', which is none of the cl",
        ),
        (
            LogisticRegression().fit([[0], [1]], [1, 2]),
            "predicts 2, which is none of the classes 0, 1: train a classif",
        ),
        (LinearSVC().fit([[0], [1]], [-1, 1]), "LinearSVC predicts -1, which is none of the classes 0, 1: "),
        (Ridge().fit([[0], [1]], [0, 1]), r"Ridge predicts 0\.\d+, which is none of the classes 0, 1: "),
    ],
)
def test_an_estimator_that_is_not_fitted_or_has_learned_other_labels_is_refused(estimator, message):
    with pytest.raises((UserError, NotFittedError), match=message):
        probabilities(estimator, np.array([[0.1], [0.9]]), np.arange(2))
