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
from benchmark.data.spec import DatasetSpec, as_written, dataset_names, expand, load_spec
from benchmark.errors import UserError


def list_(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATASET]...", help="Show each dataset of these names, groups or suites on its own line."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every dataset on its own line.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print only the table of datasets, in Markdown, as in datasets/TABLE.md.")
    ] = False,
) -> None:
    """List the datasets, methods and learners, or only the datasets that you name.

    The list says which datasets are on this machine, and how to get the others.
    """
    from benchmark.data.listing import SUMMARY, how_to_get, markdown, rows_text, summary

    if as_markdown:
        print(markdown())
        return
    style: dict[str, Any] = {"box": None, "title_justify": "left", "padding": (0, 1, 0, 0)}
    one_by_one = bool(datasets or every)
    chosen = [name for words in datasets for name in expand(words)] if datasets else dataset_names()
    specs = [load_spec(name) if datasets else as_written(name) for name in dict.fromkeys(chosen)]
    remedies = {spec.name: how_to_get(spec) for spec in specs}
    if not one_by_one:
        overview = Table(*SUMMARY, "here", title="Datasets", **style)
        for cells, members in summary(specs):
            overview.add_row(*cells, f"{sum(not remedies[spec.name] for spec in members)} of {len(members)}")
        console.print(overview)
        say("To show the datasets of a row, e.g. wide: churn list wide; to show all: churn list --all")
        specs = [spec for spec in specs if spec.source.startswith("file:")]
    if specs:
        table = Table("dataset", "rows", "task", "group", "family", "here", **style)
        table.columns[0].no_wrap = table.columns[1].no_wrap = table.columns[-1].no_wrap = True
        for spec in specs:
            family = "" if spec.family == spec.name else spec.family
            here = "no" if remedies[spec.name] else "yes"
            table.add_row(spec.spelled, rows_text(spec), spec.task, spec.group, family, here)
        console.print(table)
    for remedy in dict.fromkeys(remedies[spec.name] for spec in specs if remedies[spec.name]):
        say(f"not on this machine: {', '.join(spec.name for spec in specs if remedies[spec.name] == remedy)}: {remedy}")
    if datasets:
        return
    from benchmark.pipeline import Learner
    from benchmark.registry import SKLEARN, discover

    available, unavailable = discover()
    methods = Table("method", "title", "hyperparameters", title="Methods", **style)
    learners = Table("learner", "title", "hyperparameters", "reads", "extra", title="Learners", **style)
    for name, cls in available.items():
        own = ", ".join(f"{f.name}={f.default}" for f in fields(cls) if f.default is not None)
        if issubclass(cls, Learner):
            learners.add_row(name, cls.title, own, cls.reads, cls.extra)
        else:
            methods.add_row(name, cls.title, own)
    learners.add_row(f"{SKLEARN}:…", "Any estimator, as in sklearn:sklearn.svm.SVC:C=10", "its own", "numbers", "")
    for name, reason in unavailable.items():
        methods.add_row(name, "not available", reason)
    console.print(methods, learners)


def health(
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="DATASET...", help="Datasets, groups or paths of TOML files.")
    ] = None,
    canonical_seed: Annotated[int, typer.Option(help="Seed of the train/test split.")] = 99,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    families: Annotated[
        bool,
        typer.Option(
            "--families",
            help="Compare all datasets on this machine instead, and check that those with the same molecules and "
            "labels are one family.",
        ),
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="Write figures to this CSV, one line for each dataset on this machine, and print no report; with "
            "--families, the pairs that share molecules."
        ),
    ] = None,
    offline: Offline = False,
) -> None:
    """Examine datasets for unusable rows, duplicates, conflicting targets, imbalance, leaks and shared molecules."""
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import to_text

    if bool(datasets) == families:
        raise UserError("name the datasets to examine, or compare all of them with --families")
    if families:
        raise typer.Exit(_families(csv))
    if not 0 <= canonical_seed < 2**32:
        raise UserError(f"canonical seed {canonical_seed}: expected a number from 0 to {2**32 - 1}")
    names = dict.fromkeys(name for words in datasets or () for name in expand(words))
    if csv:
        from benchmark.data.checks.families import comparable
        from benchmark.data.checks.health_table import to_csv

        specs = comparable(map(load_spec, names))
        errors = Console(stderr=True)
        shown = track(specs, "examining datasets", console=errors, transient=True) if errors.is_terminal else specs
        csv.write_text(to_csv(examine(spec, canonical_seed, expectation=True) for spec in shown), encoding="utf-8")
        absent = sorted({*names} - {spec.spelled for spec in specs})
        say(f"wrote {csv}, with {len(specs)} of {len(names)} datasets")
        if absent:
            say(f"left out, because their tables are not on this machine: {', '.join(absent)}")
        return
    reports = [
        examine(load_spec(name), canonical_seed, overlaps=True, expectation=True, through=_shown) for name in names
    ]
    if as_json:
        print("[" + ",\n".join(report.to_json() for report in reports) + "]")
        return
    for report in reports:
        say(to_text(report))


def _families(csv: Path | None) -> int:
    """Compare all datasets, write the pairs that share molecules, and return 1 if the TOMLs contradict them, else 0."""
    from benchmark.data.checks import families as checks

    specs = [as_written(name) for name in dataset_names()]
    here = checks.comparable(specs)
    table, unread = checks.pairs(here, _shown)
    if csv:
        table.to_csv(csv, index=False, float_format="%.4f")
        say(f"wrote {csv}")
    wrong = checks.contradictions(table, {spec.name: spec for spec in specs})
    kinds = table["one"].value_counts()
    say(
        f"{len(here) - len(unread)} of {len(specs)} datasets compared: {len(table):,} pairs share at least "
        f"{checks.LISTED:.0%} of the smaller one's molecules; {kinds.get('family', 0)} of these pairs must be in "
        f"one family, and {kinds.get('group', 0)} more in one group of families"
    )
    if unread:
        say(f"not compared, because their files cannot be read: {', '.join(unread)} (see doctor)")
    for line in wrong:
        say(line)
    say(f"{len(wrong)} pairs contradict the TOMLs" if wrong else "The families and groups of the TOMLs agree.")
    return 1 if wrong else 0


def new_dataset(
    file: Annotated[Path, typer.Argument(help="The table: CSV, TSV, Parquet or SDF, uncompressed or .gz.")],
    target: Annotated[
        str,
        typer.Option(
            help="The column to predict; several columns, separated by commas, make one dataset each. Required unless "
            "--update is given."
        ),
    ] = "",
    smiles: Annotated[
        str, typer.Option(help="The SMILES column.", show_default="the one with SMILES in its name")
    ] = "",
    id_column: Annotated[str, typer.Option("--id", help="A column that names the rows.")] = "",
    task: Annotated[
        str, typer.Option(help="classification or regression.", show_default="inferred from the column")
    ] = "",
    positive: Annotated[
        str, typer.Option(help="The text that marks class 1, or '>= median' to turn numbers into two classes.")
    ] = "",
    split: Annotated[
        str, typer.Option(help="scaffold:0.8, random:0.8, time:COLUMN, group:COLUMN or given:COLUMN.")
    ] = "",
    merge: Annotated[
        str,
        typer.Option(
            help="How to treat a molecule on several lines: use the mean or majority of its targets, or drop it."
        ),
    ] = "",
    one_hot: Annotated[
        str,
        typer.Option(
            help="Text columns to use as features, separated by commas; each distinct text becomes one feature."
        ),
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the dataset.", show_default="the file's")] = "",
    to: Annotated[
        Path | None, typer.Option(help="Folder for the TOML.", show_default="the registry, datasets/")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Make the next version of the dataset, with the same columns and split.")
    ] = False,
) -> None:
    """Make a dataset from a table: inspect the file, write its TOML, and report faults."""
    from benchmark.data.author import columns_of, describe_file, offers, write_dataset

    if update:
        _next_version(
            file, name, bool(target or smiles or id_column or task or positive or split or merge or one_hot or to)
        )
        return
    if not target:
        raise UserError("--target: expected the column to predict, or --update for a new version of a dataset")
    targets = [target] if target in columns_of(file) else [one.strip() for one in target.split(",") if one.strip()]
    options = {"smiles": smiles, "id_column": id_column, "task": task, "positive": positive, "split": split}
    texts = [one.strip() for one in one_hot.split(",") if one.strip()]
    every = [describe_file(file, target=one, merge=merge, one_hot=texts, **options) for one in targets]
    say(f"{file}: {every[0]['rows']:,} rows")
    specs = []
    for described in every:
        kind = f"{described['task']} of {described['target']!r}"
        kind += f"; class 1 is {described['positive']!r}" if "positive" in described else ""
        kind += f"; classes {', '.join(described['classes'])}" if "classes" in described else ""
        features = [*described["features"], *(f"categories of {name!r}" for name in texts)]
        say(f"  {kind}; split {described['split']}; features {', '.join(features)}")
        path = write_dataset(file, name, to, described, one_of_several=len(every) > 1)
        specs.append(load_spec(str(path)))
        say(f"wrote {path}")
    for line in offers(file, every[0]):
        say(f"  {line}")
    first = specs[0]
    if not first.smiles:
        hint = "if a column holds SMILES, remove the TOML and run again with --smiles COLUMN"
        say(f"  no SMILES: {first.id!r} names the rows, and the columns of numbers are the features; {hint}")
        from benchmark.data.rows import feature_columns

        say(f"  features: {', '.join(feature_columns(first))}")
        if first.ignore:
            say(f"  not features, because some values are not numbers: {', '.join(first.ignore)}")
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import to_text

    for spec in specs:
        report = examine(spec, 99, expectation=True)
        say(to_text(report))
        if not spec.merge and any(repeat.conflict for repeat in report.repeats):
            rule = "mean" if spec.task == "regression" else "majority"
            say(f"  for one target per molecule, remove the TOML and run again with --merge {rule} or --merge drop")
    spelled = shlex.quote(",".join(spec.spelled for spec in specs))
    say(f"next: churn run --method erm,svm,bagging,twin --dataset {spelled} --site site")
    say(f"or:   churn update --dataset {spelled}")
    say(f"or:   mlflow run . --env-manager local -P method=twin -P dataset={spelled}")
    for spec in specs:
        for line in _shared(spec):
            say(line)


def _next_version(file: Path, name: str, others: bool) -> None:
    from benchmark.data.author import next_version

    if others:
        raise UserError(
            "--update takes the columns, task and split from the previous version: give no other option but --name"
        )
    path, last, found = next_version(file, name)
    spec = load_spec(str(path))
    what = "molecules" if spec.smiles else "rows"
    say(f"wrote {path}, the next version of {last}, which is unchanged")
    rest = f"{found.changed:,} with another target, {found.kept:,} unchanged"
    say(f"  {what}: {found.added:,} new, {found.removed:,} removed, {rest}")
    say(f"next: churn update --dataset {spec.spelled}")
    say(f"or:   churn run --method erm,svm --dataset {last},{spec.spelled}")


def _shared(spec: DatasetSpec) -> list[str]:
    """Return the lines on known datasets with the same molecules, for which each of them is read."""
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import to_text

    lines = to_text(examine(spec, 99, overlaps=True, through=_shown)).splitlines()
    return [line for line in lines if line.lstrip().startswith("shares ")]


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
    members: Annotated[
        int, typer.Option(help="Bootstraps for each train seed; only with --sampling paper.", min=1)
    ] = 1,
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
