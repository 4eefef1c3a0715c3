"""Wrong files for a manifest are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from benchmark.errors import UserError
from leaderboard.submission import manifest

SPLITS = {"99": {"problem": "p", "samples": "s", "files": {}}}
HALVES = {"sampling": "halves", "dataset": "bace"}


def write(folder, about):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "protocol.json").write_text(about if isinstance(about, str) else json.dumps(about), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "about",
    [
        "{",
        [],
        HALVES,
        {"dataset": "bace", "splits": SPLITS},
        HALVES | {"dataset": ["bace"], "splits": SPLITS},
        HALVES | {"splits": ["99"]},
        HALVES | {"splits": {"99": "p"}},
        HALVES | {"splits": {"99": {"problem": "p", "files": {}}}},
        HALVES | {"splits": {"99": {"problem": "p", "samples": "s"}}},
    ],
)
def test_a_protocol_that_is_none_is_refused(about, tmp_path):
    with pytest.raises(UserError, match=r"not an exported protocol .*export-protocol"):
        manifest.protocols([write(tmp_path / "bace", about)])


def test_predictions_that_are_no_parquet_are_refused(tmp_path):
    fingerprints = manifest.protocols([write(tmp_path / "bace", HALVES | {"splits": SPLITS, "more": 1})])
    path = tmp_path / "predictions" / "halves" / "bace.parquet"
    path.parent.mkdir(parents=True)
    path.write_text("canonical_seed,train_seed", encoding="utf-8")
    with pytest.raises(UserError, match=r"bace\.parquet: cannot be read as Parquet"):
        manifest.write(tmp_path, fingerprints)
    pd.DataFrame({"p0": [1.0, 0.0]}).to_parquet(path)
    about = json.loads(manifest.write(tmp_path, fingerprints).read_text(encoding="utf-8"))
    (file,) = about["files"].values()
    assert (file["rows"], file["problems"], file["samples"]) == (2, {"99": "p"}, {"99": "s"})


def test_predictions_need_the_protocol_of_their_sampling(tmp_path):
    fingerprints = manifest.protocols([write(tmp_path / "bace", HALVES | {"splits": SPLITS})])
    path = tmp_path / "predictions" / "paper" / "bace.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    with pytest.raises(UserError, match=r"no protocol: .* export-protocol bace --sampling paper"):
        manifest.write(tmp_path, fingerprints)


def test_a_training_file_that_was_changed_is_named(protocol, tmp_path):
    copy = Path(shutil.copytree(protocol, tmp_path / "protocol"))
    manifest.protocols([copy])
    changed, gone = copy / "split-99" / "train-7.parquet", copy / "split-99" / "train-8.parquet"
    gone.unlink()
    manifest.protocols([copy])
    pd.read_parquet(changed).iloc[:-1].to_parquet(changed)
    with pytest.raises(
        UserError, match=r"train-7\.parquet: sha256 \w+, expected \w+ .*; export the protocol again and retrain"
    ):
        manifest.protocols([copy])
