"""What a comparison with published numbers comes to."""

import re
from dataclasses import replace

import numpy as np

from benchmark.files import CHECKOUT
from benchmark.measure.intervals import Estimate
from leaderboard.paper.compare import Comparison, Verdict
from leaderboard.paper.read import Published
from leaderboard.paper.reasons import REASONS, UNEXPLAINED
from leaderboard.paper.report import markdown, page
from leaderboard.read.results import Results


def compared(
    table: str, method: str, metric: str, ours: Estimate | None, verdict: Verdict, wider: Verdict = "not compared"
) -> Comparison:
    row = Published(table, "bace", method, 99, metric, "pp", 1.0, np.nan, np.nan, 0.1)
    return Comparison(row, ours, verdict, wider, "" if ours else "not run")


def test_a_number_that_several_tables_list_counts_once_and_those_with_an_interval_are_counted():
    wide, count = Estimate(1.0, 0.5, 1.5), Estimate(360.0, 360.0, 360.0)
    found = [
        compared("main", "twin", "churn", wide, "agrees"),
        compared("seeds", "twin", "churn", wide, "agrees"),
        compared("main", "swa", "churn", wide, "disagrees"),
        compared("main", "bagging", "churn", wide, "cannot tell"),
        compared("sizes", "erm", "n_train", count, "agrees"),
        compared("main", "gone", "churn", None, "not compared"),
        compared("seeds", "gone", "churn", None, "not compared"),
    ]
    first = markdown(found).splitlines()[0]
    assert first.startswith("2 of 3 decided values agree (67 %); 1 disagree. For 1 more, our interval is too wide")
    assert re.findall(r"\d+", first)[4:] == ["1", "1", "5", "2", "1", "2"], "of 5, 2 have an interval; 2 repetitions"
    rounded = replace(found[1], verdict="disagrees")
    assert markdown([found[0], rounded]).startswith("0 of 1 decided values agree (0 %); 1 disagree")
    assert "| main  | churn (pp)   |      1 |         1 |           1 |            1 |" in markdown(found)


def test_every_disagreement_has_a_reason_or_is_called_unexplained():
    wide = Estimate(1.0, 0.5, 1.5)
    found = [
        compared("bo_topk", "erm", "top10_jaccard", wide, "disagrees"),
        compared("bo_loop_regression", "erm", "final_best", wide, "disagrees"),
        compared("main", "swa", "churn", wide, "disagrees", "agrees"),
        compared("seeds", "swa", "churn", wide, "disagrees", "agrees"),
        compared("main", "erm", "churn", wide, "disagrees", "disagrees"),
        *(compared("main", f"method {i}", "churn", wide, "agrees") for i in range(6)),
    ]
    report = markdown(found)
    rows = [line for line in report.splitlines() if line.startswith("|") and "| bace" in line]
    given = [line.split("|")[-2].strip() for line in rows]
    assert given == ["ties", "start", "unexplained", "unexplained", "unexplained"]
    for name in ("ties (1): ", "start (1): "):
        assert f"- {name}" in report
    (unexplained,) = re.findall(r"^- unexplained .*", report, re.M)
    assert re.findall(r"\d+", unexplained) == ["3", "2", "20", "10", "1"]


def test_each_reason_explains_a_disagreement_of_the_results_of_0_1_0():
    text = (CHECKOUT / "RESULTS.md").read_text(encoding="utf-8")
    named = re.findall(r"^- (\w+) \(\d+\): ", text, re.M)
    assert [name for name in named if name != UNEXPLAINED] == [of.name for of in REASONS]
    assert all(of.text in text for of in REASONS)


def test_a_note_that_starts_with_a_star_is_no_list_in_a_list(world: Results):
    text = page(world, [])
    assert "- \\* Differs from ERM" in text
    assert "- * " not in text
    assert "| **−" in text
