"""A table of predictions, Parquet or CSV, long or wide, as ``Runs``.

The file is read twice, in batches: first to see what is in it, then into one array of four bytes a number. Nothing
else grows with runs times examples but one byte each, so that the memory is that of the array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from benchmark.errors import UserError
from leaderboard.own.runs import KINDS, Kind, Runs

RUN = ("run", "train_seed", "seed", "model", "retraining")
EXAMPLE = ("example_id", "id", "example", "molecule_id", "smiles")
TRUTH = ("y_true", "truth", "target", "y")
PREDICTED = ("y_pred", "prediction", "predicted", "predicted_class", "label", "class")
POSITIVE = ("p", "prob", "probability", "p1")
OTHER = ("evalset", "split", "dataset", "canonical_seed")
"""Columns that the suite's own exports have and that are no predictions; each may have one value only."""
MOST_CLASSES = 1000
TOLERANCE = 1e-3
BATCH = 2**16


def read(path: Path, kind: str = "", truth: Path | None = None) -> Runs:
    """The runs in ``path``: long, a row per run and example, or wide, a column per run.

    Long: a column run (or train_seed, seed), example_id (or id) and either p0, p1, … (probabilities), p1 alone, or
    y_pred (class labels if they are texts or integers, else values of a regression). Without a run column, one run.
    Wide: example_id and a column for each run: labels, probabilities of class 1 (all within 0 to 1) or values.
    ``kind`` says which it is, where that guess would be wrong. The truth is the column y_true, or that of ``truth``.
    Raises UserError, naming column and row (the first below the header is 1), for
    what is missing, double, not a number or no probability.
    """
    if kind and kind not in KINDS:
        raise UserError(f"unknown kind of prediction {kind!r}: choose {', '.join(KINDS)}")
    found = _scan(path, kind)
    outside = None if truth is None else _truth_of(truth, found.layout.example)
    return _fill(path, found, outside)


@dataclass(frozen=True)
class Layout:
    """Which column is what; ``run`` is empty where each of ``predicted`` is a run (wide) or the file has one run."""

    run: str
    example: str
    truth: str
    predicted: tuple[str, ...]
    wide: bool


@dataclass
class Found:
    """What the first reading found; ``labels`` are the texts of the predicted and true classes."""

    layout: Layout
    kind: Kind
    runs: list[str]
    ids: pa.Array
    labels: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return self.layout.predicted if self.layout.wide else tuple(self.runs)


def _columns(path: Path) -> list[str]:
    try:
        if path.suffix == ".parquet":
            return list(pa.parquet.read_schema(path).names)
        with pa.csv.open_csv(path) as reader:
            return list(reader.schema.names)
    except (OSError, pa.ArrowInvalid) as error:
        raise UserError(f"{path}: cannot be read as Parquet (.parquet) or CSV (any other name): {error}") from error


def _batches(path: Path, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with the number of their first row, which counts from 1 as the header's successor."""
    row = 1
    try:
        if path.suffix == ".parquet":
            with pa.parquet.ParquetFile(path, pre_buffer=False) as file:  # else the whole file is kept
                for batch in file.iter_batches(BATCH, columns=columns, use_threads=False):
                    yield row, batch
                    row += len(batch)
            return
        texts = pa.csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
        with pa.csv.open_csv(path, pa.csv.ReadOptions(use_threads=False), convert_options=texts) as reader:
            for batch in reader:
                yield row, batch
                row += len(batch)
    except (OSError, pa.ArrowInvalid) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _layout(path: Path) -> Layout:
    names = _columns(path)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UserError(f"{path}: the column {doubled[0]!r} is there twice: columns need different names")
    run, example, truth = (next((name for name in some if name in names), "") for some in (RUN, EXAMPLE, TRUTH))
    if not example:
        raise UserError(
            f"{path}: no column with the examples' ids: expected one of {', '.join(EXAMPLE)}, found {', '.join(names)}"
        )
    rest = tuple(name for name in names if name not in {run, example, truth, *OTHER})
    outputs = sorted((name for name in rest if re.fullmatch(r"p\d+", name)), key=lambda name: int(name[1:]))
    if len(outputs) > 1:
        expected = [f"p{c}" for c in range(len(outputs))]
        if outputs != expected:
            raise UserError(f"{path}: probability columns {', '.join(outputs)}: expected {', '.join(expected)}")
        return Layout(run, example, truth, tuple(outputs), False)
    one = next((name for name in (*PREDICTED, *POSITIVE) if name in rest), "")
    if one:
        return Layout(run, example, truth, (one,), False)
    if run:
        raise UserError(
            f"{path}: the column {run!r} makes it a long table, but it has no predictions: expected p0, p1, … or "
            f"{' or '.join(PREDICTED[:1] + POSITIVE[-1:])}, found {', '.join(rest) or 'nothing else'}"
        )
    if not rest:
        raise UserError(f"{path}: no predictions: expected a column for each run, found {', '.join(names)} only")
    return Layout("", example, truth, rest, True)


def _texts(column: pa.Array) -> pa.Array:
    """A column as texts, integers that are kept as floats without their ``.0``."""
    if pa.types.is_floating(column.type) and pc.all(pc.equal(column, pc.round(column))).as_py():
        column = column.cast(pa.int64())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string())


def _numbers(column: pa.Array) -> np.ndarray | None:
    """A column as float64 (nan where nothing stands), None if something in it is no number."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type):
        return None
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def _present(path: Path, name: str, column: pa.Array, row: int) -> None:
    empty = np.asarray(pc.fill_null(pc.equal(column.cast(pa.string()), ""), True))
    if empty.any():
        raise UserError(f"{path}, row {row + int(empty.argmax())}: the column {name!r} is empty: a value expected")


def _scan(path: Path, kind: str) -> Found:
    layout = _layout(path)
    ids = pa.array([], pa.string())
    runs: dict[str, None] = {}
    whole = within = number = True
    distinct: set[str] = set()
    outputs = len(layout.predicted) > 1 and not layout.wide
    other = [name for name in _columns(path) if name in OTHER]
    only: dict[str, str] = {}
    count = 0
    wanted = [name for name in (layout.run, layout.example, *layout.predicted, *other) if name]
    for row, batch in _batches(path, wanted):
        count += len(batch)
        _present(path, layout.example, batch[layout.example], row)
        ids = pa.concat_arrays([ids, _texts(batch[layout.example])]).unique()
        if layout.run:
            _present(path, layout.run, batch[layout.run], row)
            runs.update(dict.fromkeys(_texts(batch[layout.run]).unique().to_pylist()))
        for name in other:
            for value in _texts(batch[name]).unique().to_pylist():
                if only.setdefault(name, value) != value:
                    raise UserError(
                        f"{path}: the column {name!r} has {only[name]!r} and {value!r}: one test set expected, "
                        "keep the rows of one"
                    )
        for name in () if outputs or kind in ("probabilities", "values") else layout.predicted:
            numbers = _numbers(batch[name])
            if numbers is None:
                number = whole = within = False
            else:
                whole = whole and bool(np.all(np.isnan(numbers) | (numbers == np.round(numbers))))
                within = within and not ((numbers < 0) | (numbers > 1)).any()
            if (whole or not number or kind == "labels") and len(distinct) <= MOST_CLASSES:
                distinct.update(text for text in _texts(batch[name]).unique().to_pylist() if text)
    if not count:
        raise UserError(f"{path}: no rows: predictions expected")
    guessed: Kind
    if outputs or layout.predicted[0] in POSITIVE:
        guessed = "probabilities"
    elif whole or not number:
        guessed = "labels"
    else:
        guessed = "probabilities" if layout.wide and within else "values"
    final = next((known for known in KINDS if known == kind), guessed)
    if final == "labels" and len(distinct) > MOST_CLASSES:
        raise UserError(
            f"{path}: more than {MOST_CLASSES} different class labels in {layout.predicted[0]!r}: if they are values "
            "of a regression, say --kind values"
        )
    return Found(layout, final, list(runs) or ["1"], ids, sorted(distinct, key=_natural))


def _natural(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def _plain(text: str) -> str:
    """A class as it is compared: ``1.0`` is ``1``."""
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


def _truth_of(path: Path, example: str) -> dict[str, tuple[str, int]]:
    """The true values of a file by example id, with their rows."""
    names = _columns(path)
    key = example if example in names else next((name for name in EXAMPLE if name in names), "")
    value = next((name for name in TRUTH if name in names), "")
    if not key or not value:
        raise UserError(
            f"{path}: expected a column {example!r} (or {', '.join(EXAMPLE)}) and one of {', '.join(TRUTH)}, found "
            f"{', '.join(names)}"
        )
    found: dict[str, tuple[str, int]] = {}
    for row, batch in _batches(path, [key, value]):
        for name in (key, value):
            _present(path, name, batch[name], row)
        texts = zip(_texts(batch[key]).to_pylist(), _texts(batch[value]).to_pylist(), strict=True)
        for r, (name, text) in enumerate(texts, start=row):
            if found.setdefault(name, (text, r))[0] != text:
                raise UserError(f"{path}, row {r}: example {name!r} is {text!r}, but {found[name][0]!r} before")
    return found


def _fill(path: Path, found: Found, outside: dict[str, tuple[str, int]] | None) -> Runs:
    layout, n = found.layout, len(found.ids)
    outputs = max(2, len(layout.predicted)) if found.kind == "probabilities" and not layout.wide else 2
    shape = (len(found.names), n, *([outputs] if found.kind == "probabilities" else []))
    values = np.zeros(shape, np.uint16 if found.kind == "labels" else np.float32)
    seen = np.zeros(shape[:2], dtype=bool)
    truth = Truth(np.full(n, -1))
    runs, labels = pa.array(found.runs, pa.string()), pa.array(found.labels, pa.string())
    inside = layout.truth if outside is None else ""
    for row, batch in _batches(
        path, [name for name in (layout.run, layout.example, inside, *layout.predicted) if name]
    ):
        t = _index(batch[layout.example], found.ids)
        r = _index(batch[layout.run], runs) if layout.run else np.zeros(len(batch), dtype=np.int64)
        own = [(np.full(len(batch), i), [name]) for i, name in enumerate(layout.predicted)]
        for of, names in own if layout.wide else [(r, list(layout.predicted))]:
            flat = of * n + t
            double = seen[of, t]
            if not double.any() and len(np.unique(flat)) < len(flat):
                double = np.ones(len(flat), dtype=bool)
                double[np.unique(flat, return_index=True)[1]] = False
            if double.any():
                i = int(double.argmax())
                where = "" if layout.wide or not layout.run else f" of run {found.names[of[i]]!r}"
                hint = "" if layout.run or layout.wide else "; several runs need a column run"
                raise UserError(
                    f"{path}, row {row + i}: example {found.ids[t[i]].as_py()!r}{where} is there twice{hint}"
                )
            seen[of, t] = True
            if found.kind == "labels":
                _present(path, names[0], batch[names[0]], row)
                values[of, t] = _index(batch[names[0]], labels)
            else:
                got = np.stack([_number(path, name, batch[name], row) for name in names], axis=-1)
                values[of, t] = got[:, 0] if found.kind == "values" else _probabilities(path, names, got, row)
        if inside:
            truth.add(path, found, t, batch[inside], row)
    if not seen.all():
        r0, t0 = np.argwhere(~seen)[0]
        raise UserError(
            f"{path}: run {found.names[r0]!r} has {int(seen[r0].sum())} of {n} examples: {found.ids[t0].as_py()!r} is "
            "missing; every run must predict the same examples"
        )
    ids = np.array(found.ids.to_pylist(), dtype=str)
    known = truth.spelled() if inside else None
    if outside is not None:
        lacking = next((name for name in ids.tolist() if name not in outside), None)
        if lacking is not None:
            raise UserError(f"{path}: example {lacking!r} has no true value in the truth file: one for each expected")
        known = [outside[name][0] for name in ids.tolist()]
    values, classes, y = _classes(path, found, values, known)
    return Runs(found.names, ids, found.kind, values, classes, y, str(path))


def _index(column: pa.Array, known: pa.Array) -> np.ndarray:
    return np.asarray(pc.index_in(_texts(column), known).to_numpy(zero_copy_only=False), dtype=np.int64)


def _number(path: Path, name: str, column: pa.Array, row: int) -> np.ndarray:
    numbers = _numbers(column)
    if numbers is None:
        texts = _texts(column).to_pylist()
        i = next(i for i, text in enumerate(texts) if _numbers(pa.array([text], pa.string())) is None)
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
        _present(path, found.layout.truth, column, row)
        encoded = _texts(column).dictionary_encode()
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
        classes = sorted({_plain(text) for text in (*found.labels, *(known or ()))}, key=_natural)
        values = np.array([classes.index(_plain(label)) for label in found.labels], dtype=np.uint16)[values]
    if known is None:
        return values, tuple(classes), None
    index = {name: c for c, name in enumerate(classes)}
    wrong = next((i for i, text in enumerate(known) if _plain(text) not in index), None)
    if wrong is not None:
        raise UserError(
            f"{path}: the true class of example {found.ids[wrong].as_py()!r} is {known[wrong]!r}: with probabilities "
            f"it must be the number of a class, {classes[0]} to {classes[-1]}"
        )
    return values, tuple(classes), np.array([index[_plain(text)] for text in known])
