"""The pages that are made from the program: command line, API, datasets, studies and measures."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from html import unescape
from typing import Any, get_args

import typer
from typer.cli import get_docs_for_click

import benchmark.__main__
import leaderboard.__main__
from benchmark.data.catalogue import GROUPS, rows_text, summary
from benchmark.data.checks import families, health_table
from benchmark.data.checks.health import NEAR, REASONS
from benchmark.data.checks.health_text import to_expect
from benchmark.data.spec import DatasetSpec, as_written, dataset_names
from benchmark.files import CHECKOUT, shipped_datasets
from benchmark.lab import study
from benchmark.measure.catalogue import CATALOGUE, SCORECARD
from benchmark.types import TASKS

PROGRAMS = {"benchmark": benchmark.__main__.app, "leaderboard": leaderboard.__main__.app}
PACKAGES = ("benchmark", "methods", "leaderboard")
BEYOND: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "types": (
        "What methods get and give",
        tuple(
            f"benchmark.types.{name}"
            for name in "Sample Fitted Method Problem Examples Predictions Recipe DatasetFacts Sampling".split()
        ),
    ),
    "writing": (
        "What methods are written with",
        (
            *("benchmark.registry.method", "benchmark.train.bootstrap", "benchmark.train.fit_stack"),
            *("benchmark.train.generator", "methods._estimator.Estimators", "benchmark.train.backbone.Backbone"),
        ),
    ),
    "studies": (
        "What studies are written with",
        (
            *("benchmark.lab.study.study", "benchmark.lab.study.Study", "benchmark.lab.study.Lab"),
            *(f"benchmark.lab.report.{name}" for name in "Report Sheet Chart Axis Point Measured Sampled Head".split()),
        ),
    ),
    "measures": (
        "Measures",
        ("benchmark.measure.measure.Measure", "benchmark.measure.catalogue", "benchmark.measure.ranking",
         "benchmark.measure.sets", "benchmark.measure.conformal", "benchmark.measure.abstention",
         "benchmark.measure.updates"),
    ),
    "intervals": ("Intervals", ("leaderboard.stats.intervals",)),
    "scores": ("Scores", ("leaderboard.scoring.score.Score", "leaderboard.scoring.score.Flips",
                          "leaderboard.scoring.runs.Runs", "leaderboard.evaluator.ChurnEvaluator")),
}
"""Pages of the API beside those of the packages: a title, and what is on them."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place and the Markdown of each generated page."""
    yield "reference/cli.md", cli()
    yield "reference/studies.md", studies()
    yield "reference/measures.md", measures()
    for package in PACKAGES:
        yield f"reference/api/{package}.md", api(f"`{package}`", public(package), importlib.import_module(package))
    for name, (title, objects) in BEYOND.items():
        yield f"reference/api/{name}.md", api(title, objects)
    shipped = [spec for spec in map(as_written, dataset_names()) if spec.path.parent == shipped_datasets()]
    yield "reference/datasets/index.md", index(shipped)
    references = bibliography()
    for spec in shipped:
        yield f"reference/datasets/{spec.name}.md", dataset(spec, shipped, references)


def cli() -> str:
    """Return the page of both command lines, as typer describes them."""
    parts = ["# Command line\n", "The console script `churn` has the commands of both packages.\n"]
    for name, app in PROGRAMS.items():
        command = typer.main.get_command(app)
        context = typer.Context(command, info_name=f"python -m {name}")
        parts.append(get_docs_for_click(obj=command, ctx=context, indent=1, name=f"python -m {name}"))
    return "\n".join(parts)


def public(package: str) -> list[str]:
    """Return where the public names of a package are defined."""
    module = importlib.import_module(package)
    found = [getattr(module, name) for name in module.__all__ if not name.startswith("_")]
    return [f"{one.__module__}.{one.__qualname__}" for one in found]


def api(title: str, objects: Any, package: Any = None) -> str:
    """Return a page of the API."""
    about = [] if package is None else [re.sub(r"::$", ":", package.__doc__, flags=re.M)]
    return "\n\n".join([f"# {title}", *about, *(f"::: {name}" for name in objects)]) + "\n"


def table(head: tuple[str, ...], rows: Any) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def studies() -> str:
    """Return the page of all studies with their settings."""
    parts = [
        "# All studies",
        "Run one with `python -m benchmark study NAME`, and set what is listed with `--set SETTING=VALUE`.",
    ]
    for name, kind in study.discover().items():
        about = (importlib.import_module(kind.__module__).__doc__ or "").strip()
        rows = [(f"`{field.name}`", f"`{field.default}`" if field.default != "" else "") for field in fields(kind)]
        own = kind.__doc__ if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else ""
        parts += [f"## `{name}`", f"**{kind.title}**", own or about, table(("setting", "default"), rows)]
    return "\n\n".join(parts) + "\n"


def measures() -> str:
    """Return the page of all measures."""
    parts = [
        "# All measures",
        "Each is computed from recorded predictions. *Better* says in which direction; a measure *per run* is averaged over "
        "retrainings, one *per pair* over all pairs of them, and one *of all* describes all retrainings together. The "
        "*key* names a measure in MLflow (`id/KEY`), in files and in `--measure`.",
    ]
    for task in TASKS:
        parts += [f"## {task.capitalize()}"]
        rows = []
        for measure in CATALOGUE:
            if measure.task != task:
                continue
            function = measure.each or measure.per_run or measure.per_pair or measure.per_set
            assert function is not None
            says = measure.help or first_sentence(function)
            kind = "run" if measure.each or measure.per_run else "pair" if measure.per_pair else "all"
            rows.append((measure.name, f"`{measure.key}`", says, kind, measure.unit, "higher" if measure.better > 0 else "lower"))
        parts.append(table(("measure", "key", "definition", "per", "unit", "better"), rows))
    return "\n\n".join(parts) + "\n"


def first_sentence(function: Any) -> str:
    text = " ".join((function.__doc__ or "").split())
    return re.split(r"(?<=[^.A-Z])[.:;] ", text + " ")[0].removeprefix("Return the ").removeprefix("Return ").rstrip(". ")


def bibliography() -> dict[str, dict[str, str]]:
    """Return the entries of datasets.bib by key."""
    text = (shipped_datasets() / "datasets.bib").read_text("utf-8")
    return {
        key: {name.lower(): value for name, value in re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", body, re.M)}
        for key, body in re.findall(r"^@\w+\{(.+?),\n(.*?)^\}", text, re.M | re.S)
    }


def index(specs: list[DatasetSpec]) -> str:
    """Return the index of datasets, with a table for each suite and group."""
    parts = [
        "# All datasets",
        f"{len(specs)} datasets. *Rows* are those that RDKit can parse, of those in the file; *conflicts* are molecules on several "
        "rows with different targets.",
    ]
    for (name, *_), members in [(cells, of) for cells, of in summary(specs)]:
        rows = []
        for spec in members:
            line = health_table.listed().get(spec.name, {})
            tests = " + ".join(f"{line[part]:,}" for part in ("id", "ood") if part in line)
            rows.append((
                f"[{spec.title}]({spec.name}.md)", f"`{spec.name}`", spec.task, rows_text(spec),
                f"{line['train']:,}" if line else "–", tests or "–", line.get("conflicting", "–"),
            ))
        parts += [f"## `{name}`", table(("dataset", "name", "task", "rows", "train", "test (ID + OOD)", "conflicts"), rows)]
    return "\n\n".join(parts) + "\n"


def dataset(spec: DatasetSpec, specs: list[DatasetSpec], references: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page of a dataset."""
    return f"# {spec.title}\n"
