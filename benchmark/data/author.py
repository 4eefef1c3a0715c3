"""Datasets from a user's own tables: read the file, infer the fields, write the TOML."""

import gzip
import hashlib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w

from benchmark.data import features, readers
from benchmark.data.downloads import contents
from benchmark.data.problem import load_problem, plain
from benchmark.data.readers import LINE, MISSING
from benchmark.data.rows import load_table
from benchmark.data.spec import DatasetSpec, dataset_names, load_spec
from benchmark.data.splits import moments
from benchmark.errors import UserError, did_you_mean
from benchmark.files import home, own_datasets

POSITIVE = re.compile(r"\+|y|yes|pos|positive|t|true|active|toxic|hit|pass|inhibitor|binder|high|1", re.IGNORECASE)
"""Texts that mean class 1 in a column with two values."""
NAMES = re.compile(r"(^|[\W_])(id|name|identifier|number|no|code)$|(compound|molecule|sample|batch)s?$", re.IGNORECASE)
"""Names of columns that name molecules."""
MERGES = ("mean", "majority", "drop")
MOST_CLASSES = 10
MOST_CATEGORIES = 100
FEWEST_OF_CLASS = 10
"""Rows of the rarest of three or more classes; fewer are taken for a typing error."""
OWN = "own"
"""The group of a user's datasets, which are never averaged with others."""
NEGATED = ("in", "non-", "non", "not ", "not_", "no ", "un")


def describe_file(
    file: Path,
    *,
    target: str,
    smiles: str = "",
    id_column: str = "",
    task: str = "",
    split: str = "",
    positive: str = "",
    merge: str = "",
    one_hot: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the TOML's fields for ``file``, inferring those not given. Raises UserError naming row and column."""
    if task not in ("", "classification", "regression"):
        raise did_you_mean("task", task, ["classification", "regression"])
    if merge not in ("", *MERGES):
        raise did_you_mean("--merge", merge, list(MERGES))
    content, table, columns = _read(file)
    for column in (target, *filter(None, (smiles, id_column)), *one_hot):
        if column not in columns:
            raise did_you_mean(f"column of {file.name}", column, columns)
    smiles = smiles or _smiles_column(columns)
    texts = set() if smiles else _not_numbers(table[columns])
    id_column = id_column or (_names(table, columns, target) if smiles else _id_column(table, columns, target, texts))
    fields = {
        "title": file.name.partition(".")[0],
        "group": OWN,
        "source": f"file:{file.resolve()}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": len(table),
        **({"smiles": smiles} if smiles else {}),
        **({"id": id_column} if id_column else {}),
        "target": target,
        **_task(table, target, task, positive, file.name),
        **({"merge": merge} if merge else {}),
        "features": ["morgan:2048:2"] if smiles else ["columns"],
        **({"one_hot": [[name, *_categories(table, name, file.name)] for name in one_hot]} if one_hot else {}),
        "split": split or ("scaffold:0.8" if smiles else "random:0.8"),
    }
    if not smiles:
        fields["ignore"] = [c for c in columns if c in texts - {target, id_column, *one_hot}]
    if fields["task"] == "regression":  # its unit may be any
        fields["recipe"] = {"standardise": True}
    return fields


def _read(file: Path) -> tuple[bytes, pd.DataFrame, list[str]]:
    """Return the content of a file, its table and the names of its columns. Raises UserError."""
    try:
        content = contents(file)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error}") from error
    table = readers.read(content, str(file))
    return content, table, [name for name in table.columns if name != LINE]


def offers(file: Path, fields: dict[str, Any]) -> list[str]:
    """Return what else the columns of a table could be used for: dates to split by, and groups to keep together."""
    _, table, columns = _read(file)
    used = {fields["target"], fields.get("smiles"), fields.get("id"), fields["split"].partition(":")[2]}
    used |= {name for name, *_ in fields.get("one_hot", [])}
    lines = []
    for name in columns:
        texts = table[name].str.strip()
        there = texts[~texts.isin(MISSING)]
        if name in used or len(there) < 0.5 * len(table):
            continue
        if _are_dates(there):
            lines.append(f"{name!r} holds dates: --split time:{name} tests on the latest fifth of the rows")
        elif pd.to_numeric(there, errors="coerce").isna().all() and 2 <= there.nunique() <= len(there) / 2:
            line = f"{name!r} has {there.nunique()} different texts: --split group:{name} keeps each together"
            if there.nunique() <= MOST_CATEGORIES:
                line += f"; --one-hot {name} makes them features"
            lines.append(line)
    return lines


def _categories(table: pd.DataFrame, name: str, file: str) -> list[str]:
    """Return the different texts of a column in alphabetical order. Raises UserError for fewer than 2 or too many."""
    texts = table[name].str.strip()
    categories = sorted(set(texts[~texts.isin(MISSING)]))
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        raise UserError(
            f"{file}: column {name!r}: expected 2 to {MOST_CATEGORIES} different texts for --one-hot, "
            f"found {len(categories)}"
        )
    return categories


def _are_dates(texts: pd.Series) -> bool:
    """Return whether all texts are dates; numbers are not, as they may be anything."""
    if texts.nunique() < 3 or not texts.str.contains(r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}").all():
        return False
    try:
        moments(texts.tolist())
    except UserError:
        return False
    return True


def _names(table: pd.DataFrame, columns: Sequence[str], target: str) -> str:
    """Return the first column that is called like a name or an id and has another text in each row; else ``""``."""
    for name in columns:
        texts = table[name].str.strip()
        if name != target and NAMES.search(name) and texts.is_unique and not texts.isin(MISSING).any():
            return name
    return ""


def _smiles_column(columns: Sequence[str]) -> str:
    named = [name for name in columns if "smiles" in name.lower()]
    exact = [name for name in named if name.lower() == "smiles"]
    if len(named) > 1 and len(exact) != 1:
        raise UserError(f"several columns may hold the SMILES: {', '.join(named)}; choose one with --smiles")
    return next(iter(exact or named), "")


def _id_column(table: pd.DataFrame, columns: Sequence[str], target: str, texts: set[str]) -> str:
    for name in columns:
        if name != target and name in texts and table[name].is_unique:
            return name
    raise UserError(
        "no column has SMILES in its name, and none holds a unique name for each row: choose --smiles or --id among "
        + ", ".join(columns)
    )


def _not_numbers(table: pd.DataFrame) -> set[str]:
    """Return the columns that hold no number, or anything else."""
    numbers, missing = features.numbers_in(table)
    numeric = (missing | ~np.isnan(numbers)).all(axis=0) & ~missing.all(axis=0)
    return set(table.columns[~numeric])


def _task(table: pd.DataFrame, target: str, task: str, positive: str, file: str) -> dict[str, Any]:
    """Return ``task``, and ``positive`` unless the column holds 0 and 1 or false and true."""
    texts = table[target].str.strip()
    texts = texts[~texts.isin(MISSING)]
    column = f"{file}: column {target!r}"
    if texts.empty:
        raise UserError(f"{column} is empty")
    values = sorted(set(plain(texts)))
    words = sorted({value.lower() for value in values})
    numbers = pd.to_numeric(texts, errors="coerce")
    numeric = bool(numbers.notna().all())
    if len(values) == 1:
        raise UserError(f"{column} holds only {values[0]!r}: there is nothing to learn")
    few = len(values) <= MOST_CLASSES and bool(numbers.isna().all())
    if task == "regression" or not (task or positive or len(values) == 2 or words == ["false", "true"] or few):
        if not task and len(values) == 3 and {"0", "1"} < set(values) and np.isfinite(numbers).all():
            raise _classes(column, plain(texts), table, "; to predict them as numbers, use --task regression")
        if numeric:
            return {"task": "regression"}
        where = numbers[numbers.isna()].index[0]
        hint = _number_hint(texts[where])
        if not (task or hint or numbers.notna().any()):
            raise _classes(column, texts, table)
        raise UserError(
            f"{column}, line {table[LINE][where]}: expected a number{'' if task else ', or two classes in total'}, "
            f"found {texts[where]!r} among {len(values)} different values"
            f"{hint or '; remove the row, clear the field, or enter a number'}"
        )
    if numeric and len(values) > 2:
        positive = positive or ">= median"
    if positive:
        return {"task": "classification", "positive": positive}
    if values == ["0", "1"] or words == ["false", "true"]:
        return {"task": "classification"}
    if len(values) == 2:
        return {"task": "classification", "positive": _class_one(values)}
    if len(values) > MOST_CLASSES or numeric or Counter(texts).most_common()[-1][1] < FEWEST_OF_CLASS:
        raise _classes(column, texts, table)
    return {"task": "classification", "classes": values}


def _number_hint(text: str) -> str:
    """Return how to fix a text that was meant as a number; empty if it does not look like one."""
    if re.fullmatch(r"[<>≤≥~=]+\s*[-+\d.,eE]+", text):
        return (
            "; a bound is not a value: remove the row, clear the field, or turn the column into classes (for example, "
            "active above a threshold)"
        )
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", text):
        plain_text, decimal = text.replace(",", ""), text.replace(",", ".", 1)
        return f"; write it without commas: {plain_text} (or, if they are decimal commas, {decimal})"
    if re.fullmatch(r"[-+]?\d*,\d+([eE][-+]?\d+)?", text):
        return f"; write it with a decimal point: {text.replace(',', '.')}, like all numbers of the column"
    return ""


def _classes(column: str, texts: pd.Series, table: pd.DataFrame, hint: str = "") -> UserError:
    """Return the error for a number of classes other than two; it locates the first row of the rarest."""
    counts = Counter(texts).most_common()
    rarest = counts[-1][0]
    where = texts.index[texts == rarest][0]
    listed = ", ".join(f"{text!r} ({count})" for text, count in counts[:5]) + (", …" if len(counts) > 5 else "")
    return UserError(
        f"{column}: expected two classes, found {len(counts)}: {listed}; {rarest!r} is on line "
        f"{table[LINE][where]}; remove the rows of the other classes, or merge classes{hint}"
    )


def _class_one(values: Sequence[str]) -> str:
    """Return class 1 of two texts: ``active`` of ``active, inactive``; else the affirmative one; else the last."""
    for value, other in (values, values[::-1]):
        if any(other.lower() == prefix + value.lower() for prefix in NEGATED):
            return value
    affirmative = [value for value in values if POSITIVE.fullmatch(value) or value.endswith("+")]
    return affirmative[0] if len(affirmative) == 1 else values[-1]


def _describes(toml: Path, file: Path) -> bool:
    try:
        return load_spec(str(toml)).source == f"file:{file.resolve()}"
    except UserError:  # an unrelated file of the user
        return False


def columns_of(file: Path) -> list[str]:
    """Return the names of a table's columns. Raises UserError if it cannot be read."""
    return _read(file)[2]


def _plain(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def write_dataset(
    file: Path, name: str, folder: Path | None, fields: dict[str, Any], one_of_several: bool = False
) -> Path:
    """Write ``folder/name.toml`` (default: the registry) and load it.

    The name of ``one_of_several`` datasets from one file ends with its target.

    Raises UserError for a name that is taken and for an unusable dataset, in which case no file is left behind.
    """
    folder = (folder or own_datasets()).resolve()
    default = _plain(file.name.partition(".")[0])
    if one_of_several:
        name = f"{name or default}_{_plain(fields['target'])}"
    if name not in ("", default):  # titles distinguish several datasets from one file
        fields = fields | {"title": name}
    name = name or default
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name):
        raise UserError(f"dataset name {name!r}: expected lower-case letters, digits and _; choose --name")
    path = folder / f"{name}.toml"
    for taken in (path, own_datasets() / path.name):
        if taken.exists():
            hint = f", or rename it to {taken.name}.old to describe the file again" if _describes(taken, file) else ""
            raise UserError(f"{taken} exists: choose another --name{hint}")
    if name in dataset_names():
        raise UserError(f"the suite has a dataset {name!r}: choose another --name")
    if folder == own_datasets().resolve():
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        raise UserError(f"--to {folder}: no such folder")
    source = file.resolve()
    if source.is_relative_to(home()) or source.is_relative_to(folder):  # the two can be moved together
        fields = fields | {"source": f"file:{os.path.relpath(source, folder)}"}
    try:
        with path.open("xb") as toml:
            toml.write(tomli_w.dumps(fields).encode())
        load_problem(str(path))
        if folder == own_datasets().resolve():
            _keep(file, folder)
    except BaseException as error:  # after an interruption too, no untested dataset may remain
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UserError(f"cannot write {path}: {error}") from error
        raise
    return path


VERSIONS = "versions"
"""Folder beside the TOMLs with a copy of each table, so that an earlier version can be read when a file is replaced."""


def _keep(file: Path, folder: Path) -> None:
    """Keep a compressed copy of a table, under the sha256 of its content."""
    content = contents(file)
    path = _kept(folder, hashlib.sha256(content).hexdigest())
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        _replace(path, gzip.compress(content, mtime=0))


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        hidden.write_bytes(content)
        os.replace(hidden, path)
    finally:
        hidden.unlink(missing_ok=True)


def _kept(folder: Path, sha256: str) -> Path:
    return folder / VERSIONS / f"{sha256[:16]}.gz"


@dataclass(frozen=True)
class Changed:
    """Molecules (or named rows) of a new version that were not in the old one, the other way round, and in both but
    with another target."""

    added: int
    removed: int
    changed: int
    kept: int


def next_version(file: Path, name: str) -> tuple[Path, str, Changed]:
    """Describe ``file`` as the next version of the dataset ``name`` (default: the file's); return its TOML, the name of
    the version before, and what has changed.

    The fields are those of the version before, which stays, with a kept copy of its table as its source. Raises
    UserError if there is no such dataset, if the table has not changed, and if the new one cannot be used.
    """
    folder = own_datasets().resolve()
    base = name or _plain(file.name.partition(".")[0])
    found = (re.fullmatch(rf"{re.escape(base)}_v(\d+)", path.stem) for path in folder.glob(f"{base}_v*.toml"))
    numbers = [1, *(int(one[1]) for one in found if one)]
    last = base if max(numbers) == 1 else f"{base}_v{max(numbers)}"
    toml = folder / f"{last}.toml"
    if not toml.is_file():
        raise UserError(f"{toml}: no such dataset to update: describe it first without --update, or give its --name")
    fields = tomllib.loads(toml.read_text(encoding="utf-8"))
    content = contents(file)
    digest = hashlib.sha256(content).hexdigest()
    if digest == fields["sha256"]:
        raise UserError(f"{file} is the table of {last}: nothing has changed")
    kept = _kept(folder, fields["sha256"])
    source = load_spec(str(toml)).source.removeprefix("file:")
    if kept.is_file() and Path(source).resolve() != kept:
        before = toml.read_text(encoding="utf-8")
        after = re.sub(r"(?m)^source *=.*$", lambda _: f'source = "file:{VERSIONS}/{kept.name}"', before, count=1)
        _replace(toml, after.encode())
    number = max(numbers) + 1
    fields |= {"source": f"file:{file.resolve()}", "sha256": digest}
    table = _read(file)[1]
    fields |= {"rows": len(table), "family": fields.get("family", base), "previous": last}
    if "one_hot" in fields:  # a category keeps its place, and new ones come after the known
        known = [(one, _categories(table, one[0], file.name)) for one in fields["one_hot"] if one[0] in table]
        fields["one_hot"] = [[*one, *(text for text in now if text not in one[1:])] for one, now in known]
    fields.pop("parsable", None)
    path = write_dataset(file, f"{base}_v{number}", None, fields)
    return path, last, _changed(load_spec(last), load_spec(path.stem))


def _changed(old: DatasetSpec, new: DatasetSpec) -> Changed:
    def targets(spec: DatasetSpec) -> pd.Series:
        table = load_table(spec)
        table = table[table["used"]]
        return table.groupby(table["canonical"] if spec.smiles else table["id"])["target"].agg(lambda of: sorted(of))

    before, after = targets(old), targets(new)
    both = before.index.intersection(after.index)
    changed = int(sum(before[key] != after[key] for key in both))
    return Changed(len(after) - len(both), len(before) - len(both), changed, len(both) - changed)
