"""Time the paper's table of methods in a plain PyTorch loop and in this suite, and the parts of one training step.

    python tools/speed.py --dataset bace --seeds 10 --plain-seeds 2

This takes many minutes. What a step takes is shown beside what this machine's arithmetic and memory allow, a roofline
(Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785).
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Subset, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[1]))  # the suite, if it is not installed

from benchmark.data.problem import load_problem
from benchmark.measure.catalogue import CHURN
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.settings import parse_seeds
from benchmark.store.cell import Cell
from benchmark.train import kernels, sample_for
from benchmark.train.adamw import rates
from benchmark.train.device import CPU, CUDA, one_thread, without_denormals
from benchmark.train.loop import CLIP
from benchmark.train.losses import fit_gradient
from benchmark.train.networks import Inputs, Perceptron
from benchmark.train.perceptrons import PerceptronInTraining, Perceptrons, SumsOfRows
from benchmark.types import PAPER, Predictions, Problem, Sampling

TABLE = ("erm", "swa", "mc_dropout", "deep_ensemble", "bagging:k=2", "bagging", "twin")
"""Methods of the paper's main table."""


@dataclass(frozen=True)
class Timing:
    """Seconds for one train seed of the whole table; churn of ERM and twin, if there are enough seeds."""

    what: str
    seconds: float
    churn_erm: float | None = None
    churn_twin: float | None = None


class Plain:
    """A plain implementation of the table: one network at a time, DataLoaders, PyTorch's default threads."""

    def __init__(self, problem: Problem):
        self.problem, self.recipe = problem, problem.recipe
        self.data = TensorDataset(torch.tensor(problem.train.x), torch.tensor(problem.train.y))
        self.test = torch.tensor(problem.evals["id"].x)

    def network(self, dropout: float = 0.0) -> nn.Sequential:
        width, hidden = self.problem.train.x.shape[1], self.recipe.hidden
        drop = [nn.Dropout(dropout)] if dropout else []
        layers = [nn.Linear(width, hidden), nn.ReLU(), *drop, nn.Linear(hidden, hidden), nn.ReLU(), *drop]
        return nn.Sequential(*layers, nn.Linear(hidden, self.problem.n_outputs))

    def optimiser(self, network: nn.Module) -> torch.optim.AdamW:
        return torch.optim.AdamW(network.parameters(), lr=self.recipe.lr, weight_decay=self.recipe.weight_decay)

    def loader(self, rows: list[int]) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(Subset(self.data, rows), batch_size=self.recipe.batch_size, shuffle=True)

    def fit(self, rows: list[int], dropout: float = 0.0, average_from: float | None = None) -> nn.Module:
        network = self.network(dropout)
        optimiser, loader, mean = self.optimiser(network), self.loader(rows), AveragedModel(network)
        for epoch in range(self.recipe.epochs):
            for x, y in loader:
                optimiser.zero_grad()
                functional.cross_entropy(network(x), y).backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
            if average_from is not None and epoch >= average_from * self.recipe.epochs:
                mean.update_parameters(network)
        return network if average_from is None else mean

    @torch.no_grad()
    def probabilities(self, networks: Sequence[nn.Module]) -> Tensor:
        return torch.stack([network(self.test).softmax(dim=1) for network in networks]).mean(dim=0)

    def twins(self, both: Sequence[list[int]], lam: float = 300.0) -> Tensor:
        """Train two networks by the paper's Algorithm 1 and return their probabilities for the ID test, (T, C)."""

        def sym_kl(a: Tensor, b: Tensor) -> Tensor:
            log_p, log_q = functional.log_softmax(a, dim=1), functional.log_softmax(b, dim=1)
            return 0.5 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=1).mean()

        a, b = self.network(), self.network()
        optimisers, loaders = [self.optimiser(a), self.optimiser(b)], [self.loader(rows) for rows in both]
        for _ in range(self.recipe.epochs):
            for (xa, ya), (xb, yb) in zip(*loaders, strict=True):
                aa, ba, ab, bb = a(xa), b(xa), a(xb), b(xb)
                loss = functional.cross_entropy(aa, ya) + functional.cross_entropy(bb, yb)
                loss = loss + lam * 0.5 * (sym_kl(aa, ba) + sym_kl(ab, bb))
                for optimiser in optimisers:
                    optimiser.zero_grad()
                loss.backward()
                for network, optimiser in zip((a, b), optimisers, strict=True):
                    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimiser.step()
        return self.probabilities([a, b])

    def table(self, sampling: Sampling, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Train every method at one train seed; return the predictions of ERM and twin for the ID test, (T, C)."""
        torch.manual_seed(seed)
        sample, places = sample_for(self.problem, sampling, seed)

        def bootstrap() -> list[int]:
            n = len(sample.bootstrap_pool)
            return places[sample.bootstrap_pool[torch.randint(n, (n,)).numpy()]].tolist()

        rows = places[sample.rows].tolist()
        erm = self.probabilities([self.fit(rows)])
        self.probabilities([self.fit(rows, average_from=0.5)])
        noisy = self.fit(rows, dropout=0.2)
        self.probabilities([noisy] * 20)
        self.probabilities([self.fit(rows) for _ in range(5)])
        for k in (2, 5):
            self.probabilities([self.fit(bootstrap()) for _ in range(k)])
        return erm.numpy(), self.twins([bootstrap(), bootstrap()]).numpy()


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
    """Return the least seconds for one train seed of the table on one thread of this machine .

    They are for the networks that the table needs at least: bagging's five and a deep ensemble's five, which share one
    under ``paper``, one with dropout, two twins.
    """
    one, both = measure_parts(problem), measure_parts(problem, copies=2)
    limits = measure_machine()
    steps = -(-len(sample_for(problem, sampling, 1)[0].rows) // problem.recipe.batch_size) * problem.recipe.epochs
    single = 10 if sampling == PAPER else 11
    return steps * sum(n * part.at_best(limits) for n, of in ((single, one), (2, both)) for part in of)


def compare(
    problem: Problem,
    sampling: Sampling,
    seeds: Sequence[int],
    plain_seeds: Sequence[int],
    report: Callable[[Timing], None],
) -> None:
    """Time one train seed of the table and ``report`` the plain loop, variants of the harness and the floor in turn."""
    workers = os.cpu_count() or 1

    def ours(what: str, jobs: int, groups: Sequence[Sequence[str]], device: str = CPU) -> None:
        start, predictions = time.perf_counter(), {}
        for texts in groups:
            methods = [make_method(text, problem.task) for text in texts]
            cells = [runner.plan(problem, method, seeds, device, sampling=sampling) for method in methods]
            for _, result in runner.run(cells, jobs, fresh=True):
                if isinstance(result, Cell):
                    predictions[result.key.method] = result.predictions["id"]
        seconds = (time.perf_counter() - start) / len(seeds)
        report(Timing(what, seconds, _churn(predictions["erm"]), _churn(predictions["twin"])))

    small = [runner.plan(problem, make_method("erm", problem.task), list(seeds)[:workers])]
    list(runner.run(small, workers, fresh=True))  # warm-up: worker processes start and import torch
    plain = Plain(problem)
    plain.fit(list(range(len(problem.train))))
    start = time.perf_counter()
    predicted = [plain.table(sampling, seed) for seed in plain_seeds]
    seconds = (time.perf_counter() - start) / len(plain_seeds)
    runs = tuple(plain_seeds)
    both = (np.stack(values) for values in zip(*predicted, strict=True))
    erm, twin = (Predictions.of(problem, "id", runs, values, sampling) for values in both)
    report(Timing(f"(a) plain loop, {torch.get_num_threads()} threads", seconds, _churn(erm), _churn(twin)))
    ours("    ours, nothing shared, 1 worker", 1, [[text] for text in TABLE])
    ours("(b) ours, 1 worker", 1, [TABLE])
    ours(f"(c) ours, {workers} workers", workers, [TABLE])
    if torch.cuda.is_available():
        ours("    ours, 1 GPU", 1, [TABLE], CUDA)
    report(Timing("(d) floor: arithmetic and memory alone", floor(problem, sampling)))


def _churn(p: Predictions) -> float | None:
    return CHURN.mean(p) if len(p.seeds) > 2 else None


def roofline(problem: Problem) -> None:
    """Print the parts of a training step, beside what this machine's arithmetic and memory allow."""
    limits, measured = measure_machine(), measure_parts(problem)
    cached, beyond = limits.bytes / 1e9, limits.memory / 1e9
    can = f"{limits.operations / 1e9:.0f} GFLOP/s, {cached:.0f} GB/s in the caches, {beyond:.0f} GB/s beyond"
    print(f"one thread of this machine: {can}")
    print(f"{'one step of one network':40}{'MFLOP':>10}{'MB':>10}{'ms at best':>14}{'ms measured':>14}")
    for part in measured:
        best = sum(other.at_best(limits) for other in measured) if part is measured[-1] else part.at_best(limits)
        amounts = [f"{part.operations / 1e6:.2f}", f"{part.bytes / 1e6:.2f}"] if part.operations else ["", ""]
        print(f"{part.what:40}{amounts[0]:>10}{amounts[1]:>10}{1e3 * best:14.3f}{1e3 * part.seconds:14.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="b3db_measured", help="a classification dataset")
    parser.add_argument("--seeds", default="10", help="train seeds of the suite")
    parser.add_argument("--plain-seeds", default="3", help="train seeds of the plain loop (minutes each)")
    parser.add_argument("--sampling", default=PAPER, choices=get_args(Sampling))
    parser.add_argument("--out", type=Path, help="write the timings to this JSON file")
    given = parser.parse_args()
    problem = load_problem(given.dataset)
    if problem.task != "classification":
        parser.error(f"{given.dataset} is a {problem.task} dataset: classifiers are compared")
    timings: list[Timing] = []

    def report(timing: Timing) -> None:
        timings.append(timing)
        churn = f"{timing.churn_erm:.1%}, {timing.churn_twin:.1%}" if timing.churn_erm and timing.churn_twin else "–"
        ratio = timings[0].seconds / timing.seconds
        print(f"{timing.what:42} {timing.seconds:8.2f} s  {ratio:6.2f}x   churn of ERM, twin: {churn}", flush=True)

    roofline(problem)
    print("seconds for one train seed of seven methods")
    compare(problem, given.sampling, parse_seeds(given.seeds), parse_seeds(given.plain_seeds), report)
    if given.out:
        given.out.write_text(json.dumps([asdict(timing) for timing in timings], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
