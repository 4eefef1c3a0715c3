"""Triage: how many of all flips a reviewer sees who reads the predictions that a score puts first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchmark.lab.study import percent
from benchmark.measure.triage import REVIEWED, RUNS, by_churn, by_entropy, recall_curve
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import spread
from leaderboard.figures.style import COLOURS, COLUMN, INK, MUTED, PAGE, axes, finish, sheet
from leaderboard.read.results import Dataset

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES = np.linspace(0, 1, 101)
SHADES = (*COLOURS[:3], INK)
"""Of the curves by number of runs; entropy is drawn in another colour, with dashes."""
ENTROPY = COLOURS[5]
GUIDES = f"Diagonal: random order. Shaded: {percent(REVIEWED)} reviewed."
SEEN = "judged by flips that the score has seen"


@dataclass(frozen=True)
class Curves:
    """Share of ERM's flips captured at each of ``SHARES``, mean over splits: ``churn`` by the number of runs of the
    score, of which those in ``seen`` are judged by flips that the score knows, and ``entropy`` of a single run."""

    title: str
    churn: Mapping[int, np.ndarray]
    seen: frozenset[int]
    entropy: np.ndarray

    def recall(self, k: int) -> float:
        """Share of flips in the reviewed part."""
        return float(np.interp(REVIEWED, SHARES, self.churn[k]))


def curves(dataset: Dataset) -> Curves | None:
    """The curves of ERM on a classification; None without ERM, or where a split has no flip or fewer than two runs."""
    if dataset.task != "classification" or dataset.reference is None:
        return None
    tests = [cell.predictions["id"] for cell in dataset.reference.cells.values()]
    fewest = min(len(p.seeds) for p in tests)
    if fewest < 2:
        return None
    counts = [k for k in RUNS if k <= fewest]
    churn = {k: np.mean([recall_curve(by_churn(p, k), SHARES) for p in tests], axis=0) for k in counts}
    entropy = np.mean([recall_curve(by_entropy(p), SHARES) for p in tests], axis=0)
    if any(np.isnan(curve).any() for curve in (*churn.values(), entropy)):
        return None
    return Curves(dataset.title, churn, frozenset(k for k in counts if k > fewest - 2), entropy)


def triage(dataset: str, found: Curves) -> Figure:
    """A dataset: the curve of each number of runs, and of entropy."""
    on = sheet(COLUMN, 2.6)
    ax = axes(on, 0.42, 0.1, 0.24, 0.4)
    _shares(ax)
    for shade, (k, curve) in zip(SHADES, found.churn.items(), strict=False):
        note = ", in sample" if k in found.seen else ""
        ax.plot(100 * SHARES, 100 * curve, color=shade, linewidth=1.2, label=f"churn of {k} runs{note}")
    ax.plot(
        100 * SHARES,
        100 * found.entropy,
        color=ENTROPY,
        linewidth=1.2,
        linestyle=(0, (4, 1.5)),
        label="entropy of 1 run",
    )
    ax.legend(loc="lower right", borderaxespad=0.3, handlelength=1.8, fontsize=7)
    numbers = ", ".join(f"{percent(found.recall(k))} by the churn of {k} runs" for k in found.churn)
    entropy = float(np.interp(REVIEWED, SHARES, found.entropy))
    seen = f" In sample: {SEEN}." if found.seen else ""
    return finish(
        on,
        key=f"triage-{dataset}",
        title=f"Flips captured by review, {found.title}",
        caption="Share of ERM's flips among the predictions that a score puts first, ID test. Flips are counted among "
        f"retrainings that the score was not made from.{seen} {GUIDES}",
        alt=f"Share of all flips captured by reviewing {percent(REVIEWED)} of predictions: {numbers}, "
        f"{percent(entropy)} by entropy.",
        dataset=dataset,
    )


def overall(found: Sequence[Curves], weights: np.ndarray) -> Figure:
    """Several datasets: the curves for a score from the fewest runs, and how they improve with their number.

    ``weights`` (D,) are what each counts in the mean.
    """
    few = RUNS[0]
    on = sheet(PAGE, 2.7)
    ax = axes(on, 0.42, PAGE - 3.3, 0.24, 0.4)
    _shares(ax)
    for curves in found:
        ax.plot(100 * SHARES, 100 * curves.churn[few], color=MUTED, linewidth=0.8)
    mean = np.average([curves.churn[few] for curves in found], axis=0, weights=weights)
    ax.plot(100 * SHARES, 100 * mean, color=INK, linewidth=1.6)
    ax.text(98, 4, f"score: churn of {few} runs\none line per dataset, bold: mean", ha="right", fontsize=7)
    ax = axes(on, 3.85, 1.0, 0.24, 0.4)
    _convergence(ax, found)
    values = {k: [curves.recall(k) for curves in found if k in curves.churn] for k in RUNS}
    numbers = ", ".join(f"{percent(min(v))} to {percent(max(v))} with {k} runs" for k, v in values.items() if v)
    return finish(
        on,
        key="triage",
        title="Flips captured by review",
        caption="Share of ERM's flips among the predictions with the highest churn in a few retrainings, headline "
        "datasets, ID test. Flips are counted among retrainings that the score was not made from; hollow: "
        f"{SEEN}. In the mean, datasets with the same molecules count once. {GUIDES}",
        alt=f"Share of all flips captured by reviewing {percent(REVIEWED)} of predictions, over {len(found)} datasets: "
        f"{numbers}.",
    )


def _convergence(ax: Axes, found: Sequence[Curves]) -> None:
    """The share captured against the number of runs, a line per dataset that ends at its name."""
    ends = []
    for curves in found:
        places = [(RUNS.index(k), 100 * curves.recall(k), k in curves.seen) for k in curves.churn]
        for (x0, y0, _), (x1, y1, seen) in pairwise(places):
            ax.plot([x0, x1], [y0, y1], color=MUTED, linewidth=0.9, linestyle=(0, (1, 1)) if seen else "-")
        for x, y, seen in places:
            fill = "none" if seen else MUTED
            ax.plot([x], [y], color=MUTED, marker="o", markersize=3, markerfacecolor=fill)
        ends.append((places[-1], curves.title))
    low, high = ax.get_ylim()
    inch = (high - low) / (ax.get_position().height * ax.get_figure(root=True).get_figheight())  # type: ignore[union-attr]
    at = spread([y for (_, y, _), _ in ends], 0.117 * inch)
    line = {"arrowstyle": "-", "linewidth": 0.4, "color": MUTED, "shrinkA": 1, "shrinkB": 3}
    for ((x, y, _), title), moved in zip(ends, at, strict=True):
        ax.annotate(title, (x, y), (len(RUNS) - 0.8, moved), va="center", fontsize=7, arrowprops=line)
    ax.set_xticks(range(len(RUNS)), [str(k) for k in RUNS])
    ax.set_xlim(-0.3, len(RUNS) - 0.8)
    ax.set_ylim(low, high)
    ax.grid(axis="y")
    ax.set_xlabel("Retrainings that the score is made from")
    ax.set_title(f"Flips captured by reviewing {percent(REVIEWED)} of predictions (%)", loc="left", fontsize=7.5, pad=4)


def _shares(ax: Axes) -> None:
    """Both axes in percent, the diagonal and what the paper reviews."""
    ax.axvspan(0, 100 * REVIEWED, color=MUTED, alpha=0.12, linewidth=0)
    ax.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (1, 2)))
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 101)
    ax.set_xlabel("Predictions reviewed (%)")
    ax.set_title("Flips captured (%)", loc="left", fontsize=7.5, pad=4)
    ax.grid()
