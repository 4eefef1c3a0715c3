"""The molecules that flip between the retrainings of one cell, most fragile first: as CSV and as a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd
from markupsafe import Markup

from benchmark.measure.basics import predicted_class
from benchmark.store.cell import Cell
from benchmark.types import Predictions
from leaderboard.figures.contrast import CLASSES
from leaderboard.scoring.review import tabulate
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import margin_of, rank
from leaderboard.site.explorer import example_churn
from leaderboard.write.formats import literal
from leaderboard.write.templates import render

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
