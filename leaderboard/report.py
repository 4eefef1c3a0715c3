"""A report on a user's own data in one file: the decision, the methods, the rows that flip, and what was left out."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import typer
from markupsafe import Markup

from benchmark.data.checks.health import examine
from benchmark.data.checks.health_text import of_table
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.files import save
from benchmark.measure.basics import predicted_class
from benchmark.types import REFERENCE
from leaderboard import my_data, predict
from leaderboard.figures import molecules as depicted
from leaderboard.figures.build import draw
from leaderboard.figures.contrast import CLASSES
from leaderboard.figures.figure import Drawing
from leaderboard.figures.pareto import pareto
from leaderboard.figures.style import styles
from leaderboard.read.results import Dataset, Results
from leaderboard.read.structures import molecules
from leaderboard.tables.boards import board
from leaderboard.write.formats import to_html
from leaderboard.write.templates import render

SHOWN = 30
"""Number of examples on the page; the CSV has all that flip."""


def write(results: Results, dataset: Dataset, method: str, jobs: int | None, step: Callable[[int], object]) -> Path:
    """Write the report on ``dataset`` to ``reports/`` of the user's home, and the rows that flip as CSV beside it.

    Every row is predicted by cross-fitting with the recommended method, or the recorded one that ``method`` names;
    ``step`` is called after each model with the number of all. Where nothing can be decided and no method is named, the
    report has no rows, and a line says so. Returns the path of the report.
    """
    own, cell = my_data.own(dataset), dataset.cells[0]
    page = my_data.folder() / f"{dataset.name}-{dataset.sampling}-report.html"
    values = {"own": own, "title": dataset.title, "colours": CLASSES, "date": date.today().isoformat(), "flips": None}
    if method or own.flips:
        plan = predict.planned(cell := predict.recorded(results, dataset.name, method))
        total = predict.FOLDS * len(cell.key.seeds)
        names, page = my_data.class_names(dataset), my_data.place(cell, "report.html")
        flips = my_data.flips(cell, predict.cross_fitted(plan, jobs, lambda: step(total)), names)
        if flips is not None:
            found = molecules(dataset)
            smiles = dict(zip(found.ids.tolist(), found.smiles.tolist(), strict=True)) if found else {}
            beside = my_data.place(cell, "all-rows.csv")
            save(beside, my_data.to_csv(flips, smiles).encode())
            values |= _listed(flips, names, smiles) | {"beside": beside.name}
    else:
        known = ", ".join(sorted(entry.spelled for entry in dataset.entries))
        typer.echo(f"{own.sentences[-1]} So the report lists no rows; --method lists those of one: {known}", err=True)
    titles = [entry.title for entry in dataset.entries]
    reference = next((entry.title for entry in dataset.entries if entry.method == REFERENCE), titles[0])
    figure = draw(Drawing(pareto, (board(dataset, "id", "both"), "", styles(titles, reference), reference)))
    health = of_table(examine(load_spec(dataset.name), cell.key.canonical_seed))
    save(page, render("report.html", **values, figure=figure, health=health, to_html=to_html).encode())
    return page


def _listed(flips: my_data.Flips, names: Sequence[str], smiles: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page needs of the examples: drawings, and the predicted classes or values of all retrainings."""
    p = flips.predictions
    classes = names[: min(p.values.shape[2], len(CLASSES))] if p.task == "classification" else ()
    place = {i: t for t, i in enumerate(p.ids.tolist())}
    examples = flips.table[:SHOWN].to_dict("records")
    for row in examples:
        row["drawing"] = ""
        with suppress(KeyError, UserError):  # not every row has a structure that can be drawn
            row["drawing"] = Markup(depicted.draw(smiles[row["example_id"]], 220, 150))
        values = p.values[:, [place[row["example_id"]]]]
        if classes:
            row["strip"] = np.minimum(predicted_class(values)[:, 0], len(CLASSES) - 1).tolist()
        else:
            row["strip"] = ", ".join(f"{x:.3g}" for x in sorted(values.ravel().tolist()))
    return {"flips": flips, "examples": examples, "classes": classes}
