"""Which column of a table of predictions is what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.errors import UserError
from leaderboard.scoring.files import columns_of, numbers_of, plain, texts_of

RUN = ("run", "train_seed", "seed", "model", "retraining")
EXAMPLE = ("example_id", "id", "example", "molecule_id", "smiles")
TRUTH = ("y_true", "truth", "target", "y")
PREDICTED = ("y_pred", "prediction", "predicted", "predicted_class")
EITHER = ("label", "class")
"""Names of a predicted class as well as of the true one."""
POSITIVE = ("p", "prob", "probability", "p1")
OTHER = ("evalset", "split", "dataset", "canonical_seed")
"""Columns that the suite's own exports have and that are no predictions; each may have one value only."""
ABOUT = ("", "unnamed: 0", "__index_level_0__", "index", "row", "fold", "group", "cluster", "weight")
"""Columns of numbers that a table has of its examples, or of the index that pandas writes: never a run."""
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
MOST_CLASSES = 1000


@dataclass(frozen=True)
class Layout:
    """Which column is what; ``run`` is empty where each of ``predicted`` is a run (wide) or the file has one run."""

    run: str
    example: str
    truth: str
    predicted: tuple[str, ...]
    wide: bool
    unread: tuple[str, ...] = ()

    def told(self, truth: Path | None) -> str:
        """Which column was read as what; ``truth`` is the file of the true values, if they have one."""
        listed = ", ".join(self.predicted)
        parts = [f"runs {listed}" if self.wide else f"predictions {listed}"]
        if self.run:
            parts.insert(0, f"run {self.run}")
        if truth or self.truth:
            parts.append(f"truth from {truth}" if truth else f"truth {self.truth}")
        unread = (*self.unread, *([self.truth] if truth and self.truth else []))
        if unread:
            parts.append(f"not read: {', '.join(name or repr(name) for name in unread)}")
        return f"Columns: {'; '.join(parts)}."


def first(some: Sequence[str], names: Iterable[str]) -> str:
    """The name that is earliest in ``some``, whatever its case; empty if none is there."""
    found = {name.lower(): name for name in names}
    return next((found[name] for name in some if name in found), "")


def layout_of(path: Path, kind: str, outside: bool) -> Layout:
    """What the names of the columns say; of a wide table all that may be a run. ``outside``: the truth is elsewhere."""
    names = columns_of(path)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UserError(f"{path}: the column {doubled[0]!r} is there twice: columns need different names")
    run, example, truth = (first(some, names) for some in (RUN, EXAMPLE, TRUTH))
    if not example:
        raise UserError(
            f"{path}: no column with the examples' ids: expected one of {', '.join(EXAMPLE)}, found {', '.join(names)}"
        )
    taken = {run, example, truth} - {""}
    no_run = (*EXAMPLE, *TRUTH, *ABOUT)
    rest = [name for name in names if name not in taken and name.lower() not in (*no_run, *OTHER)]

    def layout(predicted: Sequence[str], wide: bool = False) -> Layout:
        unread = (name for name in names if name not in {*taken, *predicted} and name.lower() not in OTHER)
        return Layout("" if wide else run, example, truth, tuple(predicted), wide, tuple(unread))

    outputs = sorted((name for name in rest if re.fullmatch(r"p\d+", name)), key=lambda name: int(name[1:]))
    said, either = first(PREDICTED, rest), first(EITHER, rest)
    if len(outputs) > 1:
        expected = [f"p{c}" for c in range(len(outputs))]
        if outputs != expected:
            raise UserError(f"{path}: probability columns {', '.join(outputs)}: expected {', '.join(expected)}")
    else:
        outputs = [name for name in POSITIVE if name in rest][:1]
    others = [name for name in rest if name != either]
    if either and others and not ((truth or outside) and (run or outputs or said)):
        raise UserError(
            f"{path}: beside {', '.join(map(repr, others))} the column {either!r} may be the predicted or the true "
            "class: rename it to y_pred or y_true"
        )
    if said and (not outputs or kind in ("labels", "values")):
        return layout([said])
    if len(outputs) > 1 and kind in ("labels", "values"):
        raise UserError(f"{path}: --kind {kind} needs a column y_pred, found the probabilities {', '.join(outputs)}")
    if outputs or either:
        return layout(outputs or [either])
    if run:
        raise UserError(
            f"{path}: the column {run!r} makes it a long table, but it has no predictions: expected p0, p1, … or "
            f"{' or '.join(PREDICTED[:1] + POSITIVE[-1:])}, found {', '.join(rest) or 'nothing else'}"
        )
    if not rest:
        raise UserError(f"{path}: no predictions: expected a column for each run, found {', '.join(names)} only")
    return layout(rest, wide=True)


@dataclass
class Seen:
    """What stands in a column: numbers (all ``whole``, all ``within`` 0 to 1), other texts, and up to a limit its
    different texts (``classes``).
    """

    numbers: bool = False
    texts: bool = False
    whole: bool = True
    within: bool = True
    classes: set[str] = field(default_factory=set)

    def add(self, column: pa.Array) -> None:
        found = numbers_of(column)
        if len(self.classes) <= MOST_CLASSES:
            self.classes.update(text for text in texts_of(column).unique().to_pylist() if text)
        if found is None:
            self.texts = True
            texts = texts_of(column)
            number = texts.filter(pc.fill_null(pc.match_substring_regex(texts, NUMBER), False))
            found = np.array([float(text) for text in number.to_pylist()])
        found = found[~np.isnan(found)]
        self.numbers = self.numbers or bool(len(found))
        self.whole = self.whole and bool(((found == np.round(found)) & np.isfinite(found)).all())
        self.within = self.within and not ((found < 0) | (found > 1)).any()

    def plain(self) -> set[str]:
        return set(map(plain, self.classes))

    def like(self, other: Seen) -> bool:
        """Whether both may be runs of one model: of numbers, or with a class in common."""
        if not any(of.texts and not of.numbers for of in (self, other)):
            return True
        return not self.plain().isdisjoint(other.plain())


def runs_of(path: Path, kind: str, seen: Mapping[str, Seen]) -> tuple[str, ...]:
    """Of the columns of a wide table those that are runs: all but texts that no other column has, as SMILES.

    Raises UserError if the others do not look like runs of one model.
    """

    def unclear(names: Iterable[str], what: str) -> UserError:
        return UserError(
            f"{path}: it is not clear which columns are runs: {', '.join(map(repr, names))} {what}; keep the ids, "
            "y_true and a column for each run, or give a long table with the columns run and y_pred"
        )

    groups: list[list[str]] = []
    for name, of in seen.items():
        near = [group for group in groups if any(of.like(seen[other]) for other in group)]
        groups = [group for group in groups if group not in near] + [[*(n for group in near for n in group), name]]
    kept = [group for group in groups if len(group) > 1 or not seen[group[0]].texts or seen[group[0]].numbers]
    kept = kept if len(groups) > 1 else groups
    if len(kept) != 1:
        raise unclear([group[0] for group in kept or groups], "have no class in common")
    runs = tuple(name for name in seen if name in kept[0])
    fractions = [name for name in runs if not seen[name].whole]
    whole = [name for name in runs if seen[name].whole and seen[name].numbers]
    if fractions and whole and kind in ("", "values"):
        hint = "" if kind else " (if they are probabilities of 0 and 1, say --kind probabilities)"
        raise unclear(whole, f"hold whole numbers, but {', '.join(map(repr, fractions))} others{hint}")
    beyond = [name for name in fractions if not seen[name].within]
    if not kind and 0 < len(beyond) < len(fractions):
        raise unclear(beyond, "are not within 0 to 1 as others are (if they are values, say --kind values)")
    for name in runs if not kind and not fractions and len(runs) > 1 else ():
        own, shared = seen[name].plain(), set().union(*(seen[other].plain() for other in runs if other != name))
        if len(own - shared) > len(own & shared):
            raise unclear([name], "has mostly classes that no other has (if it is a run, say --kind labels)")
    return runs
