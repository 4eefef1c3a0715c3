"""The exported protocol holds the harness's samples and no test labels."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.run.protocol import export
from benchmark.train import sample_for
from benchmark.types import PAPER


def test_each_file_of_the_halves_holds_half_of_the_pool_and_no_file_holds_all_of_it(tmp_path):
    about = json.loads(export("b3db_measured", tmp_path).read_text())
    problem = load_problem("b3db_measured")
    assert (about["sampling"], about["train_seeds"]) == ("halves", list(range(1, 21)))
    folder, pool = tmp_path / "split-99", set(problem.train.ids)
    files = {path.name: pd.read_parquet(path) for path in folder.iterdir()}
    assert set(files) == {"test.parquet", *(f"train-{seed}.parquet" for seed in range(1, 21))}
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    assert about["splits"]["99"]["files"] == hashes
    test = files.pop("test.parquet")
    assert list(test.columns) == ["evalset", "example_id", "smiles", "x"]
    assert not set(test["example_id"]) & pool
    np.testing.assert_array_equal(np.stack(test["x"]), np.concatenate([e.x for e in problem.evals.values()]))
    labels = dict(zip(problem.train.ids, problem.train.y, strict=True))
    for seed in range(1, 21, 2):
        one, two = (files[f"train-{half}.parquet"] for half in (seed, seed + 1))
        assert not set(one["example_id"]) & set(two["example_id"])
        assert set(one["example_id"]) | set(two["example_id"]) <= pool
        assert len(one) == len(two) == len(pool) // 2 == about["splits"]["99"]["rows"]["train"]
    for name, table in files.items():
        sample = sample_for(problem, "halves", int(name.removeprefix("train-").removesuffix(".parquet")))[0]
        assert [labels[example] for example in table["example_id"]] == table["y"].tolist() == sample.y.tolist()
        np.testing.assert_array_equal(np.stack(table["x"]), sample.x)


@pytest.mark.parametrize("sampling", ["nested", "paper"])
def test_each_file_of_nested_and_paper_holds_the_bootstrap_of_its_seed_with_repeats(tmp_path, sampling):
    about = json.loads(export("b3db_measured", tmp_path, seeds=(3, 1), sampling=sampling).read_text())
    problem = load_problem("b3db_measured")
    assert (about["train_seeds"], about["splits"]["99"]["problem"]) == ([1, 3], problem.fingerprint)
    for seed in (1, 3):
        table = pd.read_parquet(tmp_path / "split-99" / f"train-{seed}.parquet")
        assert table["example_id"].tolist() == problem.train.ids[sample_for(problem, PAPER, seed)[0].rows].tolist()


def test_a_full_disk_is_an_error_in_one_line_and_leaves_no_part(tmp_path, full_disk):
    with full_disk, pytest.raises(UserError, match=r"cannot write the protocol to .*File too large"):
        export("b3db_measured", tmp_path / "protocol")
    assert [*(tmp_path / "protocol").iterdir()] == []


def test_what_a_killed_command_has_left_is_replaced(tmp_path):
    (tmp_path / ".protocol.churn-1" / "new").mkdir(parents=True)
    export("b3db_measured", tmp_path, seeds=(1, 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["protocol.json", "split-99"]


def test_a_folder_with_other_contents_and_half_a_halving_are_refused_before_anything_is_written(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="is not an empty folder: choose another"):
        export("b3db_measured", tmp_path)
    with pytest.raises(UserError, match="3 without the other half; use an even count"):
        export("b3db_measured", tmp_path / "protocol", seeds=(1, 2, 3))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["b3db_measured"], "in submission.yml:\n  protocols: {halves/b3db_measured: "),
        (["b3db_measured@train=24"], "next: churn score; a submission takes a dataset without settings"),
        (["b3db_measured", "--sampling", "update"], "without settings, under halves, nested or paper, canonical seed"),
        (["b3db_measured", "--seeds", "2"], "canonical seed 99 and train seeds 1 to 20"),
        (["b3db_measured", "--seeds", "102"], "train seeds 1 to 20, and at most 100 of these"),
    ],
)
def test_a_line_for_a_submission_is_printed_if_submit_takes_it(tmp_path, churn, words, said):
    assert said in churn("export-protocol", *words, "--out", str(tmp_path / "out"))
