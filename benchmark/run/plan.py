"""Estimate of the cost of a grid before anything is trained."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.registry import trains_networks
from benchmark.run.runner import Planned
from benchmark.train.backbone import find
from benchmark.train.group import Group, Rule
from benchmark.train.loop import one_thread, train
from benchmark.train.resampling import draw
from benchmark.train.stack import Stack
from benchmark.types import Problem

PROBED_ROWS = 256
"""Number of training rows used to time a step."""
COUPLED = 1.4
"""Relative time of a perceptron's step that also evaluates another's batch (measured on BACE)."""
RUN_BYTES = 12_000
"""Approximate size of a nested run without predictions: database rows (6 kB) and Parquet headers."""


@dataclass(frozen=True)
class Cost:
    """Cost of one dataset and split: ``networks`` (shared ones once), CPU ``seconds``, ``bytes`` of predictions."""

    dataset: str
    canonical_seed: int
    cells: int
    retrainings: int
    networks: int
    unshared: int
    seconds: float
    bytes: int
    not_counted: tuple[str, ...]


def costs(cells: Sequence[Planned]) -> list[Cost]:
    """Return the cost of each problem of a grid, timing training steps for a fraction of a second each."""
    by_problem: dict[str, list[Planned]] = {}
    for cell in cells:
        by_problem.setdefault(cell.problem.digest, []).append(cell)
    return [_cost(group) for group in by_problem.values()]


def _cost(cells: Sequence[Planned]) -> Cost:
    problem = cells[0].problem
    networks: dict[Any, tuple[int, float]] = {}  # their number and total training steps
    unshared, not_counted = 0, []
    stacked = find(problem.backbone).stacked
    for cell in cells:
        seeds = cell.key.seeds
        trains = trains_networks(type(cell.method))
        sample, places = draw(problem, cell.key.sampling, seeds[0])
        stack = cell.method.fit(sample) if trains else None
        if not isinstance(stack, Stack):
            not_counted.append(cell.title)
            continue
        coupled = cell.key.digest if stack.coupling is not None else ""
        for group in stack.groups(places):
            k, rows = group.rows.shape
            count = k * len(seeds)
            unshared += count
            batches = -(-rows // problem.recipe.batch_size) * problem.recipe.epochs
            steps = count * batches * ((COUPLED if stacked else k) if k > 1 else 1)
            networks[coupled, group.data_rows.tobytes(), group.keys, stack.dropout, seeds] = count, steps
    tests = sum(len(test) for test in problem.evals.values())
    retrainings = sum(len(cell.key.seeds) for cell in cells)
    row = 24 + 4 * problem.n_outputs  # id, label, outputs
    return Cost(
        dataset=problem.name,
        canonical_seed=problem.canonical_seed,
        cells=len(cells),
        retrainings=retrainings,
        networks=sum(count for count, _ in networks.values()),
        unshared=unshared,
        seconds=sum(steps for _, steps in networks.values()) * seconds_per_step(problem) if networks else 0.0,
        bytes=retrainings * (tests * row + RUN_BYTES),
        not_counted=tuple(not_counted),
    )


def seconds_per_step(problem: Problem) -> float:
    """Measure the CPU seconds of one training step of one network of ``problem`` on this machine."""
    recipe = problem.recipe.model_copy(update={"epochs": 2})
    fast = find(problem.backbone).stacked
    count = 8 if fast else 1
    rows = np.arange(len(problem.train))[: PROBED_ROWS if fast else recipe.batch_size]
    rule = Rule(problem.task, recipe, problem.n_outputs, 0.0, problem.backbone)
    groups = [Group(rows[None], ((0, m),), rows) for m in range(count)]
    seconds = []
    for _ in range(3):  # the first is a warm-up
        start = time.process_time()
        with one_thread():
            list(train(problem.train.x[rows], problem.train.y[rows], groups, rule))
        seconds.append(time.process_time() - start)
    return min(seconds) / (-(-len(rows) // recipe.batch_size) * recipe.epochs * count)
