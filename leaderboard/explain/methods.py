"""What the run of a method on the board shows: its means over datasets with intervals, and links to its cells."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmark.measure.intervals import described
from benchmark.store import views
from benchmark.types import TASKS, Task
from leaderboard.explain.cells import bounded
from leaderboard.read.results import Results
from leaderboard.tables.summary import Summary, SummaryRow, summaries
from leaderboard.tables.table import Table, Value
from leaderboard.write.formats import markdown, to_markdown

Linked = Callable[[str], str]
"""Returns the address in the UI of the run with an id; empty if there is none."""


def groups(results: Results) -> dict[str, Summary]:
    """Return the summaries that the board shows, by the first part of their metrics' names.

    These are the headline datasets, as ``headline``, and all datasets of a task, by its name; variants only count
    where there is nothing else.
    """
    found: dict[str, Summary] = {}
    for one in summaries(results):
        if one.key == "classification/headline":
            found["headline"] = one
    for task in TASKS:
        of_task = sorted((one for one in summaries(results) if one.task == task), key=_narrow)
        whole = next(iter(of_task), None)
        if whole is not None and whole not in found.values():
            found[task] = whole
    return found


def _narrow(summary: Summary) -> tuple[bool, bool]:
    return summary.group == "variant", summary.group != "all"


def metrics(found: Mapping[str, Summary], title: str) -> dict[str, float]:
    """Return the metrics of a method: mean rank, means of the boards' columns, and the number of datasets."""
    values: dict[str, float] = {}
    for group, summary in found.items():
        row = _row(summary, title)
        if row is None:
            continue
        for one in summary.columns:
            if one.shown:
                values |= bounded(f"{group}/{one.key}", one.column, row.estimates.get(one.key))
        if row.rank is not None:
            ends = {"rank": row.rank.value, "rank_low": row.rank.low, "rank_high": row.rank.high}
            values |= {f"{group}/{name}": value for name, value in ends.items() if value == value}
        values[f"{group}/datasets"] = sum(dataset.entry(title) is not None for dataset in summary.datasets)
    return values


def note(results: Results, found: Mapping[str, Summary], title: str, linked: Linked) -> str:
    """Return the description of a method's run in Markdown."""
    parts = [f"**{markdown(title)}** on all datasets of this store, sampling `{results.sampling}`."]
    for summary in found.values():
        if row := _row(summary, title):
            parts += [f"**{_over(summary)}**", to_markdown(_table(summary, [row])).strip()]
            parts += [f"{markdown(remark)}." for remark in row.remarks]
    parts += ["Runs on each dataset:\n\n" + "\n".join(_cells(results, title, linked))]
    return "\n\n".join(parts)


def board_note(results: Results, found: Mapping[str, Summary]) -> str:
    """Return the description of the board's experiment in Markdown: its tables."""
    parts = [
        f"Methods over the datasets of this store, sampling `{results.sampling}`: one run per method, in the "
        f"order of the leaderboard's first page. {described('runs', results.sampling)} Open a run for its datasets."
    ]
    for summary in found.values():
        parts += [f"**{_over(summary)}**", to_markdown(_table(summary, summary.rows)).strip()]
    return "\n\n".join(parts)


def board_views(found: Mapping[str, Summary]) -> dict[str, str]:
    """Return the saved views of the board's experiment, as its tags."""
    tasks: dict[str, Task] = {group: summary.task for group, summary in found.items()}
    return views.of_methods(tasks)


def _over(summary: Summary) -> str:
    only = summary.datasets[0].title if len(summary.datasets) == 1 else summary.over
    return markdown(f"{summary.title}: {only}")


def _row(summary: Summary, title: str) -> SummaryRow | None:
    return next((row for row in summary.rows if row.title == title), None)


def _table(summary: Summary, rows: Sequence[SummaryRow]) -> Table:
    columns = [one for one in summary.columns if one.shown]
    lines: list[tuple[str | Value, ...]] = [
        (row.title, summary.shown_rank(row), *(one.show(row.estimates.get(one.key)).but(mark="") for one in columns))
        for row in rows
    ]
    return Table(
        "board", summary.title, "", ("Method", "Mean rank", *(one.column.title for one in columns)), tuple(lines)
    )


def _cells(results: Results, title: str, linked: Linked) -> Iterator[str]:
    for dataset in results.datasets:
        entry = dataset.entry(title)
        for split, cell in entry.cells.items() if entry else ():
            if address := linked(cell.run_id):
                yield f"- [{markdown(dataset.title)}, split {split}]({address})"
