"""Tables and TOMLs spoilt at random: the command makes a dataset of each, or refuses it with one message and code 2.

``FUZZ_ROUNDS=3000 pytest -m long tests/data/test_fuzz.py`` tries for longer.
"""

import gzip
import hashlib
import io
import os
import tomllib
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

from benchmark.data.downloads import verified
from benchmark.data.rows import load_rows
from tests.conftest import call

from .conftest import SMILES

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "40"))
TEXTS: tuple[str, ...] = (
    "", " ", "0", "1", "-0", "2", "1.0", "1e308", "-1e308", "1e400", "1e-400", "1e-99999999999999999999", "9" * 5000,
    "1000001", "1000002", "9007199254740993", "inf", "-inf", "nan", "NaN", "NA", "true", "yes", "1_000", "0x1F", "١",
    "1,5", "a,b", 'a"b', '"', "'", "\0", "a\0", "\u2028", "\x0b", "\x85", "\x1c", "\r", "\n", "é", "😀",
    "train", "test", "ood", "C", "C" * 600, "C" * 6000, "c1ccccc1", "[H][H]", "[C@@H](F)(Cl)Br", "C1CC", "*", "[*:1]C",
    "C.C", "C>>C", "$", "C |c:1|", "[2H]C", "[U]", "M  END", "$$$$", "PAR1", "../x", "=1+1", "<b>", "[red]x[/red]",
    "{x}", "%s", "(line)", "(repeated)", "a.1", "SMILES", "SMILES.1", "y", "id", "a", "Infinity", "None", "x" * 3000,
)  # fmt: skip
VALUES: dict[str, tuple[Any, ...]] = {
    "": (0, -1, 2**63, 10**400, 1.5, float("inf"), float("nan"), True, [], [""], [[]], {}, {"a": 1}, *TEXTS),
    "features": tuple(
        [["columns"], ["smiles"], ["morgan:8:1", "columns"], ["columns"] * 2]
        + [[name] for name in ("morgan", "morgan:0:0", "morgan:64:99999999999", "morgan:64:-1", "rdkit_descriptors:2")]
        + [[name] for name in ("morgan:1000000000000:2", "rdkit_descriptors", "pixels:3")]
    ),
    "split": tuple(f"{kind}:{of}" for kind in ("scaffold", "random", "given") for of in (0.8, "nan", "1e999", 0, "a")),
    "source": ("file:", "file:.", "file:/dev/zero", "file:\0", "file:" + "x" * 5000, "hf:x/y", "tdc:x", "b3db:../x"),
    **dict.fromkeys(("smiles", "id", "target", "positive", "sha256"), ("a", "id", ">= median", "0" * 64, *TEXTS)),
    "task": ("classification", "regression"), "backbone": ("gin", "mlp", "resnet50", "x"), "train": (2, 5, 10**9, 1),
    "ignore": ([], ["a", "b"], ["(line)"]), "groups": (["a"], ["y", "y"]), "recipe": ({"epochs": 0}, {"hidden": 17}),
}  # fmt: skip
FIELDS = {
    "title": "t", "task": "classification", "group": "extra", "source": "file:table.csv", "smiles": "SMILES",
    "target": "y", "features": ["morgan:64:2"], "split": "scaffold:0.8",
}  # fmt: skip
"""Fields of a TOML for a table that may not be one."""
SENSIBLE = {"smiles": "SMILES", "id": "id", "task": "regression", "positive": "1", "split": "random:0.5"}
ENDS: Counter[tuple[str, int]] = Counter()
"""How often each command ended with each code."""
Rng = np.random.Generator


def pick(rng: Rng, some: Any) -> Any:
    return some[int(rng.integers(len(some)))]


def table(rng: Rng) -> pd.DataFrame:
    """Return 36 molecules with a name, two numbers and a target, some of them replaced."""
    rows = pd.DataFrame({"id": [f"m{i}" for i in range(36)], "SMILES": SMILES}, dtype=object)
    rows = rows.assign(a=rng.normal(size=36).round(3), b=rng.integers(9, size=36), y=np.arange(36) % 2).astype(object)
    for _ in range(rng.integers(3)):
        rows.loc[rng.random(36) < pick(rng, (0.03, 0.5, 1)), pick(rng, rows.columns)] = pick(rng, TEXTS)
    if rng.random() < 0.15:
        rows = rows.drop(columns=pick(rng, rows.columns))
    return rows.set_axis([pick(rng, TEXTS) if rng.random() < 0.05 else name for name in rows], axis=1)


def spoilt(content: bytes, rng: Rng) -> bytes:
    """Return ``content`` with a few bytes changed, inserted, removed or repeated."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(len(changed) + 1)), int(rng.integers(1, 40))
        kind = rng.integers(4)
        if kind == 0:
            changed[at : at + 1] = bytes([rng.integers(256)])
        elif kind == 1:
            changed[at:at] = pick(rng, TEXTS).encode()
        elif kind == 2:
            del changed[at : at + length]
        else:
            changed[at:at] = changed[at : at + length] * int(rng.integers(1, 50))
    return bytes(changed)


def written(rows: pd.DataFrame, rng: Rng, folder: Path) -> Path:
    """Write a table in some format, perhaps spoilt and perhaps compressed."""
    if rng.random() < 0.2:
        packed = io.BytesIO()
        cells = rows.astype(str).to_numpy(dtype=object)  # names may repeat, which pandas refuses to write
        pq.write_table(pa.Table.from_arrays([pa.array(column) for column in cells.T], [*rows]), packed)
        content = packed.getvalue()
    else:
        content = rows.to_csv(index=False, sep=pick(rng, (",", ",", ",", "\t", ";"))).encode()
    content = spoilt(content, rng) if rng.random() < 0.3 else content
    if rng.random() < 0.2:
        content = gzip.compress(content)
        content = spoilt(content, rng) if rng.random() < 0.3 else content
    (folder / "table.csv").write_bytes(content)
    return folder / "table.csv"


def options(rng: Rng, rows: pd.DataFrame) -> list[str]:
    """Return some options of ``new-dataset``, mostly sensible."""
    words = ["--target", "y" if rng.random() < 0.9 else pick(rng, [*rows, *TEXTS])]
    for name, sensible in SENSIBLE.items():
        if rng.random() < 0.15:
            words += [f"--{name}", sensible if rng.random() < 0.7 else pick(rng, TEXTS)]
    return words


def respelt(fields: dict[str, Any], rng: Rng) -> bytes:
    """Return a TOML with some fields replaced or removed, or with its text spoilt."""
    for _ in range(rng.integers(1, 3)):
        name = pick(rng, [name for name in VALUES if name])
        if rng.random() < 0.1:
            fields.pop(name, None)
        else:
            fields[name] = pick(rng, VALUES[name if rng.random() < 0.95 else ""])
    try:
        content = tomli_w.dumps(fields).encode()
    except (ValueError, TypeError):
        content = repr(fields).encode()
    return spoilt(content, rng) if rng.random() < 0.1 else content


@pytest.mark.long
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_whatever_is_in_a_table_or_toml_it_is_a_dataset_or_refused(tmp_path, monkeypatch, capsys, seed):
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))

    def ends_well(*words: str) -> None:
        load_rows.cache_clear()
        verified.cache_clear()
        code, said = call(*words), capsys.readouterr().err
        ENDS[words[0], code] += 1
        assert code == 0 or (code == 2 and said.strip() and "Traceback" not in said), f"{words}: {code}: {said}"

    rng = np.random.default_rng(seed)
    rows = table(rng)
    file, toml = written(rows, rng, tmp_path), tmp_path / "mine.toml"
    content = file.read_bytes()
    ends_well("new-dataset", str(file), *options(rng, rows), "--name", "mine", "--to", str(tmp_path))
    assert file.read_bytes() == content
    stated = FIELDS | {"sha256": hashlib.sha256(content).hexdigest()}
    fields = tomllib.loads(toml.read_text()) if toml.is_file() else stated
    toml.write_bytes(respelt(fields, rng) if seed else b"x = " + b"[" * 5000)  # the first is nested too deeply
    if seed % 2:
        ends_well("export-protocol", str(toml), "--out", str(tmp_path / "out"), "--seeds", "2")
    else:
        ends_well("health", str(toml))


@pytest.mark.long
def test_some_tables_and_tomls_become_datasets_and_some_are_refused():
    if ENDS.total() < 2 * ROUNDS:
        pytest.skip("needs all rounds")
    assert set(ENDS) == {*product(("new-dataset", "export-protocol", "health"), (0, 2))}
