"""Commands about datasets and this machine."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmark.commands.options import DEFAULT_DATASET, CanonicalSeeds, Offline, SamplingOption, Seeds, console, say
from benchmark.data.listing import SUMMARY, how_to_get, markdown, rows_text, summary
from benchmark.data.spec import MANY_ROWS, SAMPLED, DatasetSpec, as_written, dataset_names, expand, load_spec
from benchmark.errors import UserError, number_of
from benchmark.files import save
from benchmark.settings import items, parse_seeds, parse_splits

if TYPE_CHECKING:  # it imports RDKit, which takes a moment
    from benchmark.data.checks.health import Health


def list_(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATASET]...", help="Show each dataset of these names, groups or suites."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every dataset on its own line.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print only the table datasets/TABLE.md.")] = False,
) -> None:
    """List the datasets, methods and learners, or only the datasets that you name.

    The list says which datasets are on this machine, and how to get the others.
    """
    if as_markdown:
        if datasets or every:
            raise UserError("--markdown prints the table of the suite's datasets: name none, and leave out --all")
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
        bool, typer.Option("--families", help="Compare all datasets on this machine instead, and check their families.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(help="Write figures of all datasets here (--families: of pairs) to this CSV.")
    ] = None,
    offline: Offline = False,
) -> None:
    """Examine datasets for unusable rows, duplicates, conflicting targets, imbalance, leaks and shared molecules."""
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import to_text

    if bool(datasets) == families:
        raise UserError("name the datasets to examine, or compare all of them with --families")
    if as_json and (families or csv):
        raise UserError(f"--json has no effect with {'--families' if families else '--csv'}: leave one of them out")
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
        save(csv, to_csv(examine(spec, canonical_seed, expectation=True) for spec in shown).encode())
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
        save(csv, table.to_csv(index=False, float_format="%.4f").encode())
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
    say(f"pairs that contradict the TOMLs: {len(wrong)}" if wrong else "The families and groups of the TOMLs agree.")
    return 1 if wrong else 0


def new_dataset(
    file: Annotated[Path, typer.Argument(help="The table: CSV, TSV, Excel, Parquet or SDF, uncompressed or .gz.")],
    target: Annotated[str, typer.Option(help="The column to predict; several, with commas, make a dataset each.")] = "",
    smiles: Annotated[str, typer.Option(help="The SMILES column.", show_default="recognised")] = "",
    id_column: Annotated[str, typer.Option("--id", help="A column that names the rows.")] = "",
    task: Annotated[str, typer.Option(help="classification or regression.", show_default="inferred")] = "",
    positive: Annotated[str, typer.Option(help="The text of class 1, or '>= 5' or '>= median'.")] = "",
    classes: Annotated[str, typer.Option(help="The texts of all classes, class 0 first.")] = "",
    ignore_value: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A target that means a missing value; may be repeated.")
    ] = None,
    decimal: Annotated[
        str, typer.Option(help="The decimal mark of the numbers: , or .", show_default="recognised")
    ] = "",
    bounds: Annotated[str, typer.Option(help="Values such as >10: exclude, or exact.", show_default="exclude")] = "",
    log10: Annotated[bool, typer.Option("--log10", help="Predict the logarithm of the target.")] = False,
    desalt: Annotated[bool, typer.Option("--desalt", help="Keep the parent molecule of salts and mixtures.")] = False,
    sheet: Annotated[str, typer.Option(help="The sheet of an Excel workbook.", show_default="the only one")] = "",
    split: Annotated[
        str, typer.Option(help="scaffold:0.8 (default), random:0.8, or time, group, given or fold, as in time:COLUMN.")
    ] = "",
    merge: Annotated[str, typer.Option(help="Targets of a molecule on several lines: mean, majority or drop.")] = "",
    one_hot: Annotated[str, typer.Option(help="Columns of which each distinct text becomes a feature.")] = "",
    sample: Annotated[
        str, typer.Option(help="Rows to use, drawn at random, or all.", show_default=f"{SAMPLED:,} of > {MANY_ROWS:,}")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the dataset.", show_default="the file's")] = "",
    to: Annotated[Path | None, typer.Option(help="Folder for the TOML.", show_default="datasets/")] = None,
    update: Annotated[bool, typer.Option("--update", help="Make the next version, with the same columns.")] = False,
) -> None:
    """Make a dataset from a table: inspect the file, write its TOML, and report faults."""
    texts = {"smiles": smiles, "id_column": id_column, "task": task, "positive": positive, "split": split}
    texts |= {"decimal": decimal, "bounds": bounds, "merge": merge, "sheet": sheet, "sample": sample}
    named = [part.strip() for part in classes.split(",") if part.strip()]
    lists = {"classes": named, "ignore_value": ignore_value or [], "one_hot": items(one_hot)}
    given = texts | lists | {"log10": log10, "desalt": desalt}
    chosen: dict[str, Any] = {option: value for option, value in given.items() if value}
    if not (target or update):
        raise UserError("--target: expected the column to predict, or --update for a new version of a dataset")
    if update and (target or chosen.keys() - {"sheet"} or to):
        raise UserError(
            "--update takes the columns, task and split from the previous version: give --name and --sheet alone"
        )
    say(f"reading {file}")
    if update:
        _next_version(file, name, sheet)
    else:
        _new_versions(file, target, chosen, name, to)


def _new_versions(file: Path, target: str, chosen: dict[str, Any], name: str, to: Path | None) -> None:
    """Write a dataset for each target in a table; say how it was read, and last what to expect and to do next."""
    from benchmark.data.author import refuse_equal_names, write_dataset
    from benchmark.data.checks.health import examine
    from benchmark.data.checks.health_text import expected_line
    from benchmark.data.describe.fields import describe_file
    from benchmark.data.describe.given import columns_of
    from benchmark.data.describe.offers import offers

    targets = [target] if target in columns_of(file, chosen.get("sheet", "")) else items(target)
    if not targets:
        raise UserError(f"--target {target!r}: expected the column to predict")
    refuse_equal_names(targets)
    try:
        every = [
            describe_file(file, target=column, beside=[*filter(column.__ne__, targets)], **chosen) for column in targets
        ]
    except UserError as error:
        shared = [f"--{option}" for option in ("positive", "classes", "task", "log10", "merge") if option in chosen]
        if len(targets) == 1 or not shared:
            raise
        raise UserError(f"{error}; {', '.join(shared)} is for each target: give those alone that share it") from error
    _say_columns(every[0])
    notes: dict[str, None] = {}
    specs = []
    for described in every:
        say(f"  {_meaning(described)}")
        specs.append(load_spec(str(write_dataset(file, name, to, described, one_of_several=len(every) > 1))))
        new = dict.fromkeys(line for line in described.get("notes", "").splitlines() if line not in notes)
        for line in new:
            say(f"  {line}")
        notes |= new
    if not specs[0].smiles:
        from benchmark.data.rows import feature_columns

        say(f"  no column holds SMILES (--smiles COLUMN names one); features: {', '.join(feature_columns(specs[0]))}")
    for line in offers(file, every[0], targets):
        say(f"  {line}")
    reports = [examine(spec, 99, expectation=True) for spec in specs]
    for spec, report in zip(specs, reports, strict=True):
        _say_report(spec, report, short=len(specs) > 1)
        say(f"  wrote {spec.path}")
    for report in reports:
        if line := expected_line(report, several=len(specs) > 1):
            say(line)
    say(f"next: churn run {shlex.quote(','.join(spec.spelled for spec in specs))}")


def _say_columns(fields: dict[str, Any]) -> None:
    molecules = f"molecules in {fields['smiles']!r}" if "smiles" in fields else f"rows named by {fields['id']!r}"
    features = [*fields["features"], *(f"categories of {column!r}" for column, *_ in fields.get("one_hot", []))]
    split = fields["split"]
    split += " (id: a random test set; ood: other scaffolds)" if "scaffold" in split else ""
    say(f"{number_of(fields['rows'], 'row')}; {molecules}; features {', '.join(features)}; split {split}")


def _say_report(spec: DatasetSpec, report: Health, short: bool) -> None:
    from benchmark.data.checks.health_text import of_table

    for line in of_table(report, short):
        say(line)
    if not spec.merge and any(repeat.conflict for repeat in report.repeats):
        rule = "mean" if spec.task == "regression" else "majority"
        again = f'write merge = "{rule}" or "drop" into the TOML' if spec.previous else ""
        again = again or f"run again with --merge {rule} or --merge drop"
        say(f"  for one target per molecule, {again}")
    if spec.split.startswith(("time:", "group:")):
        say(f"  by {spec.split_column!r}, {_by_column(spec)}")
    excluded = spec.path.with_name(f"{spec.path.stem}-left-out.csv")
    if excluded.is_file():
        say(f"  the rows that are left out: {excluded}")


def _by_column(spec: DatasetSpec) -> str:
    """Return between which dates a split divides rows, or how many groups it keeps together and what may be none."""
    from benchmark.data.checks.missing import MISSING_WORDS, folded
    from benchmark.data.problem import split_rows
    from benchmark.data.rows import load_rows

    rows = load_rows(spec)
    split, parts = split_rows(spec, rows, 99), rows.used["part"]
    train, test = parts.iloc[split.train], parts.iloc[split.tests["id"]]
    if spec.split.startswith("time:"):
        (first, last), (then, end) = (part.iloc[[0, -1]] for part in (train, test))
        return f"training rows are of {first} to {last}, and test rows of {then} to {end}"
    text = f"groups of training rows: {train.nunique()}, of test rows: {test.nunique()}"
    for name, count in parts.value_counts().items():
        if not name or folded(str(name)) in MISSING_WORDS:
            text += f"; taken for one group: {number_of(count, 'row')} with {name!r}"
    if (alike := parts.nunique() - parts.map(folded).nunique()) > 0:
        text += f"; groups that differ from another only in capitals or blanks: {alike}"
    return text


def _meaning(fields: dict[str, Any]) -> str:
    """Return in words what a dataset predicts."""
    if fields["task"] == "regression":
        return f"{fields['target']!r}: numbers" + (", as logarithms" if fields.get("log10") else "")
    names = fields.get("classes") or [fields.get("negative") or "0", fields.get("positive") or "1"]
    if names[1].startswith(">= "):
        return f"{fields['target']!r}: two classes of numbers, the second {names[1]}"
    return f"{fields['target']!r}: classes {', '.join(names)}"


def _next_version(file: Path, name: str, sheet: str) -> None:
    from benchmark.data.author import next_version
    from benchmark.data.checks.health import examine

    path, last, found = next_version(file, name, sheet)
    spec = load_spec(str(path))
    what = "molecules" if spec.smiles else "rows"
    say(f"wrote {path}, the next version of {last}, which is unchanged")
    rest = f"{found.changed:,} with another target, {found.kept:,} unchanged"
    say(f"  {what}: {found.added:,} new, {found.removed:,} removed, {rest}")
    for line in filter(None, (found.doubt, *found.notes)):
        say(f"  {line}")
    if any("--" in line for line in found.notes):
        say(f"  an update takes no such option: write those that are named here as fields into {path.name}")
    _say_report(spec, examine(spec, 99), short=True)
    if found.ignored:
        say(f"  not features, because {last} has no such columns: {', '.join(map(repr, found.ignored))}")
    say(f"next: churn update --dataset {spec.spelled}")
    say(f"or:   churn run --method erm,svm --dataset {last},{spec.spelled}")


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
    offline: Offline = False,
) -> None:
    """Write the inputs for a trainer outside the suite: training rows for each seed, test examples without labels.

    Each train seed has its own training file, and its model is trained on that file alone.
    """
    from benchmark.run.protocol import CANONICAL_SEEDS, MOST_SEEDS, MOST_SPLITS, SUBMITTED, TRAIN_SEEDS, export

    chosen = parse_seeds(seeds) if seeds else ()
    path = export(dataset, out, parse_splits(canonical_seed), chosen, sampling)
    about = json.loads(path.read_text(encoding="utf-8"))
    then = (
        "next: churn score; a submission takes a dataset without settings, under "
        f"{', '.join(SUBMITTED[:-1])} or {SUBMITTED[-1]}, canonical seed {CANONICAL_SEEDS[0]} and train seeds 1 to "
        f"{TRAIN_SEEDS[sampling][-1]}, and at most {MOST_SEEDS} of these"
    )
    splits, trained = about["splits"], about["train_seeds"]
    needed = {*map(str, CANONICAL_SEEDS)} <= {*splits} and {*TRAIN_SEEDS[sampling]} <= {*trained}
    few = len(splits) <= MOST_SPLITS and len(trained) <= MOST_SEEDS
    if about["dataset"] in dataset_names() and sampling in SUBMITTED and needed and few:
        protocol = f"protocols: {{{sampling}/{about['dataset']}: '{about['fingerprint']}'}}"
        then = f"next: submissions/README.md; in submission.yml:\n  {protocol}"
    console.print(f"wrote {path}\n{then}", markup=False)
