"""Training on another device gives the same predictions up to rounding."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.learners.mlp import MLP
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.revisions import code_of
from benchmark.run.runner import plan
from benchmark.train import bootstrap, sample_for
from benchmark.train.device import CPU, CUDA, Device, device
from benchmark.train.loop import sharing
from benchmark.train.networks import StackedMLP
from benchmark.types import PAPER, Problem, Recipe

METHODS = ["erm", "swa", "bagging:k=2", "twin", "codistillation", "anchor", "gradnorm"]
TOLERANCE = 1e-4
"""Difference in probability due to the order of sums, amplified by a few epochs of training."""

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")


def driver_here() -> bool:
    with suppress(OSError):
        return bool(ctypes.CDLL("libcuda.so.1"))
    return False


@pytest.fixture
def molecules() -> Problem:
    return replace(load_problem("b3db_measured"), recipe=Recipe(epochs=2))


def predicted(problem: Problem, where: Device = CPU) -> np.ndarray:
    """Predictions (M, S, T, C) of all methods, trained together on a device at each train seed, for the test set."""
    values = []
    for seed in (1, 2):
        sample, _ = sample_for(problem, PAPER, seed, where)
        with sharing():
            models = [make_method(text, problem.task).fit(sample) for text in METHODS]
            values.append([model.predict(problem.evals["id"].inputs) for model in models])
    return np.stack(values, axis=1)


def test_the_modules_that_a_gpu_trains_are_the_fast_networks(molecules: Problem) -> None:
    sample, _ = sample_for(molecules, PAPER, 1)
    rows = bootstrap(sample, 2)
    begin = [StackedMLP([(1, m)], sample.x.shape[1], molecules.recipe.hidden, 2) for m in range(2)]
    fast = MLP().train(sample, rows).each(sample.inputs)
    modules = MLP().train(sample, rows, start=begin, adapt=lambda module: module).each(sample.inputs)
    differences = np.abs(fast - modules)
    assert differences.max() > 0, "another way to compute them"
    assert np.median(differences) < TOLERANCE
    assert differences.max() < 0.05  # where rounding moves a unit across the edge of its ReLU, training amplifies it


@needs_gpu
def test_a_gpu_gives_the_same_predictions(molecules: Problem) -> None:
    one, other = predicted(molecules, CUDA), predicted(molecules)
    assert np.abs(one - other).max() < TOLERANCE
    assert (one.argmax(-1) == other.argmax(-1)).all()


@needs_gpu
def test_a_gpu_gives_the_same_predictions_again(molecules: Problem) -> None:
    assert np.array_equal(predicted(molecules, CUDA), predicted(molecules, CUDA))


def test_the_device_is_detected_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for available in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda available=available: available)
        assert device("auto") is (CUDA if available else CPU)
        assert device("cpu") is CPU
    assert device("cuda") is CUDA
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="needs a GPU"):
        device("cuda")
    with pytest.raises(UserError, match="unknown device tpu: expected auto, cpu or cuda"):
        device("tpu")


BUILDS = {
    "for CPUs": ("cuda = None\nhip = None", False),
    "for CUDA": ("cuda = '12.8'\nhip = None", True),
    "for ROCm": ("cuda = None\nhip = '6.4'", True),
    "of unknown kind": ("", True),
}
"""What ``torch/version.py`` of a build says, and whether it can find a GPU where a driver is installed."""


@pytest.mark.parametrize("build", BUILDS)
def test_auto_imports_pytorch_only_where_it_may_find_a_gpu(build: str, tmp_path: Path) -> None:
    content, possible = BUILDS[build]
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text(content)
    (tmp_path / "torch" / "__init__.py").write_text("class cuda:\n    is_available = staticmethod(lambda: True)\n")
    shutil.copy(np.random.mtrand.__file__, tmp_path / "libcuda.so.1")  # any library stands for the driver
    assert chosen(tmp_path) == (["cuda", "True"] if possible else ["cpu", "False"])


@pytest.mark.skipif(driver_here(), reason="this machine has NVIDIA's driver")
def test_auto_does_not_import_pytorch_built_for_cuda_without_a_driver(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text(BUILDS["for CUDA"][0])
    (tmp_path / "torch" / "__init__.py").write_text("")
    assert chosen(tmp_path) == ["cpu", "False"]


def chosen(folder: Path) -> list[str]:
    """Return the device that a process with the PyTorch in ``folder`` chooses, and whether it has imported that."""
    script = "import sys; from benchmark.train.device import device; print(device('auto'), 'torch' in sys.modules)"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "LD_LIBRARY_PATH": str(folder),
    }
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return found.stdout.split()


def test_a_cell_of_a_gpu_is_another_cell_and_says_how_to_fill_it() -> None:
    problem = synthetic("classification")
    cpu, cuda = (plan(problem, make_method("erm", problem.task), [1, 2], where) for where in (CPU, CUDA))
    assert cpu.key.digest != cuda.key.digest
    assert cpu.key.code == cuda.key.code == code_of(cpu.method)
    assert cuda.command == f"{cpu.command} --device cuda"
