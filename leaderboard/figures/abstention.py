"""Abstention: accuracy and churn against the share of examples on which retrainings agree enough to predict."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmark.measure.abstention import CONSISTENCIES
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import handles
from leaderboard.figures.style import PAGE, Style, axes, finish, sheet, ticks

Curve = Sequence[Sequence[float]]
"""Coverage, accuracy and churn of a method at each of ``CONSISTENCIES``."""


def abstention(curves: Mapping[str, Curve], over: str, styles: Mapping[str, Style]) -> Figure | None:
    """Draw accuracy and churn of each method against coverage; None if none has a curve."""
    known = {title: 100 * np.array(curve) for title, curve in curves.items() if not np.isnan(curve).any()}
    if not known:
        return None
    lines = (len(known) + 3) // 4
    height = 2.9 + 0.16 * lines
    on = sheet(PAGE, height)
    for left, column, name in ((0.45, 1, "Accuracy"), (PAGE / 2 + 0.3, 2, "Churn")):
        ax = axes(on, left, PAGE - left - PAGE / 2 + 0.45, 0.24, height - 2.5)
        for title, curve in known.items():
            look = styles[title]
            ax.plot(curve[:, 0], curve[:, column], color=look.colour, marker=look.marker, markersize=3.5, linewidth=0.9)
        ax.invert_xaxis()
        ax.set(xlabel="Coverage (% of the ID test)")
        ax.set_title(f"{name} where a prediction is made (%)", loc="left", fontsize=7.5, pad=4)
        ax.grid()
        ticks(ax)
    on.legend(handles=handles(known, styles), loc="lower center", ncols=4, fontsize=7)
    levels = ", ".join(f"{level:g}" for level in CONSISTENCIES)
    ends = "; ".join(
        f"{title} {curve[-1, 1]:.1f} % on {curve[-1, 0]:.0f} % instead of {curve[0, 1]:.1f} %"
        for title, curve in known.items()
    )
    return finish(
        on,
        key="abstention",
        title="Abstaining where retrainings disagree",
        caption=f"Accuracy and churn of the predictions that are made if a self-consistency of {levels} is required "
        "(from left to right). Self-consistency is the share of pairs of the other retrainings that agree on the "
        f"example. Each pair of retrainings is evaluated where the others agree. Mean over {over}, ID test.",
        alt=f"Accuracy where all others agree: {ends}.",
    )
