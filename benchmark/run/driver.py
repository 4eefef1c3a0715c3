"""One invocation of ``run``: train missing cells, save them on disk, then record them in the tracking store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib.externals.loky import get_reusable_executor

from benchmark.data.checks import health_text
from benchmark.data.checks.health import examine
from benchmark.data.features import refuse_features
from benchmark.data.problem import load_problem
from benchmark.data.spec import load_spec, with_features
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.registry import doubtful_lambda, make_method, refuse_sampling
from benchmark.run import runner
from benchmark.run.code import code_of, own_parts
from benchmark.run.provenance import facts_of
from benchmark.run.runner import Failed, Planned
from benchmark.settings import refuse_lone_halves
from benchmark.store import opening, outbox
from benchmark.store.cell import Cell, Grid
from benchmark.store.interrupt import deferred
from benchmark.train.device import CPU
from benchmark.types import REFERENCE

if TYPE_CHECKING:  # MLflow takes seconds to import: a grid is planned without it
    from benchmark.store import tracking

Report = Callable[[str], None]


def plan_grid(grid: Grid, settings: Mapping[str, str], device: str = CPU) -> list[Planned]:
    """Return each cell of the grid once, grouped by dataset. Raises UserError before anything runs."""
    cells: dict[str, Planned] = {}
    methods, datasets, canonical_seeds, seeds, sampling, learner, features, tune = grid
    if not (methods and datasets):
        raise UserError("name at least one method and one dataset, as in --method erm,twin --dataset b3db_measured")
    refuse_lone_halves(seeds, sampling)
    refuse_features(features)
    specs = {dataset: load_spec(dataset) for dataset in datasets}
    for dataset, spec in specs.items():
        if features and with_features(dataset, features.split("+")) == dataset:
            raise UserError(f"{dataset}: no features can be read in place of {', '.join(spec.features)}")
    given = sampling, learner, features, tune
    made = {
        (dataset, text): make_method(text, spec.task, settings, spec.backbone, *given, spec.family)
        for dataset, spec in specs.items()
        for text in methods
    }
    for method in made.values():
        refuse_sampling(method, sampling)
    codes = {key: code_of(method, sampling) for key, method in made.items() if own_parts(method)}
    hyperparameters = dict.fromkeys(name for method in made.values() for name in method.head.params)
    for name in settings:
        if name not in hyperparameters:
            raise did_you_mean(f"hyperparameter of {', '.join(methods)}:", name, list(hyperparameters))
        having = [text for (_, text), method in made.items() if name in method.head.params]
        spelled = [learner if text == REFERENCE and learner else text for text in having]
        if all(f":{name}=" in text for text in spelled):
            raise UserError(f"--set {name} has no effect beside {', '.join(dict.fromkeys(spelled))}: leave one out")
    for dataset in datasets:
        for canonical_seed in canonical_seeds:
            problem = load_problem(dataset, canonical_seed)
            for text in methods:
                planned = runner.plan(problem, made[dataset, text], seeds, device, dataset, sampling)
                if planned.key.code != codes.get((dataset, text), planned.key.code):  # the code of before is loaded
                    raise UserError(f"{text}: its files were edited while {dataset} was read: run the command again")
                cells.setdefault(planned.key.digest, planned)
    return list(cells.values())


def warnings(cells: Sequence[Planned]) -> list[str]:
    """Return warnings about the data of ``cells``, a few lines for each dataset, and about their methods."""
    splits = {planned.dataset: planned.key.canonical_seed for planned in cells}
    lines = [line for name, seed in splits.items() for line in health_text.to_lines(examine(load_spec(name), seed))]
    doubts = [doubtful_lambda(c.method, c.base.task, c.key.sampling) for c in cells]
    doubts += [cell.method.doubt for cell in cells]
    return [*lines, *filter(None, dict.fromkeys(doubts))]


@dataclass
class Tally:
    """Outcome of an invocation."""

    trained: list[Cell] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    skipped: int = 0
    unrecorded: list[Path] = field(default_factory=list)
    trouble: str = ""

    @property
    def exit_code(self) -> int:
        return 1 if self.failed or self.trouble or self.unrecorded else 0


def fill(
    cells: Sequence[Planned],
    *,
    force: bool,
    jobs: int | None,
    report: Report,
    trained: Callable[[int], object] = lambda count: None,
    client: Any = None,
    study: str = "",
) -> Tally:
    """Train the cells that are missing from the store, or all with ``force``.

    ``report`` is called with a line for each finished cell, ``trained`` with the number of train seeds just finished.
    ``client`` is a Dask client if a cluster does the work. Cells trained for a ``study`` are marked with its name, and
    stay out of the leaderboard's boards until a call without a study requests them. A finished cell is saved on disk
    before it is recorded; if the store fails, it stays there for the next invocation.
    """
    from benchmark.store import tracking

    tally = Tally()
    outbox.prepare()
    store = tracking.Store()
    todo = _missing(cells, store, tally, force, report, adopted=not study)
    store.refuse_closed(cell.key for cell in todo)
    tally.skipped = len(cells) - len(todo)
    trained(sum(len(cell.key.seeds) for cell in cells) - sum(len(cell.key.seeds) for cell in todo))
    with _workers(tally, len(todo)):
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
                    kept = _keep(planned, result.with_facts(study=study), store, tally, report)
                if kept:
                    report(f"finished {result.title} on {result.key.place}: {_headline(result)}")
    if any(own_parts(cell.method) for cell in todo):  # a thread that one leaves would keep its worker, and us, for ever
        get_reusable_executor(reuse=True).shutdown(kill_workers=True)
    if tally.trained:
        opening.analyse(store.uri)
    return tally


def _missing(
    cells: Sequence[Planned], store: tracking.Store, tally: Tally, force: bool, report: Report, adopted: bool
) -> list[Planned]:
    """Return the cells to train, once those that wait on disk are recorded; those of studies may be ``adopted``."""
    from benchmark.store.tracking import GONE

    with outbox.lock():
        waiting = outbox.pending()
    for path in waiting:
        try:
            if not tally.trouble and (cell := _hand_over(path, store, tally, report)):
                report(f"recorded from {path}: {cell.title} on {cell.key.place}")
        except UserError as error:
            report(f"DAMAGED  {error}")
    statuses = store.statuses(cell.key for cell in cells)
    finished = {digest for digest, status in statuses.items() if status == "FINISHED"}
    for planned in cells:
        if statuses.get(planned.key.digest) == GONE:
            name = f"{planned.title} on {planned.key.place}"
            report(f"missing  {name}: its predictions are gone from the store, so it is trained again")
    if adopted:
        store.adopt({cell.key.digest for cell in cells} & finished)
    kept = {path.name for path in tally.unrecorded}
    return [cell for cell in cells if force or cell.key.digest not in finished | kept]


def _keep(planned: Planned, cell: Cell, store: tracking.Store, tally: Tally, report: Report) -> bool:
    """Save a cell on disk, with the reports on its data, and record it; False if it was damaged, and has failed."""
    spec = load_spec(planned.dataset) if planned.dataset else None
    reports = health_text.reports(spec, planned.key.canonical_seed) if spec else {}
    cell = replace(cell, reports=reports)
    tally.trained.append(cell)  # before Ctrl-C can end the recording, which counts it
    path = outbox.save(cell)
    if tally.trouble:  # the store has failed, so do not wait for it again
        tally.unrecorded.append(path)
    else:
        try:
            _hand_over(path, store, tally, report)
        except UserError as error:
            tally.trained.pop()
            tally.failed.append(Failed(planned, f"DAMAGED  {error}"))
            report(tally.failed[-1].reason)
            _record_failure(store, tally.failed[-1], tally)
            return False
    return True


@contextmanager
def _workers(tally: Tally, cells: int) -> Iterator[None]:
    """End the workers after an error, without waiting for them; after Ctrl-C, say how many ``cells`` are kept.

    Otherwise the next call uses them: to start, import and compile again takes several seconds each.
    """
    try:
        yield
    except BaseException as stop:
        get_reusable_executor(reuse=True).shutdown(kill_workers=True)
        if not isinstance(stop, KeyboardInterrupt):
            raise
        done = f"{len(tally.trained)} of {cells} cells had finished"
        raise KeyboardInterrupt(f"{done} and {'is' if len(tally.trained) == 1 else 'are'} kept") from None


def _hand_over(path: Path, store: tracking.Store, tally: Tally, report: Report) -> Cell | None:
    """Record a cell of the outbox, remove it there, and return it; None if another driver has done so.

    Also None if the store fails or refuses this cell, which is noted or reported. Raises UserError if it was damaged.
    """
    try:
        with deferred(), outbox.lock():
            if not path.exists():
                return None
            cell = outbox.load(path)
            store.log(cell, path)
            outbox.drop(path)
            return cell
    except opening.TrackingError as error:
        tally.unrecorded.append(path)
        if isinstance(error, opening.RefusedError):
            report(f"REFUSED  {path}, which stays there: {error}")
        else:
            tally.trouble = str(error)
    return None


def _record_failure(store: tracking.Store, failed: Failed, tally: Tally) -> None:
    if tally.trouble:
        return
    planned = failed.planned
    facts = facts_of(planned.problem, planned.command, planned.key.device)
    try:
        store.log_failure(Cell(planned.key, planned.title, {}, 0.0, facts), failed.reason)
    except opening.TrackingError as error:
        tally.trouble = str(error)


def _headline(cell: Cell) -> str:
    p = cell.predictions["id"]
    quality = QUALITY[p.task]
    score = f"{quality.name} {quality.mean(p):.3f}"
    if len(p.seeds) < 2:
        return f"{score} (churn needs at least two retrainings: see --seeds)"
    return f"{score}, churn {churn(p.task).mean(p):{'.1%' if p.task == 'classification' else '.3f'}}"
