"""Our numbers beside published ones: a made-up paper about made-up results."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.measure.catalogue import CHURN
from benchmark.measure.estimate import estimate as of_measure
from benchmark.measure.intervals import jackknife, standard_deviation
from benchmark.store.cell import Record
from leaderboard.paper.compare import compare
from leaderboard.paper.mapping import METHODS, RANKED
from leaderboard.paper.read import read
from leaderboard.read.results import Results, collect
from leaderboard.tables.builders.comparisons import estimates
from leaderboard.tables.columns import matched, pairs_of

HEAD = "table,dataset,method,canonical_seed,metric,unit,value,low,high"


@pytest.fixture(scope="module")
def ours(make_cell) -> Results:
    """Two datasets on which all seven methods ran, on split 99 only."""
    rng = np.random.default_rng(0)
    y = (rng.random(90) < 0.3).astype(int)
    cells = []
    for dataset in ("bace", "dili"):
        common = rng.normal(size=90)
        for i, name in enumerate(RANKED):
            method, params = METHODS[name]
            logit = 2 * y - 1 + common + (2 - 0.25 * i) * rng.normal(size=(6, 90))
            p = 1 / (1 + np.exp(-logit))
            values = np.stack([1 - p, p], axis=-1)
            cells.append(make_cell(method, values, y=y, dataset=dataset, params=params, title=name))
    return collect(cells)


def published(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "published.csv"
    path.write_text("\n".join([HEAD, *rows, ""]), encoding="utf-8")
    return path


def one(ours: Results, tmp_path: Path, row: str):
    (comparison,) = compare(ours, read(published(tmp_path, row)))
    return comparison


def churn_against_erm(ours: Results, method: str) -> tuple[float, float]:
    """A difference in percentage points, and what a published one may be off."""
    dataset = ours.dataset("bace")
    estimate = of_measure(CHURN, matched(pairs_of(dataset, dataset.entry(method))))
    return 100 * estimate.value, np.sqrt(2) * 100 * (estimate.high - estimate.low) / 2


def test_a_difference_is_compared_by_the_interval_of_two_replications(ours, tmp_path):
    value, allowed = churn_against_erm(ours, "twin_lam300")
    for shift, verdict in ((0.9, "agrees"), (-0.9, "agrees"), (1.1, "disagrees")):
        row = f"main,bace,twin_lam300,99,delta_churn_vs_erm,pp,{value + shift * allowed:.4f},,"
        found = one(ours, tmp_path, row)
        assert found.verdict == verdict
        assert found.ours.value == pytest.approx(value)
    assert found.wider == "agrees"


def test_an_allowance_as_large_as_the_published_value_cannot_tell_whether_it_agrees(ours, tmp_path):
    value, allowed = churn_against_erm(ours, "mc_dropout")
    assert abs(value) < allowed, "the allowance covers zero"
    for published, verdict in (
        (np.sign(value) * (allowed - 0.01), "cannot tell"),
        (0.0, "cannot tell"),
        (np.sign(value) * (allowed + 0.01), "agrees"),
        (value + 1.1 * allowed, "disagrees"),
        (value - 1.1 * allowed, "disagrees"),  # near zero, and too far all the same
    ):
        row = f"main,bace,mc_dropout,99,delta_churn_vs_erm,pp,{published:.4f},,"
        assert one(ours, tmp_path, row).verdict == verdict


def test_a_count_agrees_if_it_is_the_same_and_a_share_to_the_last_digit(ours, tmp_path):
    share = np.mean(ours.dataset("bace").reference.cells[99].predictions["id"].y)
    cases = {
        "fragility_magnitudes,bace,erm,99,n_id_test,,90": "agrees",
        "fragility_magnitudes,bace,erm,99,n_id_test,,91": "disagrees",
        f"per_class_churn,bace,erm,99,positive_fraction,,{share:.2f}": "agrees",
        f"per_class_churn,bace,erm,99,positive_fraction,,{share + 0.02:.2f}": "disagrees",
        f"filter_outcomes,bace,majority,99,accuracy,,{1 - share:.3f}": "agrees",
    }
    assert {row: one(ours, tmp_path, f"{row},,").verdict for row in cases} == cases


def test_triage_is_compared_with_the_papers_way_of_scoring(ours, tmp_path):
    p = ours.dataset("dili").reference.cells[99].predictions["id"]
    found = one(ours, tmp_path, "entropy_vs_fragility,dili,erm,99,aupc_churn,,0.5,,")
    assert found.ours.value == estimates([p])["area of churn, seen"].value


def test_ranks_are_those_of_all_methods_on_the_datasets_of_the_main_table(ours, tmp_path):
    main = [f"main,{name},bagging_k2,99,delta_churn_vs_erm,pp,0,," for name in ("bace", "dili")]
    rows = ["friedman,all2,twin_lam300,99,mean_rank,,1.0,,", "friedman,all2,,99,chi2,,9.0,,"]
    rank, chi2 = compare(ours, read(published(tmp_path, *main, *rows)))[2:]
    assert rank.ours.value == 1
    assert (chi2.verdict, chi2.why) == ("not compared", "no interval to judge by")
    assert 0 < chi2.ours.value <= 12
    (missing,) = compare(ours, read(published(tmp_path, "main,tadf,erm,99,x,pp,0,,", rows[0])))[1:]
    assert missing.why == "7 of 7 cells are missing: tadf has not been run"


def test_campaigns_are_compared_by_their_record_with_the_papers_settings(ours, tmp_path):
    best = np.array([1.0, 2.0, 2.0, 3.0])
    acquired = [[1, 2], [2, 3], [2, 1], [5, 6]]  # of six pairs two share one of three, and one shares all
    key = "esol, split 99, twin, greedy, 20 trajectories, 50 + 10"
    record = Record("bo-loop", key, "c", {"final_best": best.tolist(), "acquired": acquired, "range": 8.0})
    campaigns = replace(ours, records=(record,))
    expected = {
        "final_best,target": (2.0, jackknife([best])),
        "final_best_std,target": (np.std(best, ddof=1), standard_deviation(best)),
        "final_best_std_over_range,%": (100 * np.std(best, ddof=1) / 8, None),
        "acquired_jaccard,": ((1 + 2 / 3) / 6, None),
    }
    for metric, (value, whole) in expected.items():
        found = one(campaigns, tmp_path, f"bo_loop_regression,esol,twin_lam3,99,{metric},{value:.3f},,")
        assert found.ours.value == pytest.approx(value)
        assert found.verdict in ("agrees", "cannot tell")
        if whole is not None:
            assert (found.ours.low, found.ours.high) == pytest.approx((whole.low, whole.high))
    assert one(campaigns, tmp_path, "bo_loop_regression,esol,twin_lam3,99,final_best,target,9,,").verdict == "disagrees"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("main,tadf,erm,99,churn,%,1,,", "tadf has not been run"),
        ("main,bace,erm,7,churn,%,1,,", "erm has not been run on bace, split 7"),
        ("nscaling_bace,bace@200,erm,99,churn,%,1,,", "bace@train=200 has not been run"),
        ("bayes_twin,bace,bo_vs_erm,99,mean_lambda,,1,,", "λ has not been tuned on bace, split 99"),
        ("bo_loop_regression,esol,erm,99,final_best,target,1,,", "no campaigns of erm have been run on esol, split 99"),
        ("bo_loop_regression,esol,prayer,99,final_best,target,1,,", "no method of ours is called prayer"),
        ("main,bace,erm,99,charm,%,1,,", "we compute no measure called charm"),
        ("main,bace,erm,99,delta_churn_vs_erm,pp,1,,", "ERM has not been run"),
        ("main,bace,erm,99,mae,target,1,,", "mae applies to regression only; bace is a classification"),
        ("friedman,all2,erm,99,mean_rank,,1,,", "the file has no rows of the table main"),
    ],
)
def test_what_we_have_no_number_for_says_why(ours, tmp_path, row, why):
    found = one(ours, tmp_path, row)
    assert (found.ours, found.verdict) == (None, "not compared")
    assert found.why.startswith(why)


def test_what_is_of_classes_is_not_compared_on_a_regression(tmp_path, make_cell):
    values = np.random.default_rng(3).normal(size=(6, 80, 1))
    results = collect([make_cell("erm", values, dataset="esol", y=np.linspace(0, 1, 80))])
    for method, metric, what in (
        ("majority", "accuracy", "majority"),
        *(("erm", metric, metric) for metric in ("accuracy", "sym_kl", "positive_fraction")),
        ("erm", "aupc_churn", "triage"),
    ):
        found = one(results, tmp_path, f"regression,esol,{method},99,{metric},,1,,")
        assert (found.ours, found.why) == (None, f"{what} applies to classification only; esol is a regression")
    assert one(results, tmp_path, "regression,esol,erm,99,mae,target,1,,").ours.value > 0
    assert one(results, tmp_path, "regression,esol,erm,99,n_id_test,,80,,").verdict == "agrees"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("table,dataset\n", "lacks the columns canonical_seed, high"),
        (f"{HEAD}\nmain,bace,erm,99,churn,%,many,,\n", "line 2: value is 'many', expected a number"),
        (f"{HEAD}\nmain,bace,erm,99,churn,%,nan,,\n", "line 2: value is 'nan', expected a number"),
        (f"{HEAD}\nmain,bace,erm,9.5,churn,%,1,,\n", "line 2: canonical_seed is '9.5', expected a whole number"),
        (f"{HEAD}\nmain,bace,erm,99,churn,furlongs,1,,\n", "line 2: unknown unit 'furlongs'"),
        (f"{HEAD}\nmain,bace,erm,99,churn,%,1,5,1,2\n", "line 2: more or fewer fields than columns"),
        (f"{','.join(reversed(HEAD.split(',')))}\n,,1,%,churn,99\n", "line 2: more or fewer fields than columns"),
        (f"{HEAD}\n", "there is no row below the header"),
        (f"{HEAD},value\nmain,bace,erm,99,churn,%,1,,,2\n", "two columns are called 'value'"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_line(tmp_path, content, said):
    path = tmp_path / "x.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read(path)


@pytest.mark.parametrize(
    ("text", "place"), [("15", 1.0), ("1.50", 0.01), ("1.5e-5", 1e-6), ("1.5e4", 1e3), (" 0.5 ", 0.1)]
)
def test_a_number_counts_to_its_last_digit_in_any_notation_and_a_mark_before_the_header_is_none(tmp_path, text, place):
    path = published(tmp_path, f"main,bace,erm,99,churn,%,{text},,")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (row,) = read(path)
    assert (row.value, row.last_place) == (float(text), pytest.approx(place))


def test_a_fraction_in_the_place_of_a_percentage_is_pointed_at(ours, tmp_path):
    churn = of_measure(CHURN, [(ours.dataset("bace").reference.cells[99].predictions["id"], None)]).value
    found = one(ours, tmp_path, f"main,bace,erm,99,churn,%,{churn:.5f},,")
    assert (found.verdict, found.why[-14:]) == ("disagrees", "check its unit")
    assert one(ours, tmp_path, f"main,bace,erm,99,churn,%,{100 * churn:.5f},,").verdict == "agrees"
