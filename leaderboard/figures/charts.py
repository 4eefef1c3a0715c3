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
    """A chart as a figure of one column's width, with the key of its series on the right."""
    long = max(map(len, chart.series))
    on = sheet(COLUMN + 0.4, 2.5)
    ax = axes(on, 0.42, 0.25 + 0.052 * long, 0.26, 0.4)
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
    ax.set_xlabel(chart.x.label)
    ax.set_title(chart.y.label, loc="left", fontsize=7.5, pad=4)
    ax.grid()
    on.legend(loc="center right", borderaxespad=0.2, handletextpad=0, labelspacing=0.7, fontsize=7)
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
    if point.label:
        at = (x.value * across, y.value * up)
        ax.annotate(point.label, at, xytext=(4, 4), textcoords="offset points", fontsize=6)


def _scale(ax: Axes, axis: Axis, which: Any) -> None:
    if axis.names:
        ax.set_xticks(range(len(axis.names)), axis.names)
        ax.set_xlim(-0.5, len(axis.names) - 0.5)
        return
    if not axis.log:
        ticks(ax, axis=which)
        return
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    of = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    of.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    of.set_major_formatter(StrMethodFormatter("{x:g}"))
    of.set_minor_formatter(NullFormatter())
