"""Results from an MLflow store or a folder of exported results."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

from benchmark.errors import UserError
from benchmark.store.cell import Cell, Record
from leaderboard.read import published
from leaderboard.read.results import Results, collect, with_groups


def read(store: str = "", among_published: bool = False) -> tuple[Results, dict[str, str]]:
    """Read the results in an MLflow store or a folder of exported results, and the health reports of their datasets.

    ``among_published`` adds the published results of the same datasets: see ``published.among``.
    """

    def whole(cells: list[Cell], source: str, unreadable: list[str], records: list[Record]) -> Results:
        if among_published:
            cells, messages = published.among(cells)
            source, unreadable = f"{source}, {published.PUBLISHED}", [*unreadable, *messages]
        return collect(cells, source, unreadable, records)

    if store and Path(store).is_dir():
        cells, records, unreadable = published.contents(Path(store))
        return whole(cells, store, unreadable, records), {}
    if store and "://" not in store and store != "databricks":
        examples = "sqlite:///mlflow.db or http://127.0.0.1:5000"
        raise UserError(f"{store}: no such folder; give one with exported results, or an MLflow URI such as {examples}")
    from benchmark.store.opening import nothing_at

    if missing := nothing_at(store):
        raise UserError(f"there is no tracking store at {missing}: create one with churn run, or give --store")
    from benchmark.store.tracking import Store

    tracking = Store(store)
    cells, records = list(tracking.cells()), tracking.records()
    unreadable, tracking.unreadable = tracking.unreadable, []
    results = whole(cells, tracking.uri, [*unreadable, *tracking.failures()], records)
    runs: dict[str, list[str]] = {}
    for d in chain.from_iterable(part.datasets for part in results.by_sampling):
        runs.setdefault(d.name, []).extend(cell.run_id for entry in d.entries for cell in entry.cells.values())
    first = {name: next(filter(None, ids), "") for name, ids in runs.items()}  # published cells have no run
    health = {name: tracking.report(run_id, "health.txt") for name, run_id in first.items() if run_id}
    groups = {name: tracking.report(run_id, "groups.csv") for name, run_id in first.items() if run_id}
    results = replace(results, unreadable=(*results.unreadable, *tracking.unreadable))
    return with_groups(results, groups), health
