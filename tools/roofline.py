"""What a training step takes, beside what this machine's arithmetic and memory allow.

This is a roofline: Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from benchmark.train import kernels, sample_for
from benchmark.train.adamw import rates
from benchmark.train.device import one_thread, without_denormals
from benchmark.train.loop import CLIP
from benchmark.train.losses import fit_gradient
from benchmark.train.networks import Inputs, Perceptron
from benchmark.train.perceptrons import PerceptronInTraining, Perceptrons, SumsOfRows
from benchmark.types import PAPER, Problem, Sampling

REPEATS = 200
ADAMW_OPERATIONS, ADAMW_BYTES = 14, 28
"""Operations of AdamW for each weight, and bytes: it reads the gradient, and reads and writes weight and moments."""


@dataclass(frozen=True)
class Machine:
    """What one thread of this machine can do."""

    operations: float
    """Floating-point operations in a second, in a product of matrices (256, 256)."""
    bytes: float
    """Bytes read and written in a second by a copy of 4 MB, which stays in the caches."""
    memory: float
    """The same for a copy of 256 MB."""


@dataclass(frozen=True)
class Part:
    """A part of a training step of one network: its operations, the bytes that it moves, and measured seconds."""

    what: str
    operations: float
    bytes: float
    seconds: float

    def at_best(self, machine: Machine) -> float:
        """Return the seconds that the machine would need at its limits."""
        return max(self.operations / machine.operations, self.bytes / machine.bytes)


def measure_machine() -> Machine:
    """Measure this machine on one thread."""
    a, b, out = torch.rand(256, 256), torch.rand(256, 256), torch.empty(256, 256)

    def copied(size: int) -> float:
        source, target = np.zeros(size // 8, np.float32), np.zeros(size // 8, np.float32)
        return size / _seconds(lambda: np.copyto(target, source), 20)

    with one_thread():
        return Machine(2 * 256**3 / _seconds(lambda: torch.mm(a, b, out=out), 50), copied(4 << 20), copied(256 << 20))


def measure_parts(problem: Problem, copies: int = 1) -> list[Part]:
    """Measure one step of one network of ``problem`` on ``copies`` batches, on one thread.

    Coupled networks each see the batches of both: two copies. The last part is the whole step; what it takes beyond the
    others is the loss, and Python. Raises ValueError if the inputs are not sparse bits.
    """
    recipe, inputs = problem.recipe, Inputs(problem.train.x)
    if inputs.ones is None:
        raise ValueError(f"{problem.name}: a roofline needs sparse bits, such as fingerprints")
    batch, h, c = copies * recipe.batch_size, recipe.hidden, problem.n_outputs
    draw = np.random.default_rng(0)
    steps = max(2, len(problem.train) // recipe.batch_size)
    rows = torch.from_numpy(draw.integers(len(problem.train), size=(1, steps * batch)))
    y = torch.from_numpy(problem.train.y)
    with one_thread(), without_denormals():
        initial = Perceptron((0, 0), inputs.x.shape[1], recipe.hidden, problem.n_outputs)
        networks = Perceptrons([initial], inputs, recipe)
        whole = []
        for _ in range(-(-REPEATS // steps)):
            batches = list(rows.split(batch, 1))
            start = time.perf_counter()
            for of_step, outputs in zip(batches, networks.epoch(batches), strict=True):
                networks.step(fit_gradient(problem.task, outputs, y[of_step]), CLIP)
            whole.append((time.perf_counter() - start) / steps)
        (network,) = networks.networks
        first = network.first
        assert isinstance(first, SumsOfRows)
        network.begin(rows[0].numpy(), np.arange(0, rows.shape[1] + 1, batch))
        outer = torch.from_numpy(draw.normal(size=(batch, h)).astype(np.float32))
        factors = rates(network.steps + 1, recipe.lr, recipe.weight_decay)
        ones, touched = float(np.diff(first.indptr)[rows[0].numpy()].sum()) / steps, len(first.plan.columns) / steps
        others, sums = len(network.flat), ones * h
        dense = 2 * batch * h * (h + c)
        hidden = 4 * (h * (h + c) + 2 * batch * h)
        return [
            Part("first layer: sums of rows", sums, 4 * (sums + batch * h), _each(first.product, steps)),
            Part("other layers, forward", dense, hidden, _dense(network, batch, False)),
            Part("other layers, backward", 2 * dense, 2 * hidden, _dense(network, batch, True)),
            Part(
                "first layer: gradient",
                sums,
                4 * (sums + touched * h),
                _each(lambda s: first.backward(s, outer), steps),
            ),
            Part(
                "first layer: AdamW on touched rows",
                ADAMW_OPERATIONS * touched * h,
                ADAMW_BYTES * touched * h,
                _each(lambda s: first.step(s, 0.0, factors), steps),
            ),
            Part(
                "other layers: AdamW",
                ADAMW_OPERATIONS * others,
                ADAMW_BYTES * others,
                _each(lambda _: kernels.adamw(*network.arrays, np.float32(0), factors), steps),
            ),
            Part("whole step", 0, 0, statistics.median(whole)),
        ]


def _dense(network: PerceptronInTraining, batch: int, backward: bool) -> float:
    _, w2, _, w3, _ = network.others
    h1, out = torch.rand(batch, len(w2)), torch.rand(batch, w3.shape[1])

    def forward() -> None:
        torch.relu(h1 @ w2) @ w3

    def back() -> None:
        inner = out @ w3.T
        h1.T @ out, h1.T @ inner, inner @ w2.T

    return _seconds(back if backward else forward, REPEATS)


def _each(run: Callable[[int], object], steps: int) -> float:
    """Return the median seconds of a step of an epoch."""
    seconds = []
    for i in range(REPEATS):
        start = time.perf_counter()
        run(i % steps)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _seconds(run: Callable[[], object], repeats: int) -> float:
    return _each(lambda _: run(), repeats)


def floor(problem: Problem, sampling: Sampling) -> float:
    """Return the least seconds for one train seed of the table on one thread of this machine.

    They are for the networks that the table needs at least: bagging's five and a deep ensemble's five, which share one
    under ``paper``, one with dropout, two twins.
    """
    one, both = measure_parts(problem), measure_parts(problem, copies=2)
    limits = measure_machine()
    steps = -(-len(sample_for(problem, sampling, 1)[0].rows) // problem.recipe.batch_size) * problem.recipe.epochs
    single = 10 if sampling == PAPER else 11
    return steps * sum(n * part.at_best(limits) for n, of in ((single, one), (2, both)) for part in of)


def report(problem: Problem) -> None:
    """Print the parts of a training step, and the least time for the paper's methods, as tables in Markdown."""
    limits, measured = measure_machine(), measure_parts(problem)
    cached, beyond = limits.bytes / 1e9, limits.memory / 1e9
    print(f"\nOne thread: {limits.operations / 1e9:.0f} GFLOP/s, {cached:.0f} GB/s in the caches, {beyond:.0f} beyond")
    print(f"\n| one step of one network | MFLOP | MB | ms at best | ms |\n|{' --- |' * 5}")
    for part in measured:
        best = sum(other.at_best(limits) for other in measured) if part is measured[-1] else part.at_best(limits)
        amounts = f"{part.operations / 1e6:.2f} | {part.bytes / 1e6:.2f}" if part.operations else " | "
        print(f"| {part.what} | {amounts} | {1e3 * best:.3f} | {1e3 * part.seconds:.3f} |")
    least = ", ".join(f"{floor(problem, sampling):.2f} s under `{sampling}`" for sampling in ("paper", "halves"))
    print(f"\nA train seed of the paper's methods at best: {least}")
