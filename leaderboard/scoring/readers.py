"""Reader of prediction tables, long or wide, into ``Runs``.

A file is read twice, in batches: first to inspect it, then to fill one array, with four bytes per number (two per
label, eight per regression value, since runs may differ only in late digits). Only a mask of one byte per run and
example grows with it, so the array dominates the memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.errors import UserError
from leaderboard.scoring.files import batches, check_filled, natural, numbers_of, plain, texts_of
from leaderboard.scoring.layout import MOST_CLASSES, POSITIVE, Layout, Seen, layout_of, runs_of, truth_columns
from leaderboard.scoring.runs import PREDICTION_KINDS, PredictionKind, Runs

STORED: Mapping[PredictionKind, type] = {"labels": np.uint16, "probabilities": np.float32, "values": np.float64}
TOLERANCE = 1e-3
MANY = 2**20
"""Rows that are read in any case, to find the best description of a mistake."""


def read(path: Path, kind: str = "", truth: Path | None = None, ordered: bool = False) -> Runs:
    """Read the runs in ``path``: long, a row per run and example, or wide, a column per run.

    Long: a column run (or train_seed, seed), example_id (or id) and either p0, p1, … (probabilities), p1 alone, or
    y_pred (class labels if they are texts or integers, otherwise regression values). Without a run column: one run.
    Wide: example_id and a column for each run: labels, probabilities of class 1 (all within 0 to 1) or values.
    ``kind`` overrides the guess. The truth is the column y_true, or comes from the file ``truth``. With ``ordered``, a
    table of one run may lack ids: its examples are then called by the numbers of their rows. ``columns`` of the runs
    describes how each column was read. Raises UserError, naming column and row (the first below the header is 1),
    for missing or duplicate entries, invalid numbers or probabilities, and ambiguous columns.
    """
    if kind and kind not in PREDICTION_KINDS:
        raise UserError(f"unknown kind of prediction {kind!r}: choose {', '.join(PREDICTION_KINDS)}")
    try:
        contents = _scan(path, kind, truth is not None, ordered)
        outside = None if truth is None else _truth_of(truth, contents.layout.example)
        return _fill(path, contents, outside, truth)
    except pa.ArrowException as error:  # a type that cannot be compared or written as text
        raise UserError(f"{path}: expected columns of text and numbers: {error}") from error


@dataclass
class Contents:
    """The result of the first pass; ``labels`` are the texts of the predicted classes."""

    layout: Layout
    kind: PredictionKind
    runs: list[str]
    ids: pa.Array
    rows: int
    labels: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.predicted if self.layout.wide else tuple(self.runs)


def _scan(path: Path, kind: str, outside: bool, ordered: bool) -> Contents:
    layout = layout_of(path, kind, outside, ordered)
    ids = pa.array([], pa.string())
    runs: dict[str, None] = {}
    outputs = len(layout.predicted) > 1 and not layout.wide
    seen = {name: Seen() for name in (() if outputs else layout.predicted)}
    only: dict[str, str] = {}
    count = 0
    wanted = [name for name in (layout.run, layout.example, *layout.predicted, *layout.constant) if name]
    for row, batch in batches(path, wanted):
        count += len(batch)
        if layout.example:
            check_filled(path, layout.example, batch[layout.example], row)
        ids = pa.concat_arrays([ids, _ids(layout, batch, row)]).unique()
        if layout.run:
            check_filled(path, layout.run, batch[layout.run], row)
            runs.update(dict.fromkeys(texts_of(batch[layout.run]).unique().to_pylist()))
        for name in layout.constant:
            for value in texts_of(batch[name]).unique().to_pylist():
                if only.setdefault(name, value) != value:
                    raise UserError(
                        f"{path}: the column {name!r} has {only[name]!r} and {value!r}: keep the rows of one test set"
                    )
        for name, column in seen.items():
            column.add(batch[name])
        if count > max(MANY, len(ids) * max(1, len(runs))):  # some row repeats another: _fill will name it
            break
    if not count:
        raise UserError(f"{path}: no rows: expected predictions")
    if layout.wide:
        predicted = runs_of(path, kind, seen)
        unread = tuple(name for name in layout.predicted if name not in predicted)
        layout = replace(layout, predicted=predicted, unread=(*layout.unread, *unread))
    read = [seen[name] for name in layout.predicted if name in seen]
    final = next((name for name in PREDICTION_KINDS if name == kind), None) or _guessed(layout, outputs, read)
    distinct = set().union(*(column.classes for column in read)) if final == "labels" else set()
    if len(distinct) > MOST_CLASSES:
        raise UserError(
            f"{path}: more than {MOST_CLASSES} different class labels in {layout.predicted[0]!r}: for regression "
            "values, use --kind values"
        )
    return Contents(layout, final, list(runs) or ["1"], ids, count, sorted(distinct, key=natural))


def _ids(layout: Layout, batch: pa.RecordBatch, row: int) -> pa.Array:
    """Return the ids of the examples of a batch, or the numbers of its rows, the first of which is ``row``."""
    return texts_of(batch[layout.example] if layout.example else pa.array(range(row, row + len(batch))))


def _guessed(layout: Layout, outputs: bool, read: list[Seen]) -> PredictionKind:
    if outputs or layout.predicted[0] in POSITIVE:
        return "probabilities"
    if all(column.whole for column in read):
        return "labels"
    return "probabilities" if layout.wide and all(column.within for column in read) else "values"


def _truth_of(path: Path, example: str) -> dict[str, tuple[str, int]]:
    """Read the true values of a file by example id, with their rows."""
    key, value = truth_columns(path, example)
    true: dict[str, tuple[str, int]] = {}
    for row, batch in batches(path, [key, value]):
        for name in (key, value):
            check_filled(path, name, batch[name], row)
        texts = zip(texts_of(batch[key]).to_pylist(), texts_of(batch[value]).to_pylist(), strict=True)
        for r, (name, text) in enumerate(texts, start=row):
            if true.setdefault(name, (text, r))[0] != text:
                raise UserError(
                    f"{path}, row {r}: example {name!r} is {text!r}, but {true[name][0]!r} in an earlier row"
                )
    return true


def _fill(path: Path, contents: Contents, outside: dict[str, tuple[str, int]] | None, truth_file: Path | None) -> Runs:
    layout, n = contents.layout, len(contents.ids)
    outputs = max(2, len(layout.predicted)) if contents.kind == "probabilities" and not layout.wide else 2
    if not layout.wide and len(contents.names) * n > 2 * contents.rows:  # before memory is taken for all
        raise UserError(
            f"{path}: {contents.rows:,} rows, but {len(contents.names):,} runs in the column {layout.run!r} and {n:,} "
            "examples: expected a row for each run and example, because every run must have the same examples"
        )
    shape = (len(contents.names), n, *([outputs] if contents.kind == "probabilities" else []))
    values: np.ndarray = np.zeros(shape, STORED[contents.kind])
    seen = np.zeros(shape[:2], dtype=bool)
    truth = Truth(np.full(n, -1))
    runs = pa.array(contents.runs, pa.string())
    inside = layout.truth if outside is None else ""
    for row, batch in batches(path, [name for name in (layout.run, layout.example, inside, *layout.predicted) if name]):
        t = _index(_ids(layout, batch, row), contents.ids)
        r = _index(batch[layout.run], runs) if layout.run else np.zeros(len(batch), dtype=np.int64)
        wide = [(np.full(len(batch), i), [name]) for i, name in enumerate(layout.predicted)]
        for run, names in wide if layout.wide else [(r, list(layout.predicted))]:
            _mark(path, contents, seen, run, t, row)
            values[run, t] = _predicted(path, contents, names, batch, row)
        if inside:
            truth.add(path, contents, t, batch[inside], row)
    if not seen.all():
        r0, t0 = np.argwhere(~seen)[0]
        raise UserError(
            f"{path}: run {contents.names[r0]!r} has {int(seen[r0].sum())} of {n} examples: "
            f"{contents.ids[t0].as_py()!r} is missing; every run must have the same examples"
        )
    ids = np.array(contents.ids.to_pylist(), dtype=str)
    true = truth.spelled() if inside else None if outside is None else _looked_up(path, ids, outside)
    values, classes, y = _classes(path, contents, values, true)
    return Runs(contents.names, ids, contents.kind, values, classes, y, str(path), layout.describe(truth_file))


def _mark(path: Path, contents: Contents, seen: np.ndarray, run: np.ndarray, t: np.ndarray, row: int) -> None:
    """Mark examples ``t`` of runs ``run`` as ``seen`` (R, T). Raises UserError for a duplicate."""
    duplicate = seen[run, t]
    first_rows = np.unique(run * seen.shape[1] + t, return_index=True)[1]
    if not duplicate.any() and len(first_rows) < len(t):
        duplicate = np.ones(len(t), dtype=bool)
        duplicate[first_rows] = False
    if duplicate.any():
        i, layout = int(duplicate.argmax()), contents.layout
        where = "" if layout.wide or not layout.run else f" of run {contents.names[run[i]]!r}"
        hint = "" if layout.run or layout.wide else "; several runs need a column run"
        raise UserError(f"{path}, row {row + i}: example {contents.ids[t[i]].as_py()!r}{where} appears twice{hint}")
    seen[run, t] = True


def _predicted(path: Path, contents: Contents, names: list[str], batch: pa.RecordBatch, row: int) -> np.ndarray:
    """Return the predictions of a batch as stored: label indices, values or probabilities (rows, outputs)."""
    if contents.kind == "labels":
        check_filled(path, names[0], batch[names[0]], row)
        return _index(batch[names[0]], pa.array(contents.labels, pa.string()))
    numbers = np.stack([_number(path, name, batch[name], row) for name in names], axis=-1)
    return numbers[:, 0] if contents.kind == "values" else _probabilities(path, names, numbers, row)


def _looked_up(path: Path, ids: np.ndarray, outside: dict[str, tuple[str, int]]) -> list[str]:
    missing = next((name for name in ids.tolist() if name not in outside), None)
    if missing is not None:
        raise UserError(f"{path}: example {missing!r} has no true value in the truth file: expected one for each")
    return [outside[name][0] for name in ids.tolist()]


def _index(column: pa.Array, texts: pa.Array) -> np.ndarray:
    return np.asarray(pc.index_in(texts_of(column), texts).to_numpy(zero_copy_only=False), dtype=np.int64)


def _number(path: Path, name: str, column: pa.Array, row: int) -> np.ndarray:
    numbers = numbers_of(column)
    if numbers is None:
        texts = texts_of(column).to_pylist()
        i = next(i for i, text in enumerate(texts) if numbers_of(pa.array([text], pa.string())) is None)
        raise UserError(f"{path}, row {row + i}, column {name!r}: expected a number, found {texts[i]!r}")
    if not np.isfinite(numbers).all():
        i = int((~np.isfinite(numbers)).argmax())
        raise UserError(
            f"{path}, row {row + i}, column {name!r}: expected a finite number, found {column[i].as_py()!r}"
        )
    return numbers


def _probabilities(path: Path, names: list[str], p: np.ndarray, row: int) -> np.ndarray:
    if p.shape[1] == 1:
        p = np.concatenate([1 - p, p], axis=1)
    off = np.maximum(np.abs(p.sum(axis=1) - 1), -p.min(axis=1))
    if off.max() > TOLERANCE:
        i = int((off > TOLERANCE).argmax())
        if len(names) > 1:
            expected, shown = f"columns {', '.join(names)}: expected probabilities that sum to 1", p[i]
        else:
            expected, shown = f"column {names[0]!r}: expected a probability from 0 to 1", p[i, 1:]
        raise UserError(f"{path}, row {row + i}, {expected}, found {', '.join(f'{x:g}' for x in shown)}")
    return p


@dataclass
class Truth:
    """The true value of each example, as an index of ``texts``; −1 if not read yet."""

    of: np.ndarray
    texts: dict[str, int] = field(default_factory=dict)

    def add(self, path: Path, contents: Contents, t: np.ndarray, column: pa.Array, row: int) -> None:
        """Store the true values of examples ``t``. Raises UserError if one is empty or contradicts an earlier row."""
        check_filled(path, contents.layout.truth, column, row)
        encoded = texts_of(column).dictionary_encode()
        codes = [self.texts.setdefault(text, len(self.texts)) for text in encoded.dictionary.to_pylist()]
        now = np.array(codes)[encoded.indices.to_numpy()]
        new = self.of[t] < 0
        self.of[t[new]] = now[new]
        other = self.of[t] != now
        if other.any():
            i = int(other.argmax())
            texts = list(self.texts)
            raise UserError(
                f"{path}, row {row + i}, column {contents.layout.truth!r}: example {contents.ids[t[i]].as_py()!r} is "
                f"{texts[now[i]]!r}, but {texts[self.of[t[i]]]!r} in an earlier row"
            )

    def spelled(self) -> list[str]:
        """Return the true value of each example as text."""
        texts = list(self.texts)
        return [texts[code] for code in self.of]


def _classes(
    path: Path, contents: Contents, values: np.ndarray, true: list[str] | None
) -> tuple[np.ndarray, tuple[str, ...], np.ndarray | None]:
    """Return predictions, class names and true values; labels become indices of the common classes."""
    if contents.kind == "values":
        return values, (), None if true is None else _number(path, "true value", pa.array(true), 1)
    if contents.kind == "probabilities":
        classes = [str(c) for c in range(values.shape[2])]
    else:
        classes = sorted({plain(text) for text in (*contents.labels, *(true or ()))}, key=natural)
        values = np.array([classes.index(plain(label)) for label in contents.labels], dtype=np.uint16)[values]
    if true is None:
        return values, tuple(classes), None
    index = {name: c for c, name in enumerate(classes)}
    wrong = next((i for i, text in enumerate(true) if plain(text) not in index), None)
    if wrong is not None:
        raise UserError(
            f"{path}: the true class of example {contents.ids[wrong].as_py()!r} is {true[wrong]!r}: with probabilities "
            f"it must be a class index from {classes[0]} to {classes[-1]}"
        )
    return values, tuple(classes), np.array([index[plain(text)] for text in true])
