"""Real cells and synthetic ones, with the site built from both."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.store.cell import Cell
from leaderboard import site
from leaderboard.read import published
from leaderboard.read.results import Results, collect
from leaderboard.site.pages import Site

from ..conftest import cell, flipping, sure

MakeCell = Callable[..., Cell]


@pytest.fixture(scope="session")
def make_cell() -> MakeCell:
    """``make_cell("made_up", "erm", flips=0.2)``: a cell whose retrainings have this share of wrong classes.

    ``values`` (R, T, C) set the predictions instead; a regression has one output.
    """

    def make(
        dataset: str,
        method: str,
        flips: float = 0.2,
        *,
        values: np.ndarray | None = None,
        y: np.ndarray | None = None,
        seeds: tuple[int, ...] = (1, 2, 3, 4, 5),
        split: int = 99,
        n: int = 40,
        about: Mapping[str, str] | None = None,
    ) -> Cell:
        if values is None:
            rng = np.random.default_rng(sum(map(ord, f"{dataset}{method}{split}")))
            values = sure(flipping(rng, flips, len(seeds), n))
        group = "headline" if values.shape[2] > 1 else "regression"
        known = {"title": dataset.upper(), "group": group, "family": "", "target": "does <b>it</b>", **(about or {})}
        key = {"dataset": dataset, "split": split, "seeds": seeds, "problem": f"{split:016d}", "ids": "m{}"}
        made = cell(re.sub(r"\W", "", method), values, y=y, title=method.upper(), about=known, **key)
        return replace(made, run_id="0123456789abcdef")

    return make


@pytest.fixture(scope="session")
def make_regression(make_cell: MakeCell) -> Callable[..., list[Cell]]:
    """``make_regression("r", erm=0.2, calm=0.1)``: a cell for each method, with errors of this size and one pattern."""
    y = np.linspace(-1, 1, 30).astype(np.float32)
    noise = np.random.default_rng(0).normal(size=(5, 30, 1))

    def make(dataset: str, unit: float = 1, about: Mapping[str, str] | None = None, **sizes: float) -> list[Cell]:
        values = {method: unit * (y[:, None] + size * noise) for method, size in sizes.items()}
        return [make_cell(dataset, method, values=of, y=unit * y, about=about) for method, of in values.items()]

    return make


@pytest.fixture(scope="session")
def stubborn(make_cell: MakeCell) -> Callable[[int], Results]:
    """``stubborn(8)``: results with a method that never churns and is wrong on the same 8 of 40 examples each time."""

    def made(wrong: int) -> Results:
        truth = np.arange(40) % 2
        always = np.where(np.arange(40) < wrong, 1 - truth, truth)
        values = np.broadcast_to(sure(always), (5, 40, 2))
        cells = [make_cell(f"d{i}", m, rate) for i in range(3) for m, rate in (("erm", 0.05), ("calm", 0.02))]
        return collect([*cells, *(make_cell(f"d{i}", "stubborn", values=values) for i in range(3))])

    return made


@pytest.fixture(scope="session")
def results(make_cell: MakeCell, make_regression: Callable[..., list[Cell]]) -> Results:
    """Four published retrainings of three methods on real molecules, and synthetic cells.

    These are of two headline datasets with two splits, a variant, a regression, and names with tags.
    """
    titles = ("ERM", "Bagging K=2", "Random forest")
    recorded = published.read(published.PUBLISHED, datasets=("b3db_measured",))
    real = [c.only((1, 2, 3, 4)) for c in recorded if c.title in titles and c.key.sampling == "paper"]
    made_up = [
        make_cell(f"d{i}", method, rate, split=split, about={"title": f"Made up & <b>{i}</b>"})
        for i in range(2)
        for method, rate in (("erm", 0.3), ("calm", 0.05), ("<i>odd</i>", 0.15))
        for split in (99, 7)
    ]
    title = "Made up, batch_size=32, epochs=10, train=20, weight_decay=0.1"
    variant = {"title": title, "group": "variant", "family": "d0"}
    name = "d0@batch_size=32@epochs=10@train=20@weight_decay=0.1"
    made_up += [make_cell(name, method, about=variant) for method in ("erm", "calm")]
    made_up += make_regression("r", about={"unit": "pIC50"}, erm=0.2, calm=0.1)
    return collect([*real, *made_up], "sqlite:///made-up.db", ["twin · split 99 (abc) is left out"])


@pytest.fixture(scope="session")
def built(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site and return its folder."""
    return site.write(results, tmp_path_factory.mktemp("built") / "site", health={"d0": "12 rows & more"}).parent


def first_page(results: Results, **addresses: str) -> str:
    return dict(Site(results, results, "runs", {}, **addresses).board("id"))["index.html"]


@dataclass
class Page:
    """A browser on the site in ``folder``, driven by CSS selectors."""

    driver: Any
    folder: Path = Path()

    def open(self, path: str, until: str = "") -> None:
        """Open a page and wait until it has an element."""
        path, mark, place = path.partition("#")
        self.driver.get("about:blank")  # otherwise only the hash would change
        self.driver.get(f"{(self.folder / path).as_uri()}{mark}{place}")
        if until:
            self.wait("document.querySelector(arguments[0])", until)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of visible elements."""
        script = """return [...document.querySelectorAll(arguments[0])]
            .filter((e) => e.checkVisibility()).map((e) => (e.innerText ?? "").trim())"""
        return self.run(script, selector)

    def wait(self, script: str, *arguments: object) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 60, 0.05).until(lambda _: self.run(f"return {script}", *arguments))

    def all(self, selector: str, what: str = "e.textContent") -> list[Any]:
        """Return an expression of each element ``e``, visible or not."""
        return self.run(f"return [...document.querySelectorAll(arguments[0])].map((e) => {what})", selector)

    def click(self, selector: str, until: str = "") -> None:
        self.driver.find_element("css selector", selector).click()
        if until:
            self.wait("document.querySelector(arguments[0])", until)

    def fill(self, name: str, value: str) -> None:
        """Enter a value into a field of the form, as typing or choosing does."""
        script = """const field = document.querySelector("form").elements[arguments[0]];
            field.value = arguments[1]; field.dispatchEvent(new Event("input", {bubbles: true}))"""
        self.run(script, name, value)

    @property
    def hash(self) -> str:
        return self.run("return location.hash")


@pytest.fixture
def browser(driver: Any) -> Iterator[Page]:
    """Yield a browser on a site that is yet to be named, then check that it logged nothing and asked only for files."""
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    yield Page(driver)
    assert [line["message"] for line in driver.get_log("browser")] == []
    messages = [json.loads(line["message"])["message"] for line in driver.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if url.startswith(("http", "ws", "ftp"))] == []


@pytest.fixture
def page(browser: Page, built: Path) -> Page:
    browser.folder = built
    return browser
