"""Name what predictions depend on, by revisions: ``twin@1 mlp@1 trainer@1 halves@1``.

Every part of the suite that can change a prediction has a number, which whoever changes it raises; golden predictions
(``tests/test_golden.py``) tell when. A user's own file has the hash of its content instead.
"""

import ast
import site
import sys
import sysconfig
from functools import cache
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path

from benchmark import registry, tuning
from benchmark.data.features import REVISIONS as FEATURES
from benchmark.data.features import kinds
from benchmark.files import DISTRIBUTION, PACKAGE, files_in, hash_of, package_root
from benchmark.pipeline import Part, Pipeline, Remedied
from benchmark.train import REVISION as TRAINER
from benchmark.train.learner import NetworkLearner
from benchmark.train.resampling import REVISIONS as SAMPLINGS
from benchmark.types import PAPER, REFERENCE, Sampling


def code_of(method: Pipeline, sampling: Sampling = PAPER) -> str:
    """Return the parts that the predictions of a pipeline depend on, with their revisions."""
    parts = _parts(method)
    networks = any(isinstance(part, NetworkLearner) for part in parts)
    named = [*(_revision(type(part)) for part in parts), *([f"trainer@{TRAINER}"] if networks else [])]
    named += [_revision(registry.find(name)[0]) for part in parts for name in part.builds_on]
    named += [tuning.revision(method)] if method.tune else []
    if method.chosen:  # those of the dataset's own learner are in the fingerprint of the data
        weights = [part.weights() for part in parts if isinstance(part, NetworkLearner)]
        named += [f"weights@{digest}" for digest in weights if digest]
    named += [f"{kind}@{FEATURES[kind]}" for kind in kinds(method.features)]
    return " ".join([*dict.fromkeys(named), f"{sampling}@{SAMPLINGS[sampling]}"])


def own_parts(method: Pipeline) -> list[type[Part]]:
    """Return the classes of a pipeline that a user's own files define, also in a worker, which has their copies."""
    return [type(part) for part in _parts(method) if part.place and _own(part.place, part.revision is None)]


@cache
def _own(place: str, unnumbered: bool) -> bool:
    folders = _libraries() if unnumbered else [*_suite(), *_libraries()]
    return not any(Path(place).resolve().is_relative_to(folder) for folder in folders)


def _parts(method: Pipeline) -> list[Part]:
    parts = [method.learner] if method.remedy.name == REFERENCE and method.chosen else [method.remedy, method.learner]
    return [inner for part in parts for inner in (part.parts if isinstance(part, Remedied) else (part,))]


def _revision(cls: type[Part]) -> str:
    """Return a part with its revision, the hash of a user's own files, or the version of another package."""
    kind = getattr(cls, "kind", None)  # of an estimator; another part may have a hyperparameter of this name
    kind = kind if isinstance(kind, type) else cls
    if files := _own_files(kind, cls.revision is None):
        declared = [registry.path_of(cls, name) for name in cls.files]
        return f"{cls.name}@{hash_of([*files, *declared])}"
    package = _distributions().get(kind.__module__.partition(".")[0], [DISTRIBUTION])[0]
    numbered = package in (DISTRIBUTION, "scikit-learn") and cls.revision
    return f"{cls.name}@{numbered or version(package)}"


def _own_files(cls: type, unnumbered: bool) -> list[Path]:
    """Return the user's own files behind a class and its bases: their modules, or the packages of these as a whole.

    With a module that is in no package come those beside it that it imports. A file without a revision is the user's,
    even if it lies in the suite's folder, as a new one does in a checkout.
    """
    files: dict[Path, None] = {}
    for module in dict.fromkeys(base.__module__ for base in cls.__mro__):
        path = getattr(sys.modules.get(module), "__file__", None)
        file = Path(path or "").resolve()
        ours = any(file.is_relative_to(folder) for folder in _suite()) and (module != cls.__module__ or not unnumbered)
        if path is None or ours or any(file.is_relative_to(folder) for folder in _libraries()):
            continue
        above = package_root(file)
        whole = above != file.parent and not module.startswith(("file:", "methods."))
        package = above / file.relative_to(above).parts[0]
        files |= dict.fromkeys(files_in(package, "**/*.py") if whole else [file, *_beside(file)])
    return list(files)


def _beside(file: Path) -> list[Path]:
    """Return the modules in the folder of a file that it imports, by what its text says, and those that they import."""
    found, todo = {file: None}, [file]
    while todo:
        try:
            nodes = [*ast.walk(ast.parse(todo.pop().read_bytes()))]
        except (SyntaxError, ValueError):  # nobody can import it, so that it is another's namesake, or does not matter
            continue
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        for name in sorted({name.partition(".")[0] for name in names} - {""}):
            modules = [file.parent / f"{name}.py", *files_in(file.parent / name, "**/*.py")]
            new = [path for path in modules if path.is_file() and path not in found]
            found |= dict.fromkeys(new)
            todo += new
    return list(found)[1:]


_distributions = cache(packages_distributions)


@cache
def _suite() -> list[Path]:
    return [PACKAGE.resolve(), Path(import_module("methods").__path__[0]).resolve()]


@cache
def _libraries() -> list[Path]:
    """Return the folders of the standard library and of installed packages, without those of an installed suite."""
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return [Path(folder).resolve() for folder in [*paths, site.getusersitepackages()]]
