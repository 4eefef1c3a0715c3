"""What to say of predictions that were read, but may not mean what they seem to: two units, copies, missing values."""

import re
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from benchmark.data.checks.missing import far
from benchmark.errors import number_of
from leaderboard.scoring.files import Table
from leaderboard.scoring.roles import FEW, UNITS, Options, Part, typed, words
from leaderboard.scoring.runs import Runs


def said_of(parts: Sequence[Part], result: Sequence[Runs], outside: Table | None, options: Options) -> list[str]:
    """Return a clause on each doubt of the ``result``; ``outside``, the table of ``--truth``, has the true values."""
    first = result[0]
    kind, every = first.kind, _named(parts, result)
    truth = [("the true value", runs.y) for runs in result if runs.y is not None and kind == "values"][:1]
    numbers = every if kind == "values" else [(name, p[:, 1]) for name, p in every if p.shape[1:] == (2,)]
    numbers = every if kind == "labels" and len(first.classes) == 2 else numbers
    related = _opposed(parts, result, options) or (_related([*numbers, *truth], kind) if numbers else "")
    related = related or _equal_runs([*truth, *every])
    said = [_far(result), _cut(parts, result), _unmatched(result, options), _bounds(parts, outside, kind), related]
    return [*filter(None, said)]


def _named(parts: Sequence[Part], result: Sequence[Runs]) -> list[tuple[str, np.ndarray]]:
    """Return what to call each run of each table, and its predictions."""
    every: list[tuple[str, np.ndarray]] = []
    for part, runs in zip(parts, result, strict=True):
        names = runs.names if part.role.wide else [f"run {name}" for name in runs.names]
        names = names if len(names) > 1 else part.role.predicted[-1:]
        every += [(f"{name} in {part.table.name}", values) for name, values in zip(names, runs.values, strict=True)]
    return every


def _far(result: Sequence[Runs]) -> str:
    """Return what to say if a true value, or a prediction, is written as what is missing is, such as −999."""
    of_values = [runs for runs in result if runs.kind == "values"]
    numbers = [("", "true value", runs.y) for runs in of_values if runs.y is not None]
    numbers += [(f"{runs.source}: ", "prediction", runs.values) for runs in of_values]
    found = (f"{source}{one.said(what)}" for source, what, values in numbers for one in far(values))
    return next((f"{said}: if it means a missing value, leave such examples out of all tables" for said in found), "")


def _cut(parts: Sequence[Part], result: Sequence[Runs]) -> str:
    """Return what to say if a threshold stands beside probabilities, which are cut at 0.5, or if all are of a class."""
    for part in parts if result[0].kind == "probabilities" else ():
        for name in part.table.columns:
            numbers = part.table.columns[name].numbers if {"threshold", "cutoff"} & {*words(name)} else np.zeros(0)
            if ((numbers > 0) & (numbers < 1) & (numbers != 0.5)).any():
                return (
                    f"by {name!r} in {part.table.name}, the threshold is another than 0.5, at which probabilities are "
                    "cut: to compare the classes by it, write them into a column y_pred"
                )
    classes, n = result[0].classes, len(result[0].ids)
    found = {c for runs in result if classes and n >= FEW for c in np.unique(runs.predicted_classes()).tolist()}
    return f"all predictions are of the class {classes[found.pop()]!r}" if len(found) == 1 else ""


def _unmatched(result: Sequence[Runs], options: Options) -> str:
    """Return what to say if a class is predicted and never true, or the reverse, as a word for a failure is.

    Without true values, it is a class that is rare beside two others.
    """
    first = result[0]
    if first.kind != "labels" or options.classes or len(first.classes) < 3:
        return ""
    predicted = np.bincount(np.concatenate([runs.values.ravel() for runs in result]), minlength=len(first.classes))
    rare, what, counts = predicted < 0.05 * predicted.sum(), "predicted rarely", predicted
    if first.y is None and len(rare) - rare.sum() != 2:
        return ""
    if first.y is not None:
        true = np.bincount(first.y, minlength=len(first.classes))
        rare, what = (true == 0) & (predicted < 0.5 * predicted.sum()), "predicted, and in no true value"
        if not rare.any():
            rare, what, counts = predicted == 0, "true, and in no prediction", true
    shown = ", ".join(
        f"{first.classes[i]!r} ({number_of(counts[i], 'time')})" for i in np.flatnonzero(rare & (counts > 0))[:5]
    )
    hint = "where it stands for a missing value, leave such examples out of all tables"
    return f"{what}: {shown}: {hint}" if shown else ""


def _bounds(parts: Sequence[Part], outside: Table | None, kind: str) -> str:
    """Return what to say of relations beside the true values, such as > and =, or of their units: neither is read."""
    tables = [outside] if outside else [part.table for part in parts if part.role.truth]
    for table in tables if kind == "values" else ():
        for name, column in table.columns.items():
            codes, texts = column.encoded
            marks = [bool(re.fullmatch("'?([<>]=?|[≤≥])'?", text)) for text in texts]
            if any(marks) and all(re.fullmatch("'?[<>=~≤≥]+'?", text) for text in texts):
                rows = f"{number_of(int(np.array([*marks, False])[codes].sum()), 'row')} of {table.name}"
                return f"by {name!r}, the true values in {rows} are bounds, and are taken as values"
            if len(texts) > 1 and all(UNITS & {*words(text)} for text in texts):
                units = ", ".join(texts[:5])
                return f"by {name!r} in {table.name}, the true values have several units ({units}): write all in one"
    return ""


def _equal_runs(every: Sequence[tuple[str, np.ndarray]]) -> str:
    """Return what to say if two runs have the same numbers or classes, as a copied file or column has."""
    seen: dict[bytes, str] = {}
    for name, values in every:
        if len(values) < FEW or len(np.unique(values)) < (FEW if values.dtype.kind == "f" else 2):
            continue
        if (other := seen.setdefault(sha256(values.tobytes()).digest(), name)) != name:
            return f"{other} and {name} are the same: if one is a copy of the other, leave it out"
    return ""


def _related(every: Sequence[tuple[str, np.ndarray]], kind: str) -> str:
    """Return what to say if a run is related to the first one, but falls as it rises, or as if in another unit."""
    (first, one), *others = every
    few = len(one) < 10  # of few values, spreads differ by chance
    ranks = np.unique(one, return_inverse=True)[1]
    for name, other in others:
        low, high = sorted(of.std() if np.ptp(of) else 0.0 for of in (one, other))
        related = np.corrcoef(ranks, np.unique(other, return_inverse=True)[1])[0, 1] if low else 0.0
        if related < -0.5 and not few:
            two = "units" if kind == "values" else "classes"
            return f"{name} falls where {first} rises: if these are of two {two}, write both in one"
        if related < 0.5 or kind != "values":
            continue
        truth = name == "the true value"  # from which predictions spread less
        if high > (10 if few or truth else 2) * low:
            wide, narrow = (name, first) if other.std() == high else (first, name)
            return (
                f"{wide} spreads {high / low:,.3g} times as far as {narrow}: if these are two units, write both in one"
            )
        if (shift := other.mean() - one.mean()) and abs(shift) > 3 * high:
            return f"{name} is {shift:+,.3g} from {first} on average: if these are two units, write both in one"
    return ""


def _opposed(parts: Sequence[Part], result: Sequence[Runs], options: Options) -> str:
    """Return what to say if predictions of a class are mostly of examples of another, as if the two were exchanged."""
    for part, runs in zip(parts, result, strict=True):
        y, n = runs.y, len(runs.classes)
        if y is None or not n <= FEW <= len(y):
            continue
        for c in reversed(range(n)):
            said = (runs.values[..., c] if runs.kind == "probabilities" else runs.values == c).mean(axis=0)
            if not said.std() or not np.std(y == c) or np.corrcoef(said, y == c)[0, 1] > -0.2:
                continue
            other = max({*y.tolist()} - {c}, key=lambda k: said[y == k].mean())
            name = part.role.predicted[c if part.role.classes else -1]
            hint = "write them as in the truth"
            if options.classes or (runs.kind == "probabilities" and not part.role.classes):
                both = [runs.classes[c], runs.classes[other]]
                hint = f"use --classes {typed(both)}" if n == 2 else "use --classes in another order"
            return (
                f"{name} in {part.table.name} says {runs.classes[c]} more often where the truth is "
                f"{runs.classes[other]}: if the classes are exchanged, {hint}"
            )
    return ""
