"""Comparison of the harness's speed with a plain per-model PyTorch loop, in one run."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Subset, TensorDataset

from benchmark.measure.catalogue import CHURN
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.roofline import machine, parts
from benchmark.store.cell import Cell
from benchmark.train import sample_for
from benchmark.train.device import CPU, CUDA, Device
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


def floor(problem: Problem, sampling: Sampling) -> float:
    """Return the least seconds for one train seed of the table on one thread of this machine (``roofline``).

    They are for the networks that the table needs at least: bagging's five and a deep ensemble's five, which share one
    under ``paper``, one with dropout, two twins.
    """
    one, both = parts(problem), parts(problem, copies=2)
    limits = machine()
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

    def ours(what: str, jobs: int, groups: Sequence[Sequence[str]], device: Device = CPU) -> None:
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
