"""Charts of studies: numbers with intervals against a setting or against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from benchmark.measure.intervals import Estimate
from benchmark.study.report import Axis, Chart, Point
from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.parts import crossed, scaled
from leaderboard.figures.style import COLOURS, COLUMN, INK, MARKERS, Axes, axes, finish, logarithmic, sheet, ticks
from leaderboard.tables.studies import estimate

INTERVALS = "Bars: 95 % intervals."


@dataclass(frozen=True)
class Mark:
    """A point in the units of the axes."""

    x: Estimate
    y: Estimate
    label: str
    chosen: bool


def drawing(key: str, chart: Chart) -> Drawing:
    """Return the drawing of a chart, which holds only the numbers of its series and not the predictions behind them."""
    middle, width = (len(chart.series) - 1) / 2, 0.12 if chart.x.names else 0
    series = {
        name: [_mark(chart, point, width * (i - middle)) for point in points]
        for i, (name, points) in enumerate(chart.series.items())
    }
    return Drawing(draw, (key, replace(chart, series={}), series))


def _mark(chart: Chart, point: Point, shift: float) -> Mark:
    """Return the mark of a point, shifted so that those at a named tick do not overlap."""
    x = Estimate(point.x + shift, nan, nan) if isinstance(point.x, int | float) else estimate(point.x)
    return Mark(scaled(x, chart.x.scale), scaled(estimate(point.y), chart.y.scale), point.label, point.chosen)


def draw(key: str, chart: Chart, series: Mapping[str, Sequence[Mark]]) -> Figure:
    """Draw a chart one column wide, with the key of its ``series`` below because their names may be long."""
    below = 0.15 * len(series) + 0.06
    on = sheet(COLUMN, 2.3 + below)
    ax = axes(on, 0.5, 0.12, 0.26, 0.4 + below)
    points = []
    for i, (name, marks) in enumerate(series.items()):
        colour = INK if i == 0 else COLOURS[(i - 1) % len(COLOURS)]
        if chart.joined and not chart.x.names and len(marks) > 1:
            path = zip(*((mark.x.value, mark.y.value) for mark in marks), strict=True)
            ax.plot(*path, color=colour, linewidth=0.8, zorder=1)
        shape: dict[str, Any] = {"color": colour, "marker": MARKERS[i % len(MARKERS)]}
        for mark in marks:
            crossed(ax, mark.x, mark.y, colour)
            ax.plot([mark.x.value], [mark.y.value], markersize=7 if mark.chosen else 3.8, **shape)
        ax.plot([], [], label=name, linewidth=0, markersize=3.8, **shape)
        points += [f"{name} ({mark.x.value:.3g}, {mark.y.value:.3g})" for mark in marks]
    _scale(ax, chart.x, "x")
    _scale(ax, chart.y, "y")
    _labels(ax, series)
    ax.set_xlabel(chart.x.label)
    ax.set_title(chart.y.label, loc="left", fontsize=7.5, pad=4)
    ax.grid()
    on.legend(loc="lower left", borderaxespad=0.1, handletextpad=0, labelspacing=0.4, fontsize=7)
    more = " and further points" if len(points) > 12 else ""
    alt = f"{chart.y.label} against {chart.x.label}: {'; '.join(points[:12])}{more}."
    return finish(on, key=key, title=chart.title, caption=f"{chart.caption} {INTERVALS}", alt=alt)


def _labels(ax: Axes, series: Mapping[str, Sequence[Mark]]) -> None:
    """Write the labels of points, on the side with room for them."""
    ax.autoscale_view()
    for mark in (mark for marks in series.values() for mark in marks if mark.label):
        at = mark.x.value, mark.y.value
        right = ax.transAxes.inverted().transform(ax.transData.transform(at))[0] > 0.75
        side: dict[str, Any] = {"xytext": (-4, 4), "ha": "right"} if right else {"xytext": (4, 4), "ha": "left"}
        ax.annotate(mark.label, at, textcoords="offset points", fontsize=6, **side)


def _scale(ax: Axes, axis: Axis, which: Any) -> None:
    drawn = ax.xaxis if which == "x" else ax.yaxis
    if axis.names:
        drawn.set_ticks(range(len(axis.names)), axis.names)
        ax.set(**{f"{which}lim": (-0.5, len(axis.names) - 0.5)})
    elif axis.log:
        ax.set(**{f"{which}scale": "log"})
        low, high = drawn.get_view_interval()
        logarithmic(drawn, (1, 2, 5) if high < 100 * low else (1,), "{x:g}")
    else:
        ticks(ax, axis=which)
