"""The harness: planned cells → blocks of train seeds on worker processes → finished or failed cells."""

import hashlib
import json
import re
import shlex
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from benchmark import registry
from benchmark.data.problem import read_with, refuse_reading
from benchmark.errors import UserError, encodable
from benchmark.files import cache_folder, read_arrays, write_arrays
from benchmark.pipeline import Pipeline
from benchmark.run.cluster import spread
from benchmark.run.code import code_of
from benchmark.run.provenance import LIBRARIES, facts_of
from benchmark.run.reads import guarded
from benchmark.store.cell import Cell, CellKey, recordable
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
    """A cell to be trained; ``dataset`` is the dataset's name on the command line, if the problem comes from there."""

    key: CellKey
    base: Problem
    """The problem as its dataset describes it."""
    method: Pipeline
    dataset: str

    @cached_property
    def problem(self) -> Problem:
        """The problem as the method reads it: other features are computed when it is trained, not when planned."""
        return read_with(self.method.reading, self.base, self.dataset) if self.dataset else self.base

    @property
    def title(self) -> str:
        return registry.title(self.method, self.base.task)

    @property
    def command(self) -> str:
        backbone = self.method.reading.learner if self.dataset else self.base.backbone
        key, about = self.key, (self.base.task, backbone, self.key.sampling)
        own = self.base.about.group in ("own", "variant")  # the command line has another default for own data
        words = {
            "--method": shlex.quote(registry.spelled(self.method, *about)),
            "--learner": key.learner and shlex.quote(key.learner),
            "--features": key.features,
            "--tune": key.tune,
            "--dataset": shlex.quote(self.dataset or self.base.name),
            "--canonical-seed": str(key.canonical_seed),
            "--seeds": key.spelled_seeds,
            "--sampling": key.sampling if key.sampling != PAPER or own else "",
            "--device": key.device if key.device != CPU else "",
        }
        return "churn run " + " ".join(f"{option} {value}" for option, value in words.items() if value)


@dataclass(frozen=True)
class Failed:
    """A cell that could not be trained, with the traceback."""

    planned: Planned
    reason: str

    @property
    def title(self) -> str:
        return f"{self.planned.title} on {self.planned.key.place}"

    @property
    def error(self) -> str:
        """First line of the error, without the traceback."""
        kind = r"^(?:  \| )?([\w.]+: .*|[\w.]*(?:Error|Exception|Exit))$"  # a group's own has a bar before it
        named = re.findall(kind, self.reason, flags=re.MULTILINE)
        return str([*self.reason.strip().splitlines(), *named][-1])


_Retraining = dict[str, np.ndarray]
"""Predictions (1, T, C) by test set, CPU ``seconds`` with those of shared networks, and ``rows_seen``, the share of the
pool's rows that the predictor was trained on (nan if unknown)."""


def plan(
    problem: Problem,
    method: Pipeline,
    seeds: Sequence[int],
    device: str = CPU,
    dataset: str = "",
    sampling: Sampling = PAPER,
) -> Planned:
    """Return the cell of one method on one problem, keyed by everything its predictions depend on.

    ``dataset`` is the dataset's name on the command line, if it differs from its own. Raises UserError for a method
    whose hyperparameters or title no store could return, before it is trained.
    """
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
        learner=registry.learner_of(method, problem.task),
        features="+".join(method.own_features).replace(":", "."),
        tune=method.tune,
    )
    if dataset:
        refuse_reading(method.reading, problem.name, dataset)
    try:
        key = recordable(key, registry.title(method, problem.task))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # a title may format fields
        raise UserError(
            f"{method.name} cannot be recorded: {error}: expected hyperparameters that are numbers, words, true, false "
            "or none, and a title of at most 300 visible characters"
        ) from error
    return Planned(key, problem, method, dataset)


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
    default = cpu_count() if all(cell.key.device == CPU for cell in cells) else 1
    jobs = len(client.ncores()) or 1 if client else jobs or default
    units = _units(cells, jobs, fresh)
    done: dict[int, dict[int, _Retraining | str]] = {i: {} for i in range(len(cells))}
    for results in _done(units, partial(spread, client, _work) if client else partial(_locally, jobs=jobs)):
        for i, of_cell in groupby(sorted(results), key=itemgetter(0)):
            trained = {seed: results[i, seed] for _, seed in of_cell}
            done[i] |= trained
            yield cells[i], len(trained)
            if len(done[i]) == len(cells[i].key.seeds):
                yield cells[i], _assemble(cells[i], done.pop(i))


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
_Results = dict[tuple[int, int], _Retraining | str]
"""Retrainings, or tracebacks, by the number of the cell and the train seed."""


def _units(cells: Sequence[Planned], jobs: int, fresh: bool) -> _Units:
    """Return two units for each worker and group of alike cells, so that workers finish at about the same time."""
    alike: dict[tuple[str, Sampling, tuple[int, ...], str], list[int]] = {}
    for i, cell in enumerate(cells):
        alike.setdefault((cell.problem.digest, cell.key.sampling, cell.key.seeds, cell.key.device), []).append(i)
    units = []
    for (_, sampling, seeds, device), group in alike.items():
        methods = {i: cells[i].method for i in group}
        names = {i: replace(cells[i].key, seeds=()).digest for i in group}
        for block in np.array_split(seeds, min(len(seeds), 2 * jobs)):
            unit = _Unit(methods, names, sampling, tuple(block.tolist()), fresh, device)
            units.append((cells[group[0]].problem, unit))
    return units


def _done(units: _Units, attempt: Callable[[_Units], Iterator[_Results]]) -> Iterator[_Results]:
    """Yield the results of ``attempt(units)``; if a worker dies (of lack of memory, say), try methods one by one."""
    left = {(min(unit.methods), min(unit.seeds)): (problem, unit) for problem, unit in units}
    try:
        for results in attempt(units):
            del left[min(results)]
            yield results
    except TerminatedWorkerError:
        for problem, unit in left.values():
            for part in (replace(unit, methods={i: method}) for i, method in unit.methods.items()):
                try:
                    yield from attempt([(problem, part)])
                except TerminatedWorkerError:
                    died = f"the worker process died on train seeds {part.seeds}"
                    error = f"{died}: out of memory, or a crash in native code"
                    yield dict.fromkeys(product(part.methods, part.seeds), error)


def _locally(units: _Units, jobs: int) -> Iterator[_Results]:
    """Do the work in worker processes. Raises TerminatedWorkerError if one of them dies."""
    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", inner_max_num_threads=1, backend="loky")
    return pool(delayed(_work)(problem, unit) for problem, unit in units)


def retrain(
    method: Pipeline, problem: Problem, seeds: Sequence[int], sampling: Sampling = PAPER, device: str = CPU
) -> dict[str, Predictions]:
    """Retrain ``method`` in this process and return its predictions for the test sets of ``problem``.

    Raises RuntimeError with the traceback if training fails.
    """
    results = _work(problem, _Unit({0: method}, {0: ""}, sampling, tuple(seeds), True, device))
    return _joined(problem, tuple(seeds), sampling, _all(results[0, seed] for seed in seeds))


def _all(results: Iterable[_Retraining | str]) -> list[_Retraining]:
    """Return all retrainings. Raises RuntimeError with the first traceback if one failed."""
    retrainings: list[_Retraining] = []
    for result in results:
        if isinstance(result, str):
            raise RuntimeError(result)
        retrainings.append(result)
    return retrainings


def _joined(
    problem: Problem, seeds: tuple[int, ...], sampling: Sampling, retrainings: Sequence[_Retraining]
) -> dict[str, Predictions]:
    values = {name: np.concatenate([retraining[name] for retraining in retrainings]) for name in problem.evals}
    return {name: Predictions.of(problem, name, seeds, value, sampling) for name, value in values.items()}


def _work(problem: Problem, unit: _Unit) -> _Results:
    """Train and predict, one train seed after another, with all methods at each; none after its first error."""
    from benchmark.train.loop import sharing  # PyTorch is slow to import, and not every command trains

    results: _Results = {}
    errors: dict[int, str] = {}
    for seed in unit.seeds:
        sample, _ = sample_for(problem, unit.sampling, seed, unit.device)
        with sharing() as shared:
            for i in sorted(unit.methods, key=lambda i: not unit.methods[i].remedy.fits_first):
                path = _path(unit.names[i], seed)
                result = errors.get(i) or (None if unit.fresh else read_arrays(path))
                if result is None:
                    result = _retrained(unit.methods[i], problem, sample, shared)
                    if isinstance(result, str):
                        errors[i] = result
                    elif unit.names[i]:
                        write_arrays(path, result)
                results[i, seed] = result
    return results


def _retrained(method: Pipeline, problem: Problem, sample: Sample, shared: "Shared") -> _Retraining | str:
    """Return one retraining, or the traceback of what failed."""
    try:
        with guarded(method):
            warm_up(method, sample)
            saved, start = shared.saved, time.process_time()
            model = method.fit(sample)
            seconds = time.process_time() - start + shared.saved - saved
            values = {name: np.asarray(model.predict(test.inputs))[None] for name, test in problem.evals.items()}
        for name, value in values.items():
            if value.dtype.kind in "fiub":  # any other kind is refused as it is
                with np.errstate(over="ignore"):  # a number that no float32 can hold is refused, too
                    values[name] = value.astype(np.float32)
            Predictions.of(problem, name, (sample.seed,), values[name])
        return values | {"seconds": np.array(seconds), "rows_seen": np.array(_share(model, sample, problem))}
    except KeyboardInterrupt:
        raise
    except BaseException:  # exit() raises one, and so do some libraries
        return encodable(traceback.format_exc())


def _share(model: Model, sample: Sample, problem: Problem) -> float:
    """Return the share of the pool's rows that a model says it learned from; nan if it names no rows of its sample."""
    rows = np.asarray(getattr(model, "rows", None))
    if rows.dtype.kind not in "iu" or rows.ndim == 0 or not ((rows >= 0) & (rows < len(sample))).all():
        return np.nan
    return len(np.unique(rows)) / len(problem.train)


_warm: set[tuple[object, ...]] = set()
"""The kinds of fits that this process has done."""


def warm_up(method: Pipeline, sample: Sample) -> None:
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
        method.fit(replace(sample, rows=rows, bootstrap_pool=rows, recipe=recipe)).predict(sample.inputs[:2].copy())


def _path(name: str, seed: int) -> Path:
    """Return the path of the cached predictions of a retraining of the cell ``name``."""
    versions = {library: installed(library) for library in LIBRARIES}
    key = hashlib.sha256(json.dumps([name, seed, versions]).encode()).hexdigest()
    return cache_folder() / "retrainings" / key[:2] / key


def _assemble(cell: Planned, results: dict[int, _Retraining | str]) -> Cell | Failed:
    """Join the retrainings of a cell in the order of its seeds."""
    key = cell.key
    try:
        retrainings = _all(results[seed] for seed in key.seeds)
    except RuntimeError as error:
        return Failed(cell, str(error))
    predictions = _joined(cell.problem, key.seeds, key.sampling, retrainings)
    seconds = [float(retraining["seconds"]) for retraining in retrainings]
    seen = float(np.mean([retraining["rows_seen"] for retraining in retrainings]))
    changes = {
        "wall_seconds": round(sum(seconds), 1),
        "control": cell.method.remedy.control,
        "rows_seen": None if np.isnan(seen) else round(seen, 4),
    }
    facts = facts_of(cell.problem, cell.command, key.device).model_copy(update=changes)
    return Cell(key, cell.title, predictions, float(np.median(seconds)), facts)
