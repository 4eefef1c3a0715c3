"""A report on a user's own data in one file: the decision, the methods, the rows that flip, and what was left out."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path

from benchmark.data.checks.health import examine
from benchmark.data.checks.health_text import of_table
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.files import save
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


def write(results: Results, dataset: Dataset, method: str, jobs: int | None, step: Callable[[int], object]) -> Path:
    """Write the report on ``dataset`` to ``reports/`` of the user's home, and the rows that flip as CSV beside it.

    Every row is predicted by cross-fitting with the recommended method, or the recorded one that ``method`` names;
    ``step`` is called after each model with the number of all. Where nothing can be decided and no method is named, the
    report has no rows. Returns the path of the report.
    """
    own = my_data.own(dataset)
    names = my_data.class_names(dataset)
    values = {"own": own, "title": dataset.title, "flips": None, "classes": (), "beside": "", "examples": ()}
    cell = dataset.cells[0]
    if method or own.flips:
        plan = predict.planned(cell := predict.recorded(results, dataset.name, method))
        total = predict.FOLDS * len(cell.key.seeds)
        flips = my_data.flips(cell, predict.cross_fitted(plan, jobs, lambda: step(total)), names)
        if flips is not None:
            found = molecules(dataset)
            smiles = dict(zip(found.ids.tolist(), found.smiles.tolist(), strict=True)) if found else {}
            drawn = {}
            for i in flips.shown:
                with suppress(KeyError, UserError):  # not every row has a structure that can be drawn
                    drawn[i] = depicted.draw(smiles[i], 220, 150)
            beside = my_data.place(cell, "all-rows.csv")
            save(beside, my_data.to_csv(flips, smiles).encode())
            values |= my_data.listed(flips, names, drawn) | {"beside": beside.name}
    titles = [entry.title for entry in dataset.entries]
    reference = next((entry.title for entry in dataset.entries if entry.method == REFERENCE), titles[0])
    figure = draw(Drawing(pareto, (board(dataset, "id", "both"), "", styles(titles, reference), reference)))
    health = of_table(examine(load_spec(dataset.name), cell.key.canonical_seed))
    page = my_data.place(cell, "report.html")
    more = {"figure": figure, "health": health, "date": date.today().isoformat(), "to_html": to_html}
    save(page, render("report.html", **{"colours": CLASSES, **values, **more}).encode())
    return page
