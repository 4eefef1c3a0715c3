"""Datasets from a user's own tables: write the TOML, test it, and make its next version."""

import gzip
import hashlib
import os
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w

from benchmark.data.checks.health import Left, left_out
from benchmark.data.describe.columns import categories
from benchmark.data.describe.given import Options, table_of
from benchmark.data.describe.target import meaning_of
from benchmark.data.downloads import contents
from benchmark.data.features import own_columns
from benchmark.data.problem import checked, labels
from benchmark.data.readers import LINE, MISSING, REPEATED, WORKBOOK, refuse_repeated
from benchmark.data.rows import Rows, feature_columns, load_rows, load_table, needed_columns, raw_table, require_columns
from benchmark.data.spec import DatasetSpec, dataset_names, load_spec
from benchmark.data.values import is_missing, refuse_other_mark, related
from benchmark.errors import UserError
from benchmark.files import home, own_datasets, save


def _describes(toml: Path, file: Path) -> bool:
    try:
        return load_spec(str(toml)).source == f"file:{file.resolve()}"
    except UserError:  # an unrelated file of the user
        return False


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"\W+", "_", letters).strip("_")


def refuse_equal_names(targets: Sequence[str]) -> None:
    """Raise UserError if the datasets of two targets in one file would have the same name."""
    for one, other in combinations(targets, 2):
        if _plain(one) == _plain(other):
            raise UserError(
                f"--target: {one!r} and {other!r} would both be called …_{_plain(one)}: describe them one by one, each "
                "with another --name"
            )


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
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]{,99}", name):
        raise UserError(
            f"dataset name {name[:120]!r}: expected at most 100 lower-case letters, digits and _; choose --name"
        )
    path = folder / f"{name}.toml"
    for taken in (path, own_datasets() / path.name):
        if taken.exists() and not _describes(taken, file):
            raise UserError(f"{taken} exists, and describes another table: choose another --name")
    excluded = path.with_name(f"{name}-left-out.csv")
    if excluded.exists() and not _is_list(excluded):
        raise UserError(
            f"{excluded} exists, and is no list of rows that are left out, which would be written there: rename it, or "
            "choose another --name"
        )
    if (own := own_datasets() / path.name).exists() and not path.exists():
        raise UserError(f"{own} describes this table: leave out --to to write it again, or choose another --name")
    if name in dataset_names() and not path.exists():
        raise UserError(f"the suite has a dataset {name!r}: choose another --name")
    if folder == own_datasets().resolve():
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        raise UserError(f"--to {folder}: no such folder")
    source = file.resolve()
    if source.is_relative_to(home()) or source.is_relative_to(folder):  # the two can be moved together
        fields = fields | {"source": f"file:{os.path.relpath(source, folder)}"}
    old = path.with_suffix(".toml.old")
    before = {file: file.read_bytes() if file.exists() else None for file in (path, old, excluded)}
    try:
        try:
            content = tomli_w.dumps(fields).encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{str(file)!a}: the name has a byte that is not UTF-8: rename the file") from error
        if (last := before[path]) not in (None, content):
            save(old, last)  # first, as a kill leaves what it has replaced
        save(path, content)
        spec = load_spec(str(path))
        rows = load_rows(spec)
        checked(spec, rows, 99)
        _list_left_out(rows, excluded)
        if folder == own_datasets().resolve():
            _keep(file, folder)
    except BaseException as error:  # after an interruption too, no untested dataset may remain
        for file, kept in before.items():
            file.unlink(missing_ok=True) if kept is None else save(file, kept)
        if isinstance(error, OSError):
            raise UserError(f"cannot write {path}: {error}") from error
        raise
    return path


FEWEST = 10
"""Numbers of a new version from which on their width is known, to compare their median with that before."""
LISTED = [*Left.__annotations__]
"""Columns of the list of rows that are left out."""


def _is_list(file: Path) -> bool:
    """Return whether a file is a list of rows that are left out, as an earlier description of a table has written."""
    try:
        with file.open("rb") as lines:
            return lines.readline(1000).strip() == ",".join(LISTED).encode()
    except OSError:  # a folder, or a file of someone else
        return False


def _list_left_out(rows: Rows, path: Path) -> None:
    """Write the rows of a dataset that are not used to a CSV file, with the reasons; none if all are used."""
    lines = left_out(rows.table)
    if lines:
        save(path, pd.DataFrame([vars(line) for line in lines], columns=LISTED).to_csv(index=False).encode())
    else:
        path.unlink(missing_ok=True)


VERSIONS = "versions"
"""Folder beside the TOMLs with a copy of each table, so that an earlier version can be read when a file is replaced."""


def _keep(file: Path, folder: Path) -> None:
    """Keep a compressed copy of a table, under the sha256 of its content."""
    content = contents(file)
    path = _kept(folder, hashlib.sha256(content).hexdigest())
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        save(path, gzip.compress(content, mtime=0))


def _kept(folder: Path, sha256: str) -> Path:
    return folder / VERSIONS / f"{sha256[:16]}.gz"


@dataclass(frozen=True)
class Changed:
    """Molecules (or named rows) of a new version that were not in the old one, the other way round, and in both but
    with another target: a number, a class or a side of the cut, however it is written. Columns of numbers that the old
    version has not are ``ignored``. ``doubt`` says so if the targets seem to mean something else than the old ones, and
    ``notes`` what a description of the table says that the old one did not."""

    added: int
    removed: int
    changed: int
    kept: int
    ignored: tuple[str, ...] = ()
    doubt: str = ""
    notes: tuple[str, ...] = ()


def next_version(file: Path, name: str, sheet: str = "") -> tuple[Path, str, Changed]:
    """Describe ``file`` as the next version of the dataset ``name`` (default: the file's); return its TOML, the name of
    the version before, and what has changed.

    The fields are those of the version before, which stays, with a kept copy of its table as its source; ``sheet`` is
    that of a workbook. Raises
    UserError if there is no such dataset, if the table has not changed or lacks a feature, and if it cannot be used.
    """
    folder = own_datasets().resolve()
    base = name or _plain(file.name.partition(".")[0])
    found = (re.fullmatch(rf"{re.escape(base)}_v(\d+)", path.stem) for path in folder.glob(f"{base}_v*.toml"))
    latest = max([1, *(int(one[1]) for one in found if one)])
    last = base if latest == 1 else f"{base}_v{latest}"
    toml = folder / f"{last}.toml"
    if not toml.is_file():
        raise UserError(f"{toml}: no such dataset to update: describe it first without --update, or give its --name")
    fields = tomllib.loads(toml.read_text(encoding="utf-8"))
    content = contents(file)
    digest = hashlib.sha256(content).hexdigest()
    # Where no sheet is named, a single one holds rows.
    if digest == fields["sha256"] and sheet in ("", fields.get("sheet", sheet)):
        raise UserError(f"{file} is the table of {last}: nothing has changed")
    kept = _kept(folder, fields["sha256"])
    source = load_spec(str(toml)).source.removeprefix("file:")
    if kept.is_file() and Path(source).resolve() != kept:
        before = toml.read_text(encoding="utf-8")
        after = re.sub(r"(?m)^source *=.*$", lambda _: f'source = "file:{VERSIONS}/{kept.name}"', before, count=1)
        save(toml, after.encode())
    fields |= {"source": f"file:{file.resolve()}", "sha256": digest}
    if not content.startswith(WORKBOOK):
        fields.pop("sheet", None)
    if sheet:
        fields["sheet"] = sheet
    table = table_of(file, fields.get("sheet", ""))[1]
    spec = load_spec(last)
    _refuse_other_mark(table, spec, file.name)
    numbers = feature_columns(spec) if "columns" in spec.features else []
    features = [*numbers, *(column for column, *_ in spec.one_hot)]
    if lost := [name for name in features if name not in table or table[name].str.strip().isin(MISSING).all()]:
        state = "is empty in the column" if lost[0] in table else "has no column"
        raise UserError(
            f"{file.name}: {state} {lost[0]!r}, which is a feature of {last}: add it, or describe the table as a "
            "dataset of its own, without --update and with another --name"
        )
    require_columns(table, needed_columns(spec), file.name)
    refuse_repeated(table, [spec.target, spec.smiles, spec.id, *features], file.name)
    ignored = tuple(str(name) for name in own_columns(table, spec) if name not in numbers) if numbers else ()
    if "ignore" in fields or ignored:
        fields["ignore"] = [name for name in (*fields.get("ignore", ()), *ignored) if name in table]
    fields |= {"rows": len(table), "family": fields.get("family", base), "previous": last}
    if "one_hot" in fields:  # a category keeps its place, and new ones come after the known
        known = [(one, categories(table, one[0], file.name)) for one in fields["one_hot"]]
        fields["one_hot"] = [[*one, *(text for text in now if text not in one[1:])] for one, now in known]
    fields.pop("parsable", None)
    try:
        notes = _as_new(file, spec, fields)
        path = write_dataset(file, f"{base}_v{latest + 1}", None, fields)
    except UserError as error:
        if isinstance(error.__cause__, OSError):
            raise  # such as a full disk
        raise UserError(
            f"{error}; --update takes the fields of {toml}, and no such option: if the table is right, add there what "
            "it needs, such as 'missing' (for --ignore-value), 'decimal', 'classes', or 'bounds' (with 'relation', if "
            "a column says which they are), or describe it as a dataset of its own, with another --name"
        ) from error
    return path, last, replace(_changed(spec, load_spec(path.stem)), ignored=ignored, notes=notes)


def _as_new(file: Path, last: DatasetSpec, fields: dict[str, Any]) -> tuple[str, ...]:
    """Return what a first description says of the target and not of the version before, if that can be described by
    options; ``fields`` get it. Raises UserError as it does, and for bounds that the version before does not have."""
    if last.where or last.limits:
        return ()
    table, before = table_of(file, fields.get("sheet", ""))[1], raw_table(last).drop(columns=REPEATED)
    named = last.classes or ((last.negative, last.positive) if last.negative and last.positive else ())
    known = {"target": last.target, "decimal": last.decimal, "bounds": last.bounds, "log10": last.log10}
    known |= {"classes": named, "positive": "" if named else last.positive or ""}
    known["task"] = "" if named or last.positive else last.task

    def said(of: pd.DataFrame) -> tuple[dict[str, Any], list[str]]:
        notes: list[str] = []
        held = [word for word in last.missing if is_missing(of[last.target], (word,)).any()]
        given = Options(**known, ignore_value=held)  # type: ignore[arg-type]
        return meaning_of(of, given, file.name, notes, last.smiles)[1], notes

    try:
        _, old = said(before)
    except UserError:
        return ()
    meaning, notes = said(table)
    relation = meaning.get("relation", "")
    if relation and not last.relation:
        marked, held = (any(related(text)[0] for text in of.get(relation, ())) for of in (table, before))
        if marked and not held:
            raise UserError(f"{file.name}: {relation!r} says which values are bounds: {last.name} has no such column")
        notes = [line for line in notes if "bounds" not in line]  # which the TOML takes as values

    def plain(line: str) -> str:
        return re.sub(r"\d[\d,]* of \d[\d,]*|\d[\d,]*(?= rows?\b)|\(\d+\)", "", line)  # without numbers of rows

    earlier = last.notes.splitlines()
    known_lines = {*map(plain, (*old, *earlier))}
    new = tuple(line for line in notes if plain(line) not in known_lines)
    now = {plain(line): line for line in notes}
    if notes or earlier:
        fields["notes"] = "\n".join([*(now.get(plain(line), line) for line in earlier), *new])
    return new


def _refuse_other_mark(table: pd.DataFrame, last: DatasetSpec, file: str) -> None:
    """Raise UserError if numbers of a new version seem to have another decimal mark than the ``last``."""
    if not last.decimal:
        texts = table[last.target] if last.target in table else pd.Series(dtype=str)
        commas = texts[texts.str.fullmatch(r"\s*[-+\u2212]?\d+,(\d{1,2}|\d{4,})\s*")]
        numbers = (last.task == "regression" or last.cut) and not (last.where or last.limits)
        if len(commas) and numbers:
            raise UserError(
                f"{file}: column {last.target!r}, line {table[LINE][commas.index[0]]}: {commas.iloc[0]!r} has a "
                f"decimal comma, as no number of {last.name} has: write it with a point"
            )
        return
    before = raw_table(last)
    names = [last.target, *(own_columns(before, last) if "columns" in last.features else ())]
    try:
        refuse_other_mark(before, names, last, "")
    except UserError:  # marks between thousands, and no decimals, which --decimal said
        return
    refuse_other_mark(table, [name for name in names if name in table], last, file)


def _changed(old: DatasetSpec, new: DatasetSpec) -> Changed:
    def targets(spec: DatasetSpec, cut: bool = True) -> dict[str, Counter[Any]]:
        table = load_table(spec)
        table = table[table["used"]]
        learned = pd.Series(
            labels(spec, table) if cut else pd.to_numeric(table["target"]).astype(np.float32).to_numpy()
        )
        learned_of = learned.groupby(table["canonical" if spec.smiles else "id"].to_numpy())
        return {str(key): Counter(of) for key, of in learned_of}

    before, after = targets(old), targets(new)
    both = before.keys() & after.keys()
    changed = sum({*before[key]} != {*after[key]} for key in both)  # on however many lines
    numbers = new.task == "regression" or new.cut
    doubt = _doubt(targets(old, cut=False), targets(new, cut=False)) if numbers else ""
    if not both:
        doubt = "nothing is in both versions: are molecules or names written as before, as 7 and not 7.0?"
    elif not doubt and not new.cut and new.task == "classification" and changed > 0.5 * len(both):
        doubt = "most of what is in both versions has another class: are the classes exchanged?"
    return Changed(len(after) - len(both), len(before) - len(both), changed, len(both) - changed, doubt=doubt)


def _doubt(before: Mapping[str, Counter[Any]], after: Mapping[str, Counter[Any]]) -> str:
    """Return what to say if new or changed numbers are far from those before: further than five widths of one of them.
    Of fewer than ``FEWEST``, three or more are far if all are on one side of those before, one or two only if they are
    also five widths or a factor of ten away."""
    known = [number for of in before.values() for number in of.elements()]
    fresh = [number for key, of in after.items() if {*before.get(key, ())} != {*of} for number in of.elements()]
    if not fresh:
        return ""
    (low, old, high), (least, new, most) = (np.percentile(numbers, [25, 50, 75]) for numbers in (known, fresh))
    width = min(high - low, most - least)
    far = 0 < 5 * width < abs(new - old)
    if len(fresh) < FEWEST:
        far = len(fresh) > 2 or abs(new - old) > 5 * (high - low) or 0 < 10 * max(fresh) < min(known)
        far = far and (max(fresh) < min(known) or min(fresh) > max(known))
    if not far:
        return ""
    return (
        f"the median of the new or changed numbers is {new:.3g}, and that of the version before {old:.3g}: are they in "
        "the same unit?"
    )
