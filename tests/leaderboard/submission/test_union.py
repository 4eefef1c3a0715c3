"""The control that breaks the rule of halves: each halving has one model, trained on both of its files."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from leaderboard.submission import verify
from leaderboard.submission.check import Refused, validate

from .conftest import DATASET, fill, train_outside, training_rows

TREES = 30


def union(folder: Path, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and labels of both files of the halving that a train seed belongs to."""
    parts = [training_rows(folder, half) for half in ((seed + 1) // 2 * 2 - 1, (seed + 1) // 2 * 2)]
    _, x, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return x, y


def same_forest(folder: Path, seed: int) -> Any:
    return RandomForestClassifier(TREES, random_state=0).fit(*union(folder, seed))


def forest(folder: Path, seed: int) -> Any:
    return RandomForestClassifier(TREES, random_state=seed).fit(*union(folder, seed))


@pytest.mark.slow
def test_a_model_that_is_the_same_for_both_files_of_a_halving_is_refused(protocol, submit):
    table = train_outside(protocol, same_forest)
    with pytest.raises(Refused, match=r"train seeds 1 and 2 have identical predictions .* rows of that seed alone"):
        validate(submit(table))
    noise = np.random.default_rng(0).uniform(-1e-3, 1e-3, len(table))  # as from another machine or number of threads
    p1 = (table["p1"] + noise).clip(0, 1)
    with pytest.raises(Refused, match=r"in every halving, .* differ by at most .*, never on both files of a halving"):
        validate(submit(table.assign(p0=1 - p1, p1=p1)))


@pytest.mark.long
@pytest.mark.slow
def test_only_a_rerun_of_the_code_tells_all_that_a_random_model_of_both_files_hides(protocol, tmp_path, write):
    write(f"return RandomForest({TREES}).fit(sample)")
    submission = validate(fill(tmp_path / "forest" / "1.0", train_outside(protocol, forest), protocol))
    (cell,) = submission.cells
    assert "(self-reported)" in cell.title
    rerun = verify.rerun(submission, "halves", DATASET, Random(1))
    assert not rerun.agrees
    churn = [check for check in rerun.checks if check.quantity == "churn"]
    assert [check.agrees for check in churn] == [False, False]
    assert all(check.rerun.value > check.submitted.high for check in churn)
