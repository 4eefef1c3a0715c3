"""Triage: the share of all flips captured by reviewing the predictions that a score ranks first."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmark.measure.triage import REVIEWED, RUNS
from benchmark.study.text import percent
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import spread
from leaderboard.figures.style import COLOURS, COLUMN, INK, MUTED, PAGE, Axes, axes, breadth, finish, sheet
from leaderboard.tables.builders.comparisons import SHARES, Curves

SHADES = (*COLOURS[:3], INK)
"""Colours of the curves by number of runs; entropy is dashed in another colour."""
ENTROPY = COLOURS[5]
GUIDES = f"Diagonal: random order. Shaded: {percent(REVIEWED)} reviewed."
SEEN = "evaluated on flips that the score has seen"


def triage(dataset: str, captured: Curves) -> Figure:
    """Draw the curve of each number of runs and that of entropy on a dataset."""
    on = sheet(COLUMN, 2.6)
    ax = axes(on, 0.42, 0.1, 0.24, 0.4)
    _shares(ax)
    for shade, (k, curve) in zip(SHADES, captured.churn.items(), strict=False):
        note = ", in sample" if k in captured.seen else ""
        ax.plot(100 * SHARES, 100 * np.array(curve), color=shade, linewidth=1.2, label=f"churn of {k} runs{note}")
    dashed: dict[str, Any] = {"color": ENTROPY, "linewidth": 1.2, "linestyle": (0, (4, 1.5))}
    ax.plot(100 * SHARES, 100 * np.array(captured.entropy), label="entropy of 1 run", **dashed)
    ax.legend(loc="lower right", borderaxespad=0.3, handlelength=1.8, fontsize=7)
    numbers = ", ".join(f"{percent(captured.recall(k))} by the churn of {k} runs" for k in captured.churn)
    entropy = float(np.interp(REVIEWED, SHARES, captured.entropy))
    seen = f" In sample: {SEEN}." if captured.seen else ""
    return finish(
        on,
        key=f"triage-{dataset}",
        title=f"Flips captured by review, {captured.title}",
        caption="Share of ERM's flips among the predictions that a score ranks first, ID test. Flips are counted among "
        f"retrainings not used by the score.{seen} {GUIDES}",
        alt=f"Share of all flips captured by reviewing {percent(REVIEWED)} of predictions: {numbers}, "
        f"{percent(entropy)} by entropy.",
        dataset=dataset,
    )


def overall(datasets: Sequence[Curves], weights: np.ndarray) -> Figure:
    """Draw several datasets: the curves of a score from the fewest runs, and their improvement with more runs.

    ``weights`` (D,) are the weights of the datasets in the mean.
    """
    few = RUNS[0]
    on = sheet(PAGE, 2.7)
    names = breadth((curves.title for curves in datasets), 7) + 0.1
    each = (PAGE - 0.95 - names) / 2
    ax = axes(on, 0.42, PAGE - 0.42 - each, 0.24, 0.4)
    _shares(ax)
    for curves in datasets:
        ax.plot(100 * SHARES, 100 * np.array(curves.churn[few]), color=MUTED, linewidth=0.8)
    mean = np.average([curves.churn[few] for curves in datasets], axis=0, weights=weights)
    ax.plot(100 * SHARES, 100 * mean, color=INK, linewidth=1.6)
    ax.text(98, 4, f"score: churn of {few} runs\none line per dataset, bold: mean", ha="right", fontsize=7)
    ax = axes(on, PAGE - names - each, names, 0.24, 0.4)
    _convergence(ax, datasets)
    values = {k: [curves.recall(k) for curves in datasets if k in curves.churn] for k in RUNS}
    numbers = ", ".join(f"{percent(min(v))} to {percent(max(v))} with {k} runs" for k, v in values.items() if v)
    return finish(
        on,
        key="triage",
        title="Flips captured by review",
        caption="Share of ERM's flips among the predictions with the highest churn in a few retrainings, headline "
        f"datasets, ID test. Flips are counted among retrainings not used by the score; hollow: {SEEN}. In the mean, "
        f"datasets with the same molecules count once. {GUIDES}",
        alt=f"Share of all flips captured by reviewing {percent(REVIEWED)} of predictions, over {len(datasets)} "
        f"datasets: {numbers}.",
    )


def _convergence(ax: Axes, datasets: Sequence[Curves]) -> None:
    """Draw the share captured against the number of runs, a line per dataset that ends at its name."""
    ends = []
    for curves in datasets:
        places = [(RUNS.index(k), 100 * curves.recall(k), k in curves.seen) for k in curves.churn]
        for (x0, y0, _), (x1, y1, seen) in pairwise(places):
            ax.plot([x0, x1], [y0, y1], color=MUTED, linewidth=0.9, linestyle=(0, (1, 1)) if seen else "-")
        for x, y, seen in places:
            fill = "none" if seen else MUTED
            ax.plot([x], [y], color=MUTED, marker="o", markersize=3, markerfacecolor=fill)
        ends.append((places[-1], curves.title))
    low, high = ax.get_ylim()
    inch = (high - low) / (ax.get_position().height * ax.get_figure(root=True).get_figheight())  # type: ignore[union-attr]
    at = np.array(spread([y for (_, y, _), _ in ends], 0.117 * inch))
    at += min(0, high - at.max())  # below the title
    line = {"arrowstyle": "-", "linewidth": 0.4, "color": MUTED, "shrinkA": 1, "shrinkB": 3}
    for ((x, y, _), title), moved in zip(ends, at, strict=True):
        ax.annotate(title, (x, y), (len(RUNS) - 0.8, moved), va="center", fontsize=7, arrowprops=line)
    ax.set_xticks(range(len(RUNS)), [str(k) for k in RUNS])
    ax.set(xlim=(-0.3, len(RUNS) - 0.8), ylim=(low, high), xlabel="Retrainings behind the score")
    ax.grid(axis="y")
    ax.set_title(f"Flips captured by reviewing {percent(REVIEWED)} (%)", loc="left", fontsize=7.5, pad=4)


def _shares(ax: Axes) -> None:
    """Draw both axes in percent, the diagonal and the part that the paper reviews."""
    ax.axvspan(0, 100 * REVIEWED, color=MUTED, alpha=0.12, linewidth=0)
    ax.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)))
    ax.set(xlim=(0, 100), ylim=(0, 101), xlabel="Predictions reviewed (%)")
    ax.set_title("Flips captured (%)", loc="left", fontsize=7.5, pad=4)
    ax.grid()
