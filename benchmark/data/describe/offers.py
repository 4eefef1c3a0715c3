"""What is doubtful about a table that can be read, and what is offered: other units, dates, groups, a copied target."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data import features
from benchmark.data.checks.missing import far
from benchmark.data.describe.bounds import ALIKE
from benchmark.data.describe.columns import (
    MOST_CATEGORIES,
    SAMPLE,
    in_rows,
    is_part,
    is_relation,
    is_unit,
    named,
    present,
)
from benchmark.data.describe.given import table_of
from benchmark.data.readers import LINE
from benchmark.data.splits import moments, part_of
from benchmark.data.values import MICRO, NUMBER, spelled
from benchmark.errors import UserError, number_of

DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
"""A date written as a whole number."""
DECADES = 3
"""Orders of magnitude of a target from which on its logarithm is suggested."""
FEWEST_TOLD, FEWEST_OF_RARER = 20, 5
"""Rows, and rows of the rarer class, from which on a column that orders them by their targets does so by no chance."""
STATISTICS = frozenset(re.findall(r"\w+", "mean average avg median rep replicate run exp experimental measured"))
"""Words in the name of a target that replicates and standard deviations of it lack."""
AMBIGUOUS = "their order is not clear: write them as in 2024-03-31, and --split time:COLUMN goes by them"


def mixed_units(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return a line on each column of units, or of kinds of measurement, that differs between rows.

    An empty field differs, too, unless the column is by its name of another one, as ``IC50 unit`` is of ``IC50``.
    """
    lines = []
    for name in columns:
        if is_unit(table[name], name):
            there = present(table[name])
            other = any(0 < len(of) < len(name) and of.lower() in name.lower() for of in columns)
            counts = Counter(there if other else there.reindex(table.index, fill_value="nothing"))
            if 1 < len({unit.translate(MICRO) for unit in counts}) <= MOST_CATEGORIES:
                lines.append(
                    f"{name!r} differs: {in_rows(counts.most_common(5))}: not comparable: convert them or keep one "
                    f'with where = [["{name}", "{Counter(there).most_common(1)[0][0]}"]] in the TOML'
                )
    return lines


def doubts_of_numbers(numbers: pd.Series, target: str, regression: bool) -> list[str]:
    """Return a line on a number that may mean a missing value, and, of a regression, on dates and on several orders of
    magnitude."""
    lines = []
    values = np.sort(numbers.unique())
    if regression and all(DATE.fullmatch(f"{value:.10g}") for value in values):
        lines.append(
            f"{target!r} may hold dates, such as {values[0]:.10g}, which are predicted as numbers: give another "
            "--target if that is not meant"
        )
    found = [*far(numbers.to_numpy())]
    lines += [f"{one.said('row')}: if it is a missing value, use --ignore-value {one.value:.10g}" for one in found]
    least = int((numbers == values[0]).sum())
    if least > 2 < len(values) and values[0] == -1 and values[1] >= 0 and -1 not in {one.value for one in found}:
        lines.append(f"-1 stands in {least} rows, below all others: if it means a missing value, use --ignore-value -1")
    positive = values[values > 0]
    if not regression or lines or values[0] < 0 or not len(positive):
        return lines
    decades = float(np.log10(positive[-1] / positive[0]))
    log = "--log10 predicts its logarithm, as is usual for concentrations"
    if values[0] == 0:
        log += f", but 0, in {number_of(least, 'row')}, has none: if it is a missing value, --ignore-value 0"
    return [f"{target!r} spans {decades:.1f} orders of magnitude: {log}"] if decades >= DECADES else []


def given_away(table: pd.DataFrame, names: list[str], y: pd.Series, decimal: str) -> list[str]:
    """Return the columns of numbers that order rows by their targets ``y``, as a copy does, or the number that was
    cut."""
    numeric = pd.api.types.is_numeric_dtype(y)
    target = y if numeric else pd.Series(pd.factorize(y)[0], y.index)
    if not numeric and target.nunique() > 2:
        return []
    for rows in (y.index[:SAMPLE], y.index):  # of thousands of columns, few are left
        texts = table.loc[rows, names].map(lambda text: spelled(text, decimal)) if decimal else table.loc[rows, names]
        numbers, _ = features.numbers_in(texts)
        pairs = [(own, target[rows].to_numpy()) for own in numbers.T]
        names = [name for name, pair in zip(names, pairs, strict=True) if _orders(*pair, whole=len(rows) == len(y))]
    return names


def of_one_kind(names: Sequence[str], target: str) -> list[str]:
    """Return the columns whose names have all words of the target's, but for units and those of a statistic.

    >>> of_one_kind(["Yield_2", "yield SD", "Time (h)", "yield_strength"], "Yield_mean (%)")
    ['Yield_2', 'yield SD', 'yield_strength']
    """

    def words(name: str) -> set[str]:
        return {*re.findall(r"[^\W\d_]+", re.sub(r"\(.*?\)|\[.*?\]", "", name.casefold()))}

    own = words(target) - STATISTICS
    return [name for name in names if own and own <= words(name)]


def _orders(x: np.ndarray, y: np.ndarray, whole: bool) -> bool:
    """Return whether y rises, or falls, with x but for a hundredth, and rows with the same x have the same y; if these
    are the ``whole`` columns, too, whether that is no chance."""
    x, y = x[~np.isnan(x)], y[~np.isnan(x)]
    order, counts = np.argsort(x, kind="stable"), np.unique(y, return_counts=True)[1]
    same, steps = np.diff(x[order]) == 0, np.diff(y[order])
    if whole and (len(y) < FEWEST_TOLD or len(counts) < 2 or (len(counts) == 2 and counts.min() < FEWEST_OF_RARER)):
        return False
    if not steps[same].any() and bool((steps >= 0).all() or (steps <= 0).all()):
        return True
    ranks, own = (pd.Series(of).rank().to_numpy() for of in (x, y))  # a number that was rounded, or a row apart
    if not (np.ptp(ranks) and np.ptp(own)):
        return False
    most = np.corrcoef(np.arange(len(own)), np.sort(own))[0, 1]
    return bool(abs(np.corrcoef(ranks, own)[0, 1]) > ALIKE * most)


def offers(file: Path, fields: dict[str, Any], targets: Sequence[str] = ()) -> list[str]:
    """Return a line on each column of a table that could be used for something else than it is in ``fields``.

    ``targets`` are those of other datasets of the table.
    """
    _, table = table_of(file, fields.get("sheet", ""))
    used = {*targets, fields["target"], fields.get("smiles"), fields.get("id"), fields.get("relation")}
    used |= {fields["split"].partition(":")[2].partition(":")[0], *(name for name, *_ in fields.get("one_hot", []))}
    unused = [name for name in table.columns.drop(LINE) if name not in used]
    return [line for name in unused if (line := _offer(table, name, fields["target"]))]


def _offer(table: pd.DataFrame, name: str, target: str) -> str:
    """Return for what a column could be used; ``""`` for nothing."""
    texts = present(table[name])
    if len(texts) < 0.5 * len(table) or is_relation(texts) or named(name, "relation") or is_unit(texts, name):
        return ""
    different = texts.nunique()
    words = {part_of(text) for text in texts.unique()} if different <= 5 else {None}
    given, fold, time, group = (f"--split {quote(f'{kind}:{name}')}" for kind in ("given", "fold", "time", "group"))
    if {"train", "id"} <= words <= {"train", "id", "ood", ""}:
        return f"{name!r} says which rows are for training and test: {given} takes them as they are"
    folds = texts.str.removesuffix(".0")  # of a spreadsheet with empty cells
    if is_part(texts, name) and {*folds} == {"0", "1"}:
        return f"{name!r} holds 0 and 1: {fold} tests on the rows with 1, {quote(f'fold:{name}:0')} on those with 0"
    if re.search(r"fold|split", name, re.IGNORECASE) and different <= 20 and folds.str.fullmatch(r"\D*\d+").all():
        least = folds.str.extract(r"(\d+)$", expand=False).astype(int).min()
        first = quote(f"fold:{name}:{least}")
        return f"{name!r} holds numbers of folds: {fold} tests on the last, {first} on fold {least}"
    latest = f"{time} tests on the latest fifth of the rows"
    if named(name, "year") and texts.str.fullmatch(r"(19[5-9]|20[0-3])\d").all():
        return f"{name!r} holds years: {latest}"
    if order := _dates(texts):
        return f"{name!r} holds dates: {latest if order == 'clear' else AMBIGUOUS}"
    kind = "numbers" if pd.to_numeric(texts, errors="coerce").notna().any() else "texts"
    repeats = 2 <= different <= len(texts) / 2 and name not in table.attrs["repeated"]
    if not repeats or (kind == "numbers" and not named(name, "group")):
        return ""
    line = f"{name!r} has {different} different {kind}: {group} keeps each together"
    told = table.groupby(name)[target].nunique().max() == 1  # so they may be made from the target
    if kind == "texts" and different <= MOST_CATEGORIES and not told:
        line += f"; --one-hot {quote(name)} makes them features"
    return line


def _dates(texts: pd.Series) -> str:
    """Return ``clear`` or ``ambiguous`` if all texts are dates; numbers are none, as they may be anything."""
    numbers = texts.str.replace(",", ".", n=1, regex=False).str.fullmatch(rf"\s*{NUMBER}\s*")
    if texts.nunique() < 3 or not texts.str.contains(r"\d").all() or numbers.any():
        return ""
    if texts.str.fullmatch(r"\D*\d+").all() and texts.str.replace(r"\d", "", regex=True).nunique() == 1:
        return ""  # names with a number, such as E-0123
    try:
        moments(texts.iloc[:SAMPLE].tolist())
    except UserError as error:
        return "ambiguous" if " could be " in str(error) else ""
    return "clear"
