"""The structure: imports run one way, packages are small, and readers do not import trainers."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT

FLOORS: Mapping[str, tuple[str, ...]] = {
    "benchmark": (
        *("errors", "types", "settings", "files", "measure", "pipeline", "train", "tuning", "learners", "data"),
        *("registry", "store", "run", "study", "studies", "commands", "estimators", "__main__"),
    ),
    "leaderboard": (
        *("stats", "read", "tables", "write", "figures", "site", "paper", "scoring", "evaluator", "submission"),
        *("my_data", "predict", "report", "updated", "__main__"),
    ),
}
"""The rooms (modules and subpackages) of each package. A room imports only from those to its left."""
ROOMS = 18
"""Maximum number of rooms in a package that is not a list of entries."""
ENTRIES = ("methods", "benchmark/learners", "benchmark/studies")
"""Folders with a file for each entry, which is found by its name."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


FILES = {
    module_of(path): path
    for part in ("benchmark", "leaderboard", "methods")
    for path in (CHECKOUT / part).rglob("*.py")
}


@cache
def trees() -> Mapping[str, ast.Module]:
    return {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in FILES.items()}


def provider(tree: ast.Module) -> ast.FunctionDef | None:
    """Return the ``__getattr__`` of a module, which provides names that are imported on demand."""
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"), None)


def on_demand(module: str) -> str:
    """Return the name of the node of the graph for what ``__getattr__`` of a module imports."""
    return f"{module}:__getattr__"


def bound(tree: ast.Module) -> set[str]:
    """Return the names that a module binds as it is imported."""
    targets = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    named = (
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    )
    return targets | {*named} | {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def as_a_whole(module: str) -> Iterator[str]:
    """Yield a module that is imported without naming what is used of it."""
    yield module
    if module in trees() and provider(trees()[module]):
        yield on_demand(module)


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every module that some code imports by a statement, including late imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from as_a_whole(alias.name)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "imports are absolute"
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in FILES else node.module
                tree = trees().get(node.module)
                if tree and full not in FILES and provider(tree) and alias.name not in bound(tree):
                    yield on_demand(node.module)


def looked_up(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every module that some code may import by ``import_module`` or ``find_spec`` with its name.

    An f-string stands for all modules whose names begin as it does.
    """
    for node in nodes:
        if not (isinstance(node, ast.Call) and node.args):
            continue
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if function not in ("import_module", "find_spec", "__import__"):
            continue
        match node.args[0]:
            case ast.Constant(value=str(name)):
                yield from as_a_whole(name)
            case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
                yield from (name for name in FILES if name.startswith(start))


def arrows() -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield each module with those that it imports by statements, and those that it looks up by name.

    What a module's ``__getattr__`` imports counts for a node of its own: with the names that it provides, modules that
    the module mentions as text are imported.
    """
    for module, tree in trees().items():
        lazy = provider(tree)
        inside = {*ast.walk(lazy)} if lazy else set()
        nodes = [node for node in ast.walk(tree) if node not in inside]
        yield module, {*imported(nodes)} - {module}, {*looked_up(nodes)} - {module}
        if lazy:
            texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} & FILES.keys()
            yield on_demand(module), {*imported(inside)} | texts, {*looked_up(inside)}


@cache
def by_statement() -> Mapping[str, set[str]]:
    return {module: stated for module, stated, _ in arrows()}


@cache
def by_name() -> Mapping[str, set[str]]:
    return {module: named for module, _, named in arrows()}


@cache
def all_arrows() -> Mapping[str, set[str]]:
    return {module: stated | by_name()[module] for module, stated in by_statement().items()}


def top(module: str) -> str:
    return re.split(r"[.:]", module)[0]


def test_imports_run_from_methods_and_leaderboard_to_the_benchmark():
    allowed = {"benchmark": {"benchmark"}, "methods": {"benchmark"}, "leaderboard": {"benchmark", "leaderboard"}}
    for module, names in by_statement().items():
        assert {*map(top, names)} & {*allowed, "tests"} <= allowed[top(module)], module


def test_remedies_are_looked_up_by_name_and_know_nothing_of_what_finds_them():
    finders = {module for module, names in by_name().items() if any(top(name) == "methods" for name in names)}
    assert finders == {
        "benchmark.registry",
        *(f"benchmark.run.{room}" for room in ("deploy", "isolation", "revisions")),
    }
    for module in FILES:
        if top(module) == "methods":
            rooms = {name.split(".")[1] for name in all_arrows()[module] if name.startswith("benchmark.")}
            assert rooms <= {"errors", "types", "pipeline", "train", "learners"}, module


def test_no_module_of_methods_changes_where_or_what_it_imports():
    for module, tree in trees().items():
        if top(module) == "methods":
            named = {
                node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in ast.walk(tree)
            }
            assert "__path__" not in named, module
            assert provider(tree) is None, module


@pytest.mark.parametrize("package", FLOORS)
def test_a_room_imports_only_from_those_before_it(package):
    order = FLOORS[package]
    rooms = {path.stem for path in (CHECKOUT / package).glob("*.py")} - {"__init__"}
    rooms |= {path.parent.name for path in (CHECKOUT / package).glob("*/__init__.py")}
    assert rooms == set(order)
    for module, names in all_arrows().items():
        if module.startswith(f"{package}."):
            importer = module.split(".")[1]
            used = {name.split(".")[1] for name in names if name.startswith(f"{package}.")} - {importer}
            late = {room for room in used if order.index(room) > order.index(importer)}
            assert not late, f"{module} imports from {late}, which come after {importer}"


def test_no_modules_import_each_other():
    TopologicalSorter({module: names & {*all_arrows()} for module, names in all_arrows().items()}).prepare()


def test_the_circle_of_a_registry_and_names_that_methods_provide_would_be_seen(monkeypatch):
    """The package of methods once provided estimators, which asked the registry for methods."""
    package = "def __getattr__(name):\n    from methods import _sklearn_api\n    return getattr(_sklearn_api, name)"
    api = "def fit():\n    from benchmark.registry import make_method"
    sources = {"methods": package, "methods._sklearn_api": api}
    parsed = {**trees(), **{name: ast.parse(text) for name, text in sources.items()}}
    monkeypatch.setattr(sys.modules[__name__], "trees", lambda: parsed)
    monkeypatch.setattr(sys.modules[__name__], "FILES", FILES | dict.fromkeys(sources, CHECKOUT))
    graph = {module: (stated | named) for module, stated, named in arrows()}
    with pytest.raises(CycleError) as caught:
        TopologicalSorter({module: names & {*graph} for module, names in graph.items()}).prepare()
    assert {"benchmark.registry", "methods._sklearn_api"} <= {*caught.value.args[1]}
    assert on_demand("methods") in graph["benchmark.registry"]
    assert graph[on_demand("methods")] == {"methods._sklearn_api"}


def test_no_floor_has_too_many_rooms():
    for floor in {path.parent for path in FILES.values()} - {CHECKOUT / folder for folder in ENTRIES}:
        rooms = [path for path in floor.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
        assert len([room for room in rooms if room.name != "__init__.py"]) <= ROOMS, floor


def test_remedies_are_independent_of_each_other():
    remedies = {module for module in FILES if top(module) == "methods"}
    for remedy in remedies:
        assert not all_arrows()[remedy] & remedies, remedy


def test_only_the_store_and_the_plugin_of_mlflow_import_mlflow():
    importers = {module for module, names in all_arrows().items() if "mlflow" in map(top, names)}
    rooms = ("artifacts", "earlier", "logged", "models", "opening", "tracking")
    assert importers == {*(f"benchmark.store.{room}" for room in rooms), "leaderboard.evaluator"}
    assert "leaderboard.evaluator" not in set().union(*all_arrows().values()), "MLflow imports it, nothing else"


def test_what_reads_starts_without_what_trains():
    """``tests/test_startup.py`` looks at commands."""
    rooms = ("read.results", "tables.entries", "tables.studies", "paper.compare", "scoring.score")
    modules = [f"leaderboard.{room}" for room in rooms] + [
        name for name in FILES if name.startswith("leaderboard.stats.")
    ]
    code = f"import sys, {', '.join([*modules, 'benchmark.study.context', 'methods.twin'])}"
    code += "; print({'torch', 'mlflow', 'rdkit', 'sklearn', 'scipy.stats', 'matplotlib', 'pandas'} & {*sys.modules})"
    shown = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"


def test_datasets_holds_no_python_so_that_it_never_shadows_the_hugging_face_package():
    assert list((CHECKOUT / "datasets").rglob("*.toml"))
    assert list((CHECKOUT / "datasets").rglob("*.py")) == []


def test_tests_are_no_package():
    assert list((CHECKOUT / "tests").rglob("__init__.py")) == []
