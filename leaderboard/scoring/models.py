"""Predictions of a model in MLflow, which MLflow loads in a process of its own."""

import base64
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv

from benchmark.data import parquet
from benchmark.errors import UserError
from benchmark.store.opening import nothing_at, uri
from leaderboard.scoring import readers
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.sources import called

Environment = Literal["local", "virtualenv", "uv"]
EXAMPLE, TRUTH = "example_id", "y_true"
CAUSE = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*")
"""The line of a traceback that names an exception."""
MISMATCH = re.compile(r"^ - (.+ \(current: .+\))$", re.MULTILINE)
"""A line of MLflow's warning about the versions of libraries."""


@dataclass(frozen=True)
class Data:
    """Rows to predict for: the model's input as columns, with the ids and true values of the examples, if known."""

    source: str
    inputs: dict[str, list[Any]]
    ids: list[Any] | None
    truth: list[Any] | None
    n: int


def data_of(path: Path, target: str = "") -> Data:
    """Read rows from Parquet or CSV; ``example_id``, ``y_true`` and ``target``, the truth, are no input of a model.

    Raises UserError for a file that cannot be read or has no such column, and for an empty one.
    """
    try:
        table = pa.Table.from_batches(parquet.batches(path)) if path.suffix == ".parquet" else pa.csv.read_csv(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as Parquet (.parquet) or CSV (any other name): {error}") from error
    names = table.column_names
    if target and target not in names:
        raise UserError(f"{path}: no column {target!r} (--target); its columns: {', '.join(names)}")
    if not table.num_rows or len(set(names)) < len(names):
        raise UserError(f"{path}: expected rows to predict for, in columns with distinct names")
    columns = table.to_pydict()
    truth = target or TRUTH
    inputs = {name: values for name, values in columns.items() if name not in {EXAMPLE, TRUTH, truth}}
    if not inputs:
        raise UserError(f"{path}: no input for a model: its columns are {', '.join(names)}")
    return Data(str(path), inputs, columns.get(EXAMPLE), columns.get(truth), table.num_rows)


def where(environment: Environment) -> str:
    """Describe the environment in which a model predicts."""
    if environment == "local":
        here = f"Python {platform.python_version()}, mlflow {version('mlflow')}, {sys.prefix}"
        return f"mlflow.pyfunc in a process of its own, in this environment ({here})"
    return f"mlflow.pyfunc in an environment that {environment} makes from the model's own requirements"


def predict(
    model: str, data: Data, environment: Environment, kind: str = "", truth: Path | None = None, store: str = ""
) -> tuple[Runs, list[str]]:
    """Let the model at the address ``model`` predict for ``data``; also return which library versions differ.

    It is ``mlflow models predict``; numbers reach the model and come back without rounding. ``kind`` and ``truth`` are
    as in ``readers.read``. Raises UserError, with the cause, for a model that cannot be loaded or fails, and for an
    output that is no class, probabilities or value for each row.
    """
    address = store or uri()
    if missing := nothing_at(address):  # MLflow would create it
        raise UserError(f"there is no tracking store at {missing}: give the address of yours with --tracking-uri")
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "input.json", Path(folder) / "output.json"
        rows = list(zip(*data.inputs.values(), strict=True))
        given.write_text(
            json.dumps({"dataframe_split": {"columns": [*data.inputs], "data": rows}}, default=_plain), encoding="utf-8"
        )
        words = ["--model-uri", model, "--input-path", str(given), "--output-path", str(answer)]
        words += ["--content-type", "json", "--env-manager", environment]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "mlflow", "models", "predict", *words],
            env=os.environ | {"MLFLOW_TRACKING_URI": address, "MLFLOW_DISABLE_TELEMETRY": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode or not answer.is_file():
            raise UserError(
                f"{model}: it could not be loaded or failed to predict for {data.source}\n{cause(done.stdout)}"
            )
        output = json.loads(answer.read_text(encoding="utf-8"))["predictions"]
    runs = runs_of(model, output, data.ids, data.truth, data.n, kind, truth)
    note = f"{runs.columns} Predicted by {where(environment)}."
    return replace(runs, columns=note), MISMATCH.findall(done.stdout)


def cause(said: str) -> str:
    """Return the lines in the output of a process that explain its end: the first exception and the last."""
    lines = [line.strip()[:300] for line in said.splitlines() if line.strip()]
    if not lines:
        return "  no message"
    named = [i for i, line in enumerate(lines) if CAUSE.match(line)] or [len(lines) - 1]
    shown = [named[0], named[-1]]
    if "ShellCommandException" in lines[named[0]]:  # it says which command, the line above said why
        above = next((i for i, line in enumerate(lines) if line.startswith("Traceback (")), 0) - 1
        shown = [max(above, 0), named[0], named[0] + 1]
    return "\n".join(f"  {line}" for line in dict.fromkeys(lines[i] for i in shown if i < len(lines)))


def runs_of(
    model: str,
    output: Any,
    ids: Sequence[Any] | None,
    truth: Sequence[Any] | None,
    n: int,
    kind: str = "",
    outside: Path | None = None,
) -> Runs:
    """Return what a model has predicted for ``n`` examples, from its output as MLflow writes it as JSON.

    One value for each example is a class or a regression value, C of them are probabilities, and a table is read by
    the names of its columns. Raises UserError for anything else.
    """
    columns = _columns(output)
    if columns is None or {len(values) for values in columns.values()} != {n}:
        raise UserError(
            f"{model}: expected a class, probabilities or a value for each of {n} rows, found {_shown(output)}"
        )
    columns = {name: values for name, values in columns.items() if name not in {EXAMPLE, TRUTH}}
    columns |= {EXAMPLE: list(range(1, n + 1)) if ids is None else list(ids)}
    columns |= {} if truth is None else {TRUTH: list(truth)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.json"
        table = {"columns": [*columns], "data": list(zip(*columns.values(), strict=True))}
        path.write_text(json.dumps(table, default=_plain), encoding="utf-8")
        with called(model, path):
            return replace(readers.read(path, kind, outside), source=model)


def _columns(output: Any) -> dict[str, list[Any]] | None:
    """Return the output of a model as columns named as a table of predictions; None if it has no rows."""
    if isinstance(output, dict):
        columns = {str(name): values for name, values in output.items() if isinstance(values, list)}
    elif not isinstance(output, list) or not output:
        return None
    elif all(isinstance(row, dict) for row in output):
        columns = {str(name): [row.get(name) for row in output] for name in output[0]}
    elif all(isinstance(row, list) and len(row) == len(output[0]) for row in output):
        columns = {f"p{c}": [row[c] for row in output] for c in range(len(output[0]))}
    else:
        return {"y_pred": output}
    return {"y_pred": next(iter(columns.values()))} if len(columns) == 1 else columns


def _shown(output: Any) -> str:
    text = json.dumps(output)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _plain(value: Any) -> Any:
    """Write a value that JSON lacks as MLflow expects it."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
