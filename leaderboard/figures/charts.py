"""Charts of studies: numbers with intervals against a setting or against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from benchmark.measure.intervals import Estimate
from benchmark.study.report import Axis, Chart, Point
from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.style import COLOURS, COLUMN, INK, MARKERS, Axes, axes, finish, sheet, ticks
from leaderboard.tables.studies import estimate

INTERVALS = "Bars: 95 % intervals."


@dataclass(frozen=True)
class Mark:
    x: Estimate
    y: Estimate
    label: str
    chosen: bool


def drawing(key: str, chart: Chart) -> Drawing:
    """Return the drawing of a chart, which holds only the numbers of its series and not the predictions behind them."""
    middle, width = (len(chart.series) - 1) / 2, 0.12 if chart.x.names else 0
    series = {
        name: [_mark(point, width * (i - middle)) for point in points]
        for i, (name, points) in enumerate(chart.series.items())
    }
    return Drawing(draw, (key, replace(chart, series={}), series))


def _mark(point: Point, shift: float) -> Mark:
    """Return the mark of a point, shifted so that those at a named tick do not overlap."""
    x = Estimate(point.x + shift, nan, nan) if isinstance(point.x, int | float) else estimate(point.x)
    return Mark(x, estimate(point.y), point.label, point.chosen)


def draw(key: str, chart: Chart, series: Mapping[str, Sequence[Mark]]) -> Figure:
    """Draw a chart one column wide, with the key of its ``series`` below because their names may be long."""
    below = 0.15 * len(series) + 0.06
    on = sheet(COLUMN, 2.3 + below)
    ax = axes(on, 0.5, 0.12, 0.26, 0.4 + below)
    points = []
    for i, (name, marks) in enumerate(series.items()):
        colour = INK if i == 0 else COLOURS[(i - 1) % len(COLOURS)]
        if chart.joined and not chart.x.names and len(marks) > 1:
            ax.plot(*zip(*(_at(chart, mark) for mark in marks), strict=True), color=colour, linewidth=0.8, zorder=1)
        for mark in marks:
            _cross(ax, chart, mark, {"color": colour, "marker": MARKERS[i % len(MARKERS)]})
        ax.plot([], [], label=name, linewidth=0, markersize=3.8, color=colour, marker=MARKERS[i % len(MARKERS)])
        points += ["{} ({:.3g}, {:.3g})".format(name, *_at(chart, mark)) for mark in marks]
    _scale(ax, chart.x, "x")
    _scale(ax, chart.y, "y")
    _labels(ax, chart, series)
    ax.set_xlabel(chart.x.label)
    ax.set_title(chart.y.label, loc="left", fontsize=7.5, pad=4)
    ax.grid()
    on.legend(loc="lower left", borderaxespad=0.1, handletextpad=0, labelspacing=0.4, fontsize=7)
    more = " and further points" if len(points) > 12 else ""
    alt = f"{chart.y.label} against {chart.x.label}: {'; '.join(points[:12])}{more}."
    return finish(on, key=key, title=chart.title, caption=f"{chart.caption} {INTERVALS}", alt=alt)


def _at(chart: Chart, mark: Mark) -> tuple[float, float]:
    return mark.x.value * chart.x.scale, mark.y.value * chart.y.scale


def _cross(ax: Axes, chart: Chart, mark: Mark, look: dict[str, Any]) -> None:
    thin: dict[str, Any] = {"color": look["color"], "linewidth": 0.9, "solid_capstyle": "butt"}
    (x, y), across, up = _at(chart, mark), chart.x.scale, chart.y.scale
    ax.plot([mark.x.low * across, mark.x.high * across], [y] * 2, **thin)
    ax.plot([x] * 2, [mark.y.low * up, mark.y.high * up], **thin)
    ax.plot([x], [y], markersize=7 if mark.chosen else 3.8, **look)


def _labels(ax: Axes, chart: Chart, series: Mapping[str, Sequence[Mark]]) -> None:
    """Write the labels of points, on the side with room for them."""
    ax.autoscale_view()
    for mark in (mark for marks in series.values() for mark in marks if mark.label):
        at = _at(chart, mark)
        right = ax.transAxes.inverted().transform(ax.transData.transform(at))[0] > 0.75
        side: dict[str, Any] = {"xytext": (-4, 4), "ha": "right"} if right else {"xytext": (4, 4), "ha": "left"}
        ax.annotate(mark.label, at, textcoords="offset points", fontsize=6, **side)


def _scale(ax: Axes, axis: Axis, which: Any) -> None:
    drawn = ax.xaxis if which == "x" else ax.yaxis
    if axis.names:
        drawn.set_ticks(range(len(axis.names)), axis.names)
        ax.set(**{f"{which}lim": (-0.5, len(axis.names) - 0.5)})
        return
    if not axis.log:
        ticks(ax, axis=which)
        return
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set(**{f"{which}scale": "log"})
    low, high = drawn.get_view_interval()
    drawn.set_major_locator(LogLocator(10, subs=(1, 2, 5) if high < 100 * low else (1,)))
    drawn.set_major_formatter(StrMethodFormatter("{x:g}"))
    drawn.set_minor_formatter(NullFormatter())
