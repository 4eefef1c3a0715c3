"""The place of a new row, and its comment."""

from dataclasses import replace

from leaderboard.read.results import Results
from leaderboard.submission.place import places, to_comment


def test_the_place_counts_methods_without_marks_and_names_the_difference_to_erm(world: Results):
    dataset = world.dataset("small")
    (table,) = places(world, list(dataset.entry("CALM").cells.values()))
    assert table.title.endswith(": place 1 of 3 by matched churn")
    assert [row[0] for row in table.rows] == ["CALM", "ERM"]
    assert table.rows[0][table.header.index("Δ matched churn (pp)")].number < 0
    (marked,) = places(world, list(dataset.entry("WRONG").cells.values()))
    assert marked.title.endswith("no place, because of its marks")


def test_a_comment_takes_no_markup_from_a_submission(world: Results):
    (table,) = places(world, list(world.dataset("small").entry("CALM").cells.values()))
    hostile = "@all [x](https://e.vil) <img src=x> | `a`\n# b"
    comment = to_comment(replace(table, rows=((hostile, *table.rows[0][1:]),)))
    for text in ("@all", "](", "<img", "`", "https:", "\n#"):
        assert text not in comment
