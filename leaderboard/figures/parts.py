"""What several figures draw: a value with its interval, the key of methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leaderboard.figures.style import MOST, Style
from leaderboard.stats.intervals import Estimate
from leaderboard.tables.boards import Board, BoardRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

HOLLOW = "Hollow: accuracy more than 5 pp below ERM's (†), or collapsed to one class."
INTERVALS = "Bars: 95 % jackknife intervals over retrainings."


def row_of(board: Board, method: str) -> BoardRow | None:
    return next((row for row in board.rows if row.title == method), None)


def known(row: BoardRow | None, key: str) -> Estimate | None:
    """The estimate called ``key``, None where there is no number to draw."""
    estimate = row.estimates.get(key) if row else None
    return None if estimate is None or np.isnan(estimate.value) else estimate


def calmest(methods: Sequence[str], boards: Sequence[Board]) -> tuple[list[str], str]:
    """Which of ``methods``, all but the reference, a figure of ``boards`` tells apart, and what its caption says of it.

    Those with the lowest mean rank by churn on these boards, in the order given; without churn there a method is last.
    """
    most = MOST - 1
    if len(methods) <= most:
        return list(methods), ""
    places = dict.fromkeys(methods, 0)
    for board in boards:
        order = [row.title for row in board.rows if row.title in places and known(row, "churn")]
        for method in methods:
            places[method] += order.index(method) if method in order else len(methods)
    best = sorted(methods, key=lambda method: places[method])[:most]
    words = f" Besides ERM, the {most} of {len(methods)} methods with the lowest mean rank by churn on what is shown."
    return [method for method in methods if method in best], words


def whiskers(ax: Axes, x: Estimate, y: Estimate | float, style: Style, *, hollow: bool, scale: float = 1) -> None:
    """A marker at ``x``, ``y`` in units of 1/``scale``, with the intervals that are known."""
    height = y.value * scale if isinstance(y, Estimate) else y
    thin: dict[str, Any] = {"color": style.colour, "linewidth": 0.9, "solid_capstyle": "butt"}
    ax.plot([x.low * scale, x.high * scale], [height, height], **thin)
    if isinstance(y, Estimate):
        ax.plot([x.value * scale] * 2, [y.low * scale, y.high * scale], **thin)
    ax.plot([x.value * scale], [height], linestyle="none", **look_of(style, hollow=hollow))


def look_of(style: Style, *, hollow: bool, size: float = 3.8) -> dict[str, Any]:
    """The marker of a method, as keywords of a line."""
    return {
        "color": style.colour,
        "marker": style.marker,
        "markersize": size,
        "markerfacecolor": "none" if hollow else style.colour,
        "markeredgewidth": 0.8,
    }


def handles(methods: Iterable[str], styles: Mapping[str, Style], hollow: Iterable[str] = ()) -> list[Line2D]:
    """The key of ``methods``, for a legend."""
    from matplotlib.lines import Line2D

    few = set(hollow)
    return [Line2D([], [], label=m, linewidth=0, **look_of(styles[m], hollow=m in few)) for m in methods]


def limits(estimates: Sequence[Estimate], scale: float = 1, *, zero: bool = False) -> tuple[float, float]:
    """Where an axis ends: all values with room to spare, and intervals unless they are far wider than the values."""
    values = np.array([e.value for e in estimates] + [0.0] * zero) * scale
    span = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    low = np.nanmin([*(e.low * scale for e in estimates), values.min()])
    high = np.nanmax([*(e.high * scale for e in estimates), values.max()])
    low, high = max(low, values.min() - span), min(high, values.max() + span)
    room = 0.04 * max(high - low, span)
    return float(low - room), float(high + room)


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions of labels, as near to ``wanted`` as a distance of ``gap`` between neighbours allows, in equal order.

    >>> spread([0.0, 0.2, 5.0], gap=1.0)
    [-0.4, 0.6, 5.0]
    """
    blocks: list[list[float]] = []  # sum of what its labels want for the first of them, and their number
    order = np.argsort(wanted, kind="stable")
    for i in order:
        blocks.append([wanted[i], 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] + gap * blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total - gap * blocks[-1][1] * count
            blocks[-1][1] += count
    placed = [total / count + gap * j for total, count in blocks for j in range(int(count))]
    found = np.empty(len(order))
    found[order] = placed
    return [float(x) for x in found]
