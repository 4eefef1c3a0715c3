"""Regions where flips cluster: found by one half of the runs, shown by the other, against plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmark.types import Predictions
from leaderboard.site import regions

PHENOLS, OTHERS = ["Oc1ccccc1" + "C" * k for k in range(12)], ["C" * (k + 2) for k in range(28)]
SMILES = [*PHENOLS, *OTHERS]


def predictions(flips: np.ndarray, sampling: str = "paper", runs: int = 8, seed: int = 0) -> Predictions:
    """Runs in which each molecule is of class 1 with the probability ``flips`` (T,)."""
    one = (np.random.default_rng(seed).random((runs, len(flips))) < flips).astype(float)
    ids = np.array([f"m{i}" for i in range(len(flips))])
    values = np.stack([1 - one, one], axis=-1)
    return Predictions(tuple(range(1, runs + 1)), ids, np.zeros(len(flips)), values, "classification", sampling)


def test_a_group_whose_molecules_flip_is_found_and_measured_by_the_runs_that_took_no_part() -> None:
    p = predictions(np.array([0.5] * 12 + [0.02] * 28), runs=16)
    (first, *_) = regions.regions(p, SMILES)
    assert set(first.members) == set(range(12))
    classes = p.values.argmax(-1)[8:]
    pairs = list(combinations(range(8), 2))
    by_hand = [
        np.mean([(classes[a] != classes[b])[part].mean() for a, b in pairs]) for part in (slice(12), slice(12, 40))
    ]
    assert first.churn.value == pytest.approx(by_hand[0])
    assert first.excess.value == pytest.approx(by_hand[0] - by_hand[1])
    assert first.excess.low > 0


def test_the_two_runs_of_a_halving_stay_together() -> None:
    first, second = regions.halves(predictions(np.full(40, 0.5), "halves", runs=10))
    assert (first.seeds, second.seeds) == ((1, 2, 3, 4), (5, 6, 7, 8, 9, 10))


def test_regions_without_a_difference_are_not_shown_as_clusters_more_often_than_their_level_says() -> None:
    above = []
    for seed in range(60):
        p = predictions(np.full(40, 0.3), runs=10, seed=seed)
        above += [region.excess.low > 0 for region in regions.regions(p, SMILES)]
    assert len(above) > 60
    assert np.mean(above) < 0.06  # 2.5 % of independent ones


def test_too_few_runs_show_no_regions() -> None:
    assert regions.regions(predictions(np.full(40, 0.5), runs=3), SMILES) == []


def test_scaffolds_and_groups_are_named_and_a_text_that_is_no_molecule_has_none() -> None:
    masks = regions.masks(("Oc1ccccc1", "CCO", "", "no molecule"))
    assert masks["c1ccccc1"].tolist() == [True, False, False, False]
    assert masks["phenols"].tolist() == [True, False, False, False]
    assert not any(mask[2:].any() for mask in masks.values())
