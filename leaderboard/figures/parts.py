"""Parts shared by several figures: values with intervals, legends, axis limits and label positions."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import Any

import numpy as np

from benchmark.measure.intervals import Estimate
from leaderboard.figures.style import MOST, Axes, Line2D, Style
from leaderboard.tables.boards import Board, BoardRow
from leaderboard.tables.summary import SummaryRow

HOLLOW = (
    "Hollow: a mark, such as † or †? for accuracy measured more than 5 pp below ERM's, or for MAE more than 5 % above "
    "it."
)
INTERVALS = "Bars: 95 % jackknife intervals over retrainings."


def scaled(estimate: Estimate, by: float) -> Estimate:
    return Estimate(estimate.value * by, estimate.low * by, estimate.high * by)


def estimate_of(row: BoardRow | SummaryRow, key: str, scale: float = 1) -> Estimate | None:
    """Return the estimate called ``key`` in units of 1/``scale``, or None if there is no number to draw."""
    estimate = row.estimates.get(key)
    return None if estimate is None or np.isnan(estimate.value) else scaled(estimate, scale)


def calmest(methods: Sequence[str], boards: Sequence[Board], most: int = MOST - 1) -> tuple[list[str], str]:
    """Select ``most`` of the ``methods`` (without the reference) to draw, with a note for the figure's caption.

    Returns those with the lowest mean rank by churn on these boards, in the given order; methods without churn on a
    board rank last there.
    """
    if len(methods) <= most:
        return list(methods), ""
    places = dict.fromkeys(methods, 0)
    for board in boards:
        order = [row.title for row in board.rows if row.title in places and estimate_of(row, "churn")]
        for method in methods:
            places[method] += order.index(method) if method in order else len(methods)
    best = sorted(methods, key=lambda method: places[method])[:most]
    note = f" Shows, of {len(methods)} methods beside ERM, the {most} that churn least on these data."
    return [method for method in methods if method in best], note


def crossed(ax: Axes, x: Estimate, y: Estimate | float, colour: str) -> None:
    """Draw the intervals of a point."""
    thin: dict[str, Any] = {"color": colour, "linewidth": 0.9, "solid_capstyle": "butt"}
    height = y.value if isinstance(y, Estimate) else y
    ax.plot([x.low, x.high], [height, height], **thin)
    if isinstance(y, Estimate):
        ax.plot([x.value, x.value], [y.low, y.high], **thin)


def whiskers(ax: Axes, x: Estimate, y: Estimate | float, style: Style, *, hollow: bool) -> None:
    """Draw a marker with the available intervals."""
    crossed(ax, x, y, style.colour)
    height = y.value if isinstance(y, Estimate) else y
    ax.plot([x.value], [height], linestyle="none", **look_of(style, hollow=hollow))


def look_of(style: Style, *, hollow: bool) -> dict[str, Any]:
    return {
        "color": style.colour,
        "marker": style.marker,
        "markersize": 3.8,
        "markerfacecolor": "none" if hollow else style.colour,
        "markeredgewidth": 0.8,
    }


def handles(
    methods: Iterable[str], styles: Mapping[str, Style], hollow: Collection[str] = (), letters: int = 100
) -> list[Line2D]:
    """Return the legend handles of ``methods``, whose names go on in another line after so many ``letters``."""
    from matplotlib.lines import Line2D

    label = partial(fill, width=letters)
    return [Line2D([], [], label=label(m), linewidth=0, **look_of(styles[m], hollow=m in hollow)) for m in methods]


def limits(estimates: Sequence[Estimate], *, zero: bool = False) -> tuple[float, float]:
    """Return axis limits that hold all values, and intervals unless they are far wider than the values."""
    values = np.array([e.value for e in estimates] + [0.0] * zero)
    span = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    low = np.nanmin([*(e.low for e in estimates), values.min()])
    high = np.nanmax([*(e.high for e in estimates), values.max()])
    low, high = max(low, values.min() - span), min(high, values.max() + span)
    room = 0.04 * max(high - low, span)
    return float(low - room), float(high + room)


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Place labels in order, as near to ``wanted`` (least squares) as a ``gap`` between neighbours allows.

    >>> spread([0.0, 0.2, 5.0], gap=1.0)
    [-0.4, 0.6, 5.0]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(wanted, kind="stable")
    offsets = gap * np.arange(len(order))
    places = np.empty(len(order))
    places[order] = isotonic_regression(np.array(wanted)[order] - offsets).x + offsets
    return [float(place) for place in places]
