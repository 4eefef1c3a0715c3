"""Every method keeps the contract, and every way of breaking it is detected."""

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmark import pipeline
from benchmark.errors import UserError
from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.learners.mlp import MLP
from benchmark.pipeline import Learner, Part, Remedy, method
from benchmark.registry import discover, make_method
from benchmark.run.check import check_method, synthetic
from benchmark.train import bootstrap, generator, sample_for
from benchmark.train.learner import NetworkLearner
from benchmark.types import Inputs, Model, Problem, Sample

pytestmark = pytest.mark.usefixtures("own_registry")
PARTS, _ = discover()
FASTER = {*("random_forest", "extra_trees", "gradient_boosting", "lightgbm", "xgboost", "catboost", "blend")}
"""Hundreds of trees keep the same contract, more slowly."""
METHODS = [
    name
    for name, cls in PARTS.items()
    if not issubclass(cls, NetworkLearner) or cls.weights is NetworkLearner.weights  # pretrained ones have own tests
]


def part_of(name: str) -> type[Part]:
    for module in PARTS[name].requires:
        pytest.importorskip(module)
    return PARTS[name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), [(name, task) for name in METHODS for task in PARTS[name].tasks])
def test_the_method_keeps_the_contract(name, task):
    cls = part_of(name)
    if name in FASTER:
        few = {"grid": ({"trees": 5}, {}) if cls.grid else (), "regression_grid": (), "quick": {}}
        cls = make_dataclass(name, [("trees", int, 10)], bases=(cls,), frozen=True, namespace=few)
        pipeline.registered[name] = cls
    if name == "tabm":
        cls = make_dataclass(name, [("k", int, 4)], bases=(cls,), frozen=True)
        pipeline.registered[name] = cls
    assert check_method(cls, task, tuning=task == cls.tasks[0]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if getattr(PARTS[name], "reads", "numbers") == "numbers"])
def test_the_method_learns_a_signal(retrained, name):
    cls, problem = part_of(name), synthetic("classification", n=600)
    method = make_method(name, "classification", {"k": "4"} if name == "tabm" else {"trees": "50"})
    recipe = (method.reading.recipe or problem.recipe).model_copy(update={"epochs": 15})
    test = problem.evals["id"]
    sampling = "paper" if "paper" in cls.samplings else "update"
    models = retrained(replace(problem, recipe=recipe), method, [1], sampling)
    right = models.predict(test.inputs).argmax(axis=2) == test.y
    majority = max(test.y.mean(), 1 - test.y.mean())
    assert right.mean() > majority + 0.1


@dataclass(frozen=True)
class Shaped:
    """The predictions of ``model`` after ``change``."""

    model: Model
    change: Callable[[np.ndarray], np.ndarray]

    def predict(self, inputs: Inputs) -> np.ndarray:
        return self.change(self.model.predict(inputs))


def keeps_the_contract(sample: Sample, learner: Learner) -> Model:
    return learner.fit(sample.of(bootstrap(sample)[0]))


def ignores_the_seed(sample: Sample, learner: Learner) -> Model:
    return keeps_the_contract(replace(sample, seed=0), learner)


def ignores_the_seed_but_for_a_trace(sample: Sample, learner: Learner) -> Model:
    def with_a_trace(values: np.ndarray) -> np.ndarray:
        trace = 1e-4 * sample.seed * (np.array([1.0, -1.0]) if values.shape[1] == 2 else 1.0)
        return np.asarray(values + trace * np.where(values[:, :1] > 0.5, -1, 1))

    return Shaped(ignores_the_seed(sample, learner), with_a_trace)


def finds_the_pool(sample: Sample, learner: Learner) -> Model:
    frames = (frame.frame.f_locals.values() for frame in inspect.stack())
    pool = next(value.train for values in frames for value in values if isinstance(value, Problem))
    return learner.fit(replace(sample, x=pool.x, y=pool.y, smiles=pool.smiles, rows=np.arange(len(pool))))


SEEDS_SO_FAR = [0]


def remembers_the_last_seed(sample: Sample, learner: Learner) -> Model:
    SEEDS_SO_FAR.append(sample.seed)
    rows = bootstrap(sample)[0]
    return learner.fit(replace(sample, rows=rows, seed=SEEDS_SO_FAR[-2], batches=sample.seed))


def draws_from_the_clock(sample: Sample, learner: Learner) -> Model:
    return learner.fit(sample.of(np.random.default_rng().integers(len(sample), size=len(sample))))


def ignores_the_data(sample: Sample, learner: Learner) -> Model:
    def noise(values: np.ndarray) -> np.ndarray:
        drawn = generator("forest", sample.seed).random(values.shape)
        return drawn / drawn.sum(axis=1, keepdims=True) if sample.task == "classification" else drawn

    return Shaped(keeps_the_contract(sample, learner), noise)


def ranks_what_is_predicted(sample: Sample, learner: Learner) -> Model:
    def ranked(values: np.ndarray) -> np.ndarray:
        ranks = np.argsort(np.argsort(values[:, -1:], axis=0), axis=0) / len(values)
        return np.hstack([1 - ranks, ranks]) if sample.task == "classification" else ranks

    return Shaped(keeps_the_contract(sample, learner), ranked)


def predicts_in_reverse(sample: Sample, learner: Learner) -> Model:
    return Shaped(keeps_the_contract(sample, learner), lambda values: values[::-1])


def looks_at_the_test(sample: Sample, learner: Learner) -> Model:
    return keeps_the_contract(replace(sample, x=sample.evals["id"].x), learner)


def predicts_nan(sample: Sample, learner: Learner) -> Model:
    def with_nan(values: np.ndarray) -> np.ndarray:
        values[7, 0] = np.nan
        return values

    model = keeps_the_contract(sample, learner)
    return Shaped(model, with_nan) if sample.seed == 3 else model


def adds_an_axis_of_seeds(sample: Sample, learner: Learner) -> Model:
    return Shaped(keeps_the_contract(sample, learner), lambda values: values[None])


def predicts_logits(sample: Sample, learner: Learner) -> Model:
    return Shaped(keeps_the_contract(sample, learner), np.log)


def predicts_lists(sample: Sample, learner: Learner) -> Model:
    return Shaped(keeps_the_contract(sample, learner), lambda values: values.tolist())


def fails(sample: Sample, learner: Learner) -> Model:
    raise RuntimeError("out of memory")


def fails_in_a_library(sample: Sample, learner: Learner) -> Model:
    return learner.fit(replace(sample, x=json.loads("{")))


def exits(sample: Sample, learner: Learner) -> Model:
    sys.exit(3)


def sets_a_field(sample: Sample, learner: Learner) -> Model:
    sample.x *= 2  # type: ignore[misc]
    return learner.fit(sample)


def returns_nothing(sample: Sample, learner: Learner) -> None:
    keeps_the_contract(sample, learner)


def registered(fit: Callable[[Sample, Learner], Model | None], kind: type[Part] = Remedy) -> type[Part]:
    """Register a remedy, or a learner, around a ``fit``."""
    own = (lambda self, sample: fit(sample, MLP())) if kind is Learner else (lambda self, *given: fit(*given))
    cls = make_dataclass("Method", [], bases=(kind,), frozen=True, namespace={"fit": own})
    return method(fit.__name__, title=fit.__name__)(cls)


BROKEN = [
    (ignores_the_seed, "different train seeds give the same predictions: train on sample.rows or bootstrap(sample)"),
    (ignores_the_seed_but_for_a_trace, "different train seeds give the same predictions: train on sample.rows or"),
    (finds_the_pool, "predictions under halves depend on rows outside the half: fit on sample.x and sample.y"),
    (remembers_the_last_seed, "a seed's predictions depend on what was fitted before: keep nothing between calls"),
    (draws_from_the_clock, "fitting twice gives different predictions: take all randomness from benchmark.train."),
    (ignores_the_data, "predictions do not depend on the training data: fit on sample.x and sample.y"),
    *(
        (fit, "predictions depend on which rows are predicted together: predict each by itself, in the order given")
        for fit in (ranks_what_is_predicted, predicts_in_reverse)
    ),
    (looks_at_the_test, "AttributeError: 'Sample' object has no attribute 'evals' ("),
    (
        predicts_nan,
        "ValueError: 1 of {size} predictions are not finite; the first is nan for train seed 3, example id7",
    ),
    (adds_an_axis_of_seeds, "ValueError: predictions must have shape (seeds, examples, "),
    (returns_nothing, "TypeError: fit of method 'returns_nothing' returned None: expected an object with predict("),
    (exits, f"SystemExit: 3 ({__file__}:"),
    (fails, f"RuntimeError: out of memory ({__file__}:"),
    (
        fails_in_a_library,
        f"JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1) ({__file__}",
    ),
    (predicts_logits, "ValueError: class probabilities must be at least 0 and sum to 1; for train seed "),
    (sets_a_field, f"FrozenInstanceError: cannot assign to field 'x' ({__file__}:"),
]
"""Ways to break the contract, and what is said of each."""


@pytest.mark.parametrize(
    ("kind", "task", "fit", "sentence"),
    [(Remedy, "classification", *row) for row in BROKEN] + [(Learner, "regression", *row) for row in BROKEN[1::3]],
)
def test_a_broken_method_is_reported(kind, task, fit, sentence):
    errors = check_method(registered(fit, kind), task)
    size = 3 * 50 * (2 if task == "classification" else 1)
    assert any(error.startswith(sentence.replace("{size}", str(size))) for error in errors), errors


@pytest.mark.parametrize("fit", [keeps_the_contract, predicts_lists])
@pytest.mark.parametrize(("kind", "task"), [(Remedy, "classification"), (Learner, "regression")])
def test_a_method_that_keeps_the_contract_has_no_errors(kind, task, fit):
    assert check_method(registered(fit, kind), task) == []


class OnLabels(Estimators):
    def trained(self, data: TrainingSet) -> LogisticRegression:
        return LogisticRegression().fit(data.x, data.y)


class OnWeights(Estimators):
    def trained(self, data: TrainingSet) -> LogisticRegression:
        data = data.weighted()
        return LogisticRegression().fit(data.x, data.y, data.weight)


class Deaf(Learner):
    offers = frozenset({"targets"})

    def fit(self, sample: Sample) -> Model:
        return OnLabels().fit(replace(sample, targets=None))


@pytest.mark.parametrize(
    ("base", "sentences"),
    [
        (OnLabels, ["fail with ValueError: Input y contains NaN. ("]),
        (OnWeights, []),
        (Deaf, ["change nothing: train on"]),
    ],
)
def test_a_learner_that_offers_to_learn_soft_labels_learns_them(base, sentences):
    cls = method("soft", title="Soft")(type("Soft", (base,), {}))
    errors = check_method(cls, "classification")
    assert len(errors) == len(sentences)
    for error, sentence in zip(errors, sentences, strict=True):
        assert error.startswith(f"soft labels, which its offers include, {sentence}")


@pytest.mark.parametrize("kind", [Learner, Estimators])
def test_soft_labels_are_refused_by_a_learner_that_does_not_offer_to_learn_them(kind):
    own = {"fit": lambda self, sample: OnWeights().fit(sample), "offers": frozenset()}
    hard = method("hard", title="Hard")(type("Hard", (kind,), own))()
    sample = sample_for(synthetic("classification"), "paper", 1)[0]
    assert hard.fit(sample).predict(sample.inputs).shape == (len(sample), 2)
    with pytest.raises(UserError, match=r"^hard is given soft labels, which it does not offer to learn: .*needs = "):
        hard.fit(sample.towards(sample.labels))


def test_a_method_that_no_run_could_record_is_refused():
    fields = {"__annotations__": {"layers": tuple[int, ...]}, "layers": (64, 64), "fit": lambda self, sample: None}
    cls = pipeline.learner("plain", title="Plain")(type("Plain", (Learner,), fields))
    with pytest.raises(UserError, match=r"^plain cannot be recorded: key: params.layers.str: "):
        check_method(cls, "classification")
