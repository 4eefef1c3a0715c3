"""ERM beside the method with the lowest churn, retraining by retraining: what heat map and case study draw."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.measure.basics import predicted_class
from benchmark.measure.catalogue import example_flips
from leaderboard.figures.parts import known
from leaderboard.read.results import Dataset
from leaderboard.tables.boards import Board
from leaderboard.tables.columns import common

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

SPLIT = 99
"""The canonical split that is shown, as in the paper, or else the first that both methods have."""
CLASSES = ("#9fc5de", "#d55e00", "#1aa75f", "#8f5368", "#d17f06", "#7f7f7f")
"""By predicted class; classes beyond these share the last."""


@dataclass(frozen=True)
class Contrast:
    """ERM and another ``method`` on the ID test of one split of a dataset.

    Both have predicted classes (R, T) at the same train seeds, and the share of pairs of retrainings in which each
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
    """ERM and the unmarked method with the lowest churn; None where a classification lacks either, or has one run."""
    rows = [row for row in board.rows if known(row, "delta_churn") and known(row, "churn") and not row.marks]
    if dataset.task != "classification" or dataset.reference is None or not rows:
        return None
    row = min(rows, key=lambda row: (row.estimates["churn"].value, row.title))  # type: ignore[union-attr]
    entry = dataset.entry(row.title)
    shared = sorted(set(entry.cells) & set(dataset.reference.cells)) if entry else []
    if entry is None or not shared:
        return None
    split = SPLIT if SPLIT in shared else shared[0]
    erm, other = dataset.reference.cells[split], entry.cells[split]
    ours, theirs = (common(a, b).predictions["id"] for a, b in ((erm, other), (other, erm)))
    if len(ours.seeds) < 2:
        return None
    return Contrast(
        dataset.name,
        dataset.title,
        entry.title,
        split,
        ours.ids,
        ours.y,
        predicted_class(ours.values),
        predicted_class(theirs.values),
        example_flips(ours),
        example_flips(theirs),
    )


def cells(ax: Axes, classes: np.ndarray, *, down: float = 0, gap: float = 0.14) -> None:
    """Predicted classes (rows, columns) as coloured cells from ``down`` on, one path a class to keep the file small.

    Equal neighbours in a column are one rectangle; ``gap`` is the share of a column that stays empty.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners: dict[int, list[tuple[float, float]]] = {}
    for i, column in enumerate(classes.T):
        starts = [0, *(np.flatnonzero(np.diff(column)) + 1), len(column)]
        for top, bottom in pairwise(starts):
            x0, x1, y0, y1 = i + gap / 2, i + 1 - gap / 2, down + top, down + bottom
            box = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
            corners.setdefault(int(column[top]), []).extend(box)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    for c, points in sorted(corners.items()):
        path = Path(points, codes * (len(points) // 5))
        ax.add_patch(PathPatch(path, facecolor=CLASSES[min(c, len(CLASSES) - 1)], linewidth=0))


def key(classes: np.ndarray) -> list[Line2D]:
    """The colours of ``classes``, for a legend."""
    from matplotlib.lines import Line2D

    found = [min(int(c), len(CLASSES) - 1) for c in np.unique(classes)]
    square: dict[str, Any] = {"marker": "s", "markersize": 5, "markeredgewidth": 0, "linewidth": 0}
    return [Line2D([], [], color=CLASSES[c], label=f"class {c}", **square) for c in dict.fromkeys(found)]
