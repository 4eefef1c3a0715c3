"""Where flips happen: churn of groups by loops, and which molecules are in which group."""

import numpy as np
import pytest

from benchmark.studies import neighbours
from benchmark.studies.neighbours import LabelNoise, Nearby, Similarity
from benchmark.study.report import Report

from .conftest import retrained


def report(told, kind: type[Nearby], flipping: list[bool], facts: dict[str, list[object]]) -> Report:
    """Of one dataset, in whose order the facts must be taken, by two retrainings."""
    one = np.array([np.zeros(len(flipping)), flipping], dtype=float)
    made = retrained(np.stack([1 - one, one], -1))
    return kind(dataset="bace", seeds="2").report(told(lambda *_: made, {"bace, split 99": facts}))


FLIPPING = np.array([[0, 0, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 1, 0]])
"""The classes of six molecules, by four retrainings."""


def shown(report) -> dict[str, tuple[str, float, float]]:
    return {
        name: (number, float(churn.values[0, 1]), float(ratio.values[0]))
        for _, name, number, churn, ratio in report.sheets[0].rows
    }


def test_groups_hold_the_molecules_that_their_facts_say_in_whatever_order_these_were_kept(told) -> None:
    facts = {"ids": ["m3", "m2", "m1", "m0"], "similarity": [0.9, 0.65, 0.35, 0.1]}
    facts |= {"same": [True, False, True, True], "other": [True, True, False, False]}
    facts |= {"conflict": [True, False, False, False]}
    noise, near = (report(told, kind, [False, False, True, True], facts) for kind in (LabelNoise, Similarity))
    assert shown(noise) == {
        "conflicting labels": ("1", 1.0, 2.0),
        "activity cliff": ("2", 1.0, 2.0),
        "neighbours of the same class only": ("2", 0.0, 0.0),
    }
    assert noise.answer == [
        "BACE: two retrainings disagree on 50.0 % of 4 test molecules; conflicting labels (1) 100.0 %, activity cliff "
        "(2) 100.0 %, neighbours of the same class only (2) 0.0 %."
    ]
    assert shown(near) == {
        "0 to 0.3": ("1", 0.0, 0.0),
        "0.3 to 0.4": ("1", 0.0, 0.0),
        "0.6 to 0.7": ("1", 1.0, 2.0),
        "0.7 to 1": ("1", 1.0, 2.0),
    }
    assert near.answer == [
        "BACE: two retrainings disagree on 50.0 % of 4 test molecules; similarity below 0.4 (2) 0.0 %, at least 0.7 "
        "(1) 100.0 %."
    ]


def test_groups_of_ten_molecules_or_more_are_drawn_in_multiples_of_all(told) -> None:
    cliff = np.arange(40) < 20
    facts = {"ids": [f"m{i}" for i in range(40)], "similarity": [0.9] * 40}
    facts |= {"same": (~cliff).tolist(), "other": cliff.tolist(), "conflict": (np.arange(40) < 9).tolist()}
    (chart,) = report(told, LabelNoise, (np.arange(40) < 10).tolist(), facts).charts
    assert [(p.x, p.y.values[0]) for p in chart.series["BACE"]] == [(1, 2.0), (2, 0.0)]
    assert chart.x.names[1:3] == ["cliff", "same class"]


def test_a_ratio_leaves_each_retraining_out_of_the_group_and_of_all() -> None:
    values = np.stack([1 - FLIPPING, FLIPPING], axis=-1).astype(float)
    some = np.arange(6) < 3

    def by_hand(runs: list[int]) -> float:
        pairs = [(i, j) for i in runs for j in runs if i < j]
        part, whole = (
            np.mean([np.mean(FLIPPING[i, these] != FLIPPING[j, these]) for i, j in pairs])
            for these in (some, some | True)
        )
        return float(part / whole)

    without = np.array([by_hand([j for j in range(4) if j != i]) for i in range(4)])
    error = np.sqrt(3 / 4 * np.sum((without - without.mean()) ** 2))
    values = neighbours.ratio(retrained(values).predictions["id"], some).values
    assert values.mean() == pytest.approx(by_hand([0, 1, 2, 3]))
    assert values.std(ddof=1) / 2 == pytest.approx(error), "Student's interval of them is the jackknife's"


def test_without_any_flip_there_is_no_ratio(told) -> None:
    facts = {"ids": ["m0"], "similarity": [1.0], "same": [True], "other": [False], "conflict": [False]}
    ((_, churn, ratio),) = shown(report(told, Similarity, [False], facts)).values()
    assert churn == 0
    assert np.isnan(ratio)
