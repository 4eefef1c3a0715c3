"""Accuracy, churn and cost over families, against cases worked out by hand and scipy."""

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.studies.frontier import ByFamily, Frontier, dominates

ONE = np.ones(4)


def of(loss: list[float], churn: list[float]) -> ByFamily:
    return ByFamily(np.array(loss), np.array(churn), ONE)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (([0.2] * 4, [0.1, 0.11, 0.09, 0.1]), ([0.2] * 4, [0.2, 0.22, 0.19, 0.2]), True),  # calmer, equally accurate
        (([0.21] * 4, [0.1, 0.11, 0.09, 0.1]), ([0.2] * 4, [0.2, 0.22, 0.19, 0.2]), False),  # calmer, less accurate
        (([0.1, 0.11, 0.1, 0.09], [0.2] * 4), ([0.2] * 4, [0.2] * 4), True),  # more accurate, equally calm
        (([0.2] * 4, [0.1, 0.3, 0.1, 0.2]), ([0.2] * 4, [0.2, 0.2, 0.2, 0.2]), False),  # calmer on average alone
        (([0.2] * 4, [0.2] * 4), ([0.2] * 4, [0.2] * 4), False),  # the same
    ],
)
def test_a_method_dominates_if_it_is_shown_better_in_one_respect_and_is_not_worse_in_the_other(ours, theirs, expected):
    assert dominates(of(*ours), of(*theirs)) is expected


def test_datasets_of_a_family_count_as_one_and_the_front_is_said_in_order_of_churn(told) -> None:
    said = {
        "bace": {"erm": (20, 8), "svm": (20, 2), "knn": (25, 10)},
        "dili": {"erm": (30, 9), "svm": (26, 4), "knn": (36, 8)},
        "cyp2d6_substrate": {"erm": (24, 10), "svm": (23, 5), "knn": (30, 10)},
        "bbb_martins": {"erm": (10, 6), "svm": (10, 1), "knn": (15, 5)},
        "bbbp": {"erm": (12, 4), "svm": (12, 1), "knn": (13, 5)},  # of the family of bbb_martins
    }
    report = Frontier(dataset=",".join(said), methods="svm knn", seeds="2").report(told(lambda d, m: said[d][m]))
    assert report.answer == [  # churn (4 + 8 + 10 + 2) / 4, and (20 + 26 + 23 + 11) / 4 are wrong
        "Of 3 methods over 4 families, these are not shown to be dominated: SVM (churn 6.0 %, accuracy 80.0 %, 1.0 "
        "times ERM's cost)."
    ]
    (sheet,) = report.sheets
    assert [row[0] for row in sheet.rows] == ["SVM", "ERM", "k-NN"]
    assert [100 * row[1].values.mean() for row in sheet.rows] == pytest.approx([6, 16, 16.5])
    assert (sheet.rows[0][-1], sheet.rows[1][-1]) == ("–", "SVM")


def test_families_are_needed_for_an_interval_over_families(told) -> None:
    with pytest.raises(UserError, match=r"dataset=bace: 1 family of classifications; .* takes two or more"):
        Frontier(dataset="bace").report(told(lambda *_: (20, 8)))
