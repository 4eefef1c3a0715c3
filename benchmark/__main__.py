"""The command line: ``python -m benchmark --help``."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from benchmark import __version__
from benchmark.cli import App
from benchmark.data.catalogue import availability, markdown, obtainable, rows_text
from benchmark.data.spec import ROOT, dataset_names, expand, load_spec
from benchmark.errors import UserError

if TYPE_CHECKING:  # these import torch or mlflow, which take seconds
    from benchmark.driver import Outcome
    from benchmark.runner import Planned

DEFAULT_DATASET = "b3db_measured"
ALL_METHODS = "erm,swa,mc_dropout,deep_ensemble,bagging:k=2,bagging,twin,random_forest"

app = App(help="Measure cross-sample prediction churn: how many predictions flip when a model is retrained.")
console = Console(soft_wrap=True, highlight=False)

Methods = Annotated[
    str, typer.Option("--method", help="Methods, separated by commas, as in erm,twin:lam=30,bagging:k=2.")
]
Datasets = Annotated[
    str,
    typer.Option(
        "--dataset", help="Datasets, groups or paths of TOML files, separated by commas; bace@train=200 is a variant."
    ),
]
BackboneOption = Annotated[
    str, typer.Option("--backbone", help="What networks are made of: mlp, unless a dataset says otherwise, or gin, ...")
]
CanonicalSeeds = Annotated[str, typer.Option(help="Seeds of the train/test split, separated by commas.")]
Seeds = Annotated[str, typer.Option(help="Train seeds: a count (10 means 1 to 10), a range (1-10) or a list (1,3,5).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A hyperparameter, for each named method that has it."),
]


def _go_offline(chosen: bool) -> bool:
    if chosen:
        os.environ["CHURN_OFFLINE"] = "1"  # in the environment, so that workers see it too
    return chosen


Offline = Annotated[
    bool, typer.Option("--offline", callback=_go_offline, help="Never touch the network (also: CHURN_OFFLINE=1).")
]


DeviceOption = Annotated[
    str, typer.Option("--device", help="cpu, cuda, or auto: the GPU of this machine if PyTorch can use one.")
]


def _on(backbone: str, datasets: list[str]) -> list[str]:
    """The variants of datasets with a backbone, if one is named."""
    return [f"{name}@backbone={backbone}" if backbone else name for name in datasets]


def _grid(
    method: str, dataset: str, backbone: str, canonical_seed: str, seeds: str, settings: list[str] | None, device: str
) -> list[Planned]:
    from benchmark.driver import parse_seeds, parse_splits, plan_grid
    from benchmark.registry import parse_settings
    from benchmark.train.device import device as named

    names = [name.strip() for name in method.split(",") if name.strip()]
    where = named(device)
    chosen, left_out = obtainable(dataset)
    for line in left_out:
        console.print(line, markup=False)
    splits, given = parse_splits(canonical_seed), parse_settings(settings or [])
    return plan_grid(names, _on(backbone, chosen), splits, parse_seeds(seeds), given, where)


@contextmanager
def _resumable() -> Iterator[None]:
    """After Ctrl-C, say how to go on, and exit with 130 as a shell does."""
    try:
        yield
    except KeyboardInterrupt:
        console.print("Interrupted. What was finished is kept; the same command goes on from there:")
        console.print(f"  {shlex.join(['python', '-m', 'benchmark', *sys.argv[1:]])}", markup=False)
        raise typer.Exit(130) from None


@app.command()
@_resumable()
def run(
    method: Methods,
    dataset: Datasets = DEFAULT_DATASET,
    backbone: BackboneOption = "",
    canonical_seed: CanonicalSeeds = "99",
    seeds: Seeds = "10",
    settings: Settings = None,
    force: Annotated[bool, typer.Option("--force", help="Train again what is already recorded.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Worker processes; default: one per core.", min=1)] = None,
    site: Annotated[Path | None, typer.Option(help="Then build the leaderboard pages in this folder.")] = None,
    scheduler: Annotated[str, typer.Option(help="Work on a Dask cluster: its scheduler, as in tcp://host:8786.")] = "",
    slurm: Annotated[Path | None, typer.Option(help="Start Slurm jobs as this TOML says, and work there.")] = None,
    device: DeviceOption = "auto",
    offline: Offline = False,
) -> None:
    """Train methods on datasets and record every run and every prediction in MLflow."""
    from benchmark import driver, tracking

    cells = _grid(method, dataset, backbone, canonical_seed, seeds, settings, device)
    total = sum(len(cell.key.seeds) for cell in cells)
    console.print(f"{len(cells)} cells, {total} retrainings; tracking store: {tracking.uri()}")
    for line in driver.warnings(cells):
        console.print(line, markup=False)
    columns = (TextColumn("retrainings"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    from benchmark.cluster import connect

    workers = connect(scheduler, slurm) if scheduler or slurm else nullcontext()
    with workers as client, Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("retrainings", total=total)
        outcome = driver.fill(
            cells,
            force=force,
            jobs=jobs,
            report=lambda line: console.print(line, markup=False),
            trained=lambda count: progress.advance(task, count),
            reports=driver.health_of,
            client=client,
        )
    built = _build_site(site) if site and not outcome.trouble else None
    _summary(outcome, cells[0].key.dataset, built)
    raise typer.Exit(1 if site and built is None else outcome.exit_code)


def _build_site(folder: Path) -> Path | None:
    """In a process of its own: the leaderboard imports the benchmark, never the reverse. None if it failed."""
    result = subprocess.run([sys.executable, "-m", "leaderboard", "build", "--out", str(folder)], check=False)
    return None if result.returncode else folder


def _summary(outcome: Outcome, dataset: str, built: Path | None) -> None:
    from benchmark import tracking

    lines = [f"{len(outcome.trained)} cells trained, {outcome.skipped} already there, {len(outcome.failed)} failed."]
    if outcome.skipped and not outcome.trained:
        lines.append("Nothing was left to train; --force trains again.")
    for failed in outcome.failed:
        reason = failed.reason.strip().splitlines()[-1]
        where = "traceback in its run" if not outcome.trouble else f"not recorded:\n{failed.reason}"
        lines.append(f"failed: {failed.planned.title} on {failed.planned.key.dataset}: {reason} ({where})")
    if outcome.trouble:
        lines.append(outcome.trouble)
        if outcome.unrecorded:
            lines.append(
                f"{len(outcome.unrecorded)} finished cells are safe in {outcome.unrecorded[0].parent}; "
                "the next run records them, without training again."
            )
        console.print("\n".join(lines), markup=False)
        return
    store = tracking.Store()
    if store.uri.startswith("http"):
        lines.append(f"Browse the runs:       {store.uri}/{store.page(dataset)}")
    else:
        lines.append(f"Browse the runs:       mlflow ui --backend-store-uri {store.uri}")
        lines.append(f"                       then open http://127.0.0.1:5000/{store.page(dataset)}")
    if built:
        lines.append(f"Open the leaderboard:  {(built / 'index.html').resolve()}")
    else:
        lines.append("Build the leaderboard: python -m leaderboard build --out site")
    console.print("\n".join(lines), markup=False)
    store.describe_launch(lines)


@app.command("list")
def list_(
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="The datasets alone, as the README shows them.")
    ] = False,
) -> None:
    """Show the datasets, methods and backbones, what is available here, and what to do about what is not."""
    from dataclasses import fields

    from benchmark.registry import discover, families
    from benchmark.train.backbone import find, names

    if as_markdown:
        print(markdown())
        return
    style: dict[str, Any] = {"box": None, "title_justify": "left", "padding": (0, 1, 0, 0)}
    datasets = Table("dataset", "rows", "task", "group", "family", "here", title="Datasets", **style)
    datasets.columns[0].no_wrap = True
    remedies: dict[str, list[str]] = {}
    for name in dataset_names():
        spec = load_spec(name)
        found_here = availability(spec)
        if not found_here.here:
            remedies.setdefault(found_here.remedy, []).append(name)
        family = "" if spec.family == name else spec.family
        datasets.add_row(name, rows_text(spec), spec.task, spec.group, family, "yes" if found_here.here else "no")
    found, unavailable = discover()
    methods = Table("method", "title", "hyperparameters", title="Methods", **style)
    for name, cls in found.items():
        methods.add_row(name, cls.title, ", ".join(f"{f.name}={f.default}" for f in fields(cls)))  # type: ignore[attr-defined]
    for name, title in families().items():
        methods.add_row(f"{name}:…", title, "its own")
    for name, reason in unavailable.items():
        methods.add_row(name, "not available", reason)
    backbones = Table("backbone", "reads", "recipe", "extra", title="Backbones", **style)
    for name in names():
        kind = find(name)
        recipe = ", ".join(f"{k}={v}" for k, v in kind.recipe.model_dump(exclude_unset=True).items())
        backbones.add_row(name, kind.reads, recipe or "the dataset's", kind.extra)
    console.print(datasets)
    for remedy, some in remedies.items():
        console.print(f"not here: {', '.join(some)}: {remedy}", markup=False)
    console.print(methods)
    console.print(backbones)


@app.command()
def health(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Datasets, groups or paths of TOML files.")
    ],
    canonical_seed: Annotated[int, typer.Option(help="Seed of the train/test split.")] = 99,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    offline: Offline = False,
) -> None:
    """Show what is wrong with datasets: unusable rows, repetitions, conflicts, balance, leaks, and common molecules."""
    from benchmark.data.health import examine, to_text

    if not 0 <= canonical_seed < 2**32:
        raise UserError(f"canonical seed {canonical_seed}: expected a number from 0 to {2**32 - 1}")
    names = dict.fromkeys(name for words in datasets for name in expand(words))
    found = [examine(load_spec(name), canonical_seed, overlaps=True) for name in names]
    if as_json:
        print("[" + ",\n".join(report.to_json() for report in found) + "]")
        return
    for report in found:
        console.print(to_text(report), markup=False)


@app.command("new-dataset")
def new_dataset(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or SDF, plain or .gz.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    smiles: Annotated[str, typer.Option(help="The column of the SMILES; default: the one called so.")] = "",
    id_column: Annotated[str, typer.Option("--id", help="A column that names the rows.")] = "",
    task: Annotated[str, typer.Option(help="classification or regression; default: seen from the column.")] = "",
    positive: Annotated[str, typer.Option(help="The text of class 1, or '>= median' to binarise a number.")] = "",
    split: Annotated[str, typer.Option(help="scaffold:0.8, random:0.8 or given:COLUMN.")] = "",
    name: Annotated[str, typer.Option(help="The dataset's name; default: the file's.")] = "",
    to: Annotated[Path | None, typer.Option(help="Folder of the TOML; default: the registry, datasets/.")] = None,
) -> None:
    """Make a dataset of a table: look at the file, write its TOML, and show what is wrong with it."""
    from benchmark.data.author import describe_file, write_dataset
    from benchmark.data.health import examine, to_text

    fields = describe_file(
        file, target=target, smiles=smiles, id_column=id_column, task=task, split=split, positive=positive
    )
    path = write_dataset(file, name, to, fields)
    spec = load_spec(str(path))
    console.print(f"wrote {path}", markup=False)
    class_one = f"; class 1 is {spec.positive!r}" if spec.positive else ""
    what = f"  {spec.task} of {target!r}{class_one}; split {spec.split}; features {', '.join(spec.features)}"
    console.print(what, markup=False)
    if not spec.smiles:
        hint = "if a column holds SMILES, remove the TOML and name the column with --smiles"
        console.print(f"  no SMILES: rows are named by {spec.id!r}, numbers are the features; {hint}", markup=False)
    console.print(to_text(examine(spec, 99, overlaps=True)), markup=False)
    spelled = shlex.quote(spec.spelled)
    console.print(f"next: python -m benchmark run --method erm,twin --dataset {spelled} --site site", markup=False)
    console.print(f"or:   mlflow run . --env-manager local -P method=twin -P dataset={spelled}", markup=False)


@app.command()
def doctor() -> None:
    """Check this machine: versions, data, tracking store, disk, device; with a remedy for each trouble."""
    from benchmark.doctor import diagnose

    broken = False
    for finding in diagnose(DEFAULT_DATASET):
        remedy = f"\n      {finding.remedy}" if finding.remedy else ""
        console.print(f"{finding.state:5} {finding.what}{remedy}", markup=False)
        broken |= finding.vital and finding.state == "bad"
    console.print("The default job cannot run here." if broken else "The default job can run here.")
    raise typer.Exit(1 if broken else 0)


@app.command()
@_resumable()
def study(
    name: Annotated[str, typer.Argument(help="The study; without one, all are listed.")] = "",
    dataset: Annotated[str, typer.Option(help="Datasets or groups, where the study has a choice.")] = "",
    backbone: BackboneOption = "",
    canonical_seed: Annotated[str, typer.Option(help="Seeds of the train/test split, separated by commas.")] = "",
    seeds: Annotated[str, typer.Option(help="Train seeds, as for run.")] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the study.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes; default: one per core.", min=1)] = None,
    device: DeviceOption = "auto",
    offline: Offline = False,
) -> None:
    """Run a study: train what it needs and is not recorded yet, record it, and show the answer."""
    from dataclasses import fields

    from benchmark.registry import parse_settings
    from benchmark.study import discover, make_study

    if not name:
        table = Table("study", "title", "settings", box=None, padding=(0, 1, 0, 0))
        for known, cls in discover().items():
            table.add_row(known, cls.title, ", ".join(f"{f.name}={f.default}" for f in fields(cls)))  # type: ignore[attr-defined]
        console.print(table)
        return
    from benchmark.lab import Lab
    from benchmark.train.device import device as named

    given = {"dataset": dataset, "canonical_seed": canonical_seed, "seeds": seeds}
    chosen = {k: v for k, v in given.items() if v} | parse_settings(settings or [])
    made = make_study(name, chosen)
    if backbone:
        datasets = expand(getattr(made, "dataset", ""))
        made = make_study(name, chosen | {"dataset": ",".join(_on(backbone, datasets))})
    lab = Lab(made, jobs, named(device), lambda line: console.print(line, markup=False))
    report = made.report(lab)
    lab.finish(report)
    lab.store.describe_launch(list(report.answer))
    shown = subprocess.run([sys.executable, "-m", "leaderboard", "study", name], check=False)
    raise typer.Exit(1 if shown.returncode else 0)


@app.command()
def status(
    method: Methods = ALL_METHODS,
    dataset: Datasets = DEFAULT_DATASET,
    backbone: BackboneOption = "",
    canonical_seed: CanonicalSeeds = "99",
    seeds: Seeds = "10",
    settings: Settings = None,
    device: DeviceOption = "auto",
    offline: Offline = False,
) -> None:
    """Show which cells of a grid are done, failed or missing, and the command that fills each."""
    from benchmark import tracking

    cells = _grid(method, dataset, backbone, canonical_seed, seeds, settings, device)
    statuses = tracking.Store().statuses()
    words = {"FINISHED": "done", "FAILED": "failed", "RUNNING": "interrupted or running", "KILLED": "interrupted"}
    for cell in cells:
        word = words.get(statuses.get(cell.key.digest, ""), "missing")
        line = f"{word:8} {cell.key.dataset}, split {cell.key.canonical_seed}: {cell.title}"
        console.print(line if word == "done" else f"{line}\n         {cell.command}", markup=False)


@app.command()
def plan(
    method: Methods = ALL_METHODS,
    dataset: Datasets = DEFAULT_DATASET,
    backbone: BackboneOption = "",
    canonical_seed: CanonicalSeeds = "99",
    seeds: Seeds = "10",
    settings: Settings = None,
    workers: Annotated[int | None, typer.Option(help="Workers; default: one per core.", min=1)] = None,
    offline: Offline = False,
) -> None:
    """Show what a grid will cost before anything is trained: networks, CPU hours, bytes."""
    from benchmark.plan import costs

    found = costs(_grid(method, dataset, backbone, canonical_seed, seeds, settings, "cpu"))
    style: dict[str, Any] = {"box": None, "padding": (0, 1, 0, 0)}
    table = Table("dataset", "split", "cells", "retrainings", "networks", "unshared", "CPU hours", "MB", **style)
    table.columns[0].no_wrap = True
    for cost in found:
        numbers = (cost.cells, cost.retrainings, cost.networks, cost.unshared)
        ends = (f"{cost.seconds / 3600:.2f}", f"{cost.bytes / 1e6:,.0f}")
        table.add_row(cost.dataset, str(cost.canonical_seed), *(f"{number:,}" for number in numbers), *ends)
    console.print(table)
    total = {
        name: sum(getattr(cost, name) for cost in found) for name in ("retrainings", "networks", "unshared", "bytes")
    }
    hours = sum(cost.seconds for cost in found) / 3600
    count = workers or os.cpu_count() or 1
    console.print(
        f"in all: {total['retrainings']:,} retrainings, {total['networks']:,} networks "
        f"({total['unshared']:,} if nothing were shared), {hours:.2f} CPU hours, {hours / count:.2f} hours on "
        f"{count} workers, {total['bytes'] / 1e6:,.0f} MB in the store"
    )
    left_out = sorted({title for cost in found for title in cost.not_counted})
    if left_out:
        console.print(f"not counted, because they train no stack of networks: {', '.join(left_out)}", markup=False)


@app.command()
def check(
    method: Annotated[str, typer.Argument(help="A method's name, or the path of its Python file.")],
) -> None:
    """Try the contract of a method on a small synthetic problem and say what to mend."""
    from benchmark.check import check_method
    from benchmark.registry import find, load_file

    cls: Any
    cls, settings = (load_file(Path(method)), []) if method.endswith(".py") else find(method)
    if settings:
        raise UserError(f"{method}: the contract is tried with the defaults: leave out {':'.join(settings)}")
    wrong = [(task, what) for task in cls.tasks for what in check_method(cls, task)]
    for task, what in wrong:
        console.print(f"{task}: {what}", markup=False)
    if wrong:
        raise typer.Exit(1)
    console.print(f"{cls.name} keeps the contract on {' and '.join(cls.tasks)}.", markup=False)


@app.command("new-method")
def new_method(name: Annotated[str, typer.Argument(help="A lower-case Python name, as in my_method.")]) -> None:
    """Write methods/NAME.py from the template."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UserError(f"method name {name!r}: expected lower-case letters, digits and _, as in my_method")
    path = ROOT / "methods" / f"{name}.py"
    text = (ROOT / "methods" / "_template.py").read_text(encoding="utf-8")
    title = name.replace("_", " ").capitalize()
    text = text.replace("NAME", name).replace("TITLE", title).replace("Template", title.title().replace(" ", ""))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} exists; choose another name or edit that file") from None
    console.print(f"wrote {path}\nnext: edit it, then\n  python -m benchmark check {name}", markup=False)
    console.print(f"  python -m benchmark run --method erm,{name} --dataset lite --seeds 5", markup=False)
    console.print("  python -m leaderboard build --published --out site", markup=False)


@app.command()
def speed(
    dataset: Annotated[str, typer.Option("--dataset", help="A classification dataset.")] = DEFAULT_DATASET,
    seeds: Seeds = "10",
    plain_seeds: Annotated[
        str, typer.Option(help="Train seeds of the plain loop, which takes minutes for each.")
    ] = "3",
    out: Annotated[Path | None, typer.Option(help="Write the timings to this JSON file.")] = None,
    offline: Offline = False,
) -> None:
    """Time the paper's table in the plain per-model PyTorch loop and in the harness, in one run (many minutes)."""
    from benchmark.data.problem import load_problem
    from benchmark.driver import parse_seeds
    from benchmark.speed import Timing, as_json, compare

    problem = load_problem(dataset)
    if problem.task != "classification":
        raise UserError(f"{dataset} is a {problem.task} dataset: speed compares classifiers")
    timings: list[Timing] = []

    def report(timing: Timing) -> None:
        timings.append(timing)
        churn = f"{timing.churn_erm:.1%}, {timing.churn_twin:.1%}" if timing.churn_erm and timing.churn_twin else "–"
        ratio = timings[0].seconds / timing.seconds
        line = f"{timing.what:42} {timing.seconds:8.2f} s  {ratio:6.2f}x   churn of ERM, twin: {churn}"
        console.print(line, markup=False)

    console.print("seconds for one train seed of seven methods")
    compare(problem, parse_seeds(seeds), parse_seeds(plain_seeds), report)
    if out:
        temporary = out.with_name(f".{out.name}.{os.getpid()}")
        temporary.write_text(json.dumps(as_json(timings), indent=1), encoding="utf-8")
        temporary.replace(out)


@app.command("export-protocol")
def export_protocol(
    dataset: Annotated[str, typer.Argument(help="A dataset's name, or the path of its TOML.")],
    out: Annotated[Path, typer.Option(help="Folder of the files.")],
    canonical_seed: CanonicalSeeds = "99",
    seeds: Seeds = "10",
    members: Annotated[int, typer.Option(help="Bootstraps for each train seed.", min=1)] = 1,
    offline: Offline = False,
) -> None:
    """Write what a trainer outside the suite needs: bootstraps, training labels, test ids, features."""
    from benchmark.driver import parse_seeds
    from benchmark.protocol import export

    splits = parse_seeds(canonical_seed + ("" if "," in canonical_seed else ","))
    path = export(dataset, out, splits, parse_seeds(seeds), members)
    console.print(f"wrote {path}\nnext: submissions/README.md", markup=False)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the suite's version.")] = False) -> None:
    if version:
        console.print(__version__)
        raise typer.Exit()


if __name__ == "__main__":
    app()
