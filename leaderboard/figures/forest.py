"""Forest plots: the difference in churn between each method and ERM on each dataset, with its interval."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmark.measure.intervals import Estimate
from leaderboard.figures.figure import Drawing, Figure
from leaderboard.figures.parts import HOLLOW, INTERVALS, calmest, estimate_of, handles, limits, row_of, whiskers
from leaderboard.figures.style import INK, MUTED, PAGE, Axes, Style, axes, finish, sheet, ticks
from leaderboard.read.results import Results
from leaderboard.tables.boards import Board

PITCH = 0.085
"""Inches from one method to the next in the plot of all datasets."""
LINE = 0.16
"""Inches from one method to the next in panels with a line per method."""
GROUPS = {
    "forest": ("headline datasets", ("dev", "headline")),
    "forest-other": ("other datasets", ("own", "borderline", "excluded", "extra", "scope")),
}


def forests(
    results: Results, boards: Mapping[str, Board], styles: Mapping[str, Style], methods: Iterable[str]
) -> Iterator[Drawing]:
    """Yield a plot of the headline datasets, one of other classifications, and one of regressions in their units.

    ``methods`` are all but the reference.
    """
    compared = {name: board for name, board in boards.items() if any(estimate_of(r, "delta_churn") for r in board.rows)}
    for key, (what, groups) in GROUPS.items():
        datasets = [d for d in results.of_task("classification") if d.group in groups and d.name in compared]
        chosen = [compared[d.name] for d in datasets]
        kept, left_out = _ordered(chosen, methods)
        if kept:
            yield Drawing(_classification, (key, what, chosen, kept, styles, left_out))
    regressions = [(d.unit, compared[d.name]) for d in results.regressions() if d.name in compared]
    if regressions:
        kept, left_out = _ordered([board for _, board in regressions], methods)
        yield Drawing(_regression, (regressions, kept, styles, left_out))


def _ordered(boards: Sequence[Board], methods: Iterable[str]) -> tuple[list[str], str]:
    """Return the methods to draw, of those with a value on any of ``boards``, lowest mean first; see ``calmest``."""
    values = {m: [e.value for board in boards if (e := estimate_of(row_of(board, m), "delta_churn"))] for m in methods}
    kept, left_out = calmest([m for m in values if values[m]], boards)
    return sorted(kept, key=lambda m: sum(values[m]) / len(values[m])), left_out


def _classification(
    key: str, what: str, boards: Sequence[Board], methods: Sequence[str], styles: Mapping[str, Style], left_out: str
) -> Figure:
    each, scale = len(methods) + 2.0, 100
    top = 0.1 + 0.16 * -(-len(methods) // 4)
    on = sheet(PAGE, top + 0.4 + PITCH * each * len(boards))
    ax = axes(on, 1.35, 0.08, top, 0.4)
    drawn = []
    for i, board in enumerate(boards):
        if i % 2 == 0:
            ax.axhspan(i * each, (i + 1) * each, color=MUTED, alpha=0.12, linewidth=0)
        drawn.append(_bars(ax, board, methods, styles, i * each + 1.5, scale))
    _frame(ax, [estimate for estimates in drawn for estimate in estimates.values()], scale)
    ax.set_ylim(len(boards) * each, 0)
    ax.set_yticks([(i + 0.5) * each for i in range(len(boards))], [board.title for board in boards])
    ticks(ax, 10, "x")
    ax.set_xlabel("Δ churn vs ERM (pp); left of the line: fewer flips than ERM")
    on.legend(handles=handles(methods, styles), loc="upper left", ncols=4, borderaxespad=0.1, handletextpad=0.2)
    lower = {m: sum(m in estimates and estimates[m].high < 0 for estimates in drawn) for m in methods}
    counts = ", ".join(f"{m} on {n}" for m, n in sorted(lower.items(), key=lambda item: -item[1]))
    return finish(
        on,
        key=key,
        title=f"Churn against ERM, {what}",
        caption="Difference in churn between each method and ERM at equal train seeds, ID test, smallest dataset "
        f"first. {INTERVALS} {_unadjusted(drawn)} {HOLLOW}{left_out}",
        alt=f"Forest plot of the difference in churn from ERM on {len(boards)} {what}. "
        f"Datasets on which the whole interval lies below zero: {counts}.",
    )


def _regression(
    boards: Sequence[tuple[str, Board]], methods: Sequence[str], styles: Mapping[str, Style], left_out: str
) -> Figure:
    """Draw a panel per dataset, because each has its own unit."""
    across = min(3, len(boards))
    down = -(-len(boards) // across)
    label, width, panel = 1.25, (PAGE - 1.25) / across, LINE * len(methods) + 0.7
    on = sheet(PAGE, panel * down)
    drawn = []
    for i, (unit, board) in enumerate(boards):
        left, top = label + (i % across) * width, panel * (i // across)
        ax = axes(on, left, PAGE - left - width + 0.15, top + 0.25, panel * down - top - panel + 0.42)
        drawn.append(_panel(ax, board, methods, styles, unit or "target units"))
        ax.set_yticks(range(len(methods)), methods if i % across == 0 else [""] * len(methods))
    names = ", ".join(board.title for _, board in boards)
    return finish(
        on,
        key="forest-regression",
        title="Churn against ERM, regression",
        caption="Difference in churn (the mean absolute difference between the predictions of two retrainings) between "
        f"each method and ERM at equal train seeds, in the units of each target; ID test. {INTERVALS} "
        f"{_unadjusted(drawn)} {HOLLOW}{left_out}",
        alt=f"Forest plot of the difference in regression churn from ERM, in target units, on {names}.",
    )


def _panel(
    ax: Axes, board: Board, methods: Sequence[str], styles: Mapping[str, Style], unit: str
) -> dict[str, Estimate]:
    """Draw one dataset with a line per method and return the differences by method."""
    drawn = _bars(ax, board, methods, styles)
    _frame(ax, list(drawn.values()))
    ax.set_ylim(len(methods) - 0.4, -0.6)
    ticks(ax, 4, "x")
    ax.set_title(board.title, loc="left", fontsize=8)
    ax.set_xlabel(f"Δ churn vs ERM ({unit})")
    return drawn


def _unadjusted(drawn: Iterable[Mapping[str, Estimate]]) -> str:
    return f"These {sum(map(len, drawn))} intervals are not adjusted for their number."


def _bars(
    ax: Axes, board: Board, methods: Sequence[str], styles: Mapping[str, Style], y: float = 0, scale: float = 1
) -> dict[str, Estimate]:
    """Draw the differences of a dataset from ``y`` downwards and return them by method."""
    drawn = {}
    for j, method in enumerate(methods):
        row = row_of(board, method)
        if row and (estimate := estimate_of(row, "delta_churn")):
            drawn[method] = estimate
            whiskers(ax, estimate, y + j, styles[method], hollow=bool(row.marks), scale=scale)
    return drawn


def _frame(ax: Axes, drawn: Sequence[Estimate], scale: float = 1) -> None:
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xlim(*limits(drawn, scale, zero=True))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
