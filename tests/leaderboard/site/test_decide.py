"""The decision page's data: losses with the right sign and interval."""

import numpy as np
import pytest

from benchmark.measure.catalogue import ACCURACY, MATCHED_ACCURACY
from benchmark.measure.measure import Measure
from leaderboard.read.results import collect
from leaderboard.site.decide import choices

from ..conftest import keyed


def test_losses_are_what_a_method_gives_up_against_erm(make_cell, make_regression) -> None:
    cells = [make_cell(f"d{i}", m, rate) for i in range(2) for m, rate in (("erm", 0.1), ("worse", 0.3))]
    found = choices(collect([*cells, *make_regression("r", erm=0.2, worse=0.3)]))
    of = {choice["key"]: {method["title"]: method for method in choice["methods"]} for choice in found}
    assert list(of) == ["classification/headline", "d0", "d1", "r"]
    average, single = of["classification/headline"], of["d0"]
    for methods in (average, single):
        assert methods["ERM"]["loss"] is None
        value, low, high = methods["WORSE"]["loss"]
        assert value > 10
        assert low < value < high

    def lost(measure: Measure, dataset: str) -> float:
        of = {cell.title: measure.mean(cell.predictions["id"]) for cell in cells if cell.key.dataset == dataset}
        return 100 * (of["ERM"] - of["WORSE"])

    assert [single["WORSE"]["low"], single["ERM"]["low"], average["ERM"]["low"]] == ["", "", ""]
    assert average["WORSE"]["low"] == f"{lost(ACCURACY, 'd0'):.1f} pp on D0 and {lost(ACCURACY, 'd1'):.1f} pp on D1"
    assert single["WORSE"]["loss"][0] == pytest.approx(lost(MATCHED_ACCURACY, "d0"))
    assert single["WORSE"]["compute"] == pytest.approx(1.0)
    assert of["r"]["WORSE"]["loss"][0] == pytest.approx(50, rel=0.01)


@pytest.mark.parametrize(("wrong", "mark"), [(8, "†"), (4, "†?"), (0, "")])
def test_an_average_has_the_mark_of_the_loss_that_it_hides(stubborn, wrong, mark):
    average = next(choice for choice in choices(stubborn(wrong)) if choice["key"] == "classification/headline")
    by_title = {method["title"]: method for method in average["methods"]}
    assert by_title["STUBBORN"]["mark"] == mark
    assert bool(by_title["STUBBORN"]["low"]) == bool(mark)


def test_a_constant_is_never_advised_and_a_unit_is_that_of_a_regression(make_cell, make_regression) -> None:
    about = {"unit": "log10(brain/blood)"}
    cells = [*make_regression("r", about=about, erm=0.2), make_cell("d", "erm", about=about)]
    cells.append(make_cell("r", "constant", values=np.zeros((5, 30, 1)), y=cells[0].predictions["id"].y, about=about))
    by_key = {choice["key"]: choice for choice in choices(collect(cells))}
    assert {key: choice["unit"] for key, choice in by_key.items()} == {"d": "", "r": "log10(brain/blood)"}
    assert [method["title"] for method in by_key["r"]["methods"]] == ["ERM"], "the 1 − ICC of a constant is undefined"


def test_without_erm_there_is_nothing_to_decide(make_cell) -> None:
    assert choices(collect([make_cell("d", "calm")])) == []


def test_a_dataset_without_halves_is_decided_by_the_papers_runs_and_says_so(make_cell) -> None:
    paper = [make_cell(d, m, rate) for d in ("a", "b") for m, rate in (("erm", 0.3), ("calm", 0.1))]
    halves = [keyed(cell, sampling="halves") for cell in paper[:2]]
    notes = {choice["key"]: choice["note"] for choice in choices(collect([*paper, *halves]))}
    assert list(notes) == ["a", "b"]
    assert "two halves" in notes["a"]
    assert "sampling paper" in notes["b"]
