"""Forest plot: the difference in churn between each method and ERM on each headline dataset, with its interval."""

from collections.abc import Iterable, Mapping, Sequence

from benchmark.measure.intervals import Estimate
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import HOLLOW, INTERVALS, calmest, estimate_of, handles, limits, whiskers
from leaderboard.figures.style import INK, MUTED, PAGE, Style, axes, breadth, finish, sheet, ticks
from leaderboard.tables.boards import Board, BoardRow

PITCH = 0.085
"""Inches from one method to the next."""
MOST = 8
"""Maximum number of methods beside each other on one dataset."""


def forest(boards: Sequence[Board], styles: Mapping[str, Style], methods: Iterable[str]) -> Figure | None:
    """Draw the calmest of ``methods``, which are all but the reference, on each board, lowest mean difference first.

    None if no board has a difference from ERM.
    """
    known: dict[str, dict[str, tuple[Estimate, BoardRow]]] = {method: {} for method in methods}
    for board in boards:
        for row in board.rows:
            if row.title in known and (estimate := estimate_of(row, "delta_churn", 100)):
                known[row.title][board.title] = estimate, row
    boards = [board for board in boards if any(board.title in by_board for by_board in known.values())]
    kept, left_out = calmest([method for method, by_board in known.items() if by_board], boards, MOST)
    if not kept:
        return None
    kept.sort(key=lambda method: sum(e.value for e, _ in known[method].values()) / len(known[method]))
    each = len(kept) + 2.0
    across = int((PAGE - 0.1) / (breadth(kept) + 0.35)) or 1
    top = 0.1 + 0.16 * -(-len(kept) // across)
    on = sheet(PAGE, top + 0.4 + PITCH * each * len(boards))
    ax = axes(on, breadth(board.title for board in boards) + 0.1, 0.08, top, 0.4)
    drawn = []
    for i, board in enumerate(boards):
        if i % 2 == 0:
            ax.axhspan(i * each, (i + 1) * each, color=MUTED, alpha=0.12, linewidth=0)
        for j, method in enumerate(kept):
            if board.title in known[method]:
                estimate, row = known[method][board.title]
                whiskers(ax, estimate, i * each + 1.5 + j, styles[method], hollow=bool(row.marks))
                drawn.append(estimate)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xlim(*limits(drawn, zero=True))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    ax.set_ylim(len(boards) * each, 0)
    ax.set_yticks([(i + 0.5) * each for i in range(len(boards))], [board.title for board in boards])
    ticks(ax, 10, "x")
    ax.set_xlabel("Δ churn vs ERM (pp); left of the line: fewer flips than ERM")
    on.legend(handles=handles(kept, styles), loc="upper left", ncols=across, borderaxespad=0.1, handletextpad=0.2)
    lower = {method: sum(e.high < 0 for e, _ in known[method].values()) for method in kept}
    counts = ", ".join(f"{method} on {n}" for method, n in sorted(lower.items(), key=lambda item: -item[1]))
    return finish(
        on,
        key="forest",
        title="Churn against ERM, headline datasets",
        caption="Difference in churn between each method and ERM at equal train seeds, ID test, smallest dataset "
        f"first. {INTERVALS} These {len(drawn)} intervals are not adjusted for their number. {HOLLOW}{left_out}",
        alt=f"Forest plot of the difference in churn from ERM on {len(boards)} headline datasets. "
        f"Datasets on which the whole interval lies below zero: {counts}.",
    )
