"""The one form of a cell on disk: a folder, which waits in the outbox and is then the artifact ``cell`` of a run.

``cell.json`` holds the key, the title, the CPU seconds of one retraining, and the facts. Each test set has a Parquet
file with a row per retraining and example (see ``benchmark.store.tables``), and each report on the data a text.
``SHA256SUMS`` has the sha256 of every other file, as ``sha256sum -c`` reads it.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pydantic_core import from_json

from benchmark.store.cell import Cell, decode, encode
from benchmark.store.staging import of_system
from benchmark.store.tables import from_table, read_table, write_table
from benchmark.types import Predictions

CELL = "cell"
"""Folder of a run's artifacts that holds its cell."""
HEAD, SUMS, TABLE = "cell.json", "SHA256SUMS", ".parquet"


def save(cell: Cell, folder: Path) -> None:
    """Write ``cell`` into the empty ``folder``. Raises OSError."""
    for test, predictions in cell.predictions.items():
        write_table(predictions, folder / f"{test}{TABLE}")
    for name, text in cell.reports.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / HEAD).write_text(json.dumps(encode(cell), default=dict, indent=1) + "\n", encoding="utf-8")
    (folder / SUMS).write_text(sums(folder), encoding="utf-8")


def sums(folder: Path) -> str:
    """Return the content of ``SUMS`` for the files that ``folder`` has now, at any depth."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return "".join(f"{_sha256(paths[name].read_bytes())}  {name}\n" for name in sorted(paths) if name != SUMS)


def load(folder: Path, digest: str = "", run_id: str = "") -> Cell:
    """Return the cell in ``folder``, recorded as the run ``run_id``.

    Raises ValueError, naming the file, if a file is missing, was added or has changed, for a cell with another digest
    than ``digest``, and as ``decode`` does.
    """
    found = (file for file in sorted(folder.glob("*")) if file.is_file())
    files = {file.name: file.read_bytes() for file in found if not of_system(file.name)}
    if HEAD not in files:
        raise ValueError(f"its files are gone: there is no {folder / HEAD}")
    if SUMS in files:
        _verify(files)
    head = from_json(files[HEAD])
    if not isinstance(head, dict):
        raise ValueError(f"{HEAD}: expected the fields of a cell, found {str(head)[:80]!r}")
    if SUMS not in files:
        if "reports" not in head:  # as in the outbox of version 0.1.0, which wrote no checksums
            raise ValueError(f"{SUMS}: no such file")
        return decode(head, _predictions(files), run_id, head["reports"], digest)
    texts = {name: text.decode() for name, text in files.items() if not name.endswith((HEAD, SUMS, TABLE))}
    return decode(head, _predictions(files), run_id, texts, digest)


def _predictions(files: Mapping[str, bytes]) -> dict[str, Predictions]:
    tables = {name.removesuffix(TABLE): content for name, content in files.items() if name.endswith(TABLE)}
    return {test: from_table(read_table(content)) for test, content in tables.items()}


def _verify(files: Mapping[str, bytes]) -> None:
    lines = (line.partition("  ") for line in files[SUMS].decode().splitlines())
    expected = {name: f"sha256 {digest}" for digest, _, name in lines}
    actual = {name: f"sha256 {_sha256(content)}" for name, content in files.items() if name != SUMS}
    for name in sorted({**expected, **actual}):
        if actual.get(name) != expected.get(name):
            missing = "no such file"
            raise ValueError(f"{name}: {actual.get(name, missing)}, expected {expected.get(name, missing)}")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
