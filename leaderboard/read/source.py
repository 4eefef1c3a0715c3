"""Results from wherever they are: an MLflow store, or a folder of exported ones."""

from __future__ import annotations

from pathlib import Path

from benchmark.errors import UserError
from benchmark.store.cell import Cell, Record
from leaderboard.read import published
from leaderboard.read.results import Results, collect, with_groups


def read(store: str = "", among_published: bool = False) -> tuple[Results, dict[str, str]]:
    """The results in an MLflow store or a folder of exported ones, and the health reports of their datasets.

    If they are to stand ``among_published`` ones, those of the same datasets are added: see ``published.among``.
    """

    def whole(cells: list[Cell], source: str, unreadable: list[str], records: list[Record]) -> Results:
        if among_published:
            cells, said = published.among(cells)
            source, unreadable = f"{source}, {published.PUBLISHED}", [*unreadable, *said]
        return collect(cells, source, unreadable, records)

    if store and Path(store).is_dir():
        return whole(published.read(Path(store)), store, [], published.records(Path(store))), {}
    if store and "://" not in store and store != "databricks":
        example = "sqlite:///mlflow.db or http://127.0.0.1:5000"
        raise UserError(f"{store}: no such folder; give one of exported results, or an MLflow address as {example}")
    from benchmark.store.tracking import Store, nothing_at

    if missing := nothing_at(store):
        raise UserError(f"there is no tracking store at {missing}: python -m benchmark run makes one; or give --store")
    found = Store(store)
    cells, records = list(found.cells()), found.records()
    results = whole(cells, found.uri, [*found.unreadable, *found.failures()], records)
    runs = {d.name: [cell.run_id for entry in d.entries for cell in entry.cells.values()] for d in results.datasets}
    first = {name: next(filter(None, ids), "") for name, ids in runs.items()}  # published cells have no run
    health = {name: found.report(run_id, "health.txt") for name, run_id in first.items() if run_id}
    groups = {name: found.report(run_id, "groups.csv") for name, run_id in first.items() if run_id}
    return with_groups(results, groups), health
