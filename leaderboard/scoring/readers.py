"""Reader of predictions: tables, long or wide, into ``Runs``, by the roles of their columns."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

import numpy as np

from benchmark.errors import UserError
from leaderboard.scoring import files
from leaderboard.scoring.classes import check_spelling, coded, labels_of, with_classes
from leaderboard.scoring.doubts import said_of
from leaderboard.scoring.files import Column, Table, number
from leaderboard.scoring.roles import (
    CLOSE,
    FEW,
    INDEX,
    MARKED,
    UNITS,
    Grid,
    Options,
    Part,
    Reading,
    begins_with_numbers,
    check_grouped,
    example_of,
    grid_of,
    natural,
    plain,
    stem,
    typed,
)
from leaderboard.scoring.runs import PredictionKind, Runs
from leaderboard.scoring.truths import SINGLE, check_missing, key_of, of_file, pair, texts_of
from leaderboard.scoring.values import check_class, check_side, check_signs, values_of

NAIVE = Options()


def read(tables: Sequence[Table], options: Options = NAIVE) -> list[Runs]:
    """Read the runs in tables of predictions for the same examples, which are compared to find what each column is.

    Long: a column run (or seed, …), a column of ids, and a column of predictions, or one of probabilities for each
    class. Wide: a column of ids, and columns of runs that differ in a number. All runs have the classes, and the order
    of the examples, of the first; ``columns`` say how the columns were read. Raises UserError, naming column and row
    (the first below the header is 1), for missing or duplicate entries, invalid numbers and probabilities, and wherever
    two readings are possible: it names the option.
    """
    if options.kind and options.kind not in get_args(PredictionKind):
        raise UserError(f"unknown kind of prediction {options.kind!r}: choose {', '.join(get_args(PredictionKind))}")
    if twice := next((name for name in options.classes if options.classes.count(name) > 1), ""):
        raise UserError(f"--classes {','.join(options.classes)}: names {twice!r} twice: expected each class once")
    if len(options.classes) == 1:
        raise UserError(f"--classes {options.classes[0]}: expected all classes, and thus two or more")
    outside = files.read(options.truth) if options.truth else None
    said = options.truth_column
    if said and not outside and not any(said in table.columns for table in tables):
        raise tables[0].missing(said, "--truth-column")
    examples = example_of(tables, outside)
    grids = [grid_of(table, example, options.common) for table, example in zip(tables, examples, strict=True)]
    grids, kept = _aligned(tables, grids, outside, options.common)
    _check_ids(tables, grids)
    same, known = _same(tables, grids), list(outside.columns) if outside else []
    roles = [Reading(table, grid, same, known, options).find() for table, grid in zip(tables, grids, strict=True)]
    parts = [Part(*one) for one in zip(tables, grids, roles, strict=True)]
    named = _check_tasks(parts, outside, options)
    kept += of_file(outside, parts, options) if outside else ""
    for part in parts:
        if part.role.truth:
            check_missing(part, part.role.truth, options)
            part.truth, part.place = texts_of(part), f"truth: {part.role.truth}"
    result, classes_alone = _runs(parts, options), ""
    doubts = said_of(parts, result, outside, options)
    if result[0].kind == "probabilities" and not (options.kind or options.logits or options.probabilities):
        classes_alone = with_classes(parts)
    if classes_alone:
        result = [replace(runs, kind="labels", values=runs.predicted_classes()) for runs in result]
    first = result[0]
    for runs in result[1:]:
        if first.y is None or runs.y is None:
            continue
        differs = runs.y != first.y if first.classes else ~np.isclose(runs.y, first.y, rtol=SINGLE, atol=0)
        if differs.any():
            t = int(differs.argmax())
            one, other = (first.classes[y[t]] if first.classes else y[t].item() for y in (first.y, runs.y))
            raise UserError(
                f"{first.source} and {runs.source}: the true value of example {str(first.ids[t])!r} differs, {one} and "
                f"{other}: expected the same in both: correct one, or give the right ones in a file with --truth"
            )
    notes = [*filter(None, [named, classes_alone, *doubts, kept])]
    columns = ["; ".join([*_said(part, bool(options.logits)), *part.table.notes, *notes]) + "." for part in parts]
    return [replace(runs, columns=text) for runs, text in zip(result, columns, strict=True)]


def _aligned(
    tables: Sequence[Table], grids: Sequence[Grid], outside: Table | None, common: bool
) -> tuple[list[Grid], str]:
    """Put the examples in the order of the first table; if ``common``, leave out those that are not in all, and say so.

    Raises UserError if the examples differ otherwise.
    """
    rows = [{name: t for t, name in enumerate(grid.ids.tolist())} for grid in grids]
    kept, said = list(rows[0]), ""
    if common:
        known = set(outside.columns[key_of(outside, grids[0])].encoded[1].tolist()) if outside else set(kept)
        whole = [set(grid.ids[(grid.at >= 0).all(axis=0)].tolist()) for grid in grids]
        kept = [name for name in kept if name in known and all(name in others for others in whole)]
        alike = next(filter(None, (pair(list(rows[0]), others) for others in (*rows[1:], known))), "")
        said = f"{len(kept)} of {len(set().union(*rows))} examples, those in common{alike}"
        if not kept:
            others = next((others for others in rows if rows[0].keys().isdisjoint(others)), known)
            raise UserError(f"--common-rows: the tables have no example in common{pair(list(rows[0]), others)}")
    for table, others in zip(tables[1:], rows[1:], strict=True):
        if not common and others.keys().isdisjoint(kept):
            raise UserError(f"{tables[0].name} and {table.name}: no example in common{pair(kept, others)}")
        if not common and others.keys() != rows[0].keys():
            name = next(iter([*(n for n in kept if n not in others), *sorted(others.keys() - rows[0].keys())]))
            raise UserError(
                f"{tables[0].name} and {table.name}: {len(kept)} and {len(others)} examples; expected the same ones, "
                f"but {name!r} is in {(table if name in others else tables[0]).name} only{pair(kept, others)}; to "
                "compare those in common, add --common-rows"
            )
    ids = np.array(kept, dtype=str)
    return [
        replace(grid, ids=ids, at=grid.at[:, [place[name] for name in kept]])
        for grid, place in zip(grids, rows, strict=True)
    ], said


def _check_ids(tables: Sequence[Table], grids: Sequence[Grid]) -> None:
    """Raise UserError if another column names examples, too, and has its texts at other ids in another table.

    Then the ids may be numbers of rows. A text that is nowhere else, such as another SMILES of a molecule, is no sign.
    """
    first, at = tables[0], grids[0].at[0]
    for name, column in first.columns.items():
        few = len(column.encoded[1]) < 0.9 * first.n / len(grids[0].runs)
        if name == grids[0].example or not column.text or few or begins_with_numbers(column):  # intervals move
            continue
        texts = _at(column, at)
        for table, grid in zip(tables[1:], grids[1:], strict=True):
            if name == grid.example or name not in table.columns or not table.columns[name].text:
                continue
            others = _at(table.columns[name], grid.at[0])
            moved = (texts != others) & (texts != "") & (others != "") & np.isin(others, texts) & np.isin(texts, others)
            if moved.any():
                t = int(moved.argmax())
                ids = f"of the column {grid.example!r}" if grid.example else "by the order of rows"
                raise UserError(
                    f"{first.name} and {table.name}: example {str(grid.ids[t])!r} {ids} has {str(texts[t])!r} and "
                    f"{str(others[t])!r} in the column {name!r}, so one of the two does not identify examples: rename "
                    "the column that does to example_id, or leave out the other"
                )


def _at(column: Column, at: np.ndarray) -> np.ndarray:
    """Return the texts of rows, empty where there is none."""
    return np.array([*column.encoded[1], ""])[column.encoded[0][at]]


def _check_tasks(parts: Sequence[Part], outside: Table | None, options: Options) -> str:
    """Raise UserError if predictions are of two tasks or units; return what to say if their names differ otherwise.

    A name is that of a task if another column has it, such as that of the true values.
    """
    stems = {stem(part.role.predicted[0]): part for part in parts}
    if options.runs or len(stems) < 2:
        return ""
    used = {name for part in parts for name in part.role.predicted}
    every = [name for table in filter(None, [*(part.table for part in parts), outside]) for name in table.columns]
    tasks = {stem(name) for name in every if name not in used} & stems.keys() - {()}
    units = {frozenset(UNITS & set(mine)) for mine in stems} - {frozenset()}
    two = list(stems.values())[:2]
    shown = [f"{part.role.predicted[0]!r} in {part.table.name}" for part in two]
    if len(units) > 1 or len(tasks) > 1:
        why = "two units" if len(units) > 1 else "two tasks"
        both = typed(part.role.predicted[0] for part in two)
        raise UserError(
            f"{' and '.join(shown)}: by their names, predictions of {why}; if they are of one, add --runs {both}"
        )
    return f"the names of the predictions differ: {', '.join(shown)}"


def _same(tables: Sequence[Table], grids: Sequence[Grid]) -> frozenset[str] | None:
    """Return the columns that never differ for an example; None if there is nothing to compare."""
    if len(tables) == 1 and len(grids[0].runs) == 1:
        return None
    shared = set.intersection(*(set(table.columns) for table in tables))
    rows = [grid.at for grid in grids]
    return frozenset(name for name in shared if _equal([table.columns[name] for table in tables], rows))


def _equal(columns: Sequence[Column], rows: Sequence[np.ndarray]) -> bool:
    """Return whether columns have the same texts, or numbers up to float32, in their ``rows`` (R, T)."""
    if any(column.text for column in columns):
        plainly = [[*(plain(text).lower() for text in column.encoded[1]), ""] for column in columns]
        entries = [
            np.array(texts, dtype=object)[column.encoded[0][at]]
            for texts, column, at in zip(plainly, columns, rows, strict=True)
        ]
        return all((part == entries[0][:1]).all() for part in entries)
    numbers = [column.numbers[at] for column, at in zip(columns, rows, strict=True)]
    return all(np.allclose(part, numbers[0][:1], rtol=SINGLE, atol=0, equal_nan=True) for part in numbers)


def _kind(parts: Sequence[Part], true: set[str], options: Options) -> PredictionKind | Literal["logits"]:
    """Return the kind of all predictions. Raises UserError where two are possible."""
    if options.logits:
        return "logits"
    spelled = any(part.role.kind for part in parts)
    several = any(part.role.classes for part in parts)
    names = parts[0].role.predicted
    shown = f"{parts[0].table.name}: {', '.join(dict.fromkeys(map(repr, names[:4])))}"
    if options.kind:
        if spelled and several and options.kind != "probabilities":
            raise UserError(f"{shown}: --kind {options.kind}, but these are probabilities: name others with --runs")
        return cast(PredictionKind, options.kind)
    if spelled:
        named = not all("".join(part.role.classes).isdigit() for part in parts if part.role.classes)
        for part in parts:  # a single column would be of the second class in the order of the alphabet
            worded = not part.role.kind and part.table.columns[part.role.predicted[0]].text
            if not part.role.classes and (named or worded):
                other = next(one for one in parts if one.role.kind and one is not part)
                raise UserError(
                    f"{part.table.name} has {part.role.predicted[0]!r}, and {other.table.name} "
                    f"{', '.join(map(repr, other.role.predicted))}: write either in both"
                )
        if len(true) > 2 and not several:
            check_spelling(parts[0].table.name, true)
            raise UserError(
                f"{shown} is named as the probability of one of two classes, but the true values are {len(true)} "
                f"({', '.join(sorted(true, key=natural)[:6])}): say which with --kind values or --truth-column"
            )
        return "probabilities"
    columns = [part.table.columns[name] for part in parts for name in part.role.predicted]
    if any(column.text for column in columns):
        return "labels"
    numbers = [column.numbers[np.isfinite(column.numbers)] for column in columns]
    within = all(((n >= 0) & (n <= 1)).all() for n in numbers)
    measured = np.array([number(text) for text in true])  # nan for a word
    wordy = np.isnan(measured).any() and (len(true) <= FEW or np.isnan(measured).mean() > 0.5)
    highest = max((n.max() for n in numbers if len(n)), default=0.0)
    percent = 1 + CLOSE < highest <= 100 and all((n >= 0).all() for n in numbers)
    whole = all((n == n.round()).all() for n in numbers)
    beyond = UserError(
        f"{shown}: beyond 0 to 1, but the true values are classes ({', '.join(sorted(true))[:40]}): if these are "
        f"percent, divide them by 100; if they are margins, add --logits {typed(names[:1])}, if classes, --kind "
        "labels, and if all are values, --kind values"
    )
    if percent and (wordy or len(true) == 2) and not (whole and highest <= FEW):
        raise beyond
    if whole:
        if not wordy and (measured != measured.round()).any():
            return "values"
        distinct = {x for n in numbers for x in np.unique(n)[: FEW + 1].tolist()}
        if len(distinct) <= FEW and len(true) <= FEW:
            return "labels"
        raise UserError(f"{shown}: many whole numbers: say which with --kind labels or --kind values")
    if wordy or len(true) == 2 or (true and true <= {"0", "1"}):
        if within:
            return "probabilities"
        raise beyond
    if true and within and (measured == measured.round()).all():
        raise UserError(
            f"{shown}: between 0 and 1, but the true values are {', '.join(sorted(true, key=natural)[:6])}: if one of "
            "these means a missing value, leave such examples out of all tables; if all are values, --kind values"
        )
    if true:
        return "values"
    if within:
        raise UserError(
            f"{shown}: between 0 and 1, so they may be probabilities or values: say which with --kind probabilities or "
            "--kind values, or give the true values with --truth or --truth-column"
        )
    used = {name for part in parts for name in part.role.predicted}
    two = [n for n, column in parts[0].table.columns.items() if n not in used and len(column.encoded[1]) == 2]
    if two or any(n.min() < 0 < n.max() for n in numbers if len(n)):
        raise UserError(
            f"{shown}: these may be values, or margins of a classifier: say which with --kind values or --logits, or "
            f"name the true values ({', '.join(map(repr, two)) or 'in no column'}) with --truth-column"
        )
    return "values"


def _runs(parts: Sequence[Part], options: Options) -> list[Runs]:
    true = {plain(text) for part in parts if part.truth is not None for text in np.unique(part.truth).tolist()}
    below = any((part.table.columns[name].numbers < 0).any() for part in parts for name in part.role.predicted)
    odd = min(true, key=natural, default="")
    if number(odd) < 0 and true in ({odd}, {odd, "0", "1"}) and not (options.classes or options.kind or below):
        what = "the column" if len(true) == 1 else "such examples"
        of_class = f"; if it is a class, --classes={odd},0,1" * (len(true) > 1)
        raise UserError(
            f"{parts[0].table.name}: the true values are {','.join(sorted(true))}, and no prediction is {odd}: if "
            f"{odd} means a missing value, leave {what} out of all tables{of_class}"
        )
    for part in parts if options.kind != "labels" else ():
        check_grouped(part.table, "the true values", [] if part.truth is None else np.unique(part.truth).tolist())
    marked = next((text for text in sorted(true) if MARKED.fullmatch(text) and np.isnan(number(text))), "")
    if marked and not options.classes and options.kind != "labels":
        raise UserError(
            f"{parts[0].table.name}: the true value {marked!r} is no number: write it as in 4.91, without commas, "
            "percent signs and marks between thousands or, if it is a class, add --kind labels"
        )
    kind = _kind(parts, true, options)
    labels: dict[frozenset[str], str] = {}  # of a run, and the first table with such a one
    for part in parts if kind == "labels" else ():
        for column in part.role.predicted:
            check_missing(part, column, options)
            for texts in labels_of(part, column):
                labels.setdefault(texts, part.table.name)
    if kind == "logits":
        check_signs(parts)
    classes, of_true, of_labels = coded(parts, kind, labels, true, options)
    if kind == "probabilities" and not options.probabilities:
        check_class(parts, classes, bool(true))
    result = []
    for part in parts:
        values, y = values_of(part, kind, of_labels), None
        if part.truth is not None and kind == "values":
            y = np.array([number(text) for text in part.truth])
            if (odd := ~np.isfinite(y)).any():
                t = int(odd.argmax())
                raise UserError(
                    f"{part.table.name}: the true value of example {str(part.grid.ids[t])!r} is {part.truth[t]!r}: "
                    "expected a finite number, or the example left out"
                )
        elif part.truth is not None:
            y = np.array([of_true[plain(text)] for text in part.truth])
        final = "probabilities" if kind == "logits" else kind
        said = options.probabilities or options.logits or options.classes
        two = final == "probabilities" and len(classes) == 2 and not part.role.wide
        if two and y is not None and len(y) >= 20 and not said:
            check_side(part, classes, values[..., 1].mean(axis=0), y)
        names = part.role.predicted if part.role.wide else part.grid.runs
        result.append(Runs(names, part.grid.ids, final, values, classes, y, part.table.name))
    return result


def _said(part: Part, margins: bool) -> Iterator[str]:
    """Yield what was read as examples, predictions and true values, and what was left out."""
    grid, names = part.grid, part.role.predicted
    if grid.example is None:
        yield "examples by the order of the rows"
    elif grid.example.lower() in INDEX:
        yield f"examples by the numbers of the rows in {grid.example!r}"
    if part.role.wide:
        yield f"{len(names)} runs: {f'{names[0]} … {names[-1]}' if len(names) > 3 else ', '.join(names)}"
    else:
        if grid.run:
            yield f"{len(grid.runs)} runs by {grid.run}" if len(grid.runs) > 1 else f"run: {grid.run}"
        yield f"{'margins' if margins else 'predictions'}: {', '.join(names)}"
    if part.place:
        yield part.place
    used = {grid.example, grid.run, part.role.truth, *names}
    if rest := [name or repr(name) for name in part.table.columns if name not in used]:
        hint = "" if part.place else "; truth: none (name its column with --truth-column)"
        yield f"left out: {', '.join([*rest[:6], *(['…'] if len(rest) > 6 else [])])}{hint}"
