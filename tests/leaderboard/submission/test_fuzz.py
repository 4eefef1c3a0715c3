"""Submissions spoilt at random, in bytes and in structure: whatever is in a folder, it is valid or refused.

``FUZZ_ROUNDS=3000 pytest tests/leaderboard/submission/test_fuzz.py`` tries for longer.
"""

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
import yaml

from benchmark.errors import UserError
from leaderboard.submission.check import validate

from .conftest import DATASET

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "60"))
FILE = f"predictions/halves/{DATASET}.parquet"
NAMES = ("submission.yml", FILE)
NASTY: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63 - 1, 10**400, 1e308, float("nan"), float("inf"), "", "a\nb", "\0", "\ud800", "é",
    "../x", "99", "9" * 5000, [], {}, [[]], {"": ""}, ["a"] * 1000, "x" * 10**5,
)  # fmt: skip
WORDS = (b"&a ", b"*a", b"!!python/object:os.system ", b"{", b"? ", b": ", b"|\n", b"<<: ", b"---\n", b"%TAG ",
         b"\xff", b"\xef\xbb\xbf", b"\0", b"\r", b"\xe2\x80\xa8", b"1e999", b"'", b"#")  # fmt: skip
Rng = np.random.Generator


def pick(rng: Rng, some: Any) -> Any:
    return some[int(rng.integers(len(some)))]


def spoil_bytes(folder: Path, rng: Rng) -> None:
    path = folder / pick(rng, NAMES)
    content = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(content) + 1))
        if rng.random() < 0.3:
            at = max(0, len(content) - int(rng.integers(1, 600)))  # where Parquet keeps its descriptions
        end = at + int(pick(rng, (0, 1, rng.integers(1, 50))))
        content[at:end] = pick(rng, (b"", bytes([rng.integers(256)]), pick(rng, WORDS), content[at : at + 200] * 3))
    path.write_bytes(content)


def spoil_description(folder: Path, rng: Rng) -> None:
    path = folder / "submission.yml"
    card = yaml.safe_load(path.read_text())
    at = pick(rng, (card, card, card["protocols"]))
    key = pick(rng, list(at))
    at[pick(rng, (key, key, str(pick(rng, NASTY))))] = pick(rng, NASTY)
    if rng.random() < 0.2:
        del at[key]
    path.write_text(yaml.safe_dump(card), encoding="utf-8", errors="surrogatepass")


def spoil_table(folder: Path, rng: Rng) -> None:
    table = pq.read_table(folder / FILE)
    table = table.take(rng.integers(len(table), size=len(table) - 5)) if rng.random() < 0.1 else table
    name = pick(rng, table.column_names)
    column = table[name].to_pylist()
    changes: tuple[Callable[[], Any], ...] = (
        lambda: column.__setitem__(int(rng.integers(len(column))), pick(rng, NASTY)),
        lambda: column.__setitem__(slice(None), [pick(rng, NASTY)] * len(column)),
        lambda: rng.shuffle(column),
        lambda: column.__setitem__(slice(None), [[value] for value in column]),
    )
    pick(rng, changes)()
    made = pa.array(column, pick(rng, (None, None, pa.int64(), pa.float32(), pa.string(), pa.binary())))
    at = table.column_names.index(name)
    table = table.remove_column(at) if rng.random() < 0.1 else table.set_column(at, name, made)
    table = table.append_column(str(pick(rng, (*NASTY[10:], name))), table[0]) if rng.random() < 0.1 else table
    options = {"compression": pick(rng, ("zstd", "gzip", "none")), "use_dictionary": bool(rng.integers(2))}
    pq.write_table(table, folder / FILE, data_page_version=pick(rng, ("1.0", "2.0")), **options)


def spoil_paths(folder: Path, rng: Rng) -> None:
    path = folder / pick(rng, (*NAMES, "predictions", "predictions/halves"))
    kind = rng.integers(4)
    if kind == 0:
        name = str(pick(rng, ("a", "é", "\udcff", "x" * 200, ".x", "a b", "-rf", "..parquet", ".parquet", "\n")))
        (folder / pick(rng, ("", "predictions", "predictions/halves")) / name).write_text("x")
    elif kind == 1:
        shutil.copyfile(folder / FILE, (folder / FILE).parent / pick(rng, ("esol.parquet", "x.parquet")))
    else:
        path.rename(folder.parent / "aside")
        if kind == 2:  # nothing is written here after this
            path.symlink_to(pick(rng, (path, folder.parent / "aside", "/dev/zero", "/", "nowhere")))


SPOILERS = (spoil_bytes, spoil_bytes, spoil_description, spoil_description, spoil_table, spoil_paths)


@pytest.mark.slow
def test_whatever_is_in_a_folder_is_valid_or_refused(good, tmp_path):
    refused, crashed = 0, []
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        folder = tmp_path / "forest" / "1.0"
        shutil.copytree(good, folder)
        with suppress(OSError, ValueError, KeyError, TypeError, OverflowError, pa.ArrowException):  # cannot be written
            pick(rng, SPOILERS)(folder, rng)
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
