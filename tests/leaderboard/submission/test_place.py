"""The place of a new row, and its comment."""

from __future__ import annotations

from leaderboard.read.results import Results
from leaderboard.submission.place import places, to_comment


def test_the_place_counts_methods_without_marks_and_names_the_difference_to_erm(world: Results):
    dataset = world.dataset("small")
    (table,) = places(world, list(dataset.entry("CALM").cells.values()))
    assert table.title.endswith(": place 1 of 3 by churn")
    assert [row[0] for row in table.rows] == ["CALM", "ERM"]
    assert table.rows[0][-1] == "–"
    assert table.rows[1][-1].number < 0
    (marked,) = places(world, list(dataset.entry("WRONG").cells.values()))
    assert "no place, because of its marks" in marked.title


def test_a_comment_takes_no_markup_from_a_submission(world: Results):
    dataset = world.dataset("small")
    (table,) = places(world, list(dataset.entry("CALM").cells.values()))
    hostile = "@all [x](https://e.vil) <img src=x> | `a`\n# b"
    rows = ((hostile, *table.rows[0][1:]),)
    comment = to_comment(type(table)(**{**table.__dict__, "rows": rows}))
    for text in ("@all", "](", "<img", "`", "https:", "\n#"):
        assert text not in comment
