"""Features by name."""

import numpy as np
import pandas as pd
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetAtomPairGenerator, GetMorganGenerator

from benchmark.data import features
from benchmark.data.features import Parsed, featurise, standardise
from benchmark.data.spec import DatasetSpec, load_spec
from benchmark.errors import UserError

MOLECULES = [MolFromSmiles(text) for text in ("CCO", "c1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "[Na+].[Cl-]")]
TABLE = pd.DataFrame({"name": list("abcd"), "y": list("0101"), "mass": ["1", "2.5", "", "4"], "(line)": [2, 3, 4, 5]})
BACE = load_spec("bace")


def spec(*features: str, **fields: object) -> DatasetSpec:
    return BACE.model_copy(update={"features": features, **fields})


def of_columns(**fields: object) -> DatasetSpec:
    return spec("columns", **{"smiles": "", "id": "name", "target": "y", **fields})


@pytest.mark.parametrize(("n_bits", "radius"), [(2048, 2), (64, 1)])
def test_morgan_bits_are_the_unfolded_environments_modulo_the_length(n_bits, radius):
    bits, scaled = featurise(MOLECULES, TABLE, spec(f"morgan:{n_bits}:{radius}"))
    unfolded = GetMorganGenerator(radius=radius)
    expected = np.zeros((len(MOLECULES), n_bits))
    for row, molecule in enumerate(MOLECULES):
        for environment in unfolded.GetSparseCountFingerprint(molecule).GetNonzeroElements():
            expected[row, environment % n_bits] = 1
    assert bits.dtype == np.uint8
    assert not scaled.any()
    np.testing.assert_array_equal(bits, expected)


CHAINS = [*MOLECULES, *map(MolFromSmiles, ("CCCCCCCC", "c1ccccc1", "FC(F)(F)C(F)(F)C(F)(F)C(F)(F)F"))]


@pytest.mark.parametrize(
    ("name", "counter"),
    [
        ("morgan_counts:4096:2", GetMorganGenerator(radius=2, fpSize=1024)),
        ("morgan_counts:64:1", GetMorganGenerator(radius=1, fpSize=16)),
        ("atom_pairs:4096", GetAtomPairGenerator(fpSize=1024, countSimulation=False)),
        ("atom_pairs:64", GetAtomPairGenerator(fpSize=16, countSimulation=False)),
    ],
)
def test_counted_bits_say_whether_a_count_is_at_least_1_2_4_and_8(name, counter):
    bits, scaled = featurise(CHAINS, TABLE, spec(name))
    counts = np.array([counter.GetCountFingerprintAsNumPy(molecule) for molecule in CHAINS])
    expected = (counts[:, :, None] >= [1, 2, 4, 8]).reshape(len(CHAINS), -1)
    assert bits.dtype == np.uint8
    assert not scaled.any()
    assert expected.reshape(len(CHAINS), -1, 4).any(axis=(0, 1)).all()
    np.testing.assert_array_equal(bits, expected)


def test_blocks_stand_side_by_side_in_the_order_named_and_only_numbers_are_to_be_standardised():
    both, scaled = featurise(MOLECULES, TABLE, spec("rdkit_descriptors", "morgan:32:0"))
    parts = [featurise(MOLECULES, TABLE, spec(name))[0] for name in ("rdkit_descriptors", "morgan:32:0")]
    np.testing.assert_array_equal(both, np.hstack(parts))
    assert scaled.tolist() == [True] * 217 + [False] * 32


def test_descriptors_of_a_molecule_are_computed_once_for_all_datasets(tmp_path, monkeypatch):
    computed: list[str] = []

    def count(molecules: features.Parsed) -> np.ndarray:
        computed.extend(molecules.smiles)
        return features.rdkit_descriptors(molecules)

    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(features.FEATURES, "rdkit_descriptors", count)
    both = spec("rdkit_descriptors", "morgan:32:0")
    first, _ = featurise(Parsed(["CCO", "CCN", "CCO"]), TABLE, spec("rdkit_descriptors"))
    assert sorted(computed) == ["CCN", "CCO"]
    second, _ = featurise(Parsed(["CCN", "OCC", "CCO"]), TABLE, both)
    assert sorted(computed) == ["CCN", "CCO", "OCC"]  # another spelling may give other last digits
    np.testing.assert_array_equal(first[[1, 0]], second[[0, 2], :217])
    for damaged in (tmp_path / "made").iterdir():
        damaged.write_bytes(damaged.read_bytes()[:-1])
    again, _ = featurise(Parsed(["CCN", "OCC", "CCO"]), TABLE, both)
    assert len(computed) == 6
    np.testing.assert_array_equal(again, second)


@pytest.mark.slow
def test_several_processes_compute_the_same_descriptors(tmp_path, monkeypatch):
    smiles = ["C" * n + "O" for n in range(1, 40)]
    alone = features.rdkit_descriptors(Parsed(smiles))
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(features, "PARALLEL", len(smiles))
    np.testing.assert_array_equal(featurise(Parsed(smiles), TABLE, spec("rdkit_descriptors"))[0], alone)


def test_columns_are_all_numbers_of_the_table_but_target_and_id_and_an_empty_one_is_missing():
    x, scaled = featurise([], TABLE, of_columns())
    np.testing.assert_array_equal(x, [[1], [2.5], [np.nan], [4]])
    assert scaled.tolist() == [True]


def test_a_column_of_text_is_named_with_its_line_unless_it_is_to_be_ignored():
    table = TABLE.assign(colour=["7", "red", "8", "9"])
    with pytest.raises(UserError, match=r"line 3, column 'colour': expected a number, found 'red'"):
        featurise([], table, of_columns())
    assert featurise([], table, of_columns(ignore=("colour",)))[0].shape == (4, 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        *(([name], ": expected mor.*:BITS:RADIUS$") for name in ("morgan_counts:2048", "morgan:64:-1", "morgan:8:0x2")),
        *(([name], ": expected atom_pairs:BITS$") for name in ("atom_pairs:x", "atom_pairs:0", "atom_pairs")),
        (["rdkit_descriptors:7"], ": expected rdkit_descriptors$"),
        (["morgan:64:2"] * 2, " are named twice"),
        *(
            ([name], ": 4 rows would have 900000000 bits each")
            for name in ("morgan_counts:900000000:2", "atom_pairs:900000000")
        ),
    ],
)
def test_features_that_cannot_be_are_answered_with_what_is_expected(names, message):
    with pytest.raises(UserError, match=f"features '{names[0]}'{message}"):
        featurise(MOLECULES, TABLE, spec(*names))


def test_standardising_is_fitted_on_the_training_pool_alone():
    rng = np.random.default_rng(0)
    x = rng.normal(5, 3, (50, 4))
    x[:, 2] = rng.integers(0, 2, 50)
    train = np.arange(30)
    scaled = np.array([True, True, False, True])
    got = standardise(x, scaled, train)
    expected = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
    expected[:, 2] = x[:, 2]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    moved = x.copy()
    moved[30:] *= 100  # test rows have no influence on the others
    np.testing.assert_array_equal(standardise(moved, scaled, train)[:30], got[:30])


def test_what_is_constant_on_the_pool_is_dropped_and_what_is_missing_becomes_its_mean():
    x = np.array([[1.0, 7, np.nan, 3], [1.0, 8, np.nan, np.nan], [2.0, np.nan, 5, 5]])
    got = standardise(x, np.full(4, True), np.array([0, 1]))
    np.testing.assert_allclose(got, [[-1], [1], [0]])  # 0.1 and 3 are constant, 2 is absent on the pool
