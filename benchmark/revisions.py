"""What predictions depend on, named by revisions: ``twin@1 mlp@1 trainer@1 halves@1``.

Every part of the suite that can change a prediction has a number, which whoever changes it raises; golden predictions
(``tests/test_golden.py``) tell when. A user's own file has the hash of its content instead.
"""

import site
import sys
import sysconfig
from functools import cache
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path

from benchmark import registry
from benchmark.data.features import REVISIONS as FEATURES
from benchmark.files import DISTRIBUTION, PACKAGE, hash_of
from benchmark.train import REVISION as TRAINER
from benchmark.train import backbone as backbones
from benchmark.train.resampling import REVISIONS as SAMPLINGS
from benchmark.types import MLP, PAPER, Method, Sampling


def code_of(method: Method, backbone: str = MLP, sampling: Sampling = PAPER) -> str:
    """Return the parts that the predictions of a method depend on, with their revisions."""
    cls = type(method)
    networks = [backbone, "trainer"] if registry.trains_networks(cls) else []
    kinds = [name.partition(":")[0] for name in registry.own_features(cls)]
    parts = dict.fromkeys([*networks, *getattr(cls, "builds_on", ()), *kinds])
    return " ".join([_of_class(cls), *(f"{name}@{_revision(name)}" for name in parts), of_sampling(sampling)])


def of_sampling(sampling: Sampling) -> str:
    """Return a sampling with its revision."""
    return f"{sampling}@{SAMPLINGS[sampling]}"


def _revision(name: str) -> int:
    if name == "trainer":
        return TRAINER
    if name in FEATURES:
        return FEATURES[name]
    cls = backbones.find(name) if name in backbones.names() else registry.find(name)[0]
    return int(cls.revision)  # type: ignore[union-attr]


def _of_class(cls: type) -> str:
    """Return a method with its revision, the hash of a user's own files, or the version of another package."""
    name, kind = cls.name, getattr(cls, "kind", cls)  # type: ignore[attr-defined]
    if not (files := _own_files(kind)):
        package = packages_distributions().get(kind.__module__.partition(".")[0], [DISTRIBUTION])[0]
        ours = package in (DISTRIBUTION, "scikit-learn")
        return f"{name}@{cls.revision if ours else version(package)}"  # type: ignore[attr-defined]
    return f"{name}@{hash_of(files)}"


def _own_files(cls: type) -> list[Path]:
    """Return the user's own files behind a class and its bases: their modules, or the packages of these as a whole."""
    files: dict[Path, None] = {}
    for module in dict.fromkeys(base.__module__ for base in cls.__mro__):
        path = getattr(sys.modules.get(module), "__file__", None)
        if path is None or any(Path(path).resolve().is_relative_to(folder) for folder in _libraries()):
            continue
        file = Path(path)
        whole = "." in module and (file.parent / "__init__.py").is_file()
        files |= dict.fromkeys(sorted(file.parent.rglob("*.py")) if whole else [file])
    return list(files)


@cache
def _libraries() -> list[Path]:
    """Return the folders of the suite's packages, of the standard library and of installed packages."""
    suite = [str(PACKAGE), import_module("methods").__path__[0]]
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return [Path(folder).resolve() for folder in [*suite, *paths, site.getusersitepackages()]]
