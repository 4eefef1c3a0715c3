"""Forest plots: the difference of each method's churn to ERM's on each dataset, with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.parts import HOLLOW, INTERVALS, calmest, handles, known, limits, row_of, whiskers
from leaderboard.figures.style import INK, MUTED, PAGE, Style, axes, finish, sheet, ticks
from leaderboard.read.results import Results
from leaderboard.tables.boards import Board

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PITCH = 0.085
"""Inches from one method to the next in the plot of all datasets, …"""
LINE = 0.16
"""… and where each has a line of its own."""
GROUPS = {
    "forest": ("headline datasets", ("dev", "headline")),
    "forest-other": ("other datasets", ("borderline", "excluded", "extra", "scope")),
}


def forests(
    results: Results, boards: Mapping[str, Board], styles: Mapping[str, Style], methods: Iterable[str]
) -> Iterator[Drawing]:
    """One plot for the headline datasets, one for other classifications, and one for regressions in their units.

    ``methods`` are all but the reference.
    """
    for key, (what, groups) in GROUPS.items():
        chosen = [boards[d.name] for d in results.of_task("classification") if d.group in groups]
        chosen = [board for board in chosen if any(known(row, "delta_churn") for row in board.rows)]
        shown, left_out = _ordered(chosen, methods)
        if shown:
            yield Drawing(_classification, (key, what, chosen, shown, styles, left_out))
    regressions = [(d.unit, boards[d.name]) for d in results.of_task("regression")]
    regressions = [(unit, board) for unit, board in regressions if any(known(r, "delta_churn") for r in board.rows)]
    if regressions:
        shown, left_out = _ordered([board for _, board in regressions], methods)
        yield Drawing(_regression, (regressions, shown, styles, left_out))


def _ordered(boards: Sequence[Board], methods: Iterable[str]) -> tuple[list[str], str]:
    """The methods to draw of those that have a value on any of ``boards``, the lowest mean first; see ``calmest``."""
    values = {m: [e.value for board in boards if (e := known(row_of(board, m), "delta_churn"))] for m in methods}
    found, left_out = calmest([m for m in values if values[m]], boards)
    return sorted(found, key=lambda m: sum(values[m]) / len(values[m])), left_out


def _classification(
    key: str,
    what: str,
    boards: Sequence[Board],
    methods: Sequence[str],
    styles: Mapping[str, Style],
    left_out: str,
) -> Figure:
    each, scale = len(methods) + 2.0, 100
    top = 0.1 + 0.16 * -(-len(methods) // 4)
    on = sheet(PAGE, top + 0.4 + PITCH * each * len(boards))
    ax = axes(on, 1.35, 0.08, top, 0.4)
    found = {}
    for i, board in enumerate(boards):
        if i % 2 == 0:
            ax.axhspan(i * each, (i + 1) * each, color=MUTED, alpha=0.12, linewidth=0)
        for j, method in enumerate(methods):
            row = row_of(board, method)
            if row and (estimate := known(row, "delta_churn")):
                found[board.title, method] = estimate
                whiskers(ax, estimate, i * each + j + 1.5, styles[method], hollow=bool(row.marks), scale=scale)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xlim(*limits(list(found.values()), scale, zero=True))
    ax.set_ylim(len(boards) * each, 0)
    ax.set_yticks([(i + 0.5) * each for i in range(len(boards))], [board.title for board in boards])
    _rows(ax)
    ticks(ax, 10, "x")
    ax.set_xlabel("Δ churn vs ERM (pp); left of the line: fewer flips than ERM")
    on.legend(handles=handles(methods, styles), loc="upper left", ncols=4, borderaxespad=0.1, handletextpad=0.2)
    lower = {m: sum(e.high < 0 for (_, name), e in found.items() if name == m) for m in methods}
    counts = ", ".join(f"{m} on {n}" for m, n in sorted(lower.items(), key=lambda item: -item[1]))
    return finish(
        on,
        key=key,
        title=f"Churn against ERM, {what}",
        caption=f"Difference of each method's churn to ERM's at equal train seeds, ID test, smallest dataset first. "
        f"{INTERVALS} {HOLLOW}{left_out}",
        alt=f"Forest plot of the difference in churn to ERM on {len(boards)} {what}. "
        f"Datasets on which the whole interval lies below zero: {counts}.",
    )


def _regression(
    boards: Sequence[tuple[str, Board]], shown: Sequence[str], styles: Mapping[str, Style], left_out: str
) -> Figure:
    """A panel per dataset, because each has its own unit."""
    across = min(3, len(boards))
    down = -(-len(boards) // across)
    label, width, panel = 1.25, (PAGE - 1.25) / across, LINE * len(shown) + 0.7
    on = sheet(PAGE, panel * down)
    for i, (unit, board) in enumerate(boards):
        left, top = label + (i % across) * width, panel * (i // across)
        ax = axes(on, left, PAGE - left - width + 0.15, top + 0.25, panel * down - top - panel + 0.42)
        found = []
        for j, method in enumerate(shown):
            row = row_of(board, method)
            if row and (estimate := known(row, "delta_churn")):
                found.append(estimate)
                whiskers(ax, estimate, j, styles[method], hollow=bool(row.marks))
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_xlim(*limits(found, zero=True))
        ax.set_ylim(len(shown) - 0.4, -0.6)
        ax.set_yticks(range(len(shown)), shown if i % across == 0 else [""] * len(shown))
        _rows(ax)
        ticks(ax, 4, "x")
        ax.set_title(board.title, loc="left", fontsize=8)
        ax.set_xlabel(f"Δ churn vs ERM ({unit or 'target units'})")
    names = ", ".join(board.title for _, board in boards)
    return finish(
        on,
        key="forest-regression",
        title="Churn against ERM, regression",
        caption="Difference of each method's churn, the mean absolute difference of two retrainings' predictions, to "
        f"ERM's at equal train seeds, in the units of each target; ID test. {INTERVALS}{left_out}",
        alt=f"Forest plot of the difference in regression churn to ERM, in target units, on {names}.",
    )


def _rows(ax: Axes) -> None:
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
