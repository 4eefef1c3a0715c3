"""What the column to predict means: missing values, numbers or classes, and what is doubtful about them."""

from collections.abc import Sequence
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data.checks.missing import MISSING_WORDS, folded
from benchmark.data.describe.bounds import bounds_of, relation_of
from benchmark.data.describe.classes import of_numbers, of_words
from benchmark.data.describe.columns import MOST_CLASSES, UNIT, counted, named
from benchmark.data.describe.given import Options, Target
from benchmark.data.describe.numbers import cut_of, decimal_mark, suffix_of
from benchmark.data.describe.offers import doubts_of_numbers, mixed_units
from benchmark.data.problem import plain
from benchmark.data.readers import MISSING
from benchmark.data.values import is_missing, is_number, related, spelled
from benchmark.errors import UserError


def meaning_of(
    table: pd.DataFrame, given: Options, file: str, notes: list[str], smiles: str = ""
) -> tuple[Target, dict[str, Any]]:
    """Return the target of a table, and the TOML's fields that say what it means, with ``notes`` on both.

    Raises UserError, with the line, for what cannot be learned, and the option for what can be read in two ways.
    """
    target = Target(table, given, file, notes)
    meaning = _fields(target)
    if given.log10 and named(given.target, "logarithm"):
        notes.append(
            f"{given.target!r} is by its name a logarithm already, and --log10 takes one of it: leave out --log10 if "
            "that is not meant"
        )
    if len(target.numbers) and not given.log10:
        notes += doubts_of_numbers(target.numbers, given.target, meaning["task"] == "regression")
    others = [name for name in target.columns if name not in (given.target, smiles)]
    notes += mixed_units(table.loc[target.texts.index], others)
    return target, meaning


def _fields(target: Target) -> dict[str, Any]:
    given, table = target.given, target.table
    missing = _leave_out_missing(target, (*given.classes, given.positive))
    if target.texts.empty:
        words = f" but for {', '.join(map(repr, missing))}" if missing else ""
        raise UserError(f"{target.where} is empty{words}")
    bare = target.texts.map(lambda text: related(text)[1])
    decimal = given.decimal or decimal_mark(table, target.name, bare, target.file, target.notes)
    mark = "" if target.name in table.attrs["native"] else decimal
    suffix = suffix_of(target, bare)
    found: dict[str, Any] = {"missing": missing, "decimal": decimal, "suffix": suffix}
    positive = cut_of(target, mark, suffix)
    marked = bool((bare != target.texts).any())
    bare = bare.map(lambda text: spelled(text, mark, suffix))
    numbers = pd.to_numeric(bare, errors="coerce").astype(float)
    if not np.isfinite(numbers).all():
        return found | of_words(target, numbers, positive)
    cut = positive.startswith(">= ")
    chosen = given.classes or positive or given.task
    if chosen not in ("", "regression") and not cut and all(related(text)[0] for text in target.texts):
        return found | of_words(target, numbers.mask(numbers.notna()), positive)  # such as <10 and >10
    decides = cut and positive != ">= median"
    two = numbers.nunique() < 3 and given.task != "regression"  # classes, which have no relation
    relation = "" if two else relation_of(target, numbers, mark, decides)
    bounds = bounds_of(target, relation, decides)
    if relation or marked:
        found |= {"relation": relation, "bounds": given.bounds or "exclude"}
    if decides and given.log10:
        power = positive.removeprefix(">= ")
        target.notes.append(f"the logarithm is cut: {positive} is >= 10^{power} in the table")
    values = numbers if given.bounds == "exact" else numbers[bounds == ""]
    if cut:
        target.numbers = values
        return found | {"task": "classification", "positive": positive}
    measured = (bounds != "").any() or (suffix and bare.nunique() > 2)
    if given.task != "regression" and (chosen or not measured) and (of := of_numbers(target, plain(bare), positive)):
        return found | of
    if values.empty:
        above = numbers[bounds == ">"] if (bounds == ">").any() else numbers
        one = target.texts[above.index[0]] if target.texts.nunique() == 2 else f">= {above.min():.10g}"
        raise UserError(
            f"{target.where}: all {len(bare)} values are bounds (< or >): take them as values by --bounds exact, or "
            f"make two classes of them with --positive {quote(one)}"
        )
    target.numbers = values
    return found | {"task": "regression"}


def _leave_out_missing(target: Target, kept: Sequence[str]) -> list[str]:
    """Leave out what is ignored by choice or a word for a missing value, but none that is ``kept``; return these."""
    texts, ignored = target.texts, target.given.ignore_value
    keys = texts.map(folded)
    chosen = pd.Series(False, texts.index)
    for word in ignored:
        chosen |= (held := _stand_for(target, word))
        elsewhere = target.given.beside if is_number(word) else target.columns
        if not (held.any() or any(is_missing(target.table[name], (word,)).any() for name in elsewhere)):
            hint = ": give each of several texts an --ignore-value of its own" if "," in word else ""
            raise UserError(f"{target.where}: --ignore-value {word!r}: no field holds it{hint}")
    names = {folded(text) for text in kept}
    everywhere = texts.isin(MISSING) & ~keys.isin(names)
    words = (everywhere | keys.str.replace(". ", ".").isin(MISSING_WORDS - names)) & ~chosen
    if keys.isin(["+", "++"]).any():
        words &= keys != "-"
    rest = ~words & ~chosen
    classes = keys[rest].value_counts()
    if len(classes) == 1 and words.any() and not kept[-1]:
        word = texts[words].iloc[0]
        raise UserError(
            f"{target.where} holds only {texts[rest].iloc[0]!r} besides {word!r}, which may mean a missing "
            f"value: if it is a class, name class 1 with --positive {quote(texts[rest].iloc[0])}"
        )
    if len(classes) < 2:
        words &= everywhere & (len(classes) == 0)
    if words.any():
        frequent = len(classes) <= MOST_CLASSES and words.sum() >= classes.min() and not kept[:-1]
        doubt = frequent and not any(map(is_number, classes.index))
        hint = "; if it is a class, name all with --classes" if doubt else ""
        target.notes.append(f"taken as missing: {counted(texts[words])}{hint}")
    target.texts = texts[~words & ~chosen]
    return [*dict.fromkeys([*ignored, *sorted({*keys[words]})])]


def _stand_for(target: Target, word: str) -> pd.Series:
    """Return which texts are a word, or a number in whatever unit and, if none is chosen, with whatever mark."""
    held = is_missing(target.texts, (word,))
    if is_number(word):
        bare = target.texts.str.replace(rf"\s*({UNIT.pattern})$", "", regex=True)
        for mark in target.given.decimal or ",.":
            held |= is_missing(bare.map(lambda text, of=mark: spelled(text, of)), (word,))
    return held
