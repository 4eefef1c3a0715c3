"""Sources of predictions: files, tables that runs in MLflow have logged, and models to predict with."""

import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from benchmark.data import parquet
from benchmark.errors import UserError
from leaderboard.scoring import files, readers
from leaderboard.scoring.files import Table
from leaderboard.scoring.roles import Options
from leaderboard.scoring.runs import Runs, together

RUN, MODEL = "runs:/", "models:/"
TABLES = (".parquet", ".csv", ".json")
"""Ends of the paths of artifacts that are tables; any other artifact is taken for a model."""


def is_model(source: str) -> bool:
    """Return whether ``source`` is a model: ``models:/name/3``, ``models:/name@alias`` or ``runs:/<run id>/model``."""
    artifact = source.removeprefix(RUN).partition("/")[2] if source.startswith(RUN) else ""
    return source.startswith(MODEL) or bool(artifact and PurePosixPath(artifact).suffix.lower() not in TABLES)


def tables(
    sources: Sequence[str], store: str = "", experiment: str = "", table: str = "", query: str = ""
) -> tuple[list[tuple[str, Table]], int]:
    """Return the names of runs and their tables, and the number of an experiment's runs that have none.

    ``sources`` are files or, in the MLflow store at the address ``store``, ``runs:/<run id>`` and
    ``runs:/<run id>/<artifact>``; or they are empty, and the finished runs of ``experiment`` that meet ``query`` are
    read. ``table`` is the artifact of runs whose address names none, by default the only table of each.
    """
    for source in filter(is_model, sources):
        raise UserError(f"{source} is a model: expected a table of predictions; gate compares models")
    with tempfile.TemporaryDirectory() as folder, parquet.one_process():
        if not experiment and not any(source.startswith(RUN) for source in sources):
            return [(source, files.read(Path(source))) for source in sources], 0
        from benchmark.store.logged import Logged  # MLflow takes seconds to import

        logged, left_out = Logged(store, Path(folder)), 0
        given = [logged.table(source, table) if source.startswith(RUN) else source for source in sources]
        if experiment:
            every, left_out = logged.experiment(experiment, table, query)
            given = [*every]
            if not given:
                what = f"logged {table}" if table else "logged a table (Parquet, CSV, or JSON by mlflow.log_table)"
                more = f" that meets --filter {query!r}" if query else ""
                raise UserError(f"experiment {experiment!r}: no finished run{more} has {what} ({left_out} looked at)")
        return [
            (one, files.read(Path(one)))
            if isinstance(one, str)
            else (one.run_id, files.read(one.path, one.uri, ordered=True))
            for one in given
        ], left_out


def read(
    sources: Sequence[str],
    options: Options | None = None,
    store: str = "",
    experiment: str = "",
    table: str = "",
    query: str = "",
) -> tuple[Runs, int]:
    """Read retrainings of one model from ``tables``, and return them with the number of runs without a table.

    A single table may hold several runs; of several tables, each is one run, on the same examples: those of the same
    id or, where tables of MLflow have no ids, of the same row. Raises UserError for anything that cannot be read or
    differs.
    """
    named, left_out = tables(sources, store, experiment, table, query)
    names = [name for name, _ in named]
    if repeated := next((name for i, name in enumerate(names) if name in names[:i]), ""):
        raise UserError(f"{repeated} is given twice: give the table of each run once")
    every = readers.read([one for _, one in named], options or Options())
    if len(every) == 1:
        return every[0], left_out
    for runs in every:
        if len(runs.names) > 1:
            raise UserError(
                f"{runs.source}: found {len(runs.names)} runs ({', '.join(runs.names[:3])}, …): if you give "
                "several tables, each must hold one run"
            )
    return together(every, f"the experiment {experiment!r}" if experiment else f"{len(every)} tables", names), left_out
