"""Results as files: what is written comes back, and what was changed is refused."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.files import CHECKOUT
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.check import synthetic
from benchmark.store.cell import Cell
from leaderboard.__main__ import app
from leaderboard.read import published
from leaderboard.read.results import Results, collect
from leaderboard.write.published import _packed
from leaderboard.write.published import write as write_published


@pytest.fixture(scope="module")
def results() -> Results:
    cells = []
    for task in ("classification", "regression"):
        problem = synthetic(task)  # type: ignore[arg-type]
        plans = [runner.plan(problem, make_method(f"random_forest:trees={n}", task), [1, 2, 3]) for n in (2, 3)]
        cells += [result for _, result in runner.run(plans, jobs=1) if isinstance(result, Cell)]
    return collect(cells)


def test_results_of_each_sampling_come_back_under_it(results: Results, tmp_path: Path) -> None:
    paper = [cell for d in results.datasets for entry in d.entries for cell in entry.cells.values()]
    halves = [replace(cell, key=replace(cell.key, sampling="halves")) for cell in paper]
    write_published(collect([*paper, *halves]), tmp_path / "0")
    assert (tmp_path / "0" / "predictions" / "halves" / "synthetic_regression-0.parquet").is_file()
    assert (tmp_path / "0" / "tables" / "halves" / "ranks.csv").is_file() == (
        tmp_path / "0" / "tables" / "ranks.csv"
    ).is_file()
    back = published.read(tmp_path / "0")
    assert sorted(cell.key.digest for cell in back) == sorted(cell.key.digest for cell in (*paper, *halves))
    assert all(p.sampling == cell.key.sampling for cell in back for p in cell.predictions.values())


def test_what_is_written_comes_back(results: Results, tmp_path: Path) -> None:
    write_published(results, tmp_path / "0")
    back = collect(published.read(tmp_path / "0"))
    assert [d.name for d in back.datasets] == [d.name for d in results.datasets]
    for one, other in zip(results.datasets, back.datasets, strict=True):
        assert [entry.title for entry in one.entries] == [entry.title for entry in other.entries]
        for entry in one.entries:
            again = other.entry(entry.title)
            assert again is not None
            for seed, cell in entry.cells.items():
                same = again.cells[seed]
                assert (same.key, same.title, same.fit_seconds) == (cell.key, cell.title, cell.fit_seconds)
                assert same.facts == cell.facts
                for evalset, p in cell.predictions.items():
                    q = same.predictions[evalset]
                    assert (q.ids == p.ids).all()
                    assert (q.y == p.y).all()
                    np.testing.assert_allclose(q.values, p.values, rtol=1e-6)


def test_a_probability_next_to_zero_keeps_its_digits_whichever_class_it_is_of() -> None:
    values = np.array([[1e-20, 1], [1, 3e-9], [0, 1], [1, 0], [0.5, 0.5], [0.25, 0.75]], dtype=np.float32)
    assert (published._unpacked(_packed(values), 2) == values).all()


def test_writing_again_gives_the_same_bytes(results: Results, tmp_path: Path) -> None:
    write_published(results, tmp_path / "0")
    first = {path.name: path.read_bytes() for path in (tmp_path / "0").rglob("*.*")}
    write_published(collect(published.read(tmp_path / "0")), tmp_path / "0")
    assert {path.name: path.read_bytes() for path in (tmp_path / "0").rglob("*.*")} == first
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


def test_a_changed_or_missing_file_is_refused_by_name(results: Results, tmp_path: Path) -> None:
    write_published(results, tmp_path / "0")
    file = next((tmp_path / "0" / "predictions").iterdir())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(UserError, match=f"{file.name}: sha256 .*, expected .*: restore the file"):
        published.read(tmp_path / "0")
    file.unlink()
    with pytest.raises(UserError, match=file.name):
        published.read(tmp_path / "0")


def test_a_folder_of_something_else_is_left_alone(results: Results, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match="holds no published results"):
        write_published(results, tmp_path)
    with pytest.raises(UserError, match="cannot be read as published results"):
        published.read(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.slow
def test_the_tables_that_come_with_the_suite_are_made_again_from_its_predictions_byte_for_byte(tmp_path: Path) -> None:
    again = tmp_path / published.PUBLISHED.name
    write_published(published.gather(published.PUBLISHED), again)

    def tables(folder: Path) -> dict[str, str]:
        return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.*")}

    kept = tables(published.PUBLISHED / "tables")
    assert len(kept) > 30
    assert "halves/ranks.csv" in kept
    assert tables(again / "tables") == kept
    assert (again / "manifest.json").read_text() == (published.PUBLISHED / "manifest.json").read_text()


@pytest.mark.slow
def test_the_page_of_results_is_made_again_from_the_predictions_that_come_with_the_suite(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as exit_:
        app(["compare", "--store", str(published.PUBLISHED), "--markdown", str(tmp_path / "RESULTS.md")])
    assert exit_.value.code in (0, None)
    assert (tmp_path / "RESULTS.md").read_text() == (CHECKOUT / "RESULTS.md").read_text()


@pytest.mark.slow
def test_beside_published_results_own_ones_of_fewer_retrainings_give_way_and_are_named() -> None:
    keys = {"dataset": "bace", "method": "erm", "sampling": "paper"}
    shipped = [c for c in published.shipped() if keys.items() <= asdict(c.key).items()]
    erm, of_study, *_ = sorted(shipped, key=lambda cell: cell.facts.study != "")
    mine = replace(erm, key=replace(erm.key, method="mine"), title="Mine").only([1, 2, 3])
    elsewhere = replace(of_study, facts=erm.facts).only([1, 2, 3])
    cells, said = published.among([erm.only([1, 2, 3]), mine, elsewhere])
    assert cells[:2] == [mine, elsewhere]
    (entry,) = (e for e in collect(cells).datasets[0].entries if e.method == "erm")
    assert entry.cells[99].key.seeds == erm.key.seeds
    assert entry.cells[of_study.key.canonical_seed].key.seeds == (1, 2, 3)
    assert len(said) == 1
    assert (
        "ERM on bace, split 99: the published result, with train seeds 1-10, is shown instead of yours, with 1-3"
        in said[0]
    )
    again = replace(erm, key=replace(erm.key, code="newer"))
    assert published.among([again])[0][0] is again
    assert published.among([again])[1] == []
