"""Ranks over datasets: the critical-difference diagram."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from leaderboard.figures.figure import Figure
from leaderboard.figures.style import INK, PAGE, Style, axes, breadth, finish, sheet
from leaderboard.stats.ranks import Ranking
from leaderboard.tables.table import spelled_p

MOST = 24
"""Maximum number of methods in a readable diagram."""


def critical_difference(ranking: Ranking, styles: Mapping[str, Style]) -> Figure | None:
    """Draw Demšar's diagram (2006, JMLR 7, figure 1); None if the test is undefined or there are too many methods."""
    k = len(ranking.methods)
    if np.isnan(ranking.chi2) or k > MOST:
        return None
    order = np.argsort(ranking.mean_ranks, kind="stable")
    rank = {ranking.methods[m]: float(ranking.mean_ranks[m]) for m in order}
    methods = list(rank)
    groups = [group for group in ranking.groups if len(group) > 1]
    half = (k + 1) // 2
    line, bar = 0.155, 0.07
    axis = 0.42  # inches from the top to the line of ranks, above it the bar of the critical difference
    first = axis + 0.12 + bar * len(groups) + 0.1
    height = first + line * half
    on = sheet(PAGE, height)
    side = breadth(methods) + 0.42
    ax = axes(on, side, side, 0, 0)
    ax.set(xlim=(1, k), ylim=(height, 0))
    ax.set_axis_off()
    inch = (k - 1) / (PAGE - 2 * side)
    beyond = breadth(f"{mean:.2f}" for mean in rank.values()) + 0.1  # from the line's end to the name, past the number
    free: dict[str, Any] = {"clip_on": False, "solid_capstyle": "butt"}
    ax.plot([1, k], [axis, axis], color=INK, linewidth=0.8, **free)
    for tick in range(1, k + 1, 1 + k // 12):
        ax.plot([tick, tick], [axis - 0.05, axis], color=INK, linewidth=0.8, **free)
        ax.text(tick, axis - 0.07, str(tick), ha="center", va="bottom")
    cd = ranking.critical_difference
    ax.plot([1, 1 + cd], [0.12, 0.12], color=INK, linewidth=1.6, **free)
    ax.text(1.1 + cd, 0.12, f"critical difference {cd:.2f}", va="center", fontsize=7)
    for i, method in enumerate(methods):
        left = i < half
        y = first + line * (i if left else k - 1 - i)
        end = 1 if left else k
        out = -inch if left else inch
        x, style = rank[method], styles[method]
        ax.plot([x, x, end], [axis, y, y], color=style.colour, linewidth=0.9, **free)
        ax.plot([x], [axis], color=style.colour, marker=style.marker, markersize=4, clip_on=False, zorder=3)
        to: dict[str, Any] = {"ha": "right" if left else "left", "va": "center"}
        ax.text(end + 0.03 * out, y, f"{x:.2f}", **to)
        ax.text(end + beyond * out, y, method, **to)
    for i, group in enumerate(groups):
        y = axis + 0.12 + bar * i
        reach = [rank[method] for method in group]
        ax.plot([min(reach) - 0.04, max(reach) + 0.04], [y, y], color=INK, linewidth=2.2, **free)
    listed = ", ".join(f"{method} {rank[method]:.2f}" for method in methods)
    return finish(
        on,
        key="critical-difference",
        title="Critical differences of mean ranks",
        caption=f"Mean rank by churn over {ranking.n} families of datasets; 1 is the lowest churn. Methods "
        f"joined by a bar do not differ significantly (Nemenyi, 0.05). Friedman: χ² = {ranking.chi2:.1f}, "
        f"{spelled_p(ranking.p)}.",
        alt=f"Critical-difference diagram of {k} methods over {ranking.n} families, mean ranks: {listed}. "
        f"Critical difference {cd:.2f}.",
    )
