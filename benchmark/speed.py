"""How fast the harness trains, against the plain per-model PyTorch loop that people write, in one run."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Subset, TensorDataset

from benchmark import metrics, runner
from benchmark.types import Cell, Method, Problem


def plain_twins(problem: Problem, seeds: Sequence[int], lam: float = 300.0) -> np.ndarray:
    """The paper's Algorithm 1 as one writes it: one twin at a time, DataLoaders, torch's default threads.

    Returns class probabilities on the ID test, (S, T, C).
    """
    recipe = problem.recipe
    data = TensorDataset(torch.tensor(problem.train.x), torch.tensor(problem.train.y))
    test = torch.tensor(problem.evals["id"].x)
    width, hidden, n_classes = problem.train.x.shape[1], recipe.hidden, problem.n_outputs

    def sym_kl(a: Tensor, b: Tensor) -> Tensor:
        log_p, log_q = functional.log_softmax(a, dim=1), functional.log_softmax(b, dim=1)
        return 0.5 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=1).mean()

    values = []
    for seed in seeds:
        torch.manual_seed(seed)
        networks, optimisers, loaders = [], [], []
        for _ in range(2):
            layers = [nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
            network = nn.Sequential(*layers, nn.Linear(hidden, n_classes))
            networks.append(network)
            decay = recipe.weight_decay
            optimisers.append(torch.optim.AdamW(network.parameters(), lr=recipe.lr, weight_decay=decay))
            rows = torch.randint(len(data), (len(data),)).tolist()
            loaders.append(DataLoader(Subset(data, rows), batch_size=recipe.batch_size, shuffle=True))
        a, b = networks
        for _ in range(recipe.epochs):
            for (xa, ya), (xb, yb) in zip(*loaders, strict=True):
                aa, ba, ab, bb = a(xa), b(xa), a(xb), b(xb)
                loss = functional.cross_entropy(aa, ya) + functional.cross_entropy(bb, yb)
                loss = loss + lam * 0.5 * (sym_kl(aa, ba) + sym_kl(ab, bb))
                for optimiser in optimisers:
                    optimiser.zero_grad()
                loss.backward()
                for network, optimiser in zip(networks, optimisers, strict=True):
                    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimiser.step()
        with torch.no_grad():
            values.append(torch.stack([network(test).softmax(dim=1) for network in networks]).mean(dim=0))
    return torch.stack(values).numpy()


def compare(problem: Problem, twin: Method, seeds: Sequence[int]) -> list[dict[str, float | str]]:
    """Seconds, accuracy and churn of the plain loop and of the harness with one and with all workers."""
    results: list[dict[str, float | str]] = []

    def record(name: str, seconds: float, values: np.ndarray) -> None:
        test = problem.evals["id"]
        results.append(
            {
                "what": name,
                "seconds": seconds,
                "accuracy": float(metrics.accuracy(values, test.y).mean()),
                "churn": metrics.mean_over_pairs(metrics.churn(values)),
            }
        )

    def harness(jobs: int, some: Sequence[int]) -> np.ndarray:
        cell = runner.plan(problem, twin, some)
        done = [result for _, result in runner.run([cell], jobs, fresh=True) if isinstance(result, Cell)]
        return done[0].predictions["id"].values

    workers = os.cpu_count() or 1
    harness(workers, list(seeds)[:workers])  # warm-up: worker processes start and import torch
    plain_twins(problem, list(seeds)[:1])
    for name, work in (
        (f"plain loop, {torch.get_num_threads()} threads", lambda: plain_twins(problem, seeds)),
        ("harness, 1 worker", lambda: harness(1, seeds)),
        (f"harness, {workers} workers", lambda: harness(workers, seeds)),
    ):
        start = time.perf_counter()
        values = work()
        record(name, time.perf_counter() - start, values)
    return results
