"""A table of predictions, Parquet or CSV, long or wide, as ``Runs``.

The file is read twice, in batches: first to see what is in it, then into one array of four bytes a number (eight a
value of a regression, whose runs may differ in late digits). Nothing else grows with runs times examples but one byte
each, so that the memory is that of the array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
PREDICTED = ("y_pred", "prediction", "predicted", "predicted_class")
EITHER = ("label", "class")
"""Names of a predicted class as well as of the true one."""
POSITIVE = ("p", "prob", "probability", "p1")
OTHER = ("evalset", "split", "dataset", "canonical_seed")
"""Columns that the suite's own exports have and that are no predictions; each may have one value only."""
ABOUT = ("", "unnamed: 0", "__index_level_0__", "index", "row", "fold", "group", "cluster", "weight")
"""Columns of numbers that a table has of its examples, or of the index that pandas writes: never a run."""
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
WHOLE = 2.0**53
"""Below this every whole number is a float of its own."""
MOST_CLASSES = 1000
STORED: Mapping[Kind, type] = {"labels": np.uint16, "probabilities": np.float32, "values": np.float64}
TOLERANCE = 1e-3
BATCH = 2**16


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
    if kind and kind not in KINDS:
        raise UserError(f"unknown kind of prediction {kind!r}: choose {', '.join(KINDS)}")
    try:
        found = _scan(path, kind, truth is not None)
        outside = None if truth is None else _truth_of(truth, found.layout.example)
        return _fill(path, found, outside, truth)
    except pa.ArrowException as error:  # a type that cannot be compared or written as a text
        raise UserError(f"{path}: columns of texts and numbers expected: {error}") from error


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
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as Parquet (.parquet) or CSV (any other name): {error}") from error


def _batches(path: Path, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with the number of their first row, which counts from 1 as the header's successor."""
    row = 1
    try:
        if path.suffix == ".parquet":
            with pa.parquet.ParquetFile(path, pre_buffer=False) as file:  # else the whole file is kept
                _flat(path, file.schema_arrow, columns)
                for batch in file.iter_batches(BATCH, columns=columns, use_threads=False):
                    yield row, batch
                    row += len(batch)
            return
        texts = pa.csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
        with pa.csv.open_csv(path, pa.csv.ReadOptions(use_threads=False), convert_options=texts) as reader:
            for batch in reader:
                yield row, batch
                row += len(batch)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _flat(path: Path, schema: pa.Schema, columns: Iterable[str]) -> None:
    for name in columns:
        if pa.types.is_nested(schema.field(name).type):
            raise UserError(
                f"{path}: the column {name!r} holds {schema.field(name).type}: one text or number in each row expected"
            )


def _first(some: Sequence[str], names: Iterable[str]) -> str:
    """The name that is earliest in ``some``, whatever its case; empty if none is there."""
    found = {name.lower(): name for name in names}
    return next((found[name] for name in some if name in found), "")


def _layout(path: Path, kind: str, outside: bool) -> Layout:
    """What the names of the columns say; of a wide table all that may be a run. ``outside``: the truth is elsewhere."""
    names = _columns(path)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UserError(f"{path}: the column {doubled[0]!r} is there twice: columns need different names")
    run, example, truth = (_first(some, names) for some in (RUN, EXAMPLE, TRUTH))
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
    said, either = _first(PREDICTED, rest), _first(EITHER, rest)
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
        found = _numbers(column)
        if len(self.classes) <= MOST_CLASSES:
            self.classes.update(text for text in _texts(column).unique().to_pylist() if text)
        if found is None:
            self.texts = True
            texts = _texts(column)
            number = texts.filter(pc.fill_null(pc.match_substring_regex(texts, NUMBER), False))
            found = np.array([float(text) for text in number.to_pylist()])
        found = found[~np.isnan(found)]
        self.numbers = self.numbers or bool(len(found))
        self.whole = self.whole and bool(((found == np.round(found)) & np.isfinite(found)).all())
        self.within = self.within and not ((found < 0) | (found > 1)).any()

    def plain(self) -> set[str]:
        return set(map(_plain, self.classes))

    def like(self, other: Seen) -> bool:
        """Whether both may be runs of one model: of numbers, or with a class in common."""
        if not any(of.texts and not of.numbers for of in (self, other)):
            return True
        return not self.plain().isdisjoint(other.plain())


def _runs(path: Path, kind: str, seen: Mapping[str, Seen]) -> tuple[str, ...]:
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


def _texts(column: pa.Array) -> pa.Array:
    """A column as texts, integers that are kept as floats without their ``.0``."""
    if pa.types.is_floating(column.type):
        safe = pc.and_(pc.equal(column, pc.round(column)), pc.less(pc.abs(column), WHOLE))
        if pc.all(safe).as_py():
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
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _present(path: Path, name: str, column: pa.Array, row: int) -> None:
    empty = np.asarray(pc.fill_null(pc.equal(_texts(column), ""), True))
    if empty.any():
        raise UserError(f"{path}, row {row + int(empty.argmax())}: the column {name!r} is empty: a value expected")


def _scan(path: Path, kind: str, outside: bool) -> Found:
    layout = _layout(path, kind, outside)
    ids = pa.array([], pa.string())
    runs: dict[str, None] = {}
    outputs = len(layout.predicted) > 1 and not layout.wide
    seen = {name: Seen() for name in (() if outputs else layout.predicted)}
    other = [name for name in _columns(path) if name.lower() in OTHER]
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
        for name, of in seen.items():
            of.add(batch[name])
    if not count:
        raise UserError(f"{path}: no rows: predictions expected")
    if layout.wide:
        predicted = _runs(path, kind, seen)
        apart = tuple(name for name in layout.predicted if name not in predicted)
        layout = replace(layout, predicted=predicted, unread=(*layout.unread, *apart))
    read = [seen[name] for name in layout.predicted if name in seen]
    guessed: Kind
    if outputs or layout.predicted[0] in POSITIVE:
        guessed = "probabilities"
    elif all(of.whole for of in read):
        guessed = "labels"
    else:
        guessed = "probabilities" if layout.wide and all(of.within for of in read) else "values"
    final = next((known for known in KINDS if known == kind), guessed)
    distinct = set().union(*(of.classes for of in read)) if final == "labels" else set()
    if len(distinct) > MOST_CLASSES:
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
    key = example if example in names else _first(EXAMPLE, names)
    value = _first(TRUTH, names)
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


def _fill(path: Path, found: Found, outside: dict[str, tuple[str, int]] | None, truth_file: Path | None) -> Runs:
    layout, n = found.layout, len(found.ids)
    outputs = max(2, len(layout.predicted)) if found.kind == "probabilities" and not layout.wide else 2
    shape = (len(found.names), n, *([outputs] if found.kind == "probabilities" else []))
    values: np.ndarray = np.zeros(shape, STORED[found.kind])
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
    return Runs(found.names, ids, found.kind, values, classes, y, str(path), layout.told(truth_file))


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
