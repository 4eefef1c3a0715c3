"""Estimate of the cost of a grid before anything is trained."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.errors import UserError, located
from benchmark.pipeline import Pipeline
from benchmark.run.runner import Planned
from benchmark.train.resampling import sample_for
from benchmark.types import Problem, Sample

FEW_ROWS = (128, 256)
"""Numbers of training rows that a method is fitted to, to estimate the time for all rows."""
RUN_SECONDS = 0.03
"""Approximate CPU seconds to record one retraining (measured with a local store)."""
RUN_BYTES = 9_000
"""Approximate size of a nested run, and of its share of the cell's: database rows, ids and headers of files."""


@dataclass(frozen=True)
class Cost:
    """Cost of one dataset and split: CPU ``seconds``, at most, and ``bytes`` of predictions."""

    dataset: str
    canonical_seed: int
    cells: int
    retrainings: int
    seconds: float
    bytes: int


def costs(cells: Sequence[Planned]) -> list[Cost]:
    """Return the cost of each dataset and split of a grid, timing fits to few rows.

    Networks that methods share are counted for each of them. Raises UserError for a method that fails on few rows.
    """
    by_split: dict[tuple[str, int], list[Planned]] = {}
    for cell in cells:
        by_split.setdefault((cell.key.dataset, cell.key.canonical_seed), []).append(cell)
    found = []
    for (dataset, canonical_seed), group in by_split.items():
        problem, retrainings, seconds = group[0].problem, 0, 0.0
        for cell in group:
            sample, _ = sample_for(cell.problem, cell.key.sampling, cell.key.seeds[0])
            retrainings += len(cell.key.seeds)
            try:
                seconds += len(cell.key.seeds) * (seconds_per_fit(cell.method, sample, cell.problem) + RUN_SECONDS)
            except (Exception, SystemExit) as error:  # any code may be in a method
                raise UserError(
                    f"{cell.title} on {cell.key.place}: fails on {FEW_ROWS[1]} or fewer rows, so that its cost cannot "
                    f"be estimated: {located(error)}: correct the method, or leave it out"
                ) from error
        tests = sum(len(test) for test in problem.evals.values())
        size = retrainings * (4 * tests * problem.n_outputs + RUN_BYTES)
        found.append(Cost(dataset, canonical_seed, len(group), retrainings, seconds, size))
    return found


def seconds_per_fit(method: Pipeline, sample: Sample, problem: Problem) -> float:
    """Measure the CPU seconds in which ``method`` is fitted to few rows of ``sample`` and predicts, and extrapolate.

    The time is taken to grow as a power of the number of rows, between the first and the third.
    """
    few, more = (min(n, len(sample.rows)) for n in FEW_ROWS)
    tests = [test.inputs for test in problem.evals.values()]

    def seconds(n: int) -> float:
        chosen = np.random.default_rng(0).permutation(len(sample.rows))[:n]
        part = replace(sample, rows=sample.rows[chosen], bootstrap_pool=sample.rows[chosen])
        start = time.process_time()
        model = method.fit(part)
        for inputs in tests:
            model.predict(inputs)
        return max(time.process_time() - start, 1e-6)

    seconds(few)  # imports
    most = seconds(more)
    if more == len(sample.rows):
        return most
    power = float(np.clip(np.log(most / seconds(few)) / np.log(more / few), 1, 3))
    return most * (len(sample.rows) / more) ** power
