"""Learners are files of a folder; what one needs is named before anything is trained."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import benchmark.learners
from benchmark import pipeline
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.learners import find, names
from benchmark.learners.chemprop import Chemprop
from benchmark.run.driver import plan_grid
from benchmark.store.cell import Grid

FILE = """
from pydantic.dataclasses import dataclass

from benchmark.pipeline import learner
from benchmark.train.learner import NetworkLearner


@learner("added", title="Added")
@dataclass(frozen=True)
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


def test_an_unknown_learner_is_an_error_that_names_the_nearest():
    with pytest.raises(UserError, match="unknown learner 'gim': did you mean 'gin'"):
        load_spec("bace@backbone=gim")


def test_a_learner_whose_package_is_missing_is_described(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "chemprop"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "chemprop", None)
    assert load_spec("bace@backbone=chemprop").recipe == Chemprop.recipe


@pytest.mark.parametrize(
    ("dataset", "learner", "package", "extra"),
    [
        ("b3db_measured@backbone=chemprop", "", "chemprop", "chemprop"),
        ("b3db_measured", "chemberta", "transformers", "pretrained"),
    ],
)
def test_a_grid_with_a_learner_that_is_not_installed_is_refused_before_anything_is_trained(
    dataset, learner, package, extra, monkeypatch
):
    monkeypatch.setattr(pipeline, "find_spec", lambda module: None)
    name = learner or package
    message = f"{name} needs {package}, which is not installed: pip install -c constraints.txt -e '.[{extra}]'"
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        plan_grid(Grid(["erm"], [dataset], [99], [1], learner=learner), {})
    assert plan_grid(Grid(["erm"], ["b3db_measured"], [99], [1]), {})
