"""The charts of studies: numbers with intervals against a setting, or against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmark.study import Axis, Chart, Point
from leaderboard.figures import Figure
from leaderboard.figures.style import COLOURS, COLUMN, INK, MARKERS, axes, finish, sheet, ticks
from leaderboard.stats.intervals import Estimate
from leaderboard.studies import estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INTERVALS = "Bars: 95 % intervals."


def draw(key: str, chart: Chart) -> Figure:
    """A chart as a figure of one column's width, with the key of its series, whose names may be long, below."""
    below = 0.15 * len(chart.series) + 0.06
    on = sheet(COLUMN, 2.3 + below)
    ax = axes(on, 0.5, 0.12, 0.26, 0.4 + below)
    said = []
    for i, (name, points) in enumerate(chart.series.items()):
        colour = INK if i == 0 else COLOURS[(i - 1) % len(COLOURS)]
        found = [(point, _known(point.x), estimate(point.y)) for point in points]
        if chart.joined and len(found) > 1:
            ends = [(x.value * chart.x.scale, y.value * chart.y.scale) for _, x, y in found]
            ax.plot(*zip(*ends, strict=True), color=colour, linewidth=0.8, zorder=1)
        for point, x, y in found:
            _mark(ax, chart, point, x, y, {"color": colour, "marker": MARKERS[i % len(MARKERS)]})
        ax.plot([], [], label=name, linewidth=0, markersize=3.8, color=colour, marker=MARKERS[i % len(MARKERS)])
        said += [f"{name} ({x.value * chart.x.scale:.3g}, {y.value * chart.y.scale:.3g})" for _, x, y in found]
    for axis, which in ((chart.x, "x"), (chart.y, "y")):
        _scale(ax, axis, which)
    _labels(ax, chart)
    ax.set_xlabel(chart.x.label)
    ax.set_title(chart.y.label, loc="left", fontsize=7.5, pad=4)
    ax.grid()
    on.legend(loc="lower left", borderaxespad=0.1, handletextpad=0, labelspacing=0.4, fontsize=7)
    alt = f"{chart.y.label} against {chart.x.label}: {'; '.join(said[:12])}{' and further points' * (len(said) > 12)}."
    return finish(on, key=key, title=chart.title, caption=f"{chart.caption} {INTERVALS}", alt=alt)


def _known(x: Any) -> Estimate:
    return Estimate(float(x), float("nan"), float("nan")) if isinstance(x, int | float) else estimate(x)


def _mark(ax: Axes, chart: Chart, point: Point, x: Estimate, y: Estimate, look: dict[str, Any]) -> None:
    thin: dict[str, Any] = {"color": look["color"], "linewidth": 0.9, "solid_capstyle": "butt"}
    across, up = chart.x.scale, chart.y.scale
    ax.plot([x.low * across, x.high * across], [y.value * up] * 2, **thin)
    ax.plot([x.value * across] * 2, [y.low * up, y.high * up], **thin)
    ax.plot([x.value * across], [y.value * up], markersize=7 if point.chosen else 3.8, **look)


def _labels(ax: Axes, chart: Chart) -> None:
    """Beside their points, on the side where there is room."""
    ax.autoscale_view()
    for point in (point for points in chart.series.values() for point in points if point.label):
        at = (_known(point.x).value * chart.x.scale, estimate(point.y).value * chart.y.scale)
        right = ax.transAxes.inverted().transform(ax.transData.transform(at))[0] > 0.75
        side: dict[str, Any] = {"xytext": (-4, 4), "ha": "right"} if right else {"xytext": (4, 4), "ha": "left"}
        ax.annotate(point.label, at, textcoords="offset points", fontsize=6, **side)


def _scale(ax: Axes, axis: Axis, which: Any) -> None:
    of = ax.xaxis if which == "x" else ax.yaxis
    if axis.names:
        of.set_ticks(range(len(axis.names)), axis.names)
        (ax.set_xlim if which == "x" else ax.set_ylim)(-0.5, len(axis.names) - 0.5)
        return
    if not axis.log:
        ticks(ax, axis=which)
        return
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    low, high = of.get_view_interval()
    of.set_major_locator(LogLocator(10, subs=(1, 2, 5) if high < 100 * low else (1,)))
    of.set_major_formatter(StrMethodFormatter("{x:g}"))
    of.set_minor_formatter(NullFormatter())
