"""Settings are chosen from grids inside the sample, and cost what the search costs."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from benchmark import tuning
from benchmark.errors import UserError
from benchmark.learners._estimator import Estimators, TrainingSet
from benchmark.pipeline import NonNegativeInt, Part, learner, registered
from benchmark.registry import discover, find, make_method, title
from benchmark.run.check import check_method, synthetic
from benchmark.run.code import code_of
from benchmark.run.runner import plan, retrain, run
from benchmark.store.cell import Cell
from benchmark.train import sample_for
from benchmark.train.loop import once, sharing
from benchmark.tuning import FOLDS, choose, folds, grid_of, losses, predictions, transferred
from benchmark.types import TASKS, Inputs, Sample, Sampling, Task

GRIDS = [
    pytest.param(cls, task, id=f"{name}-{task}")
    for name, cls in discover()[0].items()
    for task in cls.tasks
    if grid_of(cls, task)
]
CHEAP = ("svm", "knn", "linear", "gaussian_process", "random_forest", "gradient_boosting", "mlp", "tabm")


def sample(task: Task = "classification", sampling: Sampling = "halves", seed: int = 1) -> Sample:
    return sample_for(synthetic(task), sampling, seed)[0]


@pytest.fixture
def made() -> Any:
    """Register a learner whose ``level`` may be 0, 1 or 2, for one test."""
    names: list[str] = []

    def register(trained: Callable[[Any, TrainingSet], Any]) -> type[Part]:
        class Made(Estimators):
            level: NonNegativeInt = 1

            grid = tuple({"level": level} for level in (0, 1, 2))

        Made.trained = trained
        names.append(f"made_{len(names)}")
        return learner(names[-1], title="Made", revision=1)(Made)

    yield register
    for name in names:
        del registered[name]


class Constant:
    """Predicts class 1 with one probability, or a number."""

    classes_ = np.array([0, 1])

    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.full(len(x), self.value)

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.tile([1 - self.value, self.value], (len(x), 1))


@pytest.mark.parametrize(("cls", "task"), GRIDS)
def test_a_grid_has_at_most_twelve_settings_that_differ_and_the_default_is_among_them(cls: type[Part], task: Task):
    default = cls(**(cls.regression if task == "regression" else {}))
    settings = [replace(default, **setting) for setting in grid_of(cls, task)]
    assert 2 <= len(settings) <= 12
    assert len({repr(setting) for setting in settings}) == len(settings)
    assert default in settings
    assert {*getattr(cls, "quick", {})} <= {field.name for field in fields(cls)}
    assert all(replace(default, **setting) in settings for setting in transferred(cls.name, task).values())


def test_every_learner_of_the_suite_has_a_grid():
    parts, _ = discover()
    lacking = [name for name, cls in parts.items() if cls.__module__.startswith("benchmark.learners") and not cls.grid]
    assert lacking == []


@pytest.mark.parametrize("sampling", ["halves", "nested", "paper"])
@pytest.mark.parametrize("task", TASKS)
def test_folds_hold_out_each_molecule_once_with_all_its_repeats(task: Task, sampling: Sampling):
    whole = sample(task, sampling)
    parts = list(folds(whole))
    assert len(parts) == FOLDS
    assert sorted(np.concatenate([part.molecules for part in parts])) == sorted(set(whole.rows))
    for part in parts:
        assert np.array_equal(part.y, whole.y[part.molecules])
        assert np.array_equal(part.inputs.x, whole.x[part.molecules])
        kept = np.setdiff1d(np.arange(len(whole)), part.molecules)
        assert np.array_equal(part.sample.x, whole.x[kept])
        assert np.array_equal(part.sample.y, whole.y[kept])
        for name in ("rows", "bootstrap_pool"):
            before = getattr(whole, name)
            assert np.array_equal(kept[getattr(part.sample, name)], before[~np.isin(before, part.molecules)])


def test_folds_have_the_same_share_of_each_class_and_another_draw_at_each_seed():
    whole = sample()
    shares = [part.y.mean() for part in folds(whole)]
    assert max(shares) - min(shares) <= 1 / 15
    first, other = (next(folds(one)).molecules for one in (whole, sample(seed=2)))
    assert not np.array_equal(first, other)
    assert np.array_equal(first, next(folds(whole)).molecules)
    y = np.zeros_like(whole.y)
    y[[3, 5, 9]] = 1
    assert sorted(int(part.y.sum()) for part in folds(replace(whole, y=y))) == [0, 0, 1, 1, 1], "of a rare class"


def test_the_loss_is_the_log_loss_with_a_floor_or_the_absolute_error():
    def predict(settings: Sequence[Part], fold: Sample, inputs: Inputs) -> list[np.ndarray]:
        if fold.task == "regression":
            return [np.full((len(inputs), 1), 0.5)]
        return [np.tile([1 - value, value], (len(inputs), 1)) for value in (0.8, 0.0)]

    whole = sample()
    found = losses([find("svm")[0]()] * 2, whole, predict)
    least = 1 / (2 * len(whole))
    assert np.allclose(found[0], -np.log(np.where(whole.y == 1, 0.8, 0.2)))
    assert np.allclose(found[1], np.where(whole.y == 1, -np.log(least), 0.0))
    whole = sample("regression")
    assert np.allclose(losses([find("svm")[0]()], whole, predict)[0], np.abs(0.5 - whole.y))


def test_one_se_takes_the_most_regularised_setting_within_one_standard_error_of_the_differences():
    # The mean losses are 0.6, 0.5 and 0.4. Of the four differences to the best, those of the first setting have mean
    # 0.2 and standard error 0.1/√3 = 0.058; those of the second have mean 0.1 and standard error 0.2/√3 = 0.115.
    table = np.array([[0.3, 0.7, 0.5, 0.9], [0.4, 0.4, 0.2, 1.0], [0.2, 0.4, 0.2, 0.8]])
    table[0], table[1] = table[2] + [0.1, 0.3, 0.3, 0.1], table[2] + [0.3, -0.1, -0.1, 0.3]
    assert (choose(table, "best"), choose(table, "one-se")) == (2, 1)
    assert choose(table[[0, 2]], "one-se") == 1
    assert choose(np.array([[0.5, 0.5], [0.5, 0.5]]), "best") == 0  # of equal settings, the more regularised
    assert choose(np.full((3, 1), np.nan), "one-se") == 0  # of one molecule, none is held out


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", [*CHEAP, "lightgbm", "xgboost", "multi_kernel", "kernel_ridge"])
def test_settings_that_share_their_work_predict_what_each_predicts_alone(name: str, task: Task):
    for module in find(name)[0].requires:
        pytest.importorskip(module)
    method = make_method(name, task, backbone="none" if name == "mlp" else "mlp")
    settings = [replace(method.learner, **setting) for setting in grid_of(type(method.learner), task)]
    settings = [one for one in settings if getattr(one, "epochs", 0) in (None, 3, 0, 5, 8)]
    whole, test = sample(task), synthetic(task).evals["id"].inputs
    for one, together in zip(settings, predictions(settings, whole, test), strict=True):
        alone = replace(one, **one.quick).fit(whole).predict(test)
        np.testing.assert_allclose(together, alone, atol=1e-6, err_msg=repr(one))


def test_the_setting_with_the_smallest_loss_is_chosen_in_each_sample(made: Any):
    cls = made(lambda self, data: Constant([0.9, data.y.mean(), 0.1][self.level]))
    problem = synthetic("classification")
    y = problem.train.y
    assert 0.2 < y.mean() < 0.8
    method = make_method(cls.name, "classification", sampling="halves", tune="best")
    chosen = [method.for_sample(sample_for(problem, "halves", seed)[0])[1] for seed in (1, 2)]
    assert [one.level for one in chosen] == [1, 1]
    mostly = replace(problem, train=replace(problem.train, y=(np.arange(len(y)) % 10 > 0).astype(int)))
    (only,) = {method.for_sample(sample_for(mostly, "halves", seed)[0])[1].level for seed in (1, 2)}
    assert only in (0, 1)
    assert title(method, "classification") == "Made · tuned"


@pytest.mark.parametrize(("name", "learner", "tune"), [("bagging:k=2", "knn", "best"), ("twin_shared", "", "one-se")])
def test_a_tuned_pipeline_is_trained_alike_each_time_and_by_rows_of_its_half_alone(name, learner, tune, monkeypatch):
    monkeypatch.setattr(find("mlp")[0], "grid", ({"epochs": 3}, {}))
    problem = synthetic("classification")
    method = make_method(name, "classification", learner=learner, sampling="halves", tune=tune)
    ours = retrain(method, problem, (1, 2), "halves")["id"].values
    assert np.array_equal(ours, retrain(method, problem, (1, 2), "halves")["id"].values)
    outside = np.ones(len(problem.train), dtype=bool)
    outside[sample_for(problem, "halves", 1)[1]] = False
    elsewhere = replace(problem.train, y=np.where(outside, 1 - problem.train.y, problem.train.y))
    tests = {name: replace(test, y=1 - test.y) for name, test in problem.evals.items()}
    theirs = retrain(method, replace(problem, train=elsewhere, evals=tests), (1,), "halves")["id"].values
    assert np.array_equal(ours[:1], theirs)


def test_a_learner_whose_selection_sees_held_out_molecules_fails_the_check(made: Any):
    seen: list[TrainingSet] = []

    def remembers(self: Any, data: TrainingSet) -> Any:
        from sklearn.neighbors import KNeighborsClassifier

        data = data.weighted()
        seen.append(data)
        if self.level < 2:
            return KNeighborsClassifier(5).fit(data.x, data.y)
        x, y = np.concatenate([one.x for one in seen]), np.concatenate([one.y for one in seen])
        return KNeighborsClassifier(1).fit(x, y)

    cls = made(remembers)
    violation, *_ = check_method(cls, "classification")
    assert violation.startswith("with --tune best, the setting depends on what was fitted before")


def test_the_search_is_charged_to_the_cell_and_to_each_method_that_shares_it():
    problem = synthetic("classification")
    methods = [make_method("linear", "classification", sampling="halves", tune=tune) for tune in ("", "best", "one-se")]
    cells = [plan(problem, method, (1, 2), sampling="halves") for method in methods]
    done = {cell.key.tune: cell for _, cell in run(cells, 1, fresh=True) if isinstance(cell, Cell)}
    plain, best, one_se = (done[tune].fit_seconds for tune in ("", "best", "one-se"))
    assert min(best, one_se) > 10 * plain
    assert 0.5 < best / one_se < 2


def test_what_is_done_once_costs_each_time_what_it_took(monkeypatch: pytest.MonkeyPatch):
    clock = iter([10.0, 17.0])
    monkeypatch.setattr("benchmark.train.loop.time.process_time", lambda: next(clock))
    with sharing() as shared:
        assert [once("a", lambda: "made"), once("a", lambda: "again")] == ["made", "made"]
        assert shared.saved == 7.0


def test_the_key_and_the_title_name_the_tuning_and_another_grid_is_other_code(monkeypatch: pytest.MonkeyPatch):
    method = make_method("svm", "classification", sampling="halves", tune="one-se")
    planned = plan(synthetic("classification"), method, (1, 2))
    assert (planned.key.tune, planned.key.pipeline, planned.title) == ("one-se", "svm tune=one-se", "SVM · one-SE")
    assert "tuning@1." in code_of(method)
    assert "tuning" not in code_of(make_method("svm", "classification"))
    before = code_of(method)
    monkeypatch.setattr(find("svm")[0], "grid", ({"C": 1.0}, {"C": 3.0}))
    assert code_of(method) != before


def test_a_transferred_setting_is_used_in_all_retrainings(monkeypatch: pytest.MonkeyPatch):
    of_svm = {"classification": {"all": {"C": 0.35}}}
    monkeypatch.setattr(tuning, "_transferred", lambda: {"svm": of_svm})
    method = make_method("svm", "classification", tune="transfer")
    _, used = method.for_sample(sample())
    assert used == replace(method.learner, C=0.35)
    assert title(method, "classification") == "SVM · transferred"
    before = code_of(method)
    of_svm["classification"]["bace"] = {"C": 2.5}
    assert code_of(method) != before
    for family, C in (("", 0.35), ("dili", 0.35), ("bace", 2.5)):
        method = make_method("svm", "classification", tune="transfer", family=family)
        assert method.for_sample(sample())[1].C == C, family
    with pytest.raises(UserError, match="come with no setting for a regression: use --tune best or one-se"):
        make_method("svm", "regression", tune="transfer")


def test_a_remedy_that_trains_one_model_is_tuned_inside_another():
    method = make_method("bagging:k=2", "classification", learner="early_stopping", sampling="halves", tune="best")
    _, used = method.for_sample(sample())
    assert used.learner in [replace(method.base, **setting) for setting in grid_of(type(method.base), "classification")]


@pytest.mark.parametrize(
    ("text", "learner", "sampling", "message"),
    [
        ("svm:C=3", "", "halves", "--tune best chooses C: give no value, or leave out --tune"),
        ("twin:lam=3", "", "halves", "--tune best chooses lam"),
        ("bagging", "mlp:epochs=3", "halves", "--tune best chooses epochs"),
        ("bagging", "sklearn:sklearn.tree.DecisionTreeClassifier", "halves", "have no grid of settings"),
        ("anchor", "", "update", "would tune the earlier model on later rows"),
    ],
)
def test_what_cannot_be_tuned_is_refused(text: str, learner: str, sampling: Sampling, message: str):
    with pytest.raises(UserError, match=message):
        make_method(text, "classification", sampling=sampling, learner=learner, tune="best")
