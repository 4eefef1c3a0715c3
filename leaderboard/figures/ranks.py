"""Ranks over datasets: the critical-difference diagram and mean ranks with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import whiskers
from leaderboard.figures.style import COLUMN, INK, PAGE, Style, axes, finish, sheet
from leaderboard.stats.ranks import Ranking
from leaderboard.tables.summary import SummaryRow

MOST = 24
"""Maximum number of methods in a readable diagram."""
FAMILIES = "datasets with the same molecules count once"


def critical_difference(ranking: Ranking, styles: Mapping[str, Style]) -> Figure | None:
    """Draw Demšar's diagram (2006, JMLR 7, figure 1); None if the test is undefined or there are too many methods."""
    k = len(ranking.methods)
    if np.isnan(ranking.critical_difference) or k > MOST:
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
    ax = axes(on, 1.9, 1.9, 0, 0)
    ax.set(xlim=(1, k), ylim=(height, 0))
    ax.set_axis_off()
    beyond = 13 if max(rank.values()) >= 10 else 10  # steps from the line's end to the name, past the number
    free: dict[str, Any] = {"clip_on": False, "solid_capstyle": "butt"}
    ax.plot([1, k], [axis, axis], color=INK, linewidth=0.8, **free)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [axis - 0.05, axis], color=INK, linewidth=0.8, **free)
        ax.text(tick, axis - 0.07, str(tick), ha="center", va="bottom")
    cd = ranking.critical_difference
    ax.plot([1, 1 + cd], [0.12, 0.12], color=INK, linewidth=1.6, **free)
    ax.text(1.1 + cd, 0.12, f"critical difference {cd:.2f}", va="center", fontsize=7)
    for i, method in enumerate(methods):
        left = i < half
        y = first + line * (i if left else k - 1 - i)
        end = 1 if left else k
        step = (k - 1) / 105 * (-1 if left else 1)  # of the axis, 3.2 inches long
        x, style = rank[method], styles[method]
        ax.plot([x, x, end], [axis, y, y], color=style.colour, linewidth=0.9, **free)
        ax.plot([x], [axis], color=style.colour, marker=style.marker, markersize=4, clip_on=False, zorder=3)
        side: dict[str, Any] = {"ha": "right" if left else "left", "va": "center"}
        ax.text(end + step, y, f"{x:.2f}", **side)
        ax.text(end + beyond * step, y, method, **side)
    for i, group in enumerate(groups):
        y = axis + 0.12 + bar * i
        reach = [rank[method] for method in group]
        ax.plot([min(reach) - 0.04, max(reach) + 0.04], [y, y], color=INK, linewidth=2.2, **free)
    listed = ", ".join(f"{method} {rank[method]:.2f}" for method in methods)
    return finish(
        on,
        key="critical-difference",
        title="Critical differences of mean ranks",
        caption=f"Mean rank by churn over {ranking.n} headline datasets ({FAMILIES}); 1 is the lowest churn. Methods "
        f"joined by a bar do not differ significantly (Nemenyi, 0.05). Friedman: χ² = {ranking.chi2:.1f}, "
        f"p = {ranking.p:.1g}.",
        alt=f"Critical-difference diagram of {k} methods over {ranking.n} datasets, mean ranks: {listed}. "
        f"Critical difference {cd:.2f}.",
    )


def rank_intervals(rows: Sequence[SummaryRow], n: int, styles: Mapping[str, Style]) -> Figure | None:
    """Draw each ranked method's mean rank over ``n`` datasets with its interval; None for fewer than two."""
    ranked = [(row, row.rank) for row in rows if row.rank is not None and not np.isnan(row.rank.value)]
    if len(ranked) < 2:
        return None
    top = ranked[:MOST]
    on = sheet(COLUMN, 0.42 + 0.17 * len(top))
    ax = axes(on, 1.35, 0.35, 0.05, 0.37)
    beside: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    for y, (row, rank) in enumerate(top):
        style = styles.get(row.title, Style(INK, "o"))
        whiskers(ax, rank, y, style, hollow=bool(row.marks))
        ax.annotate(f"{rank.value:.2f}", (1, y), (3, 0), fontsize=7, **beside)
    ax.set(xlim=(0.8, len(ranked) + 0.2), ylim=(len(top) - 0.5, -0.5))
    ax.set_yticks(range(len(top)), [row.title for row, _ in top])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xticks(range(1, len(ranked) + 1, 1 + len(ranked) // 10))
    ax.grid(axis="x")
    ax.set_xlabel(f"Mean rank by churn, {n} datasets")
    best, worst = top[0], top[-1]
    more = f" The best {len(top)} of {len(ranked)} methods." if len(top) < len(ranked) else ""
    return finish(
        on,
        key="ranks",
        title="Mean ranks with intervals",
        caption=f"Mean rank by churn over {n} headline datasets ({FAMILIES}); 1 is the lowest churn. Bars: 95 % "
        f"intervals from resampling retrainings on the same datasets.{more} Hollow: marked † or †? on a dataset.",
        alt=f"Mean ranks by churn of {len(top)} methods, from {best[0].title} with {best[1].value:.2f} "
        f"[{best[1].low:.2f}, {best[1].high:.2f}] to {worst[0].title} with {worst[1].value:.2f}.",
    )
