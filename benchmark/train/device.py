"""Devices that networks are trained on."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmark.errors import UserError

CPU, CUDA = "cpu", "cuda"
DRIVERS = [Path("/dev", name) for name in ("nvidiactl", "nvmap", "kfd", "dxg")]
"""Files that the drivers of NVIDIA and AMD, and Windows for its Linux, open to programs."""
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read once, by the first product of matrices on a GPU


def device(name: str) -> str:
    """Return the device called ``name``; ``auto`` prefers a GPU. Raises UserError if it is unknown or not available."""
    if name == "auto":
        return CUDA if _gpu() else CPU
    if name not in (CPU, CUDA):
        raise UserError(f"unknown device {name}: expected auto, {CPU} or {CUDA}")
    if name == CUDA and not _gpu():
        raise UserError("--device cuda needs a GPU that PyTorch can use, but none is available: omit the option")
    return name


def _gpu() -> bool:
    """Return whether PyTorch can use a GPU; on Linux, import it, which takes seconds, only if there is a driver."""
    if sys.platform == "linux" and "torch" not in sys.modules and not any(map(Path.exists, DRIVERS)):
        return False
    import torch

    return torch.cuda.is_available()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread: more threads split sums, and results would depend on the number of cores."""
    import torch  # slow to import

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def without_denormals() -> Iterator[None]:
    """Take numbers below 1.2e-38 as 0 in this thread: moments of AdamW sink there, where processors are slow."""
    import torch  # slow to import

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def repeatable(name: str) -> Iterator[None]:
    """On a GPU, use algorithms that add numbers in the same order each time.

    An operation that has none, in a module of one's own, raises RuntimeError.
    """
    if name == CPU:
        yield
        return
    import torch  # slow to import

    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Attempting to run cuBLAS")  # in each process, by the first backward pass
            yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def settings_kept() -> Iterator[None]:
    """Undo what a user's code sets for all of PyTorch and NumPy: others would train otherwise beside it than alone."""
    errors = np.geterr()
    try:
        yield
    finally:
        np.seterr(**errors)
        if torch := sys.modules.get("torch"):
            torch.set_default_dtype(torch.float32)
            torch.set_default_device(None)
            torch.set_float32_matmul_precision("highest")
            torch.set_grad_enabled(True)
