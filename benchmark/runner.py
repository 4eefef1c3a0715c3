"""The harness: a plan of cells → blocks of train seeds on worker processes → finished or failed cells."""

from __future__ import annotations

import hashlib
import inspect
import os
import shlex
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from benchmark import registry
from benchmark.provenance import about
from benchmark.train import bank
from benchmark.train.stack import Stack
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
    seconds: float
    """CPU seconds of training one seed, shared networks included."""
    error: str = ""


def spell_seeds(seeds: Sequence[int]) -> str:
    """``1-10`` for consecutive seeds, else ``1,3,5``."""
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")


def code_fingerprint(method: Method) -> str:
    """16 hex digits that change with the source of the training package or of the method's own file."""
    own = Path(inspect.getfile(type(method))).read_bytes()
    return hashlib.sha256(bank.code().encode() + own).hexdigest()[:16]


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


def run(
    cells: Sequence[Planned], jobs: int | None = None, *, fresh: bool = False
) -> Iterator[tuple[Planned, Cell | Failed | int]]:
    """Fill ``cells`` on ``jobs`` worker processes (default: one per core) and yield what is done as it is done.

    Yields (planned, number of train seeds just trained), and, once all seeds of a cell are trained,
    (planned, Cell) or (planned, Failed). A cell that fails never stops another. Networks that cells share are
    trained once, and taken from the cache unless ``fresh``.
    """
    jobs = jobs or os.cpu_count() or 1
    done: dict[int, dict[tuple[int, ...], _Block]] = {i: {} for i in range(len(cells))}
    for seeds, results in _parallel(_units(cells, jobs, fresh), jobs):
        for i, result in results.items():
            cell = cells[i]
            done[i][seeds] = result
            yield cell, len(seeds)
            if sum(map(len, done[i])) == len(cell.key.seeds):
                yield cell, _assemble(cell, done.pop(i))


@dataclass(frozen=True)
class _Unit:
    """The work of one worker at a time: some train seeds of all methods on one problem, which may share networks."""

    problem: Problem
    methods: dict[int, Method]
    """By the number of the cell."""
    seeds: tuple[int, ...]
    fresh: bool


def _units(cells: Sequence[Planned], jobs: int, fresh: bool) -> list[_Unit]:
    alike: dict[tuple[str, int, tuple[int, ...]], list[int]] = {}
    for i, cell in enumerate(cells):
        alike.setdefault((cell.key.problem, id(cell.problem), cell.key.seeds), []).append(i)
    return [
        _Unit(cells[some[0]].problem, {i: cells[i].method for i in some}, block, fresh)
        for (_, _, seeds), some in alike.items()
        for block in _blocks(seeds, jobs)
    ]


_Results = tuple[tuple[int, ...], dict[int, _Block]]


def _parallel(units: Sequence[_Unit], jobs: int) -> Iterator[_Results]:
    """``_work`` on worker processes. If one dies (out of memory, say), what is left is tried method by method."""

    def start(some: Sequence[_Unit], n: int) -> Iterator[tuple[int, _Results]]:
        pool = Parallel(n_jobs=n, return_as="generator_unordered", inner_max_num_threads=1, backend="loky")
        return pool(delayed(_work)(number, unit) for number, unit in enumerate(some))

    left = dict(enumerate(units))
    try:
        for number, results in start(units, jobs):
            del left[number]
            yield results
    except TerminatedWorkerError:
        for unit in left.values():
            for i, method in unit.methods.items():
                try:
                    alone = replace(unit, methods={i: method})
                    yield from (results for _, results in start([alone], 2))  # 2: with one, joblib would work here
                except TerminatedWorkerError:
                    died = (
                        f"the worker process died on train seeds {unit.seeds}: out of memory, or a crash in native code"
                    )
                    yield unit.seeds, {i: _Block({}, 0.0, died)}


def _blocks(seeds: tuple[int, ...], jobs: int) -> list[tuple[int, ...]]:
    """The seeds of a cell in a few blocks per worker, so that all workers end at about the same time."""
    count = min(len(seeds), 2 * jobs)
    return [tuple(map(int, block)) for block in np.array_split(seeds, count)]


def _work(number: int, unit: _Unit) -> tuple[int, _Results]:
    """Train and predict; runs in a worker process."""
    tests = {evalset: test.x for evalset, test in unit.problem.evals.items()}
    results: dict[int, _Block] = {}
    stacks: dict[int, Stack] = {}
    for i, method in unit.methods.items():
        try:
            start = time.process_time()
            fitted = method.fit(unit.problem.without_tests(), list(unit.seeds))
            seconds = time.process_time() - start
            if isinstance(fitted, Stack):
                stacks[i] = fitted
            else:
                values = {evalset: np.asarray(fitted.predict(x)) for evalset, x in tests.items()}
                results[i] = _checked(unit, values, seconds / len(unit.seeds))
        except (Exception, SystemExit):
            results[i] = _Block({}, 0.0, traceback.format_exc())
    together = bank.predict_all(list(stacks.values()), tests, fresh=unit.fresh)
    for i, outcome in zip(stacks, together, strict=True):
        if isinstance(outcome, str):
            results[i] = _Block({}, 0.0, outcome)
        else:
            results[i] = _checked(unit, outcome.values, outcome.seconds)
    return number, (unit.seeds, results)


def _checked(unit: _Unit, values: dict[str, np.ndarray], seconds: float) -> _Block:
    try:
        for evalset in unit.problem.evals:
            Predictions.of(unit.problem, evalset, unit.seeds, values[evalset])
    except Exception:
        return _Block({}, 0.0, traceback.format_exc())
    return _Block({name: value.astype(np.float32) for name, value in values.items()}, seconds)


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
    total = sum(block.seconds * len(seeds) for seeds, block in blocks.items())
    provenance = about(cell.problem, cell.command) | {"wall_seconds": f"{total:.1f}"}
    return Cell(cell.key, cell.title, predictions, total / len(cell.key.seeds), provenance)
