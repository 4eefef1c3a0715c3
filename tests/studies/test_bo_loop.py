"""Campaigns: what is acquired, from what, and by which seed, against the algorithm written out again."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.pipeline import Learner, Pipeline, Remedy
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.studies.bo_loop import campaigns, overlaps, trajectory
from benchmark.types import Examples, Model, Problem, Recipe, Sample

INITIAL = np.array([3, 10, 11, 40, 41, 42, 60, 77])


@pytest.fixture(scope="module")
def problem() -> Problem:
    made = synthetic("regression", n=90)
    return replace(made, recipe=Recipe(hidden=16, lr=0.01, epochs=3))


@dataclass(frozen=True)
class Watched(Remedy):
    """ERM, and what it was asked to fit."""

    fits: list[Sample] = field(default_factory=list)

    def fit(self, sample: Sample, learner: Learner) -> Model:
        self.fits.append(sample)
        return learner.fit(sample)


def watched() -> tuple[Pipeline, list[Sample]]:
    """Return a pipeline, and the list of what it is asked to fit."""
    remedy = Watched()
    return replace(make_method("erm", "regression"), remedy=remedy), remedy.fits


def with_labels(problem: Problem, y: np.ndarray) -> Problem:
    pool = problem.train
    return replace(problem, train=Examples(pool.x, y.astype(np.float32), pool.ids, pool.smiles))


def test_each_step_acquires_the_highest_prediction_of_a_model_trained_anew_on_what_is_known(problem, retrained):
    known = INITIAL.tolist()
    pool = problem.train
    for t in range(1, 5):
        rest = [i for i in range(len(pool)) if i not in known]
        labelled = Examples(pool.x[known], pool.y[known], pool.ids[known], pool.smiles[known])
        fitted = retrained(replace(problem, train=labelled), "erm", [2 * 10**6 + t])
        known.append(rest[int(np.argmax(fitted.predict(pool.inputs[rest])[0, :, 0]))])
    found = trajectory(problem, make_method("erm", "regression"), 2, INITIAL, 4)
    assert found == known[len(INITIAL) :]


def test_a_campaign_starts_from_the_initial_molecules_and_never_acquires_one_twice(problem: Problem) -> None:
    for k in (1, 2):
        method, fits = watched()
        found = trajectory(problem, method, k, INITIAL, 6)
        assert len(set(found) | set(INITIAL.tolist())) == 6 + len(INITIAL)
        order = [*INITIAL.tolist(), *found]
        assert [sample.seed for sample in fits] == [k * 10**6 + t for t in range(1, 7)]
        assert not any(hasattr(sample, "evals") for sample in fits)
        for t, sample in enumerate(fits):
            np.testing.assert_array_equal(sample.x, problem.train.x[order[: len(INITIAL) + t]])
            np.testing.assert_array_equal(sample.y, problem.train.y[order[: len(INITIAL) + t]])


def test_labels_are_not_seen_before_their_molecule_is_acquired(problem: Problem) -> None:
    method = make_method("erm", "regression")
    found = trajectory(problem, method, 1, INITIAL, 4)
    for t in range(4):  # what is not acquired in the first t steps has a poisoned label
        open_ = [*INITIAL.tolist(), *found[:t]]
        y = np.full(len(problem.train), 1e6)
        y[open_] = problem.train.y[open_]
        assert trajectory(with_labels(problem, y), method, 1, INITIAL, t + 1) == found[: t + 1]
    y = problem.train.y.copy()
    y[found[0]] = 1e6
    assert trajectory(with_labels(problem, y), method, 1, INITIAL, 4)[0] == found[0]
    assert trajectory(with_labels(problem, y), method, 1, INITIAL, 4) != found


def test_a_method_without_networks_is_taken_at_its_one_prediction(problem: Problem, retrained) -> None:
    forest = make_method("random_forest:trees=5", "regression")
    known = replace(problem, train=Examples(*(getattr(problem.train, f)[INITIAL] for f in ("x", "y", "ids", "smiles"))))
    rest = np.setdiff1d(np.arange(90), INITIAL)
    best = retrained(known, forest, [1_000_001]).predict(problem.train.inputs[rest])[0, :, 0].argmax()
    assert trajectory(problem, forest, 1, INITIAL, 1) == [rest[best]]


def test_overlaps_are_jaccards() -> None:
    found = overlaps(np.array([[1, 2, 3, 4], [4, 3, 9, 8], [1, 2, 4, 3], [10, 11, 12, 13]]))
    by_hand = [[0, 2 / 6, 1, 0], [2 / 6, 0, 2 / 6, 0], [1, 2 / 6, 0, 0], [0, 0, 0, 0]]
    assert found == pytest.approx(np.array(by_hand))


def test_another_backbone_has_no_recipe_for_campaigns() -> None:
    with pytest.raises(UserError, match="campaigns use the recipe of mlp: leave the other backbone out"):
        campaigns(None, "b3db_logbb@backbone=gin", 99, make_method("erm", "regression"), 2, 8, 2)
