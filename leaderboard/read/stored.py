"""Results from an MLflow store or a folder of exported results."""

from collections.abc import Mapping
from dataclasses import replace
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
        also = "; churn board shows the published results alone" if among_published else ""
        raise UserError(f"there is no tracking store at {missing}: create one with churn run, or give --store{also}")
    from benchmark.store.tracking import Store

    tracking = Store(store)
    newest_first: list[Cell] = []
    reports: dict[str, Mapping[str, str]] = {}
    for cell in tracking.cells():
        reports[cell.key.dataset] = reports.get(cell.key.dataset) or cell.reports
        newest_first.append(replace(cell, reports={}))
    records = tracking.records()  # also adds to what is unreadable
    results = whole(newest_first, tracking.uri, [*tracking.unreadable, *tracking.failures()], records)
    health, groups = (
        {dataset: texts[name] for dataset, texts in reports.items() if name in texts}
        for name in ("health.txt", "groups.csv")
    )
    return with_groups(results, groups), health
