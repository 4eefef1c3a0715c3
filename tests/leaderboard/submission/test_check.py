"""The rules, each broken once; a valid submission equals the harness exactly."""

import json
import re
import shutil
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from benchmark.errors import UserError
from benchmark.run.protocol import export
from benchmark.store.cell import Cell
from leaderboard.submission.check import validate

from ..conftest import invoke, keyed
from .conftest import DATASET, REGRESSION, TREES, fill, own_forest, train_outside, trained_inside

SAME = f"random_forest:trees={TREES}"
"""The forest of ``own_forest``, for the harness."""


@pytest.fixture(scope="module")
def inside() -> Cell:
    return trained_inside(DATASET, SAME)


def assert_same(cell: Cell, inside: Cell) -> None:
    assert cell.key.problem == inside.key.problem
    assert (cell.key.seeds, cell.key.sampling) == (inside.key.seeds, inside.key.sampling)
    assert cell.facts.status == "self-reported"
    assert set(cell.predictions) == set(inside.predictions) == {"id", "ood"}
    for evalset, ours in inside.predictions.items():
        theirs = cell.predictions[evalset]
        np.testing.assert_array_equal(theirs.ids, ours.ids)
        np.testing.assert_array_equal(theirs.y, ours.y)
        np.testing.assert_array_equal(theirs.values, ours.values)


def test_a_model_trained_outside_gives_exactly_what_it_gives_inside(good, inside):
    (cell,) = validate(good, good.parents[1]).cells
    assert_same(cell, inside)


@pytest.mark.long
def test_so_does_a_regression(tmp_path):
    protocol = export(REGRESSION, tmp_path / "protocol").parent
    (cell,) = validate(fill(tmp_path / "forest" / "1.0", train_outside(protocol, own_forest), protocol)).cells
    assert_same(cell, trained_inside(REGRESSION, SAME))


def test_results_under_another_sampling_are_taken_and_alone_marked(copied, protocol, tmp_path):
    other = export(DATASET, tmp_path / "protocol", sampling="nested").parent
    table = train_outside(other, own_forest)
    (cell,) = validate(fill(tmp_path / "alone" / "forest" / "1.0", table, other)).cells
    assert_same(cell, trained_inside(DATASET, SAME, "nested"))
    assert cell.title == "Forest elsewhere 1.0 (self-reported, not under halves)"
    cells = validate(fill(copied, table, other, protocol)).cells
    assert [cell.key.sampling for cell in cells] == ["halves", "nested"]
    assert {cell.title for cell in cells} == {"Forest elsewhere 1.0 (self-reported)"}


def test_halves_for_some_datasets_do_not_stand_for_the_others(copied):
    """The rule is about which files there are, whatever is in them."""
    (copied / "predictions" / "paper").mkdir()
    (copied / "predictions" / "paper" / f"{REGRESSION}.parquet").touch()
    with pytest.raises(UserError, match=f"{REGRESSION} has no results under halves, but {DATASET} has: add pred"):
        validate(copied)


def change(**columns):
    def spoil(table):
        for name, value in columns.items():
            table.loc[3, name] = value
        return table

    return spoil


def identical(table):
    first = table.loc[table["train_seed"] == 1, ["p0", "p1"]].to_numpy()
    table.loc[table["train_seed"] == 4, ["p0", "p1"]] = first
    return table


def constant(table):
    return table.assign(p0=0.6 + 0.01 * np.random.default_rng(0).random(len(table))).assign(p1=lambda t: 1 - t["p0"])


def alike(table):
    """Each halving has one model, but for noise as from another machine or number of threads."""
    first = np.repeat([table.loc[table["train_seed"] == seed, "p0"] for seed in range(1, 21, 2)], 2, axis=0).ravel()
    p0 = (first + np.random.default_rng(0).uniform(-1e-3, 1e-3, len(table))).clip(0, 1)
    return table.assign(p0=p0, p1=1 - p0)


ROW = rf"predictions/halves/{DATASET}\.parquet, row 3 \(canonical seed 99, train seed 1, 'id', example '.+'\): "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (change(p0=np.inf), ROW + r"expected finite probabilities .* sum to 1 .*, found \[inf, "),
        (change(p0=0.7, p1=0.7), ROW + r"expected .* sum to 1 .*, found \[0\.7, 0\.7\]"),
        (change(p0=-0.5, p1=1.5), ROW + r"expected .* at least 0 .*, found \[-0\.5, 1\.5\]"),
        (change(evalset="test"), r"row 3 .*'test', example .* expected the test set and id of an example"),
        (change(example_id="../x"), r"row 3 .*'\.\./x'\): expected the test set and id of an example in test\.parquet"),
        (change(train_seed=2), "row .*: duplicates row .*; expected once"),
        (change(train_seed=-1), "train_seed: expected 1, 2, .* from 0 to .*found -1"),
        (lambda t: t.drop(index=3), r"train seed 1: expected 381 examples, found 380: no row for \('id', "),
        (lambda t: t[t["train_seed"] != 7], "train_seed: expected 1, 2, .*: no 7"),
        (
            lambda t: pd.concat([t, t[t["train_seed"] == 5].assign(train_seed=21)]),
            "train_seed: .* two halves of one halving: 21 without the other half",
        ),
        (lambda t: t.assign(canonical_seed=98), "canonical_seed: expected 99, .* found 98: no 99"),
        (lambda t: t[t["evalset"] == "id"], r"expected 381 examples, found 169: no row for \('ood', "),
        (identical, "train seeds 1 and 4 have identical predictions for all 381 examples"),
        (constant, "'id': expected predictions that depend on the example.*add the dataset to 'collapsed'"),
        (alike, "two retrainings on different rows differ by at most .*, never on both files of a halving"),
    ],
)
def test_a_broken_rule_is_named_with_row_expected_and_found(forest, submit, spoil, message):
    with pytest.raises(UserError, match=message):
        validate(submit(spoil(forest.copy())))


@pytest.mark.parametrize(("spoil", "message"), [(constant, ""), (identical, "train seeds 1 and 4 have identical pred")])
def test_a_collapsed_model_is_taken_if_it_says_so_but_no_other_escapes_the_rules_so(forest, submit, spoil, message):
    folder = submit(spoil(forest.copy()))
    with (folder / "submission.yml").open("a") as file:
        file.write(f"collapsed: [{DATASET}]\n")
    with pytest.raises(UserError, match=message) if message else nullcontext():
        validate(folder)


def test_a_copy_of_another_submission_is_refused_whatever_its_seeds_are_called(good, forest, submit):
    renumbered = forest.assign(train_seed=21 - forest["train_seed"])
    with pytest.raises(UserError, match="train seed 1, 'id': the same as train seed 20 of 'forest'"):
        validate(submit(renumbered), good.parents[1])


@pytest.mark.slow
def test_a_copy_of_a_published_result_is_refused_but_no_new_hand_in_of_an_own_one(good, inside):
    with pytest.raises(UserError, match="train seed 1, 'id': the same as train seed 1 of 'random_forest'"):
        validate(good, published=[inside])
    (own,) = validate(good).cells
    assert validate(good, published=[own]).cells
    said = r"name: 'Forest elsewhere' is taken by 'theirs', .* another\n.* of 'theirs'"
    with pytest.raises(UserError, match=said):
        validate(good, published=[keyed(own, method="theirs")])


@pytest.mark.parametrize("method", ["erm", "svm"])
def test_the_name_of_a_method_of_the_suite_is_refused(copied, inside, method):
    folder = copied.parents[1] / method / "1.0"
    folder.parent.mkdir()
    copied.rename(folder)
    published = [keyed(inside, method="svm", problem="another")]
    with pytest.raises(UserError, match=f"^folder '{method}': this name belongs to a method of the suite"):
        validate(folder, published=published)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FOREST  elsewhere", "Forest-elsewhere"])
def test_a_name_that_looks_like_another_is_refused(copied, name):
    (own,) = validate(copied).cells
    other = keyed(own, method="theirs", problem="another")
    path = copied / "submission.yml"
    path.write_text(path.read_text().replace("Forest elsewhere", name))
    with pytest.raises(UserError, match=r"^submission.yml: name: '.*' is taken by 'theirs', or so similar"):
        validate(copied, published=[other])
    path.write_text(path.read_text().replace(name, "Forest nearby"))
    assert validate(copied, published=[other]).cells


def test_the_folder_that_is_searched_for_copies_is_there(copied, tmp_path, monkeypatch):
    monkeypatch.setattr("leaderboard.read.published.shipped", list)
    words = ("submit", str(copied), "--check", "--submissions")
    with pytest.raises(UserError, match="nowhere: no such folder; name the folder of all submissions"):
        invoke(*words, str(tmp_path / "nowhere"), catch_exceptions=False)
    for folder, empty in ((copied, True), (copied.parents[1], False)):
        done = invoke(*words, str(folder), catch_exceptions=False)
        assert ("no submission (METHOD/VERSION) to search for copies" in done.stderr) == empty


def test_a_broken_folder_of_somebody_else_is_named(good, tmp_path):
    broken = shutil.copytree(good, tmp_path / "theirs" / "2.0")
    with pytest.raises(UserError, match=r"theirs/2\.0, another submission to compare with: .*: field 'version'"):
        validate(good, tmp_path)
    shutil.rmtree(broken.parent)
    assert validate(good, tmp_path).cells


@pytest.mark.parametrize("given", ["", "halves/b3db_measured: 0123456789abcdef"])
def test_the_protocol_has_to_be_that_of_these_data_rows_and_seeds(copied, given):
    path = copied / "submission.yml"
    path.write_text(re.sub(r"protocols: .*", f"protocols: {{{given}}}", path.read_text()))
    with pytest.raises(UserError, match=rf"protocols: halves/{DATASET}: expected \w+, found \w+: .*export the"):
        validate(copied)


@pytest.mark.parametrize("samples", ["df649c2cf4d81709", "0123456789abcdef"])
def test_a_submission_of_version_010_has_its_protocols_in_a_manifest(copied, samples):
    """The fingerprints are those that version 0.1.0 wrote for this protocol."""
    about = {"sha256": "0" * 64, "rows": 7620, "problems": {"99": "93e68b1969a0ed0a"}, "samples": {"99": samples}}
    listing = {"suite": "0.1.0", "files": {f"predictions/halves/{DATASET}.parquet": about}}
    (copied / "manifest.json").write_text(json.dumps(listing))
    path = copied / "submission.yml"
    path.write_text(re.sub(r"protocols: .*", "", path.read_text()))
    with nullcontext() if samples.startswith("df") else pytest.raises(UserError, match="export the protocol again"):
        assert len(validate(copied).cells) == 1
    (copied / "manifest.json").write_text("[]")
    with pytest.raises(UserError, match=r"manifest\.json: not one of version 0\.1\.0 .*: remove it, and add protocols"):
        validate(copied)
