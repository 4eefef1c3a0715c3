"""The harness: a plan of cells → blocks of train seeds on worker processes → finished or failed cells."""

from __future__ import annotations

import hashlib
import inspect
import os
import shlex
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

import benchmark.train
from benchmark import registry
from benchmark.provenance import about
from benchmark.types import Cell, CellKey, Method, Predictions, Problem


@dataclass(frozen=True)
class Planned:
    """A cell to be filled."""

    key: CellKey
    problem: Problem
    method: Method

    @property
    def title(self) -> str:
        return registry.title(self.method, self.problem.task)

    @property
    def command(self) -> str:
        """The command line that fills this cell."""
        spelled = registry.spelled(self.method, self.problem.task)
        return (
            f"python -m benchmark run --method {spelled} --dataset {shlex.quote(self.problem.spec.spelled)} "
            f"--canonical-seed {self.key.canonical_seed} --seeds {spell_seeds(self.key.seeds)}"
        )


@dataclass(frozen=True)
class Failed:
    """A cell that could not be filled, with the traceback that says why."""

    planned: Planned
    reason: str


@dataclass(frozen=True)
class _Block:
    """What a worker sends back: predictions of some train seeds on each test set, or a traceback."""

    values: dict[str, np.ndarray]
    cpu_seconds: float
    wall_seconds: float
    error: str = ""


def spell_seeds(seeds: Sequence[int]) -> str:
    """``1-10`` for consecutive seeds, else ``1,3,5``."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")


def code_fingerprint(method: Method) -> str:
    """16 hex digits that change with the source of the training package or of the method's own file."""
    files = [*sorted(Path(benchmark.train.__path__[0]).glob("*.py")), Path(inspect.getfile(type(method)))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def plan(problem: Problem, method: Method, seeds: Sequence[int]) -> Planned:
    """The cell of one method on one problem, named by everything its predictions depend on."""
    key = CellKey(
        dataset=problem.spec.name,
        method=method.name,
        params=registry.params(method),
        canonical_seed=problem.canonical_seed,
        seeds=tuple(sorted(seeds)),
        problem=problem.fingerprint,
        code=code_fingerprint(method),
    )
    return Planned(key, problem, method)


def run(cells: Sequence[Planned], jobs: int | None = None) -> Iterator[tuple[Planned, Cell | Failed | int]]:
    """Fill ``cells`` on ``jobs`` worker processes (default: one per core) and yield what is done as it is done.

    Yields (planned, number of train seeds just trained), and, once all seeds of a cell are trained,
    (planned, Cell) or (planned, Failed). A cell that fails never stops another.
    """
    jobs = jobs or os.cpu_count() or 1
    work = [(i, block) for i, cell in enumerate(cells) for block in _blocks(cell.key.seeds, jobs)]
    done: dict[int, dict[tuple[int, ...], _Block]] = {i: {} for i in range(len(cells))}
    tasks = [(i, cells[i].problem, cells[i].method, block) for i, block in work]
    for i, block, result in _parallel(tasks, jobs):
        cell = cells[i]
        done[i][block] = result
        yield cell, len(block)
        if sum(map(len, done[i])) == len(cell.key.seeds):
            yield cell, _assemble(cell, done.pop(i))


_Task = tuple[int, Problem, Method, tuple[int, ...]]


def _parallel(tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[int, tuple[int, ...], _Block]]:
    """``_work`` on worker processes. If one dies (out of memory, say), what is left is tried block by block."""

    def start(some: Sequence[_Task], n: int) -> Iterator[tuple[int, tuple[int, ...], _Block]]:
        pool = Parallel(n_jobs=n, return_as="generator_unordered", inner_max_num_threads=1, backend="loky")
        return pool(delayed(_work)(*task) for task in some)

    left = {(task[0], task[3]): task for task in tasks}
    try:
        for i, block, result in start(tasks, jobs):
            del left[i, block]
            yield i, block, result
    except TerminatedWorkerError:
        for (i, block), task in left.items():
            try:
                yield from start([task], 2)  # 2: with one, joblib would work in this process
            except TerminatedWorkerError:
                died = f"the worker process died on train seeds {block}: out of memory, or a crash in native code"
                yield i, block, _Block({}, 0.0, 0.0, died)


def _blocks(seeds: tuple[int, ...], jobs: int) -> list[tuple[int, ...]]:
    """The seeds of a cell in a few blocks per worker, so that all workers end at about the same time."""
    count = min(len(seeds), 2 * jobs)
    return [tuple(map(int, block)) for block in np.array_split(seeds, count)]


def _work(i: int, problem: Problem, method: Method, seeds: tuple[int, ...]) -> tuple[int, tuple[int, ...], _Block]:
    """Train and predict some seeds of cell ``i``; runs in a worker process."""
    try:
        start, wall = time.process_time(), time.perf_counter()
        fitted = method.fit(problem.without_tests(), list(seeds))
        seconds, wall = time.process_time() - start, time.perf_counter() - wall
        values = {evalset: np.asarray(fitted.predict(test.x)) for evalset, test in problem.evals.items()}
        for evalset in problem.evals:
            Predictions.of(problem, evalset, seeds, values[evalset])  # checks
        return i, seeds, _Block({k: v.astype(np.float32) for k, v in values.items()}, seconds, wall)
    except (Exception, SystemExit):
        return i, seeds, _Block({}, 0.0, 0.0, traceback.format_exc())


def _assemble(cell: Planned, blocks: dict[tuple[int, ...], _Block]) -> Cell | Failed:
    """The cell from its blocks, in the order of its seeds."""
    ordered = [blocks[block] for block in sorted(blocks, key=lambda block: cell.key.seeds.index(block[0]))]
    errors = [block.error for block in ordered if block.error]
    if errors:
        return Failed(cell, errors[0])
    try:
        predictions = {
            evalset: Predictions.of(
                cell.problem, evalset, cell.key.seeds, np.concatenate([block.values[evalset] for block in ordered])
            )
            for evalset in cell.problem.evals
        }
    except ValueError:
        return Failed(cell, traceback.format_exc())
    seconds = sum(block.cpu_seconds for block in ordered) / len(cell.key.seeds)
    wall = sum(block.wall_seconds for block in ordered)
    provenance = about(cell.problem, cell.command) | {"wall_seconds": f"{wall:.1f}"}
    return Cell(cell.key, cell.title, predictions, seconds, provenance)
