"""A dataset of one's own, for any test of data."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tomli_w


@pytest.fixture(scope="session")
def described() -> Callable[..., str]:
    """``described(folder, table, **fields)`` writes a table and its TOML, and returns the path of the latter.

    Unless the fields say otherwise, the table has the columns ``smiles`` and ``y``, which is 0 or 1.
    """
    from benchmark.data.downloads import verified
    from benchmark.data.rows import load_rows

    def write(folder: Path, table: str | pd.DataFrame, name: str = "mine", **fields: Any) -> str:
        content = (table if isinstance(table, str) else table.to_csv(index=False)).encode()
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.csv").write_bytes(content)
        about = {"title": "Mine", "task": "classification", "group": "extra", "source": f"file:{name}.csv"}
        about |= {"sha256": hashlib.sha256(content).hexdigest(), "target": "y", "split": "random:0.8"}
        toml = about | {"smiles": "smiles", "features": ["morgan:64:2"]} | fields
        (folder / f"{name}.toml").write_text(tomli_w.dumps(toml), encoding="utf-8")
        load_rows.cache_clear()
        verified.cache_clear()
        return str(folder / f"{name}.toml")

    return write
