"""What is known of a table before training agrees with RDKit, scikit-learn, double loops, and the trained k-NN."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles
from rdkit.DataStructs import BulkTanimotoSimilarity, ExplicitBitVect
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from benchmark.data.checks.health import examine
from benchmark.data.checks.nearest import _closeness, first, ranked, tanimoto
from benchmark.data.checks.properties import HALVINGS, REACH, disagreement, knn_churn, properties
from benchmark.data.problem import load_problem, split_rows
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.measure.catalogue import churn
from benchmark.train.resampling import generator
from leaderboard.read import published


@pytest.mark.parametrize("name", ["b3db_measured", "ace_chembl228_ki"])
def test_a_k_nn_flips_as_often_as_the_trained_one_between_the_same_halves(name):
    """The published k-NN was trained by the runner, on features that it standardised, and predicts probabilities."""
    cells = {cell.key.kind: cell for cell in published.shipped(datasets=[name])}
    trained = cells[name, 99, "knn", "[('k', 5)]", "halves"].predictions["id"]
    assert len(trained.seeds) == 2 * HALVINGS
    known = examine(load_spec(name), 99, expectation=True).properties
    # stored predictions have six binary digits
    assert known.knn_churn * (known.sd or 1.0) == pytest.approx(churn(trained.task).mean(trained), rel=1e-3)


@pytest.mark.parametrize("regression", [False, True])
def test_a_k_nn_on_halves_is_that_of_scikit_learn(regression):
    rng = np.random.default_rng(0)
    pool, test = rng.normal(size=(121, 4)), rng.normal(size=(30, 4))
    y = pool[:, 0] + rng.normal(size=121)
    y = y if regression else (y > 0).astype(float)
    churns = []
    for j in range(1, HALVINGS + 1):
        order = generator("halving", j).permutation(121)
        make = KNeighborsRegressor if regression else KNeighborsClassifier
        a, b = (make(5).fit(pool[half], y[half]).predict(test) for half in (order[:60], order[60:120]))
        churns.append(np.abs(a - b).mean())
    assert knn_churn(ranked(test, pool, _closeness, REACH), y, regression) == pytest.approx(np.mean(churns))


def test_neighbours_are_ranked_as_rdkit_does_and_the_first_of_equals_is_first():
    smiles = ["CCO", "CCCO", "CCO", "c1ccccc1O", "CCN"]
    bits = [GetMorganGenerator(2, fpSize=2048).GetFingerprint(MolFromSmiles(s)) for s in smiles]
    for on in ([], [3], [*range(20)], [*range(1, 20)]):  # without a bit, and at the limit of near-duplicates
        bits.append(ExplicitBitVect(2048))
        bits[-1].SetBitsFromList(on)
    rows = np.array([list(b) for b in bits], dtype=np.float32)
    alike = np.array([BulkTanimotoSimilarity(b, bits) for b in bits])
    assert tanimoto(rows, rows).tolist() == alike.tolist()
    wanted = [sorted(range(9), key=lambda j: (-alike[i, j], j))[:4] for i in range(9)]
    assert ranked(rows, rows, tanimoto, 4).tolist() == wanted


@pytest.mark.parametrize("most", [1, 4, 9, 30])
def test_the_first_of_a_row_are_those_of_a_whole_sort_whatever_is_equal(most):
    similar = np.random.default_rng(2).integers(0, 5, (50, 30)) / 4
    assert first(similar, most).tolist() == np.argsort(-similar, axis=1, kind="stable")[:, :most].tolist()
    assert first(similar[:, :3], most).shape == (50, min(most, 3))


def test_disagreement_is_the_chance_that_two_neighbours_differ():
    labels = np.random.default_rng(1).integers(0, 2, (40, 5)).astype(float)
    pairs = [row[a] != row[b] for row in labels for a, b in combinations(range(5), 2)]
    assert disagreement(labels, regression=False) == pytest.approx(np.mean(pairs))


def test_the_properties_of_real_molecules_are_those_of_rdkit():
    spec = load_spec("b3db_measured")
    found, problem = examine(spec, 99, expectation=True).properties, load_problem("b3db_measured", 99)
    train, test = problem.train, problem.evals["id"]
    bits = {
        s: GetMorganGenerator(2, fpSize=2048).GetFingerprint(MolFromSmiles(s)) for s in {*train.smiles, *test.smiles}
    }
    pool = [bits[s] for s in train.smiles]
    alike = [max(BulkTanimotoSimilarity(bits[s], pool)) for s in test.smiles]
    scaffolds = {MurckoScaffoldSmiles(mol=MolFromSmiles(s), includeChirality=False) for s in train.smiles}
    assert found.rows == len(train)
    assert found.minority == pytest.approx(min(train.y.mean(), 1 - train.y.mean()))
    assert found.scaffolds == pytest.approx(len(scaffolds) / len(train))
    assert found.similarity == pytest.approx(np.mean(alike), rel=1e-6)
    assert found.sd is None


def test_no_label_of_a_test_set_is_read():
    spec = load_spec("b3db_measured")
    rows = load_rows(spec)
    split = split_rows(spec, rows, 99)
    y = np.random.default_rng(2).integers(0, 2, len(rows.used))
    other = y.copy()
    other[split.tests["id"]] ^= 1
    assert properties(spec, rows, split, y, 0) == properties(spec, rows, split, other, 0)


def test_images_and_a_handful_of_rows_have_no_properties():
    spec = load_spec("b3db_measured")
    rows = load_rows(spec)
    split, y = split_rows(spec, rows, 99), np.arange(len(rows.used)) % 2
    few = replace(split, train=split.train[:9])
    assert properties(spec, rows, few, y, 0) is None
    assert properties(spec, rows, replace(split, train=split.train[:10]), y, 0) is not None
    assert properties(spec.model_copy(update={"features": ("pixels:8",)}), rows, split, y, 0) is None
