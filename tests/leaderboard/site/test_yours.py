"""The page that scores the reader's own predictions, in a real browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.measure.catalogue import ACCURACY, CHURN, CHURN_OF_VALUES, MAE, MATCHED_CHURN, ONE_MINUS_ICC
from benchmark.measure.estimate import estimate
from benchmark.store.cell import Cell
from benchmark.types import Predictions
from leaderboard import site
from leaderboard.read.results import collect
from leaderboard.scoring.score import score
from leaderboard.stats.power import components, resolvable
from leaderboard.tables.columns import absolute
from leaderboard.tables.table import spelled

from ..conftest import keyed, without_figures
from .conftest import Page


@pytest.fixture(scope="module")
def cells(make_cell) -> list[Cell]:
    rng = np.random.default_rng(0)
    y = (np.arange(40) < 14).astype(int)
    p = {name: 1 / (1 + np.exp(-(2 * y - 1 + s * rng.normal(size=(6, 40))))) for name, s in (("erm", 2), ("calm", 0.5))}
    made = [make_cell("d", m, values=np.stack([1 - a, a], -1), y=y, seeds=(1, 2, 3, 4, 5, 6)) for m, a in p.items()]
    x = np.linspace(-1, 1, 30).astype(np.float32)
    made += [
        make_cell(name, m, values=size * (x[:, None] + s * rng.normal(size=(4, 30, 1))), y=size * x, seeds=(1, 2, 3, 4))
        for name, size in (("r", np.float32(1)), ("tiny", np.float32(1e-7)))
        for m, s in (("erm", 0.2), ("calm", 0.1))
    ]
    return [keyed(cell, sampling=s) for cell in made for s in ("paper", "halves")]


Given = Callable[..., list[str]]


@pytest.fixture(scope="module")
@without_figures()
def folder(cells: list[Cell], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site.write(collect(cells), tmp_path_factory.mktemp("yours") / "site").parent


@pytest.fixture
def given(browser: Page, folder: Path, tmp_path: Path) -> Given:
    """``given("D", text)`` chooses the dataset, drops a file with this text, and returns the lines of the verdict."""
    browser.folder, file = folder, tmp_path / "mine.csv"

    def give(dataset: str, text: str, page: str = "paper/yours.html") -> list[str]:
        file.write_text(text, encoding="utf-8")
        browser.open(page)
        browser.wait("!document.querySelector('#yours').hidden")
        script = """const on = document.querySelector("[name=on]");
            on.value = [...on.options].find((option) => option.text === arguments[0]).value;
            on.dispatchEvent(new Event("change"))"""
        browser.run(script, dataset)
        browser.driver.find_element("css selector", "input[type=file]").send_keys(str(file))
        browser.wait("document.querySelector('#verdict').textContent")
        return browser.driver.find_element("id", "verdict").text.splitlines()

    return give


def rows(page: Page, table: str) -> list[str]:
    return [" ".join(text.split()) for text in page.texts(f"#{table} tbody tr")]


@pytest.fixture
def erm(cells: list[Cell]) -> Predictions:
    return cells[0].predictions["id"]


def wide(p: Predictions, values: np.ndarray, names: str = "run{}") -> str:
    table = pd.DataFrame({names.format(r + 1): run for r, run in enumerate(values)})
    return table.assign(example_id=p.ids).sample(frac=1, random_state=0).to_csv(index=False)


def predicted(p: Predictions, mine: np.ndarray, **changes: Any) -> Predictions:
    """Predictions of the same examples, from probabilities of class 1."""
    values = np.stack([1 - mine, mine], -1).astype(np.float32)
    return replace(p, seeds=tuple(range(1, len(mine) + 1)), values=values, **changes)


def shown(measure: Any, value: Any) -> str:
    return f"{absolute(measure).title}: {absolute(measure).show(value).text}"


def test_it_says_what_score_says_and_where_that_stands(given: Given, browser: Page, cells, erm: Predictions) -> None:
    mine = (0.4 * erm.y + np.random.default_rng(1).beta(2, 2, (5, 40)) * 0.6).round(2)
    mine[:, 10:17] = 0.5  # ties, one of them at the cut
    said = given("D", wide(erm, mine))
    own = predicted(erm, mine)
    scored, matched = score(own.values, erm.y, erm.ids), estimate(MATCHED_CHURN, [(own, None)])
    churn, accuracy = (scored.estimates[key] for key in ("churn", "accuracy"))
    value, low, high = (f"{100 * x:.1f}" for x in (accuracy.value, accuracy.low, accuracy.high))
    assert said[1:] == [shown(MATCHED_CHURN, matched), shown(CHURN, churn), f"Accuracy (%): {value} [{low}, {high}]"]
    others = {c.title: c.predictions["id"] for c in cells[::2] if c.key.dataset == "d"}
    churns = {title: MATCHED_CHURN.mean(p) for title, p in others.items()} | {"Your predictions": matched.value}
    right = {title: ACCURACY.mean(p) for title, p in others.items()} | {"Your predictions": accuracy.value}
    order = sorted(churns, key=churns.__getitem__)
    assert rows(browser, "places") == [
        f"{i} {100 * churns[name]:.1f} {100 * right[name]:.1f} {name}" for i, name in enumerate(order, 1)
    ]
    place = order.index("Your predictions") + 1
    first, last = (1 + sum(churns[title] < end for title in others) for end in (matched.low, matched.high))
    assert f"By matched churn, place {place} of 3 ({first}–{last} within its interval), " in said[0]
    assert rows(browser, "fragile")[0].split()[0] == f"{100 * scored.example_churn.max():.0f}"


def test_the_browser_lets_the_page_send_nothing(folder: Path) -> None:
    pages = [*folder.rglob("yours.html")]
    assert len(pages) == 2
    assert all("connect-src 'none'" in page.read_text(encoding="utf-8") for page in pages)


def test_predictions_that_lose_more_than_5_pp_of_accuracy_have_no_place_however_low_their_churn(given, browser, erm):
    said = given("D", wide(erm, np.tile(np.linspace(0.1, 0.3, 40), (3, 1))))
    loss = 100 * (ACCURACY.mean(erm) - (erm.y == 0).mean())
    assert loss > 5
    assert f"No place: accuracy is {loss:.1f} pp below ERM's, {100 * ACCURACY.mean(erm):.1f}, " in said[0]
    assert said[1].startswith("Matched churn (%): 0.0")
    assert not any("Your predictions" in row for row in rows(browser, "places"))


def test_two_halves_of_a_halving_are_compared_and_no_others(given: Given, erm: Predictions) -> None:
    mine = np.random.default_rng(2).random((6, 40))
    halved = predicted(erm, mine, sampling="halves")
    expected = [shown(m, estimate(m, [(halved, None)])) for m in (MATCHED_CHURN, CHURN)]
    assert given("D", wide(erm, mine), "yours.html")[1:3] == expected
    for text, told in (
        (wide(erm, erm.values[:2, :, 1]), "so few retrainings give no interval, so it is uncertain"),
        (wide(erm, mine[:5]), "expected both of each"),
        (wide(erm, mine[:2], "model {}b"), "names that end in the train seed"),
    ):
        assert told in given("D", text, "yours.html")[0]


@pytest.mark.parametrize(("name", "size", "form"), [("r", 1, ".3f"), ("tiny", 1e-7, "#.3g")])
def test_a_regression_in_a_long_table_is_scored_by_its_values(
    given: Given, cells: list[Cell], name, size, form
) -> None:
    p = next(c for c in cells if c.key.dataset == name).predictions["id"]
    mine = (p.y + size * np.random.default_rng(3).normal(size=(4, 30))).astype(np.float32)
    table = pd.DataFrame({"run": np.repeat([1, 2, 3, 4], 30), "example_id": np.tile(p.ids, 4), "value": mine.ravel()})
    said = given(name.upper(), table.to_csv(index=False, sep=";"))
    values = Predictions((1, 2, 3, 4), p.ids, p.y, mine[..., None], "regression")
    names = {ONE_MINUS_ICC: "1 − ICC (%)", CHURN_OF_VALUES: "Churn (target units)", MAE: "MAE"}
    expected = []
    for measure, name in names.items():
        found, (scale, shown) = estimate(measure, [(values, None)]), (100, ".1f") if "%" in name else (1, form)
        value, low, high = (f"{scale * x:{shown}}".replace("-0", "-") for x in (found.value, found.low, found.high))
        expected.append(f"{name}: {value} [{low}, {high}]".replace("-", "−"))
    assert said[1:] == expected


@pytest.mark.parametrize(
    ("sampling", "path", "column"),
    [("paper", "paper/yours.html", "Retrainings"), ("halves", "yours.html", "Halvings")],
)
def test_it_says_how_large_a_difference_so_many_retrainings_find(browser, folder, cells, sampling, path, column):
    erm, calm = (c.predictions["id"] for c in cells if c.key.dataset == "d" and c.key.sampling == sampling)
    pilot = components([MATCHED_CHURN.of_runs(calm) - MATCHED_CHURN.of_runs(erm)])
    browser.folder = folder
    browser.open(path, "#need tbody tr")
    assert browser.texts("#need th")[0] == column
    assert rows(browser, "need") == [f"{n} {spelled(100 * resolvable(pilot, n))}" for n in (5, 10, 20, 50)]
    assert "difference from ERM in matched churn that so many" in browser.texts("#needed")[0]


def test_retrainings_that_know_nothing_are_not_taken_for_both_classes(given: Given, erm: Predictions) -> None:
    said = given("D", wide(erm, 0.5 + 0.005 * np.random.default_rng(5).uniform(-1, 1, (3, 40))))
    assert "3 retrainings, 40 examples of D. No place: accuracy is " in said[0]


def test_predicted_classes_have_no_matched_churn(given: Given, erm: Predictions) -> None:
    said = given("D", wide(erm, np.where(np.random.default_rng(4).random((3, 40)) < 0.1, 1 - erm.y, erm.y)))
    assert "By churn, place " in said[0]
    assert [line.partition(":")[0] for line in said[1:]] == ["Churn (%)", "Accuracy (%)"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("example_id", "name", "Expected the columns example_id and one for each"),
        ("run2", "mean", "run1 and mean differ in more than a number"),
        ("0.25,0.5,", "0.25,0.75,", "run1 and run2 sum to 1, as the probabilities of both classes do"),
        ("m7\n", "m99\n", "m99 is not in this test set"),
        ("m7\n", "m8\n", "m8 is there twice"),
        ("0.25,0.5,m7\n", "", "m7 is missing; 39"),
        ("0.25,0.5,m0\n", "0.25,1.5,m0\n", "expected a probability from 0 to 1, found 1.5"),
        ("0.25,0.5,m0\n", "0.25,,m0\n", "expected a probability from 0 to 1, found nothing"),
        ("0.25,0.5,m0\n", "0.25,m0\n", "2 cells where the header has 3"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_its_line(given, browser, erm, old, new, message):
    (said,) = given("D", wide(erm, np.tile([[0.25], [0.5]], 40)).replace(old, new))
    assert message in said
    assert rows(browser, "places") == []
