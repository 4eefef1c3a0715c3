"""The registry as a table: what there is, what is on this machine, and what to do about the rest."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from benchmark.data import sources
from benchmark.data.spec import DatasetSpec, dataset_names, expand, load_spec
from benchmark.errors import UserError
from benchmark.files import install, offline

BY_HAND = ("tadf",)
"""Sources whose files nothing downloads."""


@dataclass(frozen=True)
class Availability:
    """Whether the raw data of a dataset is on this machine (not whether it is sound), and else what to do."""

    here: bool
    remedy: str = ""


def availability(spec: DatasetSpec) -> Availability:
    """Without touching the network, and without reading the file."""
    if spec.source.startswith("hf:"):
        if getattr(find_spec("datasets"), "origin", None) is None:  # our folder of that name is found too
            after = "" if offline() else "; then downloaded on first use"
            return Availability(False, f"{install('vision')}{after}")
        name = spec.source.partition(":")[2]
        if any((folder / "hf" / name).is_dir() for folder in sources.folders()):
            return Availability(True)
        if offline():
            return Availability(
                False, f"is used if Hugging Face's cache has it; else put it at hf/{name} in CHURN_DATA_DIR"
            )
        return Availability(False, "is taken from Hugging Face's cache, or downloaded on first use")
    try:
        where = sources.origin(spec)
    except UserError as error:
        return Availability(False, str(error))
    if sources.locate(spec):
        return Availability(True)
    if where.path:
        return Availability(False, f"put the file back at {where.path}, or mend 'source' in {spec.path}")
    if where.url and not offline():
        return Availability(False, "downloaded on first use")
    return Availability(
        False, f"get it from {where.page or where.url} and put it at {sources.folders()[0] / where.place}"
    )


def obtainable(names: str) -> tuple[list[str], list[str]]:
    """``expand(names)`` without the members of a group whose file is not here and must be fetched by hand, and a line
    for each of these. What is named itself is kept, so that its absence is an error.
    """
    named = {part.strip() for part in names.split(",")}
    kept, lines = [], []
    for name in expand(names):
        spec = load_spec(name)
        remedy = availability(spec).remedy if spec.source.partition(":")[0] in BY_HAND else ""
        if remedy and name not in named:
            lines.append(f"left out: {name}: {remedy}")
        else:
            kept.append(name)
    return kept, lines


def rows_text(spec: DatasetSpec) -> str:
    """``2,039 of 2,050``: rows that can be parsed, of those in the file, as published."""
    if spec.rows is None:
        return "–"
    return f"{spec.rows:,}" if spec.parsable in (None, spec.rows) else f"{spec.parsable:,} of {spec.rows:,}"


def markdown() -> str:
    """The registry as the README shows it, without the user's own tables."""
    lines = [
        "| name | dataset | target | task | group | family | rows | source | cite |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in dataset_names():
        spec = load_spec(name)
        if spec.source.startswith("file:"):
            continue
        unit = f" ({spec.unit})" if spec.unit else ""
        family = "" if spec.family == spec.name else spec.family
        cells = [
            f"`{name}`",
            spec.title,
            spec.target_name + unit,
            spec.task,
            spec.group,
            family,
            rows_text(spec),
            spec.source.partition(":")[0],
            spec.cite,
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
