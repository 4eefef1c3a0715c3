"""Training on another device gives the same predictions up to rounding."""

import builtins
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.code import code_of
from benchmark.run.provenance import vectors
from benchmark.run.runner import plan
from benchmark.train import sample_for
from benchmark.train.device import CPU, CUDA, device
from benchmark.train.loop import sharing
from benchmark.types import PAPER, Problem, Recipe
from tests.plain import needs_gpu

METHODS = ["erm", "swa", "bagging:k=2", "twin", "codistillation", "anchor", "gradnorm"]
TOLERANCE = 1e-4
"""Difference in probability due to the order of sums, amplified by a few epochs of training."""
LARGEST = 0.05
"""The same where rounding moves a unit across the edge of its ReLU, which training amplifies."""


@pytest.fixture
def molecules() -> Problem:
    return replace(load_problem("b3db_measured"), recipe=Recipe(epochs=2))


def predicted(problem: Problem, where: str = CPU, methods: Sequence[str] = METHODS) -> np.ndarray:
    """Predictions (M, S, T, C) of methods, trained together on a device at each train seed, for the test set."""
    values = []
    for seed in (1, 2):
        sample, _ = sample_for(problem, PAPER, seed, where)
        with sharing():
            models = [make_method(text, problem.task).fit(sample) for text in methods]
            values.append([model.predict(problem.evals["id"].inputs) for model in models])
    return np.stack(values, axis=1)


@needs_gpu
def test_a_gpu_gives_the_same_predictions(molecules: Problem) -> None:
    differences = np.abs(predicted(molecules, CUDA) - predicted(molecules))
    assert np.median(differences) < TOLERANCE
    assert differences.max() < LARGEST


@needs_gpu
@pytest.mark.parametrize("methods", [METHODS, ["tabm:epochs=5"], ["gin:epochs=5"], ["chemprop:epochs=5"]], ids=str)
def test_a_gpu_gives_the_same_predictions_again(molecules: Problem, methods: list[str]) -> None:
    if methods == ["chemprop:epochs=5"]:
        pytest.importorskip("chemprop")
    assert np.array_equal(predicted(molecules, CUDA, methods), predicted(molecules, CUDA, methods))


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


def test_vector_instructions_are_named_as_pytorch_names_them() -> None:
    assert vectors() == torch.backends.cpu.get_cpu_capability()


@pytest.mark.parametrize("driver", [False, True])
def test_auto_imports_pytorch_only_where_it_may_find_a_gpu(driver, monkeypatch, tmp_path):
    monkeypatch.setattr("benchmark.train.device.DRIVERS", [tmp_path if driver else tmp_path / "missing"])
    monkeypatch.setattr(sys, "platform", "linux")
    fake = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(builtins, "__import__", lambda name, *_: {"torch": fake}[name])
    assert device("auto") == (CUDA if driver else CPU)


def test_a_cell_of_a_gpu_is_another_cell_and_says_how_to_fill_it() -> None:
    problem = synthetic("classification")
    cpu, cuda = (plan(problem, make_method("erm", problem.task), [1, 2], where) for where in (CPU, CUDA))
    assert cpu.key.digest != cuda.key.digest
    assert cpu.key.code == cuda.key.code == code_of(cpu.method)
    assert cuda.command == f"{cpu.command} --device cuda"
