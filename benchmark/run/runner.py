"""The harness: planned cells → blocks of train seeds on worker processes → finished or failed cells."""

import hashlib
import json
import os
import re
import shlex
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from benchmark import registry
from benchmark.data.problem import read_with
from benchmark.files import cache_folder, read_arrays, write_arrays
from benchmark.pipeline import Pipeline
from benchmark.run.cluster import spread
from benchmark.run.provenance import LIBRARIES, facts_of
from benchmark.run.revisions import code_of
from benchmark.store.cell import Cell, CellKey
from benchmark.train.device import CPU
from benchmark.train.learner import installed
from benchmark.train.resampling import sample_for
from benchmark.types import PAPER, Model, Predictions, Problem, Sample, Sampling

if TYPE_CHECKING:  # imports PyTorch
    from benchmark.train.loop import Shared

WARM = 16
"""Rows from each end of the sorted labels for a first fit, which nobody is charged for."""


@dataclass(frozen=True)
class Planned:
    """A cell to be trained; ``dataset`` is the dataset's name on the command line."""

    key: CellKey
    problem: Problem
    method: Pipeline
    dataset: str

    @property
    def title(self) -> str:
        """Title of the method with its hyperparameters."""
        return registry.title(self.method, self.problem.task)

    @property
    def command(self) -> str:
        """Command line that trains this cell."""
        about = self.problem.task, self.problem.backbone, self.key.sampling
        spelled = shlex.quote(registry.spelled(self.method, *about))
        return (
            f"churn run --method {spelled}"
            + (f" --learner {shlex.quote(self.key.learner)}" if self.key.learner else "")
            + (f" --features {self.key.features}" if self.key.features else "")
            + f" --dataset {shlex.quote(self.dataset)} "
            f"--canonical-seed {self.key.canonical_seed} --seeds {self.key.spelled_seeds}"
            + (f" --sampling {self.key.sampling}" if self.key.sampling != PAPER else "")
            + (f" --device {self.key.device}" if self.key.device != CPU else "")
        )


@dataclass(frozen=True)
class Failed:
    """A cell that could not be trained, with the traceback."""

    planned: Planned
    reason: str

    @property
    def title(self) -> str:
        """Title of the cell with its dataset and split."""
        return f"{self.planned.title} on {self.planned.key.dataset}, split {self.planned.key.canonical_seed}"

    @property
    def error(self) -> str:
        """First line of the error, without the traceback."""
        named = re.findall(r"^(?:[\w.]+: .*|[\w.]*(?:Error|Exception|Exit))$", self.reason, flags=re.MULTILINE)
        return str([*self.reason.strip().splitlines(), *named][-1])


@dataclass(frozen=True)
class _Block:
    """Result from a worker: predictions of some train seeds on each test set, or a traceback."""

    values: dict[str, np.ndarray]
    seconds: tuple[float, ...]
    """CPU seconds of each train seed, including shared networks."""
    error: str = ""
    rows_seen: float = np.nan
    """Share of the pool's rows that a predictor was trained on, averaged over the train seeds; nan if unknown."""


def plan(
    problem: Problem,
    method: Pipeline,
    seeds: Sequence[int],
    device: str = CPU,
    dataset: str = "",
    sampling: Sampling = PAPER,
) -> Planned:
    """Return the cell of one method on one problem, keyed by everything its predictions depend on.

    ``dataset`` is the dataset's name on the command line, if it differs from its own.
    """
    task, own = problem.task, "+".join(method.features) if method.features != method.learner.features else ""
    key = CellKey(
        dataset=problem.name,
        method=method.name,
        params=method.head.params,
        canonical_seed=problem.canonical_seed,
        seeds=tuple(sorted(seeds)),
        problem=problem.fingerprint,
        code=code_of(method, sampling),
        device=device,
        sampling=sampling,
        learner=registry.learner_of(method, task),
        features=own.replace(":", "."),
    )
    read = read_with(method.reading, problem, dataset) if dataset else problem
    return Planned(key, read, method, dataset or problem.name)


def run(
    cells: Sequence[Planned], jobs: int | None = None, *, fresh: bool = False, client: Any = None
) -> Iterator[tuple[Planned, Cell | Failed | int]]:
    """Train ``cells`` on ``jobs`` worker processes and yield results as they complete.

    By default there is one worker per core, or a single one for a GPU. With a Dask ``client`` (see
    ``benchmark.run.cluster``), the workers of its cluster are used instead.

    Yields (planned, number of train seeds just trained) and, once all seeds of a cell are trained, (planned, Cell) or
    (planned, Failed). A cell that fails never stops another. Networks shared by cells are trained once. What an
    interrupted call has trained is read from the cache unless ``fresh``.
    """
    default = (os.cpu_count() or 1) if all(cell.key.device == CPU for cell in cells) else 1
    jobs = len(client.ncores()) or 1 if client else jobs or default
    units = _units(cells, jobs, fresh)
    done: dict[int, dict[tuple[int, ...], _Block]] = {i: {} for i in range(len(cells))}
    for seeds, results in spread(client, _work, units, _alone, _died) if client else _parallel(units, jobs):
        for i, result in results.items():
            cell = cells[i]
            done[i][seeds] = result
            yield cell, len(seeds)
            if sum(map(len, done[i])) == len(cell.key.seeds):
                yield cell, _assemble(cell, done.pop(i))


@dataclass(frozen=True)
class _Unit:
    """Work for one worker: some train seeds of all methods on one problem, which may share networks."""

    methods: dict[int, Pipeline]
    """Methods by the number of the cell."""
    names: dict[int, str]
    """Digests of the cells without their train seeds."""
    sampling: Sampling
    seeds: tuple[int, ...]
    fresh: bool
    device: str


_Units = list[tuple[Problem, _Unit]]
_Results = tuple[tuple[int, ...], dict[int, _Block]]
"""Seeds of a unit, and its blocks by cell."""


def _units(cells: Sequence[Planned], jobs: int, fresh: bool) -> _Units:
    alike: dict[tuple[str, Sampling, tuple[int, ...], str], list[int]] = {}
    for i, cell in enumerate(cells):
        alike.setdefault((cell.problem.digest, cell.key.sampling, cell.key.seeds, cell.key.device), []).append(i)
    units = []
    for (_, sampling, seeds, device), group in alike.items():
        methods = {i: cells[i].method for i in group}
        names = {i: replace(cells[i].key, seeds=()).digest for i in group}
        for block in _blocks(seeds, jobs):
            units.append((cells[group[0]].problem, _Unit(methods, names, sampling, block, fresh, device)))
    return units


def _alone(unit: _Unit) -> list[_Unit]:
    """Split a unit by method, to isolate the one that kills its worker."""
    return [replace(unit, methods={i: method}) for i, method in unit.methods.items()]


def _died(unit: _Unit) -> _Results:
    error = f"the worker process died on train seeds {unit.seeds}: out of memory, or a crash in native code"
    return unit.seeds, {i: _Block({}, (), error) for i in unit.methods}


def _parallel(units: _Units, jobs: int) -> Iterator[_Results]:
    """Run ``_work`` on worker processes; if one dies (of lack of memory, say), try the remaining methods one by one."""

    def start(units: _Units, n: int) -> Iterator[_Results]:
        pool = Parallel(n_jobs=n, return_as="generator_unordered", inner_max_num_threads=1, backend="loky")
        return pool(delayed(_work)(problem, unit) for problem, unit in units)

    left = {(unit.seeds, min(unit.methods)): (problem, unit) for problem, unit in units}
    try:
        for seeds, blocks in start(units, jobs):
            del left[seeds, min(blocks)]
            yield seeds, blocks
    except TerminatedWorkerError:
        for problem, unit in left.values():
            for part in _alone(unit):
                try:  # two jobs, as joblib would run a single one in this process
                    yield from start([(problem, part)], 2)
                except TerminatedWorkerError:
                    yield _died(part)


def _blocks(seeds: tuple[int, ...], jobs: int) -> list[tuple[int, ...]]:
    """Split the seeds of a cell into up to two blocks per worker, so that all workers finish at about the same time."""
    count = min(len(seeds), 2 * jobs)
    return [tuple(map(int, block)) for block in np.array_split(seeds, count)]


def fit(method: Pipeline, sample: Sample) -> Model:
    """Fit ``method`` to ``sample``. Raises TypeError if the result cannot predict."""
    model = method.fit(sample)
    if not hasattr(model, "predict"):
        raise TypeError(
            f"fit of method {method.name!r} returned {model!r}: expected an object with predict(inputs), such as the "
            "result of learner.fit(sample); is a return statement missing?"
        )
    return model


def retrain(
    method: Pipeline, problem: Problem, seeds: Sequence[int], sampling: Sampling = PAPER
) -> dict[str, Predictions]:
    """Retrain ``method`` in this process and return its predictions for the test sets of ``problem``.

    Raises RuntimeError with the traceback if training fails.
    """
    block = _work(problem, _Unit({0: method}, {0: ""}, sampling, tuple(seeds), True, CPU))[1][0]
    if block.error:
        raise RuntimeError(block.error)
    return {name: Predictions.of(problem, name, tuple(seeds), block.values[name], sampling) for name in problem.evals}


def _work(problem: Problem, unit: _Unit) -> _Results:
    """Train and predict, one train seed after another, with all methods at each."""
    from benchmark.train.loop import sharing  # PyTorch is slow to import, and not every command trains

    done: dict[int, list[_Block]] = {i: [] for i in unit.methods}
    errors: dict[int, _Block] = {}
    for seed in unit.seeds:
        sample, _ = sample_for(problem, unit.sampling, seed, unit.device)
        with sharing() as shared:
            for i in sorted(unit.methods, key=lambda i: not unit.methods[i].remedy.fits_first):
                if i in errors:
                    continue
                path = _path(unit, i, seed)
                block = None if unit.fresh else _load(path)
                if block is None:
                    block = _retrained(unit.methods[i], problem, sample, shared)
                    if block.error:
                        errors[i] = block
                    elif unit.names[i]:
                        numbers = {"seconds": np.array(block.seconds[0]), "rows_seen": np.array(block.rows_seen)}
                        write_arrays(path, block.values | numbers)
                done[i].append(block)
    return unit.seeds, {i: errors.get(i) or _joined(problem, unit.seeds, blocks) for i, blocks in done.items()}


def _retrained(method: Pipeline, problem: Problem, sample: Sample, shared: "Shared") -> _Block:
    """Return the predictions of one retraining (1, T, C) on each test set, or the traceback of what failed."""
    try:
        _warm_up(method, sample)
        saved, start = shared.saved, time.process_time()
        model = fit(method, sample)
        seconds = time.process_time() - start + shared.saved - saved
        values = {name: np.asarray(model.predict(test.inputs))[None] for name, test in problem.evals.items()}
        for name, value in values.items():
            Predictions.of(problem, name, (sample.seed,), value)
        seen = len(np.unique(model.rows)) / len(problem.train) if hasattr(model, "rows") else np.nan
        return _Block({name: value.astype(np.float32) for name, value in values.items()}, (seconds,), rows_seen=seen)
    except (Exception, SystemExit):
        return _Block({}, (), traceback.format_exc())


def _joined(problem: Problem, seeds: tuple[int, ...], blocks: Sequence[_Block]) -> _Block:
    """Return one block of all seeds."""
    values = {name: np.concatenate([block.values[name] for block in blocks]) for name in problem.evals}
    seconds = tuple(one for block in blocks for one in block.seconds)
    return _Block(values, seconds, rows_seen=float(np.mean([block.rows_seen for block in blocks])))


_warm: set[tuple[object, ...]] = set()
"""The kinds of fits that this process has done."""


def _warm_up(method: Pipeline, sample: Sample) -> None:
    """Fit to a few rows before the first fit of its kind, so that none is charged for imports and compilers."""
    bits = bool(((sample.x == 0) | (sample.x == 1)).all())
    kind = type(method.remedy), type(method.learner), sample.task, bits, sample.device
    if kind in _warm:
        return
    _warm.add(kind)
    from benchmark.train.loop import sharing

    order = np.argsort(sample.y[sample.rows], kind="stable")
    rows = sample.rows[np.concatenate([order[:WARM], order[-WARM:]])]
    recipe = sample.recipe.model_copy(update={"epochs": 1})
    with suppress(Exception, SystemExit), sharing():  # an error is raised again by the fit itself, and reported
        fit(method, replace(sample, rows=rows, bootstrap_pool=rows, recipe=recipe)).predict(sample.inputs[:2])


def _path(unit: _Unit, i: int, seed: int) -> Path:
    """Return the path of the cached predictions of a retraining of cell ``i``."""
    versions = {library: installed(library) for library in LIBRARIES}
    key = hashlib.sha256(json.dumps([unit.names[i], seed, versions]).encode()).hexdigest()
    return cache_folder() / "retrainings" / key[:2] / key


def _load(path: Path) -> _Block | None:
    stored = read_arrays(path)
    if stored is None:
        return None
    seconds, seen = (float(stored.pop(name)) for name in ("seconds", "rows_seen"))
    return _Block(stored, (seconds,), rows_seen=seen)


def _assemble(cell: Planned, blocks: dict[tuple[int, ...], _Block]) -> Cell | Failed:
    """Join the blocks of a cell in the order of its seeds."""
    ordered = [blocks[block] for block in sorted(blocks, key=lambda block: cell.key.seeds.index(block[0]))]
    errors = [block.error for block in ordered if block.error]
    if errors:
        return Failed(cell, errors[0])
    try:
        values = {name: np.concatenate([block.values[name] for block in ordered]) for name in cell.problem.evals}
        predictions = {
            name: Predictions.of(cell.problem, name, cell.key.seeds, v, cell.key.sampling) for name, v in values.items()
        }
    except ValueError:
        return Failed(cell, traceback.format_exc())
    seen = sum(block.rows_seen * len(seeds) for seeds, block in blocks.items())
    seconds = [one for block in ordered for one in block.seconds]
    changes = {
        "wall_seconds": round(sum(seconds), 1),
        "control": cell.method.remedy.control,
        "rows_seen": None if np.isnan(seen) else round(seen / len(cell.key.seeds), 4),
    }
    facts = facts_of(cell.problem, cell.command, cell.key.device).model_copy(update=changes)
    return Cell(cell.key, cell.title, predictions, float(np.median(seconds)), facts)
