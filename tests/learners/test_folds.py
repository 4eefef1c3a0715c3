"""Folds of calibration: those of scikit-learn, sooner."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold

from benchmark.learners._folds import GroupFolds


@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("groups", [15, 60, 300])
def test_they_are_the_folds_of_scikit_learn(n_classes, groups):
    warnings.simplefilter("ignore", UserWarning)  # of a class with few members
    for seed in range(6):
        rng = np.random.default_rng(seed)
        label = rng.choice(n_classes, groups, p=rng.dirichlet(np.full(n_classes, 2.0)))
        label[:n_classes] = np.arange(n_classes)
        rows = np.sort(rng.integers(0, groups, groups)) if seed % 2 else np.arange(groups)
        y = label[rows] if seed % 3 else rng.permutation(label[rows])  # a molecule may have several classes
        x = np.zeros((len(y), 1))
        if np.unique(y, return_counts=True)[1].max() < 5 or len(np.unique(rows)) < 5:
            continue
        ours, theirs = (list(folds(5).split(x, y, rows)) for folds in (GroupFolds, StratifiedGroupKFold))
        for (train, test), (their_train, their_test) in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(test, their_test)
            np.testing.assert_array_equal(train, their_train)


def test_the_loop_is_the_one_that_scikit_learn_calls(monkeypatch):
    """The method that ``GroupFolds`` overrides is not public: a version without it would be right, and slow."""
    called = []
    monkeypatch.setattr(GroupFolds, "_find_best_fold", lambda self, **given: called.append(given) or 0)
    list(GroupFolds(2).split(np.zeros((4, 1)), [0, 1, 0, 1], [0, 1, 2, 3]))
    assert len(called) == 4
