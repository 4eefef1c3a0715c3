"""Accuracy (for regression, MAE) against churn, with the Pareto front of methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from benchmark.measure.catalogue import KEPT, ORDER
from benchmark.measure.intervals import Estimate, described
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import HOLLOW, INTERVALS, calmest, estimate_of, handles, limits, whiskers
from leaderboard.figures.style import COLUMN, MUTED, Style, axes, breadth, finish, sheet, ticks
from leaderboard.tables.boards import Board
from leaderboard.tables.summary import SummaryRow


@dataclass(frozen=True)
class Point:
    """A method's predictive quality and churn, and whether it is drawn hollow and off the front, for its marks."""

    method: str
    quality: Estimate
    churn: Estimate
    marked: bool


MATCHED = "Matched accuracy (%)", "Matched churn (%)"
DIFFERENCE = "Mean Δ matched accuracy vs ERM (pp)", "Mean Δ matched churn vs ERM (pp)"
FRONT = "Line: Pareto front of the filled methods."
LETTERS = 28
"""Of a line of the key, so that it leaves room for the axes."""
LOSING = "Hollow: no place, for a loss of accuracy or another reason."


def front(points: Sequence[Point], better: int) -> list[Point]:
    """Return the unmarked points that no other unmarked point equals or beats in both, by quality.

    Marked points do not count: a constant never churns.
    """
    best: list[Point] = []
    unmarked = (point for point in points if not point.marked)
    for point in sorted(unmarked, key=lambda p: (-better * p.quality.value, p.churn.value)):
        if not best or point.churn.value < best[-1].churn.value:
            best.append(point)
    return best


def pareto(board: Board, unit: str, styles: Mapping[str, Style], reference: str) -> Figure | None:
    """Draw the methods on one dataset; None if fewer than two have both numbers."""
    if board.task == "regression":
        title, labels, scale, better = "MAE and 1 − ICC", (f"MAE ({unit or 'target units'})", "1 − ICC"), 1, -1
    else:
        title, labels, scale, better = "Matched accuracy and matched churn", MATCHED, 100, +1
    points = []
    for row in sorted(board.rows, key=lambda row: row.title != reference):
        quality, churn = (estimate_of(row, of[board.task].key, scale) for of in (KEPT, ORDER))
        if quality and churn:
            points.append(Point(row.title, quality, churn, bool(row.marks)))
    about = {"key": f"pareto-{board.dataset}", "title": f"{title}, {board.title}", "dataset": board.dataset}
    bars = described(board.kind, board.sampling).partition(";")[0].partition(":")[0]
    over = f"ID test. Bars: {bars}."
    return _plot(points, [board], reference, labels, better, styles, over, HOLLOW, **about)


def overall(
    rows: Sequence[SummaryRow], over: str, boards: Sequence[Board], styles: Mapping[str, Style], reference: str
) -> Figure | None:
    """Draw the methods that have every headline dataset by their mean differences from ERM, which is at the origin.

    ``over`` describes the datasets averaged over, and ``boards`` are theirs. None without a method to compare.
    """
    zero = Estimate(0.0, 0.0, 0.0)
    points = [Point(reference, zero, zero, False)]
    for row in rows:
        quality, churn = (estimate_of(row, key, 100) for key in ("delta_matched_accuracy", "delta_matched_churn"))
        if quality and churn:
            points.append(Point(row.title, quality, churn, bool(row.unranked) or not row.keeps))
    over = f"Mean over {over}, ID test. {INTERVALS}"
    title = "Matched accuracy and matched churn against ERM"
    return _plot(points, boards, reference, DIFFERENCE, +1, styles, over, LOSING, key="pareto", title=title)


def _plot(
    points: list[Point],
    boards: Sequence[Board],
    reference: str,
    labels: tuple[str, str],
    better: int,
    styles: Mapping[str, Style],
    over: str,
    hollow: str,
    **about: str,
) -> Figure | None:
    """Draw ``points``; the caption begins with ``over`` and says what is ``hollow``; ``finish`` gets ``about``.

    ``labels`` are those of quality, of which more is ``better`` (+1) or less (-1), and of churn.
    """
    if len(points) < 2:
        return None
    kept, left_out = calmest([p.method for p in points if p.method != reference], boards)
    points = [p for p in points if p.method in (reference, *kept)]
    height, top = 3.1, 0.26  # below the title, as high as the longest key
    on = sheet(COLUMN, height)
    key = breadth((line for p in points for line in wrap(p.method, LETTERS)), 7) + 0.22
    ax = axes(on, 0.42, key + 0.05, top, 0.4)
    best = front(points, better)
    corners = [(p.quality.value, p.churn.value) for p in best]
    ax.plot(*zip(*corners, strict=True), color=MUTED, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
    for p in points:
        whiskers(ax, p.quality, p.churn, styles[p.method], hollow=p.marked)
    ax.set_xlim(*limits([p.quality for p in points]))
    low, high = limits([p.churn for p in points])
    ax.set_ylim(low if min(p.churn.value for p in points) < 0 else max(low, 0), high)
    ax.set_xlabel(labels[0])
    ax.set_title(f"{labels[1]}   {'↘' if better > 0 else '↙'} better", loc="left", fontsize=7.5, pad=4)
    ax.grid()
    ticks(ax, 5)
    order = [p.method for p in sorted(points, key=lambda p: -p.churn.value)]
    on.legend(
        handles=handles(order, styles, [p.method for p in points if p.marked], LETTERS),
        loc="upper left",
        bbox_to_anchor=(1 - key / COLUMN, 1 - top / height),
        borderaxespad=0,
        borderpad=0,
        handletextpad=0,
        labelspacing=0.7,
        fontsize=7,
    )

    def numbers(p: Point) -> str:
        return f"{p.method} ({p.quality.value:.3g}, {p.churn.value:.3g})"

    return finish(
        on,
        caption=f"{over} {FRONT} {hollow}{left_out}",
        alt=f"{len(points)} methods by {' and '.join(labels)}, {numbers(points[0])} among them. "
        f"On the Pareto front: {', '.join(numbers(p) for p in best)}.",
        **about,
    )
