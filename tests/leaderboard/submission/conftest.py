"""A valid submission: a forest trained with scikit-learn alone, from exported files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.run.protocol import export
from benchmark.types import Problem
from leaderboard.submission import manifest

DATASET = "b3db_measured"
REGRESSION = "b3db_logbb"
TREES = 5
DESCRIPTION = """name: Forest elsewhere
authors: [A. Nonymous]
version: 1.0
description: A random forest, trained outside.
licence: CC-BY-4.0
compute: a second on a laptop
training_data: none
"""


@pytest.fixture(scope="session")
def loaded() -> Callable[..., Problem]:
    return cache(load_problem)


@pytest.fixture(autouse=True)
def read_once(loaded: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the fingerprints of a dataset once, since they take two seconds."""
    monkeypatch.setattr("leaderboard.submission.check.load_problem", loaded)
    monkeypatch.setattr("leaderboard.submission.verify.load_problem", loaded)


@pytest.fixture(scope="session")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(DATASET, tmp_path_factory.mktemp("protocol")).parent


def train_outside(protocol: Path) -> pd.DataFrame:
    """Train a forest from the exported files alone, without the suite."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    about = json.loads((protocol / "protocol.json").read_text())
    kind = RandomForestClassifier if about["task"] == "classification" else RandomForestRegressor
    parts = []
    for split in about["splits"]:
        names = ("train", "test", "bootstraps", "features")
        train, test, boots, features = (pd.read_parquet(protocol / f"split-{split}" / f"{n}.parquet") for n in names)
        x, y = features.set_index("example_id")["x"], train.set_index("example_id")["y"]
        for seed in about["train_seeds"]:
            ids = boots.loc[boots["train_seed"] == seed, "example_id"]
            state = int(np.random.default_rng([5, seed, 0]).integers(2**31))  # as methods/_estimator.py draws it
            forest = kind(TREES, random_state=state).fit(np.stack(x[ids]), y[ids])
            seen = np.stack(x[test["example_id"]])
            values = forest.predict_proba(seen).T if kind is RandomForestClassifier else [forest.predict(seen)]
            names = ["p0", "p1"] if kind is RandomForestClassifier else ["y_pred"]
            parts.append(
                pd.DataFrame({"canonical_seed": int(split), "train_seed": seed}, index=test.index)
                .join(test[["evalset", "example_id"]])
                .assign(**dict(zip(names, values, strict=True)))
            )
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="session")
def forest(protocol: Path) -> pd.DataFrame:
    return train_outside(protocol)


@pytest.fixture(scope="session")
def good(protocol: Path, forest: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submissions") / "forest" / "1.0"
    fill(folder, forest, protocol)
    return folder


def fill(folder: Path, table: pd.DataFrame, protocol: Path) -> Path:
    (folder / "predictions").mkdir(parents=True, exist_ok=True)
    (folder / "submission.yml").write_text(DESCRIPTION)
    dataset = json.loads((protocol / "protocol.json").read_text())["dataset"]
    table.to_parquet(folder / "predictions" / f"{dataset}.parquet", index=False)
    manifest.write(folder, manifest.protocols([protocol]))
    return folder


Submit = Callable[[pd.DataFrame], Path]


@pytest.fixture
def submit(tmp_path: Path, protocol: Path) -> Submit:
    """Return a function that writes a submission with other predictions."""
    return lambda table: fill(tmp_path / "mine" / "1.0", table, protocol)


@pytest.fixture
def copied(good: Path, tmp_path: Path) -> Path:
    """A copy of the good submission, to spoil."""
    return Path(shutil.copytree(good, tmp_path / "forest" / "1.0"))
