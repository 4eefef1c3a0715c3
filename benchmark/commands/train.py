"""Commands that train or plan a grid or a study."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, track
from rich.table import Table

from benchmark.commands import options
from benchmark.commands.options import console, say
from benchmark.data.listing import obtainable
from benchmark.data.spec import MANY_ROWS, expand, load_spec
from benchmark.errors import UserError, number_of
from benchmark.measure.deciding import lacking
from benchmark.settings import DEFAULT_SEEDS, parse_seeds, parse_settings, parse_splits
from benchmark.store import opening
from benchmark.store.cell import Grid
from benchmark.store.staging import claim
from benchmark.types import PAPER, Problem, Sampling, Tune

if TYPE_CHECKING:  # these import torch or mlflow, which take seconds
    from benchmark.run.cost import Cost
    from benchmark.run.driver import Tally
    from benchmark.run.runner import Planned


def _grids(
    method: str, dataset: str, canonical_seed: str, sampling: str, seeds: str, learner: str, features: str, tune: str
) -> list[Grid]:
    """Read the options that define a grid; without ``method`` and ``sampling``, the grids for the user's own data."""
    names = [name.strip() for name in method.split(",") if name.strip()]
    chosen, skipped = obtainable(dataset)
    for line in skipped:
        say(line)
    specs = [load_spec(name) for name in chosen]
    own = {not spec.shipped and spec.group in ("own", "variant") for spec in specs}
    if not sampling and own == {True, False}:
        raise UserError("--sampling: your own data default to halves, others to paper: name one of them, or run twice")
    sampled: Sampling = cast(Sampling, sampling) or ("halves" if own == {True} else PAPER)
    runs = parse_seeds(seeds or DEFAULT_SEEDS[sampled])
    tuned = cast("Tune", tune.removeprefix("none"))
    grid = Grid(names, chosen, parse_splits(canonical_seed), runs, sampled, learner, features, tuned)
    return [grid] if names or own != {True} else _own_grids(grid)


def _own_grids(grid: Grid) -> list[Grid]:
    """Return the grids for own data, without methods that compare all pairs of many rows, or tune on many or few."""
    from benchmark.data.problem import load_problem
    from benchmark.data.rows import load_rows

    rows = max(len(load_rows(load_spec(name)).used) for name in grid.datasets)
    names = [name for name in options.OWN_METHODS if rows <= MANY_ROWS or name not in options.PAIRWISE]
    if rows > MANY_ROWS:
        say(f"{', '.join(options.PAIRWISE)} are left out, as they compare all pairs of {rows:,} rows (--method)")
    problems = {name: load_problem(name, grid.canonical_seeds[0]) for name in grid.datasets}
    if all(_undecided(*item, grid.sampling, len(grid.seeds)) for item in problems.items()):
        say("methods that choose their settings are left out, as they take most of the time and decide nothing")
        return [grid._replace(methods=names)]
    if rows <= options.TUNED_ROWS and not grid.tune:
        say("the perceptron and boosting choose their settings within each half, which takes most of the time")
        return [grid._replace(methods=names), grid._replace(methods=options.OWN_TUNED, tune="one-se")]
    if not grid.tune:
        say(
            f"the perceptron and boosting keep their default settings, as to choose them for {rows:,} rows takes long: "
            f"--method {','.join(options.OWN_TUNED)} --tune one-se does"
        )
    return [grid._replace(methods=list(dict.fromkeys([*names, *options.OWN_TUNED])))]


def _undecided(dataset: str, problem: Problem, sampling: Sampling, retrainings: int) -> str:
    """Return a line if no method can be recommended on a user's own dataset, whatever is trained; otherwise none."""
    rows = len(problem.train) + sum(map(len, problem.evals.values()))
    y, names = problem.evals["id"].y, load_spec(dataset).class_names
    missing = lacking(y, names, rows, retrainings, sampling)
    return f"{problem.name}: cannot decide yet, whatever is trained: {missing}" if missing else ""


def _planned(grids: Sequence[Grid], settings: list[str] | None, device: str) -> list[Planned]:
    from benchmark.run.driver import plan_grid
    from benchmark.train.device import device as named

    return [cell for grid in grids for cell in plan_grid(grid, parse_settings(settings or []), named(device))]


@contextmanager
def _resumable() -> Iterator[None]:
    """After Ctrl-C, print how to resume, and exit with 130 like a shell."""
    try:
        yield
    except KeyboardInterrupt as stop:
        kept = str(stop) or "finished work is kept"
        say(f"Interrupted: {kept}. The same command resumes from there:")
        called = Path(sys.argv[0])
        program = ["python", "-m", called.parent.name] if called.name == "__main__.py" else [called.name]
        say(f"  {shlex.join([*program, *sys.argv[1:]])}")
        raise typer.Exit(130) from None


@_resumable()
def update(
    dataset: options.Datasets,
    cuts: Annotated[int, typer.Option(help="Number of updates.", min=1, max=20)] = 5,
    start: Annotated[str, typer.Option(help="Share of the training rows that the first model is trained on.")] = "0.5",
    method: Annotated[
        str, typer.Option(help="Methods, separated by commas, to compare with ERM.", show_default="a selection")
    ] = "",
    tolerance: Annotated[
        float, typer.Option(help="Regression: a change above this is a flip.", show_default="the MAE of the old models")
    ] = 0.0,
    canonical_seed: Annotated[int, typer.Option(help="Seed of the train/test split.")] = 99,
    seeds: Annotated[str, typer.Option(help="Train seeds: a count, as in 10 or 3.")] = "10",
    jobs: options.Jobs = None,
    device: options.DeviceOption = "auto",
    offline: options.Offline = False,
) -> None:
    """Retrain as rows arrive, and report what each update changes, what would have changed anyway, and what helps.

    Rows arrive in the order of their dates if the dataset is split by time, otherwise in random order.
    """
    given: dict[str, Any] = {"dataset": dataset, "cuts": cuts, "start": start, "canonical_seed": canonical_seed}
    given |= {"seeds": seeds, "tolerance": tolerance or "", "methods": " ".join(method.split(",")) if method else ""}
    chosen = {name: str(value) for name, value in given.items() if value != ""}
    _study("updates", chosen, jobs, device)
    raise typer.Exit(_leaderboard("updated", *(f"{name}={value}" for name, value in chosen.items())))


@_resumable()
def run(
    context: typer.Context,
    datasets: Annotated[
        list[str] | None, typer.Argument(help="Datasets, as with --dataset.", show_default=False)
    ] = None,
    method: options.Methods = "",
    dataset: options.Datasets = "",
    learner: options.LearnerOption = "",
    features: options.FeaturesOption = "",
    tune: options.TuneOption = "none",
    canonical_seed: options.CanonicalSeeds = "99",
    sampling: options.SamplingByData = "",
    seeds: options.Seeds = "",
    settings: options.Settings = None,
    force: Annotated[bool, typer.Option("--force", help="Retrain cells that are already recorded.")] = False,
    jobs: options.Jobs = None,
    site: Annotated[Path | None, typer.Option(help="Then build the leaderboard in this folder.")] = None,
    scheduler: Annotated[str, typer.Option(help="Run on the Dask cluster at tcp://host:8786.")] = "",
    slurm: Annotated[Path | None, typer.Option(help="Run in Slurm jobs, as this TOML configures.")] = None,
    device: options.DeviceOption = "auto",
    log_models: Annotated[
        bool, typer.Option("--log-models", help="Train a model more for each cell, and log it for MLflow.")
    ] = False,
    register: Annotated[str, typer.Option(metavar="NAME", help="Register them under this name, or auto.")] = "",
    grids: options.Grids = None,
    block: options.BlockOption = "",
    offline: options.Offline = False,
) -> None:
    """Train methods on datasets and record every run and every prediction in MLflow."""
    from benchmark.run import deploy, driver
    from benchmark.run.cluster import connect

    if site:
        claim(site)
    _refuse_beside_grids(context, grids, block)
    if slurm and scheduler:
        raise UserError(f"--scheduler {scheduler} has no effect beside --slurm {slurm}: leave one out")
    if slurm and not slurm.is_file():
        raise UserError(f"--slurm {slurm}: no such file: name a TOML that describes a Slurm cluster")
    if grids:
        raise typer.Exit(_run_grids(grids, block, jobs, device))
    if datasets and dataset:
        raise UserError(f"--dataset {dataset}: name the datasets once, here or as {' '.join(datasets)}")
    dataset = ",".join(datasets or ()) or dataset or options.DEFAULT_DATASET
    grids_of_options = _grids(method, dataset, canonical_seed, sampling, seeds, learner, features, tune)
    cells = _planned(grids_of_options, settings, device)
    if register and not log_models:
        raise UserError(f"--register {register}: there is no model to register: add --log-models")
    if log_models:
        deploy.refuse(cells, register)
    retrainings = sum(len(cell.key.seeds) for cell in cells)
    console.print(
        f"{number_of(len(cells), 'cell')}, {number_of(retrainings, 'retraining')}; tracking store: "
        + opening.without_password(opening.uri())
    )
    for line in driver.warnings(cells):
        say(line)
    own = [cell for cell in cells if cell.base.about.group == "own"]
    lines = dict.fromkeys(_undecided(c.dataset, c.base, c.key.sampling, len(c.key.seeds)) for c in own)
    for line in filter(None, lines):
        say(line)
    workers = connect(scheduler, slurm) if scheduler or slurm else nullcontext()
    with workers as client:
        tally = _train(cells, force, jobs, client)
    unlogged = 0
    if log_models and not tally.trouble:
        unlogged = deploy.log_models(cells, force=force, jobs=jobs, register=register, report=say)
    mine = dict.fromkeys(cell.key.dataset for cell in own)
    if mine and not tally.trouble and len(tally.failed) < len(cells):
        _leaderboard("my-data", *mine)  # a failure costs nothing: the results are recorded
    built = site if site and not tally.trouble and not _leaderboard("build", "--out", str(site)) else None
    _summary(tally, cells, built)
    raise typer.Exit(1 if unlogged or (site and built is None) else tally.exit_code)


def _train(cells: Sequence[Planned], force: bool, jobs: int | None, client: Any = None) -> Tally:
    """Train and record what is missing, with a bar on a terminal."""
    from benchmark.run import driver

    columns = *Progress.get_default_columns(), MofNCompleteColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("retrainings", total=sum(len(cell.key.seeds) for cell in cells))
        advance = partial(progress.advance, task)
        return driver.fill(cells, force=force, jobs=jobs, report=say, trained=advance, client=client)


def _refuse_beside_grids(context: typer.Context, path: Path | None, block: str) -> None:
    """Raise UserError for an option that a file of grids, or the lack of one, would leave without effect."""
    if block and path is None:
        raise UserError(f"--block {block}: give the file that it is in, with --grids")
    if path:
        used = ("grids", "block", "jobs", "device", "offline")
        _refuse_others(context, used, f"with --grids, as the blocks of {path} say it")


def _refuse_others(context: typer.Context, used: Sequence[str], reason: str) -> None:
    """Raise UserError for an option that was given and is none of ``used``, those with an effect."""
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if source and source.name != "DEFAULT" and option.name not in used:
            raise UserError(f"{option.opts[0]} has no effect {reason}: leave it out")


def _run_grids(path: Path, block: str, jobs: int | None, device: str) -> int:
    """Train what is missing of the grids of a file, one dataset after another; return the exit code."""
    from benchmark.run.grids import read

    failed, (blocks, published) = 0, read(path, block)
    for part in blocks:
        for grids in part.grids():
            cells = [cell for cell in _planned(grids, None, device) if cell.key.digest not in published]
            tally = _train(cells, False, jobs)
            if tally.trouble:
                raise UserError(tally.trouble)
            failed += len(tally.failed) + len(tally.unrecorded)
        say(f"block {part.name}: done, {number_of(failed, 'cell')} failed so far")
    return 1 if failed else 0


def _leaderboard(*words: str) -> int:
    """Run a command of the leaderboard in its own process, as the benchmark never imports it; return its exit code."""
    return subprocess.run([sys.executable, "-m", "leaderboard", *words], check=False).returncode


def _summary(tally: Tally, cells: Sequence[Planned], built: Path | None) -> None:
    from benchmark.store import tracking

    first = cells[0]
    trained = number_of(len(tally.trained), "cell")
    lines = [f"{trained} trained, {tally.skipped} already recorded, {len(tally.failed)} failed."]
    if tally.skipped and not (tally.trained or tally.failed):
        lines.append("There is nothing left to train; --force trains again.")
    if tally.unrecorded and not tally.trouble:
        lines.append(f"Finished, but refused by the store: {len(tally.unrecorded)}, which wait in the outbox.")
    if tally.failed and not tally.trouble:
        lines.append("The traceback of a failed cell is in its MLflow run.")
    if tally.trouble:
        lines += [f"{failed.title}, not recorded:\n{failed.reason}" for failed in tally.failed]
        lines.append(tally.trouble)
        if tally.unrecorded:
            kept = number_of(len(tally.unrecorded), "finished cell")
            lines.append(
                f"Safe in {tally.unrecorded[0].parent}: {kept}, which the next run records without training again."
            )
        say("\n".join(lines))
        return
    store = tracking.Store()
    if store.uri.startswith("http"):
        lines.append(f"Browse the runs:       {opening.without_password(store.uri)}/{store.page(first.key)}")
    else:
        shown = store.uri if opening.without_password(store.uri) == store.uri else '"$MLFLOW_TRACKING_URI"'
        lines.append(f"Browse the runs:       mlflow ui --backend-store-uri {shown}")
        lines.append(f"                       then open http://127.0.0.1:5000/{store.page(first.key)}")
    if built:
        lines.append(f"Open the leaderboard:  {(built / 'index.html').resolve()}")
    else:
        lines.append("Build the leaderboard: churn build --out site")
    if first.key.sampling == PAPER:
        lines.append("Retrainings shared most of their molecules; --sampling halves compares models that share none.")
    say("\n".join(lines))
    titles, datasets = dict.fromkeys(c.title for c in cells), dict.fromkeys(c.key.dataset for c in cells)
    name = f"{', '.join(titles)} on {', '.join(datasets)}"
    outcome = [lines[0], *(f"{failed.title}: {failed.error}" for failed in tally.failed)]
    outcome += [f"The leaderboard is in `{(built / 'index.html').resolve()}`."] if built else []
    store.describe_launch(name, outcome, [cell.key for cell in cells])


@_resumable()
def study(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the study; without it, list all studies.")] = "",
    dataset: Annotated[str, typer.Option(help="Datasets or groups, for studies that take them.")] = "",
    learner: Annotated[
        str, typer.Option(help="What the methods train, as in gin (see list).", show_default="the dataset's own")
    ] = "",
    canonical_seed: options.CanonicalSeeds = "",
    sampling: Annotated[Sampling | None, typer.Option(help="As for run, for studies that take one.")] = None,
    seeds: Annotated[str, typer.Option(help="Train seeds, as for run.")] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the study.")
    ] = None,
    jobs: options.Jobs = None,
    device: options.DeviceOption = "auto",
    offline: options.Offline = False,
    store: Annotated[
        str, typer.Option(help="Only print the answer of this MLflow store or folder of results; train nothing.")
    ] = "",
) -> None:
    """Run a study: train and record the cells that are missing, then show the answer."""
    from benchmark.studies import discover, make_study

    if not name:
        if getattr(context.get_parameter_source("name"), "name", "DEFAULT") != "DEFAULT":  # as in mlflow run -P name=
            raise UserError("expected the name of a study, found nothing: churn study lists them")
        _refuse_others(context, ("offline",), "without the name of a study")
        table = _table("study", "title", "settings")
        for key, cls in discover().items():
            table.add_row(key, cls.title, ", ".join(f"{f.name}={f.default}" for f in fields(cls)))  # type: ignore[attr-defined]
        console.print(table)
        return
    if store:
        _refuse_others(context, ("name", "store", "offline"), "with --store, which shows all that is recorded")
        raise typer.Exit(_leaderboard("study", name, "--store", store))
    given = {"dataset": dataset, "canonical_seed": canonical_seed, "sampling": sampling or "", "seeds": seeds}
    chosen = parse_settings(settings or [])
    if both := next((key for key, value in given.items() if value and key in chosen), ""):
        raise UserError(f"--set {both}={chosen[both]}: an option says {both}={given[both]}: leave one out")
    chosen |= {key: value for key, value in given.items() if value}
    if (sampled := chosen.get("sampling", "")) in DEFAULT_SEEDS:
        chosen.setdefault("seeds", DEFAULT_SEEDS[cast(Sampling, sampled)])
    if ":" in learner:
        raise UserError(f"--learner {learner}: a study takes a learner with its default settings: name it alone")
    if learner:
        made = make_study(name, chosen)
        for field in ("dataset", "knob"):  # the settings that are lists of datasets
            if hasattr(made, field):
                chosen[field] = ",".join(f"{dataset}@backbone={learner}" for dataset in expand(getattr(made, field)))
    _study(name, chosen, jobs, device)
    raise typer.Exit(_leaderboard("study", name))


def _study(name: str, settings: dict[str, str], jobs: int | None, device: str) -> None:
    from benchmark.studies import make_study
    from benchmark.study.training import TrainingContext
    from benchmark.train.device import device as named

    study = make_study(name, settings)
    context = TrainingContext(study, jobs, named(device), say)
    report = study.report(context)
    context.finish(report)
    context.store.describe_launch(f"study {name}", report.answer)


def plan(
    context: typer.Context,
    method: options.Methods = options.ALL_METHODS,
    dataset: options.Datasets = options.DEFAULT_DATASET,
    learner: options.LearnerOption = "",
    features: options.FeaturesOption = "",
    tune: options.TuneOption = "none",
    canonical_seed: options.CanonicalSeeds = "99",
    sampling: options.SamplingByData = "",
    seeds: options.Seeds = "",
    settings: options.Settings = None,
    jobs: options.Jobs = None,
    device: options.DeviceOption = "auto",
    grids: options.Grids = None,
    block: options.BlockOption = "",
    offline: options.Offline = False,
) -> None:
    """Show which cells of a grid are done, failed or missing, the command that trains each, and what they will cost."""
    _refuse_beside_grids(context, grids, block)
    if grids:
        _plan_grids(grids, block, device)
        return
    all_grids = _grids(method, dataset, canonical_seed, sampling, seeds, learner, features, tune)
    count = sum(len(grid.methods) * len(grid.datasets) * len(grid.canonical_seeds) for grid in all_grids)
    say(f"looking for {number_of(count, 'cell')} in the tracking store {opening.without_password(opening.uri())}")
    cells = _planned(all_grids, settings, device)
    statuses: dict[str, str] = {}
    if opening.nothing_at():
        say("there is no store yet")
    else:
        from benchmark.store import tracking  # MLflow takes seconds to import

        statuses = tracking.Store().statuses(cell.key for cell in cells)
    words = {"FINISHED": "done", "FAILED": "failed", "RUNNING": "interrupted or running", "KILLED": "interrupted"}
    missing = []
    for cell in cells:
        status = statuses.get(cell.key.digest, "")
        word, gone = words.get(status, "missing"), " (its files are gone from the store)" if status == "GONE" else ""
        say(f"{word:8} {cell.key.place}: {cell.title}{gone}")
        if word != "done":
            say(f"         {cell.command}")
            missing.append(cell)
    if missing:
        from joblib import cpu_count

        _show_costs(missing, jobs or cpu_count())


def _plan_grids(path: Path, block: str, device: str) -> None:
    """Show what each block of a file of grids costs, whether or not it is done."""
    from benchmark.run.cost import costs
    from benchmark.run.grids import read

    table, ratios = _table("block", *COSTS), dict[tuple[str, ...], float]()
    with Console(stderr=True).status("timing fits") as status:
        for part in read(path, block).blocks:
            rows = []
            for cost in (cost for grids in part.grids() for cost in costs(_planned(grids, None, device), ratios)):
                rows.append(cost)
                status.update(f"timing fits, {part.name}: {number_of(len(rows), 'dataset')}")
            table.add_row(part.name, *_added(rows))
    console.print(table)


def _show_costs(cells: Sequence[Planned], workers: int) -> None:
    from benchmark.run.cost import costs

    errors = Console(stderr=True)
    splits = len({(cell.key.dataset, cell.key.canonical_seed) for cell in cells})
    say(f"timing fits to rows of {number_of(splits, 'dataset')}")
    shown = track(costs(cells), "timing fits", splits, console=errors, transient=True, disable=not errors.is_terminal)
    rows = [*shown]
    table = _table("dataset", "split", *COSTS)
    for cost in rows:
        table.add_row(cost.dataset, str(cost.canonical_seed), *_added([cost]))
    console.print(table)
    _, retrainings, hours, size = _added(rows)
    shared = sum(cost.seconds for cost in rows) / 3600 / workers
    console.print(
        f"to train: {retrainings} retrainings, {hours} CPU hours, {shared:.2f} hours on "
        f"{number_of(workers, 'worker')}, {size} MB in the store"
    )


COSTS = ("cells", "retrainings", "CPU hours", "MB")


def _added(costs: Sequence[Cost]) -> list[str]:
    """Return the sums of costs, as the columns ``COSTS`` show them."""
    counts = [f"{sum(cost.cells for cost in costs):,}", f"{sum(cost.retrainings for cost in costs):,}"]
    hours, size = sum(cost.seconds for cost in costs) / 3600, sum(cost.bytes for cost in costs) / 1e6
    return [*counts, f"{hours:,.2f}", f"{size:,.0f}"]


def _table(*columns: str) -> Table:
    table = Table(*columns, box=None, padding=(0, 1, 0, 0))
    table.columns[0].no_wrap = True
    return table
