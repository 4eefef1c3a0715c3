"""From recorded runs to a submission, and from a submission to pages."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmark.errors import UserError
from benchmark.registry import find
from benchmark.store.cell import Cell
from leaderboard.read.results import collect, slug
from leaderboard.read.stored import read
from leaderboard.submission.check import validate
from leaderboard.submission.pack import pack

from ..conftest import invoke, keyed
from .conftest import DATASET, REGRESSION, trained_inside

TITLE = "Random forest, trees=2"


@pytest.fixture(scope="module")
def forests() -> Iterator[list[Cell]]:
    """A classification under both samplings, a regression under ``paper``; too few seeds of another method.

    Forests have two trees by default.
    """
    trained = [
        trained_inside(DATASET, "random_forest:trees=2", "halves", range(1, 23)),
        trained_inside(DATASET, "random_forest:trees=2", "paper", range(1, 13)),
        trained_inside(REGRESSION, "random_forest:trees=2", "paper", range(1, 11)),
        trained_inside(DATASET, "random_forest:trees=3", "halves", range(1, 11)),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find("random_forest")[0].__dataclass_fields__["trees"], "default", 2)
        yield trained


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[Cell]], str]:
    """A function that packs cells as their author does, and returns what is printed."""

    def run(cells: Iterable[Cell]) -> str:
        monkeypatch.setattr("leaderboard.read.stored.read", lambda: (collect(cells), {}))
        monkeypatch.setattr("leaderboard.read.published.listed_methods", frozenset)
        done = invoke("submit", str(tmp_path / slug(TITLE) / "1.0"), catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    return run


def test_recorded_runs_become_a_submission_that_is_valid_once_its_author_is_named(forests, tmp_path):
    folder, left_out = pack(collect(forests), TITLE, "1.0", tmp_path)
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
    for cell, ours, seeds in zip(cells, forests, (20, 10), strict=False):
        for evalset, p in ours.predictions.items():
            np.testing.assert_array_equal(cell.predictions[evalset].values, p.values[:seeds])
            np.testing.assert_array_equal(cell.predictions[evalset].y, p.y)


def test_a_method_that_ran_under_paper_alone_is_packed_with_all_its_datasets_and_its_author_told_of_the_mark(
    forests, printed
):
    said = printed(cell for cell in forests if cell.key.sampling == "paper")
    assert f"\n  predictions/paper/{REGRESSION}.parquet\n  predictions/paper/{DATASET}.parquet\n" in said
    assert "no results under halves and will be marked 'not under halves'" in said


def test_the_author_is_told_of_what_is_left_out(forests, tmp_path, printed):
    few = [c.only(range(1, 9)) if c.key.dataset == REGRESSION else c for c in forests]
    retrained = [keyed(c, sampling="update") for c in forests if c.key.sampling == "paper"]
    variants = [keyed(c, dataset=f"{c.key.dataset}@train=200") for c in forests]
    said = printed([*few, *retrained, *variants])
    assert f"  {REGRESSION} under paper: it needs canonical seed 99 with train seeds 1 to 10\n" in said
    assert f"  {DATASET} under update: a submission has no results under update\n" in said
    assert f"{DATASET}@train=200 under halves: a submission has no variants" in said
    packed = {path.relative_to(tmp_path / "random_forest/1.0").as_posix() for path in tmp_path.rglob("*.parquet")}
    assert packed == {f"predictions/{sampling}/{DATASET}.parquet" for sampling in ("halves", "paper")}
    with pytest.raises(UserError, match=f"on {DATASET}@train=200 under halves, .*, and not on a variant"):
        pack(collect(variants), TITLE, "2.0", tmp_path)


def test_cells_of_another_version_of_the_file_are_refused(forests, tmp_path, monkeypatch):
    monkeypatch.setattr("leaderboard.submission.pack.code_of", lambda method: "random_forest@0123456789abcdef paper@1")
    with pytest.raises(UserError, match=r"with random_forest@.*, but .* now random_forest@0123.*: run it again"):
        pack(collect(forests), TITLE, "1.0", tmp_path)
    assert not (tmp_path / "random_forest").exists()


@pytest.mark.parametrize("dataset", [DATASET, REGRESSION])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"params": {"trees": 3}}, r"ran as random_forest:trees=3, but .* the defaults of its file"),
        ({"learner": "svm"}, "other features than the dataset DATASET, or tuned"),
        ({"tune": "best"}, "other features than the dataset DATASET, or tuned"),
    ],
)
def test_a_pipeline_that_verify_would_not_train_is_refused_on_any_dataset(forests, tmp_path, dataset, other, message):
    paper = {cell.key.dataset: cell for cell in forests if cell.key.sampling == "paper"}
    beside = [cell for name, cell in paper.items() if name != dataset and "params" in other]
    changed = collect([keyed(paper[dataset], **other), *beside])
    with pytest.raises(UserError, match=message.replace("DATASET", dataset)):
        pack(changed, "random_forest" if "params" in other else TITLE, "1.0", tmp_path)


def test_a_submission_is_written_whole_or_not_at_all(forests, tmp_path, full_disk):
    with full_disk, pytest.raises(UserError, match="cannot be written: File too large"):
        pack(collect(forests), TITLE, "1.0", tmp_path)
    assert not [*(tmp_path / "random_forest").iterdir()]
    assert pack(collect(forests), TITLE, "1.0", tmp_path)[0].is_dir()


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("random-forest-trees-3", "1.0", "no dataset with .* 1 to 20 under halves, .* on b3db_measured under halves"),
        ("random_forest", "1.0", "could be Random forest, trees=. or Random forest, trees=. on b3db_measured"),
        ("random_forst", "1.0", "unknown method 'random_forst': did you mean 'random_forest'"),
        ("random-forest-trees-2", "../1.0", "expected lower-case letters"),
        ("random-forest-trees-2", "2.0", "exists"),
        ("random-forest-trees-2", "1.0", "is the suite's method 'random_forest': pack a method of your own"),
    ],
)
def test_what_cannot_be_packed_is_named(forests, tmp_path, name, version, message):
    (tmp_path / "random_forest" / "2.0").mkdir(parents=True)
    with pytest.raises(UserError, match=message):
        pack(collect(forests), name, version, tmp_path, ["random_forest"] if "suite" in message else [])


@pytest.mark.long
def test_in_a_fresh_store_a_submission_is_placed_and_shown_among_the_published_results(good, own_store):
    words = ("submit", str(good), "--submissions", str(good.parents[1]), "--out", "site")
    done = invoke(*words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "B3DB measured, halves: place " in done.output
    assert re.search(r" of 1\d by matched churn", done.output)
    pages = {path.stem for path in (own_store / "site" / "methods").iterdir()}
    assert {"erm", "twin-bootstrap-lambda-100", "forest-elsewhere-1.0-self-reported"} <= pages
    assert "self-reported" in (own_store / "site" / "index.html").read_text()
    results, _ = read()
    (halves,) = results.by_sampling
    assert halves.sampling == "halves"
    assert [(d.name, [entry.method for entry in d.entries]) for d in halves.datasets] == [(DATASET, ["forest"])]
