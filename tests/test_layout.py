"""The structure: imports run one way, packages are small, and readers do not import trainers."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter

import pytest

from benchmark.files import CHECKOUT

FLOORS: Mapping[str, tuple[str, ...]] = {
    "benchmark": (
        *("errors", "types", "settings", "files", "measure", "pipeline", "train", "tuning", "learners", "data"),
        *("registry", "store", "run", "study", "studies", "commands", "estimators", "__main__"),
    ),
    "leaderboard": (
        *("stats", "read", "tables", "write", "figures", "scoring", "my_data", "site", "paper", "evaluator"),
        *("submission", "predict", "report", "updated", "__main__"),
    ),
}
"""The rooms (modules and subpackages) of each package. A room imports only from those to its left."""
ROOMS = 18
"""Maximum number of rooms in a package that is not a list of entries."""
ENTRIES = ("methods", "benchmark/learners", "benchmark/studies")
"""Folders with a file for each entry, which is found by its name."""


FILES = {
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
    for part in ("benchmark", "leaderboard", "methods")
    for path in (CHECKOUT / part).rglob("*.py")
}


@cache
def trees() -> Mapping[str, ast.Module]:
    return {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in FILES.items()}


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every module that some code imports by a statement, including late imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "imports are absolute"
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in FILES else node.module


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
                yield name
            case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
                yield from (name for name in FILES if name.startswith(start))


@cache
def by_statement() -> Mapping[str, set[str]]:
    return {module: {*imported(ast.walk(tree))} - {module} for module, tree in trees().items()}


@cache
def by_name() -> Mapping[str, set[str]]:
    return {module: {*looked_up(ast.walk(tree))} - {module} for module, tree in trees().items()}


@cache
def all_arrows() -> Mapping[str, set[str]]:
    return {module: stated | by_name()[module] for module, stated in by_statement().items()}


def top(module: str) -> str:
    return module.partition(".")[0]


def test_imports_run_from_methods_and_leaderboard_to_the_benchmark():
    allowed = {"benchmark": {"benchmark"}, "methods": {"benchmark"}, "leaderboard": {"benchmark", "leaderboard"}}
    for module, names in by_statement().items():
        assert {*map(top, names)} & {*allowed, "tests"} <= allowed[top(module)], module


def test_remedies_are_looked_up_by_name_and_know_nothing_of_what_finds_them():
    finders = {module for module, names in by_name().items() if any(top(name) == "methods" for name in names)}
    assert finders == {
        "benchmark.registry",
        *(f"benchmark.run.{room}" for room in ("code", "deploy", "isolation")),
    }
    for module in FILES:
        if top(module) == "methods":
            rooms = {name.split(".")[1] for name in all_arrows()[module] if name.startswith("benchmark.")}
            assert rooms <= {"errors", "types", "pipeline", "train", "learners"}, module
            names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(trees()[module])}
            assert "__path__" not in names, f"{module} changes where its modules are found"


def test_names_that_a_package_provides_on_demand_are_for_its_users_alone():
    """What ``__getattr__`` imports is not followed: a circle through a name that it provides would not be seen."""
    functions = {module: {getattr(node, "name", "") for node in tree.body} for module, tree in trees().items()}
    assert {module for module, named in functions.items() if "__getattr__" in named} == {"benchmark", "leaderboard"}
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"benchmark", "leaderboard"}, module
            elif isinstance(node, ast.ImportFrom) and node.module in ("benchmark", "leaderboard"):
                names = {alias.name for alias in node.names if f"{node.module}.{alias.name}" not in FILES}
                assert names <= {"__version__"}, module


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


def test_datasets_holds_no_python_so_that_it_never_shadows_the_hugging_face_package():
    assert list((CHECKOUT / "datasets").rglob("*.toml"))
    assert list((CHECKOUT / "datasets").rglob("*.py")) == []


def test_tests_are_no_package():
    assert list((CHECKOUT / "tests").rglob("__init__.py")) == []
