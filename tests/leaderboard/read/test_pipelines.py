"""What a row of the board is made of follows from its key and title."""

import numpy as np
import pytest

from leaderboard.read.pipelines import Parts, parts_of, title_of

from ..conftest import keyed

JOINT = "morgan_counts.4096.2+atom_pairs.4096+rdkit_descriptors"
ALL = "Morgan counts + atom pairs + RDKit descriptors"


@pytest.mark.parametrize(
    ("title", "about", "expected"),
    [
        ("ERM", {"method": "erm"}, ("Perceptron", "Morgan bits", "none", "default")),
        ("SVM, C=10.0", {"method": "svm"}, ("SVM", "Morgan bits", "none", "C=10.0")),
        (f"SVM · {ALL} · tuned", {"method": "svm", "features": JOINT, "tune": "best"}, ("SVM", ALL, "none", "tuned")),
        (
            "Bagging K=5 · SVM, C=3.0 · MiniMol",
            {"method": "bagging", "learner": "svm:C=3.0", "features": "minimol"},
            ("SVM", "MiniMol", "Bagging K=5", "C=3.0"),
        ),
        ("GIN", {"method": "gin"}, ("GIN", "SMILES", "none", "default")),
        (
            "Twin-shared λ=100, one deployed",
            {"method": "twin_shared_one"},
            ("Perceptron", "Morgan bits", "Twin-shared λ=100, one deployed", "default"),
        ),
        ("Ours 1.0", {"method": "ours-1.0"}, ("Ours 1.0", "Morgan bits", "none", "default")),
    ],
)
def test_a_pipeline_has_a_learner_features_a_remedy_and_a_way_of_tuning(make_cell, title, about, expected) -> None:
    made = make_cell("erm", np.full((2, 4, 2), 0.5), title=title, about={"features": ("morgan:2048:2",)})
    cell = keyed(made, **about)
    assert parts_of(cell) == Parts(*expected)
    assert title_of(cell) == title


def test_earlier_results_get_the_short_names_of_features(make_cell) -> None:
    title = "SVM · morgan_counts 4096 2 + atom_pairs 4096 + rdkit_descriptors · tuned"
    made = make_cell("svm", np.full((2, 4, 2), 0.5), title=title)
    cell = keyed(made, features=JOINT, tune="best")
    assert title_of(cell) == f"SVM · {ALL} · tuned"
    assert parts_of(cell).features == ALL
