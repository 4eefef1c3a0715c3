"""Accuracy and churn by group."""

import numpy as np
import pytest

from leaderboard.read.results import collect, with_groups
from leaderboard.tables.groups import by_group
from leaderboard.tables.table import Value

from ..conftest import sure

CSV = "id,group\n" + "".join(f'm{i:04d},"label {i % 2}, place {i // 2 % 2}"\n' for i in range(8))


def numbers(row: tuple[str | Value, ...]) -> list[float]:
    return [value.number for value in row if isinstance(value, Value)]


def test_columns_are_each_group_and_the_worst_of_each_retraining(make_cell):
    classes = np.array([[0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 0, 0, 1, 1], [0, 1, 1, 1, 0, 1, 1, 0]])
    results = with_groups(collect([make_cell("erm", sure(classes))]), {"made_up": CSV, "of nobody": ""})
    table = by_group(results.datasets[0])
    groups = ("label 0, place 0", "label 0, place 1", "label 1, place 0", "label 1, place 1", "worst")
    assert table.header == ("Method", *groups, *groups)
    assert table.over == (("", 1), ("Accuracy", 5), ("Churn (%)", 5))
    # examples 0 4 | 2 6 | 1 5 | 3 7; retrainings right: 1 1 1 | 1 ½ 0 | 1 0 1 | 1 1 ½; the least: 1 0 0
    accuracy = [1, 1.5 / 3, 2 / 3, 2.5 / 3, 1 / 3]
    # pairs 1-2, 1-3, 2-3: 0 0 0 | ½ 1 ½ | 1 0 1 | 0 ½ ½; the most: 1 1 1
    churn = [0, 200 / 3, 200 / 3, 100 / 3, 100]
    assert numbers(table.rows[0]) == pytest.approx(accuracy + churn)


def test_a_regression_shows_errors_and_the_largest_is_the_worst(make_cell):
    values = np.array([[0.0] * 8, [1.0] * 8])[..., None]
    y = np.array([0, 1] * 4, dtype=np.float32) * 3
    results = with_groups(collect([make_cell("erm", values, y=y)]), {"made_up": CSV})
    (row,) = by_group(results.datasets[0]).rows
    assert numbers(row) == pytest.approx([0.5, 0.5, 2.5, 2.5, 2.5, 1, 1, 1, 1, 1])
