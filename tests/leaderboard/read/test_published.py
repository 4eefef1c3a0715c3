"""Results as files: what is written comes back, and what was changed is refused."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import kendalltau

from benchmark.errors import UserError
from benchmark.measure import matched
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.check import synthetic
from benchmark.store.cell import Cell, Record
from benchmark.store.folder import SUMS, sums
from benchmark.types import PAPER, Predictions, Sampling
from leaderboard.__main__ import app
from leaderboard.read import published
from leaderboard.read.results import Results, collect
from leaderboard.write.published import BITS, packed_outputs, write_tables
from leaderboard.write.published import write as write_published
from tests.conftest import call

from ..conftest import keyed


@pytest.fixture(scope="module")
def results() -> Results:
    cells = []
    for task in ("classification", "regression"):
        problem = synthetic(task)
        plans = [runner.plan(problem, make_method(f"random_forest:trees={n}", task), [1, 2, 3]) for n in (2, 3)]
        cells += [result for _, result in runner.run(plans, jobs=1) if isinstance(result, Cell)]
    return collect(cells)


@pytest.fixture
def folder(results: Results, tmp_path: Path) -> Path:
    write_published(results, tmp_path / "0", tables=False)
    return tmp_path / "0"


def test_each_sampling_comes_back_and_is_written_again_to_the_same_bytes(results: Results, tmp_path: Path) -> None:
    paper = [cell for dataset in results.datasets for cell in dataset.cells]
    halves = [keyed(cell, sampling="halves") for cell in paper]
    write_published(collect([*paper, *halves]), tmp_path / "0")
    assert (tmp_path / "0" / "predictions" / "halves" / "synthetic_regression-0.parquet").is_file()
    tests = [f"{d.name}-{evalset}" for d in results.datasets for evalset in d.evalsets]
    for folder in (tmp_path / "0" / "tables", tmp_path / "0" / "tables" / "halves"):
        shown = {path.name for path in (folder / "datasets").iterdir()}
        assert shown == {f"{test}.{suffix}" for test in tests for suffix in ("csv", "json")}
    assert (tmp_path / "0" / SUMS).read_text() == sums(tmp_path / "0")
    back = {cell.key.digest: cell for cell in published.read(tmp_path / "0")}
    assert len(back) == 2 * len(paper)
    for cell in (*paper, *halves):
        same = back[cell.key.digest]
        assert (same.key, same.title, same.fit_seconds) == (cell.key, cell.title, cell.fit_seconds)
        assert same.facts == cell.facts
        for evalset, p in cell.predictions.items():
            q = same.predictions[evalset]
            assert q.sampling == cell.key.sampling
            assert (q.ids == p.ids).all()
            assert (q.y == p.y).all()
            np.testing.assert_allclose(q.values, p.values, rtol=2.0**-BITS, atol=p.y.std() * 2.0**-BITS)
    first = {path: path.read_bytes() for path in (tmp_path / "0").rglob("*.*")}
    write_published(collect(back.values()), tmp_path / "0")
    assert {path: path.read_bytes() for path in (tmp_path / "0").rglob("*.*")} == first
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


def test_the_leading_results_are_read_without_the_others(results: Results, tmp_path: Path) -> None:
    one, other = (dataset.cells for dataset in results.datasets)

    def under(cells: Iterable[Cell], sampling: Sampling, **facts: Any) -> list[Cell]:
        return [keyed(cell, sampling=sampling).with_facts(**facts) for cell in cells]

    variant = one[0].facts.dataset.model_copy(update={"group": "variant"})
    variants = [keyed(cell, dataset="a@train=50").with_facts(dataset=variant) for cell in one]
    studied = under(other, "halves", study="members")
    cells = [*under(one, "nested"), *one, *under(one, "halves"), *under(other, "nested"), *other, *studied, *variants]
    write_published(collect(cells), tmp_path / "0", tables=False)
    read = published.read(tmp_path / "0", leading=True)
    wanted = [*under(one, "halves"), *other]
    assert sorted(cell.key.digest for cell in read) == sorted(cell.key.digest for cell in wanted)

    of_one = published.read(tmp_path / "0", leading=True, datasets={one[0].key.dataset})
    assert sorted(cell.key.digest for cell in of_one) == sorted(cell.key.digest for cell in wanted[: len(one)])

    of_erm = published.read(tmp_path / "0", leading=True, reference=True)
    assert {cell.key.digest for cell in of_erm} == {c.key.digest for c in wanted if c.key.pipeline == "erm"}

    def shown(cells: list[Cell]) -> list[tuple[str, list[str]]]:
        parts = [d for part in collect(cells).leading() for d in part.datasets if d.group != "variant"]
        return [(d.name, [cell.key.digest for cell in d.cells]) for d in parts]

    assert shown(read) == shown(published.read(tmp_path / "0"))


def test_the_files_of_other_datasets_are_not_read(results: Results, folder: Path) -> None:
    one, other = results.datasets
    for file in folder.rglob(f"{other.name}-*.parquet"):
        file.unlink()
    wanted = {cell.key.digest for cell in one.cells}
    assert {cell.key.digest for cell in published.read(folder, datasets={one.name})} == wanted
    for datasets in ({other.name}, ()):
        with pytest.raises(UserError, match=f"cannot be read: .*{other.name}"):
            published.read(folder, datasets=datasets)


def test_a_file_of_format_3_with_a_column_for_each_cell_reads_the_same(folder: Path) -> None:
    whole = published.read(folder)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text()) | {"format": 3}
    for name in manifest["files"]:
        table = pq.read_table(folder / name)
        outputs, end = np.stack(table["outputs"].to_numpy()), 0
        widths = json.loads(table.schema.metadata[published.WIDTHS])
        for cell, width in widths.items():
            table = table.append_column(cell, pa.array([*outputs[:, end : end + width]], pa.list_(pa.float32(), width)))
            end += width
        assert end == outputs.shape[1]
        pq.write_table(table.drop_columns("outputs").replace_schema_metadata(None), folder / name)
        manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))
    for cell, same in zip(whole, published.read(folder), strict=True):
        assert cell.key == same.key
        for evalset, p in cell.predictions.items():
            assert (same.predictions[evalset].values == p.values).all()


def predictions(values: np.ndarray) -> Predictions:
    r, t, c = values.shape
    labels = np.arange(t) % 2 if c == 2 else np.arange(t).astype(float)
    task = "regression" if c == 1 else "classification"
    return Predictions(tuple(range(1, r + 1)), np.arange(t).astype(str), labels, values, task)


def stored(values: np.ndarray) -> np.ndarray:
    return published._unpacked(packed_outputs(predictions(values), 1.0), 2)


def test_a_probability_next_to_zero_keeps_its_size_whichever_class_it_is_of() -> None:
    values = np.array([[[1e-20, 1], [1, 3e-9], [0, 1], [1, 0], [0.5, 0.5], [0.25, 0.75]]], dtype=np.float32)
    back = stored(values)
    np.testing.assert_allclose(back, values, rtol=2.0**-BITS, atol=0)
    assert (back[0, 2:] == values[0, 2:]).all()


def test_rounding_keeps_the_predicted_class_of_any_two_probabilities_and_most_of_their_digits() -> None:
    one = np.concatenate([np.random.default_rng(0).random(20_000), 0.5 + np.linspace(-1e-4, 1e-4, 2001)])
    values = np.stack([1 - one, one], axis=1)[None].astype(np.float32)
    back = stored(values)
    assert (back.argmax(2) == values.argmax(2)).all()
    off = np.abs(back.min(2) / values.min(2) - 1)
    assert off.max() <= 3 * 2.0**-BITS
    assert (off <= 2.0**-BITS).mean() > 0.9, "all but those at the cut of matched churn"
    assert (stored(back) == back).all(), "what was read is written again the same"
    near = 0.1 + 1e-4 * np.random.default_rng(0).normal(size=200)
    back = stored(np.stack([1 - near, near], axis=1)[None].astype(np.float32))
    assert kendalltau(near, back[0, :, 1]).statistic > 0.98, "what is nearly the same keeps its order"


@pytest.mark.parametrize("centre", [0.02, 0.5, 0.9])
def test_rounding_keeps_who_is_called_positive_by_matched_churn(centre: float) -> None:
    one = np.clip(np.random.default_rng(0).normal(centre, 0.002, size=(10, 400)), 1e-4, 1 - 1e-4)
    one[:, :8] = np.sort(one, axis=1)[:, [200]]  # ties at the cut
    exact = predictions(np.stack([1 - one, one], axis=2).astype(np.float32))
    rounded = predictions(stored(exact.values))
    assert len(np.unique(rounded.values)) < len(np.unique(exact.values)) / 5, "most of them tie now"
    k = matched.positives(exact)
    assert (matched.called(rounded, k) == matched.called(exact, k)).all()
    assert (rounded.values.argmax(2) == exact.values.argmax(2)).all()
    assert (stored(rounded.values) == rounded.values).all()
    same = predictions(np.full((2, 6, 2), 0.5, dtype=np.float32))
    assert (stored(same.values) == 0.5).all(), "what ties already stays"


def test_a_number_is_rounded_by_far_less_than_its_labels_vary() -> None:
    values = 300 + 5 * np.random.default_rng(0).normal(size=(500, 3, 1))
    back = packed_outputs(predictions(values), 5.0)
    assert 0 < np.abs(back - values).max() <= 5 * 2.0**-BITS / 2
    assert (packed_outputs(predictions(back), 5.0) == back).all()
    unit = packed_outputs(predictions(values), 0.0)
    assert (unit == values.astype(np.float32)).all(), "labels that do not vary have no unit"


@pytest.mark.parametrize(
    ("part", "edit"),
    [
        ("cells", lambda cell: cell.pop("title")),
        ("cells", lambda cell: cell["key"].update(dataset="../../../X")),
        ("cells", lambda cell: cell["key"].update(seeds=[1, 2])),
        ("cells", lambda cell: cell.update(n_outputs="two")),
        ("cells", lambda cell: cell.update(n_outputs=1)),
        ("cells", lambda cell: cell.update(key=None)),
        ("cells", lambda cell: cell.update(shared="elsewhere")),
        ("cells", lambda cell: cell.update(shared=[7])),
        ("cells", lambda cell: cell.pop("facts")),
        ("cells", lambda cell: cell.update(facts=7)),
        ("cells", lambda cell: cell["facts"].update(dataset=None)),
        ("cells", lambda cell: cell["facts"].update(rows={"id": -1})),
        ("records", lambda record: record.update(study=7)),
    ],
)
def test_a_wrong_field_of_a_manifest_leaves_out_its_cell_by_name_and_no_other(results, tmp_path, part, edit):
    record = Record("members", "report", "0" * 16, {"settings": {}})
    write_published(replace(results, records=(record,)), tmp_path / "0", tables=False)
    file = tmp_path / "0" / "manifest.json"
    whole = published.contents(tmp_path / "0")
    assert (len(whole.cells), whole.records, whole.unreadable) == (4, [record], [])
    manifest = json.loads(file.read_text())
    edit(manifest[part][0])
    file.write_text(json.dumps(manifest))
    left = published.contents(tmp_path / "0")
    assert (len(left.cells), len(left.records)) == ((3, 1) if part == "cells" else (4, 0))
    assert [cell.key for cell in left.cells[-3:]] == [cell.key for cell in whole.cells[-3:]]
    (line,) = left.unreadable
    assert f"{file}: {part[:-1]} 1" in line
    assert "cannot be read: " in line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": 2}', "format '2', expected 3 or 4"),
        ('{"format": 3, "files": 7, "cells": []}', "files: Input should be a valid dict"),
        ("[" * 3000, "cannot be read as published results"),
        ("", "cannot be read as published results"),
    ],
)
def test_what_is_no_manifest_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UserError, match=reason):
        published.contents(tmp_path)


def test_a_damaged_cell_says_what_is_wrong_and_stops_no_reading_of_others(results: Results, folder: Path) -> None:
    path, (one, other) = folder / "manifest.json", results.datasets
    whole = json.loads(path.read_text())
    place = next(i for i, cell in enumerate(whole["cells"]) if cell["key"]["dataset"] == other.name)
    for change, reason in (
        ({"facts": 7}, "facts: expected a table, found '7'"),
        ({"shared": "x" * 1000}, f"the manifest has no shared facts '{'x' * 80}'"),
    ):
        cells = [cell | change if i == place else cell for i, cell in enumerate(whole["cells"])]
        path.write_text(json.dumps(whole | {"cells": cells}))
        with pytest.raises(UserError, match=reason):
            published.read(folder)
        assert {cell.key.dataset for cell in published.read(folder, datasets={one.name})} == {one.name}


@pytest.mark.parametrize("damaged", [lambda content: content[:-1], lambda content: content.swapcase(), None])
def test_a_damaged_file_leaves_out_its_cells_by_name_and_no_others(folder, damaged):
    file = folder / "predictions" / "synthetic_regression-0.parquet"
    file.write_bytes(damaged(file.read_bytes())) if damaged else file.unlink()
    left = published.gather(folder)
    assert [dataset.name for dataset in left.datasets] == ["synthetic_classification"]
    (line,) = left.unreadable
    assert f"{file}: {'sha256' if damaged else 'no such file'}" in line
    assert "cell 3 (Random forest, trees=3), cell 4 (Random forest, trees=2) cannot be read" in line
    with pytest.raises(UserError, match=f"{file.name}: .*, expected sha256 .*: restore the file"):
        published.read(folder)


def test_an_export_warns_of_what_it_leaves_out_and_never_replaces_its_own_source(folder, tmp_path, capsys):
    file = folder / "predictions" / "synthetic_regression-0.parquet"
    file.write_bytes(file.read_bytes()[:-1])
    app(["export", str(tmp_path / "1"), "--store", str(folder)], standalone_mode=False)
    assert f"cannot be read: {file}" in capsys.readouterr().err
    assert call("export", str(folder), "--store", str(folder), which=app) == 2
    assert file.is_file()


def test_a_store_without_results_is_named_and_replaces_no_earlier_export(results, tmp_path, capsys) -> None:
    write_published(results, tmp_path / "kept", tables=False)
    write_published(Results(()), tmp_path / "none")
    before = (tmp_path / "kept" / "manifest.json").read_bytes()
    for words in (("export", str(tmp_path / "kept")), ("compare", "erm", "twin"), ("compare",), ("power",)):
        assert call(*words, "--store", str(tmp_path / "none"), which=app) == 2
        assert "none has no finished cell: add some with churn run" in capsys.readouterr().err
    assert (tmp_path / "kept" / "manifest.json").read_bytes() == before


def test_an_export_replaces_an_earlier_one_and_no_folder_with_other_files(results: Results, tmp_path: Path) -> None:
    write_published(results, tmp_path / "0", tables=False)
    write_published(results, tmp_path / "0", tables=False)
    (tmp_path / "0" / "notes").mkdir()
    (tmp_path / "0" / "notes" / "mine.txt").touch()
    for folder, file in (("extension", "manifest.json"), ("thesis", "thesis.tex")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).touch()
    for folder, kept in (("0", "notes/mine.txt"), ("extension", "manifest.json"), ("thesis", "thesis.tex")):
        with pytest.raises(UserError, match=f"{folder} holds {kept}, which no export has written"):
            write_published(results, tmp_path / folder, tables=False)
        assert (tmp_path / folder / kept).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("only", ["nested", pytest.param("", marks=pytest.mark.long)])
def test_the_tables_that_come_with_the_suite_are_those_of_its_predictions(tmp_path: Path, only: str) -> None:
    keys = [cell["key"] for cell in json.loads((published.PUBLISHED / "manifest.json").read_text())["cells"]]
    names = {key["dataset"] for key in keys if key["sampling"] == only}  # none stands for all
    cells, records, _ = published.contents(published.PUBLISHED, datasets=names)
    for part in collect(cells, records=records).by_sampling:
        if part.sampling == only or not only:
            write_tables(part, tmp_path / ("" if part.sampling == PAPER else part.sampling), complete=False)
    kept, made = (
        {path.relative_to(folder): path.read_text(encoding="utf-8") for path in (folder / only).rglob("*.csv")}
        for folder in (published.PUBLISHED / "tables", tmp_path)
    )
    assert len(kept) > 10
    assert made == kept


@pytest.mark.slow
def test_published_predictions_of_two_datasets_are_written_again_byte_for_byte(tmp_path: Path) -> None:
    cells = published.read(published.PUBLISHED, datasets=("skin_reaction", "freesolv"))
    some = [cell for cell in cells if cell.key.canonical_seed == 99]
    write_published(collect(some), tmp_path / "again", tables=False)
    files = sorted((tmp_path / "again" / "predictions").rglob("*.parquet"))
    assert len(files) > 3
    for file in files:
        name = file.relative_to(tmp_path / "again")
        assert file.read_bytes() == (published.PUBLISHED / name).read_bytes(), name
    manifests = [(folder / "manifest.json").read_text() for folder in (tmp_path / "again", published.PUBLISHED)]
    again, kept = ({x.rstrip(",") for x in text.splitlines() if '{"key":' in x} for text in manifests)
    assert again <= kept
    assert len(again) == len(some)
