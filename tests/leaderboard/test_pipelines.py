"""A method with another learner or other features has a row of its own, wherever results are shown."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.store.cell import Cell
from leaderboard import site
from leaderboard.paper.mapping import mapping
from leaderboard.paper.read import Published
from leaderboard.read import published
from leaderboard.read.results import Results, collect
from leaderboard.site.decide import choices
from leaderboard.tables.boards import board
from leaderboard.tables.pairwise import title_of
from leaderboard.tables.summary import YOURS, summaries
from leaderboard.write.published import write as write_published

from .conftest import keyed, noisy, without_figures

ROWS = {
    ("erm", "", ""): ("ERM", 1.5),
    ("erm", "", "atom_pairs.4096"): ("ERM · atom pairs", 0.1),
    ("bagging", "", ""): ("Bagging K=5", 0.9),
    ("bagging", "svm", ""): ("Bagging K=5 · SVM", 0.4),
    ("bagging", "svm:C=10.0", "atom_pairs.4096"): ("Bagging K=5 · SVM, C=10.0 · atom pairs", 0.6),
}
"""Method, learner and features: the title, and the noise of its predictions."""
NAMES = [" ".join(filter(None, key)) for key in ROWS]


@pytest.fixture(scope="module")
def cells(make_cell: Callable[..., Cell]) -> list[Cell]:
    """Two datasets with the same five rows."""
    rng = np.random.default_rng(0)
    y = (rng.random(80) < 0.4).astype(int)
    made = []
    for dataset in ("first", "second"):
        for (method, learner, features), (title, noise) in ROWS.items():
            params = {"k": 5} if method == "bagging" else {}
            cell = make_cell(method, noisy(rng, y, noise), y=y, dataset=dataset, title=title, params=params)
            made.append(keyed(cell, learner=learner, features=features))
    return made


@pytest.fixture(scope="module")
def results(cells: list[Cell]) -> Results:
    return collect(cells)


def test_each_is_a_row_of_the_board_and_plain_erm_is_the_reference(results: Results) -> None:
    names = {title: name for name, (title, _) in zip(NAMES, ROWS.values(), strict=True)}
    (summary,) = (one for one in summaries(results) if one.key == "classification/headline")
    for entries in (summary.rows, *(dataset.entries for dataset in results.datasets)):
        assert {entry.title: entry.method for entry in entries} == names
    for dataset in results.datasets:
        assert {row.title for row in board(dataset, "id", "runs").rows} == {*names}
        assert (dataset.entries[0].method, dataset.reference.title) == ("erm", "ERM"), "though another has less churn"
    assert summary.reference.title == "ERM"


def test_a_newer_cell_replaces_only_that_of_its_own_learner_and_features(cells: list[Cell]) -> None:
    for cell in cells[:5]:
        newer = keyed(cell, code="bagging@2 mlp@1 trainer@1 paper@1")
        (dataset, _) = collect([newer, *cells]).datasets
        codes = {entry.title: entry.cells[99].key.code for entry in dataset.entries}
        assert [title for title, code in codes.items() if code == newer.key.code] == [cell.title]


def test_a_name_means_the_method_with_the_datasets_own_learner_and_features(results: Results) -> None:
    for name, (title, _) in zip(NAMES, ROWS.values(), strict=True):
        assert {entry.title for entry in results.called(name).values()} == {title}
        assert title_of(results.datasets, name) == title
        assert {d.entry(title).spelled for d in results.datasets} == {name}


def test_a_published_number_is_compared_with_the_method_as_it_was_published(results: Results) -> None:
    row = Published("main", "first", "bagging_k5", 99, "churn", "%", 10.0, 9.0, 11.0, 0.1)
    ours = mapping(results, [row])(row)
    (bagging,) = (e for e in results.datasets[0].entries if e.method == "bagging")
    labels = bagging.cells[99].predictions["id"].values.argmax(axis=2)
    churn = np.mean([(a != b).mean() for i, a in enumerate(labels) for b in labels[:i]])
    assert ours.estimate.value == pytest.approx(churn)


def test_published_results_hold_each(results: Results, cells: list[Cell], tmp_path: Path, monkeypatch) -> None:
    write_published(results, tmp_path / "0", tables=False)
    back = published.read(tmp_path / "0")
    assert len(back) == len(cells)
    for cell in cells:
        (same,) = (one for one in back if one.key == cell.key)
        np.testing.assert_allclose(same.predictions["id"].values, cell.predictions["id"].values, rtol=2.0**-5)
    monkeypatch.setattr(published, "PUBLISHED", tmp_path / "0")
    published.listed_methods.cache_clear()
    try:
        assert published.listed_methods() == {cell.key.kind[2:4] for cell in cells}
        mine = replace(keyed(cells[3], learner="linear"), title="Bagging K=5 · Linear")
        (summary,) = (one for one in summaries(collect([*cells, mine])) if one.key == "classification/headline")
        assert {row.title for row in summary.rows if row.badge == YOURS} == {mine.title}
        elsewhere, again = keyed(cells[2], canonical_seed=7), keyed(cells[2], code="newer")
        fewer = [cell.only([1, 2, 3]) for cell in (*cells[2:4], mine, elsewhere)]
        kept, said = published.among([*fewer, again])
        assert [cell.key for cell in kept[:3]] == [fewer[2].key, fewer[3].key, again.key]
        assert [line.partition(" on ")[0] for line in said] == ["Bagging K=5", "Bagging K=5 · SVM"]
        assert "split 99: the published result, with train seeds 1-6, is shown instead of yours, with 1-3" in said[0]
    finally:
        published.listed_methods.cache_clear()


@without_figures()
def test_the_pages_show_each_and_say_which_learner_and_features_it_has(results: Results, tmp_path: Path) -> None:
    folder = site.write(results, tmp_path / "site").parent
    pages = {path.stem: path.read_text() for path in (folder / "methods").glob("*.html")}
    alone = {"erm", "erm-atom-pairs", "bagging-k-5", "bagging-k-5-svm"}
    assert set(pages) == alone | {"bagging-k-5-svm-c-10.0-atom-pairs"}
    assert "<dt>Learner</dt>" not in pages["bagging-k-5"]
    assert "<dt>Learner</dt><dd><code>svm</code></dd>" in pages["bagging-k-5-svm"]
    both = pages["bagging-k-5-svm-c-10.0-atom-pairs"]
    assert "<dt>Learner</dt><dd><code>svm:C=10.0</code></dd>" in both
    assert "<dt>Features</dt><dd><code>atom_pairs.4096</code></dd>" in both
    assert all("the average of k networks on k bootstraps" in text for name, text in pages.items() if "bag" in name)
    index = (folder / "index.html").read_text()
    assert all(f'data-title="{title}"' in index for title, _ in ROWS.values())
    links = re.findall(r'href="(methods/[^"]+)"', index)
    assert {*links} == {f"methods/{name}.html" for name in pages}
    of_first = next(choice for choice in choices(results) if choice["key"] == "first")
    losses = {method["title"]: method["loss"] for method in of_first["methods"]}
    assert set(losses) == {title for title, _ in ROWS.values()}
    assert [title for title, loss in losses.items() if loss is None] == ["ERM"]
