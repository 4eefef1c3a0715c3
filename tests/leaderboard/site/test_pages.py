"""The pages as complete, linked files, and in a real browser as readers use them."""

import csv
import io
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from itertools import combinations, product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from benchmark.measure.catalogue import KEPT, MAE, ORDER, example_flips, scorecard
from benchmark.types import TASKS, Predictions
from leaderboard import site
from leaderboard.read import published
from leaderboard.read.results import Results, collect
from leaderboard.site import datasets
from leaderboard.site.frame import framed
from leaderboard.tables.boards import MARKS, board, boards
from leaderboard.tables.pairwise import compared, flipping_alone
from leaderboard.tables.summary import summaries
from leaderboard.tables.table import spelled

from ..conftest import cell, colour_contrast, compiled, keyed, noisy, without_figures
from .conftest import Page, first_page


def test_every_link_leads_to_a_file_or_a_place_in_it(built: Path) -> None:
    seen = {
        path: re.sub(r"(<script[^>]*>).*?</script>", r"\1", path.read_text("utf-8"), flags=re.S)
        for path in built.rglob("*.html")
    }
    ids = {path: re.findall(r'<[^>]* id="([^"]+)"', text) for path, text in seen.items()}
    assert len(seen) == 10 + 5 + 5 + 5  # general ones, datasets, flips, methods
    for path, text in seen.items():
        assert len(set(ids[path])) == len(ids[path]), f"an id twice in {path}"
        for link in re.findall(r'<[^>]* (?:href|src)="([^"]+)"', text):
            if link.startswith("data:"):
                continue
            parts = urlsplit(unescape(link))
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{link} in {path}"
            if parts.fragment and "=" not in parts.fragment:  # otherwise the state of a form
                assert parts.fragment in ids[target], f"{link} in {path}"


def test_nothing_is_loaded_from_elsewhere_and_names_are_escaped_everywhere(built: Path) -> None:
    for path in built.rglob("*"):
        if path.suffix in (".html", ".css", ".js"):
            text = path.read_text(encoding="utf-8")
            assert path.suffix != ".html" or not re.search("<b>|<i>odd", text, re.I), path
            assert set(re.findall(r"https?://[^\s\"'<)\\]+", text)) <= {
                "http://www.w3.org/2000/svg",
                "http://www.w3.org/1999/xlink",
                *("https://www.chartjs.org", "https://www.chartjs.org/chartjs-plugin-zoom/2.2.0/"),  # in comments
                "https://github.com/kurkle/color#readme",
                *("http://www.apache.org/licenses/LICENSE-2.0", "http://www.w3.org/TR/css3-color/#svg-color"),
                "https://github.com/reymond-group/smilesDrawer",
            }, path


def test_the_plot_brings_its_libraries_with_their_licences(built: Path) -> None:
    loaded = [*(built / "static").glob("chart*.js"), built / "static" / "plot.js"]
    assert sum(path.stat().st_size for path in loaded) < 300_000
    licences = (built / "static" / "chart.LICENCES.md").read_text()
    for name in ("chart.umd.min.js", "chartjs-plugin-zoom.min.js"):
        version = re.findall(r"v(\d+\.\d+\.\d+)", (built / "static" / name).read_text()[:200])
        assert f"{version[0]} ({name})" in licences
    assert licences.count("The MIT License") == 2


@pytest.mark.slow
def test_the_lowest_churn_of_a_dataset_may_be_erms_and_one_method_alone_has_no_rival(make_cell) -> None:
    rates = {"calmer": {"erm": 0.15, "calm": 0.05}, "rougher": {"erm": 0.15, "wild": 0.19}, "alone": {"erm": 0.15}}
    results = collect([make_cell(d, m, rate, n=200) for d, of in rates.items() for m, rate in of.items()])
    text = first_page(results)
    rows = {row.split(".html")[0]: row for row in text.split('<th scope="row"><a href="datasets/')[1:]}
    lowest = {name: re.findall(r'<td class="left">(?:<a [^>]*>)?([^<]*)', row)[1] for name, row in rows.items()}
    assert lowest == {"calmer": "CALM", "rougher": "ERM", "alone": "–"}


def test_pages_with_colours_say_that_these_are_not_adjusted_and_for_how_many_tests(built: Path, results: Results):
    names = ("methods/calm", "index", "decide")
    page, index, decide = (" ".join((built / f"{name}.html").read_text().split()) for name in names)
    (told,) = re.findall(r"<h2>Classification</h2>.*number of differences in the table, (\d+)\..*<h2>Regression", page)
    shown = [b for b in boards(results) if (b.evalset, b.task) == ("id", "classification")]
    rows = [(row.estimates, b.front) for b in shown for row in b.rows if row.title == "CALM"]
    deltas = [estimates[column.key] for estimates, front in rows for column in front if column.versus]
    assert int(told) == sum(e is not None and e.low == e.low for e in deltas)
    assert int(told) >= sum(e is not None and e.excludes_zero for e in deltas) > 0
    first = summaries(results)[0]
    assert f"number of differences from ERM: {first.tests()} in this table" in index
    assert first.tests() >= len(re.findall('<td [^>]*class="(?:better|worse)"', index)) > 0
    assert "not adjusted for the number of methods" in decide


def test_what_is_copied_from_a_page_is_in_the_units_that_are_shown(built: Path) -> None:
    text = (built / "methods/calm.html").read_text()
    cells = re.findall(r'<td data-value="([^"]+)"[^>]*>([+−]?[\d.]+)', text)
    assert len(cells) > 20
    for exact, shown in cells:
        assert float(shown.replace("−", "-")) == pytest.approx(float(exact), abs=0.0501)


def test_the_definitions_give_each_mark(built: Path) -> None:
    page = (built / "definitions.html").read_text()
    assert [mark for mark in MARKS if f"<dt>{mark}</dt>" not in page] == []


@pytest.mark.parametrize(
    ("folder", "kinds", "overall", "single"),
    [("tables", {".tex", ".csv", ".json"}, "main", "d0-id"), ("figures", {".svg", ".pdf"}, "pareto", "heatmap-d0")],
)
def test_each_table_and_overall_figure_has_its_files(built: Path, folder, kinds, overall, single) -> None:
    found: dict[str, set[str]] = {}
    for path in (built / folder).iterdir():
        found.setdefault(path.stem, set()).add(path.suffix)
    assert found[overall] == kinds
    assert found.get(single) == ({".csv"} if folder == "tables" else None), "the page of a dataset saves what it shows"
    assert all(suffixes in (kinds, {".csv"}) for suffixes in found.values()), found


def test_what_could_not_be_read_and_the_health_of_data_are_shown(built: Path) -> None:
    assert "twin · split 99 (abc) is left out" in (built / "index.html").read_text()
    assert "12 rows &amp; more" in (built / "datasets" / "d0.html").read_text()
    assert "churn health d1" in (built / "datasets" / "d1.html").read_text()


def test_a_dataset_page_lists_those_that_share_its_molecules(make_cell) -> None:
    results = collect([make_cell("bbbp", "erm"), make_cell("d0", "erm")])
    made = datasets.packed(results.datasets, framed(results, results, "runs"), [], {})
    text = dict(file for files in made for file in files)
    (row,) = (line for line in text["datasets/bbbp.html"].splitlines() if "<code>bbb_martins</code>" in line)
    assert "one family" in row
    assert "Datasets that share molecules" not in text["datasets/d0.html"]


def test_the_page_of_a_dataset_is_made_again_after_a_change_of_what_it_shows_or_of_a_template(
    make_cell, tmp_path, monkeypatch
):
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))

    def made(health: str = "", **changes: str) -> int:
        results = collect([replace(make_cell("d", "erm"), **changes)])
        list(datasets.packed(results.datasets, framed(results, results, "runs"), [], {"d": health}))
        return len(list((tmp_path / "site").iterdir()))

    assert [made(), made(), made("12 rows"), made(run_id="f" * 32)] == [1, 1, 2, 3]
    monkeypatch.setattr(datasets, "templates", lambda: "others")
    assert made() == 4


def test_a_site_of_few_families_has_the_page_and_says_what_it_takes(built: Path) -> None:
    page = (built / "expect.html").read_text(encoding="utf-8")
    assert "this page needs 8 families of datasets of one task" in page
    assert '<a href="expect.html" aria-current="page">What to expect</a>' in page
    assert 'href="expect.html">What to expect</a>' in (built / "index.html").read_text(encoding="utf-8")


def resize(page: Page, width: int, height: int = 844) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@pytest.fixture
def phone(page: Page) -> Iterator[Page]:
    resize(page, 390)
    yield page
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


METHODS = "#board tbody th.row a"


def test_the_leaderboard_opens_on_headline_datasets_by_rank(page: Page) -> None:
    page.open("index.html")
    assert page.texts(METHODS) == ["CALM", "<I>ODD</I>", "ERM"]
    assert page.texts("#count") == ["3 methods"]
    assert "of the methods that keep accuracy, CALM comes first, with" in page.texts(".lede")[0]
    hidden = "[...document.querySelectorAll('#board th')].filter((th) => th.hidden).map((th) => th.dataset.key)"
    assert "compute" in page.run(f"return {hidden}"), "it says the same in each row"


def test_methods_that_are_not_told_apart_show_the_range_of_places_that_they_share(
    page, built, make_cell, tmp_path
) -> None:
    shutil.copytree(built / "static", tmp_path / "static")
    cells = [make_cell("d", method, seeds=(1, 2, 3)) for method in ("erm", "calm")]
    (tmp_path / "index.html").write_text(first_page(collect(cells)))
    replace(page, folder=tmp_path).open("index.html")
    assert page.texts("#board tbody .place") == ["1–2", "1–2"]


def test_the_board_of_the_ood_test_is_a_click_away_with_the_datasets_that_have_one(page: Page) -> None:
    page.open("index.html")
    assert page.texts(".samplings a") == ["in distribution", "out of distribution"]
    page.click(".samplings a[href='ood.html']")
    page.wait("location.pathname.endsWith('/ood.html')")
    (answer,) = page.texts(".lede")
    assert answer.startswith("On B3DB measured, ")
    assert "of the OOD test predictions" in answer
    assert page.texts(".samplings a[aria-current]") == ["out of distribution"]
    assert page.texts("#datasets") == [], "the list of datasets and what follows is on the first page alone"


def test_the_table_is_on_the_first_screen_below_a_header_of_one_line(page, phone, built, pipelines):
    for page.folder, (width, height, most) in product((built, pipelines), ((1400, 900, 350), (390, 844, 500))):
        resize(page, width, height)
        page.open("index.html")
        assert page.run("return document.querySelector('header').offsetHeight") < 60
        assert page.run("return document.querySelector('#board table').getBoundingClientRect().top") <= most


def test_a_phone_shows_the_parts_of_a_pipeline_below_its_learner_and_the_difference_at_once(page, phone, pipelines):
    def parts_and_right_end(width: int) -> list[float]:
        resize(page, width)
        page.open("index.html")
        parts = "[...document.querySelectorAll('#board small.parts')].filter((e) => e.offsetHeight).length"
        difference = "document.querySelector('#board tbody .forest').parentElement"
        return page.run(f"return [{parts}, {difference}.getBoundingClientRect().right]")

    page.folder = pipelines
    assert parts_and_right_end(1200)[0] == 0
    parts, right = parts_and_right_end(390)
    assert parts > 0
    assert right <= 390


@pytest.mark.parametrize("path", ["index.html", "decide.html", "compare.html", "flips/b3db_measured.html"])
def test_nothing_moves_when_scripts_show_what_needs_them(page: Page, path: str) -> None:
    """The limit of a good page is 0.1 (web.dev/cls)."""
    page.open(path)
    page.wait("document.readyState === 'complete' && !document.querySelector('form[hidden]')")
    script = """const done = arguments[0];
        const watch = new PerformanceObserver((list) => done(list.getEntries().reduce((sum, e) => sum + e.value, 0)));
        watch.observe({type: "layout-shift", buffered: true});
        setTimeout(() => done(0), 1000)"""
    assert page.driver.execute_async_script(script) < 0.1


def test_a_column_sorts_both_ways_and_the_address_keeps_it(page: Page) -> None:
    page.open("index.html")
    page.click("th[data-key=churn] button")
    assert page.texts(METHODS) == ["CALM", "<I>ODD</I>", "ERM"]
    assert page.run("return document.querySelector('[aria-sort]').dataset.key") == "churn"
    page.click("th[data-key=churn] button")
    assert page.texts(METHODS) == ["ERM", "<I>ODD</I>", "CALM"]
    assert page.hash == "#sort=churn&dir=down"
    page.open("index.html" + page.hash)
    assert page.texts(METHODS) == ["ERM", "<I>ODD</I>", "CALM"]
    for way in ("", "&dir=down"):
        page.open(f"index.html#sort=delta_churn{way}")
        assert page.texts(METHODS)[-1] == "ERM", "it has no difference from itself: last in either direction"


def plotted(page: Page, where: str = "") -> None:
    page.open(f"index.html#view=plot{where}")
    page.wait("document.querySelector('#plot-note').textContent")


def test_the_plot_has_the_rows_of_the_table_in_their_colours(page: Page, results: Results) -> None:
    plotted(page)
    points = page.run("return chart.data.datasets[0].data.map((p) => [p.title, p.href, p.colour, p.x, p.y])")
    colour = "getComputedStyle(e.querySelector('.look')).color"
    look = f"[e.dataset.title, e.querySelector('a').getAttribute('href'), {colour}]"
    assert sorted(point[:3] for point in points) == sorted(page.all("#board th.row", look))
    rows = {row.title: row.estimates for row in summaries(results)[0].rows}
    assert {title for title, *_ in points} == {*rows}
    for title, _, _, x, y in points:
        change = rows[title]["delta_matched_accuracy"]
        assert x == pytest.approx(100 * change.value if change else 0, rel=1e-5)
        assert y == pytest.approx(100 * rows[title]["matched_churn"].value, rel=1e-5)
    assert page.texts(METHODS) == [], "the table is a click away"
    page.fill("q", "cal")
    assert page.run("return chart.data.datasets[0].data.map((p) => p.title)") == ["CALM"]
    page.click("[name=view]")
    assert page.texts(METHODS) == ["CALM"]
    assert page.texts("#plot canvas") == []


def at(page: Page, title: str, dx: float = 0, dy: float = 0) -> Any:
    """Return actions that move the pointer to a point of the plot, or so many pixels from it."""
    from selenium.webdriver import ActionChains

    canvas = page.driver.find_element("css selector", "#plot canvas")
    page.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    x, y = page.run(
        """const { data } = chart.data.datasets[0];
        const { x, y } = chart.getDatasetMeta(0).data[data.findIndex((p) => p.title === arguments[0])];
        return [x - chart.width / 2, y - chart.height / 2]""",
        title,
    )
    return ActionChains(page.driver).move_to_element_with_offset(canvas, round(x + dx), round(y + dy))


def test_the_plot_of_a_dataset_has_the_rows_of_its_first_table(page: Page, results: Results) -> None:
    page.open("datasets/r.html")
    page.run("document.querySelector('#plotted').open = true")
    page.wait("typeof chart !== 'undefined' && chart !== null")
    assert "MAE (pIC50)" in page.run("return chart.options.scales.x.title.text")
    points = page.run("return chart.data.datasets[0].data.map((p) => [p.title, p.x, p.y, p.reference, p.hollow])")
    rows = board(results.dataset("r"), "id", "runs").rows
    measures = (KEPT["regression"], ORDER["regression"])
    assert [title for title, *_ in points] == [row.title for row in rows]
    for row, (title, x, y, *marked) in zip(rows, points, strict=True):
        expected = tuple(m.scale * row.estimates[m.key].value for m in measures)
        assert (x, y) == pytest.approx(expected, rel=1e-5)
        assert marked == [title == "ERM", bool(row.marks)]
    for title, kept in (("ERM", 1), ("CALM", 3)):  # the third is a link to compare the two
        at(page, title).click().perform()
        page.wait("document.querySelectorAll('#picked li').length === arguments[0]", kept)
    compare = page.all("#picked li:last-child a", "e.getAttribute('href')")
    assert compare == ["../compare.html#a=CALM&b=ERM"], "in the order of the table"


def test_the_plot_says_what_the_pointer_rests_on_keeps_what_is_clicked_and_zooms(page: Page) -> None:
    plotted(page)
    at(page, "CALM").perform()
    page.wait("chart.tooltip.opacity > 0")
    assert page.run("return chart.tooltip.title") == ["CALM"]
    assert "place 1" in page.run("return chart.tooltip.body[0].lines")
    at(page, "CALM").click().perform()
    page.wait("location.hash === '#view=plot&pick=calm'")  # the plot handles events once a frame
    at(page, "ERM").click().perform()
    page.wait("document.querySelectorAll('#picked li').length === 3")
    assert [text.split(" place")[0] for text in page.texts("#picked li")] == ["CALM", "ERM", "Compare these two"]
    assert page.all("#picked li:last-child a", "e.getAttribute('href')") == ["compare.html#a=CALM&b=ERM"]
    at(page, "CALM").click().perform()
    page.wait("location.hash === '#view=plot&pick=erm'")
    at(page, "CALM", -40, -40).click_and_hold().move_by_offset(80, 80).release().perform()
    page.wait("chart.isZoomedOrPanned()")
    inside = (
        "const { min, max } = chart.scales.x; return chart.data.datasets[0].data.map(({ x }) => x >= min && x <= max)"
    )
    assert page.run(inside).count(True) == 1
    page.click("[data-zoom=reset]")
    assert not page.run("return chart.isZoomedOrPanned()")


def test_the_plot_can_be_read_with_the_keyboard(page: Page) -> None:
    from selenium.webdriver import ActionChains, Keys

    plotted(page)
    page.run("document.querySelector('#plot canvas').focus()")
    order = page.run("return [...chart.data.datasets[0].data].sort((a, b) => a.y - b.y).map((p) => p.title)")
    said = []
    for _ in order:
        ActionChains(page.driver).send_keys(Keys.ARROW_UP).perform()
        said += page.texts("#plot-status")
    assert [text.partition(": ")[0] for text in said] == order
    assert all("Matched churn (%): " in text for text in said)
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.texts("#picked a") == [order[-1]]
    ActionChains(page.driver).send_keys("+").perform()
    assert page.run("return chart.isZoomedOrPanned()")
    ActionChains(page.driver).send_keys(Keys.ARROW_DOWN).perform()
    assert page.texts("#plot-status")[0].startswith(f"{order[-2]}: "), "keeping a point leaves the keyboard where it is"
    assert page.run("return document.querySelector('#plot canvas').ariaLabel").startswith("3 of the table's rows")


PIPELINES = {
    ("erm", "", "", ""): ("ERM", 1.5),
    ("erm", "", "atom_pairs.4096", ""): ("ERM · atom_pairs 4096", 1.0),
    ("svm", "", "", ""): ("SVM", 0.6),
    ("svm", "", "minimol", "best"): ("SVM · minimol · tuned", 0.05),
    ("bagging", "svm", "", ""): ("Bagging K=5 · SVM", 0.4),
    ("knn", "", "", ""): ("k-NN", 1.2),
}
"""Method, learner, features and tuning: the title as it is stored, and the noise of its predictions."""


@pytest.fixture(scope="session")
def pipelines(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A first page of pipelines, of which one lacks a dataset."""
    cells, y, about = [], np.arange(80) % 2, {"features": ("morgan:2048:2",)}
    for i, ((method, learner, features, tune), (title, noise)) in product(range(2), PIPELINES.items()):
        if (method, i) != ("knn", 1):
            values = noisy(np.random.default_rng(i), y, noise)
            made = cell(method, values, y=y, dataset=f"d{i}", title=title, about=about)
            cells.append(keyed(made, learner=learner, features=features, tune=tune))
    results, folder = collect(cells), tmp_path_factory.mktemp("pipelines")
    shutil.copytree(built / "static", folder / "static")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "listed_methods", frozenset)  # otherwise they are the reader's own, which always show
        (folder / "index.html").write_text(first_page(results))
    return folder


def test_pipelines_are_filtered_by_each_of_their_parts_and_are_first_the_best_of_each_learner(page, pipelines):
    def parts() -> list[str]:
        text = "(e.cells[i].querySelector('a') ?? e.cells[i]).textContent.trim()"
        rows = page.all("#board tbody tr", f"e.checkVisibility() && [0, 2, 3, 4].map((i) => {text})")
        return [", ".join(row) for row in rows if row]

    page.folder = pipelines
    page.open("index.html")
    assert page.texts("#board thead th")[:2] == ["Learner", "Place"]
    assert "Remedy" not in page.texts("#board thead th"), "no row that is shown has one"
    perceptrons = [f"Perceptron, {features}, none, default" for features in ("atom pairs", "Morgan bits")]
    best = ["SVM, MiniMol, none, tuned", *perceptrons]
    assert parts() == best
    assert page.texts("#count") == ["3 of 6 pipelines"]
    page.fill("learner", "")
    assert set(parts()) == {*best, "SVM, Morgan bits, none, default", "SVM, Morgan bits, Bagging K=5, default"}
    chosen = {"learner": "SVM", "features": "Morgan bits", "remedy": "Bagging K=5", "tuning": "tuned"}
    for left, (name, text) in zip((3, 2, 1, 0), chosen.items(), strict=True):
        page.fill(name, text)
        assert len(parts()) == left, name
    assert page.hash == "#learner=SVM&features=Morgan+bits&remedy=Bagging+K%3D5&tuning=tuned"
    page.open("index.html#learner=k-NN")
    assert parts() == []
    page.run("document.querySelector('[name=incomplete]').click()")
    assert parts() == ["k-NN, Morgan bits, none, default"]
    assert page.hash == "#learner=k-NN&incomplete=yes"


def test_a_number_is_told_where_it_would_stand_among_the_methods(page: Page, results: Results) -> None:
    page.open("index.html")
    at = page.run("return document.querySelector('#board thead [data-key=matched_churn]').cellIndex")
    row = f"[Number(e.cells[{at}].dataset.value), e.cells[0].dataset.title]"
    rows = page.all("#board tbody tr:not(.unranked)", row)
    (low, a), (high, b) = sorted(rows)[:2]
    assert page.texts("#mine") == []
    page.click(".picker:has([name=mine]) summary")
    assert page.texts("#mine-of") == ["Matched churn (%)"]
    page.fill("mine", str((low + high) / 2))
    assert page.hash.startswith("#mine=")
    (said,) = page.texts("#mine")
    assert said.startswith(f"1 of {len(rows)} have less: it would stand between {a} ({low:.1f}) and {b} ({high:.1f}).")
    page.fill("mine", "0")
    assert page.texts("#mine")[0].startswith(f"0 of {len(rows)} have less; the closest is {a} ({low:.1f}).")
    page.fill("mine", "200")
    assert page.texts("#mine") == ["Expected a percentage, from 0 to 100."]
    page.open("index.html#mine=15")
    assert page.texts("#mine") != [], "what a link names is open"


def test_pipelines_have_the_colour_of_their_learner_and_the_shape_of_their_features(page, pipelines):
    page.folder = pipelines
    page.open("index.html")
    page.click("[name=view]")
    page.wait("document.querySelector('#plot-note').textContent !== ''")
    assert page.hash == "#learner=&view=plot", "all pipelines, though the table begins with the best"
    points = page.run(
        "return chart.data.datasets[0].data.map((p) => [p.row.cells[0].dataset.learner, p.colour, p.shape[0], p.title])"
    )
    looks = {(learner, colour) for learner, colour, _, _ in points}
    assert (len(points), len(looks), len({colour for _, colour in looks})) == (5, 2, 2)
    shapes = {title: shape for _, _, shape, title in points}
    assert shapes["ERM"] == shapes["SVM"] == shapes["Bagging K=5 · SVM"] == "circle"
    assert len({shapes["ERM"], shapes["ERM · atom pairs"], shapes["SVM · MiniMol · tuned"]}) == 3
    assert page.texts("#plot-legend li") == ["●Perceptron", "●SVM", "◆atom pairs", "▼MiniMol", "●Morgan bits"]
    page.click("[name=view]")
    assert page.hash == ""
    assert page.texts("#count") == ["3 of 6 pipelines"]


def test_search_compute_and_columns_narrow_the_table(page: Page) -> None:
    page.open("index.html")
    page.fill("q", "cal")
    assert page.texts(METHODS) == ["CALM"]
    assert page.texts("#count") == ["1 of 3 methods"]
    assert page.hash == "#q=cal"
    page.fill("q", "")
    page.fill("compute", "0.5")
    assert page.texts(METHODS) == []
    page.fill("compute", "")
    assert page.hash == ""
    page.click(".picker:has([name=show]) summary")
    page.click("input[value=churn]")
    assert page.texts("#board thead th[data-key=churn]") == []
    assert "show=" in page.hash


def test_groups_and_tasks_have_tables_of_their_own(page: Page) -> None:
    shown = "document.querySelector('#board section').dataset.set === arguments[0]"
    page.open("index.html#set=classification/extra")
    page.wait(shown, "classification/extra")
    assert set(page.texts(METHODS)) == {"ERM", "Bagging K=2", "Random forest"}
    page.fill("set", "regression/regression")
    page.wait(shown, "regression/regression")
    assert page.texts(METHODS) == ["CALM", "ERM"]
    page.run("location.hash = 'set=classification/all&sort=nonsense'")
    page.wait(shown, "classification/all")
    assert page.texts("#count") == ["3 of 5 methods"], "published ones that lack a dataset are left out"


def test_a_dark_page_follows_the_system_until_the_reader_chooses(page: Page) -> None:
    def back(scheme: str, path: str = "") -> str:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        if path:
            page.open(path)
        return page.run("return getComputedStyle(document.body).backgroundColor")

    light = back("light", "index.html")
    assert light == "rgb(255, 255, 255)"
    assert back("dark") != light
    assert back("dark", "decide.html") != light
    page.click("#theme")
    assert back("dark") == back("dark", "index.html") == light
    page.run("localStorage.clear()")
    back("light")


def test_the_keyboard_reaches_content_and_columns(page: Page) -> None:
    from selenium.webdriver import ActionChains, Keys

    page.open("index.html")
    ActionChains(page.driver).send_keys(Keys.TAB).perform()
    assert page.run("return document.activeElement.className") == "skip"
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.run("return document.activeElement.id") == "main"
    unlabelled = """return [...document.querySelectorAll("input:not([type=hidden]), select, button")]
        .filter((e) => !e.closest("label") && !e.ariaLabel && !e.textContent.trim()).length"""
    assert page.run(unlabelled) == 0
    page.run("document.querySelector('th[data-key=churn] button').focus()")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.run("return document.querySelector('[aria-sort]').ariaSort") == "ascending"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_the_contrast_that_aa_asks_for(page: Page, theme: str) -> None:
    page.open("index.html")
    colours = page.run(
        """document.documentElement.dataset.theme = arguments[0];
        const probe = document.body.appendChild(document.createElement("i")), found = {};
        for (const name of ["ink", "soft", "mark", "good", "bad", "back", "band"]) {
            probe.style.color = `var(--${name})`;
            found[name] = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
        }
        return found""",
        theme,
    )
    for ink in ("ink", "soft", "mark", "good", "bad"):
        assert min(colour_contrast(colours[ink], colours[back]) for back in ("back", "band")) >= 4.5, (theme, ink)


def test_no_page_is_wider_than_a_phone(phone: Page) -> None:
    own = ("datasets/d0", "flips/b3db_measured", "methods/erm")
    variant = "datasets/d0@batch_size=32@epochs=10@train=20@weight_decay=0.1"
    for path in ("index", "compare", "decide", "tables", "definitions", *own, variant):
        phone.open(f"{path}.html")
        assert phone.run("return document.documentElement.scrollWidth") <= 390, path


def opened(page: Page, where: str = "") -> None:
    page.open(f"flips/b3db_measured.html{where}", ".molecule")


@pytest.fixture
def erm(results: Results) -> Predictions:
    return results.dataset("b3db_measured").reference.tests[0]


def first_of(page: Page) -> str:
    return page.run("return document.querySelector('.molecule h2').textContent")


def test_the_flip_explorer_shows_what_flips_most(page: Page, erm: Predictions) -> None:
    opened(page)
    at = list(erm.ids).index(first_of(page))
    assert example_flips(erm)[at] == example_flips(erm).max()
    aria = page.run("return document.querySelector('.molecule .strip svg').getAttribute('aria-label')")
    assert f"class 1 in {erm.values[:, at].argmax(-1).sum()}" in aria
    assert len(page.all(".molecule .structure svg")) == 25
    page.run("document.querySelector('#more').click()")  # at the end of a page that may still be scrolling there
    page.wait("document.querySelectorAll('.molecule').length === 50")


def test_the_flip_explorer_finds_substructures_classes_and_flips(page, results: Results, erm: Predictions) -> None:
    opened(page)
    (all_of_them,) = page.texts("#count")
    page.fill("q", "c1ccccc1")
    page.wait("document.querySelector('#count').textContent !== arguments[0]", all_of_them)
    smiles = page.all(".molecule code")
    assert {"c1ccccc1" in text for text in smiles} == {True}
    assert page.hash == "#q=c1ccccc1"
    opened(page, "#label=1&least=50")
    expected = int(((erm.y == 1) & (example_flips(erm) >= 0.5)).sum())
    assert page.texts("#count")[0].startswith(f"{expected} of ")
    labels = page.all(".molecule p")
    assert {label.partition(" than ")[0] for label in labels} == {"True class: reaches the brain better"}
    opened(page, "#sort=calm&under=random-forest")
    forest = results.dataset("b3db_measured").entry("Random forest").cells[99].predictions
    rates = example_flips(forest["id"])
    assert rates[list(forest["id"].ids).index(first_of(page))] == rates.min()
    (shown,) = page.texts("#count")
    page.fill("shard", "99-ood")
    page.wait("document.querySelector('#count').textContent !== arguments[0]", shown)
    assert page.texts("#count")[0].startswith(f"{len(forest['ood'].ids)} of ")


def test_the_view_of_a_molecule_shows_every_retraining_and_its_nearest_training_rows(page: Page, erm: Predictions):
    opened(page)
    page.click(".molecule h2 a", ".runs")
    assert page.hash == f"#molecule={first_of(page)}"
    values = erm.values[:, list(erm.ids).index(first_of(page))]
    cells = page.all(".runs tbody tr:first-child td.said", "[e.textContent, e.classList.contains('one')]")
    assert cells == [[str(value.argmax()), bool(value.argmax() == 1)] for value in values]
    row = page.all(".runs tbody tr:first-child td")
    assert [float(text) for text in row[1:3]] == pytest.approx([values[:, 1].mean(), values[:, 1].std()], abs=0.011)
    assert len(page.all(".runs tbody tr")) == 3
    similar = page.all("[aria-label='Nearest training rows'] .similarity", "Number(e.textContent.slice(11))")
    page.run("document.querySelector('.cards').scrollIntoView()")
    page.wait("document.querySelectorAll('.cards svg path, .cards svg line').length > 20")
    assert len(similar) == 5
    assert similar == sorted(similar, reverse=True)
    assert "study flip-rows --set dataset=b3db_measured" in page.texts("#molecules .note")[0]
    assert not page.run("return document.querySelector('#filters').checkVisibility()")
    page.click("#molecules a")
    page.wait("document.querySelectorAll('.molecule').length === 25")


@without_figures()
def test_what_never_flips_and_is_wrong_is_marked(stubborn, tmp_path: Path, page: Page) -> None:
    page.folder = site.write(stubborn(8), tmp_path / "site").parent
    page.open("flips/d0.html#only=wrong&under=stubborn", ".molecule")
    assert page.texts("#count") == ["8 of 40 examples"]
    page.click(".molecule h2 a")
    page.wait("document.querySelector('.grouped .group th')?.innerText")
    groups = page.texts(".grouped .group th")
    assert "Stable but wrong: 1 of 3 methods" in groups
    assert page.texts(".grouped .group.wrong + tr td.left") == ["0 % stable but wrong"]
    assert len(page.all(".grouped tr")) <= 10
    assert page.texts(".molecule p")[0].startswith(("True class: does <b>it</b>", "True class: not: does <b>it</b>"))


@without_figures()
def test_under_halves_the_two_that_are_compared_stand_above_each_other(make_cell, tmp_path: Path, page: Page) -> None:
    values = np.eye(2)[[0, 0, 0, 1, 1]][:, None]  # seeds 1 and 2 agree, 3 and 4 do not; the partner of 5 is not there
    erm = make_cell("d", "erm", values=values, y=np.zeros(1, dtype=np.int64), seeds=(1, 2, 3, 4, 5))
    page.folder = site.write(collect([keyed(erm, sampling="halves")]), tmp_path / "site").parent
    page.open("flips/d.html", ".strip svg")
    strip = "document.querySelector('.strip svg')"
    assert page.run(f"return {strip}.getAttribute('viewBox')") == "0 0 3 2.04"
    assert page.run(f"return {strip}.getAttribute('aria-label')").endswith("1 of 2 pairs differ")
    assert page.texts(".molecule td.left") == ["50 %"]
    drawn = page.run(f"return {strip}.querySelector('.one').getAttribute('d')")
    assert drawn == "M1.06 1.04h.88v1h-.88zM2.06 0h.88v1h-.88z"


def test_a_molecule_is_found_by_name_or_smiles_in_all_datasets(page: Page, results: Results, erm: Predictions) -> None:
    page.open("molecules.html")
    page.fill("on", "b3db_measured")
    assert page.texts("#count a") == [f"All molecules of {results.dataset('b3db_measured').title}"]
    page.fill("on", "")
    page.fill("q", erm.ids[3][:8].upper())
    page.wait("document.querySelector('#found a') !== null")
    (found,) = page.texts("#found a")
    assert found.endswith(erm.ids[3])
    page.fill("q", page.texts("#found code")[0])
    assert found in page.texts("#found a")
    page.click("#found a", ".grouped")
    assert first_of(page) == erm.ids[3]
    page.wait("document.querySelectorAll('.structure svg line, .structure svg path').length > 3")


def copied(page: Page, name: str, where: str = "#board + .copy") -> str:
    page.run(
        "[...document.querySelectorAll(arguments[0] + ' button')].find((b) => b.textContent === arguments[1]).click()",
        *(where, name),
    )
    page.wait("document.querySelector('.copy [role=status]').textContent !== ''")
    return page.run("return document.querySelector('textarea.copied').value")


def test_a_table_is_copied_as_it_is_filtered_and_sorted(page: Page) -> None:
    page.open("index.html#sort=churn&dir=down")
    page.fill("q", "m")
    markdown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in copied(page, "Markdown").splitlines()]
    head, _, *rows = markdown
    assert head == page.texts("#board thead th")
    assert [row[0] for row in rows] == page.texts(METHODS) == ["ERM", "CALM"]
    header, *lines = csv.reader(io.StringIO(copied(page, "CSV")))
    churn = header.index("Churn (%)")
    assert header[churn + 1 : churn + 3] == ["Churn (%) low", "Churn (%) high"]
    exact = page.all("#board tbody tr:not([hidden])", "e.cells[0].dataset.value")
    assert [line[0] for line in lines] == exact
    assert float(lines[0][churn]) > float(lines[1][churn])
    page.run(
        """const [name, place] = document.querySelector("#board tbody tr:not([hidden])").cells;
        place.textContent = "2–4";
        name.append(make("small", {class: "remark", title: "collapsed on D0"}, "collapsed…"))"""
    )
    header, first, *others = csv.reader(io.StringIO(copied(page, "CSV")))
    assert (first[header.index("Place")], first[header.index("Remarks")]) == ("2–4", "collapsed on D0")
    assert {len(line) for line in others} == {len(header)}
    text = copied(page, "LaTeX")
    assert " 2--4 " in text
    assert f"\\noindent {first[0]}: collapsed on D0." in text
    assert text.count("CALM &") == text.count(r"\begin{longtable}")
    assert "ODD" not in text


@pytest.mark.slow
def test_a_copied_table_compiles_and_fits_on_the_pages_of_an_article(page: Page, tmp_path: Path) -> None:
    page.open("datasets/d0.html")
    body = copied(page, "LaTeX", ".section .copy")
    assert body.count(r"\begin{longtable}") > 1, "too wide for a line"
    assert "Overfull" not in compiled(body, tmp_path)


def test_sections_of_a_dataset_open_and_the_first_column_and_the_contents_stay(page: Page) -> None:
    page.open("datasets/d0.html")
    assert len(page.all("details.section[open]")) == 1
    page.click(".toc a[href='#cells']")
    page.wait("document.querySelector('#cells').open")
    top = page.run("return document.querySelector('.toc').getBoundingClientRect().top")
    assert 0 <= top < 100
    left = page.run(
        """const scroll = document.querySelector(".section .scroll"); scroll.scrollLeft = 300;
        return [scroll.scrollLeft, scroll.getBoundingClientRect().left,
            scroll.querySelector("tbody th").getBoundingClientRect().left]"""
    )
    assert left[0] > 0
    assert left[1] == pytest.approx(left[2], abs=1)


def saved(page: Page, button: str, how: str = "save") -> Any:
    """What a button gives to the function that saves a file: a name and the content."""
    page.run(f"{how} = (...given) => {{ window.saved = given; }}")
    page.click(button)
    return page.run("return window.saved")


def test_the_filter_is_saved_as_a_file_with_its_examples_in_order(page: Page, erm: Predictions) -> None:
    opened(page, "#label=1&least=30")
    name, (header, *rows) = saved(page, "#csv")
    assert name == "b3db_measured-99-id.csv"
    assert header[:4] == ["example_id", "smiles", "y_true", "ERM: flips (% of pairs)"]
    rates = 100 * example_flips(erm)
    expected = {i: rate for i, y, rate in zip(erm.ids.tolist(), erm.y, rates, strict=True) if y == 1 and rate >= 30}
    assert {row[0]: row[3] for row in rows} == pytest.approx(expected, abs=0.01)
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)


def test_a_regression_has_its_own_strips(page: Page, results: Results) -> None:
    page.open("flips/r.html", ".molecule")
    assert page.run("return document.querySelectorAll('.molecule')[0].querySelectorAll('circle').length") == 10
    assert "it shows no structures" in page.texts(".note")[0]
    _, (header, *rows) = saved(page, "#csv")
    assert header[4] == "ERM: predictions, rounded"
    p = results.dataset("r").entry("ERM").cells[99].predictions["id"]
    for row in rows:
        values = p.values[:, list(p.ids).index(row[0]), 0]
        assert [float(text) for text in row[4].split()] == pytest.approx(values.tolist(), abs=np.ptp(p.values) / 80)


def test_a_figure_of_a_dataset_is_saved_as_the_page_shows_it(page: Page) -> None:
    page.open("datasets/d0.html")
    page.run("document.querySelector('#figures').open = true")
    name, text, *_ = saved(page, "button.drawing", "download")
    assert name == "figure-triage-d0.svg"
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_decision_names_the_method_within_both_limits(page: Page) -> None:
    page.open("decide.html", "#answer h2")
    assert page.texts("#answer h2") == ["Use CALM"]
    assert len(page.texts("#answer .thousand")) == 2
    page.fill("pay", "0.5")
    assert page.texts("#answer h2") == ["No method fits"]
    assert page.hash == "#pay=0.5"
    page.fill("pay", "")
    assert page.texts("#answer h2") == ["Use CALM"], "no limit"
    page.fill("on", "r")
    page.wait("document.querySelector('#others .churn').textContent === '1 − ICC (%)'")
    assert page.texts("#lose-unit") == ["Acceptable error increase (% of ERM's MAE)"]
    assert page.texts("#answer h2") == ["Use CALM"]


@pytest.mark.parametrize(
    ("path", "field", "value", "said"),
    [
        ("index.html", "set", "classification/extra", "#count"),
        ("decide.html", "on", "r", "#answer"),
        ("molecules.html", "q", "CCO", "#count"),
    ],
)
def test_a_page_whose_data_are_gone_says_which_file_is_missing(page, built, tmp_path, path, field, value, said) -> None:
    page.folder = tmp_path / "site"
    shutil.copytree(built, page.folder, ignore=shutil.ignore_patterns("extra.js", "r.js", "molecules.js"))
    page.open(path)
    page.fill(field, value)
    page.wait("document.querySelector(arguments[0]).textContent.includes('is missing: rebuild the site')", said)
    page.driver.get_log("browser")  # the browser says so too


def test_a_method_fits_by_what_is_measured_or_if_proof_is_asked_for_by_its_whole_interval(page: Page) -> None:
    page.open("decide.html#on=b3db_measured&pay=1000")
    choice = page.run("return file('decide/', 'b3db_measured')")
    (method,) = (method for method in choice["methods"] if method["title"] == "Bagging K=2")
    value, low, high = method["loss"]
    assert low < value < high

    def verdict(limit: float | str) -> str:
        page.fill("lose", str(limit))
        (line,) = (text for text in page.texts("#others tbody tr") if text.startswith("Bagging K=2"))
        return next(sign for sign in "✓✕" if sign in line)

    limits = (low - 0.1, (low + value) / 2, (value + high) / 2, high + 0.1)
    assert [verdict(limit) for limit in limits] == ["✕", "✕", "✓", "✓"]
    page.click("input[name=strict]")
    assert [verdict(limit) for limit in limits] == ["✕", "✕", "✕", "✓"]
    assert verdict("") == "✓", "any loss"


def test_the_compare_page_computes_what_the_command_prints(page: Page, results: Results) -> None:
    page.open("compare.html", "#verdict h2")
    number = {method["title"]: i for i, method in enumerate(page.run("return file('compare/', 'methods')")["methods"])}
    load = """const [key, done] = arguments; const every = arrived.get("methods").datasets.map((_, i) => i);
        measured(key, every).then((values) => { window.values = values; done(); })"""
    differ = """const [d, ...both] = arguments, about = arrived.get("methods").cells[d];
        const found = difference(...both.map((m) => about[m].map(([s, t], k) => [s, t, ...values[d][m][k]])));
        return found && [found.value, found.half || null, pOf(found) || null];"""
    checked = 0
    for key in dict.fromkeys(measure.key for task in TASKS for measure in scorecard(task)):
        page.driver.execute_async_script(load, key)
        for d, dataset in enumerate(results.datasets):
            measure = next((one for one in scorecard(dataset.task) if one.key == key), None)
            for first, second in combinations([entry.title for entry in dataset.entries] if measure else (), 2):
                pair = compared([dataset], first, second, measure)
                ours = page.run(differ, d, number[first], number[second])
                if np.isnan(pair.mean.value):
                    assert ours is None
                    continue
                half = (pair.mean.high - pair.mean.low) / 2
                assert ours[0] == pytest.approx(pair.mean.value, abs=1e-5)
                assert (ours[1] is None) == bool(np.isnan(half)), (dataset.name, first, second, key)
                if ours[1] is not None:
                    assert ours[1:] == [pytest.approx(half, rel=2e-3), pytest.approx(pair.mean.p, rel=2e-2)]
                    checked += 1
    assert checked > 100


def test_the_compare_page_counts_what_flips_under_one_method_alone(page: Page, results: Results) -> None:
    page.open("compare.html#a=CALM&b=erm", "#each tbody tr")
    rows = page.all("#each tbody tr", "[e.cells[0].textContent, [...e.querySelectorAll('td a')].map((a) => a.text)]")
    counts = {dataset.title: flipping_alone(dataset, "CALM", "ERM") for dataset in results.headline()}
    assert dict(rows) == {title: [f"{n} under CALM", f"{m} under ERM"] for title, (n, m) in counts.items()}
    assert max(max(both) for both in counts.values()) > 0


def test_students_quantiles_and_holms_adjustment_are_scipys_and_statsmodels(page: Page) -> None:
    page.open("compare.html")
    for df in (1, 2, 3.5, 18, 120):
        assert page.run("return quantile(arguments[0])", df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)
        for t in (0.1, 5):
            assert page.run("return twoSided(...arguments)", t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-9)
    p = [0.01, 0.04, 0.03, 0.5]
    assert page.run("return holm(arguments[0])", p) == pytest.approx(multipletests(p, method="holm")[1].tolist())


@without_figures()
def test_regressions_in_different_units_are_compared_in_percent_of_erms_value(make_regression, tmp_path, page: Page):
    cells = [c for unit in (1, 1000) for c in make_regression(f"r{unit}", unit, erm=0.2, calm=0.1 + unit / 20_000)]
    page.folder = site.write(collect(cells), tmp_path / "site").parent
    page.open("compare.html#on=regression/regression&a=calm&b=erm&measure=mae", "#each tbody tr")
    of = {(c.key.dataset, c.title): MAE.mean(c.predictions["id"]) for c in cells}
    changes = [100 * (of[d, "CALM"] / of[d, "ERM"] - 1) for d in ("r1", "r1000")]
    (said,) = (line for line in page.texts("#verdict p") if "MAE" in line)
    assert f"CALM minus ERM, Δ MAE (% of ERM's): {spelled(np.mean(changes))}" in said
    rows = {row.split()[0]: row for row in page.texts("#each tbody tr")}
    for dataset, change in zip(("R1", "R1000"), changes, strict=True):
        assert spelled(change) in rows[dataset]


def test_the_compare_page_answers_and_its_address_keeps_the_choice(page: Page) -> None:
    page.open("compare.html#a=CALM&b=erm", "#each tbody tr")  # it comes last
    assert page.texts("#verdict h2")[0] == "On these datasets, CALM is better in matched churn"
    assert [text.split(" in ")[-1] for text in page.texts("#verdict h2")] == ["matched churn", "churn", "accuracy"]
    assert len(page.texts("#each tbody tr")) == 2
    told = page.texts("#verdict p")
    page.fill("measure", "auroc")
    assert "measure=auroc" in page.hash
    page.wait("document.querySelectorAll('#verdict h2').length === 4")
    assert "AUROC" in page.texts("#verdict h2")[3]
    assert page.texts("#verdict p")[:3] == told, "the same, whatever else is chosen"
    assert all("p " in line and " after Holm's adjustment for 3 pairs" in line for line in told)
    assert len(page.all("#matrix tbody tr")) == 3
    page.wait("document.querySelector('td button small')")
    texts = page.all("td button", "[e.textContent, e.ariaLabel]")
    assert all(text in label for text, label in texts), "a name holds the numbers that are shown"
