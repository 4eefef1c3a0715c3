"""A valid submission: a forest trained with scikit-learn alone, from exported files."""

import json
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.protocol import TRAIN_SEEDS, export
from benchmark.store.cell import Cell
from benchmark.types import Sampling

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


loaded = cache(load_problem)
"""Computes the fingerprints of a dataset once, since they take two seconds."""


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.submission.check.load_problem", loaded)
    monkeypatch.setattr("leaderboard.submission.verify.load_problem", loaded)


@pytest.fixture(scope="session")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(DATASET, tmp_path_factory.mktemp("protocol")).parent


def trained_inside(
    dataset: str, method: str, sampling: Sampling = "halves", seeds: Iterable[int] = (), fresh: bool = False
) -> Cell:
    """Train a method in the harness, in this process, by default at the required train seeds."""
    problem = loaded(dataset, 99)
    made = make_method(method, problem.task)
    planned = runner.plan(problem, made, seeds or TRAIN_SEEDS[sampling], sampling=sampling)
    return next(outcome for _, outcome in runner.run([planned], jobs=1, fresh=fresh) if isinstance(outcome, Cell))


def training_rows(folder: Path, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ids (R,), features (R, D) and labels (R,) of the rows that a train seed may be trained on."""
    rows = pd.read_parquet(folder / f"train-{seed}.parquet")
    return rows["example_id"].to_numpy(), np.stack(rows["x"]), rows["y"].to_numpy()


def train_outside(protocol: Path, train: Callable[[Path, int], Any]) -> pd.DataFrame:
    """Train a model from the folder of a split, for each train seed, from exported files alone, without the suite."""
    about = json.loads((protocol / "protocol.json").read_text())
    parts = []
    for split in about["splits"]:
        folder = protocol / f"split-{split}"
        rows = pd.read_parquet(folder / "test.parquet")
        test, x = rows[["evalset", "example_id"]], np.stack(rows["x"])
        for seed in about["train_seeds"]:
            model = train(folder, seed)
            values = model.predict_proba(x).T if about["task"] == "classification" else [model.predict(x)]
            names = ["p0", "p1"] if about["task"] == "classification" else ["y_pred"]
            seeds = pd.DataFrame({"canonical_seed": int(split), "train_seed": seed}, index=test.index)
            parts.append(seeds.join(test).assign(**dict(zip(names, values, strict=True))))
    return pd.concat(parts, ignore_index=True)


def own_forest(folder: Path, seed: int) -> Any:
    """Train a forest on the rows of its seed."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    _, x, y = training_rows(folder, seed)
    kind = RandomForestClassifier if y.dtype.kind == "i" else RandomForestRegressor
    state = int(np.random.default_rng([5, seed, 0]).integers(2**31))  # as learners/_estimator.py draws it
    return kind(TREES, random_state=state).fit(x, y)


@pytest.fixture(scope="session")
def forest(protocol: Path) -> pd.DataFrame:
    return train_outside(protocol, own_forest)


@pytest.fixture(scope="session")
def good(protocol: Path, forest: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submissions") / "forest" / "1.0"
    fill(folder, forest, protocol)
    return folder


def fill(folder: Path, table: pd.DataFrame, protocol: Path, *others: Path) -> Path:
    """Add predictions to a submission, whose other files belong to the protocols ``others``."""
    about = json.loads((protocol / "protocol.json").read_text())
    path = folder / "predictions" / about["sampling"] / f"{about['dataset']}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    abouts = [json.loads((path / "protocol.json").read_text()) for path in (protocol, *others)]
    protocols = {f"{about['sampling']}/{about['dataset']}": about["fingerprint"] for about in abouts}
    (folder / "submission.yml").write_text(f"{DESCRIPTION}protocols: {json.dumps(protocols)}\n")
    table.to_parquet(path, index=False)
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


METHOD = f"""
import inspect
from dataclasses import dataclass, replace

import numpy as np

from benchmark.learners.random_forest import RandomForest
from benchmark.pipeline import learner
from benchmark.train import generator


class Shaped:
    def __init__(self, predict):
        self.predict = predict


@learner("forest", title="Forest")
@dataclass(frozen=True)
class Forest(RandomForest):
    trees: int = {TREES}

    def fit(self, sample):
BODY
        return super().fit(sample)
"""


@pytest.fixture
def write(write_method: Callable[[str, str, str], Path]) -> Callable[[str], Path]:
    """A function that writes the user's method ``forest``; its ``fit`` begins with the given lines."""
    return lambda body="": write_method("forest", METHOD, body)
