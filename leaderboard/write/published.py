"""Writer of results as files; ``leaderboard.read.published`` describes the folder."""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.data.checks.expected_churn import FILE
from benchmark.errors import UserError
from benchmark.files import inside, named, program
from benchmark.measure.matched import positives
from benchmark.store.cell import Cell, encode
from benchmark.store.folder import SUMS, sums
from benchmark.store.staging import replacing
from benchmark.types import PAPER, Predictions
from leaderboard.read import closest, structures
from leaderboard.read.jobs import Job, digest, made
from leaderboard.read.published import FORMATS, WIDTHS, column_of, file_of, gather
from leaderboard.read.results import Results
from leaderboard.tables import churn_lines, studies
from leaderboard.tables.boards import boards, to_table
from leaderboard.tables.entries import build, stamp
from leaderboard.tables.table import Table
from leaderboard.write.formats import to_csv, to_json
from leaderboard.write.latex import to_latex

BITS = 6
"""Binary digits of predictions; with all 24, a pipeline's AUROC on a test set would differ by .0001 on average and .001
at most, and the calls of churn, matched churn and accuracy not at all."""
SHARED = ("dataset", "rows", "class_rows", "fingerprints", "versions", "device", "recipe", "modified")
"""Facts that many cells have in common."""


def write(results: Results, folder: Path, tables: bool = True, complete: bool = True) -> None:
    """Write the cells of ``results`` to ``folder``, replacing it atomically.

    ``tables`` adds tables, ``complete`` or not (see ``write_tables``), and what health reports go by
    (``expected.json``), made from the predictions alone and, for the properties of datasets, from local data. Raises
    UserError if ``folder`` holds anything but results, and if writing fails.
    """
    folder = folder.resolve()
    if other := _of_no_export(folder):
        raise UserError(
            f"{folder} holds {other}, which no export has written, and would be replaced: choose another folder"
        )
    parts = results.every
    cells = [cell for part in parts for dataset in part.datasets for cell in dataset.cells]
    # Files do not record which cell is newer, hence one cell of each kind.
    seeds = {cell.key.kind: set(cell.key.seeds) for cell in cells}
    of_studies = [cell for part in parts for cell in part.of_studies]
    cells += [c for c in of_studies if not set(c.key.seeds) <= seeds.get(c.key.kind, set())]
    cells.sort(key=lambda cell: (file_of(cell.key), cell.key.method, column_of(cell.key)))
    try:
        with replacing(folder) as new:
            (new / "predictions").mkdir()
            hashes = {}
            of_files = {name: list(of_split) for name, of_split in groupby(cells, lambda cell: file_of(cell.key))}
            contents = made(Job(_name(of_split), _parquet, (of_split,)) for of_split in of_files.values())
            for name, content in zip(of_files, contents, strict=True):
                path = inside(new, name)
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
                hashes[name] = hashlib.sha256(content).hexdigest()
            heads = [encode(c) | {"n_outputs": next(iter(c.predictions.values())).values.shape[2]} for c in cells]
            records = sorted(
                (asdict(record) for record in results.records), key=lambda r: (r["study"], r["key"], str(r))
            )
            shared = _shared(heads)
            manifest = {"format": FORMATS[-1], "suite": __version__, "files": hashes, "shared": shared, "cells": heads}
            manifest["records"] = records
            (new / "manifest.json").write_text(_by_line(manifest), encoding="utf-8")
            if molecules := dict(structures.to_ship([c.key.dataset for c in cells])):
                (new / structures.FILE).write_bytes(pack(molecules))
            if tables:
                rounded = gather(new)
                (new / FILE).write_text(churn_lines.content(rounded), encoding="utf-8")
                every = (d for part in rounded.by_sampling for d in part.datasets)
                if found := dict(closest.search((d, structures.molecules(d)) for d in every)):
                    (new / closest.FILE).write_bytes(closest.pack(found))
                for part in rounded.by_sampling:
                    place = new / "tables" / ("" if part.sampling == PAPER else part.sampling)
                    write_tables(part, place, complete)
            (new / SUMS).write_text(sums(new), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the results to {folder}: {error}") from error


def _of_no_export(folder: Path) -> str:
    """Return the name of something in ``folder`` that the ``SHA256SUMS`` of an export do not list; empty if none is."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    listed = {SUMS}
    if "manifest.json" in paths and SUMS in paths:  # other folders have one of them
        listed |= {line.partition("  ")[2] for line in paths[SUMS].read_text("utf-8", "replace").splitlines()}
    return next((name for name in sorted(paths) if name not in listed and not paths[name].is_dir()), "")


def pack(molecules: Mapping[str, structures.Molecules]) -> bytes:
    """Return the file of ``leaderboard.read.structures`` with the molecules of some datasets, by name."""
    parts = [
        pd.DataFrame({"dataset": name, "smiles": some.smiles, "y": some.y.astype(np.float32)})
        for name, some in molecules.items()
    ]
    content = io.BytesIO()
    table = pd.concat(parts, ignore_index=True).astype({"dataset": "category"})
    table.to_parquet(content, index=False, compression="zstd", compression_level=19)
    return content.getvalue()


def write_tables(results: Results, folder: Path, complete: bool = True) -> None:
    """Write the tables of the boards and studies under one sampling as CSV and JSON.

    Where they are ``complete``, these tables are there in LaTeX too, and the boards of single datasets in a folder
    ``datasets``. ``churn build`` makes both from the predictions.
    """
    (folder / "datasets" if complete else folder).mkdir(parents=True, exist_ok=True)
    of_studies = [
        studies.table(study, sheet) for study in studies.rendered(results)[0] for sheet in study.report.sheets
    ]
    for table in [*build(results), *of_studies]:
        if complete:
            inside(folder, f"{table.key}.tex").write_text(to_latex(table, stamp(results, table)), encoding="utf-8")
        _write(table, folder)
    for board in boards(results) if complete else ():
        _write(to_table(board), folder / "datasets")


def _write(table: Table, folder: Path) -> None:
    for suffix, text in (("csv", to_csv(table)), ("json", to_json(table))):
        inside(folder, f"{table.key}.{suffix}").write_text(text, encoding="utf-8")


def _name(cells: Sequence[Cell]) -> str:
    versions = [version("pyarrow"), version("pandas")]
    return named("predictions", [program("leaderboard.write"), versions, [digest(cell) for cell in cells]], ".parquet")


def _parquet(cells: Sequence[Cell]) -> bytes:
    """Return the file of all cells of one split; cells on the same data share their examples."""
    first = cells[0].predictions
    y = np.concatenate([p.y for p in first.values()])
    columns = {
        "evalset": pa.array(np.concatenate([np.full(len(p.ids), name, dtype=object) for name, p in first.items()])),
        "example_id": pa.array(np.concatenate([p.ids.astype(object) for p in first.values()])),
        "y_true": pa.array(y),
    }
    spread = float(np.std(y.astype(np.float64)))
    parts = {}
    for cell in cells:
        tests = [packed_outputs(p, spread) for p in cell.predictions.values()]
        parts[column_of(cell.key)] = np.concatenate(tests, axis=1).swapaxes(0, 1).reshape(len(y), -1)
    packed = np.concatenate([*parts.values()], axis=1)
    columns["outputs"] = pa.FixedSizeListArray.from_arrays(pa.array(packed.ravel()), packed.shape[1])
    widths = json.dumps({name: part.shape[1] for name, part in parts.items()})
    content = io.BytesIO()
    pq.write_table(
        pa.table(columns, metadata={WIDTHS: widths}),
        content,
        compression="brotli",  # a twentieth smaller than zstd
        compression_level=11,
        use_dictionary=["evalset", "example_id"],
        use_byte_stream_split=["outputs.list.element"],  # exponents are alike
        write_statistics=False,
    )
    return content.getvalue()


def packed_outputs(p: Predictions, spread: float) -> np.ndarray:
    """Return outputs (S, T, C) as they are stored, of float32 at the precision that statistics need.

    Of two outputs it is the smaller (S, T, 1), with ``BITS`` binary digits, negated if it is that of class 0, and with
    more in a retraining whose outputs differ little. It is off by at most 2^-BITS of itself, or a few times that at the
    cut of matched churn: the predicted class stays, and who is above, at and below the cut. A single output is rounded
    to a multiple of a power of two, the largest that is at most 2^-BITS of ``spread``, the standard deviation of the
    labels. Others stay.
    """
    outputs = p.values.shape[2]
    if outputs == 1 and spread > 0:
        step = 2.0 ** (np.floor(np.log2(spread)) - BITS)
        return (np.round(p.values.astype(np.float64) / step) * step).astype(np.float32)
    if outputs != 2:
        return p.values.astype(np.float32)
    zero, one = np.moveaxis(p.values.astype(np.float32), 2, 0)
    exact, smaller, k = None, np.minimum(zero, one), positives(p)
    while exact is None or (smaller != exact).any():  # until what is read again is written the same
        exact, smaller = smaller, _rounded(smaller, one > zero, k)
    return np.where(one > zero, -smaller, smaller)[..., None]


def _rounded(smaller: np.ndarray, of_zero: np.ndarray, k: int) -> np.ndarray:
    """Return ``smaller`` probabilities (S, T), each ``of_zero``, class 0, or of class 1, as ``packed_outputs`` does."""
    varies = smaller.std(axis=1, keepdims=True) / smaller.mean(axis=1, keepdims=True).clip(min=1e-30)
    more = np.ceil(-np.log2(4 * varies.clip(min=1e-4))).clip(min=0)  # none if the standard deviation is a quarter
    half, shift = np.float32(0.5).view(np.int32), (24 - BITS - more).astype(np.int32)
    last = half >> shift  # the last level of class 0

    def mirrored(bits: np.ndarray, middle: np.ndarray | np.int32) -> np.ndarray:
        return np.where(of_zero, 2 * middle - bits, bits)

    exact = mirrored(smaller.view(np.int32), half)  # the bits of a positive float are in its order
    level = (exact + (1 << (shift - 1))) >> shift
    level = np.where(of_zero, np.maximum(level, last + 1), np.minimum(level, last))
    cut = np.partition(exact, -k, axis=1)[:, [-k]]
    above, below = exact > cut, exact < cut
    at = np.where(above | below, 0, level).max(axis=1, keepdims=True)
    at += (at == last + 1) & (below & (level == at)).any(axis=1, keepdims=True)
    at -= (at == last) & (above & (level == at)).any(axis=1, keepdims=True)
    level = np.where(above, np.maximum(level, at + 1), np.where(below, np.minimum(level, at - 1), at))
    return (mirrored(level, last) << shift).view(np.float32)


def _shared(heads: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Take the ``SHARED`` facts out of encoded cells, and return each set of them once, by the name in its cells."""
    shared: dict[str, dict[str, Any]] = {}
    for head in heads:
        facts = {name: head["facts"].pop(name) for name in SHARED if name in head["facts"]}
        head["shared"] = hashlib.sha256(json.dumps(facts, default=dict).encode()).hexdigest()[:8]
        shared[head["shared"]] = facts
    return shared


def _by_line(manifest: dict[str, Any]) -> str:
    """Return JSON with a line for each file, fact, cell and record, so that diffs are local."""

    def line(value: Any) -> str:
        return json.dumps(value, default=dict, ensure_ascii=False, separators=(",", ":"))

    parts = []
    for name, value in manifest.items():
        if isinstance(value, list):
            text = "[\n{}\n]".format(",\n".join(map(line, value)))
        elif isinstance(value, dict):
            text = "{{\n{}\n}}".format(",\n".join(f"{line(key)}:{line(of)}" for key, of in value.items()))
        else:
            text = line(value)
        parts.append(f"{line(name)}:{text}")
    return "{" + ",\n".join(parts) + "}\n"
