"""Reader of predictions: tables, long or wide, into ``Runs``, by the roles of their columns."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast, get_args

import numpy as np
from scipy.special import expit, softmax

from benchmark.data.checks.missing import MISSING_WORDS, folded
from benchmark.errors import UserError
from leaderboard.scoring import files
from leaderboard.scoring.doubts import said_of
from leaderboard.scoring.files import Column, Table, number
from leaderboard.scoring.roles import (
    CLOSE,
    FEW,
    INDEX,
    MARKED,
    SPELLED,
    Grid,
    Options,
    Part,
    Reading,
    begins_with_numbers,
    example_of,
    filled,
    grid_of,
    natural,
    negative,
    plain,
    role_of,
    stem,
    typed,
    words,
)
from leaderboard.scoring.runs import PredictionKind, Runs

MOST_CLASSES = 1000
UNITS = frozenset(("pm", "nm", "um", "mm", "molar", "percent", "mg", "ug", "ng", "kcal", "kj", "log", "ln"))
"""Units, and scales, in names of columns."""
MOST_COMPARED = 5000
"""Ids that are compared to find two that may be the same, for an error."""
SINGLE = 2.0**-23
"""The most by which rounding to float32 changes a number, as a share of it."""
FAILED = frozenset(("error", "timeout"))
"""Words that programs write where they predict nothing."""
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
    kept += _of_file(outside, parts, options) if outside else ""
    for part in parts:
        if part.role.truth:
            _check_missing(part, part.role.truth, options)
            part.truth, part.place = _texts(part), f"truth: {part.role.truth}"
    result, classes_alone = _runs(parts, options), ""
    doubts = said_of(parts, result, outside, options)
    if result[0].kind == "probabilities" and not (options.kind or options.logits or options.probabilities):
        classes_alone = _with_classes(parts)
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
    columns = ["; ".join([*_said(part, bool(options.logits)), *notes]) + "." for part in parts]
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
        known = set(outside.columns[_key(outside, grids[0])].encoded[1].tolist()) if outside else set(kept)
        whole = [set(grid.ids[(grid.at >= 0).all(axis=0)].tolist()) for grid in grids]
        kept = [name for name in kept if name in known and all(name in others for others in whole)]
        alike = next(filter(None, (_pair(list(rows[0]), others) for others in (*rows[1:], known))), "")
        said = f"{len(kept)} of {len(set().union(*rows))} examples, those in common{alike}"
        if not kept:
            others = next((others for others in rows if rows[0].keys().isdisjoint(others)), known)
            raise UserError(f"--common-rows: the tables have no example in common{_pair(list(rows[0]), others)}")
    for table, others in zip(tables[1:], rows[1:], strict=True):
        if not common and others.keys().isdisjoint(kept):
            raise UserError(f"{tables[0].name} and {table.name}: no example in common{_pair(kept, others)}")
        if not common and others.keys() != rows[0].keys():
            name = next(iter([*(n for n in kept if n not in others), *sorted(others.keys() - rows[0].keys())]))
            raise UserError(
                f"{tables[0].name} and {table.name}: {len(kept)} and {len(others)} examples; expected the same ones, "
                f"but {name!r} is in {(table if name in others else tables[0]).name} only{_pair(kept, others)}; to "
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


def _pair(ids: Sequence[str], others: Collection[str]) -> str:
    """Return, for an error, an id of each that may be the same example, or if there is none in common, the first ones.

    Leading zeros, a ``.0``, capitals, dashes and the encoding of accents may be what differs, and for molecules the
    spelling of the SMILES.
    """

    def bare(text: str) -> str:
        plainly = unicodedata.normalize("NFKC", re.sub(r"[\u2010-\u2015\u2212]", "-", text)).casefold()
        return re.sub(r"(?<!\d)0+(?=\d)|(?<=\d)\.0+$", "", plainly)

    own = set(ids)
    left, others_left = [text for text in ids if text not in others], [text for text in others if text not in own]
    for form in (bare, _canonical):
        known = {form(text): text for text in others_left[:MOST_COMPARED]} if left else {}
        mine = next((text for text in left[:MOST_COMPARED] if form(text) and form(text) in known), None)
        if mine is not None:
            return f"; {mine!a} and {known[form(mine)]!a} may be the same: expected ids that are written alike"
    return f": {ids[0]!r} and {next(iter(others))!r} are the first" if own.isdisjoint(others) else ""


def _canonical(smiles: str) -> str:
    """Return RDKit's spelling of a SMILES; nothing for another text."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    return "" if molecule is None else str(Chem.MolToSmiles(molecule))


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


def _key(outside: Table, grid: Grid) -> str:
    """Return the column of ids in a file of true values: by the name that it has in the table, if it is there."""
    key = grid.example if grid.example in outside.columns else example_of([outside], None)[0]
    if key is None:
        raise UserError(f"{outside.name}: no column of example ids: name one of its columns example_id")
    return key


def _alike(a: str, b: str) -> bool:
    """Return whether two texts are the same class, or the same number where one was rounded to float32."""
    return a == b or plain(a) == plain(b) or bool(np.isclose(number(a), number(b), rtol=SINGLE, atol=0))


def _texts(part: Part) -> np.ndarray:
    """Return the true values of a table as texts, (T,). Raises UserError if one differs between runs."""
    table, at, name = part.table, part.grid.at, part.role.truth
    codes, texts = table.columns[name].encoded
    codes = codes[at]
    for r, t in np.argwhere(codes != codes[0]):
        now, before = texts[codes[r, t]], texts[codes[0, t]]
        if not _alike(now, before):
            raise UserError(
                f"{table.name}, row {at[r, t] + 1}, column {name!r}: example {str(part.grid.ids[t])!r} is {now!r}, but "
                f"{before!r} in an earlier row"
            )
    return np.asarray(texts[codes[0]])


def _missing(texts: Sequence[str], options: Options) -> list[int]:
    """Return the places of the texts that stand for a missing value, unless --classes names them."""
    words = (MISSING_WORDS | FAILED) - ({"-", "--"} if "+" in texts else set())
    plainly = [folded(text).replace(". ", ".") for text in texts]
    return [i for i, text in enumerate(plainly) if text in words and texts[i] not in options.classes]


def _check_missing(part: Part, name: str, options: Options) -> None:
    """Raise UserError for a row of a column of classes or true values that is empty or says that it is missing."""
    codes, texts = part.table.columns[name].encoded
    rows = part.grid.at[np.isin(codes[part.grid.at], [-1, *_missing(texts.tolist(), options)])]
    if rows.size:
        row = int(rows.min())
        what, remedy = "is empty", ""
        if codes[row] >= 0:
            what = f"{texts[codes[row]]!r} stands for a missing value"
            remedy = " or, if it is a class, name all classes with --classes"
        raise UserError(
            f"{part.table.name}, row {row + 1}, column {name!r}: {what}: leave such examples out of all tables{remedy}"
        )


def _of_file(outside: Table, parts: Sequence[Part], options: Options) -> str:
    """Give parts their true values from a file, without the examples that have none if --common-rows says so.

    Returns, in words, how many have one if not all have.
    """
    columns = [_column(outside, part, options) for part in parts]
    known = [
        _known(outside, _key(outside, part.grid), name, options) for part, name in zip(parts, columns, strict=True)
    ]
    ids = parts[0].grid.ids.tolist()
    there = np.array([all(text in true for true in known) for text in ids])
    if not there.all() and (not options.common or not there.any()):
        missing = ids[int(there.argmin())]
        part, name = parts[0], columns[0]
        every = dict.fromkeys(filter(None, outside.columns[_key(outside, part.grid)].encoded[1].tolist()))
        if every.keys().isdisjoint(ids):
            raise UserError(f"{part.table.name} and {outside.name}: no example in common{_pair(ids, every)}")
        remedy = "" if options.common else "; to leave out examples without, add --common-rows"
        raise UserError(
            f"{outside.name}: example {missing!r} has no true value in the column {name!r}{_pair(ids, every)}: "
            f"expected one for each{remedy}"
        )
    for part, true, name in zip(parts, known, columns, strict=True):
        part.grid = replace(part.grid, ids=part.grid.ids[there], at=part.grid.at[:, there])
        part.truth = np.array([true[text] for text in part.grid.ids.tolist()], dtype=object)
        part.place = f"truth: {name} in {options.truth}"
    return "" if there.all() else f"; {there.sum()} of these have a true value"


def _column(outside: Table, part: Part, options: Options) -> str:
    key, name = _key(outside, part.grid), options.truth_column
    if name and name not in outside.columns:
        raise outside.missing(name, "--truth-column")
    runs = part.role.predicted if part.role.wide else ()
    rest = [column for column in outside.columns if column not in (key, *runs)]
    free = [column for column in rest if role_of(column) not in ("predicted", "probability", "logit")]
    task = options.task or part.role.predicted[0]
    candidates = (
        [column for column in free if column == task],
        [column for column in free if stem(task) and stem(column) == stem(task)],
        [column for column in free if column.lower() == "y_true"],
        [column for column in free if role_of(column) == "truth"],
        [column for column in free if role_of(column) == "either"],
        [column for column in rest if column == task and stem(column) and not SPELLED & {*words(column)}],  # p_np
        rest,
    )
    name = name or next((names[0] for names in candidates if len(names) == 1), "")
    if not name:
        shown = ", ".join(map(repr, rest))
        raise UserError(f"{outside.name}: each of {shown} may be the true values: say which with --truth-column")
    return name


def _known(outside: Table, key: str, name: str, options: Options) -> dict[str, str]:
    """Return the true values in a file by example. Raises UserError for an example with two."""
    keys, (codes, texts) = outside.columns[key].encoded[1][filled(outside, key)], outside.columns[name].encoded
    true: dict[str, str] = {}
    absent = {-1, *_missing(texts.tolist(), options)}
    for row, (text, code) in enumerate(zip(keys.tolist(), codes.tolist(), strict=True), 1):
        if code in absent:
            continue
        now, before = texts[code], true.setdefault(text, texts[code])
        if not _alike(now, before):
            raise UserError(f"{outside.name}, row {row}: example {text!r} is {now!r}, but {before!r} in an earlier row")
    return true


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
        if worded := next(
            (part for part in parts if not part.role.kind and part.table.columns[part.role.predicted[0]].text), None
        ):
            other = next(part.table.name for part in parts if part.role.kind)
            raise UserError(
                f"{worded.table.name}: {worded.role.predicted[0]!r} has classes in words, and {other} probabilities: "
                "write either in both"
            )
        if len(true) > 2 and not several:
            _check_spelling(parts[0].table.name, true)
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
    if number(odd) < 0 and true == {odd, "0", "1"} and not (options.classes or options.kind or below):
        raise UserError(
            f"{parts[0].table.name}: the true values are {odd}, 0 and 1, and no prediction is {odd}: if {odd} means a "
            f"missing value, leave such examples out of all tables; if it is a class, --classes={odd},0,1"
        )
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
            _check_missing(part, column, options)
            for texts in _labels(part, column):
                labels.setdefault(texts, part.table.name)
    if kind == "logits":
        _check_signs(parts)
    classes, of_true, of_labels = _coded(parts, kind, labels, true, options)
    if kind == "probabilities" and not options.probabilities:
        _check_class(parts, classes, bool(true))
    result = []
    for part in parts:
        values, y = _values(part, kind, of_labels), None
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
            _check_side(part, classes, values[..., 1].mean(axis=0), y)
        names = part.role.predicted if part.role.wide else part.grid.runs
        result.append(Runs(names, part.grid.ids, final, values, classes, y, part.table.name))
    return result


def _with_classes(parts: Sequence[Part]) -> str:
    """Return what to say if a single column is only 0 and 1, as predicted classes are, and other probabilities not."""
    names = [(part, name) for part in parts for name in part.role.predicted]
    whole = [
        not part.role.classes and bool(np.isin(part.table.columns[name].numbers, (0, 1)).all()) for part, name in names
    ]
    if all(whole) or not any(whole):
        return ""
    part, name = names[whole.index(True)]
    return (
        f"{name} in {part.table.name} is only 0 and 1, so that all are compared as classes (--kind probabilities "
        "compares them as probabilities)"
    )


def _labels(part: Part, name: str) -> list[frozenset[str]]:
    codes, texts = part.table.columns[name].encoded
    return [frozenset(map(plain, texts[np.unique(of_run)])) for of_run in codes[part.grid.at]]


def _coded(
    parts: Sequence[Part], kind: str, columns: dict[frozenset[str], str], true: set[str], options: Options
) -> tuple[tuple[str, ...], dict[str, int], dict[frozenset[str], dict[str, int]]]:
    """Return the classes, the index of each true one, and that of each label in ``columns`` with the same labels.

    Raises UserError if they do not match.
    """
    name, given = parts[0].table.name, tuple(map(plain, options.classes))
    if kind == "values" and given:
        raise UserError(f"--classes {','.join(given)}: {name} has values: leave it out, or say --kind labels")
    if kind == "values":
        return (), {}, {}
    if kind == "labels":
        labels: set[str] = set().union(*columns)
        classes = given or tuple(sorted(labels | true, key=natural))
        odd = min(labels - true, key=natural, default="")
        if len(true) > 1 and not given and number(odd) < 0 and labels == true | {odd} and all(map(str.isdigit, true)):
            raise UserError(
                f"{name}: some predictions are {odd}, and no true value is: if {odd} means no prediction, leave such "
                f"rows out and add --common-rows; if it is a class, --classes={','.join(classes)}"
            )
        if not given:
            _check_spelling(name, labels | true)
            for texts in (true, *columns):
                _check_mixed(columns.get(frozenset(texts), name), texts)
        spelled = [texts for texts in (labels, true) if not _counts(texts)]
        joint = labels | true == {"0", "1"} or (len(spelled) > 1 and bool(labels & true))
        example = sorted(labels | true if joint else [*spelled, labels][0], key=natural)
        mismatch = _mismatch(name, {"the predicted classes": labels, "the true ones": true}, example)
        if not given and true and not (labels <= true or true <= labels):
            raise mismatch
        if len(classes) > MOST_CLASSES:
            raise UserError(f"{name}: more than {MOST_CLASSES} different class labels: for values, use --kind values")
        if not given:
            _check_labels(columns, true)
        if len(classes) < 2:
            classes = (*classes, f"not {classes[0]}")
        by_name = labels <= set(classes)  # else each column may have names or numbers of the classes
        sure = labels | true <= set(classes) and not labels | true <= set(map(str, range(len(classes))))
        of_true = _index(name, true, classes, sure)
        of_labels = {}
        for mine, table in columns.items():
            beside = set().union(*(texts for texts, where in columns.items() if where == table))
            index = _index(table, labels if by_name else beside, classes, sure)
            of_labels[mine] = {text: index[text] for text in mine}
        predicted = {code for index in of_labels.values() for code in index.values()}
        if true and predicted.isdisjoint(of_true.values()):
            raise mismatch  # no prediction could be right
        return classes, of_true, of_labels
    name = next((part.table.name for part in parts if part.role.classes), name)
    every = {part.role.classes for part in parts if part.role.classes} or {("0", "1")}
    if len(every) > 1:
        both = " and ".join(map(str, sorted(every)))
        raise UserError(f"{name}: the tables have probabilities of {both}: expected the same classes")
    (own,) = every
    if given and len(given) != len(own):
        raise UserError(f"--classes {','.join(given)}: expected {len(own)} classes, as there are probabilities")
    shared = set.intersection(*(set(words(column)) for part in parts for column in part.role.predicted))
    named = {text for text in true if text.lower() in shared}
    if own == ("0", "1") and not given and len(true) == 2 and len(named) == 1 and "".join(true).isalpha():
        own = (*(true - named), *named)  # as prob_active is that of active
    meant = [[text for text in true if {*words(name)} <= {*words(text)}] for name in own]
    if not true <= set(own) and sorted(meant) == sorted([text] for text in true):
        own = tuple(text for (text,) in meant)  # as p_Active is that of active, and p_low that of low activity
    if not given and not true <= set(own):
        numbered = all(map(str.isdigit, true)) and not all(map(str.isdigit, own))
        role, there = parts[0].role, list(parts[0].table.columns)
        placed = sorted(role.classes, key=lambda text: there.index(role.predicted[role.classes.index(text)]))
        example = sorted(true, key=natural) if len(true) == len(own) and not numbered else placed or list(own)
        raise _mismatch(name, {"the probabilities' classes": own, "the true ones": true}, example)
    if not set(given) <= set(own) or (given and not any(part.role.classes for part in parts)):
        _check_order(parts, own, options)
        return given, _index(name, true, given, true <= set(given)), {}
    order = own if true <= set(own) else given  # where the columns have the names, --classes numbers them
    return own, {text: own.index(order[i]) for text, i in _index(name, true, order).items()}, {}


def _check_order(parts: Sequence[Part], own: Sequence[str], options: Options) -> None:
    """Raise UserError if columns of probabilities, which --classes names anew, are in no known order.

    Known is that of numbers, that of --probabilities or --logits, and that of the table if it is alphabetical.
    """
    if options.probabilities or options.logits or all(map(str.isdigit, own)):
        return
    for part in parts:
        placed = [name for name in part.table.columns if name in part.role.predicted]
        if len(placed) > 1 and placed != list(part.role.predicted):
            raise UserError(
                f"{part.table.name}: --classes {','.join(options.classes)}: the order of the columns of probabilities "
                f"is unknown: say it with --probabilities, e.g. --probabilities {typed(placed)}"
            )


def _check_spelling(name: str, texts: set[str]) -> None:
    """Raise UserError for two classes that differ only in what people do not mean by them, as ``folded`` says."""
    known: dict[str, str] = {}
    for text in sorted(texts):
        if (other := known.setdefault(folded(text), text)) != text:
            raise UserError(
                f"{name}: the classes {other!r} and {text!r} differ in capitals, blanks or the encoding of "
                "accents only: write them alike or, if they are two classes, name all with --classes"
            )


def _check_mixed(name: str, texts: Collection[str]) -> None:
    """Raise UserError for a column with the numbers of two classes as well as words, which may mean the same."""
    words_in = sorted(text for text in texts if np.isnan(number(text)))
    if words_in and (digits := sorted({"0", "1"}.intersection(texts))):
        raise UserError(
            f"{name}: the classes are numbers ({','.join(digits)}) and words ({','.join(words_in[:6])}) in one column: "
            "write them alike or, if all are different classes, name them with --classes"
        )


def _check_labels(columns: Mapping[frozenset[str], str], true: set[str]) -> None:
    """Raise UserError if runs of predicted labels may write the same classes differently, as 0, 1 and 1, 2.

    Runs may lack some classes, so it is no sign of this if the true classes, or those of another run, include all; nor,
    of more than two, if they share some, and numbers the first.
    """
    most = max(columns, key=len)
    for labels in columns:
        every = labels | most
        words_in = {text for text in every if np.isnan(number(text))}
        mixed = words_in and words_in != every
        alike = words_in == every or min(labels, key=natural) == min(most, key=natural)
        several = len(most) > 2 and labels & most and alike
        if every <= true or labels <= most or several or (len(every) == 2 and not mixed):
            continue
        example = every if labels & most and (words_in or len(most) > 2) else most if _counts(labels) else labels
        names = " and ".join(dict.fromkeys([columns[most], columns[labels]]))
        runs = {"the predicted classes": most, "those of another run": labels}
        raise _mismatch(names, runs, sorted(example, key=natural))


def _counts(labels: Collection[str]) -> bool:
    """Return whether labels are the numbers of as many classes, from 0."""
    return set(labels) == set(map(str, range(len(labels))))


def _mismatch(name: str, classes: Mapping[str, Collection[str]], example: Sequence[str]) -> UserError:
    shown = " and ".join(f"{whose} ({','.join(sorted(texts, key=natural)[:6])})" for whose, texts in classes.items())

    def first(text: str) -> bool:  # as inactive comes before active, and insoluble before soluble
        others = [other.casefold() for other in example if other.isalpha() and other != text]
        return negative(text) or text.casefold().endswith(tuple(others))

    if len(example) > FEW:
        return UserError(f"{name}: {shown} do not match: write them alike or, if they are values, add --kind values")
    order = typed(sorted(example, key=lambda text: not first(text)))
    return UserError(
        f"{name}: {shown} do not match: write them alike, or name the classes in the order of their numbers or "
        f"probabilities with --classes, e.g. --classes {order}"
    )


def _index(name: str, texts: set[str], classes: tuple[str, ...], by_name: bool = False) -> dict[str, int]:
    """Return the index of each text among the classes: by its name, or unless ``by_name``, by its number from 0."""
    named = {text: classes.index(text) for text in texts if text in classes}
    counted = {text: int(text) for text in texts if text.isdigit() and int(text) < len(classes) and not by_name}
    if len(named) == len(counted) == len(texts) and named != counted:
        raise UserError(
            f"{name}: {', '.join(sorted(texts))} may be names or numbers of the classes {', '.join(classes)}: write "
            "the classes as words"
        )
    chosen = named if len(named) == len(texts) or len(named) > len(counted) else counted
    if odd := sorted(texts - chosen.keys(), key=natural):
        raise UserError(f"{name}: {odd[0]!r} is none of the classes {', '.join(classes)}: name them all with --classes")
    return chosen


def _values(part: Part, kind: str, labels: dict[frozenset[str], dict[str, int]]) -> np.ndarray:
    """Return the predictions of a table: indices of labels or values (R, T), or probabilities (R, T, C)."""
    table, at, role = part.table, part.grid.at, part.role
    if kind == "labels":
        indices = []
        for name in role.predicted:
            codes, texts = table.columns[name].encoded
            plainly = [*map(plain, texts)]
            for mine, of_run in zip(_labels(part, name), codes[at], strict=True):
                index = [labels[mine].get(text, 0) for text in plainly]  # 0 for what only other runs have
                indices.append(np.array(index, dtype=np.uint16)[of_run])
        return np.stack(indices)
    numbers = np.stack([_numbers(part, name) for name in role.predicted], axis=-1)
    if role.wide:
        numbers = numbers[0].T[..., None]
    single = numbers.shape[-1] == 1
    if kind == "values":
        if not single:
            raise UserError(f"{table.name}: --kind values, but {', '.join(role.predicted)} are one run: use --runs")
        return np.asarray(numbers[..., 0])
    p = numbers
    if kind == "logits":
        p = expit(p) if single else softmax(p, axis=-1)
    p = np.concatenate([1 - p, p], axis=-1) if single else p
    off = np.maximum(np.abs(p.sum(axis=-1) - 1), -p.min(axis=-1))
    if off.max() > CLOSE * p.shape[-1] / 2:
        r, t = np.unravel_index(off.argmax(), off.shape)
        what = f"columns {', '.join(role.predicted)}: expected probabilities that sum to 1"
        if single:
            what = f"column {role.predicted[r if role.wide else 0]!r}: expected a probability from 0 to 1"
        if numbers.min() >= 0 and (numbers.max() <= 100 if single else np.allclose(p.sum(axis=-1), 100, atol=1.1)):
            what += " (divide percent by 100)"
        shown = ", ".join(f"{x:g}" for x in numbers[r, t])
        raise UserError(f"{table.name}, row {at[0 if role.wide else r, t] + 1}, {what}, found {shown}")
    p = np.clip(p, 0, 1)
    return np.asarray(p / p.sum(axis=-1, keepdims=True), dtype=np.float32)


def _numbers(part: Part, name: str) -> np.ndarray:
    """Return a column as numbers, (R, T). Raises UserError for a row of an example that is compared and has none."""
    column = part.table.columns[name]
    numbers = column.numbers[part.grid.at]
    if (odd := ~np.isfinite(numbers)).any():
        codes, texts = column.encoded
        row = int(part.grid.at[odd].min())
        shown = repr(texts[codes[row]]) if codes[row] >= 0 else "nothing"
        raise UserError(
            f"{part.table.name}, row {row + 1}, column {name!r}: expected a finite number, found {shown}; if there is "
            "no prediction, leave out such rows and add --common-rows"
        )
    return np.asarray(numbers)


def _check_signs(parts: Sequence[Part]) -> None:
    """Raise UserError for single margins that are all on one side of 0, and for a table's that may be probabilities."""
    single = [part for part in parts if len(part.role.predicted) == 1]
    margins = [_numbers(part, part.role.predicted[0]).ravel() for part in single]
    together = np.concatenate(margins or [np.array([-1.0, 1.0])])
    for part, own in zip(single, margins, strict=True):
        shares = own.min() >= 0 and own.max() <= 1
        if not shares and together.min() < 0 < together.max():
            continue
        low, high = (own if shares else together).min(), (own if shares else together).max()
        shown = f"{part.table.name}: --logits {part.role.predicted[0]}: from {low:g} to {high:g}"
        raise UserError(
            f"{shown}, but margins are below 0 for one class and above for the other: if these are percent, divide "
            "them by 100; if they are probabilities, use --probabilities, and write them in all tables"
        )


def _check_class(parts: Sequence[Part], classes: Sequence[str], truth: bool) -> None:
    """Raise UserError for single probabilities that are of the first class by their names, in some tables or all."""
    single = [(part.table.name, name) for part in parts if not part.role.classes for name in part.role.predicted]
    first = [(table, name) for table, name in single if negative(name) and classes[-1].lower() not in words(name)]
    if first and (truth or len(first) < len(parts) or len(first) < len(single)):
        table, name = first[0]
        raise UserError(
            f"{table}: {name!r} is by its name the probability of the first of two classes, but that of the second is "
            f"expected: write one minus it, under a name such as p1; if it is that of the second class after all, add "
            f"--probabilities {typed([name])}"
        )


def _check_side(part: Part, classes: Sequence[str], p: np.ndarray, y: np.ndarray) -> None:
    """Raise UserError for a probability that falls where the second class is true: it may be that of the first."""
    names = part.role.predicted
    if p.std() and y.std() and np.corrcoef(p, y)[0, 1] < -0.2:
        raise UserError(
            f"{part.table.name}: {names[-1]!r} is lower where the class is {classes[1]}, as if it were the probability "
            f"of class {classes[0]}: if so, write that of class {classes[1]}; if it is that already, add "
            f"--probabilities {typed(names)}"
        )


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
