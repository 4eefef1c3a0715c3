"""What churn and accuracy owe to each part of a pipeline: shares of variance with intervals, a line for each term."""

from collections.abc import Mapping

from benchmark.measure.intervals import Estimate
from benchmark.types import Task
from leaderboard.figures.figure import Figure
from leaderboard.figures.parts import handles, limits, scaled, whiskers
from leaderboard.figures.style import COLOURS, INK, MARKERS, PAGE, Style, axes, finish, sheet, ticks
from leaderboard.stats.factors import Term
from leaderboard.tables.builders.factors import named

LINE = 0.3
"""Inches from one term to the next."""


def draw(task: Task, shares: Mapping[str, Mapping[Term, Estimate]]) -> Figure:
    percent = {name: {term: scaled(share, 100) for term, share in of.items()} for name, of in shares.items()}
    (first, shown), *_ = percent.items()
    looks = {name: Style((INK, *COLOURS[::5])[i], MARKERS[i]) for i, name in enumerate(shares)}
    on = sheet(PAGE, LINE * len(shown) + 0.72)
    ax = axes(on, 2.1, 0.1, 0.28, 0.44)
    for i, (name, of) in enumerate(percent.items()):
        for line, term in enumerate(shown):
            whiskers(ax, of[term], line + 0.22 * (i - 1), looks[name], hollow=False)
    every = [share for of in percent.values() for share in of.values()]
    ax.set(xlim=limits(every, zero=True), ylim=(len(shown) - 0.5, -0.5))
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(shown)), map(named, shown))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    ticks(ax, 10, "x")
    ax.set_xlabel("Share of the variance over pipelines and families (%)")
    on.legend(handles=handles(shares, looks), loc="upper left", ncols=3, borderaxespad=0.1, handletextpad=0.2)
    told = "; ".join(f"{named(term)} {share.value:.0f} %" for term, share in shown.items())
    return finish(
        on,
        key=f"factors-{task}",
        title=f"What goes with each part of a pipeline, {task}",
        caption="Share of the variance over pipelines and families of datasets. Bars: 95 % intervals over families.",
        alt=f"Shares of the variance of {first}: {told}.",
    )
