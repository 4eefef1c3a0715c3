"""The structure: imports run one way, packages are small, and readers do not import trainers."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT

FLOORS: Mapping[str, tuple[str, ...]] = {
    "benchmark": (
        *("errors", "types", "settings", "source", "files", "measure", "train", "backbones", "data"),
        *("registry", "store", "run", "lab", "studies", "commands", "__main__"),
    ),
    "leaderboard": (
        *("stats", "read", "tables", "write", "figures", "site", "paper", "scoring", "evaluator", "submission"),
        *("explain", "__main__"),
    ),
}
"""The rooms (modules and subpackages) of each package. A room imports only from those to its left."""
ROOMS = 16
"""Maximum number of rooms in a package, except in ``methods`` and ``benchmark/studies``, lists of entries."""
HEAVY = {"torch", "mlflow", "rdkit", "sklearn", "scipy.stats", "matplotlib", "pandas"}
"""Libraries that take a second or more to import."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


FILES = {
    module_of(path): path
    for part in ("benchmark", "leaderboard", "methods")
    for path in (CHECKOUT / part).rglob("*.py")
}


def imported(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, including late imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in FILES else node.module


ARROWS = {module: {name for name in imported(path) if name != module} for module, path in FILES.items()}


def in_process(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_imports_run_from_methods_and_leaderboard_to_the_benchmark():
    allowed = {
        "benchmark": {"benchmark"},
        "methods": {"benchmark", "methods"},
        "leaderboard": {"benchmark", "leaderboard"},
    }
    for module, names in ARROWS.items():
        tops = {name.partition(".")[0] for name in names} & {*allowed, "tests"}
        assert tops <= allowed[module.partition(".")[0]], module


@pytest.mark.parametrize("package", FLOORS)
def test_a_room_imports_only_from_those_before_it(package):
    order = FLOORS[package]
    rooms = {path.stem for path in (CHECKOUT / package).glob("*.py")} - {"__init__"}
    rooms |= {path.parent.name for path in (CHECKOUT / package).glob("*/__init__.py")}
    assert rooms == set(order)
    for module, names in ARROWS.items():
        if module.startswith(f"{package}."):
            importer = module.split(".")[1]
            used = {name.split(".")[1] for name in names if name.startswith(f"{package}.")} - {importer}
            late = {room for room in used if order.index(room) > order.index(importer)}
            assert not late, f"{module} imports from {late}, which come after {importer}"


def test_no_modules_import_each_other():
    TopologicalSorter({module: names & set(FILES) for module, names in ARROWS.items()}).prepare()


def test_no_floor_has_too_many_rooms():
    floors = {path.parent for path in FILES.values()} - {CHECKOUT / "methods", CHECKOUT / "benchmark" / "studies"}
    for floor in floors:
        rooms = [path for path in floor.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
        assert len([room for room in rooms if room.name != "__init__.py"]) <= ROOMS, floor
    used = {name for names in ARROWS.values() for name in names if name.startswith("methods.")}
    public = {name for name in used if not name.split(".")[1].startswith("_")}
    wrapped = {"methods.bagging", "methods.erm", "methods.twin"}  # by methods/_sklearn_api.py
    parts = {
        f"methods.{name}" for name in ("svm", "random_forest", "twin_shared", "codistillation")
    }  # of other entries
    assert public <= wrapped | parts, "entries are independent of each other, but for these"


def test_only_the_store_and_the_plugin_of_mlflow_import_mlflow():
    importers = {module for module, names in ARROWS.items() if any(n.partition(".")[0] == "mlflow" for n in names)}
    rooms = ("artifacts", "explaining", "logged", "models", "opening", "tracking")
    assert importers == {*(f"benchmark.store.{room}" for room in rooms), "leaderboard.evaluator"}
    assert "leaderboard.evaluator" not in set().union(*ARROWS.values()), "MLflow imports it, nothing else"


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "benchmark.__main__",
        "benchmark.lab.study",
        "benchmark.studies.overlap",
        "leaderboard.__main__",
        "leaderboard.read.results",
        "leaderboard.tables.catalogue",
        "leaderboard.tables.studies",
        "leaderboard.paper.compare",
        "leaderboard.scoring.score",
        *(module for module in FILES if module.startswith("leaderboard.stats.")),
        "methods.twin",
    ],
)
def test_what_reads_or_lists_starts_without_what_trains(module):
    assert in_process(f"import sys, {module}; print(sorted({HEAVY!r} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("package", ["benchmark", "leaderboard"])
def test_help_needs_no_heavy_library(package):
    script = (
        "import sys\n"
        f"from {package}.__main__ import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    assert in_process(script).splitlines()[-1] == "[]"


def test_datasets_holds_no_python_so_that_it_never_shadows_the_hugging_face_package():
    assert list((CHECKOUT / "datasets").glob("*.toml"))
    assert list((CHECKOUT / "datasets").rglob("*.py")) == []


def test_tests_are_no_package():
    assert list((CHECKOUT / "tests").rglob("__init__.py")) == []
