"""The page on methods says of each remedy and learner what it is, with its formula and its source."""

import re
import runpy

import pandas as pd
import pytest

from benchmark.files import CHECKOUT
from benchmark.pipeline import Learner, Remedy
from benchmark.registry import SKLEARN
from benchmark.studies.knobs import knobs_of
from benchmark.study.selection import TOLERANCES
from benchmark.types import Recipe

from .places import FROZEN, places

BUILD = runpy.run_path(str(CHECKOUT / "docs" / "_build" / "methods_page.py"))
PARTS = BUILD["PARTS"]
REMEDIES = {name: cls for name, cls in PARTS.items() if issubclass(cls, Remedy)}
LEARNERS = {name: cls for name, cls in PARTS.items() if issubclass(cls, Learner)}
PAGE = (CHECKOUT / "docs" / "methods.md").read_text(encoding="utf-8")
_parts = re.split(r"^#### `(\w+)`$", PAGE, flags=re.M)[1:]
SECTIONS = {
    name: re.split(r"\n###? ", text)[0].replace("\n  ", " ")
    for name, text in zip(_parts[::2], _parts[1::2], strict=True)
}


@pytest.mark.slow
def test_the_page_is_made_of_the_methods():
    assert BUILD["page"](PAGE) == PAGE, "run python docs/_build/methods_page.py"


def test_the_numbers_of_its_other_text_are_those_of_the_suite():
    text = " ".join(PAGE.split())
    assert f"in the dataset's recipe, by default {Recipe().epochs}, and" in text
    assert f"it may cost {100 * TOLERANCES['classification'][0]:g} percentage points of accuracy" in text
    assert f"the main hyperparameter of {len(knobs_of('classification'))} methods by one rule" in text
    assert f"from the studies `remedies` and `updates` of version {FROZEN.parent.name}." in text


def test_every_remedy_and_every_learner_is_in_one_group():
    assert sorted(name for names in BUILD["REMEDIES"].values() for name in names) == sorted(REMEDIES)
    assert sorted(name for names in BUILD["LEARNERS"].values() for name in names) == sorted([*LEARNERS, SKLEARN])


def test_every_method_on_the_board_has_its_row_and_the_others_what_a_study_found():
    text = " ".join(SECTIONS.values())
    on_board = places("halves")
    for title, row in on_board.iterrows():
        if " · " not in title and title not in SETTINGS:
            figure = row["Matched churn (%)"].replace(" [", " % [")
            assert (f"place {row['Place']}, matched churn {figure}" in text) == (title != "ERM"), title
    assert set(SETTINGS) < set(on_board.index)
    for _, row in pd.read_csv(FROZEN / "study-remedies-frontier.csv").iterrows():
        interval = f"[{row['Churn (%) low']:.1f}, {row['Churn (%) high']:.1f}]"
        shown = row["Method"] not in on_board.index or row["Method"] == "ERM"
        assert (f"churn {row['Churn (%)']:.1f} % {interval}" in text) == shown, row["Method"]
    assert "flips 4.0 % [0.0, 8.9], bad flips 1.7 %" in SECTIONS["average_incumbent"]
    assert "Published" not in SECTIONS["erm_whole"]
    assert "1 − ICC" in SECTIONS["gaussian_process"]


SETTINGS = ("Bagging K=2", "Perceptron, epochs=5")
"""Rows of the board that are not a method with its defaults."""


def test_passes_are_counted_of_a_method_that_takes_the_usual_steps_and_deploys_the_networks_it_trains():
    counts = {name: BUILD["footprint"](PARTS[name]) for name in ("bagging", "twin", "gin", "mc_dropout")}
    assert counts == {"bagging": (5, 5, 5, 5), "twin": (4, 1, 2, 2), "gin": (1, 1, 1, 1), "mc_dropout": (1, 1, 1, 20)}
    for name in ("svm", "sharpness_aware", "distilled_svm", "swa_gaussian"):
        assert BUILD["footprint"](PARTS[name]) is None, name


@pytest.mark.parametrize("name", [*PARTS, SKLEARN])
def test_the_docstring_of_a_method_has_title_formula_source_and_what_differs(name):
    text = BUILD["about"](name)
    assert len(text.title) < 60
    assert text.idea
    assert re.match(r"[A-Z]|``", text.rest[0])
    assert name == SKLEARN or any(part.startswith("$$") for part in text.rest)
    cited = re.search(r"arXiv:\d{4}\.\d{5}|doi:10\.|ISBN|NeurIPS|JMLR|Prastalo", text.labelled["Source"])
    assert cited or text.labelled["Source"].startswith(("ours", "the documentation"))
    alone = not cited or text.labelled["Source"].startswith("ours") or name in ("erm", "twin")
    assert alone or text.labelled["Difference"]
