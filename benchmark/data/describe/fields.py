"""Fields of a dataset's TOML, inferred from a user's table and what is said of it."""

import hashlib
import unicodedata
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data.checks.missing import TOTAL, far, folded
from benchmark.data.describe.columns import (
    FEW_CODES,
    at,
    categories,
    id_column,
    is_part,
    is_row_number,
    named,
    names_column,
    not_numbers,
    present,
    refuse_headless,
    refuse_reactions,
    smiles_column,
    smiles_share,
)
from benchmark.data.describe.given import Options, Target, columns_of, table_of
from benchmark.data.describe.numbers import decimal_mark, refuse_two_marks, refuse_unclear_points
from benchmark.data.describe.offers import given_away, of_one_kind
from benchmark.data.describe.target import meaning_of
from benchmark.data.readers import LINE, refuse_repeated, seen
from benchmark.data.spec import MANY_ROWS, SAMPLED
from benchmark.data.values import is_missing, is_number
from benchmark.errors import UserError, did_you_mean

MOST_ABOVE = 10
"""Rows that may stand above the names of the columns, by mistake."""
OWN = "own"
"""The group of a user's datasets, which are never averaged with others."""


def describe_file(file: Path, **options: Any) -> dict[str, Any]:
    """Return the TOML's fields for ``file``, inferring those that the ``Options`` leave open.

    ``notes`` says how it was read, a line each. Raises UserError naming row and column, and the option for what can be
    read in two ways.
    """
    content, table = table_of(file, options.get("sheet", ""))
    columns = columns_of(file, options.get("sheet", ""))
    alike = {unicodedata.normalize("NFKC", name): name for name in columns}  # as µ and μ, which look the same
    for option in {"target", "smiles", "id_column"} & options.keys() if len(alike) == len(columns) else ():
        options[option] = alike.get(unicodedata.normalize("NFKC", seen(options[option])), options[option])
    given = Options(**options)
    for column in given.columns:
        if column not in columns:
            raise _unknown(table, columns, column, file.name)
    if table.empty:
        raise UserError(f"{file.name}: has a header and no rows: expected a row for each molecule or measurement")
    notes: list[str] = list(table.attrs["notes"])
    others = [name for name in columns if name != given.target]
    smiles = given.smiles or smiles_column(table, others, file.name, notes, "choose one with --smiles")
    refuse_repeated(table, [*given.columns, smiles], file.name)
    if smiles:
        refuse_reactions(table, smiles, file.name)
    target, meaning = meaning_of(table, given, file.name, notes, smiles)
    classes = meaning["task"] == "classification" and not meaning.get("positive", "").startswith(">= ")
    if given.log10 and classes:
        raise UserError(f"{file.name}: --log10 needs a column of numbers, but {given.target!r} holds classes")
    if given.merge == "mean" and classes:
        raise UserError(
            f"{file.name}: {given.target!r} holds classes, which have no mean: say --merge majority or drop"
        )
    if smiles:
        name = given.id_column or names_column(table, columns, {given.target, smiles})
        split = given.split or "scaffold:0.8"
        roles: dict[str, Any] = {"smiles": smiles, "id": name, "features": ["morgan:2048:2"], "split": split}
    elif given.desalt:
        raise UserError(f"{file.name}: --desalt is for molecules, and no column holds SMILES: leave it out")
    else:
        roles = _of_rows(target, meaning)
    if meaning["task"] == "regression":
        roles["recipe"] = {"standardise": True}  # its unit may be any
    sample = int(given.sample) if given.sample.isdecimal() else SAMPLED
    if given.sample == "all" or len(table) <= (sample if given.sample else MANY_ROWS):
        sample = 0
    elif not given.sample:
        notes.append(
            f"methods are compared on a random sample of {SAMPLED:,} of {len(table):,} rows, as their time grows with "
            "the rows, of some with the square (--sample N, or all)"
        )
    fields = {
        "title": file.name.partition(".")[0],
        "group": OWN,
        "source": f"file:{file.resolve()}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": len(table),
        "sheet": given.sheet,
        "target": given.target,
        **meaning,
        "log10": given.log10,
        "desalt": given.desalt,
        "merge": given.merge,
        "sample": sample,
        "one_hot": [[name, *categories(table, name, file.name)] for name in given.one_hot],
        **roles,
        "notes": "\n".join(notes),
    }
    return {name: value for name, value in fields.items() if value or name == "ignore"}


def _unknown(table: pd.DataFrame, columns: Sequence[str], column: str, file: str) -> UserError:
    """Return the error for a column that is not there, which may stand further below."""
    refuse_headless([name for name in columns if smiles_share(table[name])], file)
    lines = table[LINE][(table[columns] == column).any(axis=1)]
    if len(lines) == 1 and lines.index[0] < MOST_ABOVE:
        return UserError(
            f"{file}: no column {column!r}, but it stands on line {lines.iloc[0]}: if the names of the columns are "
            "there, remove what stands above them"
        )
    if len(columns) == 1 and column in columns[0]:
        return UserError(
            f"{file}: no column {column!r}, but it stands in the only one, {columns[0][:60]!r}: name the mark between "
            "the fields in a first line, as in sep=^ (or sep= and a blank)"
        )
    return did_you_mean(f"column of {file}", column, columns)


def _of_rows(target: Target, meaning: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a table without molecules; the mark of its decimals goes to ``meaning``, if it has none."""
    table, given, columns, notes = target.table, target.given, target.columns, target.notes
    unclear = {}
    for name in columns:
        if not meaning["decimal"] and table[name].str.contains(",", regex=False).any():
            try:
                meaning["decimal"] = decimal_mark(table, name, present(table[name]), target.file, notes)
            except UserError as error:
                unclear[name] = str(error).rpartition(": in ")[2]
    texts, numbers = not_numbers(table, columns, meaning["decimal"])
    id_ = given.id_column or id_column(table, columns, target.name, texts)
    last = table[id_][-2:]
    if len(sums := last[last.map(lambda text: bool(TOTAL.fullmatch(text.strip())))]):
        raise UserError(
            f"{at(table, id_, sums, target.file)}: {sums.iloc[0]!r} is by its name no row but a summary of the others: "
            "remove it or, if it is a row, rename it"
        )
    chosen, said = {target.name, id_, *given.one_hot}, len(notes)
    ignored = _ignored(target, chosen, id_, {name: unclear.get(name, text) for name, text in texts.items()})
    read = [name for name in columns if name not in {*chosen, *ignored}]
    inputs = [name for name in read if name != given.divides]
    if not (inputs or given.one_hot):
        about = [f"{target.file}: no column of numbers is left as a feature", *notes[said:]]
        raise UserError("; ".join([*about, "if a column holds SMILES, name it with --smiles"]))
    if not meaning["decimal"]:
        refuse_unclear_points(table, inputs, target.name, target.file)
    elif not given.decimal:
        refuse_two_marks(table, [*inputs, target.name], meaning, target.file)
    for word in filter(is_number, given.ignore_value):
        if held := [name for name in read if is_missing(table[name], (word,)).any()]:
            notes.append(f"{word} stays a number in the features {_quoted(held)}: empty fields are missing")
    doubts = ((name, one) for name in inputs for one in far(numbers[name][np.isfinite(numbers[name])]))
    for name, one in islice(doubts, 5):
        notes.append(f"in the feature {name!r}, {one.said('row')}: if it is a missing value, leave the fields empty")
    y = target.numbers if len(target.numbers) else target.texts.map(folded)
    telling = given_away(table, inputs, y, meaning["decimal"])
    if meaning["task"] == "classification" and len(target.numbers):  # which side of the cut
        x, cut = np.log10(y.where(y > 0)) if given.log10 else y, meaning["positive"].removeprefix(">= ")
        sides = (x >= (x.median() if cut == "median" else float(cut))).map(str)
        telling += given_away(table, inputs, sides, meaning["decimal"])
    for name in dict.fromkeys(telling):
        notes.append(f"{name!r} tells the target: if it is made from it, leave it out ('ignore' in the TOML)")
    if alike := [name for name in of_one_kind(inputs, target.name) if name not in telling]:
        notes.append(
            f"by their names, of the target: {_quoted(alike)}: if they are measured with it, as replicates and "
            "standard deviations are, leave them out ('ignore' in the TOML)"
        )
    name = names_column(table, inputs, set())
    if name and table[name].str.fullmatch(r"\s*\d+\s*").all():
        notes.append(f"{name!r} is a feature: if it only names the rows, leave it out ('ignore' in the TOML)")
    return {"id": id_, "features": ["columns"], "split": given.split or "random:0.8", "ignore": ignored}


def _ignored(target: Target, chosen: set[str], id_: str, texts: dict[str, str]) -> list[str]:
    """Return the columns that are no features, though not ``chosen`` for anything, such as those of ``texts``."""
    table, given, columns, notes = target.table, target.given, target.columns, target.notes
    numbered = [name for name in columns if name != id_ and is_row_number(table[name], name)]
    if numbered:
        notes.append(f"row numbers are no feature: {_quoted(numbered)}")
    relations = [name for name in columns if named(name, "relation") and name not in {*texts, target.name}]
    telling = [name for name in relations if present(table[name]).nunique() <= FEW_CODES]
    parts = [name for name in columns if name not in {*texts, *chosen, given.divides} and is_part(table[name], name)]
    for found, what in ((telling, "which values are bounds"), (parts, "which rows are for training")):
        if found:
            notes.append(f"no feature, as it may say {what}: {_quoted(found)}; if not, take it out of ignore")
    unused = {*texts, *numbered, *telling, *parts, *given.beside} - chosen
    ignored = [name for name in columns if name in unused]
    if odd := [f"{name!r} ({texts[name]})" for name in ignored if name in texts and name not in given.beside]:
        notes.append(
            f"not features, because a text is no number: {', '.join(odd)}; numbers alone, or an empty cell, would make "
            "a column one"
        )
    return ignored


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
