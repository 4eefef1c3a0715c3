"""How the numbers of a table are written: decimal marks, units after them, and where they are cut in two."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pandas as pd

from benchmark.data.checks.missing import THOUSANDS, between_thousands, folded
from benchmark.data.describe.columns import MOST_CLASSES, UNIT, at, in_rows, present
from benchmark.data.describe.given import Target
from benchmark.data.readers import LINE
from benchmark.data.values import GROUPED, MICRO, NUMBER, marks, spelled
from benchmark.errors import UserError

CUT = re.compile(r"\s*(?:>=|≥)\s*(\S.*?)\s*")
"""A class 1 of numbers from one on."""
DECIMAL = r"[-+\u2212]?(\d*\.(?!\d{3}$)\d+|(0|\d{4,})?\.\d+|\d*\.\d+[eE][-+]?\d+)"
"""A number whose point cannot stand between thousands."""
NAMES = {",": "comma", ".": "point"}


def decimal_mark(table: pd.DataFrame, column: str, texts: pd.Series, file: str, notes: list[str]) -> str:
    """Return the decimal mark of numbers with commas; ``""`` without. Raises UserError if it may be either."""
    _refuse_grouped(table, column, texts, file)
    commas = texts[texts.str.contains(r"^[^,]*\d*,\d", regex=True)]
    if commas.empty or not texts.str.fullmatch(r"[-+\u2212]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?\D{0,8}").mean() > 0.5:
        return ""
    bare = commas.str.extract(r"([-+\u2212\d.,eE]+)", expand=False)
    fits = [mark for mark in NAMES if bare.map(lambda text, of=mark: bool(GROUPED[of].fullmatch(text))).all()]
    where, first = at(table, column, commas, file), commas.iloc[0]
    if fits == [","] and texts.str.fullmatch(r"[-+\u2212]?\d*\.\d+([eE][-+]?\d+)?").any():
        with_point = texts[texts.str.contains(".", regex=False)]
        raise UserError(
            f"{where}: {first!r} has a decimal comma, but {with_point.iloc[0]!r} on line "
            f"{table[LINE][with_point.index[0]]} a point: use one of them, or say --decimal ,"
        )
    if len(fits) > 1:
        raise UserError(
            f"{where}: in {first!r}, the comma may be a decimal comma or stand between thousands: say "
            "--decimal , or --decimal ."
        )
    for mark in fits:
        notes.append(f"{first!r} is read as {spelled(bare.iloc[0], mark)}")
    return "".join(fits)


def refuse_unclear_points(table: pd.DataFrame, features: Sequence[str], target: str, file: str) -> None:
    """Raise UserError if all points of a feature may stand between thousands, where ``;`` separates the fields and no
    number shows what a point is."""
    if table.attrs["separator"] != ";":
        return
    texts = {column: present(table[column]) for column in (*features, target)}
    if not any(of.str.fullmatch(DECIMAL).any() for of in texts.values()):
        for column in features:
            if not texts[column].str.contains(".", regex=False).all():
                _refuse_grouped(table, column, texts[column], file)


def _refuse_grouped(table: pd.DataFrame, column: str, texts: pd.Series, file: str) -> None:
    """Raise UserError if all points in the texts of a column may stand between thousands where ``;`` separates the
    fields, or seem to do so elsewhere."""
    bare = texts.str.replace(rf"\s*({UNIT.pattern})$", "", regex=True)
    pointed = texts[bare.str.contains(".", regex=False)]
    if table.attrs["separator"] == ";":
        doubtful = len(pointed) > 0 and all(map(THOUSANDS.fullmatch, bare[pointed.index]))
    else:
        doubtful = between_thousands(bare.tolist()) != ""
    if doubtful and column not in table.attrs["native"]:
        raise UserError(
            f"{at(table, column, pointed, file)}: in {pointed.iloc[0]!r}, the point may be a decimal point or stand "
            "between thousands: say --decimal . or --decimal ,"
        )


def refuse_two_marks(table: pd.DataFrame, columns: Sequence[str], meaning: dict[str, Any], file: str) -> None:
    """Raise UserError if numbers of some columns may have another decimal mark than the one in ``meaning``."""
    found = marks(table, columns, meaning["decimal"], meaning["suffix"])
    with_mark = found[found["mark"].isin(["own", "thousands"])]
    wrong = found[found["mark"] == "other"]
    if not (found["mark"] == "thousands").any():  # nothing shows that the other mark stands between thousands
        unclear = (found["mark"] == "either") & ~found["column"].isin(with_mark["column"])
        wrong = pd.concat([wrong, found[unclear]])
    if wrong.empty or with_mark.empty:
        return
    one, other = with_mark.iloc[0], wrong.iloc[0]
    own, theirs = sorted(NAMES.values(), key=lambda name: name != NAMES[meaning["decimal"]])
    raise UserError(
        f"{file}: column {one['column']!r}, line {one['line']}: {one['text']!r} has a decimal {own}, but "
        f"{other['text']!r} in column {other['column']!r}, line {other['line']}, a {theirs}: use one of them in all "
        f"columns, or say --decimal {meaning['decimal']} if the {theirs} stands between thousands"
    )


def suffix_of(target: Target, texts: pd.Series) -> str:
    """Return what follows every number, such as %, or most of many if no classes are named. Raises UserError if it
    differs."""
    given = target.given
    named = given.classes or given.positive or given.task == "classification"
    parts = texts.str.extract(rf"^([-+\u2212]?[\d.,]+(?:[eE][-+]?\d+)?)\s*({UNIT.pattern})?$")
    if parts[1].isna().all() or (parts[0].isna().any() and (named or parts[1].notna().mean() <= 0.5)):
        return ""
    parts = parts[parts[0].notna()]  # the others are named where they are
    if len(parts) < len(texts) and parts[0].nunique() <= MOST_CLASSES:
        return ""  # classes such as 4 h, 24 h and overnight
    units = parts[1].fillna("no unit")
    if units.str.translate(MICRO).nunique() > 1:
        listed = in_rows(Counter(units).most_common())
        raise UserError(f"{target.where} mixes units: {listed}: convert all values to one unit")
    target.notes.append(f"numbers read without {parts[1].iloc[0]!r}")
    return str(parts[1].iloc[0])


def cut_of(target: Target, mark: str, suffix: str) -> str:
    """Return a cut of numbers as the TOML spells it, with the marks of the column; any other class 1 as it is."""
    positive = target.given.positive
    found = CUT.fullmatch(positive)
    if found is None or folded(positive) in {*target.texts.map(folded)}:
        return positive
    if folded(found[1]) == "median":
        return ">= median"
    cuts = {spelled(found[1], of, suffix) for of in ("", mark)}
    cuts = {format(Decimal(cut), "f") for cut in cuts if re.fullmatch(NUMBER, cut)}
    if len(cuts) != 1:
        raise UserError(
            f"{target.where}: --positive {positive!r}: expected '>= median' or a number that can be read in one way, "
            "as in '>= 5.5'"
        )
    return f">= {cuts.pop()}"
