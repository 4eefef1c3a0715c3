"""The pages that are made from the program: command line, API, datasets, studies and measures."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import Any, cast

import pandas as pd
import typer
from docstrings import plain
from typer.cli import get_docs_for_click

import benchmark.__main__
import leaderboard.__main__
from benchmark import estimators
from benchmark.data.checks import families
from benchmark.data.checks.expected_churn import Properties
from benchmark.data.checks.health import NEAR
from benchmark.data.checks.health_table import COUNTS, OF_TABLE
from benchmark.data.checks.health_text import to_expect
from benchmark.data.downloads import origin
from benchmark.data.listing import rows_text, summary
from benchmark.data.rows import REASONS
from benchmark.data.spec import DatasetSpec, as_written, dataset_names
from benchmark.files import shipped_datasets
from benchmark.measure.catalogue import CATALOGUE
from benchmark.studies import discover
from benchmark.types import MLP, TASKS

PROGRAMS = {"benchmark": benchmark.__main__.app, "leaderboard": leaderboard.__main__.app}
BIBTEX = (shipped_datasets() / "datasets.bib").read_text(encoding="utf-8")
INDEX = ("dataset", "name", "task", "rows", "train", "test", "conflicts")
PACKAGES = ("benchmark", "leaderboard")
BEYOND: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "types": ("Types", {"benchmark.types": "Sample Inputs Model Problem Examples Predictions Recipe Sampling"}),
    "writing": (
        "Writing methods",
        {
            "benchmark.pipeline": "Remedy Learner Part Need method Pipeline",
            "benchmark.train": "bootstrap generator Mean",
            "benchmark.learners._estimator": "Estimators TrainingSet",
            "benchmark.train.learner": "NetworkLearner",
            "benchmark.train.ensemble": "Step Epoch Ensemble",
        },
    ),
    "studies": (
        "Writing studies",
        {
            "benchmark.study.context": "study Study Context",
            "benchmark.study.report": "Report Sheet Chart Measured Sampled Head",
        },
    ),
    "measures": (
        "Measures",
        {"benchmark.measure.measure": "Measure", "benchmark.measure": "catalogue matched ranking updates"},
    ),
    "intervals": ("Intervals", {"benchmark.measure": "intervals estimate"}),
    "scores": (
        "Scores",
        {
            "leaderboard.scoring.score": "Score Flips",
            "leaderboard.scoring.runs": "Runs",
            "leaderboard.evaluator": "ChurnEvaluator",
        },
    ),
}
"""Pages of the API beside those of the packages: a title, and what is on them, by where it is."""
ABOUT = {
    "writing": "A remedy derives from `Remedy`, and a learner from `Learner`, from `Estimators` or from "
    "`NetworkLearner`. `method` is their decorator, and `learner` is another name for it. [A new "
    "method](../../tutorials/new-method.md) is an example."
}
"""A text before them."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place and the Markdown of each generated page."""
    yield "reference/cli.md", cli()
    yield "reference/studies.md", studies()
    yield "reference/measures.md", measures()
    for package in PACKAGES:
        module = importlib.import_module(package)
        yield f"reference/api/{package}.md", api(f"`{package}`", public(package), module.__doc__, inherited=True)
    yield "reference/api/estimators.md", api("Estimators", own(estimators), estimators.__doc__, inherited=True)
    for name, (title, places) in BEYOND.items():
        objects = [f"{place}.{one}" for place, names in places.items() for one in names.split()]
        yield f"reference/api/{name}.md", api(title, objects, ABOUT.get(name))
    shipped = [spec for spec in map(as_written, dataset_names()) if spec.shipped]
    yield "reference/datasets/index.md", index(shipped)
    for spec in shipped:
        yield f"reference/datasets/{spec.name}.md", dataset(spec, shipped)


def cli() -> str:
    """Return the page of both command lines, as typer describes them."""
    parts = ["# Command line", "The console script `churn` has the commands of both packages, in any folder."]
    for name, app in PROGRAMS.items():
        command = cast(Any, typer.main.get_command(app))
        program = f"python -m {name}"
        context = typer.Context(command, info_name=program)
        text = get_docs_for_click(obj=command, ctx=context, indent=1, name=program)
        listed = ""  # typer cuts what it says of a command in the list of commands
        for one, of in command.commands.items():
            listed += f"* [`{one}`](#python--m-{name}-{one}): {of.help.partition(chr(10))[0]}\n"
        before, start, rest = text.partition("**Commands**:\n\n")
        parts.append(before + start + listed + re.sub(r"^(\* .*\n)+", "", rest))
    return "\n\n".join(parts)


def public(package: str) -> list[str]:
    """Return where the public names of a package are defined."""
    module = importlib.import_module(package)
    found = [getattr(module, name) for name in module.__all__ if not name.startswith("_")]
    return [f"{one.__module__}.{one.__qualname__}" for one in found]


def own(module: ModuleType) -> list[str]:
    """Return where the public classes and functions that a module defines are."""
    found = {name: one for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
    return [f"{module.__name__}.{name}" for name in found if not name.startswith("_")]


def api(title: str, objects: Any, about: str | None = "", inherited: bool = False) -> str:
    """Return a page of the API: a text, and objects, whose ``inherited`` members can be shown."""
    options = "\n    options:\n      inherited_members: true" if inherited else ""
    return "\n\n".join([f"# {title}", plain(about or ""), *(f"::: {name}{options}" for name in objects)]) + "\n"


def table(head: tuple[str, ...], rows: Any) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def studies() -> str:
    """Return the page of all studies with their settings."""
    parts = ["# All studies", "Run one with `churn study NAME`, and set what is listed with `--set SETTING=VALUE`."]
    for name, kind in discover().items():
        about = (importlib.import_module(kind.__module__).__doc__ or "").strip()
        rows = [(f"`{field.name}`", f"`{field.default}`" if field.default != "" else "") for field in fields(kind)]
        own = kind.__doc__ if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else ""
        parts += [f"## `{name}`", f"**{kind.title}**", own or about, table(("setting", "default"), rows)]
    return "\n\n".join(parts) + "\n"


def measures() -> str:
    """Return the page of all measures."""
    parts = [
        "# All measures",
        "All measures are computed from recorded predictions. *Per* says what a measure has one value for: each *run* "
        "(one retraining) or each *pair* of runs; values are averaged over these. *Key* "
        "is the name in MLflow (`id/KEY`), in files, and after `--measure`.",
    ]
    for task in TASKS:
        rows = []
        for measure in (measure for measure in CATALOGUE if measure.task == task):
            function = measure.each or measure.per_run or measure.per_pair
            says = measure.help or first_sentence(function)
            per = "pair" if measure.per_pair else "run"
            better = {1: "higher", -1: "lower"}.get(measure.better, "neither")
            rows.append((measure.name, f"`{measure.key}`", says, per, measure.unit, better))
        header = ("measure", "key", "definition", "per", "unit", "better")
        parts += [f"## {task.capitalize()}", table(header, rows)]
    return "\n\n".join(parts) + "\n"


def first_sentence(function: Any) -> str:
    """Return what a function returns, as its docstring says, without the shape."""
    text = " ".join((function.__doc__ or "").split())
    text = re.split(r"(?<=[^.A-Z])[.:;] ", text + " ")[0].rstrip(". ")
    text = re.sub(r",? \([RTJC][^()]*\)( of bool)?|,? \(paper, [^()]*\)", "", text)
    return re.sub(r"^Return (the )?", "", text)


def index(specs: Sequence[DatasetSpec]) -> str:
    """Return the index of datasets, with a table for each suite and group."""
    parts = [
        "# All datasets",
        f"The suite has {len(specs)} datasets. Each is listed under every suite and group that it belongs to. *Train* "
        "and *test* are rows of the paper's split (canonical seed 99); a second number under *test* is the test set "
        "out of distribution. *Conflicts* are molecules on several rows with different targets.",
    ]
    for (name, *_), members in summary(specs):
        parts += [f"## `{name}`", table(INDEX, (_line(spec) for spec in members))]
    return "\n\n".join(parts) + "\n"


@cache
def _listed() -> Mapping[str, Mapping[str, Any]]:
    """Return datasets/health.csv: figures by column for each dataset, without those that do not apply."""
    table = pd.read_csv(shipped_datasets() / "health.csv", dtype=dict.fromkeys(COUNTS, "Int64"))
    lines = ({str(column): value for column, value in line.dropna().items()} for _, line in table.iterrows())
    return {str(line.pop("dataset")): line for line in lines}


def _properties(spec: DatasetSpec) -> Properties | None:
    """Return the properties of a dataset under the paper's split; None where the table has none."""
    line = _listed().get(spec.name, {})
    if "knn_churn" not in line:
        return None
    share = line.get("train_positive")
    return Properties(
        spec.task,
        line["train"],
        None if share is None else min(share, 1 - share),
        **{field: line.get(field) for field in OF_TABLE},
    )


def _line(spec: DatasetSpec) -> tuple[Any, ...]:
    found = _listed().get(spec.name, {})
    tests = " + ".join(f"{found[part]:,}" for part in ("id", "ood") if part in found)
    train = f"{found['train']:,}" if found else "–"
    name = f"[{spec.title}]({spec.name}.md)"
    return name, f"`{spec.name}`", spec.task, rows_text(spec), train, tests or "–", found.get("conflicting", "–")


def dataset(spec: DatasetSpec, specs: Sequence[DatasetSpec]) -> str:
    """Return the page of a dataset: what it is, where it comes from, its split, and what its health report says."""
    target = spec.target_name or spec.target
    parts = [
        f"# {spec.title}",
        "[All datasets](index.md)",
        f"{target[:1].upper()}{target[1:]}{f' ({spec.unit})' if spec.unit else ''}.",
        *([spec.notes] if spec.notes else []),
        f"```sh\nchurn run --method erm,twin --dataset {spec.name}\nchurn health {spec.name}\n```",
        "## Facts",
        table(("fact", "value"), _facts(spec)),
        *_reference(spec),
        *_health(spec),
        *_relatives(spec, specs),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(spec: DatasetSpec) -> Iterator[tuple[str, str]]:
    yield "Name", f"`{spec.name}`"
    yield "Task", spec.task
    classes = ", ".join(spec.classes) or (f"class 1 is {spec.positive}" if spec.positive else "")
    if classes:
        yield "Classes", classes
    yield "Group", f"`{spec.group}`"
    if spec.suites:
        yield "Suites", ", ".join(f"`{suite}`" for suite in spec.suites)
    yield "Family", f"`{spec.family}`"
    if spec.strict_family != spec.family:
        yield "Group of families", f"`{spec.strict_family}`"
    yield "Rows", rows_text(spec)
    yield "Features", ", ".join(f"`{name}`" for name in spec.features)
    yield "Split", f"`{spec.split}`" + (f"; by date with `@split=time` (`{spec.dated}`)" if spec.dated else "")
    if spec.backbone != MLP:
        yield "Learner", f"`{spec.backbone}`"
    page = "" if spec.source.startswith("hf:") else (origin(spec).page or origin(spec).url)
    yield "Source", f"[`{spec.source}`]({page})" if page else f"`{spec.source}`"
    if spec.sha256:
        yield "SHA-256 of the file", f"`{spec.sha256}`"
    yield "Licence", spec.licence


def _reference(spec: DatasetSpec) -> Iterator[str]:
    """Yield the section on citation, with the entry of datasets.bib."""
    if not spec.cite:
        return
    entry = re.search(rf"^@\w+\{{{re.escape(spec.cite)},$.*?^\}}", BIBTEX, re.M | re.S)
    assert entry, f"datasets.bib has no {spec.cite}"
    yield "## Cite"
    if doi := re.search(r"\bdoi\s*=\s*\{(.+?)\}", entry[0]):
        yield f"<https://doi.org/{doi[1]}>"
    elif arxiv := re.search(r"\beprint\s*=\s*\{(.+?)\}", entry[0]):
        yield f"<https://arxiv.org/abs/{arxiv[1]}>"
    yield f"```bibtex\n{entry[0]}\n```"


def _health(spec: DatasetSpec) -> Iterator[str]:
    """Yield the sections on the split and on the health of a dataset."""
    found = _listed().get(spec.name)
    if found is None:
        return
    regression = spec.task == "regression"
    yield "## The paper's split"
    head = ("part", "rows", *(() if regression else ("class 1",)), "in the training pool", "nearly so")
    called = {"train": "training pool", "id": "test, in distribution", "ood": "test, out of distribution"}
    rows = []
    for part in (part for part in called if part in found):
        share = f"{found[f'{part}_positive']:.1%}" if f"{part}_positive" in found else "–"
        shared = (found.get(f"{part}_{kind}_train", "–") for kind in ("in", "near"))
        rows.append((called[part], f"{found[part]:,}", *(() if regression else (share,)), *shared))
    yield table(head, rows)
    yield (
        "Canonical seed 99. The last two columns count test rows whose molecule is in the training pool, or has a "
        f"Tanimoto similarity of at least {NEAR} to one that is."
    )
    yield "## Health"
    left = [f"{found[reason]:,} left out: {words}" for reason, words in REASONS.items() if found.get(reason)]
    what = "molecules" if spec.smiles else "rows with equal features"
    used = f"{found['used']:,} of {found['rows']:,} rows of the file are used"
    repeats = f"{found['repeats']:,} {what} on several rows, {found['conflicting']:,} of them with different targets"
    yield "\n".join(f"- {line}" for line in (used, *left, repeats))
    if (of := _properties(spec)) is not None and (churn := to_expect(of, spec.unit)):
        yield f"{churn}."


def _relatives(spec: DatasetSpec, specs: Sequence[DatasetSpec]) -> Iterator[str]:
    """Yield the section on datasets that share molecules."""
    titles = {one.name: one.title for one in specs}
    shared = families.listed(spec.name)
    if shared.empty:
        return
    yield "## Datasets that share molecules"
    rows = []
    for row in shared.itertuples():
        correlation = "–" if math.isnan(row.pearson) else f"{row.pearson:.2f}"
        name = f"[{titles[row.second]}]({row.second}.md)"
        rows.append((name, f"{row.shared:,}", f"{row.share:.0%}", correlation, row.one or "–"))
    yield table(("dataset", "shared molecules", "of the smaller", "correlation of labels", "one"), rows)
    yield "[The rule of families](../dataset-files.md#families) says which datasets count as one."
