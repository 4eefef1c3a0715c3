"""Reader of predictions: tables, long or wide, into ``Runs``, by the roles of their columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from scipy.special import expit, softmax

from benchmark.errors import UserError
from leaderboard.scoring import files
from leaderboard.scoring.files import Column, Table
from leaderboard.scoring.roles import (
    CLOSE,
    FEW,
    Grid,
    Options,
    Reading,
    Roles,
    example_of,
    filled,
    grid_of,
    natural,
    plain,
    role_of,
    stem,
)
from leaderboard.scoring.runs import PredictionKind, Runs

MOST_CLASSES = 1000
NAIVE = Options()


def read(tables: Sequence[Table], options: Options = NAIVE) -> list[Runs]:
    """Read the runs in tables of predictions for the same examples, which are compared to find what each column is.

    Long: a column run (or seed, …), a column of ids, and a column of predictions, or one of probabilities for each
    class. Wide: a column of ids, and columns of runs that differ in a number. ``columns`` of the runs say how the
    columns were read. Raises UserError, naming column and row (the first below the header is 1), for missing or
    duplicate entries, invalid numbers and probabilities, and wherever two readings are possible: it names the option.
    """
    if options.kind and options.kind not in get_args(PredictionKind):
        raise UserError(f"unknown kind of prediction {options.kind!r}: choose {', '.join(get_args(PredictionKind))}")
    outside = files.read(options.truth) if options.truth else None
    examples = example_of(tables, outside)
    grids = [grid_of(table, example, options.common) for table, example in zip(tables, examples, strict=True)]
    kept = ""
    if options.common:
        grids, kept = _in_common(grids, outside, examples[0])
    same = _same(tables, grids)
    known = list(outside.columns) if outside else []
    roles = [Reading(table, grid, same, known, options).find() for table, grid in zip(tables, grids, strict=True)]
    truths = [
        _texts(table.columns[role.truth], grid, table, role.truth) if role.truth else None
        for table, grid, role in zip(tables, grids, roles, strict=True)
    ]
    where = [f"truth: {role.truth}" if role.truth else "" for role in roles]
    if outside:
        found = [
            _outside(outside, example, role, grid, options)
            for example, role, grid in zip(examples, roles, grids, strict=True)
        ]
        truths = [texts for texts, _ in found]
        where = [f"truth: {column} in {options.truth}" for _, column in found]
    kind = _kind(tables, roles, [truth for truth in truths if truth is not None], options)
    read = _filled(tables, grids, roles, truths, kind, options)
    result = []
    for table, grid, role, place, (runs, said) in zip(tables, grids, roles, where, read, strict=True):
        parts = [said, place, _left_out(table, grid, role, bool(place)), kept]
        result.append(replace(runs, columns="; ".join(filter(None, parts)) + "."))
    return result


def _in_common(grids: Sequence[Grid], outside: Table | None, example: str | None) -> tuple[list[Grid], str]:
    """Keep the examples that are in all tables, in the order of the first, and say how many."""
    every = [set(grid.ids.tolist()) for grid in grids]
    if outside:
        key, value = _key(outside, example), outside.columns
        every.append(set(value[key].encoded[1].tolist()))
    shared, whole = set.intersection(*every), set.union(*every[: len(grids)])
    if not shared:
        raise UserError("--common-rows: the tables have no example in common")
    kept = []
    for grid in grids:
        mask = np.array([name in shared for name in grid.ids.tolist()])
        kept.append(replace(grid, ids=grid.ids[mask], at=grid.at[:, mask]))
    return kept, f"{len(shared)} of {len(whole)} examples, those in common"


def _same(tables: Sequence[Table], grids: Sequence[Grid]) -> frozenset[str] | None:
    """Return the columns that never differ for an example; None if there is nothing to compare."""
    if len(tables) == 1 and len(grids[0].runs) == 1:
        return None
    place = [{name: t for t, name in enumerate(grid.ids.tolist())} for grid in grids]
    shared = [name for name in place[0] if all(name in ids for ids in place)]
    rows = [grid.at[:, [ids[name] for name in shared]] for grid, ids in zip(grids, place, strict=True)]
    return frozenset(
        name
        for name in set.intersection(*(set(table.columns) for table in tables))
        if _equal([table.columns[name] for table in tables], rows)
    )


def _equal(columns: Sequence[Column], rows: Sequence[np.ndarray]) -> bool:
    """Return whether columns have the same entries in ``rows``, (R, T) each, in all runs."""
    if any(column.text for column in columns):
        entries = [
            np.array([*column.encoded[1], ""], dtype=object)[column.encoded[0][at]]
            for column, at in zip(columns, rows, strict=True)
        ]
        return all((part == entries[0][:1]).all() for part in entries)
    numbers = [column.numbers[at] for column, at in zip(columns, rows, strict=True)]
    return all(np.array_equal(part, np.broadcast_to(numbers[0][:1], part.shape), equal_nan=True) for part in numbers)


def _key(outside: Table, example: str | None) -> str:
    """Return the column of ids in a file of true values."""
    found = example if example in outside.columns else example_of([outside], None)[0]
    if found is None:
        raise UserError(f"{outside.name}: no column of example ids: name one of its columns example_id")
    return found


def _texts(column: Column, grid: Grid, table: Table, name: str) -> np.ndarray:
    """Return the true values of a table as texts, (T,). Raises UserError if one is empty or differs between runs."""
    codes = column.encoded[0][grid.at]
    if (codes < 0).any():
        row = int(grid.at[codes < 0].min()) + 1
        raise UserError(f"{table.name}, row {row}: the column {name!r} is empty: expected a true value")
    if (codes != codes[0]).any():
        r, t = np.argwhere(codes != codes[0])[0]
        now, before = column.encoded[1][codes[r, t]], column.encoded[1][codes[0, t]]
        raise UserError(
            f"{table.name}, row {grid.at[r, t] + 1}, column {name!r}: example {str(grid.ids[t])!r} is {now!r}, but "
            f"{before!r} in an earlier row"
        )
    return np.asarray(column.encoded[1][codes[0]])


def _outside(outside: Table, example: str | None, role: Roles, grid: Grid, options: Options) -> tuple[np.ndarray, str]:
    """Return the true values of the examples from a file, as texts (T,), and their column."""
    key = _key(outside, example)
    name = options.truth_column
    if name and name not in outside.columns:
        raise UserError(
            f"{outside.name}: no column {name!r} (--truth-column); its columns: {', '.join(outside.columns)}"
        )
    rest = [column for column in outside.columns if column != key]
    mine = stem(options.task or role.predicted[0])
    for names in (
        [column for column in rest if column == (options.task or role.predicted[0])],
        [column for column in rest if mine and stem(column) == mine],
        [column for column in rest if column.lower() == "y_true"],
        [column for column in rest if role_of(column) == "truth"],
        [column for column in rest if role_of(column) == "either"],
        rest,
    ):
        if not name and len(names) == 1:
            name = names[0]
    if not name:
        raise UserError(
            f"{outside.name}: each of {', '.join(map(repr, rest))} may be the true values: say which with "
            "--truth-column"
        )
    ids, values = (outside.columns[column].encoded for column in (key, name))
    keys, codes = filled(outside, key), values[0]
    true: dict[str, tuple[int, int]] = {}
    for row, (i, code) in enumerate(zip(keys.tolist(), codes.tolist(), strict=True), 1):
        text = str(ids[1][i])
        if code >= 0 and true.setdefault(text, (code, row))[0] != code:
            now, before = values[1][code], values[1][true[text][0]]
            raise UserError(f"{outside.name}, row {row}: example {text!r} is {now!r}, but {before!r} in an earlier row")
    missing = next((text for text in grid.ids.tolist() if text not in true), None)
    if missing is not None:
        raise UserError(
            f"{outside.name}: example {missing!r} has no true value in the column {name!r}: expected one for each"
        )
    return np.array([values[1][true[text][0]] for text in grid.ids.tolist()], dtype=object), name


def _kind(
    tables: Sequence[Table], roles: Sequence[Roles], truths: Sequence[np.ndarray], options: Options
) -> PredictionKind | str:
    """Return the kind of all predictions. Raises UserError where two are possible."""
    true = {plain(text) for truth in truths for text in np.unique(truth).tolist()}
    if options.logits:
        return "logits"
    spelled = {role.kind for role in roles if role.kind}
    if options.kind:
        if spelled and options.kind != "probabilities" and any(role.classes for role in roles):
            names = ", ".join(roles[0].predicted)
            raise UserError(
                f"{tables[0].name}: --kind {options.kind}, but {names} are probabilities: name others with --runs"
            )
        return options.kind
    name = tables[0].name
    columns = [
        (table, role.predicted, table.columns[column])
        for table, role in zip(tables, roles, strict=True)
        for column in role.predicted
    ]
    shown = ", ".join(dict.fromkeys(map(repr, roles[0].predicted[:4])))
    if spelled:
        if len(true) > 2 and not any(role.classes for role in roles):
            raise UserError(
                f"{name}: {shown} is named as the probability of one of two classes, but the true values are "
                f"{len(true)}: say which with --kind values or --truth-column"
            )
        return "probabilities"
    if any(column.text for *_, column in columns):
        return "labels"
    numbers = [column.numbers for *_, column in columns]
    finite = [n[np.isfinite(n)] for n in numbers]
    whole, distinct = (
        all((n == n.round()).all() for n in finite),
        {x for n in finite for x in np.unique(n)[:100].tolist()},
    )
    within = all(((n >= 0) & (n <= 1)).all() for n in finite)
    fractions = any(not _whole(text) for text in true)
    words = any(not _numeric(text) for text in true)
    if whole:
        if words or not fractions:
            if len(distinct) <= FEW and len(true) <= FEW:
                return "labels"
            raise UserError(f"{name}: {shown}: many whole numbers: say which with --kind labels or --kind values")
        return "values"
    if (true <= {"0", "1"} and true) or words or len(true) == 2:
        if within:
            return "probabilities"
        raise UserError(
            f"{name}: {shown}: beyond 0 to 1, but the true values are classes ({', '.join(sorted(true))[:40]}): if "
            f"they are margins, add --logits {roles[0].predicted[0]}; if all are values, --kind values"
        )
    if within and not true:
        raise UserError(
            f"{name}: {shown}: between 0 and 1, so they may be probabilities or values: say which with --kind "
            "probabilities or --kind values, or give the true values with --truth or --truth-column"
        )
    if not true:
        used = {name for role in roles for name in role.predicted}
        two = [n for n, column in tables[0].columns.items() if n not in used and len(set(column.encoded[1])) == 2]
        if two or any(n.min() < 0 < n.max() for n in finite if len(n)):
            raise UserError(
                f"{name}: {shown}: these may be values, or margins of a classifier: say which with --kind values or "
                f"--logits, or name the true values ({', '.join(map(repr, two)) or 'in no column'}) with --truth-column"
            )
    return "values"


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _whole(text: str) -> bool:
    return not _numeric(text) or (np.isfinite(float(text)) and float(text) == round(float(text)))


def _filled(
    tables: Sequence[Table],
    grids: Sequence[Grid],
    roles: Sequence[Roles],
    truths: Sequence[np.ndarray | None],
    kind: str,
    options: Options,
) -> list[tuple[Runs, str]]:
    """Return the runs of each table, and what was read as predictions."""
    true = {plain(text) for truth in truths if truth is not None for text in np.unique(truth).tolist()}
    labels: set[str] = set()
    if kind == "labels":
        for table, role in zip(tables, roles, strict=True):
            for column in role.predicted:
                filled(table, column)
                labels |= set(map(plain, table.columns[column].encoded[1]))
    classes, of_true, of_labels = _coded(tables[0].name, kind, roles, labels, true, options)
    result = []
    for table, grid, role, truth in zip(tables, grids, roles, truths, strict=True):
        values = _values(table, grid, role, kind, of_labels)
        y = None
        if truth is not None and kind == "values":
            y = np.array([float(text) if _numeric(text) else np.nan for text in truth])
            if np.isnan(y).any():
                raise UserError(f"{table.name}: a true value is {truth[np.isnan(y)][0]!r}: expected a number")
        elif truth is not None:
            y = np.array([of_true[plain(text)] for text in truth])
        final: PredictionKind = "probabilities" if kind in ("probabilities", "logits") else kind  # type: ignore[assignment]
        if final == "probabilities" and len(role.predicted) == 1 and y is not None and len(y) >= 20:
            _check_side(table, role, values, y, options)
        runs = Runs(role.predicted if role.wide else grid.runs, grid.ids, final, values, classes, y, table.name)
        result.append((runs, _said(grid, role, kind)))
    return result


def _coded(
    name: str, kind: str, roles: Sequence[Roles], labels: set[str], true: set[str], options: Options
) -> tuple[tuple[str, ...], dict[str, int], dict[str, int]]:
    """Return the classes, and the index of each true and each predicted one. Raises UserError if they do not match."""
    if kind == "values":
        return (), {}, {}
    given = tuple(map(plain, options.classes))
    if kind == "labels":
        classes = given or tuple(sorted(labels | true, key=natural))
        if not given and true and not (labels <= true or true <= labels):
            _mismatch(name, "the predicted", labels, true, labels | true)
        if len(classes) > MOST_CLASSES:
            raise UserError(f"{name}: more than {MOST_CLASSES} different class labels: for values, use --kind values")
        if len(classes) < 2:
            classes = (*classes, f"not {classes[0]}")
        return classes, _index(name, true, classes), _index(name, labels, classes)
    own = next((role.classes for role in roles if role.classes), ("0", "1"))
    for role in roles:
        if role.classes and role.classes != own:
            raise UserError(
                f"{name}: the tables have probabilities of {own} and {role.classes}: expected the same classes"
            )
    if given and len(given) != len(own):
        raise UserError(f"--classes {','.join(given)}: expected {len(own)} classes, as there are probabilities")
    if given and set(given) == set(own):
        given = own  # the columns say the order
    classes = given or own
    if not given and not true <= set(own):
        _mismatch(name, "the probabilities'", set(own), true, true if len(true) == len(own) else set(own))
    return classes, _index(name, true, classes), {}


def _mismatch(name: str, whose: str, mine: set[str], true: set[str], example: set[str]) -> None:
    shown = [", ".join(sorted(texts, key=natural)[:6]) for texts in (mine, true)]
    order = ",".join(sorted((text for text in example), key=natural)[:6])
    raise UserError(
        f"{name}: {whose} classes ({shown[0]}) and the true ones ({shown[1]}) do not match: name the classes in the "
        f"order of their numbers or probabilities with --classes, e.g. --classes {order}"
    )


def _index(name: str, texts: set[str], classes: tuple[str, ...]) -> dict[str, int]:
    """Return the index of each text among the classes: by its name, or by its number from 0."""
    named = {text: classes.index(text) for text in texts if text in classes}
    counted = {text: int(text) for text in texts if text.isdigit() and int(text) < len(classes)}
    if len(named) == len(counted) == len(texts) and named != counted:
        raise UserError(
            f"{name}: {', '.join(sorted(texts))} may be names or numbers of the classes {', '.join(classes)}: write "
            "the classes as words"
        )
    chosen = named if len(named) == len(texts) else counted
    if len(chosen) < len(texts):
        odd = sorted(texts - set(chosen), key=natural)[0]
        raise UserError(f"{name}: {odd!r} is none of the classes {', '.join(classes)}: name them all with --classes")
    return chosen


def _values(table: Table, grid: Grid, role: Roles, kind: str, labels: dict[str, int]) -> np.ndarray:
    """Return the predictions of a table: indices of labels or values (R, T), or probabilities (R, T, C)."""
    if kind == "labels":
        parts = []
        for name in role.predicted:
            codes, texts = table.columns[name].encoded
            parts.append(np.array([labels[plain(text)] for text in texts], dtype=np.uint16)[codes[grid.at]])
        return np.concatenate(parts)
    numbers = np.stack([_numbers(table, name)[grid.at] for name in role.predicted], axis=-1)
    if role.wide:
        numbers = numbers[0].T[..., None]
    if kind == "values":
        if numbers.shape[-1] > 1:
            raise UserError(f"{table.name}: --kind values, but {', '.join(role.predicted)} are one run: use --runs")
        return np.asarray(numbers[..., 0])
    single = numbers.shape[-1] == 1
    p = numbers
    if kind == "logits":
        p = expit(p) if single else softmax(p, axis=-1)
    p = np.concatenate([1 - p, p], axis=-1) if single else p
    off = np.maximum(np.abs(p.sum(axis=-1) - 1), -p.min(axis=-1))
    if off.max() > CLOSE:
        r, t = np.unravel_index(off.argmax(), off.shape)
        at = grid.at[0 if role.wide else r, t] + 1
        shown = ", ".join(f"{x:g}" for x in (p[r, t, 1:] if single else p[r, t]))
        one = role.predicted[r if role.wide else 0]
        what = (
            f"column {one!r}: expected a probability from 0 to 1"
            if single
            else (f"columns {', '.join(role.predicted)}: expected probabilities that sum to 1")
        )
        raise UserError(f"{table.name}, row {at}, {what}, found {shown}")
    p = np.clip(p, 0, 1)
    return np.asarray(p / p.sum(axis=-1, keepdims=True), dtype=np.float32)


def _numbers(table: Table, name: str) -> np.ndarray:
    """Return a column as numbers. Raises UserError for a row that has none."""
    column = table.columns[name]
    odd = ~np.isfinite(column.numbers)
    if odd.any():
        row, code = int(odd.argmax()), column.encoded[0][int(odd.argmax())]
        shown = repr(column.encoded[1][code]) if code >= 0 else "nothing"
        expected = (
            "a finite number" if code < 0 or column.encoded[1][code].lower() in ("nan", "inf", "-inf") else "a number"
        )
        raise UserError(f"{table.name}, row {row + 1}, column {name!r}: expected {expected}, found {shown}")
    return column.numbers


def _check_side(table: Table, role: Roles, values: np.ndarray, y: np.ndarray, options: Options) -> None:
    """Raise UserError for a probability that falls where the second class is true: it may be that of the first."""
    p = values[..., 1].mean(axis=0)
    if options.probabilities or options.logits or options.classes or not (p.std() and y.std()):
        return
    if np.corrcoef(p, y)[0, 1] < -0.2:
        raise UserError(
            f"{table.name}: {role.predicted[0]!r} is lower where the class is 1, as if it were the probability of "
            f"class 0: if it is that of class 1, add --probabilities {role.predicted[0]}"
        )


def _said(grid: Grid, role: Roles, kind: str) -> str:
    parts = [] if grid.example is not None else ["examples by the order of the rows"]
    names = role.predicted
    if role.wide:
        return "; ".join(
            [
                *parts,
                f"{len(names)} runs: {names[0]} … {names[-1]}"
                if len(names) > 3
                else f"{len(names)} runs: {', '.join(names)}",
            ]
        )
    if grid.run:
        parts.append(f"{len(grid.runs)} runs by {grid.run}" if len(grid.runs) > 1 else f"run: {grid.run}")
    parts.append(f"{'margins' if kind == 'logits' else 'predictions'}: {', '.join(names)}")
    return "; ".join(parts)


def _left_out(table: Table, grid: Grid, role: Roles, known: bool) -> str:
    used = {grid.example, grid.run, role.truth, *role.predicted}
    rest = [name for name in table.columns if name not in used]
    if not rest:
        return ""
    hint = "" if known else "; truth: none (name its column with --truth-column)"
    return f"left out: {', '.join(name or repr(name) for name in [*rest[:6], *(['…'] if len(rest) > 6 else [])])}{hint}"
