"""Two methods compared: against scipy and means of measures."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmark.errors import UserError
from benchmark.measure.catalogue import ACCURACY
from benchmark.measure.measure import Measure
from leaderboard.__main__ import app
from leaderboard.read import published
from leaderboard.read.results import Dataset, Results
from leaderboard.tables import pairwise
from leaderboard.write.formats import to_markdown
from leaderboard.write.published import write

from ..conftest import of_families


def test_accuracy_is_compared_as_by_students_paired_test(world: Results):
    mid = world.dataset("mid")
    pair = pairwise.compared([mid], "BAGGING", "ERM", ACCURACY)
    right = [(p.values.argmax(2) == p.y).mean(1) for t in ("BAGGING", "ERM") for p in mid.entry(t).tests]
    theirs = stats.ttest_rel(*right)
    interval = theirs.confidence_interval()
    assert (pair.mean.low, pair.mean.high, pair.mean.p) == pytest.approx((interval.low, interval.high, theirs.pvalue))


def test_examples_that_flip_under_one_method_alone_are_counted(world: Results):
    mid = world.dataset("mid")
    classes = [p.values.argmax(2) for t in ("ERM", "BAGGING") for p in mid.entry(t).tests]
    flips = [np.array([len(set(column)) > 1 for column in of.T]) for of in classes]
    assert pairwise.flipping_alone(mid, "ERM", "BAGGING") == ((flips[0] > flips[1]).sum(), (flips[1] > flips[0]).sum())


def test_the_mean_has_one_test_for_these_datasets_and_one_for_other_families(world: Results):
    pairs = pairwise.pairs_in(world.headline(), "BAGGING", "ERM", pairwise.measures_of("classification", ["auroc"]))
    for pair in pairs[1:]:

        def difference(dataset: Dataset, measure: Measure = pair.measure) -> float:
            a, b = (np.mean([measure.mean(p) for p in dataset.entry(title).tests]) for title in ("BAGGING", "ERM"))
            return float(a - b)

        means = of_families(world.headline(), difference)
        assert pair.mean.value == pytest.approx(np.mean(means))
        assert (pair.mean.p < 0.05) == pair.mean.excludes_zero
        theirs = stats.ttest_1samp(means, 0)
        assert pair.elsewhere.p == pytest.approx(theirs.pvalue)
        interval = theirs.confidence_interval()
        assert (pair.elsewhere.low, pair.elsewhere.high) == pytest.approx((interval.low, interval.high))
    matched, churn, *_ = map(pairwise.answer, pairs)
    assert matched.startswith("On these datasets, BAGGING is better than ERM in matched churn: Δ matched churn (pp) −")
    assert "on average, p < 0.001. On other families: [" in churn
    assert "(Student's t over 2 families). Of 2 families here it wins on 2" in churn
    alone = pairwise.answer(pairwise.compared([world.dataset("mid")], "BAGGING", "ERM"))
    assert "On other families: one family says nothing. Of 1 family here" in alone
    assert pairwise.to_table(pairs).rows[-1][0] == "Mean over 2 families"


def test_the_command_prints_what_the_table_has(world: Results, tmp_path, capsys: pytest.CaptureFixture[str]):
    write(world, tmp_path / "results", tables=False)
    store = str(tmp_path / "results")
    app(["compare", "BAGGING", "ERM", "--store", store], standalone_mode=False)
    kept = published.gather(tmp_path / "results")
    pairs = pairwise.pairs_in(kept.headline(), "BAGGING", "ERM", pairwise.measures_of("classification"))
    printed = capsys.readouterr().out
    for sentence in map(pairwise.answer, pairs):
        assert sentence in printed
    assert to_markdown(pairwise.to_table(pairs)) in printed


def test_regressions_are_compared_in_their_own_measures(world: Results):
    (solubility,) = world.of_task("regression")
    pairs = pairwise.pairs_in([solubility], "ERM", "CALM", pairwise.measures_of("regression", ["r2"]))
    errors = [np.abs(p.values[..., 0] - p.y).mean(1) for t in ("ERM", "CALM") for p in solubility.entry(t).tests]
    assert pairs[2].mean.p == pytest.approx(stats.ttest_rel(*errors).pvalue, rel=1e-4)
    table = pairwise.to_table(pairs)
    assert table.header == ("Dataset", "Δ 1 − ICC (pp)", "Δ churn", "Δ MAE", "Δ R²")
    assert pairwise.answer(pairs[1]).startswith("On these datasets, ERM is worse than CALM in churn: Δ churn +")


def test_what_cannot_be_compared_is_refused_by_name(world: Results):
    alone = replace(world, datasets=world.of_task("regression"))
    for results, methods, more, reason in (
        (world, "baging erm", {}, "did you mean 'bagging'"),
        (world, "erm bagging", {"also": ["aurocs"]}, "did you mean 'auroc'"),
        (world, "erm bagging", {"on": "solubilty"}, "did you mean 'solubility'"),
        (world, "erm bagging", {"on": " , "}, "--on ' , ': expected sets or datasets, as in headline"),
        (world, "erm bagging", {"on": "mid,solubility"}, "datasets of one task"),
        (world, "erm ERM", {}, "the same method"),
        (world, "erm calm", {"sampling": "halves"}, "has no results under it; it has: paper"),
        (alone, "erm calm", {}, r"no such dataset under paper: .* some of its datasets: solubility$"),
    ):
        with pytest.raises(UserError, match=reason):
            pairwise.report(results, *methods.split(), **more)
    with pytest.raises(UserError, match="no dataset has both ERM and"):
        pairwise.pairs_in(world.headline(), "ERM", "no", pairwise.measures_of("classification"))


def test_sets_and_datasets_are_each_compared_once(world: Results):
    both = [d.name for d in pairwise.datasets_on(world, "edge,headline, mid, mid")]
    assert sorted(both) == sorted({"edge", *(d.name for d in world.headline())})
    assert pairwise.datasets_on(world, "regression") == world.of_task("regression")
