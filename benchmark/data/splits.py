"""Canonical splits by their names in the TOMLs: ``scaffold:0.8``, ``random:0.8``, ``time:COLUMN`` and others."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from benchmark.data.checks.missing import MISSING_WORDS, folded
from benchmark.data.readers import MISSING
from benchmark.data.spec import time_column
from benchmark.errors import UserError


@dataclass(frozen=True)
class Split:
    """Row numbers (int64) of the training pool and of the test sets: ``id`` and, if there is one, ``ood``."""

    train: np.ndarray
    tests: Mapping[str, np.ndarray]

    def parts(self) -> dict[str, np.ndarray]:
        return {"train": self.train, **self.tests}


def scaffold_split(scaffolds: Sequence[str], seed: int, share: float = 0.8) -> Split:
    """Return a Bemis–Murcko scaffold split (doi:10.1021/jm9602928; paper, section Datasets).

    Molecules with the same scaffold (without chirality; acyclic ones share the empty scaffold) stay together. Groups,
    largest first and then shuffled, are taken while they fit into ``share`` of the rows; the others are the OOD test.
    A fifth of the rows taken is the ID test, the rest the training pool.
    """
    groups: dict[str, list[int]] = {}
    for row, scaffold in enumerate(scaffolds):
        groups.setdefault(scaffold, []).append(row)
    by_size = sorted(groups.values(), key=len, reverse=True)
    order = np.arange(len(by_size))
    np.random.RandomState(seed).shuffle(order)
    room = int(share * len(scaffolds))
    taken: list[int] = []
    left: list[int] = []
    for group in order:
        rows = by_size[group]
        (taken if len(taken) + len(rows) <= room else left).extend(rows)
    pool = np.array(taken, dtype=np.int64)
    np.random.RandomState(seed).shuffle(pool)
    n_id = max(1, int(0.2 * len(pool)))
    return Split(pool[n_id:], {"id": pool[:n_id], "ood": np.array(left, dtype=np.int64)})


def random_split(n: int, seed: int, share: float = 0.8) -> Split:
    """Split ``n`` rows into training pool (``share`` of them) and ID test, without OOD test (paper, Datasets)."""
    if not 0 < int(share * n) < n:
        return Split(np.arange(n), {"id": np.arange(0)})
    from sklearn.model_selection import train_test_split  # scikit-learn takes a second to import

    train, test = train_test_split(np.arange(n, dtype=np.int64), train_size=int(share * n), random_state=seed)
    return Split(train, {"id": test})


def first_rows(pool: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return the first ``n`` rows of a shuffle of the training pool (paper, appendix N-scaling), in the pool's order.

    For one seed a smaller pool is part of every larger one, and all rows are the pool itself.
    """
    return pool[np.sort(np.random.default_rng(seed).permutation(len(pool))[:n])]


GIVEN = {
    "train": r"tra?i?n?\b|train(?!val|test)",
    "id": r"i?id\b|te?st|te\b|hold",
    "ood": r"ood\b|extern",
    "": r"val|dev\b|calib",
}
"""Beginnings of the words in a split column by what they mean; validation rows are excluded."""


@cache
def part_of(text: str) -> str | None:
    """Return the part of a split that a word means, whatever its capitals; None for another word.

    A test may be one of OOD, as validation may be; other words for two parts mean none.

    >>> [part_of(text) for text in ("Training set", "TEST", "val", "test_ood", "id_val", "train/val", "later")]
    ['train', 'id', '', 'ood', '', None, None]
    """

    def of(word: str) -> str | None:
        return next((part for part, words in GIVEN.items() if re.match(words, word, re.IGNORECASE)), None)

    words = re.findall(r"[^\W\d_]+", text)
    meant = [of(word) for word in words]
    parts = {*meant} - {None}
    if len(parts) < 2:
        return parts.pop() if parts and None not in meant else of(text.strip())
    rest = parts - {of(word) for word in words if word.casefold() in ("id", "iid", "ood")}
    if len(rest) == 1 and rest != {"id"}:  # train_id, ood_val
        return rest.pop()
    return "ood" if parts in ({"", "ood"}, {"id", "ood"}) else None  # external validation, test_ood


def given_split(parts: Sequence[str], lines: Sequence[int]) -> Split:
    """Return the split of a column with words for its parts. Raises UserError for an unknown one, with its line."""
    meant = [part_of(text) for text in parts]
    for i, part in enumerate(meant):
        if part is None:
            folds = re.search(r"\d", parts[i])
            hint = "for numbers, --split fold:COLUMN:N tests on the rows with N" if folds else "write one of these"
            raise UserError(
                f"split 'given': expected train, test (or id), ood or validation, found {parts[i]!r} in "
                f"line {lines[i]}; {hint if parts[i] else 'validation leaves a row out'}"
            )
    train, test, ood = (np.flatnonzero([part == name for part in meant]) for name in ("train", "id", "ood"))
    return Split(train, {"id": test} | ({"ood": ood} if len(ood) else {}))


def fold_split(parts: Sequence[str], fold: int | None, lines: Sequence[int]) -> Split:
    """Return a split whose ID test is one fold of a column of their numbers, by default the last. Raises UserError.

    A number may follow a word, as in ``fold 3``; the ``-`` of ``fold-3`` is a hyphen.
    """
    found = pd.Series([*parts], dtype=str).str.extract(r"^(?:\D*[^\W\d]-)?[^\d-]*(-?\d+)(?:\.0*)?$", expand=False)
    numbers = pd.to_numeric(found, errors="coerce")
    wrong = np.flatnonzero(numbers.isna())
    if len(wrong):
        raise UserError(
            f"split 'fold': expected numbers of folds, found {parts[wrong[0]]!r} in line {lines[wrong[0]]}: write the "
            "fold of the row, or leave the row out of the table"
        )
    test = (numbers == (numbers.max() if fold is None else fold)).to_numpy()
    return Split(np.flatnonzero(~test).astype(np.int64), {"id": np.flatnonzero(test).astype(np.int64)})


def group_split(groups: Sequence[str], seed: int) -> Split:
    """Return a random split that keeps groups together: 80 % of them form the pool, the others the ID test."""
    rows = np.arange(len(groups), dtype=np.int64)
    if len(set(groups)) < 2:
        return Split(rows, {"id": rows[:0]})
    from sklearn.model_selection import GroupShuffleSplit  # scikit-learn takes a second to import

    train, test = next(GroupShuffleSplit(1, train_size=0.8, random_state=seed).split(rows, groups=groups))
    return Split(rows[train], {"id": rows[test]})


def ood_split(parts: Sequence[str], seed: int, lines: Sequence[int]) -> Split:
    """Return a split with a given OOD test: the rows marked ``test`` or ``ood``; the others are split at random, 4:1.

    Raises UserError for a text that ``part_of`` does not know.
    """
    given = given_split(parts, lines)
    inside = random_split(len(given.train), seed)
    tests = np.concatenate([given.tests["id"], given.tests.get("ood", np.arange(0))])
    return Split(given.train[inside.train], {"id": given.train[inside.tests["id"]], "ood": np.sort(tests)})


MONTHS = {"mär": "mar", "mrz": "mar", "mai": "may", "okt": "oct", "dez": "dec", "sept": "sep", "märz": "march"} | {
    "januar": "january",
    "februar": "february",
    "juni": "june",
    "juli": "july",
    "oktober": "october",
    "dezember": "december",
}
"""German names of months, and a short one that Python does not know."""
NAMED = (
    *("%d/%b/%y", "%d/%b/%Y", "%d/%B/%Y", "%b/%d/%Y", "%B/%d/%Y", "%Y/%b/%d", "%Y/%m/%d", "%b/%Y", "%B/%Y", "%b/%y"),
    *("%m/%Y", "%d%b%Y", "%d%b%y"),
)
"""Dates that cannot be mistaken, with slashes between their parts."""
YEARS = re.compile(r"(year|yr|jahr|annee)$|^year(?![a-z])|(^|[\W_])(date|datum)$", re.IGNORECASE)
UNORDERED = (
    (r"\d{7,8}", 7, 8, ("%d%m%Y", "%m%d%Y")),
    (r"\d{5,6}", 5, 6, ("%m%Y",)),
    (r"\d{5,6}", 6, 6, ("%d%m%y", "%m%d%y")),
    (r"\d{1,2}\.\d{4}", 6, 7, ("%m.%Y",)),
    (r"\d{4}\.\d{1,2}", 6, 0, ("%Y.%m",)),
)
"""Dates that are numbers in another order: pattern, the least length of the longest, length with zeros, formats."""
ORDERS = (("%d/%m/%Y", "%d/%m/%y"), ("%m/%d/%Y", "%m/%d/%y"), ("%y/%m/%d",))
"""Dates with the day, the month or a year of two digits first."""
LATEST = 2029
"""A year of two digits that comes first is not taken for a later one, so that 30 and 31 begin a date as its day."""


def moments(texts: Sequence[str], column: str = "", lines: Sequence[int] = ()) -> np.ndarray:
    """Return dates as numbers (N,) in their order, nan for an empty text and for a word for a missing value, as n/a.

    Dates are numbers, such as years; names with numbers, such as E-0123; or as in 2024-03-31, 31.03.2024, 03/31/24,
    03-JAN-22 and March 3, 2022. Raises UserError for one that is none of these, naming ``column`` and line if
    ``lines`` (N,) are given, if all could be read in two orders of day, month and year, and if numbers could be dates
    in another order.

    >>> moments(["2015", "2016.5", ""]), float(np.diff(moments(["31/03/2024", "01-APR-24"]))[0])
    (array([2015. , 2016.5,    nan]), 1.0)
    """
    written = pd.Series([*texts], dtype=object).astype(str).str.strip()
    there = ~(written.isin(MISSING) | written.map(folded).isin(MISSING_WORDS)).to_numpy(bool)
    known = written[there]
    numbered = known.str.extract(r"^(\D*)(\d+)$")
    one_prefix = len(known) > 0 and bool(numbered.notna().all(axis=None)) and numbered[0].nunique() == 1
    found = pd.to_numeric(numbered[1] if one_prefix else known, errors="coerce")
    try:
        if np.isfinite(found).all():
            _refuse_unordered(known, found)
            _refuse_short_years(known, found, column)
        else:
            found = (_dates(known) - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    except _Doubt as doubt:
        row, why = doubt.args
        place = f"column {column!r}, line {lines[row]}: " if len(lines) else ""
        raise UserError(f"{place}{known[row]!r} {why}") from None
    out = np.full(len(written), np.nan)
    out[there] = found
    return out


class _Doubt(Exception):
    """A row, and why its text is no date, or may be two."""


def _refuse_short_years(known: pd.Series, numbers: pd.Series, column: str) -> None:
    """Raise _Doubt for years of two digits that go from 99 to 00, or are beside longer ones."""
    short = known.str.fullmatch(r"(FY|')?\d{1,2}(\.0)?", case=False).to_numpy()
    named = YEARS.search(column) or known.str.match("FY", case=False).all()
    around = short.all() and numbers.min() < 50 <= numbers.max()
    beside = not short.all() and numbers[~short].between(1900, 2099).all()
    if named and short.any() and (around or beside):
        why = "may be a year of two digits, of which 99 comes before 00: write years with four digits or, if it is "
        raise _Doubt(known.index[int(short.argmax())], f"{why}none, rename the column")


def _refuse_unordered(known: pd.Series, numbers: pd.Series) -> None:
    """Raise _Doubt for numbers that may be dates whose order is not that of the numbers, such as 31122020."""
    texts = known.str.removesuffix(".0")  # of a spreadsheet with empty cells
    if texts.str.fullmatch(r"(19|20)\d{4}(\d{2})?").all() and _read(texts, "%Y%m%d", "%Y%m").notna().all():
        return
    for pattern, longest, width, formats in UNORDERED:
        if texts.empty or not texts.str.fullmatch(pattern).all() or texts.str.len().max() < longest:
            continue
        for each in formats:
            dates = _read(texts.str.zfill(width), each)
            if dates.dt.year.between(1900, 2099).all() and not dates.rank().equals(numbers.rank()):
                raise _Doubt(
                    texts.index[0],
                    f"may be a number or the date {dates.iloc[0]:%Y-%m-%d}, which differ in the order of the rows: "
                    "write dates as in 2024-03-31, and other numbers with a letter before them, as in E-0123",
                )


def _read(texts: pd.Series, *formats: str) -> pd.Series:
    """Return texts as dates by the first format that each has, of the years that nanoseconds can count."""
    dates = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[ns, UTC]")
    for each in formats:
        left = dates.isna()
        if left.any():
            found = pd.to_datetime(texts[left], format=each, errors="coerce", utc=True)
            dates[left] = found.where(found.dt.year.between(1678, 2261)).astype(dates.dtype)
    return dates


def _dates(known: pd.Series) -> pd.Series:
    of_day = r"(\d),?[T ]+\d{1,2}(?::\d{2}|\.\d{2}\.\d{2}).*$"  # which says little
    slashed = known.str.replace(of_day, r"\1", regex=True)
    slashed = slashed.str.replace(r"(?<=\d)(st|nd|rd|th)\b", "", regex=True).str.replace(r"[^\w]+", "/", regex=True)
    slashed = slashed.str.lower().str.replace(r"[^\W\d_]+", lambda word: MONTHS.get(word[0], word[0]), regex=True)
    slashed = slashed.str.replace(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*/", "", regex=True)
    quarter = slashed.str.extract(r"^(\d{4})/?q([1-4])$")
    slashed = slashed.mask(
        quarter[0].notna(), quarter[0] + "/" + (3 * pd.to_numeric(quarter[1]) - 2).astype(str) + "/1"
    )
    certain = _read(known, "ISO8601").fillna(_read(slashed, *NAMED))
    left = slashed[certain.isna()]
    readings = [_read(left, *formats) for formats in ORDERS]
    readings[-1] = readings[-1].where(readings[-1].dt.year <= LATEST)
    whole = [reading for reading in readings if reading.notna().all()]
    if not whole:
        unread = max(readings, key=lambda reading: reading.notna().sum()).isna()
        why = "is not a date: write dates as in 2024-03-31, or as numbers such as years; where there is none "
        raise _Doubt(left.index[unread][0], f"{why}(9999-12-31), leave the field empty")
    for other in whole[1:]:
        if not whole[0].equals(other):
            row = left.index[whole[0] != other][0]
            may = f"could be {whole[0][row]:%Y-%m-%d} or {other[row]:%Y-%m-%d}: write dates as in 2024-03-31"
            raise _Doubt(row, may)
    return certain.fillna(whole[0])


def time_split(dates: Sequence[str], share: float, column: str, lines: Sequence[int]) -> Split:
    """Split rows by their dates (``moments``): the pool, in the order of time, and the later rows as the ID test.

    Rows of one date stay together: the pool ends with the date that brings it nearest to ``share`` of the rows. Rows of
    one date keep their order, and rows without a date are left out. Raises UserError for a text that is no date.
    """
    when = moments(dates, column, lines)
    order = np.argsort(when, kind="stable")[: int(np.isfinite(when).sum())].astype(np.int64)
    ends = np.flatnonzero(np.diff(when[order])) + 1  # places of a first row with a later date
    if len(ends) == 0:
        return Split(order, {"id": order[:0]})
    end = ends[np.argmin(np.abs(ends - share * len(order)))]
    return Split(order[:end], {"id": order[end:]})


def make_split(name: str, seed: int, scaffolds: Sequence[str], parts: Sequence[str], lines: Sequence[int]) -> Split:
    """Return the split called ``name`` of rows with these scaffolds, entries in the split column, and lines.

    Raises UserError for an unknown name, for an entry that cannot be read, and for a split with an empty part.
    """
    kind, _, text = name.partition(":")
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if kind == "given" and text:
        split = given_split(parts, lines)
    elif kind == "fold" and text:
        split = fold_split(parts, int(fold[1]) if (fold := re.search(r":(-?\d+)$", text)) else None, lines)
    elif kind == "ood" and text:
        split = ood_split(parts, seed, lines)
    elif kind == "group" and text:
        split = group_split(parts, seed)
    elif kind == "time" and text:
        column, share = time_column(text)
        split = time_split(parts, share, column, lines)
    elif kind == "scaffold" and 0 <= share <= 1:
        split = scaffold_split(scaffolds, seed, share)
    elif kind == "random" and 0 <= share <= 1:
        split = random_split(len(scaffolds), seed, share)
    else:
        raise UserError(
            f"unknown split {name!r}: expected scaffold:SHARE or random:SHARE with a share between 0 and 1, as in "
            "scaffold:0.8, or given:COLUMN, fold:COLUMN, group:COLUMN, ood:COLUMN or time:COLUMN"
        )
    for part, rows in split.parts().items():
        if len(rows) == 0:
            hint = f"write {'train' if part == 'train' else 'test'} in the column {text!r}"
            hint = hint if kind == "given" else "choose another split, such as random:0.8 (new-dataset --split)"
            raise UserError(f"split {name!r} with canonical seed {seed} leaves no row in {part!r}: {hint}")
    return split
