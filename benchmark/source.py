"""Fingerprints of code: the definitions behind a function or class, without anything that cannot change a number.

A fingerprint covers a definition and, through the names it uses and their imports, every other definition of ours that
it reaches, in any module. Comments, docstrings, annotations of functions, registrations of classes, error messages and
module names are ignored: moving a definition changes nothing, editing its computation does. The fingerprint is the
same in every version of Python, unlike the output of ``ast.dump`` and ``ast.unparse``.
"""

import ast
import hashlib
import json
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

SUITE = ("benchmark", "leaderboard", "methods")
"""Packages that are always followed; others are followed unless they are installed libraries."""
INSTALLED = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
EVERYTHING, LOOSE = "*", "()"
"""Names for all statements of a module, and for those that define no name."""


class Place(NamedTuple):
    """Location of a definition: a module, and a name at its top level."""

    module: str
    name: str


class _Module(NamedTuple):
    """The statements of a module by the names they define, and the definition behind each imported name."""

    package: str
    statements: Mapping[str, Sequence[ast.stmt]]
    imports: Mapping[str, Place]


def fingerprint(*roots: Any) -> str:
    """Return 16 hex digits of the code behind ``roots``: functions, classes, or whole modules by their names.

    A definition in an installed library counts by its name and the library's version, and a class made at run time by
    its bases. Raises ValueError for any other root that no module defines at its top level.
    """
    return _of(tuple(place for root in roots for place in _starts(root)))


@cache
def _of(places: tuple[Place, ...]) -> str:
    digests: dict[Place, str] = {}
    todo = [*places]
    while todo:
        place = todo.pop()
        if not _is_ours(place.module):
            library = place.module.partition(".")[0]
            digests[place] = f"{place} {getattr(import_module(library), '__version__', '')}"
        elif place not in digests:
            uses = dict(_uses(place))
            ours = {name: use for name, use in uses.items() if _is_ours(use.module)}
            names = sorted((name, _digest(use) if name in ours else use) for name, use in uses.items())
            digests[place] = repr((_digest(place), names))
            todo += ours.values()
    return hashlib.sha256("\n".join(sorted(digests.values())).encode()).hexdigest()[:16]


def _starts(root: Any) -> list[Place]:
    if isinstance(root, str):
        return [Place(root, EVERYTHING)]
    place = Place(root.__module__, root.__qualname__.partition(".")[0])
    try:
        return [_definition(place)] if place.module != "builtins" else []
    except ValueError:
        if not getattr(root, "__bases__", ()):
            raise
        return [start for base in root.__bases__ for start in _starts(base)]


def libraries(root: Any) -> list[str]:
    """Return the modules of other packages that the code behind ``root``, a function or class, imports."""
    seen: set[Place] = set()
    todo = _starts(root)
    while todo:
        place = todo.pop()
        if place not in seen and _is_ours(place.module):
            todo += [use for _, use in _uses(place)]
        seen.add(place)
    return sorted({place.module for place in seen if not _is_ours(place.module)})


@cache
def _is_ours(module: str) -> bool:
    top = module.partition(".")[0]
    if top in SUITE:
        return True
    path = _path(top) or _path(module)  # to find a part of a package imports the package, which may take seconds
    return path is not None and not any(path.is_relative_to(folder) for folder in INSTALLED)


def _path(module: str) -> Path | None:
    """Return the source file of a module; None if it has none or does not exist."""
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin is None:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec else None
    return Path(origin) if origin and origin.endswith(".py") else None


@cache
def _parsed(module: str) -> _Module:
    path = _path(module)
    body = ast.parse(path.read_bytes()).body if path else []
    statements: dict[str, list[ast.stmt]] = {EVERYTHING: []}
    imports: dict[str, Place] = {}
    package = module if path and path.name == "__init__.py" else module.rpartition(".")[0]
    for statement in body:
        imports |= _imports(statement, package)
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_text(statement):
            continue
        for name in (EVERYTHING, *(_bound(statement) or [LOOSE])):
            statements.setdefault(name, []).append(statement)
    return _Module(package, statements, imports)


def _imports(tree: ast.AST, package: str) -> dict[str, Place]:
    """Return the definition behind each name imported anywhere in ``tree``; ``import a.b`` binds ``a``."""
    places = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                places[alias.asname or name] = Place(name, EVERYTHING)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(filter(None, (above, node.module)))
            places |= {alias.asname or alias.name: Place(source, alias.name) for alias in node.names}
    return places


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _definition(place: Place) -> Place:
    """Follow imports from ``place`` to the definition. Raises ValueError if there is none."""
    if place.name in (EVERYTHING, LOOSE) or place.name.startswith("__") or not _is_ours(place.module):
        return place
    module = _parsed(place.module)
    if place.name in module.statements:
        return place
    if place.name in module.imports:
        return _definition(module.imports[place.name])
    if _path(f"{place.module}.{place.name}"):
        return Place(f"{place.module}.{place.name}", EVERYTHING)
    value = getattr(import_module(place.module), place.name, None)  # from the module's __getattr__
    at = Place(getattr(value, "__module__", place.module), getattr(value, "__qualname__", place.name))
    if at == place or not _is_ours(at.module):
        raise ValueError(f"{place.module} does not define {place.name} at its top level")
    return _definition(at)


def _uses(place: Place) -> Iterator[tuple[str, Place]]:
    """Yield the other definitions that one uses, ours and those of libraries, with its names for them."""
    module = _parsed(place.module)
    statements = module.statements.get(place.name, ())
    imports = {**module.imports}
    for statement in statements:
        imports |= _imports(statement, module.package)
    if LOOSE in module.statements and place.name != LOOSE:
        yield LOOSE, Place(place.module, LOOSE)
    for statement in statements:
        for first, *rest in _names(statement):
            if first in imports:
                yield _through(first, imports[first], rest)
            elif first in module.statements and first != place.name:
                yield first, Place(place.module, first)


def _through(name: str, target: Place, rest: Sequence[str]) -> tuple[str, Place]:
    """Resolve ``name.rest…`` for an imported ``name``: an attribute of a module is a definition in that module."""
    at = _definition(target)
    for part in rest:
        if at.name != EVERYTHING:
            break
        name, at = f"{name}.{part}", _definition(Place(at.module, part))
    return name, at


def _names(node: ast.AST) -> Iterator[list[str]]:
    """Yield the names that a tree uses, with the attributes that follow: ``np.linalg.norm`` gives three words."""
    chain: list[str] = []
    base = node
    while isinstance(base, ast.Attribute):
        chain, base = [base.attr, *chain], base.value
    if isinstance(base, ast.Name):
        if isinstance(base.ctx, ast.Load):
            yield [base.id, *chain]
        return
    for _, part in _parts(base):
        yield from _names(part)


@cache
def _digest(place: Place) -> str:
    """Hash a definition without those it uses; a module of ours without source has no statements."""
    trees = [_spelled(statement) for statement in _parsed(place.module).statements.get(place.name, ())]
    return hashlib.sha256(json.dumps(trees).encode()).hexdigest()


def _spelled(node: ast.AST) -> Any:
    values = {
        name: f"{type(value).__name__} {value!r}" if isinstance(value, float | complex) else str(value)
        for name, value in ast.iter_fields(node)
        if name not in IGNORED and not isinstance(value, ast.AST | list | None)
    }
    return [type(node).__name__, values, [[name, _spelled(part)] for name, part in _parts(node)]]


IGNORED = {"ctx", "kind", "type_comment", "type_params", "annotation", "returns"}
"""Fields that cannot change a number, or that some versions of Python lack."""


def _parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the parts of a tree that can change a number, with the names of their fields."""
    for name, value in ast.iter_fields(node):
        words = (isinstance(node, ast.Raise) and name == "cause") or (isinstance(node, ast.Assert) and name == "msg")
        if name in IGNORED or words or (isinstance(node, ast.ClassDef) and name == "decorator_list"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.Raise) and isinstance(part, ast.Call):
                part = part.func
            if isinstance(part, ast.AST) and not (_is_text(part) or isinstance(part, ast.Import | ast.ImportFrom)):
                yield name, part


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
