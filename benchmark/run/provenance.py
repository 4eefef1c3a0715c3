"""Provenance of results: code, data, libraries, machine."""

import platform
import subprocess
from functools import cache

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

from benchmark import __version__
from benchmark.files import CHECKOUT
from benchmark.learners import find, names
from benchmark.store.cell import Facts
from benchmark.train.device import CPU
from benchmark.train.learner import NetworkLearner, installed
from benchmark.types import Problem

LIBRARIES = ("torch", "numpy", "rdkit", "scikit-learn", "pandas")


def facts_of(problem: Problem, command: str, device: str = CPU) -> Facts:
    """Return the provenance of a cell on ``problem`` that ``command`` repeats."""
    machine = f"{platform.machine()}, {vectors()}"
    versions = {"suite": __version__, "python": platform.python_version()}
    versions |= {library: installed(library) for library in LIBRARIES}
    learner = find(problem.backbone)() if problem.backbone in names() else None
    return Facts(
        command=command,
        dataset=problem.about,
        rows={"train": len(problem.train), **{name: len(test) for name, test in problem.evals.items()}},
        class_rows=tuple(np.bincount(problem.train.y, minlength=problem.n_outputs).tolist())
        if problem.task == "classification"
        else (),
        fingerprints=dict(problem.fingerprints),
        backbone=problem.backbone,
        recipe=problem.recipe,
        versions=versions | (learner.versions if isinstance(learner, NetworkLearner) else {}),
        commit=_git("rev-parse", "HEAD") or "unknown",
        modified=None if (changed := _git("status", "--porcelain")) is None else bool(changed),
        device=f"cpu ({machine}), 1 thread per worker" if device == CPU else device,
    )


def vectors() -> str:
    """Return the vector instructions of this machine, as PyTorch names them, which takes seconds to import."""
    if not __cpu_features__.get("FMA3"):
        return "DEFAULT"
    widest = {"AVX512": "AVX512_SKX", "AVX2": "AVX2"}
    return next((name for name, feature in widest.items() if __cpu_features__.get(feature)), "DEFAULT")


@cache
def _git(*words: str) -> str | None:
    """Return the output of git in the suite's checkout; None if there is no checkout or git fails."""
    if not (CHECKOUT / ".git").exists():
        return None
    try:
        result = subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
