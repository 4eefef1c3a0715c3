"""The end of a run on a user's own data: how methods differ, which one to use, and which molecules flip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from benchmark import __version__
from benchmark.data.spec import known_spec
from benchmark.files import home, save
from benchmark.measure import deciding
from benchmark.measure.catalogue import AUROC, KEPT, ORDER, QUALITY, SPEARMAN, churn, example_churn, find
from benchmark.measure.intervals import described
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from benchmark.types import REFERENCE, Predictions, Task
from leaderboard.read.results import Dataset, Entry, Results, slug
from leaderboard.read.structures import of_tests
from leaderboard.scoring import reports
from leaderboard.scoring.review import tabulate
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import margin_of, rank
from leaderboard.tables.boards import MARKS, BoardRow, board
from leaderboard.tables.columns import absolute, versus
from leaderboard.tables.summary import LEARNABLE
from leaderboard.tables.table import Table, Value, spelled
from leaderboard.write.formats import literal

LEAST: Mapping[Task, tuple[Measure, float]] = {
    "classification": (AUROC, LEARNABLE),
    "regression": (SPEARMAN, round(2 * LEARNABLE - 1, 2)),
}
"""What a method must reach on the ID test to be recommended: two models that are hardly better than chance agree by
chance, too. For two classes, 2 · AUROC − 1 is a rank correlation (Somers' D)."""
LOSS = 1.0
"""Accepted loss: points of accuracy, or % of ERM's MAE, as the page Decide starts with."""
COST = 10.0
"""Accepted compute in multiples of ERM's, as there."""
FRONT = 5
"""Number of fragile molecules that are printed."""


@dataclass(frozen=True)
class Flips:
    """The examples whose ``predictions`` by retrainings of ``cell`` flip, or in a regression differ.

    ``table`` has the columns of ``leaderboard.scoring.review.fragile``, and where ERM's predictions are known,
    ``churn_erm``, the share of its pairs in which the example flips.
    """

    cell: Cell
    predictions: Predictions
    table: pd.DataFrame


def flips(cell: Cell, p: Predictions, names: Sequence[str], erm: Predictions | None = None) -> Flips | None:
    """Return what flips between retrainings of ``cell`` that predict ``p``; None if there is no pair of them.

    ``names`` are those of the classes.
    """
    fragility = example_churn(p)
    if np.isnan(fragility).any():
        return None
    classes = p.task == "classification"
    margin = margin_of(p.values) if classes else None
    rows = rank(fragility, margin)
    rows = rows[fragility[rows] > 0]
    runs = Runs.of(p.values, p.y, p.ids)
    table = tabulate(
        replace(runs, classes=tuple(names)[: p.values.shape[2]]) if classes else runs, fragility, margin, rows
    )
    if erm is not None:
        table.insert(3, "churn_erm" if classes else "mean_difference_erm", example_churn(erm)[rows])
    return Flips(cell, p, table)


def to_csv(flips: Flips, smiles: Mapping[str, str]) -> str:
    """Return the table with the known SMILES; a text that a spreadsheet would read as a formula is quoted."""
    key = flips.cell.key
    made = {"sampling": key.sampling, "date": date.today().isoformat(), "version": __version__}
    table = flips.table.assign(method=flips.cell.title, **made)
    table.insert(2, "smiles", [literal(smiles.get(i, "")) for i in table["example_id"]])
    table["example_id"] = table["example_id"].map(literal)
    return str(table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


@dataclass(frozen=True)
class Own:
    """What a user's dataset shows: a table of methods, sentences, and the flips of the recommended method, if any."""

    table: Table
    sentences: Sequence[str]
    flips: Flips | None


def answer(results: Results, names: Sequence[str]) -> None:
    """Print what each of the datasets ``names`` shows, under the sampling that decisions go by."""
    for dataset in of_names(results, names):
        found = own(dataset)
        reports.terminal([found.table], found.sentences)
        if found.flips is None:
            continue
        if len(found.flips.table):
            table, smiles = place(found.flips.cell, "flips.csv"), of_tests(dataset)
            save(table, to_csv(found.flips, smiles).encode())
            typer.echo(f"With {found.flips.cell.title}, these test examples change most:")
            for row in found.flips.table.head(FRONT).to_dict("records"):
                often = (
                    f"{100 * row['churn']:.0f} % of pairs" if "churn" in row else f"{row['mean_difference']:.3g} apart"
                )
                typer.echo(f"  {often}  {smiles.get(row['example_id'], row['example_id'])}")
            typer.echo(f"The {len(found.flips.table)} of {len(found.flips.predictions.ids)} that change: {table}")
        typer.echo(f"All rows, and a report for colleagues: churn report {dataset.name}")
        typer.echo(f"New molecules: churn predict new.csv --dataset {dataset.name}")


def of_names(results: Results, names: Sequence[str]) -> list[Dataset]:
    """Return the datasets with these names, each under the sampling that decisions go by."""
    return [dataset for part in results.leading() for dataset in part.datasets if dataset.name in names]


def own(dataset: Dataset) -> Own:
    """Compare the methods on a dataset, and recommend the one with the least matched churn of those that keep accuracy.

    Intervals are over retrainings and test examples, as a decision is about new molecules too. Where the test set or
    the retrainings are too few, or no method is much better than chance, nothing is recommended, and a sentence says
    why.
    """
    whole = board(dataset, "id", "both")
    task = dataset.task
    order, alone = ORDER[task], [m for m in (find("balanced_accuracy", task),) if m]
    columns = [absolute(order), versus(order), *map(absolute, (churn(task), QUALITY[task])), versus(KEPT[task])]
    rows: list[tuple[str | Value, ...]] = [
        (
            " ".join([row.title, *row.marks]),
            *[column.show(row.estimates.get(column.key)) for column in columns],
            # its interval would be over retrainings alone, which the others are not
            *[Value.of((e := row.estimates.get(m.key)) and e.value, 100) for m in alone],
        )
        for row in whole.rows
    ]
    caption = f"ID test; Δ is the paired difference from ERM on the same samples. {described('both', dataset.sampling)}"
    header = ("Method", *(column.title for column in columns), *(m.title for m in alone))
    table = Table(dataset.name, dataset.title, caption, header, tuple(rows), kind="both")
    marks = [text for sign, text in MARKS.items() if any(sign in row.marks for row in whole.rows)]
    if missing := lacking(dataset):
        return Own(table, [*marks, f"Cannot decide yet: {missing}."], None)
    reference = next(row for row in whole.rows if row.method == REFERENCE)
    good = {entry.title for entry in dataset.entries if ranked(entry) >= LEAST[task][1]}
    fit = [row for row in whole.rows if row.title in good and (row is reference or _fits(dataset, row, reference))]
    known = {row.title: e.value for row in fit if (e := row.estimates[order.key]) and not np.isnan(e.value)}
    if not known:
        why = f"their {order.name} is undefined" if fit else f"there are no methods {_limits(dataset)}"
        return Own(table, [*marks, f"Cannot decide yet: {why}."], None)
    chosen = min((row for row in fit if row.title in known), key=lambda row: known[row.title])
    entry = next(e for e in dataset.entries if e.title == chosen.title)
    split = min(entry.cells)
    cell, erm = entry.cells[split], dataset.reference.cells.get(split) if dataset.reference else None
    beside = erm.predictions["id"] if erm is not None and erm is not cell else None
    found = flips(cell, cell.predictions["id"], class_names(dataset), beside)
    return Own(table, [*marks, _advice(dataset, chosen)], found)


def class_names(dataset: Dataset) -> tuple[str, ...]:
    """Return the classes in the user's words; numbers where the dataset's TOML is not here."""
    spec = known_spec(dataset.name)
    return tuple(map(str, range(64))) if spec is None else spec.class_names


def lacking(dataset: Dataset) -> str:
    """Return what a decision lacks, with what it would take; empty if nothing."""
    cells = dataset.cells
    p, retrainings = cells[0].predictions["id"], min(len(cell.key.seeds) for cell in cells)
    names = class_names(dataset)[: p.values.shape[-1]] if p.task == "classification" else ()
    few = deciding.lacking(p.y, names, sum(cells[0].facts.rows.values()), retrainings, dataset.sampling)
    alone = dataset.reference is None or len(dataset.entries) < 2
    if few or alone:
        return "; ".join(filter(None, [few, "train ERM and another method, as in --method erm,svm" if alone else ""]))
    measure, least = LEAST[dataset.task]
    most, best = max((ranked(entry), entry.title) for entry in dataset.entries)
    if most < least:
        return (
            f"no method predicts the ID test much better than chance: the highest {measure.name} is {most:.2f} "
            f"({best}), and a decision needs {least:.2f}; churn health {dataset.name} shows what may be wrong with the "
            "rows"
        )
    return ""


def ranked(entry: Entry) -> float:
    """Return how well a method ranks the ID test, by the measure of ``LEAST``; of several classes, their mean."""
    tests = [p for test in entry.tests for p in _by_class(test)]
    means = [LEAST[p.task][0].mean(p) for p in tests]
    return float(np.nan_to_num(np.mean(means)))


def _by_class(p: Predictions) -> list[Predictions]:
    """Return predictions of more than two classes as those of each class in the test against the others."""
    if p.values.shape[2] <= 2:
        return [p]
    of_classes = [((p.y == c).astype(int), p.values[..., c]) for c in np.unique(p.y)]
    return [replace(p, y=y, values=np.stack([1 - v, v], axis=2), class_shares=()) for y, v in of_classes]


def _limits(dataset: Dataset) -> str:
    (measure, least), classes = LEAST[dataset.task], dataset.task == "classification"
    unit = "point of matched accuracy" if classes else "% of ERM's MAE"
    return (
        f"that have {'an' if classes else 'a'} {measure.name} of {least:.2f} or more, lose at most {LOSS:g} {unit} and "
        f"take at most {COST:g} times ERM's compute"
    )


def _fits(dataset: Dataset, row: BoardRow, reference: BoardRow) -> bool:
    """Tell whether a method has no marks but those of ERM, loses at most ``LOSS`` and costs at most ``COST``."""
    quality, cost = KEPT[dataset.task].key, row.estimates.get("compute")
    change, usual = row.estimates.get(f"delta_{quality}"), reference.estimates.get(quality)
    cheap = cost is None or cost.value <= COST
    if {*row.marks} - {*reference.marks} or not cheap or change is None or usual is None:
        return False
    gain = change.value if dataset.task == "classification" else -change.divided(usual.value).value
    return 100 * gain >= -LOSS


def _advice(dataset: Dataset, row: BoardRow) -> str:
    order = ORDER[dataset.task]
    sentence = f"Use {row.title}: it has the least {order.name} of the methods {_limits(dataset)}."
    if row.method == REFERENCE:
        return sentence
    change = row.estimates.get(f"delta_{order.key}")
    not_ = "" if change is not None and change.high < 0 else "do not "
    cost = row.estimates.get("compute")
    price = f" It takes {spelled(cost.value)} times ERM's compute." if cost else ""
    return f"{sentence} These results {not_}show that its {order.name} is lower than ERM's.{price}"


def place(cell: Cell, end: str) -> Path:
    """Return the path of a report on ``cell``, whose name says which method and sampling it is of."""
    return folder() / f"{cell.key.dataset}-{slug(cell.title)}-{cell.key.sampling}-{end}"


def folder() -> Path:
    """Return the folder ``reports/`` of the user's home, which exists then."""
    path = home() / "reports"
    path.mkdir(parents=True, exist_ok=True)
    return path
