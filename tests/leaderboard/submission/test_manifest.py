"""Wrong files for a manifest are named."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from benchmark.errors import UserError
from leaderboard.submission import manifest

SPLITS = {"99": {"problem": "p", "bootstraps": "b"}}


def write(folder, about):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "protocol.json").write_text(about if isinstance(about, str) else json.dumps(about), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "about",
    [
        "{",
        [],
        {"dataset": "bace"},
        {"dataset": ["bace"], "splits": SPLITS},
        {"dataset": "bace", "splits": ["99"]},
        {"dataset": "bace", "splits": {"99": "p"}},
        {"dataset": "bace", "splits": {"99": {"problem": "p"}}},
    ],
)
def test_a_protocol_that_is_none_is_refused(about, tmp_path):
    with pytest.raises(UserError, match=r"not an exported protocol .*export-protocol"):
        manifest.protocols([write(tmp_path / "bace", about)])


def test_predictions_that_are_no_parquet_are_refused(tmp_path):
    fingerprints = manifest.protocols([write(tmp_path / "bace", {"dataset": "bace", "splits": SPLITS, "more": 1})])
    path = tmp_path / "predictions" / "bace.parquet"
    path.parent.mkdir()
    path.write_text("canonical_seed,train_seed", encoding="utf-8")
    with pytest.raises(UserError, match=r"bace\.parquet: cannot be read as Parquet"):
        manifest.write(tmp_path, fingerprints)
    pd.DataFrame({"p0": [1.0, 0.0]}).to_parquet(path)
    about = json.loads(manifest.write(tmp_path, fingerprints).read_text(encoding="utf-8"))
    (file,) = about["files"].values()
    assert (file["rows"], file["problems"], file["bootstraps"]) == (2, {"99": "p"}, {"99": "b"})
