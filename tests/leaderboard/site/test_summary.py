"""The first page's numbers: complete blocks, ranks, and means over datasets with their intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from benchmark.measure.catalogue import CHURN, ORDER
from benchmark.measure.intervals import jackknife
from benchmark.store.cell import Cell
from benchmark.types import Task
from leaderboard.read.results import collect
from leaderboard.site import sentences
from leaderboard.site.decide import choices
from leaderboard.tables.boards import SUSPICIONS
from leaderboard.tables.entries import build
from leaderboard.tables.summary import Summary, complete_block, summaries
from leaderboard.tables.table import MISSING, Value

from ..conftest import keyed, row_of, submitted, sure


def summary_of(cells: list[Cell], task: Task = "classification") -> Summary:
    return next(summary for summary in summaries(collect(cells)) if summary.task == task)


@pytest.fixture(scope="module")
def cells(make_cell) -> list[Cell]:
    """Three methods on four datasets."""
    rates = {"erm": 0.3, "calm": 0.05, "middle": 0.15}
    return [make_cell(f"d{i}", method, rate) for i in range(4) for method, rate in rates.items()]


def churn(cell: Cell) -> float:
    return CHURN.mean(cell.predictions["id"])


def test_mean_ranks_are_those_of_the_churns(cells: list[Cell]) -> None:
    summary = summary_of(cells)
    titles = ["ERM", "CALM", "MIDDLE"]
    table = [[churn(d.entry(title).cells[99]) for title in titles] for d in collect(cells).datasets]
    expected = dict(zip(titles, rankdata(table, axis=1).mean(axis=0), strict=True))
    result = {row.title: row.rank.value for row in summary.rows if row.rank}
    assert result == pytest.approx(expected)
    assert [row.title for row in summary.rows] == ["CALM", "MIDDLE", "ERM"]
    assert summary.by_rank == list(summary.rows)
    assert (summary.ties("CALM"), summary.ties("ERM")) == ("A", "B")
    calm = row_of(summary, "CALM").estimates[ORDER["classification"].key]
    assert f"comes first, with {100 * calm.value:.1f} %." in sentences.answer(summary)


def test_a_mean_over_datasets_has_the_interval_of_independent_datasets(cells: list[Cell]) -> None:
    result = row_of(summary_of(cells), "CALM").estimates["churn"]
    each = [jackknife([CHURN.of_runs(cell.predictions["id"])]) for cell in cells if cell.title == "CALM"]
    mean = np.mean([e.value for e in each])
    half = np.sqrt(np.sum([(e.high - e.value) ** 2 for e in each])) / 4
    assert (result.value, result.low, result.high) == pytest.approx((mean, mean - half, mean + half))


def test_a_submission_has_the_badge_of_being_verified_only_if_all_its_results_are(cells: list[Cell], make_cell) -> None:
    def badge(*statuses: str) -> str:
        new = [submitted(make_cell(f"d{i}", "new"), status) for i, status in enumerate(statuses)]
        return row_of(summary_of([*cells, *new]), "NEW").badge

    assert badge("verified", "verified", "verified", "verified") == "verified"
    assert badge("verified", "verified", "self-reported", "verified") == "self-reported"
    assert row_of(summary_of(cells), "ERM").badge == "baseline"


def test_a_method_that_lacks_a_dataset_is_listed_with_what_is_missing(cells: list[Cell], make_cell) -> None:
    summary = summary_of([*cells, *(make_cell(f"d{i}", "partial") for i in range(3))])
    row = row_of(summary, "PARTIAL")
    assert (row.rank, row.unranked, row.estimates) == (None, "missing on D3", {})
    assert summary.rows[-1] is row
    assert len(summary.datasets) == 4


def test_a_dataset_that_few_methods_ran_on_takes_no_method_with_it(cells: list[Cell], make_cell) -> None:
    more = [*cells, make_cell("new", "erm")]
    block, titles = complete_block(collect(more).headline())
    assert {d.name for d in block} == {"d0", "d1", "d2", "d3"}
    assert set(titles) == {"ERM", "CALM", "MIDDLE"}
    summary = summary_of(more)
    assert [d.name for d in summary.left_out] == ["new"]
    assert any("NEW" in note for note in sentences.notes(summary))


def test_a_constant_regression_has_no_order_and_shrinking_buys_no_place(make_cell) -> None:
    rng = np.random.default_rng(0)
    y = np.linspace(-1, 1, 30).astype(np.float32)
    of = {"erm": (1, 0.2), "calm": (1, 0.1), "shrunk": (0.5, 0.01), "constant": (0, 0)}
    cells = [
        make_cell(f"r{i}", method, values=(slope * y + noise * rng.normal(size=(5, 30)))[..., None], y=y)
        for i in range(3)
        for method, (slope, noise) in of.items()
    ]
    summary = summary_of(cells, "regression")
    constant = row_of(summary, "CONSTANT")
    assert (constant.place, constant.rank, constant.collapsed) == (None, None, "collapsed on R0, R1, R2")
    assert constant.unranked.startswith("1 − ICC is undefined")
    assert summary.by_rank[0].title == "SHRUNK", "the paper's mean ranks go by raw churn"
    assert row_of(summary, "SHRUNK").marks == ("† on R0, R1, R2",)
    answer = str(sentences.answer(summary))
    assert answer.startswith("Over 3 datasets, ")
    assert "CALM</a></strong> comes first, with " in answer


def test_a_constant_and_a_marked_submission_are_not_ranked_recommended_or_left_unexplained(cells, make_cell) -> None:
    constant = np.broadcast_to([0.9, 0.1], (5, 40, 2))
    right = sure(np.tile(np.arange(40) % 2, (5, 1)))
    more = [make_cell(f"d{i}", "constant", values=constant) for i in range(4)]
    more += [submitted(make_cell(f"d{i}", "copied", values=right), marks="alike") for i in range(4)]
    summary = summary_of([*cells, *more])
    row = row_of(summary, "CONSTANT")
    assert (row.rank, row.place, row.marks[0][0], row.collapsed[:9]) == (None, None, "†", "collapsed")
    assert row.matched == pytest.approx(0.5), "that of chance"
    row = row_of(summary, "COPIED")
    assert (row.rank, row.estimates["matched_churn"].value) == (None, 0)
    assert row.unranked.startswith("alike on ")
    assert summary.placed[0].title == "CALM"
    assert SUSPICIONS["alike"] in sentences.notes(summary)
    methods = [method["title"] for choice in choices(collect([*cells, *more])) for method in choice["methods"]]
    assert "CALM" in methods
    assert "COPIED" not in methods


def test_a_regression_is_compared_in_percent_of_erm(make_regression) -> None:
    cells = [cell for unit in (1, 100) for cell in make_regression(f"r{unit}", unit, erm=0.4, calm=0.1)]
    calm = row_of(summary_of(cells, "regression"), "CALM")
    assert calm.estimates["delta_churn"].value == pytest.approx(-0.75)


def test_a_share_of_erms_is_undefined_where_erm_neither_errs_nor_churns(make_regression) -> None:
    results = collect(make_regression("r", erm=0, calm=0.1))
    calm = row_of(summaries(results)[0], "CALM")
    assert np.isnan([calm.estimates[key].value for key in ("delta_churn", "delta_mae")]).all()
    assert calm.place is None
    assert [method["loss"] for choice in choices(results) for method in choice["methods"]] == [None]
    (table,) = build(results, keys=("regression",))
    assert [cells[-1] for cells in table.rows] == [Value(MISSING)] * 2


def test_there_are_letters_for_any_number_of_groups(make_cell) -> None:
    ranking = replace(
        summary_of([make_cell("d", m) for m in ("erm", "calm")]).ranking,
        critical_difference=1.0,
        groups=tuple((f"m{i}", f"m{i + 1}", f"m{i + 2}") for i in range(30)),
    )
    summary = Summary("classification", "all", (), (), (), ranking)
    assert [summary.ties(f"m{i}") for i in (0, 1, 2, 25, 27, 31, 40)] == ["A", "A–B", "A–C", "X–Z", "Z–AB", "AD", ""]


def test_datasets_of_one_family_count_once_except_as_in_the_paper(make_cell) -> None:
    cells = [
        make_cell(f"d{i}", method, rate, about={"family": "f" if i < 2 else f"d{i}"})
        for i in range(4)
        for method, rate in {"erm": 0.3, "calm": 0.05, "middle": 0.15}.items()
    ]
    results = collect(cells)
    once, each = (summaries(results, kind)[0] for kind in ("runs", "paper"))
    assert (once.ranking.n, each.ranking.n) == (3, 4)
    churns = [churn(d.entry("CALM").cells[99]) for d in results.datasets]
    assert row_of(each, "CALM").estimates["churn"].value == pytest.approx(np.mean(churns))
    assert "Over 4 datasets, 3 families, two retrainings of" in sentences.answer(once)
    assert "Over 4 datasets, two retrainings of" in sentences.answer(each)
    assert once.together == ["D0 + D1"]


def test_variants_of_a_dataset_do_not_count_as_datasets(cells: list[Cell], make_cell) -> None:
    cells = [*cells, *(make_cell("e", method, about={"group": "extra"}) for method in ("erm", "calm"))]
    sizes = [make_cell(f"d0@train={n}", "erm", about={"group": "variant"}) for n in range(200, 210)]
    before, after = ({s.key: s for s in summaries(collect(of))} for of in (cells, [*cells, *sizes]))
    titles = [[row.title for row in of["classification/all"].rows] for of in (before, after)]
    assert titles[0] == titles[1]
    assert after["classification/all"].datasets == before["classification/all"].datasets
    assert len(after["classification/variant"].datasets) == 10
    assert {d.group for d in collect([*cells, *sizes]).of_task("classification")} == {"headline", "extra"}


@pytest.mark.parametrize(
    ("erm", "reason"),
    [((), "no ERM to compare with"), ((6, 7, 8, 9, 10), "not compared with ERM, which has none of its train seeds")],
)
def test_what_cannot_be_compared_with_erm_has_no_place_and_the_answer_says_how_to_get_one(make_cell, erm, reason):
    cells = [make_cell(f"d{i}", method) for i in range(6) for method in ("calm", "middle")]
    cells += [make_cell(f"d{i}", "erm", seeds=erm) for i in range(6) if erm]
    summary = summary_of(cells)
    assert [(row.place, row.unranked) for row in summary.rows if row.method != "erm"] == [(None, reason)] * 2
    answer = str(sentences.answer(summary))
    assert "comes first" not in answer
    if not erm:
        assert "run --method erm" in answer


def test_a_control_is_listed_without_a_rank_and_moves_no_one_elses(cells: list[Cell], make_cell) -> None:
    control = [make_cell(f"d{i}", "whole", 0.01).with_facts(control=True) for i in range(4)]
    summary, before = summary_of([*cells, *control]), summary_of(cells)
    assert row_of(summary, "WHOLE").rank is None
    assert row_of(summary, "WHOLE").remarks == ("control, not ranked",)
    assert row_of(summary, "WHOLE").estimates["delta_churn"].value < 0
    ranks = [{row.title: row.rank for row in s.rows if row.rank} for s in (before, summary)]
    assert ranks[0] == ranks[1]
    by_key = {choice["key"]: choice for choice in choices(collect([*cells, *control]))}
    for key in ("classification/headline", "d0"):
        assert [m["collapsed"] for m in by_key[key]["methods"] if m["title"] == "WHOLE"] == [], "nobody is advised it"


def test_the_first_page_says_where_another_method_comes_first(make_cell) -> None:
    def under(sampling: str, **rates: float) -> list[Cell]:
        seeds = tuple(range(1, 11))
        made = [make_cell(f"d{i}", m, rate, seeds=seeds) for i in range(6) for m, rate in {"erm": 0.3, **rates}.items()]
        return [keyed(cell, sampling=sampling) for cell in made]

    paper = under("paper", calm=0.02, wild=0.2)
    whole = collect([*paper, *under("halves", calm=0.2, wild=0.02)])
    assert list(sentences.elsewhere(summaries(whole.front)[0], whole, "runs")) == [("paper", "CALM", 3)]
    same = collect([*paper, *(keyed(cell, sampling="halves") for cell in paper)])
    assert not list(sentences.elsewhere(summaries(same.front)[0], same, "runs")), "the order is the same"


def test_a_method_is_the_same_on_all_boards_with_the_lambda_that_is_the_default_there(make_cell) -> None:
    erm, twin = make_cell("bace", "erm", 0.3), make_cell("bace", "twin", 0.1)
    cells = [
        keyed(cell, sampling=sampling, params={"lam": lam, "members": 2} if cell is twin else {})
        for sampling, lam in (("paper", 300.0), ("halves", 100.0))
        for cell in (erm, twin)
    ]
    for part in collect(cells).every:
        (summary,) = summaries(part)
        assert sorted(row.spelled for row in summary.rows) == ["erm", "twin"]
