"""ERM's churn against what is known of a dataset, one panel for each property and one point for each family."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.measure.intervals import Estimate
from benchmark.types import Task
from leaderboard.figures.figure import Figure
from leaderboard.figures.style import COLOURS, COLUMN, INK, TIP, Axes, axes, finish, logarithmic, sheet, ticks
from leaderboard.read.results import Results
from leaderboard.tables.builders.churn_to_expect import Shown, correlation, scale_of, shown
from leaderboard.tables.churn_lines import FEWEST, methods_of, with_method
from leaderboard.tables.table import Value

LOOKS: tuple[dict[str, Any], ...] = ({"color": COLOURS[0], "marker": "s"}, {"color": INK, "marker": "o"})
"""Of families that are not the paper's, and of those that are."""
KINDS = ("other families", "the paper's families")
WIDE, HIGH = 1.75, 1.3
"""Width and height of a panel in inches."""


@dataclass(frozen=True)
class Dot:
    """A family: its name, whether it is the paper's, and its place."""

    name: str
    papers: bool
    x: float
    y: float


@dataclass(frozen=True)
class Panel:
    """A property against churn, both in the units that are shown."""

    of: Shown
    dots: tuple[Dot, ...]
    correlation: Estimate


def panels(results: Results, task: Task) -> tuple[Panel, ...]:
    """Return a panel for each property of at least ``FEWEST`` families."""
    titles = methods_of(results, task)
    points = with_method(results, task, titles[0]) if titles else []
    made = []
    for prop in shown(task):
        dots = tuple(
            Dot(point.title, point.papers, x * prop.scale, point.churns[titles[0]] * scale_of(task)[0])
            for point in points
            if not np.isnan(x := point.value(prop.name))
        )
        if len(dots) >= FEWEST:
            made.append(Panel(prop, dots, correlation(points, prop.name, titles[0])))
    return tuple(made)


def churn_against(task: Task, drawn: Sequence[Panel]) -> Figure:
    """Draw the panels, two beside each other, so that a phone shows them at a legible size."""
    rows = (len(drawn) + 1) // 2
    on = sheet(COLUMN, HIGH * rows + 0.22)
    for number, panel in enumerate(drawn):
        left, top = 0.42 + WIDE * (number % 2), 0.36 + HIGH * (number // 2)
        ax = axes(on, left, COLUMN - left - 1.17, top, HIGH * rows + 0.22 - top - 0.72)
        _draw(ax, panel)
    kinds = sorted({dot.papers for panel in drawn for dot in panel.dots}, reverse=True)
    for papers in kinds:
        on.axes[0].plot([], [], linewidth=0, markersize=3, label=KINDS[papers], **LOOKS[papers])
    on.legend(loc="upper left", ncols=2, borderaxespad=0, borderpad=0.1, handletextpad=0, columnspacing=0.8)
    unit = scale_of(task)[2].replace("SD", "standard deviations of the target")
    told = "; ".join(f"{panel.of.title} {Value.of(panel.correlation, 1, 2, True).text}" for panel in drawn)
    return finish(
        on,
        key=f"expected-{task}",
        title=f"ERM's churn against properties of the dataset, {task}",
        caption=f"ERM's churn ({unit}, vertical) on the ID test of each family of datasets, against properties of the "
        "training pool and, in the last panel, a property known only after training. ρ is Spearman's rank "
        "correlation over families.",
        alt=f"Scatter plots of ERM's churn over families of datasets. Rank correlations: {told}.",
    )


def _draw(ax: Axes, panel: Panel) -> None:
    if panel.of.log:
        ax.set_xscale("log")
        logarithmic(ax.xaxis, (1, 3), "{x:,.0f}")
    for dot in panel.dots:
        tip = f"{TIP}{dot.name}: {dot.x:,.3g}, churn {dot.y:.3g}"
        ax.plot([dot.x], [dot.y], markersize=3, gid=tip, linewidth=0, alpha=0.8, **LOOKS[dot.papers])
    ax.set_ylim(0, 1.08 * max(dot.y for dot in panel.dots))
    ticks(ax, 4, axis="y")
    if not panel.of.log:
        ticks(ax, 4, axis="x")
    ax.set_xlabel(panel.of.title, fontsize=7)
    ax.tick_params(labelsize=6.5)
    rho = Value.of(panel.correlation, 1, 2, True).text.partition(" ")[0]
    ax.set_title(f"ρ = {rho}", loc="right", fontsize=6.5, pad=2)
    ax.grid()
