"""A table of predictions, Parquet or CSV, long or wide, as ``Runs``.

The file is read twice, in batches: first to see what is in it, then into one array of four bytes a number (eight a
value of a regression, whose runs may differ in late digits). Nothing else grows with runs times examples but one byte
each, so that the memory is that of the array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.errors import UserError
from leaderboard.scoring.files import batches, columns_of, natural, numbers_of, plain, present, texts_of
from leaderboard.scoring.layout import (
    EXAMPLE,
    MOST_CLASSES,
    OTHER,
    POSITIVE,
    TRUTH,
    Layout,
    Seen,
    first,
    layout_of,
    runs_of,
)
from leaderboard.scoring.runs import PREDICTION_KINDS, PredictionKind, Runs

STORED: Mapping[PredictionKind, type] = {"labels": np.uint16, "probabilities": np.float32, "values": np.float64}
TOLERANCE = 1e-3


def read(path: Path, kind: str = "", truth: Path | None = None) -> Runs:
    """The runs in ``path``: long, a row per run and example, or wide, a column per run.

    Long: a column run (or train_seed, seed), example_id (or id) and either p0, p1, … (probabilities), p1 alone, or
    y_pred (class labels if they are texts or integers, else values of a regression). Without a run column, one run.
    Wide: example_id and a column for each run: labels, probabilities of class 1 (all within 0 to 1) or values.
    ``kind`` says which it is, where that guess would be wrong. The truth is the column y_true, or that of ``truth``.
    ``columns`` of the runs says which column was read as what. Raises UserError, naming column and row (the first
    below the header is 1), for what is missing, double, not a number or no probability, and where it is not clear
    which columns are predictions, truth or runs.
    """
    if kind and kind not in PREDICTION_KINDS:
        raise UserError(f"unknown kind of prediction {kind!r}: choose {', '.join(PREDICTION_KINDS)}")
    try:
        found = _scan(path, kind, truth is not None)
        outside = None if truth is None else _truth_of(truth, found.layout.example)
        return _fill(path, found, outside, truth)
    except pa.ArrowException as error:  # a type that cannot be compared or written as a text
        raise UserError(f"{path}: columns of texts and numbers expected: {error}") from error


@dataclass
class Found:
    """What the first reading found; ``labels`` are the texts of the predicted and true classes."""

    layout: Layout
    kind: PredictionKind
    runs: list[str]
    ids: pa.Array
    labels: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.predicted if self.layout.wide else tuple(self.runs)


def _scan(path: Path, kind: str, outside: bool) -> Found:
    layout = layout_of(path, kind, outside)
    ids = pa.array([], pa.string())
    runs: dict[str, None] = {}
    outputs = len(layout.predicted) > 1 and not layout.wide
    seen = {name: Seen() for name in (() if outputs else layout.predicted)}
    other = [name for name in columns_of(path) if name.lower() in OTHER]
    only: dict[str, str] = {}
    count = 0
    wanted = [name for name in (layout.run, layout.example, *layout.predicted, *other) if name]
    for row, batch in batches(path, wanted):
        count += len(batch)
        present(path, layout.example, batch[layout.example], row)
        ids = pa.concat_arrays([ids, texts_of(batch[layout.example])]).unique()
        if layout.run:
            present(path, layout.run, batch[layout.run], row)
            runs.update(dict.fromkeys(texts_of(batch[layout.run]).unique().to_pylist()))
        for name in other:
            for value in texts_of(batch[name]).unique().to_pylist():
                if only.setdefault(name, value) != value:
                    raise UserError(
                        f"{path}: the column {name!r} has {only[name]!r} and {value!r}: one test set expected, "
                        "keep the rows of one"
                    )
        for name, of in seen.items():
            of.add(batch[name])
    if not count:
        raise UserError(f"{path}: no rows: predictions expected")
    if layout.wide:
        predicted = runs_of(path, kind, seen)
        apart = tuple(name for name in layout.predicted if name not in predicted)
        layout = replace(layout, predicted=predicted, unread=(*layout.unread, *apart))
    read = [seen[name] for name in layout.predicted if name in seen]
    final = next((known for known in PREDICTION_KINDS if known == kind), None) or _guessed(layout, outputs, read)
    distinct = set().union(*(of.classes for of in read)) if final == "labels" else set()
    if len(distinct) > MOST_CLASSES:
        raise UserError(
            f"{path}: more than {MOST_CLASSES} different class labels in {layout.predicted[0]!r}: if they are values "
            "of a regression, say --kind values"
        )
    return Found(layout, final, list(runs) or ["1"], ids, sorted(distinct, key=natural))


def _guessed(layout: Layout, outputs: bool, read: list[Seen]) -> PredictionKind:
    if outputs or layout.predicted[0] in POSITIVE:
        return "probabilities"
    if all(of.whole for of in read):
        return "labels"
    return "probabilities" if layout.wide and all(of.within for of in read) else "values"


def _truth_of(path: Path, example: str) -> dict[str, tuple[str, int]]:
    """The true values of a file by example id, with their rows."""
    names = columns_of(path)
    key = example if example in names else first(EXAMPLE, names)
    value = first(TRUTH, names)
    if not key or not value:
        raise UserError(
            f"{path}: expected a column {example!r} (or {', '.join(EXAMPLE)}) and one of {', '.join(TRUTH)}, found "
            f"{', '.join(names)}"
        )
    found: dict[str, tuple[str, int]] = {}
    for row, batch in batches(path, [key, value]):
        for name in (key, value):
            present(path, name, batch[name], row)
        texts = zip(texts_of(batch[key]).to_pylist(), texts_of(batch[value]).to_pylist(), strict=True)
        for r, (name, text) in enumerate(texts, start=row):
            if found.setdefault(name, (text, r))[0] != text:
                raise UserError(f"{path}, row {r}: example {name!r} is {text!r}, but {found[name][0]!r} before")
    return found


def _fill(path: Path, found: Found, outside: dict[str, tuple[str, int]] | None, truth_file: Path | None) -> Runs:
    layout, n = found.layout, len(found.ids)
    outputs = max(2, len(layout.predicted)) if found.kind == "probabilities" and not layout.wide else 2
    shape = (len(found.names), n, *([outputs] if found.kind == "probabilities" else []))
    values: np.ndarray = np.zeros(shape, STORED[found.kind])
    seen = np.zeros(shape[:2], dtype=bool)
    truth = Truth(np.full(n, -1))
    runs = pa.array(found.runs, pa.string())
    inside = layout.truth if outside is None else ""
    for row, batch in batches(path, [name for name in (layout.run, layout.example, inside, *layout.predicted) if name]):
        t = _index(batch[layout.example], found.ids)
        r = _index(batch[layout.run], runs) if layout.run else np.zeros(len(batch), dtype=np.int64)
        own = [(np.full(len(batch), i), [name]) for i, name in enumerate(layout.predicted)]
        for of, names in own if layout.wide else [(r, list(layout.predicted))]:
            _once(path, found, seen, of, t, row)
            values[of, t] = _predicted(path, found, names, batch, row)
        if inside:
            truth.add(path, found, t, batch[inside], row)
    if not seen.all():
        r0, t0 = np.argwhere(~seen)[0]
        raise UserError(
            f"{path}: run {found.names[r0]!r} has {int(seen[r0].sum())} of {n} examples: {found.ids[t0].as_py()!r} is "
            "missing; every run must predict the same examples"
        )
    ids = np.array(found.ids.to_pylist(), dtype=str)
    known = truth.spelled() if inside else None if outside is None else _looked_up(path, ids, outside)
    values, classes, y = _classes(path, found, values, known)
    return Runs(found.names, ids, found.kind, values, classes, y, str(path), layout.told(truth_file))


def _once(path: Path, found: Found, seen: np.ndarray, of: np.ndarray, t: np.ndarray, row: int) -> None:
    """Mark examples ``t`` of runs ``of`` as ``seen`` (R, T). Raises UserError if one of them was before."""
    flat = of * seen.shape[1] + t
    double = seen[of, t]
    if not double.any() and len(np.unique(flat)) < len(flat):
        double = np.ones(len(flat), dtype=bool)
        double[np.unique(flat, return_index=True)[1]] = False
    if double.any():
        i, layout = int(double.argmax()), found.layout
        where = "" if layout.wide or not layout.run else f" of run {found.names[of[i]]!r}"
        hint = "" if layout.run or layout.wide else "; several runs need a column run"
        raise UserError(f"{path}, row {row + i}: example {found.ids[t[i]].as_py()!r}{where} is there twice{hint}")
    seen[of, t] = True


def _predicted(path: Path, found: Found, names: list[str], batch: pa.RecordBatch, row: int) -> np.ndarray:
    """What a batch predicts, as it is stored: indices of labels, values or probabilities (rows, outputs)."""
    if found.kind == "labels":
        present(path, names[0], batch[names[0]], row)
        return _index(batch[names[0]], pa.array(found.labels, pa.string()))
    got = np.stack([_number(path, name, batch[name], row) for name in names], axis=-1)
    return got[:, 0] if found.kind == "values" else _probabilities(path, names, got, row)


def _looked_up(path: Path, ids: np.ndarray, outside: dict[str, tuple[str, int]]) -> list[str]:
    lacking = next((name for name in ids.tolist() if name not in outside), None)
    if lacking is not None:
        raise UserError(f"{path}: example {lacking!r} has no true value in the truth file: one for each expected")
    return [outside[name][0] for name in ids.tolist()]


def _index(column: pa.Array, known: pa.Array) -> np.ndarray:
    return np.asarray(pc.index_in(texts_of(column), known).to_numpy(zero_copy_only=False), dtype=np.int64)


def _number(path: Path, name: str, column: pa.Array, row: int) -> np.ndarray:
    numbers = numbers_of(column)
    if numbers is None:
        texts = texts_of(column).to_pylist()
        i = next(i for i, text in enumerate(texts) if numbers_of(pa.array([text], pa.string())) is None)
        raise UserError(f"{path}, row {row + i}, column {name!r}: a number expected, found {texts[i]!r}")
    if not np.isfinite(numbers).all():
        i = int((~np.isfinite(numbers)).argmax())
        shown = column[i].as_py()
        raise UserError(f"{path}, row {row + i}, column {name!r}: a finite number expected, found {shown!r}")
    return numbers


def _probabilities(path: Path, names: list[str], got: np.ndarray, row: int) -> np.ndarray:
    if got.shape[1] == 1:
        got = np.concatenate([1 - got, got], axis=1)
    off = np.maximum(np.abs(got.sum(axis=1) - 1), -got.min(axis=1))
    if off.max() > TOLERANCE:
        i = int((off > TOLERANCE).argmax())
        what = (
            f"columns {', '.join(names)}: probabilities that sum to 1" if len(names) > 1 else f"column {names[0]!r}: "
        )
        what += "" if len(names) > 1 else "a probability from 0 to 1"
        shown = ", ".join(f"{x:g}" for x in (got[i] if len(names) > 1 else got[i, 1:]))
        raise UserError(f"{path}, row {row + i}, {what} expected, found {shown}")
    return got


@dataclass
class Truth:
    """The true value of each example, as an index of ``texts``; −1 where none was read yet."""

    of: np.ndarray
    texts: dict[str, int] = field(default_factory=dict)

    def add(self, path: Path, found: Found, t: np.ndarray, column: pa.Array, row: int) -> None:
        """Keep the true values of examples ``t``. Raises UserError if one is empty or not what an earlier row says."""
        present(path, found.layout.truth, column, row)
        encoded = texts_of(column).dictionary_encode()
        codes = [self.texts.setdefault(text, len(self.texts)) for text in encoded.dictionary.to_pylist()]
        now = np.array(codes)[encoded.indices.to_numpy()]
        new = self.of[t] < 0
        self.of[t[new]] = now[new]
        other = self.of[t] != now
        if other.any():
            i = int(other.argmax())
            spelled = list(self.texts)
            raise UserError(
                f"{path}, row {row + i}, column {found.layout.truth!r}: example {found.ids[t[i]].as_py()!r} is "
                f"{spelled[now[i]]!r}, but {spelled[self.of[t[i]]]!r} in an earlier row"
            )

    def spelled(self) -> list[str]:
        """The true value of each example as it was read."""
        texts = list(self.texts)
        return [texts[code] for code in self.of]


def _classes(
    path: Path, found: Found, values: np.ndarray, known: list[str] | None
) -> tuple[np.ndarray, tuple[str, ...], np.ndarray | None]:
    """The classes and the true values as numbers; label indices are moved to where their class is among all."""
    if found.kind == "values":
        return values, (), None if known is None else _number(path, "true value", pa.array(known), 1)
    if found.kind == "probabilities":
        classes = [str(c) for c in range(values.shape[2])]
    else:
        classes = sorted({plain(text) for text in (*found.labels, *(known or ()))}, key=natural)
        values = np.array([classes.index(plain(label)) for label in found.labels], dtype=np.uint16)[values]
    if known is None:
        return values, tuple(classes), None
    index = {name: c for c, name in enumerate(classes)}
    wrong = next((i for i, text in enumerate(known) if plain(text) not in index), None)
    if wrong is not None:
        raise UserError(
            f"{path}: the true class of example {found.ids[wrong].as_py()!r} is {known[wrong]!r}: with probabilities "
            f"it must be the number of a class, {classes[0]} to {classes[-1]}"
        )
    return values, tuple(classes), np.array([index[plain(text)] for text in known])
