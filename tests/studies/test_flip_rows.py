"""The study of rows that flips hang on: rows that a world hangs on are named, and counts against plain loops."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.studies import flip_rows
from benchmark.studies.label_floor import without_noise
from benchmark.types import Examples

N, H = 60, 200
SMILES = np.array(["C" * (k + 1) + "O" for k in range(N)])
TRAIN = Examples(np.zeros((N, 1)), np.arange(N) % 2, np.array([f"t{k}" for k in range(N)]), SMILES)
TEST = Examples(np.zeros((2, 1)), np.zeros(2), np.array(["m0", "m1"]), np.array(["CCN", "CCCN"]))
PROBLEM = SimpleNamespace(name="made up", n_outputs=2, train=TRAIN, evals={"id": TEST})


def test_the_row_that_a_molecule_hangs_on_is_named_and_confirmed() -> None:
    """The class of one molecule hangs on row 7 alone; the other never flips."""
    rng = np.random.default_rng(0)
    halves = np.array([rng.permutation(np.repeat([-1, 1], N // 2)) for _ in range(H)])
    chance = 0.5 + 0.3 * np.stack([halves[:, 7], -halves[:, 7]], axis=1) + 0.1 * rng.standard_normal((H, 2))
    found = flip_rows.claims(PROBLEM, halves, np.stack([np.clip(chance, 0, 1), np.full((H, 2), 0.1)], axis=-1))
    assert (found["tests"], found["flipping"]) == (2, 1)
    (molecule,) = found["molecules"]
    assert molecule["id"] == "m0"
    first = molecule["named"][0]
    assert first["row"] == "t7"
    assert first["p"] < 1e-6
    assert first["low"] < first["effect"] < first["high"]
    assert first["effect"] == pytest.approx(0.6, abs=0.05)  # 0.8 with it, 0.2 without it
    assert first["with"] > 0.9
    assert first["without"] < 0.1
    assert "t7" not in [row["row"] for row in molecule["alike"] if row]


def test_confirmed_rows_are_counted_in_pairs_of_equally_similar_ones() -> None:
    row, weak = {"p": 0.01}, {"p": 0.5}
    molecules = [
        {"named": [row, weak], "nearest": [weak, weak], "alike": [None, row]},
        {"named": [row], "nearest": [row], "alike": [weak]},
        {"named": [], "nearest": [], "alike": []},
    ]
    named, nearest, paired, others = flip_rows.comparisons({"molecules": molecules})
    assert named.tolist() == [[1, 2], [1, 1]]
    assert nearest.tolist() == [[0, 2], [1, 1]]
    assert paired.tolist() == [[0, 1], [1, 1]]
    assert others.tolist() == [[1, 1], [0, 1]]
    assert flip_rows.share(named) == pytest.approx(2 / 3)


def test_an_equally_similar_row_is_no_named_one_taken_once_and_not_farther_than_allowed() -> None:
    similarity = np.array([0.9, 0.5, 0.52, 0.1, 0.53])
    assert [rows.tolist() for rows in flip_rows.alike(similarity, np.array([0, 1, 2]))] == [[], [4], []]


@pytest.mark.parametrize(("make", "given"), [(flip_rows.name_rows, (None, 8)), (without_noise, (None, None, [1, 2]))])
def test_a_problem_of_three_classes_is_refused_before_training(make, given) -> None:
    with pytest.raises(UserError, match="d: this study needs two classes, found 3"):
        make(None, SimpleNamespace(name="d", n_outputs=3), *given)


def test_a_test_in_which_nothing_flips_names_no_rows_and_has_no_shares() -> None:
    found = flip_rows.claims(PROBLEM, np.tile([1, -1], (8, N // 2)), np.full((8, 2, 2), 0.2))
    assert (found["flipping"], found["molecules"]) == (0, [])
    for counts in flip_rows.comparisons(found):
        assert np.isnan(flip_rows._share(counts).values).all()
