"""Where a result comes from: code, data, libraries, machine."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from benchmark import __version__
from benchmark.data.spec import ROOT
from benchmark.types import Problem

LIBRARIES = ("torch", "numpy", "rdkit", "scikit-learn", "pandas")


def about(problem: Problem, command: str) -> dict[str, str]:
    """Everything about a cell on ``problem`` that a reader needs to trust it or to repeat it with ``command``."""
    spec = problem.spec
    return {
        "command": command,
        "dataset.title": spec.title,
        "dataset.group": spec.group,
        "dataset.family": spec.family,
        "dataset.target": spec.target_name or spec.target,
        "dataset.unit": spec.unit,
        "dataset.features": ", ".join(spec.features),
        "dataset.split": spec.split,
        "dataset.source": spec.source,
        "dataset.licence": spec.licence,
        "dataset.cite": spec.cite,
        "rows": f"{len(problem.train)} train, " + ", ".join(f"{len(e)} {k}" for k, e in problem.evals.items()),
        **{f"fingerprint.{part}": value for part, value in problem.fingerprints.items()},
        **{f"recipe.{part}": str(value) for part, value in problem.recipe.model_dump().items()},
        **software(),
    }


@cache
def software() -> dict[str, str]:
    """Versions of the suite and its libraries, the commit (and whether files differ from it), and the machine."""
    versions = {}
    for library in LIBRARIES:
        try:
            versions[f"version.{library}"] = version(library)
        except PackageNotFoundError:
            versions[f"version.{library}"] = "absent"
    return {
        "version.suite": __version__,
        "version.python": platform.python_version(),
        **versions,
        "git.commit": _git("rev-parse", "HEAD") or "unknown",
        "git.dirty": "unknown" if (changed := _git("status", "--porcelain")) is None else str(bool(changed)).lower(),
        "device": f"cpu ({platform.processor() or platform.machine()}), 1 thread per worker",
    }


def _git(*words: str) -> str | None:
    try:
        result = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
