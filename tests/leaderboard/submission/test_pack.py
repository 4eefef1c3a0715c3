"""From recorded runs to a submission, and from a submission to pages."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from benchmark.errors import UserError
from benchmark.registry import find
from leaderboard.__main__ import app
from leaderboard.read.results import Results, collect
from leaderboard.read.stored import read
from leaderboard.submission.check import validate
from leaderboard.submission.pack import pack

from .conftest import DATASET, REGRESSION, trained_inside


@pytest.fixture(scope="module")
def forests() -> Iterator[Results]:
    """A classification under both samplings, a regression under ``paper``; too few seeds of another method.

    Forests have two trees by default.
    """
    trained = collect(
        [
            trained_inside(DATASET, "random_forest:trees=2", "halves", range(1, 23)),
            trained_inside(DATASET, "random_forest:trees=2", "paper", range(1, 13)),
            trained_inside(REGRESSION, "random_forest:trees=2", "paper", range(1, 11)),
            trained_inside(DATASET, "random_forest:trees=3", "halves", range(1, 11)),
        ]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find("random_forest")[0].__dataclass_fields__["trees"], "default", 2)
        yield trained


def test_recorded_runs_become_a_submission_that_is_valid_once_its_author_is_named(forests, tmp_path):
    folder, left_out = pack(forests, "Random forest, trees=2", "1.0", tmp_path)
    assert left_out == [f"{REGRESSION} under paper: it has no such results under halves, as other datasets do"]
    assert folder == tmp_path / "random_forest" / "1.0"
    path = folder / "submission.yml"
    with pytest.raises(UserError, match="field 'authors'"):
        validate(folder)
    card = yaml.safe_load(path.read_text())
    assert (card["training_data"], card["files"]) == ("none", {})
    assert re.fullmatch(r"[\d.e-]+ s per retraining on average, on cpu \(.+\), 1 thread per worker", card["compute"])
    path.write_text(yaml.safe_dump(card | {"authors": ["A"], "description": "Two trees."}))
    cells = validate(folder).cells
    assert [(cell.key.dataset, cell.key.sampling) for cell in cells] == [(DATASET, "halves"), (DATASET, "paper")]
    for cell, recorded, seeds in zip(cells, forests.by_sampling, (20, 10), strict=True):
        ours = recorded.dataset(DATASET).entry("Random forest, trees=2").cells[99]
        for evalset, p in ours.predictions.items():
            np.testing.assert_array_equal(cell.predictions[evalset].values, p.values[:seeds])
            np.testing.assert_array_equal(cell.predictions[evalset].y, p.y)


def test_a_method_that_ran_under_paper_alone_is_packed_with_all_its_datasets_and_its_author_told_of_the_mark(
    forests, tmp_path, monkeypatch
):
    monkeypatch.setattr("leaderboard.read.stored.read", lambda store: (replace(forests, others=()), {}))
    monkeypatch.setattr("leaderboard.read.published.listed_methods", frozenset)
    words = ["pack", "Random forest, trees=2", "--submissions", str(tmp_path)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert f"\n  predictions/paper/{REGRESSION}.parquet\n  predictions/paper/{DATASET}.parquet\n" in done.output
    assert "no results under halves and will be marked 'not under halves'" in done.output


def test_variants_of_datasets_are_not_packed_since_no_submission_has_them(forests, tmp_path):
    cells = [c for part in forests.by_sampling for d in part.datasets for e in d.entries for c in e.cells.values()]
    variants = [replace(c, key=replace(c.key, dataset=f"{c.key.dataset}@train=200")) for c in cells]
    folder, left_out = pack(collect([*cells, *variants]), "Random forest, trees=2", "1.0", tmp_path)
    assert f"{DATASET}@train=200 under halves: a submission has no variants" in left_out
    assert [path.name for path in (folder / "predictions" / "halves").iterdir()] == [f"{DATASET}.parquet"]
    with pytest.raises(UserError, match=f"on {DATASET}@train=200 under halves, .*, and not on a variant"):
        pack(collect(variants), "Random forest, trees=2", "2.0", tmp_path)


def test_the_author_is_told_of_what_is_left_out(forests, tmp_path, monkeypatch):
    cells = [c for part in forests.by_sampling for d in part.datasets for e in d.entries for c in e.cells.values()]
    few = [c.only(range(1, 9)) for c in cells if c.key.dataset == REGRESSION]
    retrained = [replace(c, key=replace(c.key, sampling="update")) for c in cells if c.key.sampling == "paper"]
    results = collect([*(c for c in cells if c.key.dataset == DATASET), *few, *retrained])
    monkeypatch.setattr("leaderboard.read.stored.read", lambda store: (results, {}))
    monkeypatch.setattr("leaderboard.read.published.listed_methods", frozenset)
    words = ["pack", "Random forest, trees=2", "--submissions", str(tmp_path)]
    said = CliRunner().invoke(app, words, catch_exceptions=False).output
    assert f"left out:\n  {REGRESSION} under paper: it needs canonical seed 99 with train seeds 1 to 10\n" in said
    assert f"  {DATASET} under update: a submission has no results under update\n" in said
    assert not (tmp_path / "random_forest" / "1.0" / "predictions" / "update").exists()


def test_cells_of_another_version_of_the_file_are_refused(forests, tmp_path, monkeypatch):
    monkeypatch.setattr("leaderboard.submission.pack.code_of", lambda method: "random_forest@0123456789abcdef paper@1")
    with pytest.raises(UserError, match=r"with random_forest@.*, but .* now random_forest@0123.*: run it again"):
        pack(forests, "Random forest, trees=2", "1.0", tmp_path)
    assert not (tmp_path / "random_forest").exists()


def test_hyperparameters_that_verify_would_not_train_are_refused_on_any_of_the_datasets(forests, tmp_path):
    paper = next(part for part in forests.by_sampling if part.sampling == "paper")
    plain = {d.name: d.entry("Random forest, trees=2").cells[99] for d in paper.datasets}
    three = {
        name: replace(cell, key=replace(cell.key, params=cell.key.params | {"trees": 3}))
        for name, cell in plain.items()
    }
    for cells in (three, plain | {REGRESSION: three[REGRESSION]}):
        with pytest.raises(UserError, match=r"ran as random_forest:trees=3, but .* the defaults of its file"):
            pack(collect([*cells.values()]), "random_forest", "1.0", tmp_path)


def test_a_submission_is_written_whole_or_not_at_all(forests, tmp_path, full_disk):
    with full_disk, pytest.raises(UserError, match="cannot be written: File too large"):
        pack(forests, "Random forest, trees=2", "1.0", tmp_path)
    assert not [*(tmp_path / "random_forest").iterdir()]
    assert pack(forests, "Random forest, trees=2", "1.0", tmp_path)[0].is_dir()


def test_another_learner_or_tuning_on_any_of_the_datasets_is_refused(forests, tmp_path):
    paper = next(part for part in forests.by_sampling if part.sampling == "paper")
    plain = {d.name: d.entry("Random forest, trees=2").cells[99] for d in paper.datasets}
    for name in plain:
        for other in ({"learner": "svm"}, {"tune": "best"}):
            changed = replace(plain[name], key=replace(plain[name].key, **other))
            with pytest.raises(UserError, match=f"other features than the dataset {name}, or tuned"):
                pack(collect([changed]), "Random forest, trees=2", "1.0", tmp_path)


def test_what_cannot_be_packed_is_named(forests, tmp_path):
    with pytest.raises(UserError, match=r"no dataset with .* 1 to 20 under halves, .* on b3db_measured under halves"):
        pack(forests, "random-forest-trees-3", "1.0", tmp_path)
    with pytest.raises(UserError, match=r"could be Random forest, trees=. or Random forest, trees=. on b3db_measured"):
        pack(forests, "random_forest", "1.0", tmp_path)
    with pytest.raises(UserError, match="unknown method 'random_forst': did you mean 'random_forest'"):
        pack(forests, "random_forst", "1.0", tmp_path)
    with pytest.raises(UserError, match="is the suite's method 'random_forest': pack a method of your own"):
        pack(forests, "random-forest-trees-2", "1.0", tmp_path, ["random_forest"])
    with pytest.raises(UserError, match="expected lower-case letters"):
        pack(forests, "random-forest-trees-2", "../1.0", tmp_path)
    (tmp_path / "random_forest" / "1.0").mkdir(parents=True)
    with pytest.raises(UserError, match="exists"):
        pack(forests, "random-forest-trees-2", "1.0", tmp_path)


@pytest.mark.long
def test_in_a_fresh_store_a_submission_is_placed_and_shown_among_the_published_results(good, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    words = ["submit", str(good), "--submissions", str(good.parents[1]), "--out", str(tmp_path / "site")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "B3DB measured, halves: place " in done.output
    assert re.search(r" of 1\d by matched churn", done.output)
    pages = {path.stem for path in (tmp_path / "site" / "methods").iterdir()}
    assert {"erm", "twin-bootstrap-lambda-100", "forest-elsewhere-1.0-self-reported"} <= pages
    assert "self-reported" in (tmp_path / "site" / "index.html").read_text()
    results, _ = read()
    (halves,) = results.by_sampling
    assert halves.sampling == "halves"
    assert [(d.name, [entry.method for entry in d.entries]) for d in halves.datasets] == [(DATASET, ["forest"])]
