"""Invalid objects cannot be constructed."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.settings import parse_seeds
from benchmark.store.cell import Cell, CellKey, Facts
from benchmark.types import Examples, Predictions

IDS = np.array(["one", "two", "three"])
RIGHT = Predictions((4, 9), IDS, np.array([0, 1, 1]), np.full((2, 3, 2), 0.5), "classification")
NUMBERS = Predictions((4, 9), IDS, np.array([0.1, 0.2, 0.3]), np.full((2, 3, 1), -7.5), "regression")
KEY = CellKey("bace", "twin", {"lam": 3.0, "members": 2}, 99, (1, 2), "problem", "code")
OTHER = CellKey("b3db", "erm", {"lam": 4.0, "members": 2}, 7, (1, 2, 3), "other", "other", sampling="nested")
ROWS = Examples(np.zeros((3, 4), dtype=np.float32), np.zeros(3), IDS, IDS)


def changed(predictions: Predictions, where: tuple[int, ...], value: float | list[float]) -> np.ndarray:
    values = predictions.values.copy()
    values[where] = value
    return values


NOT_FINITE = "1 of {} predictions are not finite; the first is {} for train seed 9, example two"


@pytest.mark.parametrize(
    ("right", "values", "message"),
    [
        *(
            (RIGHT, np.full(shape, 0.5), rf"must have shape .*\(2, 3, classes\), got {re.escape(str(shape))}")
            for shape in [(3, 3, 2), (2, 3), (2, 3, 1)]
        ),
        (NUMBERS, np.full((2, 3, 2), 0.5), r"must have shape .*\(2, 3, 1\), got \(2, 3, 2\)"),
        (RIGHT, changed(RIGHT, (1, 1, 0), np.nan), NOT_FINITE.format(12, "nan")),
        (NUMBERS, changed(NUMBERS, (1, 1, 0), np.inf), NOT_FINITE.format(6, "inf")),
        *((RIGHT, RIGHT.values.astype(k), "predictions must be real numbers, got ") for k in (complex, object, str)),
        *(
            (RIGHT, changed(RIGHT, (1, 2), wrong), rf"train seed 9, example three they are \[{wrong[0]}")
            for wrong in ([0.5, 0.6], [0.0, 0.0], [1.2, -0.2])
        ),
    ],
)
def test_predictions_that_cannot_be_are_refused_with_both_shapes_or_the_seed_and_example(right, values, message):
    with pytest.raises(ValueError, match=message):
        replace(right, values=values)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"y": np.zeros(2)}, "one row per molecule"),
        ({"ids": np.array(["one", "two", "two"])}, "unique"),
        ({"x": np.full((3, 4), np.nan)}, "finite"),
    ],
)
def test_examples_need_one_finite_row_for_each_unique_id(part, message):
    assert len(ROWS) == 3
    with pytest.raises(ValueError, match=message):
        replace(ROWS, **part)


@pytest.mark.parametrize(
    "part", ["dataset", "method", "params", "canonical_seed", "seeds", "problem", "code", "sampling"]
)
def test_a_cells_name_changes_with_every_part_of_its_key(part):
    assert replace(KEY, **{part: getattr(OTHER, part)}).digest != KEY.digest
    assert replace(KEY, params={"members": 2, "lam": 3.0}).digest == KEY.digest


def test_a_cell_with_fewer_seeds_has_their_predictions_and_is_named_after_them():
    values = np.random.default_rng(0).random((3, 5, 1))
    p = Predictions((1, 4, 9), np.arange(5).astype(str), np.zeros(5), values, "regression")
    cell = Cell(replace(KEY, seeds=(1, 4, 9)), "ERM", {"id": p}, 1.0, Facts(command="run"))
    subset = cell.only([9, 1])
    assert subset.key.seeds == subset.predictions["id"].seeds == (1, 9)
    assert (subset.predictions["id"].values == values[[0, 2]]).all()
    assert subset.key.digest == replace(KEY, seeds=(1, 9)).digest
    assert cell.only((4, 9, 1)) is cell


@pytest.mark.parametrize(
    ("seeds", "spelled"), [((1, 2, 3), "1-3"), ((7,), "7,"), ((1, 3, 9), "1,3,9"), ((0, 1), "0-1")]
)
def test_train_seeds_are_spelled_so_that_the_command_line_reads_them_back(seeds: tuple[int, ...], spelled: str) -> None:
    assert replace(KEY, seeds=seeds).spelled_seeds == spelled
    assert tuple(parse_seeds(spelled)) == tuple(parse_seeds(f" {spelled}\n")) == seeds


@pytest.mark.parametrize("text", ["+3", "1_0", "1-3,9-7", "0", "1-3-5", "3;4", "-1"])
def test_seeds_that_are_no_count_range_or_list_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"expected a count as in 10, a range as in 1-10, or a list"):
        parse_seeds(text)


def test_a_selection_has_the_values_selected_and_computes_anew():
    whole = replace(RIGHT)
    whole.computed["churn"] = np.zeros(1)
    part = whole.only([1]).on(np.array([True, False, True]))
    assert (part.seeds, part.ids.tolist(), part.y.tolist()) == ((9,), ["one", "three"], [0, 1])
    assert part.values.shape == (1, 2, 2)
    assert part.computed == {}
    with pytest.raises(ValueError, match="at least one seed and one example, got 0 and 3"):
        whole.only([])


def test_predictions_travel_to_another_process_without_what_was_computed_of_them():
    p = replace(RIGHT)
    p.computed["churn"] = np.zeros(2)
    back = pickle.loads(pickle.dumps(p))
    assert (back.computed, back.ids.tolist(), [*p.computed]) == ({}, IDS.tolist(), ["churn"])


def test_rounding_does_not_make_probabilities_wrong():
    rounded = np.array([0.33333, 0.33333, 0.33333], dtype=np.float32)
    assert replace(RIGHT, values=np.tile(rounded, (2, 3, 1))).values.shape == (2, 3, 3)
