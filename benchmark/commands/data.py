"""Commands about datasets and this machine."""

import shlex
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmark.commands.options import DEFAULT_DATASET, CanonicalSeeds, Offline, SamplingOption, Seeds, console, say
from benchmark.data.spec import as_written, dataset_names, expand, load_spec
from benchmark.errors import UserError


def list_(
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print only the datasets, as in the README.")] = False,
) -> None:
    """List datasets, methods and backbones, whether they are available here, and how to get the others."""
    from benchmark.data.catalogue import how_to_get, markdown, rows_text

    if as_markdown:
        print(markdown())
        return
    style: dict[str, Any] = {"box": None, "title_justify": "left", "padding": (0, 1, 0, 0)}
    datasets = Table("dataset", "rows", "task", "group", "family", "here", title="Datasets", **style)
    datasets.columns[0].no_wrap = True
    remedies: dict[str, list[str]] = {}
    for name in dataset_names():
        spec = as_written(name)
        if remedy := how_to_get(spec):
            remedies.setdefault(remedy, []).append(name)
        family = "" if spec.family == name else spec.family
        datasets.add_row(name, rows_text(spec), spec.task, spec.group, family, "no" if remedy else "yes")
    console.print(datasets)
    for remedy, absent in remedies.items():
        say(f"not here: {', '.join(absent)}: {remedy}")
    from benchmark.registry import discover, families

    available, unavailable = discover()
    methods = Table("method", "title", "hyperparameters", title="Methods", **style)
    for name, cls in available.items():
        methods.add_row(name, cls.title, ", ".join(f"{f.name}={f.default}" for f in fields(cls)))  # type: ignore[attr-defined]
    for name, title in families().items():
        methods.add_row(f"{name}:…", title, "its own")
    for name, reason in unavailable.items():
        methods.add_row(name, "not available", reason)
    console.print(methods)
    from benchmark.train.backbone import find, names  # backbones import PyTorch, which takes seconds: they come last

    backbones = Table("backbone", "reads", "recipe", "extra", title="Backbones", **style)
    for name in names():
        kind = find(name)
        recipe = ", ".join(f"{k}={v}" for k, v in kind.recipe.model_dump(exclude_unset=True).items())
        backbones.add_row(name, kind.reads, recipe or "the dataset's", kind.extra)
    console.print(backbones)


def health(
    datasets: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Datasets, groups or paths of TOML files.")
    ],
    canonical_seed: Annotated[int, typer.Option(help="Seed of the train/test split.")] = 99,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    offline: Offline = False,
) -> None:
    """Examine datasets: unusable rows, repetitions, conflicts, class balance, leaks, and shared molecules."""
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import to_text

    if not 0 <= canonical_seed < 2**32:
        raise UserError(f"canonical seed {canonical_seed}: expected a number from 0 to {2**32 - 1}")
    names = dict.fromkeys(name for words in datasets for name in expand(words))
    reports = [examine(load_spec(name), canonical_seed, overlaps=True, through=_shown) for name in names]
    if as_json:
        print("[" + ",\n".join(report.to_json() for report in reports) + "]")
        return
    for report in reports:
        say(to_text(report))


def new_dataset(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or SDF, plain or .gz.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    smiles: Annotated[str, typer.Option(help="The SMILES column; default: the one named so.")] = "",
    id_column: Annotated[str, typer.Option("--id", help="A column that names the rows.")] = "",
    task: Annotated[str, typer.Option(help="classification or regression; default: inferred from the column.")] = "",
    positive: Annotated[str, typer.Option(help="The text of class 1, or '>= median' to binarise a number.")] = "",
    split: Annotated[str, typer.Option(help="scaffold:0.8, random:0.8 or given:COLUMN.")] = "",
    name: Annotated[str, typer.Option(help="The dataset's name; default: the file's.")] = "",
    to: Annotated[Path | None, typer.Option(help="Folder of the TOML; default: the registry, datasets/.")] = None,
) -> None:
    """Make a dataset from a table: inspect the file, write its TOML, and report faults."""
    from benchmark.data.author import describe_file, write_dataset

    described = describe_file(
        file, target=target, smiles=smiles, id_column=id_column, task=task, split=split, positive=positive
    )
    class_one = f"; class 1 is {described['positive']!r}" if "positive" in described else ""
    features = ", ".join(described["features"])
    say(f"{file}: {described['rows']:,} rows")
    say(f"  {described['task']} of {target!r}{class_one}; split {described['split']}; features {features}")
    path = write_dataset(file, name, to, described)
    spec = load_spec(str(path))
    say(f"wrote {path}")
    if not spec.smiles:
        hint = "if a column holds SMILES, remove the TOML and name the column with --smiles"
        say(f"  no SMILES: {spec.id!r} names the rows, and the numbers are the features; {hint}")
        from benchmark.data.rows import feature_columns

        say(f"  features: {', '.join(feature_columns(spec))}")
        if spec.ignore:
            say(f"  not features, because some values are not numbers: {', '.join(spec.ignore)}")
    spelled = shlex.quote(spec.spelled)
    run = f"next: python -m benchmark run --method erm,twin --dataset {spelled} --site site"
    launch = f"or:   mlflow run . --env-manager local -P method=twin -P dataset={spelled}"
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import to_text

    say(f"{to_text(examine(spec, 99, overlaps=True, through=_shown))}\n{run}\n{launch}")


def _shown(names: list[str]) -> Iterable[str]:
    """Yield the names of datasets that are compared with one, with a bar on a terminal, otherwise after one line."""
    errors = Console(stderr=True)
    if errors.is_terminal:
        return track(names, "comparing molecules with known datasets", console=errors, transient=True)
    if names:
        errors.print(f"comparing molecules with {len(names)} known datasets", highlight=False)
    return names


def doctor() -> None:
    """Check this machine: versions, data, tracking store, disk and device, with a remedy for each problem."""
    from benchmark.commands.doctor import diagnose

    broken = False
    for finding in diagnose(DEFAULT_DATASET):
        remedy = f"\n      {finding.remedy}" if finding.remedy else ""
        say(f"{finding.state:5} {finding.what}{remedy}")
        broken |= finding.vital and finding.state == "bad"
    console.print("The default job cannot run here." if broken else "The default job can run here.")
    raise typer.Exit(1 if broken else 0)


def export_protocol(
    dataset: Annotated[str, typer.Argument(help="A dataset's name, or the path of its TOML.")],
    out: Annotated[Path, typer.Option(help="New or empty folder for the files.")],
    sampling: SamplingOption = "halves",
    canonical_seed: CanonicalSeeds = "99",
    seeds: Seeds = "",
    members: Annotated[int, typer.Option(help="Bootstraps for each train seed, under paper.", min=1)] = 1,
    offline: Offline = False,
) -> None:
    """Write the inputs for a trainer outside the suite: training rows for each seed, test examples without labels.

    Under halves and nested, each train seed has its own training file, and its model is trained on that file alone.
    Under paper, the files hold the whole pool and its bootstraps.
    """
    from benchmark.run.protocol import export
    from benchmark.settings import parse_seeds, parse_splits

    chosen = parse_seeds(seeds) if seeds else ()
    path = export(dataset, out, parse_splits(canonical_seed), chosen, members, sampling)
    console.print(f"wrote {path}\nnext: submissions/README.md", markup=False)
