"""Figures of two models: how many predictions flip, and how far regression values move."""

from collections.abc import Mapping

import numpy as np

from benchmark.measure.intervals import Estimate
from leaderboard.figures.style import COLOURS, INK, MUTED, Sheet, axes, sheet, ticks


def flips(estimates: Mapping[str, Estimate], titles: Mapping[str, str], heading: str) -> Sheet:
    """Draw shares of examples with their intervals in percent, one row each; ``titles`` names the rows."""
    on = sheet(4.6, 0.62 + 0.26 * len(estimates))
    ax = axes(on, 1.5, 0.2, 0.26, 0.4)
    for row, e in enumerate(estimates.values()):
        ax.barh(row, 100 * e.value, color=COLOURS[0] if row == 0 else COLOURS[4], height=0.55)
        ax.plot([100 * e.low, 100 * e.high], [row, row], color=INK, linewidth=0.9, solid_capstyle="butt")
    ax.set_yticks(range(len(estimates)), [titles.get(name, name) for name in estimates])
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("share of the examples (%)")
    ax.set_title(heading, loc="left", fontsize=7.5)
    ticks(ax, axis="x")
    ax.grid(axis="x")
    return on


def moved(before: np.ndarray, after: np.ndarray, heading: str) -> Sheet:
    """Draw the values (T,) of one model against those of another; equal ones lie on the line."""
    on = sheet(3.5, 3.5)
    ax = axes(on, 0.55, 0.15, 0.26, 0.45)
    ends = [min(before.min(), after.min()), max(before.max(), after.max())]
    ax.plot(ends, ends, color=MUTED, linewidth=0.8)
    ax.plot(before, after, linewidth=0, marker="o", markersize=2.2, color=COLOURS[1], alpha=0.6)
    ax.set_xlabel("baseline")
    ax.set_ylabel("candidate")
    ax.set_title(heading, loc="left", fontsize=7.5)
    ticks(ax)
    ax.grid()
    return on
