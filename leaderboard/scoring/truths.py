"""True values in a table of their own, and what stands for a missing value; ids that may be the same."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from benchmark.data.checks.missing import MISSING_WORDS, folded
from benchmark.errors import UserError
from leaderboard.scoring.files import Table, number
from leaderboard.scoring.roles import (
    SPELLED,
    Grid,
    Options,
    Part,
    distinct,
    example_of,
    filled,
    plain,
    role_of,
    stem,
    words,
)

SINGLE = 2.0**-23
"""The most by which rounding to float32 changes a number, as a share of it."""
FAILED = frozenset(("error", "timeout"))
"""Words that programs write where they predict nothing."""
MOST_COMPARED = 5000
"""Ids that are compared to find two that may be the same, for an error."""


def pair(ids: Sequence[str], others: Collection[str]) -> str:
    """Return, for an error, an id of each that may be the same example, or if there is none in common, the first ones.

    Leading zeros, a ``.0``, capitals, dashes and the encoding of accents may be what differs, and for molecules the
    spelling of the SMILES.
    """

    def bare(text: str) -> str:
        plainly = unicodedata.normalize("NFKC", re.sub(r"[\u2010-\u2015\u2212]", "-", text)).casefold()
        return re.sub(r"(?<!\d)0+(?=\d)|(?<=\d)\.0+$", "", plainly)

    own = set(ids)
    left, others_left = [text for text in ids if text not in others], [text for text in others if text not in own]
    for form in (bare, _canonical):
        known = {form(text): text for text in others_left[:MOST_COMPARED]} if left else {}
        mine = next((text for text in left[:MOST_COMPARED] if form(text) and form(text) in known), None)
        if mine is not None:
            return f"; {mine!a} and {known[form(mine)]!a} may be the same: expected ids that are written alike"
    return f": {ids[0]!r} and {next(iter(others))!r} are the first" if own.isdisjoint(others) else ""


def _canonical(smiles: str) -> str:
    """Return RDKit's spelling of a SMILES; nothing for another text."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    return "" if molecule is None else str(Chem.MolToSmiles(molecule))


def key_of(outside: Table, grid: Grid) -> str:
    """Return the column of ids in a file of true values: by the name that it has in the table, if it is there."""
    key = grid.example if grid.example in outside.columns else example_of([outside], None)[0]
    if key is None:
        raise UserError(f"{outside.name}: no column of example ids: name one of its columns example_id")
    return key


def _alike(a: str, b: str) -> bool:
    """Return whether two texts are the same class, or the same number where one was rounded to float32."""
    return a == b or plain(a) == plain(b) or bool(np.isclose(number(a), number(b), rtol=SINGLE, atol=0))


def texts_of(part: Part) -> np.ndarray:
    """Return the true values of a table as texts, (T,). Raises UserError if one differs between runs."""
    table, at, name = part.table, part.grid.at, part.role.truth
    codes, texts = table.columns[name].encoded
    codes = codes[at]
    for r, t in np.argwhere(codes != codes[0]):
        now, before = texts[codes[r, t]], texts[codes[0, t]]
        if not _alike(now, before):
            raise UserError(
                f"{table.name}, row {at[r, t] + 1}, column {name!r}: example {str(part.grid.ids[t])!r} is {now!r}, but "
                f"{before!r} in an earlier row"
            )
    return np.asarray(texts[codes[0]])


def _missing(texts: Sequence[str], options: Options) -> list[int]:
    """Return the places of the texts that stand for a missing value, unless --classes names them."""
    words = (MISSING_WORDS | FAILED) - ({"-", "--"} if "+" in texts else set())
    plainly = [folded(text).replace(". ", ".") for text in texts]
    return [i for i, text in enumerate(plainly) if text in words and texts[i] not in options.classes]


def check_missing(part: Part, name: str, options: Options) -> None:
    """Raise UserError for a row of a column of classes or true values that is empty or says that it is missing."""
    codes, texts = part.table.columns[name].encoded
    rows = part.grid.at[np.isin(codes[part.grid.at], [-1, *_missing(texts.tolist(), options)])]
    if rows.size:
        row = int(rows.min())
        what, remedy = "is empty", ""
        if codes[row] >= 0:
            what = f"{texts[codes[row]]!r} stands for a missing value"
            remedy = " or, if it is a class, name all classes with --classes"
        raise UserError(
            f"{part.table.name}, row {row + 1}, column {name!r}: {what}: leave such examples out of all tables{remedy}"
        )


def of_file(outside: Table, parts: Sequence[Part], options: Options) -> str:
    """Give parts their true values from a file, without the examples that have none if --common-rows says so.

    Returns, in words, how many have one if not all have.
    """
    columns = [_column(outside, part, options) for part in parts]
    known = [
        _known(outside, key_of(outside, part.grid), name, options) for part, name in zip(parts, columns, strict=True)
    ]
    ids = parts[0].grid.ids.tolist()
    there = np.array([all(text in true for true in known) for text in ids])
    if not there.all() and (not options.common or not there.any()):
        missing = ids[int(there.argmin())]
        part, name = parts[0], columns[0]
        every = dict.fromkeys(filter(None, outside.columns[key_of(outside, part.grid)].encoded[1].tolist()))
        if every.keys().isdisjoint(ids):
            raise UserError(f"{part.table.name} and {outside.name}: no example in common{pair(ids, every)}")
        remedy = "" if options.common else "; to leave out examples without, add --common-rows"
        raise UserError(
            f"{outside.name}: example {missing!r} has no true value in the column {name!r}{pair(ids, every)}: "
            f"expected one for each{remedy}"
        )
    for part, true, name in zip(parts, known, columns, strict=True):
        part.grid = replace(part.grid, ids=part.grid.ids[there], at=part.grid.at[:, there])
        part.truth = np.array([true[text] for text in part.grid.ids.tolist()], dtype=object)
        part.place = f"truth: {name} in {options.truth}"
    return "" if there.all() else f"; {there.sum()} of these have a true value"


def _column(outside: Table, part: Part, options: Options) -> str:
    key, name = key_of(outside, part.grid), options.truth_column
    if name and name not in outside.columns:
        raise outside.missing(name, "--truth-column")
    runs = part.role.predicted if part.role.wide else ()
    rest = [column for column in outside.columns if column not in (key, *runs)]
    free = [column for column in rest if role_of(column) not in ("predicted", "probability", "logit")]
    task = options.task or part.role.predicted[0]
    candidates = (
        [column for column in free if column == task],
        [column for column in free if stem(task) and stem(column) == stem(task)],
        [column for column in free if column.lower() == "y_true"],
        [column for column in free if role_of(column) == "truth"],
        [column for column in free if role_of(column) == "either"],
        [column for column in rest if column == task and stem(column) and not SPELLED & {*words(column)}],  # p_np
        [column for column in rest if not (outside.columns[column].text and distinct(outside.columns[column]))],
        rest,
    )
    name = name or next((names[0] for names in candidates if len(names) == 1), "")
    if not name:
        shown = ", ".join(map(repr, rest))
        raise UserError(f"{outside.name}: each of {shown} may be the true values: say which with --truth-column")
    return name


def _known(outside: Table, key: str, name: str, options: Options) -> dict[str, str]:
    """Return the true values in a file by example. Raises UserError for an example with two."""
    keys, (codes, texts) = outside.columns[key].encoded[1][filled(outside, key)], outside.columns[name].encoded
    true: dict[str, str] = {}
    absent = {-1, *_missing(texts.tolist(), options)}
    for row, (text, code) in enumerate(zip(keys.tolist(), codes.tolist(), strict=True), 1):
        if code in absent:
            continue
        now, before = texts[code], true.setdefault(text, texts[code])
        if not _alike(now, before):
            raise UserError(f"{outside.name}, row {row}: example {text!r} is {now!r}, but {before!r} in an earlier row")
    return true
