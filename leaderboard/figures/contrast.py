"""ERM beside the method with the lowest churn, retraining by retraining: heat maps, and parts of case studies."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmark.measure.basics import predicted_class
from benchmark.measure.catalogue import example_churn
from benchmark.study.text import percent
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import estimate_of
from leaderboard.figures.style import PAGE, Axes, Sheet, axes, finish, sheet
from leaderboard.read.results import Dataset, papers_or_first
from leaderboard.tables.boards import Board
from leaderboard.tables.columns import common

CLASSES = ("#9fc5de", "#d55e00", "#1aa75f", "#8f5368", "#d17f06", "#7f7f7f")
"""Colours by predicted class; further classes share the last."""
SHOWN = 80
"""Maximum number of test examples in the figure (paper, figure overview)."""
ROW, TALLEST = 0.085, 1.7
"""Height of one retraining, and maximum height of all of them, in inches."""
GAP = 0.14


@dataclass(frozen=True)
class Contrast:
    """ERM and another ``method`` on the ID test of one split of a dataset.

    For each: predicted classes (R, T) at the shared train seeds, and the share of pairs of retrainings in which each
    example flips (T,).
    """

    dataset: str
    title: str
    method: str
    split: int
    ids: np.ndarray
    y: np.ndarray
    erm: np.ndarray
    other: np.ndarray
    erm_flips: np.ndarray
    other_flips: np.ndarray


def contrast(dataset: Dataset, board: Board) -> Contrast | None:
    """Return ERM and the unmarked method with the lowest churn; None unless a classification has both, twice run."""
    rows = [
        row for row in board.rows if estimate_of(row, "delta_churn") and estimate_of(row, "churn") and not row.marks
    ]
    if dataset.task != "classification" or dataset.reference is None or not rows:
        return None
    row = min(rows, key=lambda row: (row.estimates["churn"].value, row.title))  # type: ignore[union-attr]
    entry = next(entry for entry in dataset.entries if entry.title == row.title)
    split = papers_or_first(entry.cells.keys() & dataset.reference.cells.keys())  # a difference has one
    both = common(dataset.reference.cells[split], entry.cells[split])
    ids, y = both[0].ids, both[0].y
    if len(both[0].seeds) < 2:
        return None
    classes, flips = [predicted_class(p.values) for p in both], [example_churn(p) for p in both]
    return Contrast(dataset.name, dataset.title, entry.title, split, ids, y, *classes, *flips)


def cells(ax: Axes, classes: np.ndarray, *, down: float = 0) -> None:
    """Draw predicted classes (rows, columns) as coloured cells from ``down`` on, one path per class for small files.

    Equal neighbours in a column form one rectangle, and ``GAP`` of a column is left empty.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners: dict[int, list[tuple[float, float]]] = {}
    for i, column in enumerate(classes.T):
        starts = [0, *(np.flatnonzero(np.diff(column)) + 1), len(column)]
        for top, bottom in pairwise(starts):
            x0, x1, y0, y1 = i + GAP / 2, i + 1 - GAP / 2, down + top, down + bottom
            box = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
            corners.setdefault(int(column[top]), []).extend(box)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    for c, points in sorted(corners.items()):
        path = Path(points, codes * (len(points) // 5))
        ax.add_artist(PathPatch(path, facecolor=CLASSES[min(c, len(CLASSES) - 1)], linewidth=0))


def colour_key(on: Sheet, classes: np.ndarray) -> None:
    """Draw the legend of the colours of ``classes`` at the top right of a figure."""
    from matplotlib.lines import Line2D

    square: dict[str, Any] = {"marker": "s", "markersize": 5, "markeredgewidth": 0, "linewidth": 0}
    colours = np.unique(np.minimum(classes, len(CLASSES) - 1))
    squares = [Line2D([], [], color=CLASSES[c], label=f"class {c}", **square) for c in colours]
    on.legend(handles=squares, loc="upper right", ncols=6, borderaxespad=0, borderpad=0.1, handletextpad=0)


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
