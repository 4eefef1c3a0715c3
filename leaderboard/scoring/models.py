"""Predictions of a model in MLflow, which MLflow loads in a process of its own."""

import base64
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from benchmark.data import parquet
from benchmark.errors import UserError
from benchmark.store.opening import uri
from leaderboard.scoring import files
from leaderboard.scoring.files import Table

Environment = Literal["local", "virtualenv", "uv"]
EXAMPLE, TRUTH = "example_id", "y_true"
PLAIN = re.compile(r"^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$")
"""A number that is written as one, unlike the text 001."""
BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
CAUSE = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*")
"""The line of a traceback that names an exception."""
MISMATCH = re.compile(r"^ - (.+ \(current: .+\))$", re.MULTILINE)
"""A line of MLflow's warning about the versions of libraries."""


@dataclass(frozen=True)
class Data:
    """Rows to predict for: the columns of a file, of which ``ids`` and ``truth`` are no input of a model, if there."""

    source: str
    inputs: dict[str, list[Any]]
    ids: list[Any] | None
    truth: list[Any] | None
    n: int


def data_of(path: Path, target: str = "") -> Data:
    """Read rows from a table; ``example_id``, ``y_true`` and ``target``, the truth, are no input of a model.

    What has no types, such as a CSV, stays text until the signature of a model says what it is. Raises UserError for a
    file that cannot be read or has no such column, and for an empty one.
    """
    try:
        typed = files.is_parquet(path)
        read = pa.Table.from_batches(parquet.batches(path)) if typed else files.texts_of(path, str(path))[0]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UserError(f"{path}: cannot be read as a table: {error}") from error
    names = read.column_names
    if target and target not in names:
        raise UserError(f"{path}: no column {target!r} (--target); its columns: {', '.join(names)}")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{path}: several columns are called {twice!r}: rename those that are not meant")
    if not read.num_rows:
        raise UserError(f"{path}: has a header and no rows: expected a row for each prediction")
    columns = read.to_pydict()
    truth = target or TRUTH
    inputs = {name: values for name, values in columns.items() if name not in {EXAMPLE, TRUTH, truth}}
    if not inputs:
        raise UserError(f"{path}: no input for a model: its columns are {', '.join(names)}")
    return Data(str(path), inputs, columns.get(EXAMPLE), columns.get(truth), read.num_rows)


def inputs_of(model: str, data: Data, signature: Mapping[str, str] | None) -> dict[str, list[Any]]:
    """Return the columns that a model reads, of the types in its ``signature``.

    A model without a signature gets every column; in a CSV, those with nothing but numbers, none of which begins with a
    superfluous zero, are numbers. Raises UserError for a column that is not there, and for the row of a value that is
    not of its type.
    """
    if signature is None:
        return {name: _guessed(values) for name, values in data.inputs.items()}
    if missing := [name for name in signature if name not in data.inputs]:
        raise UserError(
            f"{model}: its signature has the columns {', '.join(missing)}, which {data.source} lacks; it has "
            f"{', '.join(data.inputs)}"
        )
    return {
        name: [_typed(data, name, kind, value, row) for row, value in enumerate(data.inputs[name], 1)]
        for name, kind in signature.items()
    }


def _guessed(values: list[Any]) -> list[Any]:
    filled = [value for value in values if value is not None]
    if not filled or not all(isinstance(value, str) and PLAIN.match(value) for value in filled):
        return values
    whole = all(value.lstrip("-").isdigit() for value in filled) and len(filled) == len(values)
    return [None if value is None else int(value) if whole else float(value) for value in values]


def _typed(data: Data, name: str, kind: str, value: Any, row: int) -> Any:
    try:
        if kind in ("integer", "long"):
            if value is not None and float(value) == int(float(value)):
                return int(value) if isinstance(value, str | int) else int(float(value))
        elif kind in ("float", "double"):
            return None if value is None or value != value else float(value)
        elif kind == "boolean":
            if str(value).lower() in BOOLEANS:
                return BOOLEANS[str(value).lower()]
        else:
            return str(value) if kind == "string" and value is not None else value
    except (TypeError, ValueError, OverflowError):
        pass
    raise UserError(
        f"{data.source}, row {row}, column {name!r}: the signature of the model has {kind}, found "
        f"{'nothing' if value is None or value != value else repr(value)}"
    )


def where(environment: Environment) -> str:
    """Describe the environment in which a model predicts."""
    if environment == "local":
        here = f"Python {platform.python_version()}, mlflow {version('mlflow')}, {sys.prefix}"
        return f"mlflow.pyfunc in a process of its own, in this environment ({here})"
    return f"mlflow.pyfunc in an environment that {environment} makes from the model's own requirements"


def predict(model: str, data: Data, environment: Environment, store: str = "") -> tuple[Table, list[str]]:
    """Let the model at the address ``model`` predict for ``data``; also return which library versions differ.

    It is ``mlflow models predict``; numbers reach the model and come back without rounding. Raises UserError, with the
    cause, for a model that cannot be loaded or fails, and for an output that is no class, probabilities or value for
    each row.
    """
    address = store or uri()
    from benchmark.store.logged import signature  # MLflow takes seconds to import

    inputs = inputs_of(model, data, signature(model, address))
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "input.json", Path(folder) / "output.json"
        rows = list(zip(*inputs.values(), strict=True))
        given.write_text(
            json.dumps({"dataframe_split": {"columns": [*inputs], "data": rows}}, default=_plain), encoding="utf-8"
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
    return table_of(model, output, data.ids, data.truth, data.n), MISMATCH.findall(done.stdout)


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


def table_of(model: str, output: Any, ids: Sequence[Any] | None, truth: Sequence[Any] | None, n: int) -> Table:
    """Return what a model has predicted for ``n`` examples as a table, from its output as MLflow writes it as JSON.

    One value for each example is a class or a regression value, C of them are probabilities, and a table is read by
    the names of its columns. Raises UserError for anything else.
    """
    import pandas as pd  # slow, and a gate of tables does without

    for row, said in enumerate(output if isinstance(output, list) else [], 1):
        if isinstance(said, dict) and said.get("reason") and said.get("prediction") is None:  # a model of the suite
            raise UserError(f"{model}: row {row} has no prediction: {said['reason']}: correct the row, or remove it")
    try:
        table = pd.DataFrame(output)
    except ValueError:
        table = pd.DataFrame()
    if len(table) != n or not len(table.columns):
        shown = json.dumps(output)[:100]
        raise UserError(f"{model}: expected a class, probabilities or a value for each of {n} rows, found {shown}")
    if isinstance(output, list) and not isinstance(output[0], dict):
        table.columns = [f"p{c}" for c in table.columns]
    if len(table.columns) == 1:
        table.columns = ["y_pred"]
    columns = {  # pandas writes what is missing as nan, which is no text
        str(name): [None if value != value else value for value in values.tolist()]
        for name, values in table.items()
        if name not in {EXAMPLE, TRUTH}
    }
    columns |= {EXAMPLE: list(range(1, n + 1)) if ids is None else list(ids)}
    columns |= {} if truth is None else {TRUTH: list(truth)}
    return files.table(model, columns.items(), output=True)


def _plain(value: Any) -> Any:
    """Write a value that JSON lacks as MLflow expects it."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
