"""The end of a run on a user's own data: how methods differ, which one to use, and which molecules flip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from markupsafe import Markup

from benchmark.files import home
from benchmark.measure.basics import predicted_class
from benchmark.measure.catalogue import KEPT, ORDER, QUALITY, churn
from benchmark.measure.intervals import described
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE, Predictions
from leaderboard.figures.contrast import CLASSES
from leaderboard.read.results import Dataset, Results
from leaderboard.read.structures import of_tests
from leaderboard.scoring import reports
from leaderboard.scoring.review import tabulate
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import margin_of, rank
from leaderboard.site.explorer import drawings, example_churn
from leaderboard.tables.boards import MARKS, BoardRow, board
from leaderboard.tables.columns import absolute, versus
from leaderboard.tables.table import Table, Value, spelled
from leaderboard.write.formats import literal
from leaderboard.write.templates import render

LOSS = 1.0
"""Accepted loss: points of accuracy, or % of ERM's MAE, as the page Decide starts with."""
COST = 10.0
"""Accepted compute in multiples of ERM's, as there."""
FRONT = 5
"""Number of fragile molecules that are printed."""


SHOWN = 30
"""Number of examples on the page; the CSV has all that flip."""


@dataclass(frozen=True)
class Flips:
    """The examples of a cell's ID test that flip, or in a regression differ, between retrainings.

    ``table`` has the columns of ``leaderboard.scoring.review.fragile``, and ``churn_erm``, the share of ERM's pairs in
    which the example flips, if ERM is there. ``n`` is the number of all test examples.
    """

    cell: Cell
    erm: Cell | None
    table: pd.DataFrame
    n: int

    @property
    def shown(self) -> list[str]:
        """The ids of the examples on the page."""
        return list(self.table["example_id"][:SHOWN])


def flips(cell: Cell, erm: Cell | None) -> Flips | None:
    """Return what flips between the retrainings of ``cell``; None if there is no pair of them."""
    p = cell.predictions["id"]
    fragility = example_churn(p)
    if np.isnan(fragility).any():
        return None
    classes = p.task == "classification"
    margin = margin_of(p.values) if classes else None
    rows = rank(fragility, margin)
    rows = rows[fragility[rows] > 0]
    table = tabulate(Runs.of(p.values, p.y, p.ids), fragility, margin, rows)
    if erm is not None and erm is not cell:
        table.insert(3, "churn_erm" if classes else "mean_difference_erm", example_churn(erm.predictions["id"])[rows])
    return Flips(cell, erm, table, len(p.ids))


def to_csv(flips: Flips, smiles: Mapping[str, str]) -> str:
    """Return the table with the known SMILES; a text that a spreadsheet would read as a formula is quoted."""
    table = flips.table.copy()
    table.insert(2, "smiles", [literal(smiles.get(i, "")) for i in table["example_id"]])
    table["example_id"] = table["example_id"].map(literal)
    return str(table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def to_html(flips: Flips, drawings: Mapping[str, str]) -> str:
    """Return a page that needs no other file: structure, share of flips, and every retraining's prediction."""
    p = flips.cell.predictions["id"]
    both = [(flips.cell.title, p)]
    if flips.erm is not None and flips.erm is not flips.cell:
        both.append((flips.erm.title, flips.erm.predictions["id"]))
    place = {i: t for t, i in enumerate(p.ids.tolist())}
    examples = [
        {
            **row,
            "drawing": Markup(drawings.get(row["example_id"], "")),
            "strips": _strips(both, place[row["example_id"]]),
        }
        for row in flips.table[:SHOWN].to_dict("records")
    ]
    classes = min(p.values.shape[2], len(CLASSES)) if p.task == "classification" else 0
    return render("flip_list.html", flips=flips, examples=examples, colours=CLASSES, classes=classes)


def _strips(both: list[tuple[str, Predictions]], t: int) -> list[tuple[str, object]]:
    """Return the predictions of all retrainings for one example: runs of equal classes, or values as text."""
    if both[0][1].task == "regression":
        return [(title, ", ".join(f"{x:.3g}" for x in sorted(p.values[:, t, 0].tolist()))) for title, p in both]
    classes = [(title, np.minimum(predicted_class(p.values[:, [t]])[:, 0], len(CLASSES) - 1)) for title, p in both]
    return [(title, [(int(c), len(list(of))) for c, of in groupby(found.tolist())]) for title, found in classes]


@dataclass(frozen=True)
class Own:
    """What a user's dataset shows: a table of methods, sentences, and the flips of the method to use."""

    table: Table
    sentences: Sequence[str]
    flips: Flips | None


def answer(results: Results, names: Sequence[str]) -> None:
    """Print what each of the datasets ``names`` shows, under the sampling that decisions go by."""
    for dataset in (dataset for part in results.leading() for dataset in part.datasets if dataset.name in names):
        found = own(dataset)
        reports.terminal([found.table], found.sentences)
        if found.flips is not None and len(found.flips.table):
            table, page = write(dataset, found.flips)
            typer.echo(f"With {found.flips.cell.title}, these test examples change most:")
            for line in fragile(dataset, found.flips):
                typer.echo(f"  {line}")
            typer.echo(f"The {len(found.flips.table)} of {found.flips.n} that change: {table}\nAs a page: {page}")


def own(dataset: Dataset) -> Own:
    """Compare the methods on a dataset and choose the one with the least matched churn of those that keep accuracy.

    Intervals are over retrainings and test examples, as a decision is about new molecules too.
    """
    whole = board(dataset, "id", "both")
    task = dataset.task
    ordered = ORDER[task]
    columns = [absolute(ordered), versus(ordered), *map(absolute, (churn(task), QUALITY[task])), versus(KEPT[task])]
    rows: list[tuple[str | Value, ...]] = [
        (" ".join([row.title, *row.marks]), *[column.show(row.estimates.get(column.key)) for column in columns])
        for row in whole.rows
    ]
    caption = f"ID test; Δ is the paired difference from ERM on the same samples. {described('both', dataset.sampling)}"
    header = ("Method", *(column.title for column in columns))
    table = Table(dataset.name, dataset.title, caption, header, tuple(rows), kind="both")
    chosen = _chosen(dataset, whole.rows)
    if chosen is None:
        return Own(table, ["Train ERM and another method to compare: --method erm,svm,bagging"], None)
    entry = next(e for e in dataset.entries if e.title == chosen.title)
    split = min(entry.cells)
    erm = dataset.reference.cells.get(split) if dataset.reference else None
    marks = [text for sign, text in MARKS.items() if any(sign in row.marks for row in whole.rows)]
    return Own(table, [*marks, _advice(dataset, chosen)], flips(entry.cells[split], erm))


def _chosen(dataset: Dataset, rows: Sequence[BoardRow]) -> BoardRow | None:
    reference = next((row for row in rows if row.method == REFERENCE), None)
    if reference is None or len(rows) < 2:
        return None
    fit = [row for row in rows if row is reference or _fits(dataset, row, reference)]
    return min(fit, key=lambda row: row.estimates[ORDER[dataset.task].key].value, default=None)  # type: ignore[union-attr]


def _fits(dataset: Dataset, row: BoardRow, reference: BoardRow) -> bool:
    cost = row.estimates.get("compute")
    cheap = cost is None or cost.value <= COST
    return not row.marks and cheap and _gain(dataset, row, reference) >= -LOSS


def _gain(dataset: Dataset, row: BoardRow, reference: BoardRow) -> float:
    """Return the gain of matched accuracy in points, or the fall of MAE in % of ERM's."""
    quality = KEPT[dataset.task].key
    change, usual = row.estimates.get(f"delta_{quality}"), reference.estimates.get(quality)
    if change is None or usual is None:
        return float("-inf")
    return 100 * change.value if dataset.task == "classification" else -100 * change.value / usual.value


def _advice(dataset: Dataset, row: BoardRow) -> str:
    unit = "point of matched accuracy" if dataset.task == "classification" else "% of ERM's MAE"
    limit = f"among methods that lose at most {LOSS:g} {unit} and take at most {COST:g} times ERM's compute"
    if row.method == REFERENCE:
        return f"Stay with ERM: {limit}, none has less {ORDER[dataset.task].name}."
    change = row.estimates.get(f"delta_{ORDER[dataset.task].key}")
    known = change is not None and change.excludes_zero
    shown = (
        f"These results show that its {ORDER[dataset.task].name} is lower than ERM's."
        if known
        else f"These results do not show that its {ORDER[dataset.task].name} is lower than ERM's."
    )
    cost = row.estimates.get("compute")
    price = f" It takes {spelled(cost.value)} times ERM's compute." if cost else ""
    return f"Use {row.title}: it has the least {ORDER[dataset.task].name} {limit}. {shown}{price}"


def write(dataset: Dataset, found: Flips) -> tuple[Path, Path]:
    """Write the molecules that flip as a CSV and as a page, in ``reports/`` of the user's home; return the paths."""
    smiles = of_tests(dataset)
    folder = home() / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = drawings({i: smiles[i] for i in found.shown if i in smiles})
    table, page = (folder / f"{dataset.name}-flips.{suffix}" for suffix in ("csv", "html"))
    table.write_text(to_csv(found, smiles), encoding="utf-8")
    page.write_text(to_html(found, drawn), encoding="utf-8")
    return table, page


def fragile(dataset: Dataset, found: Flips) -> list[str]:
    """Return a line for each of the molecules that flip most often."""
    smiles = of_tests(dataset)
    some = found.table.head(FRONT)
    classes = dataset.task == "classification"
    values = some["churn" if classes else "mean_difference"]
    return [
        f"{f'{100 * value:.0f} % of pairs' if classes else f'{value:.3g} apart'}  {smiles.get(name, name)}"
        for name, value in zip(some["example_id"], values, strict=True)
    ]
