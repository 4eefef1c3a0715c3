"""Steps without gradient are taken at once and end where those of PyTorch do, within stated bounds."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from benchmark.train import kernels
from benchmark.train.adamw import EPS, LONGEST, idle, optimiser, rates
from benchmark.types import Recipe

RECIPE = Recipe(hidden=16, lr=1e-2, weight_decay=0.1)
WIDTH, HIDDEN = 30, 16
STARTS = np.array([0, 4, 8, 11])
ROWS = np.array([0, 5, 5, 9, 7, 1, 0, 5, 3, 9, 9])
"""Rows of three steps: repeated within a step and between steps, and one without a bit."""


@pytest.fixture
def inputs() -> csr_matrix:
    x = np.random.default_rng(0).random((10, WIDTH)) < 0.15
    x[7] = False
    return csr_matrix(x.astype(np.float32))


def randn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def in_pytorch(weight: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    parameter = torch.tensor(weight, dtype=torch.float64, requires_grad=True)
    steps = optimiser([parameter], RECIPE)
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        steps.step()
    return parameter.detach().numpy()


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e-8, 1e-10])
def test_steps_without_gradient_taken_at_once_end_where_pytorchs_end(inputs: csr_matrix, size: float) -> None:
    """Two epochs of three steps; gradients down to the size of AdamW's ε and below."""
    weight = randn(WIDTH, HIDDEN)
    plan = kernels.schedule(inputs.indptr, inputs.indices, ROWS, STARTS, WIDTH)
    w, m, v = weight.copy(), np.zeros_like(weight), np.zeros_like(weight)
    gradients = []
    for epoch in range(2):
        push, root, keep = idle(3 * epoch, 3, RECIPE.lr, RECIPE.weight_decay)
        kernels.advance(w, m, v, plan.lead, np.float32(EPS), push[0], root[0], keep)
        for step in range(3):
            touched = slice(*plan.steps[step : step + 2])
            columns = plan.columns[touched]
            rows = np.float32(size) * randn(len(columns), HIDDEN)
            gradients.append(np.zeros_like(weight))
            gradients[-1][columns] = rows
            factors = rates(3 * epoch + step + 1, RECIPE.lr, RECIPE.weight_decay)
            arrays = w, m, v, rows, columns, plan.idle[touched]
            kernels.adamw_rows(*arrays, np.float32(1), factors, push[step + 1], root[step + 1], keep)
    expected = in_pytorch(weight, gradients)
    moved = np.abs(expected - weight).max()
    assert np.abs(w - expected).max() < 1e-3 * moved + 1e-6


def test_a_step_and_those_without_gradient_after_it_give_the_bits_that_they_give_one_after_the_other() -> None:
    push, root, keep = idle(0, 3, RECIPE.lr, RECIPE.weight_decay)
    factors, gradient, columns = rates(1, RECIPE.lr, RECIPE.weight_decay), randn(3, HIDDEN), np.array([7, 2, 5])
    together, apart = ([randn(WIDTH, HIDDEN), randn(HIDDEN, WIDTH).T.copy(), randn(WIDTH, HIDDEN) ** 2] for _ in "ab")
    after = np.array([0, 1, 2], np.int32)
    kernels.adamw_rows(*together, gradient, columns, after, np.float32(0.7), factors, push[1], root[1], keep)
    lead = np.zeros(WIDTH, np.int32)
    lead[columns] = after
    for column, own in zip(columns, gradient, strict=True):
        kernels.adamw(*(array[column] for array in apart), own, np.float32(0.7), factors)
    kernels.advance(*apart, lead, np.float32(EPS), push[1], root[1], keep)
    for ours, theirs in zip(together, apart, strict=True):
        np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


@pytest.mark.parametrize(("start", "steps"), [(0, 20), (16, 16), (1000, 73), (5000, 400)])
@pytest.mark.parametrize("ratio", [1e-3, 1e-1, 1.0, 10.0, 1e3])
def test_one_term_stands_for_many_steps_within_a_five_hundredth_and_a_thirtieth_at_first(start, steps, ratio):
    """``ratio`` is that of ε to the root of the second moment."""
    lr, decay, after = 1e-3, 1 - 1e-3 * 1e-4, start + 1
    push, root, keep = (factors.astype(float) for factors in idle(start, steps, lr, 1e-4))
    mean, square = 1.0, (EPS / ratio) ** 2
    for n in range(1, steps + 1):
        at = min(n, LONGEST)
        k = np.arange(1, n + 1)
        sizes = lr * 0.9**k / (1 - 0.9 ** (after + k)) * decay ** (n - k)
        exact = float((sizes * mean / (np.sqrt(square * 0.999**k / (1 - 0.999 ** (after + k))) + EPS)).sum())
        once = push[1, at] * mean / (np.sqrt(square) * root[1, at] + EPS)
        assert once == pytest.approx(exact, rel=2e-3 if start else 3.3e-2)
        assert keep[:, n] == pytest.approx([decay**n, 0.9**n, 0.999**n])
