"""Rules that choose a method by the kind of data, each from the families that it is not tested on."""

import numpy as np
import pytest

from leaderboard.tables.builders.advice import FIRST, HINDSIGHT, NEAREST, SIMILAR, choices

FAMILIES = 20
ROWS = np.linspace(1, 2, FAMILIES)


def two_kinds() -> np.ndarray:
    """Churn (F, 2): the first method is the better one on small families, the second on large ones, by more."""
    small = np.arange(FAMILIES) < FAMILIES / 2
    return np.column_stack([np.where(small, 0.1, 0.3), np.where(small, 0.2, 0.1)])


def test_a_property_that_decides_is_worth_choosing_by():
    values = two_kinds()
    chosen = choices(values, np.zeros_like(values), {"rows": ROWS}, "classification")
    assert set(chosen[FIRST]) == {1}
    assert list(chosen["rows"]) == [0] * 10 + [1] * 10
    assert list(chosen[SIMILAR][:6]) == [0] * 6
    assert list(chosen[HINDSIGHT]) == list(chosen["rows"])


@pytest.mark.parametrize("families", [NEAREST, FAMILIES])
def test_no_rule_sees_the_family_it_is_tested_on(families):
    rng = np.random.default_rng(1)
    values, properties = rng.random((families, 5)), {"rows": ROWS[:families], "similarity": rng.random(families)}
    before = choices(values, np.zeros_like(values), properties, "classification")
    for family in range(families):
        changed = values.copy()
        changed[family] = rng.random(5)
        after = choices(changed, np.zeros_like(values), properties, "classification")
        assert all(after[rule][family] == chosen[family] for rule, chosen in before.items() if rule != HINDSIGHT)


def test_the_most_similar_families_are_those_with_the_nearest_values():
    values = np.random.default_rng(2).random((FAMILIES, 4))
    chosen = choices(values, np.zeros_like(values), {"rows": ROWS}, "classification")[SIMILAR]
    first = values[1 : NEAREST + 1].mean(axis=0).argmin()
    assert chosen[0] == first


@pytest.mark.parametrize(("task", "lost"), [("classification", -0.05), ("regression", 0.05)])
def test_a_method_that_loses_accuracy_is_never_chosen(task, lost):
    values = two_kinds()
    changes = np.column_stack([np.zeros(FAMILIES), np.full(FAMILIES, lost)])
    for rule, chosen in choices(values, changes, {"rows": ROWS}, task).items():
        assert not chosen.any(), rule


def test_where_no_other_family_is_alike_all_others_count():
    conflicts = np.array([1.0] + [0.0] * (FAMILIES - 1))
    values = two_kinds()
    chosen = choices(values, np.zeros_like(values), {"rows in conflict": conflicts}, "classification")
    assert chosen["rows in conflict"][0] == chosen[FIRST][0]
