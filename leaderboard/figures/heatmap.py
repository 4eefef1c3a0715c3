"""Heat map of retrainings: the test examples on which ERM and the calmest method differ most, one per column."""

import numpy as np

from benchmark.lab.text import percent
from leaderboard.figures.contrast import Contrast, cells, colour_key
from leaderboard.figures.figure import Figure
from leaderboard.figures.style import PAGE, axes, finish, sheet

SHOWN = 80
"""Maximum number of test examples in the figure (paper, figure overview)."""
ROW, TALLEST = 0.085, 1.7
"""Height of one retraining, and maximum height of all of them, in inches."""


def heat_map(pair: Contrast) -> Figure:
    """Draw the predicted class of each example (columns) in each retraining (rows), ERM above the other method."""
    erm, other = pair.erm_flips, pair.other_flips
    order = np.lexsort((pair.ids, -np.abs(erm - other)))[:SHOWN]
    # By true class, then by how often ERM predicts class 1; the same order in both panels.
    order = order[np.lexsort((pair.ids[order], pair.erm[:, order].mean(axis=0), pair.y[order]))]
    runs, n = len(pair.erm), len(order)
    tall = min(ROW * runs, TALLEST)
    panels = [
        ("True class", pair.y[None, order], 0.1),
        (f"ERM: {runs} retrainings, churn {percent(erm.mean(), 1)} on all {len(erm):,}", pair.erm[:, order], tall),
        (f"{pair.method}: churn {percent(other.mean(), 1)}", pair.other[:, order], tall),
    ]
    title, bottom = 0.19, 0.2
    height = sum(size + title for *_, size in panels) + bottom
    on = sheet(PAGE, height)
    top = 0.0
    for name, classes, size in panels:
        ax = axes(on, 0.02, 0.02, top + title, height - top - title - size)
        cells(ax, classes)
        ax.set(xlim=(0, n), ylim=(len(classes), 0))
        ax.set_axis_off()
        ax.set_title(name, loc="left", pad=3, fontsize=7.5)
        top += title + size
    on.text(0.02 / PAGE, 0.05 / height, f"{n} test examples, one per column, in the same order in both panels")
    colour_key(on, np.concatenate([classes.ravel() for _, classes, _ in panels]))
    most = f"The {n} test examples whose share of flips differs most between"
    return finish(
        on,
        key=f"heatmap-{pair.dataset}",
        title=f"Predicted class in each retraining, {pair.title}",
        caption=f"{'All test examples with' if n == len(erm) else most} ERM and {pair.method}, the unmarked method "
        f"with the lowest churn on this dataset. A column of one colour never flips. Canonical split {pair.split}.",
        alt=f"Heat map of {n} test examples by {runs} retrainings. Over all {len(erm)} test examples two retrainings "
        f"disagree on {percent(erm.mean(), 1)} with ERM and on {percent(other.mean(), 1)} with {pair.method}.",
        dataset=pair.dataset,
    )
