"""How much of a gain comes from seeing more: the parts add up, and a family counts once."""

import pytest

from benchmark.studies.access import Access
from benchmark.study.text import mean

MOVED = {"paper": {"erm": 10, "bagging": 3}, "nested": {"erm": 10, "bagging": 9}}


def test_the_gain_under_paper_is_that_at_equal_information_and_that_of_seeing_more(told) -> None:
    class Context(told):
        def cells(self, methods, datasets, splits, seeds, sampling):
            self.said = lambda dataset, method: (20, MOVED[sampling][method] - (dataset == "dili"))
            return super().cells(methods, datasets, splits)

    report = Access(dataset="bace,dili", seeds="2", methods="bagging").report(Context(lambda d, m: (0, 0)))
    assert report.answer == [
        "Bagging K=5 changes churn by −14.0 pp under paper and by −2.0 pp at equal information; the rest, −12.0 pp, "
        "comes from seeing more of the pool."
    ]
    (sheet,), (chart,) = report.sheets, report.charts
    assert [row[1] for row in sheet.rows] == ["BACE", "DILI", "mean of 2 families"]
    for row in sheet.rows:
        paper, equal, rest = (mean("churn", m.cells) - mean("churn", m.versus) for m in row[2:])
        assert (paper, equal) == pytest.approx((-0.14, -0.02))
        assert paper == pytest.approx(equal + rest)
    assert [len(points) for points in chart.series.values()] == [1, 1]


def test_datasets_of_one_family_count_once_in_the_mean(told) -> None:
    report = Access(dataset="bbbp,bbb_martins,bace", seeds="2", methods="bagging").report(told(lambda d, m: (20, 5)))
    assert [row[1] for row in report.sheets[0].rows] == ["BBBP", "BBB-Martins", "BACE", "mean of 2 families"]
    assert {cell.key.dataset for cell in report.sheets[0].rows[-1][2].cells} == {"bbbp", "bace"}
