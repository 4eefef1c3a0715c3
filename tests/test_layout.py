"""The structure that keeps the parts apart: imports run methods → benchmark ← leaderboard."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.data.spec import ROOT

PARTS = ("benchmark", "leaderboard", "methods")


def sources(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"no Python in {folder}: has it moved?"
    return found


def imported(path: Path) -> set[str]:
    """The packages that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


def importers(of: set[str], folder: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in sources(folder) if imported(path) & of}


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [("benchmark", {"methods", "leaderboard"}), ("methods", {"leaderboard"}), ("leaderboard", {"methods"})],
)
def test_imports_run_from_methods_and_leaderboard_to_the_benchmark(folder, forbidden):
    assert importers(forbidden | {"tests"}, folder) == set()


def test_only_the_tracking_module_imports_mlflow():
    assert {path for part in PARTS for path in importers({"mlflow"}, part)} == {"benchmark/tracking.py"}


def test_statistics_need_neither_mlflow_nor_torch():
    assert importers({"mlflow", "torch"}, "leaderboard/stats") == set()
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources("leaderboard/stats")]
    script = f"import sys, {', '.join(names)}; print({{'mlflow', 'torch'}} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_the_command_line_starts_without_torch_or_mlflow():
    script = "import sys, benchmark.__main__; print({'mlflow', 'torch'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_datasets_holds_no_python_so_that_it_never_shadows_the_hugging_face_package():
    assert list((ROOT / "datasets").glob("*.toml"))
    assert list((ROOT / "datasets").rglob("*.py")) == []


def test_tests_are_no_package():
    assert Path(__file__) in sources("tests")
    assert list((ROOT / "tests").rglob("__init__.py")) == []
