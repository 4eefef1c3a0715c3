"""Learners are files of a folder, and known even where a package that they need is missing."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import benchmark.learners
from benchmark import pipeline
from benchmark.data.spec import load_spec
from benchmark.learners import find, names
from benchmark.learners.chemprop import Chemprop

FILE = """
from benchmark.pipeline import learner
from benchmark.train.learner import NetworkLearner


@learner("added", title="Added")
class Added(NetworkLearner):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, whose files are learners beside those of the suite."""
    monkeypatch.setattr(benchmark.learners, "__path__", [*benchmark.learners.__path__, str(tmp_path)])
    monkeypatch.setattr(pipeline, "registered", dict(pipeline.registered))
    monkeypatch.setattr(benchmark.learners, "registered", pipeline.registered)
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(f"benchmark.learners.{path.stem}", None)


def test_a_file_in_the_folder_is_a_learner(folder):
    (folder / "added.py").write_text(FILE, encoding="utf-8")
    (folder / "_shared.py").write_text("", encoding="utf-8")
    assert {"added", "mlp", "svm"} <= {*names()}
    assert "_shared" not in names()
    assert find("added").title == "Added"


def test_a_learner_whose_package_is_missing_is_described(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "chemprop"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "chemprop", None)
    assert load_spec("bace@backbone=chemprop").recipe == Chemprop.recipe
