"""Where predictions come from: files, tables that runs in MLflow have logged, and models to predict with."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from benchmark.data import parquet
from benchmark.errors import UserError
from leaderboard.scoring import readers
from leaderboard.scoring.review import together
from leaderboard.scoring.runs import Runs

if TYPE_CHECKING:
    from benchmark.store.logged import Table

RUN, MODEL = "runs:/", "models:/"
TABLES = (".parquet", ".csv", ".json")
"""How the path of an artifact that is a table ends; any other artifact is taken for a model."""


def is_model(source: str) -> bool:
    """Return whether ``source`` is a model: ``models:/name/3``, ``models:/name@alias`` or ``runs:/<run id>/model``."""
    artifact = source.removeprefix(RUN).partition("/")[2] if source.startswith(RUN) else ""
    return source.startswith(MODEL) or bool(artifact and PurePosixPath(artifact).suffix not in TABLES)


def read(
    sources: Sequence[str],
    kind: str = "",
    truth: Path | None = None,
    experiment: str = "",
    table: str = "",
    query: str = "",
    store: str = "",
) -> tuple[Runs, int]:
    """Read predictions from tables, and return them with the number of an experiment's runs that have none.

    ``sources`` are files or, in the MLflow store at the address ``store``, ``runs:/<run id>`` and
    ``runs:/<run id>/<artifact>``; or they are empty, and the finished runs of ``experiment`` that meet ``query`` are
    read. ``table`` is the artifact of runs whose address names none, by default the only table of each. A single table
    may hold several runs; of several tables, each is one run, on the same examples: those of the same id or, where
    tables of MLflow have no ids, of the same row. Raises UserError for anything that cannot be read or differs.
    """
    with tempfile.TemporaryDirectory() as folder, parquet.one_process():
        paths, left_out = _paths(sources, experiment, table, query, store, Path(folder))
        found = []
        for name, path, logged in paths:
            with called(name, path):
                found.append(replace(readers.read(path, kind, truth, ordered=logged is not None), source=name))
    if len(found) == 1:
        return found[0], left_out
    for runs in found:
        if len(runs.names) > 1:
            raise UserError(
                f"{runs.source}: found {len(runs.names)} runs ({', '.join(runs.names[:3])}, …): if you give "
                "several tables, each must hold one run"
            )
    names = [name if logged is None else logged.run_id for name, _, logged in paths]
    if repeated := next((name for i, name in enumerate(names) if name in names[:i]), ""):
        raise UserError(f"{repeated} is given twice: give the table of each run once")
    whole = f"the experiment {experiment!r}" if experiment else f"{len(found)} tables"
    return together(found, names, whole), left_out


def _paths(
    sources: Sequence[str], experiment: str, table: str, query: str, store: str, folder: Path
) -> tuple[list[tuple[str, Path, "Table | None"]], int]:
    """Return the name and the local file of each table, and the number of runs without one."""
    if not experiment and not any(source.startswith(RUN) for source in sources):
        return [(source, Path(source), None) for source in sources], 0
    from benchmark.store.logged import Logged  # MLflow takes seconds to import

    logged = Logged(store, folder)
    left_out = 0
    if experiment:
        tables, left_out = logged.experiment(experiment, table, query)
        if not tables:
            what = f"logged {table}" if table else "logged a table (Parquet, CSV, or JSON by mlflow.log_table)"
            more = f" that meets --filter {query!r}" if query else ""
            raise UserError(f"experiment {experiment!r}: no finished run{more} has {what} ({left_out} looked at)")
        return [(found.uri, found.path, found) for found in tables], left_out
    paths: list[tuple[str, Path, Table | None]] = []
    for source in sources:
        if source.startswith(RUN):
            found = logged.table(source, table)
            paths.append((found.uri, found.path, found))
        else:
            paths.append((source, Path(source), None))
    return paths, 0


@contextmanager
def called(name: str, path: Path) -> Iterator[None]:
    """Call the file ``path``, whose own name says nothing to the user, by ``name`` in errors."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace(str(path), name)) from error
