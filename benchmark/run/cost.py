"""Estimate of the cost of a grid before anything is trained."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.errors import UserError, located
from benchmark.pipeline import Pipeline
from benchmark.run.runner import Planned, warm_up
from benchmark.train.resampling import sample_for
from benchmark.types import Problem, Sample

FEW_ROWS = (256, 1024)
"""Least and most rows of the fit from which the time for all rows is extrapolated, half of them between the two."""
RUN_SECONDS = 0.03
"""Approximate CPU seconds to record one retraining (measured with a local store)."""
RUN_BYTES = 9_000
"""Approximate size of a nested run, and of its share of the cell's: database rows, ids and headers of files."""


@dataclass(frozen=True)
class Cost:
    """Cost of one dataset and split: about as many CPU ``seconds`` and ``bytes`` of predictions.

    A network that methods share counts for each of them.
    """

    dataset: str
    canonical_seed: int
    cells: int
    retrainings: int
    seconds: float
    bytes: int


def costs(cells: Sequence[Planned], ratios: dict[tuple[str, ...], float] | None = None) -> Iterator[Cost]:
    """Yield the cost of each dataset and split of a grid, timing fits to some of the rows.

    Networks whose settings are chosen in each sample are timed with and without that on the first dataset, and without
    it on the others: choosing takes about as many epochs on each. Several calls may share the ``ratios``. Raises
    UserError for a method that fails on few rows.
    """
    by_split: dict[tuple[str, int], list[Planned]] = {}
    for cell in cells:
        by_split.setdefault((cell.key.dataset, cell.key.canonical_seed), []).append(cell)
    ratios = {} if ratios is None else ratios
    for (dataset, canonical_seed), group in by_split.items():
        problem, retrainings, seconds = group[0].problem, 0, 0.0
        for cell in group:
            sample, _ = sample_for(cell.problem, cell.key.sampling, cell.key.seeds[0])
            retrainings += len(cell.key.seeds)
            try:
                untuned = plain(cell.method)
                fit = seconds_per_fit(untuned, sample, cell.problem)
                if untuned is not cell.method:
                    alike = str(cell.method), str(cell.problem.task), repr(cell.problem.recipe)
                    if alike not in ratios:
                        ratios[alike] = timed(cell.method, sample, cell.problem) / timed(untuned, sample, cell.problem)
                    fit *= ratios[alike]
                seconds += len(cell.key.seeds) * (fit + RUN_SECONDS)
            except (Exception, SystemExit) as error:  # any code may be in a method
                raise UserError(
                    f"{cell.title} on {cell.key.place} fails on {FEW_ROWS[1]:,} or fewer rows, so that its cost cannot "
                    f"be estimated: {located(error)}: correct the method, or leave it out"
                ) from error
        tests = sum(len(test) for test in problem.evals.values())
        size = retrainings * (4 * tests * problem.n_outputs + RUN_BYTES)
        yield Cost(dataset, canonical_seed, len(group), retrainings, seconds, size)


def plain(method: Pipeline) -> Pipeline:
    """Return a method that trains networks without the choice of its settings in each sample; others as they are."""
    if method.tune not in ("best", "one-se") or not method.reading.recipe:
        return method
    return Pipeline(method.remedy, method.learner, method.chosen, method.features)


def seconds_per_fit(method: Pipeline, sample: Sample, problem: Problem) -> float:
    """Measure the CPU seconds in which ``method`` is fitted to half of ``sample``, within ``FEW_ROWS``, and predicts.

    They are extrapolated by the power of the number of rows that a fit to half of those shows, from 0.5 to 3. A sample
    of at most ``FEW_ROWS[0]`` rows is timed whole.
    """
    rows = len(sample.rows)
    more = min(rows, int(np.clip(rows // 2, *FEW_ROWS)))
    warm_up(method, sample)
    most = timed(method, sample, problem, more)
    if more == rows:
        return most
    power = float(np.clip(np.log2(most / timed(method, sample, problem, more // 2)), 0.5, 3))
    return most * (rows / more) ** power


def timed(method: Pipeline, sample: Sample, problem: Problem, n: int = FEW_ROWS[0]) -> float:
    """Return the CPU seconds in which ``method`` is fitted to ``n`` rows of ``sample``, or all, and predicts."""
    chosen = np.random.default_rng(0).permutation(len(sample.rows))[:n]
    part = replace(sample, rows=sample.rows[chosen], bootstrap_pool=sample.rows[chosen])
    start = time.process_time()
    model = method.fit(part)
    for test in problem.evals.values():
        model.predict(test.inputs)
    return max(time.process_time() - start, 1e-6)
