"""Where a result comes from: code, data, libraries, machine."""

from __future__ import annotations

import platform
import subprocess
from functools import cache

import torch

from benchmark import __version__
from benchmark.data.spec import MLP, ROOT
from benchmark.train.backbone import find, installed
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
        **backbone(spec.backbone),
        **{f"recipe.{part}": str(value) for part, value in problem.recipe.model_dump().items()},
        **software(),
    }


@cache
def software() -> dict[str, str]:
    """Versions of the suite and its libraries, the commit (and whether files differ from it), and the machine."""
    return {
        "version.suite": __version__,
        "version.python": platform.python_version(),
        **{f"version.{library}": installed(library) for library in LIBRARIES},
        "git.commit": _git("rev-parse", "HEAD") or "unknown",
        "git.dirty": "unknown" if (changed := _git("status", "--porcelain")) is None else str(bool(changed)).lower(),
        "device": f"cpu ({platform.machine()}, {torch.backends.cpu.get_cpu_capability()}), 1 thread per worker",
    }


def backbone(name: str) -> dict[str, str]:
    """What a backbone other than the perceptron adds: its name, and the versions of its libraries."""
    if name == MLP:
        return {}
    return {"backbone": name, **{f"version.{library}": found for library, found in find(name).versions.items()}}


def _git(*words: str) -> str | None:
    try:
        result = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
