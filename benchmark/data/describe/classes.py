"""Classes of a target, as words or numbers: how many there are, which is class 1, and which may be mistakes."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data.checks.missing import folded
from benchmark.data.describe.columns import MOST_CLASSES, counted, in_rows
from benchmark.data.describe.given import Target
from benchmark.data.problem import plain
from benchmark.data.values import NUMBER, is_number
from benchmark.errors import UserError

POSITIVE = re.compile(
    r"\+(ve)?|y|yes|ja|pos|positive?|t|true|active|aktiv|toxic|hit|pass|inhibitor|binder|high|1", re.IGNORECASE
)
"""Texts that mean class 1 in a column with two values."""
NEGATIVE = re.compile(r"-(ve)?|n|no|nein|neg|negative?|f|false|fail|low|0", re.IGNORECASE)
NEGATED = ("in", "non-", "non", "not ", "not_", "no ", "un", "nicht ", "kein ")
FEWEST_OF_CLASS = 10
"""Rows of the rarest of three or more classes in words, fewer of which are taken for a typing error; for classes in
whole numbers, the mean over classes."""


def of_numbers(target: Target, texts: pd.Series, positive: str) -> dict[str, Any]:
    """Return the fields of numbers that are classes, none if they are not. Raises UserError if they may be."""
    task = target.given.task
    counts = Counter(texts)
    values = sorted(counts, key=float)
    if target.given.classes:
        return _chosen(target, texts)
    if len(values) < 3:
        return _two(target, values, positive)
    if positive:
        cut = re.search(NUMBER, positive)
        hint = f"; to cut numbers in two, use --positive '>= {cut[0] if cut else 'median'}'"
        raise _other_than_two(target, texts, f"{hint}: class 1 is the numbers from there on")
    listed = in_rows((value, counts[value]) for value in values[:MOST_CLASSES])
    if values == ["-1", "0", "1"]:
        raise UserError(
            f"{target.where}: expected two classes, found {listed}: if -1 means a missing value, --ignore-value -1; "
            "if it is a class, --classes=-1,0,1"
        )
    between = len(values) == 3 and (values[0], values[2]) == ("0", "1")  # such as 0.5
    few = between or (len(values) <= MOST_CLASSES and all(re.fullmatch(r"-?\d+", value) for value in values))
    if task and few:
        target.notes.append(f"classes: {listed}")
        return {"task": task, "classes": values}
    if task:
        raise UserError(
            f"{target.where}: expected classes, found {len(values)} different numbers: say where to cut them, with "
            "--positive '>= median' or --positive '>= 5'"
        )
    if not few or (len(texts) < FEWEST_OF_CLASS * len(values) and not ({"0", "1"} < {*values} and len(values) == 3)):
        return {}
    rare = min(values, key=lambda value: (value in ("0", "1"), counts[value]))
    hint = ""
    if re.fullmatch(r"-\d+|99*", rare) or 2 * counts[rare] <= sorted(counts.values())[1]:
        hint = f"; if {rare} (line {target.line(texts[texts == rare])}) means a missing value, --ignore-value {rare}"
    raise UserError(
        f"{target.where}: {listed}: classes or numbers? Use --task classification or --task regression{hint}"
    )


def of_words(target: Target, numbers: pd.Series, positive: str) -> dict[str, Any]:
    """Return the fields of texts of which some are no ``numbers``. Raises UserError if they are not clearly classes."""
    if target.given.classes:
        return _chosen(target, target.texts)
    keys, task = target.texts.map(folded), target.given.task
    first = {key: Counter(texts).most_common(1)[0][0] for key, texts in target.texts.groupby(keys)}
    texts, values = keys.map(first), sorted(first.values())
    counts = Counter(texts)
    _refuse_unclear_words(target, texts, numbers, task == "regression" or positive.startswith(">= "))
    spellings = target.table[target.name][target.texts.index].nunique()
    if spellings > len(values) and len(values) <= MOST_CLASSES:
        listed = in_rows((repr(text), n) for text, n in counts.most_common())
        target.notes.append(f"{spellings} spellings of {len(values)} classes, but for capitals and blanks: {listed}")
    if len(values) < 3:
        return _two(target, values, positive)
    quantities = texts.str.match(r"\W{0,2}\d")
    if not task and quantities.mean() > 0.5 and len(odd := texts[quantities & ~np.isfinite(numbers)]):
        raise UserError(
            f"{target.at(odd)}: expected a number or a word, found {odd.iloc[0]!r}: write numbers alone, as in "
            "1234.5, or say --task classification"
        )
    if len(values) > MOST_CLASSES:
        raise _other_than_two(target, texts, "")
    opposite = [two for two in combinations(values, 2) if _opposite(*two)]
    pair = max(opposite, key=lambda two: counts[two[0]] + counts[two[1]], default=())
    odd = [value for value in values if value not in pair] if pair else []
    if positive or odd or min(counts.values()) < FEWEST_OF_CLASS:
        word = min(odd or values, key=lambda value: counts[value])
        named = "write no commas in it" if "," in "".join(values) else f"--classes {quote(','.join(values))}"
        hint = f"; if {word!r} means a missing value, use --ignore-value {quote(word)}; if it is a class, {named}"
        raise _other_than_two(target, texts, hint)
    return {"task": "classification", "classes": values}


def _refuse_unclear_words(target: Target, texts: pd.Series, numbers: pd.Series, measured: bool) -> None:
    """Raise UserError for two words of one class and, if most or many are numbers or all were ``measured``, for any
    word."""
    known = sorted(text for text in {*texts} if POSITIVE.fullmatch(folded(text)) or NEGATIVE.fullmatch(folded(text)))
    same = [f"{one!r} and {other!r}" for one, other in combinations(known, 2) if _synonyms(one, other)]
    if same and not measured and numbers.dropna().isin((0, 1)).all():
        hint = f"; {', '.join(same)} seem to be the same class: write each class in one way in the table"
        raise _other_than_two(target, texts, hint)
    if measured or numbers.notna().mean() > 0.5 or numbers.nunique() > MOST_CLASSES:
        odd = target.texts[~np.isfinite(numbers)]
        word = odd.iloc[0]
        more = f"; all such texts: {counted(odd)}" if odd.nunique() > 1 else ""
        bound = "write a bound as in >10 and an approximate number as in ~10; " if re.search(r"\d", word) else ""
        raise UserError(
            f"{target.at(odd)}: expected a number, found {word!r}; {bound}if it means a missing value, use "
            f"--ignore-value {quote(word)}{more}"
        )


def _two(target: Target, values: list[str], positive: str) -> dict[str, Any]:
    """Return the fields of two classes. Raises UserError for a single one, and if none is ``positive``."""
    if len(values) == 1:
        empty = (target.table[target.name].str.strip() == "").any()
        hint = "; if the empty fields are the other class, write it there" if empty else ""
        raise UserError(f"{target.where} holds only {values[0]!r}: there is nothing to learn{hint}")
    names = {folded(value): value for value in values}
    if not positive and [*names] == ["0", "1"]:
        return {"task": "classification"}
    one = names.get(folded(plain(pd.Series([positive])).iloc[0])) if positive else _class_one(values)
    if one is None:
        raise UserError(f"{target.where}: --positive {positive!r}: expected {values[0]!r} or {values[1]!r}")
    numbers, alphabet = all(map(is_number, values)), "" if one else " by the alphabet alone"
    one = one or values[-1]
    if not positive and (float(values[0]) > 0 or one == values[0] if numbers else alphabet):  # as of 1 and 2, 0 and -1
        how, other = "" if numbers else alphabet, values[values[0] == one]
        target.notes.append(f"class 1 is {one!r}{how}: else --positive {quote(other)}")
    return _classes(*sorted(values, key=lambda value: value == one))


def _chosen(target: Target, texts: pd.Series) -> dict[str, Any]:
    """Return the fields of the given classes, the first of which is class 0. Raises UserError for another text."""
    classes = [*target.given.classes]
    known = {folded(name) for name in plain(pd.Series(classes, dtype=object))}
    if len(known) < max(2, len(classes)):
        raise UserError(f"--classes: expected two or more different texts, found {', '.join(classes) or 'none'}")
    odd = texts[~texts.map(folded).isin(known)]
    if len(odd):
        raise UserError(
            f"{target.at(odd)}: expected one of {', '.join(classes)}, found {counted(odd)}; if these mean missing "
            f"values, use --ignore-value {quote(odd.iloc[0])}"
        )
    return _classes(*classes)


def _classes(*classes: str) -> dict[str, Any]:
    if len(classes) == 2:
        return {"task": "classification", "positive": classes[1], "negative": classes[0]}
    return {"task": "classification", "classes": [*classes]}


def _other_than_two(target: Target, texts: pd.Series, hint: str) -> UserError:
    """Return the error for a number of classes other than two; it locates the first row of the rarest."""
    rarest = Counter(texts).most_common()[-1][0]
    return UserError(
        f"{target.where}: expected two classes, found {texts.nunique()}: {counted(texts)}; {rarest!r} is on line "
        f"{target.line(texts[texts == rarest])}{hint or '; remove the rows of the other classes, or merge classes'}"
    )


def _negates(one: str, other: str) -> bool:
    """Return whether a folded label is another with a prefix, as inactive is active."""
    return any(one == prefix + other for prefix in NEGATED)


def _opposite(one: str, other: str) -> bool:
    """Return whether two labels are each other's opposite, as active and inactive, or yes and no."""
    return any(
        _negates(a, b) or (POSITIVE.fullmatch(a) and NEGATIVE.fullmatch(b))
        for a, b in permutations((folded(one), folded(other)))
    )


def _synonyms(one: str, other: str) -> bool:
    """Return whether two labels are a word and its beginning, as Yes and y, or a sign and a word, as 1 and TRUE."""
    short, long = sorted((folded(one), folded(other)), key=len)
    return (long.startswith(short) or not short.isalpha()) and any(
        kind.fullmatch(short) and kind.fullmatch(long) for kind in (POSITIVE, NEGATIVE)
    )


def _class_one(values: Sequence[str]) -> str:
    """Return class 1 of two texts: ``active`` of ``active, inactive``; else the affirmative one; else ``""``.

    What both say, and remarks in brackets, do not count if they hide it, as in ``high permeability (A)``.
    """
    one, other = (folded(value).partition("(")[0].split() for value in values)
    apart = [" ".join(word for word in a if word not in b and len(word) > 1) for a, b in ((one, other), (other, one))]
    for first, last in (map(folded, values), apart):
        if _negates(last, first) or _negates(first, last):
            return values[_negates(first, last)]
        if _affirms(first) != _affirms(last):
            return values[_affirms(last)]
        if _denies(first) != _denies(last):
            return values[_denies(first)]
    return ""


def _affirms(text: str) -> bool:
    return text.endswith("+") or POSITIVE.fullmatch(text) is not None


def _denies(text: str) -> bool:
    return text.startswith(("no ", "not ")) or NEGATIVE.fullmatch(text) is not None
