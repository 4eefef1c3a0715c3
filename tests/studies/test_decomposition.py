"""Where churn comes from: what is trained, and which cells end in which row."""

import numpy as np

from benchmark.studies.decomposition import Decomposition

FLIPS = {
    ("initialisation", "batches"): 8,
    ("data", "batches"): 4,
    ("data", "initialisation"): 2,
    ("data",): 5,
    ("initialisation",): 9,
    ("batches",): 9,
}
"""Half of the examples, of 100, on which two retrainings differ, by what is held fixed."""


def said(dataset: str, method: str) -> tuple[int, int]:
    """20 examples that are wrong, and how many of them moved: one more at level 1002 than at 1001."""
    held = tuple(part.partition("=")[0] for part in method.split(":")[1:])
    return 20, FLIPS[held] + ("1002" in method) if held else 10


def test_each_source_is_shown_alone_and_left_out_as_shares_of_all_three(told) -> None:
    report = Decomposition(seeds="2", levels=2).report(told(said))
    *rows, (_, _, every, *others) = report.sheets[0].rows
    assert [row[1] for row in report.sheets[0].rows] == ["data", "initialisation", "batch order", "all three"]
    expected = [
        [[0.16, 0.18], [0.8, 0.9], [0.1, 0.12], [0.5, 0.6]],
        [[0.08, 0.1], [0.4, 0.5], [0.18, 0.2], [0.9, 1.0]],
        [[0.04, 0.06], [0.2, 0.3], [0.18, 0.2], [0.9, 1.0]],
    ]
    np.testing.assert_allclose([[number.values for number in row[2:]] for row in rows], expected)
    assert (every.values.tolist(), others) == ([0.2], ["–"] * 3)
    assert report.answer == [
        "BACE: retrainings that differ in data alone flip 17.0 % of the predictions; retrainings on the same data, "
        "which differ in initialisation and batch order, flip 11.0 %; retrainings that differ in all three flip 20.0 %."
    ]


def test_each_dataset_has_a_chart_of_its_own(told) -> None:
    report = Decomposition(dataset="bace,dili", seeds="2", levels=2).report(told(said))
    assert [chart.key for chart in report.charts] == ["sources", "sources-2"]
    assert [chart.caption.partition(".")[0] for chart in report.charts] == ["BACE", "DILI"]


def test_no_flips_at_all_have_no_shares(told) -> None:
    report = Decomposition(seeds="2", levels=2).report(told(lambda dataset, method: (20, 0)))
    assert np.isnan(report.sheets[0].rows[0][3].values).all()


def test_what_is_held_fixed_is_drawn_by_no_train_seed(told) -> None:
    context = told(said)
    Decomposition(seeds="2", levels=2).report(context)
    assert len(context.asked) == len(set(context.asked)) == 1 + 6 * 2
    assert {word.partition("=")[2] for text in context.asked for word in text.split(":")[1:]} == {"1001", "1002"}
