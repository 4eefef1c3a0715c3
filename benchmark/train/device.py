"""Devices that networks are trained on."""

import ctypes
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from benchmark.errors import UserError

Device = str
CPU, CUDA = "cpu", "cuda"


def device(name: str) -> Device:
    """Return the device called ``name``; ``auto`` prefers a GPU. Raises UserError if it is unknown or not available."""
    if name == "auto":
        return CUDA if _gpu() else CPU
    if name not in (CPU, CUDA):
        raise UserError(f"unknown device {name}: expected auto, {CPU} or {CUDA}")
    if name == CUDA and not _gpu():
        raise UserError("--device cuda needs a GPU that PyTorch can use, but none is available: omit the option")
    return name


def _gpu() -> bool:
    """Return whether PyTorch can use a GPU; import it, which takes seconds, only if it might."""
    if "torch" not in sys.modules and not _may_find_a_gpu():
        return False
    import torch

    return torch.cuda.is_available()


def _may_find_a_gpu() -> bool:
    """Return False if PyTorch on this machine is built for CPUs alone, or for CUDA and there is no NVIDIA driver."""
    torch = find_spec("torch")  # not imported
    if torch is None or torch.origin is None:
        return True
    try:
        build = runpy.run_path(str(Path(torch.origin).with_name("version.py")))
    except OSError:
        return True
    if build.get("hip") or "cuda" not in build or "hip" not in build:
        return True
    if build["cuda"] is not None and sys.platform == "linux":
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            return False
    return build["cuda"] is not None


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
