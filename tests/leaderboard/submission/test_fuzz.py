"""Submissions spoilt at random, in bytes and in structure: whatever is in a folder, it is valid or refused.

``FUZZ_ROUNDS=3000 pytest tests/leaderboard/submission/test_fuzz.py`` tries for longer.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.errors import UserError
from leaderboard.submission import check, read
from leaderboard.submission.check import validate

from .conftest import DATASET

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "60"))
FILE = f"predictions/halves/{DATASET}.parquet"
NAMES = ("submission.yml", "manifest.json", FILE)
NASTY: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63 - 1, 2**64, 10**400, 1e308, float("nan"), float("inf"), "", " ", "a\nb", "\0",
    "\ud800", "é", "../x", "/etc/passwd", "99", "1.0", "9" * 5000, [], {}, [[]], {"": ""}, ["a"] * 1000, "<b>",
    "x" * 10**5,
)  # fmt: skip
WORDS = (b"&a ", b"*a", b"!!python/object:os.system ", b"{", b"[", b"? ", b": ", b"|\n", b"<<: ", b"---\n", b"%TAG ",
         b"\xff", b"\xef\xbb\xbf", b"\0", b"\r", b"\t", b"\xe2\x80\xa8", b"1e999", b"NaN", b"'", b"#")  # fmt: skip
Rng = np.random.Generator


def pick(rng: Rng, some: Any) -> Any:
    return some[int(rng.integers(len(some)))]


def spoil_bytes(folder: Path, rng: Rng) -> None:
    path = folder / pick(rng, NAMES)
    content = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(content) + 1))
        kind = rng.integers(5)
        if kind == 0:
            content[at : at + 1] = bytes([rng.integers(256)])
        elif kind == 1:
            content[at:at] = pick(rng, WORDS)
        elif kind == 2:
            del content[at : at + int(rng.integers(1, 50))]
        elif kind == 3:
            content[at:at] = content[at : at + int(rng.integers(1, 200))] * int(rng.integers(1, 4))
        else:
            end = max(0, len(content) - int(rng.integers(1, 600)))  # where Parquet keeps its descriptions
            content[end : end + 1] = bytes([rng.integers(256)])
    path.write_bytes(content)
    if rng.random() < 0.7:
        sign(folder)


def sign(folder: Path) -> None:
    """The manifest of the predictions as they are now, so that its hash is not all that is found."""
    path = folder / "manifest.json"
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        listing = json.loads(path.read_bytes())
        listing["files"][FILE]["sha256"] = hashlib.sha256((folder / FILE).read_bytes()).hexdigest()
        path.write_text(json.dumps(listing))


def spoil_json(folder: Path, rng: Rng) -> None:
    """A value anywhere in the manifest, or in the description (JSON is YAML), becomes a nasty one."""
    path = folder / pick(rng, NAMES[:2])
    whole = json.loads(path.read_text()) if path.suffix == ".json" else read_plain(path)
    at, key = whole, pick(rng, list(whole))
    while isinstance(at[key], dict) and at[key] and rng.random() < 0.8:
        at = at[key]
        key = pick(rng, list(at))
    kind = rng.integers(3)
    if kind == 0:
        del at[key]
    elif kind == 1:
        at[key] = pick(rng, NASTY)
    else:
        at[str(pick(rng, NASTY))] = at[key]
    path.write_text(json.dumps(whole), encoding="utf-8", errors="surrogatepass")


def read_plain(path: Path) -> dict[str, Any]:
    return dict(line.split(": ", 1) for line in path.read_text().splitlines()) | {"authors": ["A"]}


def spoil_table(folder: Path, rng: Rng) -> None:
    table = pq.read_table(folder / FILE)
    name = pick(rng, table.column_names)
    at = table.column_names.index(name)
    column = table[name].to_pylist()
    kind = rng.integers(7)
    if kind == 0:
        column[int(rng.integers(len(column)))] = pick(rng, NASTY)
    elif kind == 1:
        column = [pick(rng, NASTY)] * len(column)
    elif kind == 2:
        rng.shuffle(column)
    elif kind == 3:
        table = table.take(rng.integers(len(table), size=int(rng.integers(len(table)))))
        column = table[name].to_pylist()
    elif kind == 4:
        column = [[value] for value in column]
    elif kind == 5:
        table = table.append_column(str(pick(rng, (*NASTY[15:], "y_pred", name))), table[name])
        column = table[at].to_pylist()
    try:
        made = pa.array(column, pick(rng, (None, None, pa.int64(), pa.int8(), pa.float32(), pa.string(), pa.binary())))
        table = table.set_column(at, name, made) if kind != 6 else table.remove_column(at)
        options = {"compression": pick(rng, ("zstd", "gzip", "none")), "use_dictionary": bool(rng.integers(2))}
        pq.write_table(table, folder / FILE, data_page_version=pick(rng, ("1.0", "2.0")), **options)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # no such column can be written
        return
    listing = json.loads((folder / "manifest.json").read_text())
    listing["files"][FILE]["rows"] = len(table)
    (folder / "manifest.json").write_text(json.dumps(listing))
    sign(folder)


def spoil_paths(folder: Path, rng: Rng) -> None:
    path = folder / pick(rng, (*NAMES, "predictions", "predictions/halves"))
    kind = rng.integers(7)
    if kind in (0, 1):
        path.rename(folder.parent / "aside")
        path.mkdir() if kind else path.symlink_to(folder.parent / "aside")
    elif kind == 2:
        name = str(pick(rng, ("a", "é", "\udcff", "x" * 200, ".x", "a b", "-rf", "..parquet", ".parquet", "\n")))
        (folder / pick(rng, ("", "predictions", "predictions/halves")) / name).write_text("x")
    elif kind == 3:
        os.mkfifo(folder / "predictions" / "halves" / "dili.parquet")
    elif kind == 4:
        path.unlink() if path.is_file() else shutil.rmtree(path)
    elif kind == 5:
        shutil.copyfile(
            folder / FILE, (folder / FILE).parent / pick(rng, ("esol.parquet", "tadf.parquet", "x.parquet"))
        )
    else:
        path.rename(folder.parent / "aside")
        path.symlink_to(pick(rng, (path, "/dev/zero", "/", "nowhere")))  # nothing is written here after this


SPOILERS: tuple[Callable[[Path, Rng], None], ...] = (spoil_bytes, spoil_bytes, spoil_json, spoil_json, spoil_table)


@pytest.mark.slow
def test_whatever_is_in_a_folder_is_valid_or_refused(good, tmp_path, monkeypatch):
    cache: dict[str, Any] = {}

    def decoded_once(content: bytes, n_outputs: int, name: str) -> dict[str, np.ndarray]:
        """Starting a process takes most of the time: once for each content."""
        key = f"{hashlib.sha256(content).hexdigest()} {n_outputs}"
        if key not in cache:
            try:
                cache[key] = decode(content, n_outputs, name)
            except UserError as error:
                cache[key] = error
        if isinstance(cache[key], UserError):
            raise cache[key]
        return dict(cache[key])

    decode = read.decode
    monkeypatch.setattr(read, "decode", decoded_once)
    fingerprint = check.samples_fingerprint
    prints: dict[tuple[str, str, tuple[int, ...]], str] = {}

    def fingerprinted_once(problem, sampling, seeds):
        key = (problem.fingerprint, sampling, tuple(seeds))
        return prints[key] if key in prints else prints.setdefault(key, fingerprint(problem, sampling, seeds))

    monkeypatch.setattr(check, "samples_fingerprint", fingerprinted_once)
    refused, crashed = 0, []
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        folder = tmp_path / "forest" / "1.0"
        shutil.copytree(good, folder)
        spoilers = [pick(rng, SPOILERS) for _ in range(rng.integers(1, 3))]
        for spoil in spoilers if rng.random() < 0.8 else (spoil_paths,):
            with suppress(OSError, ValueError, KeyError, TypeError, pa.ArrowException):  # spoilt beyond spoiling
                spoil(folder, rng)
        try:
            for cell in validate(folder).cells:
                for p in cell.predictions.values():
                    assert np.isfinite(p.values).all()
        except UserError:
            refused += 1
        except Exception:
            crashed.append(f"seed {seed}: {traceback.format_exc()}")
        finally:
            shutil.rmtree(tmp_path / "forest")
    assert crashed == []
    assert refused > ROUNDS / 2
