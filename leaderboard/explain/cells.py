"""What the run of a cell shows: its place, its difference from ERM with intervals, the flips, and how to repeat it."""

from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

from benchmark.measure.catalogue import QUALITY, churn, scorecard
from benchmark.measure.catalogue import boards as on_boards
from benchmark.measure.intervals import Estimate, described
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE, Task
from leaderboard.explain.flips import Flips
from leaderboard.figures.build import draw
from leaderboard.figures.contrast import contrast, contrast_of, heat_map
from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.forest import forest_of
from leaderboard.figures.style import INK
from leaderboard.read.results import Dataset, Entry
from leaderboard.tables.boards import EVALSETS, Board, board, marks, meanings
from leaderboard.tables.columns import COMPUTE, UNLIKE, Column, Pair, absolute, differences, pairs_of, versus
from leaderboard.tables.table import MISSING, Table, Value, spelled
from leaderboard.write.formats import markdown, to_markdown

FRONT = 5
"""Number of fragile examples in the description of a run."""


def measures(task: Task) -> tuple[Measure, Measure]:
    """Return the measures that have intervals among the metrics: churn, and accuracy or MAE."""
    return churn(task), QUALITY[task]


def bounded(name: str, column: Column, estimate: Estimate | None) -> dict[str, float]:
    """Return the metrics of an estimate, with the ends of its interval as ``name_low`` and ``name_high``.

    They are the board's, as fractions or in target units.
    """
    most, least = (column.measure.most, column.measure.least) if column.measure else (float("inf"), 0)
    value = Value.of(estimate, 1, 1, column.versus, float("inf") if column.versus else most, least)
    numbers = {name: value.number, f"{name}_low": value.low, f"{name}_high": value.high}
    return {name: float(number) for name, number in numbers.items() if number == number}


def pair_of(dataset: Dataset, entry: Entry, split: int) -> Pair:
    """Return the cell of an entry on one split with ERM's, or None, with which it shares a train seed."""
    return next(pair for pair in pairs_of(dataset, entry) if pair[0] is entry.cells[split])


def metrics(pair: Pair) -> dict[str, float]:
    """Return the metrics of a cell that its recording lacks: intervals, paired differences from ERM, the scorecard."""
    cell, erm = pair
    found: dict[str, float] = {}
    for test, p in cell.predictions.items():
        for measure in scorecard(p.task):
            column, name = absolute(measure), f"{test}/{measure.key}"
            ends = bounded(name, column, column.value([(cell, None)], test))
            found |= {key: value for key, value in ends.items() if key != name or not measure.tracked}
        for measure in measures(p.task):
            difference = versus(measure)
            found |= bounded(f"{test}/{difference.key}", difference, difference.value([pair], test))
    relative = COMPUTE.value([(cell, erm)])
    return found | ({"compute_vs_erm": relative.value} if relative else {})


def place(whole: Board, title: str) -> str:
    """Return the place of a method on a board in words, as ``Place 1 of 4 by churn``; marked methods have none."""
    titles = [row.title for row in whole.rows if not row.marks]
    if title not in titles:
        return "No place by churn, because of its marks"
    return f"Place {titles.index(title) + 1} of {len(titles)} by churn"


def own_churn(cell: Cell) -> str:
    """Say how much two retrainings of a cell differ on the ID test."""
    task = cell.predictions["id"].task
    column = absolute(churn(task))
    text = column.show(column.value([(cell, None)])).text
    if text == MISSING:
        return "A single retraining has no churn."
    if task == "classification":
        return f"Two retrainings disagree on {_with_unit(text, '%')} of the ID test."
    return f"Two retrainings differ by {_with_unit(text, cell.facts.dataset.unit)} on the ID test."


def difference(pair: Pair) -> str:
    """Say whether a cell differs from ERM in churn, and what happens to accuracy or MAE."""
    cell, erm = pair
    task, unit = cell.predictions["id"].task, cell.facts.dataset.unit
    if cell.key.pipeline == REFERENCE:
        return "This is ERM, the reference that all other methods are compared with."
    if erm is None:
        command = f"python -m benchmark run --method {REFERENCE} --dataset {cell.key.dataset}"
        return f"There is no run of ERM with the same train seeds to compare it with. Run: `{command}`"
    texts, found = [], []
    for measure in measures(task):
        column = versus(measure)
        estimate = column.value([pair])
        texts.append(
            f"{measure.name} {_with_unit(column.show(estimate).text, 'pp' if task == 'classification' else unit)}"
        )
        found.append(estimate)
    change = found[0]
    if change is None or change.low != change.low:
        verdict = "Difference from ERM, without an interval"
    elif change.excludes_zero:
        verdict = "Differs from ERM"
    else:
        verdict = "Cannot be distinguished from ERM: the interval of the difference in churn contains 0"
    cost = COMPUTE.value([pair])
    price = f", at {spelled(cost.value)} times the compute" if cost else ""
    return f"**{verdict}**: {'; '.join(texts)}{price}."


def _with_unit(text: str, unit: str) -> str:
    """Put a unit behind a number and before its interval: ``−9.5 pp [−11.0, −8.1]``."""
    number, bracket, interval = text.partition(" [")
    return " ".join(filter(None, [number, unit])) + bracket + interval


def note(
    dataset: Dataset, entry: Entry, split: int, found: Flips | None, links: Sequence[str], smiles: Mapping[str, str]
) -> str:
    """Return the description of a cell's run in Markdown."""
    pair = pair_of(dataset, entry, split)
    cell, _ = pair
    whole = board(dataset)
    several = f", over splits {', '.join(map(str, dataset.splits))}" if len(dataset.splits) > 1 else ""
    flags = marks([pair])
    title = " ".join([markdown(cell.title), *flags])
    parts = [
        f"**{title}** on **{markdown(dataset.title)}**: **{place(whole, entry.title)}**{several}. {own_churn(cell)} "
        f"{difference(pair)}",
        f"Repeat it: `{cell.facts.command}`",
        _fragile(found, smiles) if found is not None and len(found.table) else "",
        to_markdown(_table(cell, pair)).strip(),
        f"Δ: difference from ERM on the same samples. {described('runs', cell.key.sampling)}",
        *meanings(flags),
        *(f"{UNLIKE} It differs from ERM's run in more than the method: {text}." for text in differences([pair])),
        f"Canonical seed {split}, {len(cell.key.seeds)} retrainings, sampling `{cell.key.sampling}` "
        f"({cell.facts.spelled_rows})."
        + (f" One retraining took {cell.fit_seconds:.3g} CPU seconds." if cell.fit_seconds == cell.fit_seconds else ""),
        " · ".join(links),
    ]
    return "\n\n".join(filter(None, parts))


def _table(cell: Cell, pair: Pair) -> Table:
    """Return the measures of boards in rows, and each test set and its difference from ERM in columns."""
    task = cell.predictions["id"].task
    tests = list(cell.predictions)
    rows: list[tuple[str | Value, ...]] = []
    for measure in sorted(on_boards(task), key=lambda measure: measure.key != "churn"):
        own, delta = absolute(measure), versus(measure)
        values = [
            v for test in tests for v in (own.show(own.value([pair], test)), delta.show(delta.value([pair], test)))
        ]
        rows.append((f"{own.title}; {delta.title}" if own.scale != delta.scale else own.title, *values))
    header = ("", *(text for test in tests for text in (EVALSETS.get(test, test), "Δ")))
    return Table("cell", cell.title, "", header, tuple(rows))


def _fragile(found: Flips, smiles: Mapping[str, str]) -> str:
    """Return a table of the most fragile examples."""
    classes = found.cell.predictions["id"].task == "classification"
    key = "churn" if classes else "mean_difference"
    against = [f"{key}_erm"] if f"{key}_erm" in found.table else []
    head = [
        "Most fragile",
        "flips in (% of pairs)" if classes else "mean difference",
        *(["with ERM"] * len(against)),
        "SMILES",
    ]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in found.table[:FRONT].to_dict("records"):
        numbers = [f"{100 * row[k]:.0f}" if classes else f"{row[k]:.3g}" for k in (key, *against)]
        known = smiles.get(row["example_id"], "")
        lines.append(
            " | ".join([markdown(row["example_id"]), *numbers, f"`{known}`" if known and "|" not in known else ""])
        )
    table = "\n".join(f"| {line} |" for line in lines)
    what = "flip between retrainings" if classes else "differ between retrainings"
    return (
        f"{len(found.table)} of {found.n} examples of the ID test {what}; all are under *Artifacts*: `flips.html` "
        f"(structures), `flips.csv`.\n\n{table}"
    )


def pictures(dataset: Dataset, entry: Entry, split: int) -> Iterator[tuple[str, bytes]]:
    """Yield the heat map of ERM beside this method, or beside the calmest one for ERM itself, if there is one."""
    if entry is dataset.reference:
        pair = contrast(dataset, board(dataset))
    else:
        shared = pair_of(dataset, entry, split)[1] is not None
        pair = contrast_of(dataset, entry, split) if shared else None
    if pair is not None and (figure := draw(Drawing(heat_map, (pair,)))) is not None:
        yield "heatmap.svg", standalone(figure)


def forest(dataset: Dataset) -> Iterator[tuple[str, bytes]]:
    """Yield the forest plot of a dataset, if it has a difference from ERM."""
    if dataset.reference is not None:
        given = (board(dataset), dataset.task, dataset.unit, dataset.reference.title)
        if (figure := draw(Drawing(forest_of, given))) is not None:
            yield "forest.svg", standalone(figure)


def standalone(figure: Figure) -> bytes:
    """Return the picture in black on white: the UI shows it as an image, which has no text around it."""
    root = ElementTree.fromstring(figure.svg)
    root.set("style", f"background:#ffffff;color:{INK}")
    return ElementTree.tostring(root, encoding="unicode").encode()
