"""The roles of the columns in a table of predictions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.errors import UserError
from leaderboard.scoring.files import columns_of, numbers_of, plain, texts_of

RUN = ("run", "train_seed", "seed", "model", "retraining")
EXAMPLE = ("example_id", "id", "example", "molecule_id", "smiles")
TRUTH = ("y_true", "truth", "target", "y")
PREDICTED = ("y_pred", "prediction", "predictions", "predicted", "predicted_class", "outputs")
EITHER = ("label", "class")
"""Names that may mean the predicted or the true class."""
POSITIVE = ("p", "prob", "probability", "p1")
OTHER = ("evalset", "split", "dataset", "canonical_seed")
"""Columns of the suite's exports that hold no predictions; each must have a single value."""
ABOUT = ("", "unnamed: 0", "__index_level_0__", "index", "row", "fold", "group", "cluster", "weight")
"""Numeric columns that describe examples, or the index that pandas writes: never a run."""
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
MOST_CLASSES = 1000


@dataclass(frozen=True)
class Layout:
    """Column roles; ``run`` is empty if each column in ``predicted`` is a run (wide) or the file has a single run.

    ``example`` is empty if the number of a row identifies its example.
    """

    run: str
    example: str
    truth: str
    predicted: tuple[str, ...]
    wide: bool
    unread: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    """Columns that hold no predictions and must have a single value: those in ``OTHER``."""

    def describe(self, truth: Path | None) -> str:
        """Describe how the columns were read; ``truth`` is the separate file of true values, if any."""
        parts = [f"run {self.run}"] if self.run else []
        parts += [] if self.example else ["examples by the order of the rows"]
        parts.append(f"{'runs' if self.wide else 'predictions'} {', '.join(self.predicted)}")
        if truth or self.truth:
            parts.append(f"truth from {truth}" if truth else f"truth {self.truth}")
        unread = (*self.unread, *([self.truth] if truth and self.truth else []))
        if unread:
            parts.append(f"not read: {', '.join(name or repr(name) for name in unread)}")
        return f"Columns: {'; '.join(parts)}."


def first(candidates: Sequence[str], names: Iterable[str]) -> str:
    """Return the name that matches the earliest of ``candidates``, ignoring case, or an empty string."""
    by_lower = {name.lower(): name for name in names}
    return next((by_lower[name] for name in candidates if name in by_lower), "")


def layout_of(path: Path, kind: str, outside: bool, ordered: bool = False) -> Layout:
    """Infer the layout from the column names; in a wide table ``predicted`` has every column that may be a run.

    ``outside`` says that the truth is in another file, ``ordered`` that a table of one run needs no ids of examples.
    Raises UserError for a missing or ambiguous column.
    """
    names = columns_of(path)
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"{path}: the column {duplicates[0]!r} appears twice: columns need distinct names")
    run, example, truth = (first(candidates, names) for candidates in (RUN, EXAMPLE, TRUTH))
    if not example and (run or not ordered):
        raise UserError(f"{path}: no column of example ids: expected {', '.join(EXAMPLE)}, found {', '.join(names)}")
    taken = {run, example, truth} - {""}
    _check_one_prediction(path, [name for name in names if name not in taken])
    no_run = (*EXAMPLE, *TRUTH, *ABOUT, *OTHER)
    rest = [name for name in names if name not in taken and name.lower() not in no_run]

    def layout(predicted: Sequence[str], wide: bool = False) -> Layout:
        constant = tuple(name for name in names if name.lower() in OTHER)
        unread = tuple(name for name in names if name not in {*taken, *predicted, *constant})
        return Layout("" if wide else run, example, truth, tuple(predicted), wide, unread, constant)

    outputs = sorted((name for name in rest if re.fullmatch(r"p\d+", name)), key=lambda name: int(name[1:]))
    predicted, either = first(PREDICTED, rest), first(EITHER, rest)
    if len(outputs) > 1:
        expected = [f"p{c}" for c in range(len(outputs))]
        if outputs != expected:
            raise UserError(f"{path}: probability columns {', '.join(outputs)}: expected {', '.join(expected)}")
    else:
        outputs = [name for name in POSITIVE if name in rest][:1]
    others = [name for name in rest if name != either]
    if either and others and not ((truth or outside) and (run or outputs or predicted)):
        raise UserError(
            f"{path}: with {', '.join(map(repr, others))} in the table, the column {either!r} could be the predicted "
            "or the true class: rename it to y_pred or y_true"
        )
    if predicted and (not outputs or kind in ("labels", "values")):
        return layout([predicted])
    if len(outputs) > 1 and kind in ("labels", "values"):
        raise UserError(f"{path}: --kind {kind} needs a column y_pred, found the probabilities {', '.join(outputs)}")
    if outputs or either:
        return layout(outputs or [either])
    if run:
        raise UserError(
            f"{path}: a long table, with the column {run!r}, but it has no predictions: expected p0, p1, … or "
            f"{' or '.join(PREDICTED[:1] + POSITIVE[-1:])}, found {', '.join(rest) or 'nothing else'}"
        )
    if not rest:
        raise UserError(f"{path}: no predictions: expected a column for each run, found only {', '.join(names)}")
    return layout(rest, wide=True)


def _check_one_prediction(path: Path, names: Iterable[str]) -> None:
    found = [name for name in names if name.lower() in PREDICTED]
    if len(found) > 1 and PREDICTED[0] not in map(str.lower, found):
        raise UserError(
            f"{path}: each of {', '.join(map(repr, found))} could be the predictions: rename the right one to "
            f"{PREDICTED[0]}"
        )


def truth_columns(path: Path, example: str) -> tuple[str, str]:
    """Return the columns of the ids and of the values in a file of true values. Raises UserError if one is missing."""
    names = columns_of(path)
    key = example if example in names else first(EXAMPLE, names)
    value = first(TRUTH, names)
    if not key or not value:
        raise UserError(
            f"{path}: expected a column {example!r} (or {', '.join(EXAMPLE)}) and one of {', '.join(TRUTH)}, found "
            f"{', '.join(names)}"
        )
    return key, value


@dataclass
class Seen:
    """The contents of a column: whether it has numbers (all ``whole``, all ``within`` 0 to 1) or other texts.

    ``classes`` are its distinct texts, up to a limit.
    """

    numbers: bool = False
    texts: bool = False
    whole: bool = True
    within: bool = True
    classes: set[str] = field(default_factory=set)

    def add(self, column: pa.Array) -> None:
        numbers = numbers_of(column)
        if len(self.classes) <= MOST_CLASSES:
            self.classes.update(text for text in texts_of(column).unique().to_pylist() if text)
        if numbers is None:
            self.texts = True
            texts = texts_of(column)
            numeric = texts.filter(pc.fill_null(pc.match_substring_regex(texts, NUMBER), False))
            numbers = np.array([float(text) for text in numeric.to_pylist()])
        numbers = numbers[~np.isnan(numbers)]
        self.numbers |= len(numbers) > 0
        self.whole &= bool(((numbers == np.round(numbers)) & np.isfinite(numbers)).all())
        self.within &= not ((numbers < 0) | (numbers > 1)).any()

    def plain(self) -> set[str]:
        return set(map(plain, self.classes))

    def like(self, other: Self) -> bool:
        """Return whether both may be runs of one model: both have numbers, or they share a class."""
        if any(column.texts and not column.numbers for column in (self, other)):
            return not self.plain().isdisjoint(other.plain())
        return True


def runs_of(path: Path, kind: str, seen: Mapping[str, Seen]) -> tuple[str, ...]:
    """Select the columns of a wide table that are runs: all but texts that no other column shares, e.g. SMILES.

    Raises UserError if the rest do not look like runs of one model.
    """

    def unclear(names: Iterable[str], reason: str) -> UserError:
        return UserError(
            f"{path}: it is unclear which columns are runs: {', '.join(map(repr, names))} {reason}; keep the ids, "
            "y_true and a column for each run, or give a long table with the columns run and y_pred"
        )

    groups: list[list[str]] = []
    for name, column in seen.items():
        near = [group for group in groups if any(column.like(seen[other]) for other in group)]
        groups = [group for group in groups if group not in near] + [[*(n for group in near for n in group), name]]
    kept = [group for group in groups if len(group) > 1 or not seen[group[0]].texts or seen[group[0]].numbers]
    kept = kept if len(groups) > 1 else groups
    if len(kept) != 1:
        raise unclear([group[0] for group in kept or groups], "have no class in common")
    runs = tuple(name for name in seen if name in kept[0])
    fractions = [name for name in runs if not seen[name].whole]
    whole = [name for name in runs if seen[name].whole and seen[name].numbers]
    if fractions and whole and kind in ("", "values"):
        hint = "" if kind else " (if they are probabilities of 0 and 1, use --kind probabilities)"
        raise unclear(whole, f"hold whole numbers, but {', '.join(map(repr, fractions))} do not{hint}")
    beyond = [name for name in fractions if not seen[name].within]
    if not kind and 0 < len(beyond) < len(fractions):
        raise unclear(beyond, "are not between 0 and 1, unlike the others (if they are values, use --kind values)")
    for name in runs if not kind and not fractions and len(runs) > 1 else ():
        classes, others = seen[name].plain(), set().union(*(seen[other].plain() for other in runs if other != name))
        if len(classes - others) > len(classes & others):
            raise unclear([name], "has mostly classes that no other column has (if it is a run, use --kind labels)")
    return runs
