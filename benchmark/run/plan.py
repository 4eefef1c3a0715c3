"""Estimate of the cost of a grid before anything is trained."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmark.registry import trains_networks
from benchmark.run.runner import Planned, fit
from benchmark.train.backbone import find
from benchmark.train.group import Group, Rule
from benchmark.train.loop import one_thread, train
from benchmark.train.resampling import draw
from benchmark.train.stack import Stack
from benchmark.types import Method, Problem, Sample

PROBED_ROWS = 256
"""Number of training rows used to time a step."""
PROBED_EPOCHS = (1, 5)
"""Numbers of epochs whose difference in time is that of the steps between them."""
COUPLED = 2.2
"""Relative time of a perceptron's step that also evaluates another's batch (median of 40 datasets: 2.2)."""
FEW_ROWS = (128, 256)
"""Numbers of training rows that a method without networks is fitted to, to estimate the time for all rows."""
RUN_SECONDS = 0.06
"""Approximate CPU seconds to record one retraining (measured with a local store)."""
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


def costs(cells: Sequence[Planned]) -> list[Cost]:
    """Return the cost of each problem of a grid, timing some training steps, and fits of other methods to few rows."""
    by_problem: dict[str, list[Planned]] = {}
    for cell in cells:
        by_problem.setdefault(cell.problem.digest, []).append(cell)
    return [_cost(group) for group in by_problem.values()]


def _cost(cells: Sequence[Planned]) -> Cost:
    problem = cells[0].problem
    networks: dict[Any, tuple[int, float]] = {}  # their number and total training steps
    unshared, others = 0, 0.0
    stacked = find(problem.backbone).stacked
    for cell in cells:
        seeds = cell.key.seeds
        trains = trains_networks(type(cell.method))
        sample, places = draw(problem, cell.key.sampling, seeds[0])
        stack = cell.method.fit(sample) if trains else None
        if not isinstance(stack, Stack):
            others += len(seeds) * seconds_per_fit(cell.method, sample, problem)
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
    steps = sum(steps for _, steps in networks.values())
    trained = steps * seconds_per_step(problem) if networks else 0.0
    row = 24 + 4 * problem.n_outputs  # id, label, outputs
    return Cost(
        dataset=problem.name,
        canonical_seed=problem.canonical_seed,
        cells=len(cells),
        retrainings=retrainings,
        networks=sum(count for count, _ in networks.values()),
        unshared=unshared,
        seconds=trained + others + retrainings * RUN_SECONDS,
        bytes=retrainings * (tests * row + RUN_BYTES),
    )


def seconds_per_fit(method: Method, sample: Sample, problem: Problem) -> float:
    """Measure the CPU seconds in which ``method`` is fitted to few rows of ``sample`` and predicts, and extrapolate.

    The time is taken to grow as a power of the number of rows, between the first and the third.
    """
    few, more = (min(n, len(sample.rows)) for n in FEW_ROWS)
    tests = [test.x for test in problem.evals.values()]

    def seconds(n: int) -> float:
        chosen = np.random.default_rng(0).permutation(len(sample.rows))[:n]
        part = replace(sample, rows=sample.rows[chosen])
        start = time.process_time()
        fitted = fit(method, part)
        for x in tests:
            fitted.predict(x)
        return max(time.process_time() - start, 1e-6)

    seconds(min(few, 32))  # imports
    most = seconds(more)
    if more == len(sample.rows):
        return most
    power = float(np.clip(np.log(most / seconds(few)) / np.log(more / few), 1, 3))
    return most * (len(sample.rows) / more) ** power


def seconds_per_step(problem: Problem) -> float:
    """Measure the CPU seconds of one training step of one network of ``problem`` on this machine.

    What is done once, before the first epoch, is not counted: it is the difference of a longer and a shorter training.
    """
    fast = find(problem.backbone).stacked
    count = 8 if fast else 1
    rows = np.arange(len(problem.train))[: PROBED_ROWS if fast else problem.recipe.batch_size]
    groups = [Group(rows[None], ((0, m),), rows) for m in range(count)]

    def seconds(epochs: int) -> float:
        recipe = problem.recipe.model_copy(update={"epochs": epochs})
        rule = Rule(problem.task, recipe, problem.n_outputs, 0.0, problem.backbone)
        start = time.process_time()
        with one_thread():
            list(train(problem.train.x[rows], problem.train.y[rows], groups, rule))
        return time.process_time() - start

    short, long = PROBED_EPOCHS
    seconds(short)  # a warm-up
    difference = min(seconds(long) for _ in range(2)) - min(seconds(short) for _ in range(2))
    return max(difference, 1e-6) / (-(-len(rows) // problem.recipe.batch_size) * (long - short) * count)
