"""The paper's filter from ERM's predictions."""

import numpy as np
import pytest

from benchmark.store.cell import Cell
from leaderboard.read.results import collect
from leaderboard.tables.builders.paper_filter import outcomes, verdict

from ...conftest import cell


def erm(right: int, positives: int, seed: int = 99, method: str = "erm") -> Cell:
    """Two retrainings on 100 examples, ``positives`` of class 1, each wrong on all but the first ``right``."""
    y = (np.arange(100) < positives).astype(int)
    predicted = np.where(np.arange(100) < right, y, 1 - y)
    values = np.eye(2)[predicted][None].repeat(2, axis=0)
    return cell(method, values, y=y, dataset="clintox", split=seed, about={"title": "ClinTox", "group": "excluded"})


@pytest.mark.parametrize(
    ("gap", "n", "expected"),
    [
        (0.05, 60, "passes"),
        (0.0499, 60, "gap below 5 pp"),
        (0.2, 59, "test below 60"),
        (-0.1, 3, "gap below 5 pp; test below 60"),
    ],
)
def test_erm_must_beat_the_majority_by_5_pp_on_60_examples(gap, n, expected):
    assert verdict(gap, n) == expected


def numbers(*cells: Cell) -> list[str | float]:
    (row,) = outcomes(collect(cells), "runs").rows
    return [value if isinstance(value, str) else value.number for value in row]


def test_the_outcome_is_computed_from_predictions_beside_the_papers_values() -> None:
    expected = ["ClinTox", "excluded", 400, 100, 0.7, 0.8, 10, "passes", 0.928, 0.918]
    assert numbers(erm(right=80, positives=30)) == [x if isinstance(x, str) else pytest.approx(x) for x in expected]
    splits = numbers(erm(80, 30), erm(60, 50, seed=7))
    assert splits[4:6] == [pytest.approx(0.6), pytest.approx(0.7)], "several splits are averaged"
    regression = cell("erm", np.zeros((2, 100, 1)), dataset="esol")
    assert outcomes(collect([erm(80, 30, method="twin"), regression]), "runs").rows == ()
