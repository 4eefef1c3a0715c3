"""Retraining heat map: the test examples on which ERM and the calmest method differ most, one column each."""

from __future__ import annotations

import numpy as np

from benchmark.lab.study import percent
from leaderboard.figures.contrast import Contrast, cells, key
from leaderboard.figures.figure import Figure
from leaderboard.figures.style import PAGE, axes, finish, sheet

SHOWN = 80
"""Test examples in the figure (paper, figure overview)."""
ROW, TALLEST = 0.085, 1.7
"""Inches of one retraining, and of all of them at most."""


def heat_map(shown: Contrast) -> Figure:
    """Predicted class of each example (columns) in each retraining (rows), ERM above the other method."""
    erm, other = shown.erm_flips, shown.other_flips
    order = np.lexsort((shown.ids, -np.abs(erm - other)))[:SHOWN]
    # Within a true class by how often ERM says class 1, the same order in both panels.
    order = order[np.lexsort((shown.ids[order], shown.erm[:, order].mean(axis=0), shown.y[order]))]
    runs, n = len(shown.erm), len(order)
    tall = min(ROW * runs, TALLEST)
    panels = [
        ("True class", shown.y[None, order], 0.1),
        (f"ERM: {runs} retrainings, churn {percent(erm.mean(), 1)} on all {len(erm):,}", shown.erm[:, order], tall),
        (f"{shown.method}: churn {percent(other.mean(), 1)}", shown.other[:, order], tall),
    ]
    title, bottom = 0.19, 0.2
    height = sum(size + title for *_, size in panels) + bottom
    on = sheet(PAGE, height)
    top = 0.0
    for name, classes, size in panels:
        ax = axes(on, 0.02, 0.02, top + title, height - top - title - size)
        cells(ax, classes)
        ax.set_xlim(0, n)
        ax.set_ylim(len(classes), 0)
        ax.set_axis_off()
        ax.set_title(name, loc="left", pad=3, fontsize=7.5)
        top += title + size
    on.text(0.02 / PAGE, 0.05 / height, f"{n} test examples, one a column, in the same order in both panels")
    on.legend(
        handles=key(np.concatenate([classes.ravel() for _, classes, _ in panels])),
        loc="upper right",
        ncols=6,
        borderaxespad=0,
        borderpad=0.1,
        handletextpad=0,
    )
    return finish(
        on,
        key=f"heatmap-{shown.dataset}",
        title=f"Predicted class in each retraining, {shown.title}",
        caption=f"{_which(n, len(erm))} ERM and {shown.method}, the unmarked method with the lowest churn here. "
        f"A column of one colour never flips. Canonical split {shown.split}.",
        alt=f"Heat map of {n} test examples by {runs} retrainings. Over all {len(erm)} test examples two retrainings "
        f"disagree on {percent(erm.mean(), 1)} with ERM and on {percent(other.mean(), 1)} with {shown.method}.",
        dataset=shown.dataset,
    )


def _which(n: int, of: int) -> str:
    return "All test examples with" if n == of else f"The {n} test examples whose share of flips differs most between"
