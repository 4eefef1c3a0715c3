"""One invocation of ``run``: what is missing is trained, kept on disk, then recorded in the tracking store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from joblib.externals.loky import get_reusable_executor

from benchmark.data import health_text
from benchmark.data.health import examine
from benchmark.data.problem import load_problem
from benchmark.data.spec import load_spec
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import QUALITY
from benchmark.registry import doubtful_lambda, make_method, refuse_backbone
from benchmark.run import runner
from benchmark.run.provenance import facts_of
from benchmark.run.runner import Failed, Planned
from benchmark.store import describe, outbox, tracking
from benchmark.store.cell import Cell
from benchmark.store.interrupt import deferred
from benchmark.train.backbone import find
from benchmark.train.device import CPU, Device
from benchmark.types import MLP

Report = Callable[[str], None]


def plan_grid(
    methods: Sequence[str],
    datasets: Sequence[str],
    canonical_seeds: Sequence[int],
    seeds: Sequence[int],
    settings: dict[str, str],
    device: Device = CPU,
) -> list[Planned]:
    """Every cell of the grid, each once, a dataset's cells together. Raises UserError before anything runs."""
    cells: dict[str, Planned] = {}
    known: dict[str, None] = {}
    if not (methods and datasets):
        raise UserError("name at least one method and one dataset, as in --method erm,twin --dataset b3db_measured")
    for dataset in datasets:
        for canonical_seed in canonical_seeds:
            problem = load_problem(dataset, canonical_seed)
            if problem.backbone != MLP:
                find(problem.backbone).require()
            for text in methods:
                made = make_method(text, problem.task, settings, problem.backbone)
                refuse_backbone(made, problem.backbone)
                planned = runner.plan(problem, made, seeds, device, dataset)
                cells.setdefault(planned.key.digest, planned)
                known |= dict.fromkeys(planned.key.params)
    for name in settings:
        if name not in known:
            raise did_you_mean(f"hyperparameter of {', '.join(methods)}:", name, list(known))
    return list(cells.values())


def warnings(cells: Sequence[Planned]) -> list[str]:
    """What is wrong with the data of ``cells``, a few lines for each dataset, and what to doubt about their methods."""
    splits = {planned.dataset: planned.key.canonical_seed for planned in cells}
    lines = [line for name, seed in splits.items() for line in health_text.to_lines(examine(load_spec(name), seed))]
    doubts = [doubtful_lambda(cell.method, cell.problem.task, cell.problem.backbone) for cell in cells]
    doubts += [getattr(cell.method, "doubt", "") for cell in cells]  # which few methods have
    return [*lines, *filter(None, dict.fromkeys(doubts))]


@dataclass
class Tally:
    """What an invocation did."""

    trained: list[Cell] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    skipped: int = 0
    unrecorded: list[Path] = field(default_factory=list)
    trouble: str = ""

    @property
    def exit_code(self) -> int:
        return 1 if self.failed or self.trouble else 0


def health_of(planned: Planned) -> dict[str, str]:
    """What is wrong with the data of a cell, as files to be kept with it."""
    return health_text.reports(load_spec(planned.dataset), planned.key.canonical_seed)


def fill(
    cells: Sequence[Planned],
    *,
    force: bool,
    jobs: int | None,
    report: Report,
    trained: Callable[[int], None],
    reports: Callable[[Planned], Mapping[str, str]] = lambda planned: {},
    client: Any = None,
    study: str = "",
) -> Tally:
    """Fill the cells that the store lacks (all with ``force``).

    ``report`` is told a line for each finished cell, ``trained`` the number of train seeds just done; ``reports``
    gives the texts that are kept with a cell, as ``health_of`` does for a dataset of the registry; ``client`` is a
    Dask client, where a cluster does the work. What is trained for a ``study`` is marked as its own: the boards of the
    leaderboard leave it out, until a call without one asks for the same cell. A finished
    cell is on disk before the store hears of it; if the store fails, it stays there for the next invocation.
    """
    tally = Tally()
    outbox.prepare()
    store = tracking.Store()
    with outbox.lock():
        waiting = outbox.pending()
    for path in waiting:
        if cell := _hand_over(path, store):
            report(f"recorded from {path}: {_name(cell)}")
    finished = {digest for digest, status in store.statuses().items() if status == "FINISHED"}
    todo = [cell for cell in cells if force or cell.key.digest not in finished]
    if not study:
        store.adopt({cell.key.digest for cell in cells} & finished)
    tally.skipped = len(cells) - len(todo)
    trained(sum(len(cell.key.seeds) for cell in cells) - sum(len(cell.key.seeds) for cell in todo))
    with _counted(tally, len(todo)), _workers_end():
        for planned, result in runner.run(todo, jobs, fresh=force, client=client):
            if isinstance(result, int):
                trained(result)
            elif isinstance(result, Failed):
                tally.failed.append(result)
                report(f"FAILED   {result.title}: {result.error}")
                with deferred():
                    _record_failure(store, result, tally)
            else:
                with deferred():
                    result = replace(result, reports=reports(planned)).with_facts(study=study)
                    tally.trained.append(result)
                    _record(store, result, tally)
                report(f"finished {_name(result)}: {_headline(result)}")
    return tally


@contextmanager
def _counted(tally: Tally, cells: int) -> Iterator[None]:
    """After Ctrl-C, the KeyboardInterrupt says how many of the ``cells`` are kept."""
    try:
        yield
    except KeyboardInterrupt:
        done = len(tally.trained)
        raise KeyboardInterrupt(
            f"{done} of {cells} cells had finished and {'is' if done == 1 else 'are'} kept"
        ) from None


@contextmanager
def _workers_end() -> Iterator[None]:
    """End the workers at once, also when Ctrl-C or a full disk cuts the work short: Python would wait for them."""
    try:
        yield
    finally:
        get_reusable_executor(reuse=True).shutdown(kill_workers=True)


def _hand_over(path: Path, store: tracking.Store) -> Cell | None:
    """Record a cell of the outbox, which then drops it; None if another driver has done so."""
    with deferred(), outbox.lock():
        if not path.exists():
            return None
        cell = outbox.load(path)
        store.log(cell)
        outbox.drop(path)
        return cell


def _record(store: tracking.Store, cell: Cell, tally: Tally) -> None:
    path = outbox.save(cell)
    if tally.trouble:  # the store failed before: do not wait for it again
        tally.unrecorded.append(path)
        return
    try:
        _hand_over(path, store)
    except tracking.TrackingError as error:
        tally.trouble = str(error)
        tally.unrecorded.append(path)


def _record_failure(store: tracking.Store, failed: Failed, tally: Tally) -> None:
    planned = failed.planned
    facts = facts_of(planned.problem, planned.command, planned.key.device)
    cell = Cell(planned.key, planned.title, {}, 0.0, facts)
    if not tally.trouble:
        try:
            store.log_failure(cell, failed.reason)
        except tracking.TrackingError as error:
            tally.trouble = str(error)


def _name(cell: Cell) -> str:
    return f"{cell.title} on {cell.key.dataset}, split {cell.key.canonical_seed}"


def _headline(cell: Cell) -> str:
    values = describe.summarise({"id": cell.predictions["id"]})
    task = cell.predictions["id"].task
    quality = QUALITY[task]
    score = f"{quality.name} {values[f'id/{quality.key}']:.3f}"
    if len(cell.key.seeds) < 2:
        return f"{score} (churn takes two retrainings or more: see --seeds)"
    return f"{score}, churn {values['id/churn']:{'.1%' if task == 'classification' else '.3f'}}"
