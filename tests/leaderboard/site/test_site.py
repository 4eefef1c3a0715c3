"""The site is written whole or not at all, from every kind of store."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.errors import UserError
from benchmark.store.cell import Cell, Record
from benchmark.store.tracking import Store
from benchmark.study.context import REPORT
from leaderboard import site
from leaderboard.__main__ import build
from leaderboard.read import jobs
from leaderboard.read.results import Results, collect
from leaderboard.read.stored import read
from leaderboard.site import cite
from leaderboard.site.pages import Site
from leaderboard.write import published

from ..conftest import keyed, without_figures
from .conftest import first_page


def test_the_next_command_restores_pages_that_a_killed_build_had_put_aside(tmp_path: Path) -> None:
    """``tests/store/test_staging.py`` kills before each step, also where the old pages are put aside so."""
    out, aside = tmp_path / "site", tmp_path / ".site.churn-killed"
    aside.mkdir()
    site.write(Results((), "sqlite:///empty.db"), out).parent.rename(aside / "old")
    with pytest.raises(UserError):  # the command may fail later
        build(out, store=str(tmp_path / "no-such-folder"))
    assert (out / "index.html").is_file()


@pytest.mark.slow
@without_figures()
def test_each_sampling_has_pages_of_its_own_halves_first_and_the_others_a_click_away(tmp_path: Path, make_cell) -> None:
    paper = [make_cell("d", method, rate) for method, rate in (("erm", 0.3), ("calm", 0.05))]
    halves = [keyed(cell, sampling="halves") for cell in paper]
    finished = Record("members", REPORT, "", {"settings": {}})
    first = site.write(collect([*paper, *halves], records=[finished]), tmp_path / "site")
    for page, to_halves, to_paper in (
        (first, "index.html", "paper/index.html"),
        (first.parent / "methods" / "erm.html", "../index.html", "../paper/index.html"),
        (first.parent / "paper" / "index.html", "../index.html", "../paper/index.html"),
        (first.parent / "paper" / "methods" / "erm.html", "../../index.html", "../../paper/index.html"),
    ):
        nav = page.read_text().partition('<nav class="samplings"')[2].partition("</nav>")[0]
        assert re.findall(r'href="([^"]+)"', nav) == [to_halves, to_paper]
        assert all((page.parent / link).resolve().is_file() for link in (to_halves, to_paper))
        current = "paper" if "/paper/" in str(page) else "halves"
        assert f'title="{current}: ' in nav.partition('aria-current="true"')[0].rpartition("<a ")[2]
        links = page.read_text().partition('aria-label="Pages"')[2].partition("</nav>")[0]
        (decide,) = re.findall(r'href="([^"]+)">Decide', links)
        assert (page.parent / decide).resolve() == first.parent / "decide.html", "decisions go by halves"
        (studies,) = re.findall(r'href="([^"]+)">Studies', links)
        assert (page.parent / studies).resolve() == first.parent / "paper" / "studies.html"
        assert (page.parent / studies).is_file()
    alone = site.write(collect(paper), tmp_path / "alone")
    assert 'class="samplings"' not in alone.read_text(), "one sampling needs no choice"


def test_an_interrupted_study_leaves_no_empty_list_and_no_board_without_a_word(make_cell) -> None:
    halves = keyed(make_cell("d", "erm"), sampling="halves")
    whole = collect([halves], records=[Record("similarity", "bace, split 99", "c" * 16, {})])
    pages = Site(whole, whole, "runs", {})
    assert "No study is finished yet" in dict(pages.study_pages())["studies.html"]
    said = first_page(whole)
    assert "has no finished cell under the sampling paper yet" in said
    assert "churn run --method erm,twin --sampling paper" in said
    found = pages.page("molecules.html", datasets=whole.datasets, drawn=False)
    found += pages.page("tables.html", tables=[], figures=[], datasets=whole.datasets, bibtex="", cited=False)
    assert 'class="contents"' not in found


def test_pages_say_when_they_were_built_and_lead_to_repository_and_documentation_if_these_are_known(
    make_cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")
    results = collect([make_cell("d", "erm")])
    addresses = {"repository": "https://git.example/churn", "docs": "https://docs.example/churn"}
    first, alone = first_page(results, **addresses), first_page(results)
    for text in (first, dict(Site(results, results, "runs", {}, **addresses).methods())["methods/erm.html"]):
        assert '<time datetime="2026-11-22">22 November 2026</time>' in text
        assert '<a href="https://git.example/churn">Repository</a>' in text
        assert '<a href="https://docs.example/churn">Documentation</a>' in text
        assert 'yours.html">Your predictions</a>' in text
    assert "https://git.example/churn/blob/HEAD/submissions/README.md" in first
    assert not re.search(">(Repository|Documentation)<", alone)
    assert 'id="submit"' in alone


def test_the_readers_own_rows_stand_out(make_cell) -> None:
    results = collect([make_cell("d", method, rate) for method, rate in (("erm", 0.3), ("mine", 0.1))])
    (own,) = (row for row in first_page(results).split("<tr") if row.startswith(' class="own"'))
    assert 'data-value="MINE"' in own
    assert '<span class="tag yours">yours</span>' in own


def test_a_folder_that_is_not_ours_is_refused_before_the_store_is_read(tmp_path, monkeypatch):
    (tmp_path / "thesis.tex").write_text("years of work")
    monkeypatch.setattr("leaderboard.read.stored.read", lambda store: pytest.fail("the store was read"))
    with pytest.raises(UserError, match="is not a leaderboard"):
        build(tmp_path)
    with pytest.raises(UserError, match="kind of interval"):
        build(tmp_path / "site", ci="pair")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_file_of_the_users_in_a_site_is_kept_and_named(tmp_path: Path, make_cell) -> None:
    results = collect([make_cell("d", method, rate) for method, rate in (("erm", 0.3), ("twin", 0.1))])
    with without_figures():
        page = site.write(results, tmp_path / "site")
        site.write(results, tmp_path / "site")
        (page.parent / ".git").mkdir()
        (page.parent / ".git" / "HEAD").write_text("mine")
        with pytest.raises(UserError, match=r"holds \.git/HEAD, which no build has written: move it"):
            site.write(results, tmp_path / "site")
    assert (page.parent / ".git" / "HEAD").read_text() == "mine"


def test_force_takes_nothing_from_earlier_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    list(jobs.made([jobs.Job("one", bytes, ())]))
    kept = tmp_path / "cache" / "site" / "one"
    for force in (False, True):
        assert kept.is_file()
        with pytest.raises(UserError, match="no such folder"):
            build(tmp_path / "site", store=str(tmp_path / "missing"), force=force)
    assert not kept.exists()


def test_only_what_is_shown_is_cited(make_cell) -> None:
    text = cite.bibtex(collect([make_cell("d", "erm", about={"cite": "subramanian2016bace"})]))
    entries = re.findall(r"^@\w+\{(\w+),", text, flags=re.M)
    assert entries == ["prastalo2026churn", "churnbenchmark", "subramanian2016bace"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    return Store()


def whole(cell, **about: str):
    """Return a cell with every field that the store requires."""
    dataset = cell.facts.dataset.model_copy(update={"source": "none:none"})
    return replace(cell, run_id="").with_facts(dataset=dataset, commit="abc", **about)


@pytest.mark.slow
@without_figures()
def test_failed_damaged_foreign_and_doubled_runs_are_told_apart(store, tmp_path, make_cell, capsys):
    old = whole(make_cell("d", "erm", 0.1, seeds=(1, 2, 3)))
    store.log(keyed(old, code="older"))
    store.log(whole(make_cell("d", "erm", 0.3, seeds=(1, 2, 3))))
    store.log(whole(make_cell("d", "short", 0.1, seeds=(1, 2))))
    damaged = store.log(whole(make_cell("d", "damaged", seeds=(1, 2, 3))))
    files = store.client.get_run(damaged).info.artifact_uri.removeprefix("file://")
    Path(files, "cell", "id.parquet").unlink()
    store.log_failure(replace(whole(make_cell("d", "broken")), predictions={}), "Traceback: no memory")
    foreign = store.client.create_experiment("someone's")
    store.client.create_run(foreign)

    build(tmp_path / "site")
    warnings = capsys.readouterr().err
    text = (tmp_path / "site" / "index.html").read_text()
    for words in ("BROKEN · split 99 (", ") on d failed. Run it again: churn run --method broken", "is left out"):
        assert words in warnings
        assert words in text
    dataset = (tmp_path / "site" / "datasets" / "d.html").read_text()
    assert "An interval for churn needs at least three retrainings." in dataset
    assert "DAMAGED" not in dataset
    results, _ = read()
    assert [entry.title for entry in results.datasets[0].entries] == ["ERM", "SHORT"]
    assert results.datasets[0].reference.cells[99].key.code == "c" * 16


def test_a_run_in_a_server_is_linked_and_no_password_is_published(make_cell, tmp_path: Path) -> None:
    results = replace(collect([make_cell("d", "erm")]), source="http://me:secret@mlflow.example:5000/")
    out = site.write(results, tmp_path / "site").parent
    assert not any(b"secret" in path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert 'href="http://mlflow.example:5000/#/runs/0123456789abcdef"' in (out / "methods" / "erm.html").read_text()


def test_the_page_of_a_method_says_what_it_is_without_formulas_and_how_to_open_the_store_of_its_runs(make_cell):
    recorded = [make_cell("d", "erm", seeds=(1, 2))]
    files_only = [replace(make_cell("d", "calm", seeds=(1, 2)), run_id="")]
    results = replace(collect([*recorded, *files_only]), source="sqlite:///a.db, leaderboard/published/1")
    pages = Site(results, results, "runs", {})
    text, other = (dict(pages.methods())[f"methods/{name}.html"] for name in ("erm", "calm"))
    assert "mlflow ui --backend-store-uri sqlite:///a.db</code>" in text
    assert "MLflow" not in other
    assert "one network on one bootstrap" in text
    assert "Source: Prastalo and Jablonka 2026" in text
    assert "$$" not in text


def test_nothing_is_written_outside_the_folders_of_a_site_and_of_exported_results(make_cell, tmp_path, monkeypatch):
    out = tmp_path / "a" / "site"
    out.parent.mkdir()
    with pytest.raises(UserError, match=r"leads out of .*: nothing is read or written there"):
        published.write(collect([make_cell("../../x", "erm")]), out)
    monkeypatch.setattr(Site, "files", lambda self: iter([("tables/../../../x.tex", "")]))
    with pytest.raises(UserError, match="leads out of"):
        site.write(collect([make_cell("made_up", "erm")]), out)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_a_site_is_replaced_whole_and_with_a_new_cell_is_that_of_a_build_from_scratch(
    tmp_path, make_cell, make_regression, monkeypatch
):
    def contents(cells: list[Cell], cache: str) -> dict[Path, bytes]:
        monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / cache))
        out = site.write(collect(cells), tmp_path / "site").parent
        return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    cells = [make_cell("d", method, rate) for method, rate in (("erm", 0.3), ("b", 0.1), ("c", 0.2))]
    cells += make_regression("r", erm=0.3, b=0.1)
    first = contents(cells, "used")
    made = {path: path.stat().st_ino for path in (tmp_path / "used" / "site").iterdir()}
    cells = [cells[0], make_cell("d", "b", 0.4), *cells[2:]]
    again = contents(cells, "used")
    assert again != first
    assert again == contents(cells, "empty")
    assert {path: path.stat().st_ino for path in made} == made, "what is in the cache is not made again"
    new = [path.name.partition("-")[0] for path in (tmp_path / "used" / "site").iterdir() if path not in made]
    assert [new.count(kind) for kind in ("boards", "dataset")] == [1, 1], "only those of the cell's dataset are new"
    assert 0 < new.count("figure") < len([path for path in made if path.name.startswith("figure")])
    site.write(Results((), "sqlite:///empty.db"), tmp_path / "site")
    assert not (tmp_path / "site" / "tables").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "site", "used"]
