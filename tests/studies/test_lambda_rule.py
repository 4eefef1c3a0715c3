"""The rule that selects λ, against cases worked out by hand."""

import pytest

from benchmark.store.cell import Grid
from benchmark.studies.lambda_rule import LambdaRule
from benchmark.study.context import Missing, arrange
from benchmark.study.selection import largest, loss, select

from .conftest import Told, cell


def test_a_loss_at_the_tolerance_is_admitted_however_it_is_rounded() -> None:
    for right in range(1, 500):  # accuracies of 500 examples: ERM has ten more right, which is 0.02
        assert select({3: 1 - right / 500}, erm=1 - (right + 10) / 500, tolerance=0.02) == 3
        assert select({3: 1 - right / 500}, erm=1 - (right + 11) / 500, tolerance=0.02) is None


def sweep(erm: int, *right: int) -> Told:
    """A context in which so many of 100 examples are right by ERM and bagging, and by twins of rising λ."""
    lambdas = (1, 3, 10, 30, 100, 300)[: len(right)]
    twins = {f"twin:lam={lam}": n for lam, n in zip(lambdas, right, strict=True)}
    return Told(lambda dataset, method: (100 - {"erm": erm, "bagging": erm, **twins}[method], 0))


class BySplit(Told):
    """``said`` is the context of each split."""

    def cells(self, methods, datasets, splits, *_):
        each = [self.said[split].cells(methods, datasets, [split]) for split in splits]
        return {key: [cell for of_split in each for cell in of_split[key]] for key in each[0]}


def test_the_study_applies_the_rule_to_each_split_and_to_each_tolerance() -> None:
    context = BySplit({99: sweep(80, 80, 80, 80, 79, 78, 70), 7: sweep(80, 80, 80, 50, 81, 78, 78)})
    report = LambdaRule(canonical_seed="99,7", seeds="2").report(context)
    assert [line.partition("split ")[2] for line in report.answer] == [
        "99, the rule selects λ = 100: churn 0.0 %, accuracy 78.0 %. ERM: churn 0.0 %, accuracy 80.0 %.",
        "7, the rule selects λ = 300: churn 0.0 %, accuracy 78.0 %. ERM: churn 0.0 %, accuracy 80.0 %.",
    ]
    table, tolerances = report.sheets
    assert [list(row) for row in tolerances.rows] == [
        ["0.02", "100", "300"],
        ["0.01", "30", "30"],
        ["0.005", "10", "30"],
    ]
    marks = {row[0]: row[-1] for row in table.rows if row[-1]}
    assert marks == {"Twin-bootstrap λ=100": "selected on 99", "Twin-bootstrap λ=300": "selected on 7"}
    chosen = [point.label for point in report.charts[0].series["twin"] if point.chosen]
    assert chosen == ["λ=100", "λ=300"]


def test_the_rule_is_applied_to_the_cells_of_a_sampling_which_the_report_names() -> None:
    context = sweep(80, 80, 80, 80, 79, 78, 70)
    paper, nested = (LambdaRule(seeds="2", sampling=s).report(context) for s in ("paper", "nested"))
    assert paper.answer == nested.answer
    assert "sampling" not in paper.sheets[0].caption
    assert "sampling nested" in nested.sheets[0].caption
    with pytest.raises(Missing):  # a cell of another sampling is not one of this
        arrange([cell("erm", "bace", 99, 20, 0)], Grid(["erm"], ["bace"], [99], [1, 2], "nested"))


def test_the_rule_says_so_where_it_admits_none() -> None:
    report = LambdaRule(seeds="2").report(sweep(80, 70, 70, 70, 70, 70, 70))
    assert report.answer == ["On BACE, split 99, the rule selects no λ. ERM: churn 0.0 %, accuracy 80.0 %."]


def test_a_regression_is_judged_by_its_mae_within_four_hundredths() -> None:
    report = LambdaRule(dataset="esol", seeds="2").report(sweep(90, 90, 86))
    assert report.answer == [
        "On ESOL, split 99, the rule selects λ = 3: churn 0.000, MAE 0.140. ERM: churn 0.000, MAE 0.100."
    ]
    report = LambdaRule(dataset="esol", seeds="2").report(sweep(90, 90, 85))
    assert report.answer == [
        "On ESOL, split 99, the rule selects λ = 1: churn 0.000, MAE 0.100. ERM: churn 0.000, MAE 0.100."
    ]
    assert loss([cell("erm", "esol", 99, 10, 0)]) == pytest.approx(0.10)


def test_lambda_is_lowered_until_it_is_admitted_and_smaller_ones_are_not_asked_for() -> None:
    context, erm = sweep(80, 80, 80, 80, 79, 70, 60), [cell("erm", "bace", 99, 20, 0)]
    found = largest(LambdaRule(seeds="2"), context, "twin:lam={lam:g}", erm)
    assert found is not None
    assert (found[0], found[1][0].title) == (30, "Twin-bootstrap λ=30")
    assert context.asked == ["twin:lam=300", "twin:lam=100", "twin:lam=30"]
    assert largest(LambdaRule(seeds="2"), sweep(80, 1, 1, 1, 1, 1, 1), "twin:lam={lam:g}", erm) is None
