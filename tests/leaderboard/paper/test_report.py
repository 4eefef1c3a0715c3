"""What a comparison with published numbers comes to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from leaderboard.paper.compare import Comparison
from leaderboard.paper.read import Published
from leaderboard.paper.report import markdown, page
from leaderboard.read.results import Results
from leaderboard.stats.intervals import Estimate


def compared(table: str, method: str, metric: str, ours: Estimate | None, agrees: bool | None) -> Comparison:
    row = Published(table, "bace", method, 99, metric, "pp", 1.0, np.nan, np.nan, 0.1)
    return Comparison(row, ours, agrees, why="" if ours else "not run")


def test_a_number_that_several_tables_list_counts_once_and_those_with_an_interval_are_counted():
    wide, count = Estimate(1.0, 0.5, 1.5), Estimate(360.0, 360.0, 360.0)
    found = [
        compared("main", "twin", "churn", wide, True),
        compared("seeds", "twin", "churn", wide, True),
        compared("main", "swa", "churn", wide, False),
        compared("sizes", "erm", "n_train", count, True),
        compared("main", "gone", "churn", None, None),
        compared("seeds", "gone", "churn", None, None),
    ]
    assert markdown(found).startswith(
        "2 of 3 compared values agree (67 %); 1 disagree; 1 of 4 published values were not compared. Of the compared "
        "values, 2 have an interval to be judged by and 1 must be equal. A value listed in several tables counts once: "
        "2 repetitions are not counted."
    )
    rounded = replace(found[1], agrees=False)
    assert markdown([found[0], rounded]).startswith("0 of 1 compared values agree (0 %); 1 disagree")


def test_a_note_that_starts_with_a_star_is_no_list_in_a_list(world: Results):
    text = page(world, [])
    assert "- \\* Differs from ERM" in text
    assert "- * " not in text
    assert "| **−" in text
    assert "nothing here is written by hand" not in text
