"""Where a result comes from: code, data, libraries, machine."""

from __future__ import annotations

import platform
import subprocess
from functools import cache

from benchmark import __version__
from benchmark.files import CHECKOUT
from benchmark.store.cell import Facts
from benchmark.train.backbone import find, installed
from benchmark.train.device import CPU
from benchmark.types import MLP, Problem

LIBRARIES = ("torch", "numpy", "rdkit", "scikit-learn", "pandas")


def facts_of(problem: Problem, command: str, device: str = CPU.name) -> Facts:
    """Everything about a cell on ``problem`` that a reader needs to trust it or to repeat it with ``command``."""
    import torch  # takes seconds

    machine = platform.machine(), torch.backends.cpu.get_cpu_capability()
    return Facts(
        command=command,
        dataset=problem.about,
        rows={"train": len(problem.train), **{name: len(test) for name, test in problem.evals.items()}},
        fingerprints=dict(problem.fingerprints),
        backbone=problem.backbone,
        recipe=problem.recipe,
        versions=_versions() | (find(problem.backbone).versions if problem.backbone != MLP else {}),
        commit=_git("rev-parse", "HEAD") or "unknown",
        modified=None if (changed := _git("status", "--porcelain")) is None else bool(changed),
        device=f"cpu ({', '.join(machine)}), 1 thread per worker" if device == CPU.name else device,
    )


def _versions() -> dict[str, str]:
    libraries = {library: installed(library) for library in LIBRARIES}
    return {"suite": __version__, "python": platform.python_version(), **libraries}


@cache
def _git(*words: str) -> str | None:
    """What git says of the checkout that the suite runs from; None where it is no checkout."""
    if not (CHECKOUT / ".git").exists():
        return None
    try:
        result = subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
