"""Features by name."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from benchmark.data.features import featurise
from benchmark.errors import UserError

MOLECULES = [MolFromSmiles(text) for text in ("CCO", "c1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "[Na+].[Cl-]")]


@pytest.mark.parametrize(("n_bits", "radius"), [(2048, 2), (64, 1)])
def test_morgan_bits_are_the_unfolded_environments_modulo_the_length(n_bits, radius):
    bits = featurise(MOLECULES, [f"morgan:{n_bits}:{radius}"])
    unfolded = GetMorganGenerator(radius=radius)
    expected = np.zeros((len(MOLECULES), n_bits), dtype=np.float32)
    for row, molecule in enumerate(MOLECULES):
        for environment in unfolded.GetSparseCountFingerprint(molecule).GetNonzeroElements():
            expected[row, environment % n_bits] = 1
    assert bits.dtype == np.float32
    np.testing.assert_array_equal(bits, expected)


def test_blocks_stand_side_by_side_in_the_order_named():
    both = featurise(MOLECULES, ["morgan:64:2", "morgan:32:0"])
    parts = [featurise(MOLECULES, [name]) for name in ("morgan:64:2", "morgan:32:0")]
    np.testing.assert_array_equal(both, np.hstack(parts))


@pytest.mark.parametrize("name", ["morgn:2048:2", "morgan:2048", "morgan:2048:two"])
def test_features_that_cannot_be_made_are_an_error_of_the_user(name):
    with pytest.raises(UserError, match="morgan"):
        featurise(MOLECULES, [name])
