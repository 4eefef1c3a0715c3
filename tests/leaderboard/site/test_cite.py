"""Pages of published numbers with addresses that never change."""

import posixpath
import re
import shutil
from itertools import islice

import pytest

from benchmark.files import CHECKOUT
from leaderboard.read.published import PUBLISHED
from leaderboard.read.results import Results
from leaderboard.site import cite
from leaderboard.write import cited


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(cite.files())


def test_each_published_table_has_a_page_with_its_cells_its_data_and_what_to_cite(pages: dict[str, str]) -> None:
    for one in cited.tables(cited.versions()[-1]):
        path = f"cite/{one.version}/{one.name}"
        page = pages[f"{path}.html"]
        assert re.findall(r'<td id="([^"]+)"', page) == list(one.cells)
        assert one.sha256 in page
        assert pages[f"{path}.csv"] == one.csv.read_text(encoding="utf-8")


def test_each_number_links_to_its_own_address(browser, pages, tmp_path):
    path = "cite/0.1.0/halves/places.html"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(pages[path], encoding="utf-8")
    shutil.copytree(CHECKOUT / "leaderboard" / "static", tmp_path / "static")
    (tmp_path / "static" / "latex.js").touch()
    browser.folder = tmp_path
    browser.open(path)
    cells = "[...document.querySelectorAll('td[id]')]"
    links = browser.wait(f"{cells}.map((cell) => [cell.id, cell.querySelector('a')?.hash])")
    assert links == [[cell, f"#{cell}"] for cell in re.findall(r'<td id="([^"]+)"', pages[path])]
    texts = re.findall(r'<td id="[^"]+"[^>]*>(.*)</td>', re.sub("</?i>", "", pages[path]))
    assert browser.run(f"return {cells}.map((cell) => cell.textContent)") == [text.rstrip() for text in texts]


def test_each_link_leads_to_a_page_of_the_site_or_a_place_on_its_own(pages: dict[str, str]) -> None:
    names = ("index", "compare", "factors", "molecules", "expect", "tables", "definitions", "yours")
    known = {*pages, *(f"{name}.html" for name in names), "citation.bib", "static/latex.js"}
    known |= {f"static/{path.name}" for path in (CHECKOUT / "leaderboard" / "static").iterdir()}
    found = set()
    for path in ("cite/index.html", "cite/0.1.0/halves/places.html", "cite/0.1.0/halves/datasets/bace-id.html"):
        for link in re.findall(r' (?:href|src)="((?!data:)[^"]+)"', pages[path]):
            target, _, place = link.partition("#")
            assert target or f'id="{place}"' in pages[path]
            found |= {posixpath.normpath(posixpath.join(posixpath.dirname(path), target))} if target else set()
    assert found <= known
    assert {path for path in pages if path.endswith(".html")} <= found, "the index leads to each table"


def test_a_page_stays_the_same_on_another_day_and_in_another_build(pages, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert dict(islice(cite.files(), 100)).items() <= pages.items()


def test_only_a_site_of_the_published_results_has_such_pages() -> None:
    assert cite.has(Results((), source=str(PUBLISHED)))
    assert not cite.has(Results((), source="sqlite:///mlflow.db"))
    assert not cite.has(Results((), source=f"sqlite:///mlflow.db, {PUBLISHED}"))
