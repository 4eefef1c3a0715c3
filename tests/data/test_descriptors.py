"""RDKit's descriptors, computed in another way."""

import numpy as np
import pytest
from rdkit.Chem import Descriptors, MolFromSmiles

from benchmark.data.descriptors import descriptors

MOLECULES = (
    *("C", "CC", "[Na+].[Cl-]", "[H][H]", "C1CC1", "C1CCC1", "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"),
    *("C[C@H](N)C(=O)O", "C/C=C/C#N", "O=[N+]([O-])c1ccc(I)cc1"),
    *("[2H]OC", "C[Si](C)(C)C", "O.O.O", "c1ccc2cc3ccccc3cc2c1"),
    "CC(C)(C)c1ccc(cc1)C(O)CCCN1CCC(CC1)C(O)(c1ccccc1)c1ccccc1",
)


@pytest.mark.parametrize("smiles", MOLECULES)
def test_each_descriptor_is_rdkits_to_the_bit(smiles):
    expected = Descriptors.CalcMolDescriptors(MolFromSmiles(smiles), missingVal=np.nan)
    found = dict(zip(expected, descriptors(MolFromSmiles(smiles)), strict=True))
    np.testing.assert_equal(found, expected)
