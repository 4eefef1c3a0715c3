"""Variants of datasets, such as ``bace@train=200``, and folds of a training pool."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tomli_w
from rdkit.Chem import MolFromSmiles
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmark.data.features import featurise
from benchmark.data.problem import fold, load_problem, read_with
from benchmark.data.rows import load_rows
from benchmark.data.spec import Settings, dataset_names, expand, fields_of, load_spec, with_features
from benchmark.errors import UserError
from benchmark.learners import find
from benchmark.pipeline import Reading
from benchmark.registry import make_method
from benchmark.run.runner import plan
from benchmark.types import Problem, Recipe

from .conftest import described


@pytest.fixture(scope="module")
def base() -> Problem:
    return load_problem("b3db_measured")


ROWS = ("y", "ids", "smiles")


def same(one: Problem, other: Problem, fields: tuple[str, ...] = ("x", *ROWS)) -> bool:
    """Return whether two problems hold the same examples."""
    parts = [(one.train, other.train), *((one.evals[name], other.evals[name]) for name in one.evals)]
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for a, b in parts for name in fields)


# Names


def test_a_variant_is_a_dataset_of_its_own_in_the_family_of_the_first():
    spec, bace = load_spec("bace@train=200@weight_decay=0.1"), load_spec("bace")
    assert spec.name == spec.spelled == "bace@train=200@weight_decay=0.1"
    assert spec.title == "BACE, train=200, weight_decay=0.1"
    assert (spec.family, spec.group, spec.train) == ("bace", "variant", 200)
    assert spec.recipe.model_dump() == bace.recipe.model_dump() | {"weight_decay": 0.1}
    changed = ("name", "title", "group", "train", "recipe")
    assert spec.model_copy(update={name: getattr(bace, name) for name in changed}) == bace


@pytest.mark.parametrize(
    "name", ["bace@weight_decay=0.1@epochs=10", "bace@epochs=010@weight_decay=1e-1", "bace@epochs=10@weight_decay=.10"]
)
def test_settings_have_one_order_and_one_spelling(name):
    assert load_spec(name) == load_spec("bace@epochs=10@weight_decay=0.1")


def test_a_variant_of_a_group_is_one_of_each_of_its_datasets():
    headline = [name for name in dataset_names() if load_spec(name).group == "headline"]
    assert len(headline) > 5
    assert expand("headline@epochs=5") == [f"{name}@epochs=5" for name in headline]
    three = ["bace", "bace@train=200", "bace@lr=0.01@train=9"]
    assert expand("bace,bace@train=0200,bace@train=200,bace@lr=1e-2@train=9") == three


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bace@trian=200", "unknown setting of bace: 'trian': did you mean 'train'?"),
        ("bace@loss=hinge", "unknown setting of bace: 'loss': known: " + ", ".join(Settings.model_fields)),
        ("bace@split=time", "bace@split=time: the dataset has no dates: name their column in 'dated', in its TOML"),
        ("bacee@train=200", "unknown dataset 'bacee': did you mean 'bace'?"),
        ("mine.toml@train=200", f"{Path('mine.toml').resolve()}: no such file"),
        ("bace@train=many", "bace@train=many: Input should be a valid integer"),
        ("bace@train=3@train=4", "bace@train=3@train=4: train is given twice"),
        ("bace@train", "bace@train: expected NAME=VALUE, found 'train'"),
        ("bace@features=morgan:64:2", "bace@features=morgan:64:2: expected names of features as in morgan_counts"),
        ("bace@features=columns", "bace: columns cannot replace its features: name features that are computed from"),
        ("bace@backbone=gin@features=morgan.64.2", "bace@backbone=gin@features=morgan.64.2: backbone gin reads SMILES"),
        ("mof_thermal@features=morgan.64.2", "mof_thermal: its features, columns, are not computed from molecules"),
    ],
)
def test_a_mistake_in_a_setting_is_answered_with_what_is_expected(name, message):
    with pytest.raises(UserError) as caught:
        load_spec(name)
    assert str(caught.value).startswith(message)


# Fewer rows to train on


@pytest.mark.parametrize("seed", [99, 7])
def test_the_pool_is_the_first_rows_of_one_shuffle_and_the_test_sets_stay(seed):
    whole, part = (load_problem(f"b3db_measured{settings}", seed) for settings in ("", "@train=200"))
    order = np.random.default_rng(seed).permutation(len(whole.train))
    assert same(part, replace(whole, train=whole.train.take(np.sort(order[:200]))))


def test_what_a_setting_changes_changes_the_fingerprint(base):
    names = ["@train=200", "@train=201", "@weight_decay=0.1", "@epochs=10", "@epochs=10@train=200"]
    problems = [base, *(load_problem(f"b3db_measured{name}") for name in names), load_problem("b3db_measured", 7)]
    assert len({problem.fingerprint for problem in problems}) == len(problems)
    load_rows.cache_clear()
    assert load_problem("b3db_measured").fingerprint == base.fingerprint
    fewer = problems[1].fingerprints
    assert {part for part in fewer if fewer[part] != base.fingerprints[part]} == {"split"}


@pytest.mark.parametrize("name", ["train=677", "weight_decay=0.0001", "batch_size=64@train=677"])
def test_a_setting_that_changes_nothing_gives_the_same_problem_under_its_own_name(base, name):
    problem = load_problem(f"b3db_measured@{name}")
    assert problem.name == f"b3db_measured@{name}"
    assert problem.fingerprint == base.fingerprint
    assert same(problem, base)
    one, other = (plan(p, make_method("erm", "classification"), [1]).key for p in (problem, base))
    assert one.digest != other.digest
    assert replace(one, dataset=other.dataset) == other


def test_variants_share_the_rows_in_the_cache(monkeypatch):
    load_problem("b3db_measured")
    monkeypatch.setattr("benchmark.data.rows.Chem.MolFromSmiles", lambda *_: pytest.fail("made again"))
    load_rows.cache_clear()
    assert len(load_problem("b3db_measured@train=20").train) == 20


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("b3db_measured@train=678", r"b3db_measured@train=678: the training pool of canonical seed 99 has 677 rows"),
        ("b3db_measured@train=2", "b3db_measured@train=2: all 2 rows of the training pool .* have the same class"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        load_problem(name, canonical_seed=99)


def written(folder: Path, numbers: np.ndarray) -> str:
    """Return the path of a dataset of 80 rows of numbers, split into 60 and 20."""
    table = pd.DataFrame(numbers, columns=["a", "b", "c"])
    table = table.assign(name=[f"r{i}" for i in range(80)], part=["train"] * 60 + ["test"] * 20, y=[0, 1] * 40)
    return described(folder, table, smiles="", id="name", features=["columns"], split="given:part")


@pytest.fixture
def numbers() -> np.ndarray:
    return np.random.default_rng(0).normal(3, [1, 5, 0.1], (80, 3))


def test_numbers_are_standardised_on_the_smaller_pool_alone(tmp_path, numbers):
    problem = load_problem(written(tmp_path / "a", numbers) + "@train=20")
    chosen = [int(i[1:]) for i in problem.train.ids]
    assert len(chosen) == 20
    scaler = StandardScaler().fit(numbers[chosen])
    np.testing.assert_allclose(problem.train.x, scaler.transform(numbers[chosen]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(problem.evals["id"].x, scaler.transform(numbers[60:]), rtol=1e-5, atol=1e-6)
    numbers[sorted(set(range(60)) - set(chosen))] *= 1000  # unused rows of the pool
    assert same(load_problem(written(tmp_path / "b", numbers) + "@train=20"), problem)


# Folds


def test_the_folds_of_a_classification_are_those_of_scikit_learn(base):
    reference = StratifiedKFold(3, shuffle=True, random_state=99).split(base.train.x, base.train.y)
    for i, (train, held_out) in enumerate(reference):
        problem = fold(base, i, 3)
        assert list(problem.evals) == ["id"]
        assert same(problem, replace(base, train=base.train.take(train), evals={"id": base.train.take(held_out)}))
        assert problem.evals["id"].y.mean() == pytest.approx(base.train.y.mean(), abs=0.01)
        assert (problem.task, problem.n_outputs, problem.recipe) == (base.task, base.n_outputs, base.recipe)


def test_a_fold_has_its_own_name_and_fingerprint_and_cannot_be_loaded(base):
    folds = [*(fold(base, i, 3) for i in range(3)), *(fold(base, i, 2) for i in range(2))]
    assert folds[0].name == "b3db_measured@fold=1of3"
    assert folds[0].fingerprints["fold"].startswith("1of3-")
    assert len({problem.fingerprint for problem in [base, *folds]}) == 6
    with pytest.raises(UserError, match="unknown setting of b3db_measured: 'fold'"):
        load_problem(folds[0].name)
    smaller = fold(load_problem("b3db_measured@train=200"), 0, 3)
    assert smaller.name == "b3db_measured@train=200@fold=1of3"
    assert len(smaller.train) + len(smaller.evals["id"]) == 200


def test_nothing_of_the_test_sets_is_in_a_fold(base):
    poison = {
        name: replace(test, x=test.x + 1e9, y=1 - test.y, smiles=test.smiles + "!") for name, test in base.evals.items()
    }
    for other in (replace(base, evals=poison), base.without_tests()):
        one, clean = fold(other, 1, 3), fold(base, 1, 3)
        assert same(one, clean)
        assert one.fingerprint == clean.fingerprint
    tests = {i for test in base.evals.values() for i in test.ids}
    assert not tests & {*clean.train.ids, *clean.evals["id"].ids}


def test_a_fold_standardises_numbers_on_the_rows_it_trains_on(tmp_path, numbers):
    numbers[:60, 2] = 7.0  # constant except in one row: dropped if that is held out
    numbers[5, 2] = 8.0
    base = load_problem(written(tmp_path / "a", numbers))
    assert base.train.x.shape == (60, 3)
    for i in range(3):
        problem = fold(base, i, 3)
        train, held_out = ([int(name[1:]) for name in part.ids] for part in (problem.train, problem.evals["id"]))
        kept = [0, 1, 2] if 5 in train else [0, 1]
        scaler = StandardScaler().fit(numbers[train][:, kept])
        for part, rows in ((problem.train, train), (problem.evals["id"], held_out)):
            np.testing.assert_allclose(part.x, scaler.transform(numbers[rows][:, kept]), rtol=1e-4, atol=1e-5)


def test_folds_that_cannot_be_are_refused(base):
    for i, k in ((3, 3), (-1, 3), (0, 1)):
        with pytest.raises(ValueError, match=f"fold {i} of {k}"):
            fold(base, i, k)
    tiny = load_problem("b3db_measured@train=12")
    rarer = int(np.bincount(tiny.train.y).min())
    with pytest.raises(UserError, match=f"12 folds need 12 rows of the rarer class .* found {rarer}"):
        fold(tiny, 0, 12)


# Other features


COUNTED = "morgan_counts.256.2+atom_pairs.128"


@pytest.mark.parametrize("settings", ["", "@train=200"])
def test_a_variant_by_features_has_the_rows_labels_and_split_of_its_dataset(settings):
    plain, other = load_problem(f"b3db_measured{settings}"), load_problem(f"b3db_measured@features={COUNTED}{settings}")
    assert same(plain, other, ROWS)
    changed = {name for name in plain.fingerprints if plain.fingerprints[name] != other.fingerprints[name]}
    assert changed == {"features"}
    spec = load_spec(f"b3db_measured@features={COUNTED}")
    molecules = [MolFromSmiles(text) for text in other.evals["id"].smiles]
    bits, _ = featurise(molecules, None, spec)
    np.testing.assert_array_equal(other.evals["id"].x, bits)


def test_a_variant_by_features_keeps_the_columns_beside_those_of_molecules(tmp_path, base):
    table = pd.DataFrame({"smiles": base.train.smiles[:60], "mass": range(60), "y": [0, 1] * 30})
    weighed = described(tmp_path, table, features=["morgan:64:2", "columns"])
    spec = load_spec(f"{weighed}@features=atom_pairs.32")
    assert spec.features == ("atom_pairs:32", "columns")
    plain, other = load_problem(weighed), load_problem(spec.spelled)
    assert (plain.train.x.shape[1], other.train.x.shape[1]) == (65, 33)
    np.testing.assert_array_equal(other.train.x[:, -1], plain.train.x[:, -1])
    assert same(read_with(reading(["atom_pairs:32"]), plain, weighed), other)
    with pytest.raises(UserError, match="unknown features 'morgn': did you mean 'morgan'"):
        read_with(reading(["morgn:64:2"]), plain, weighed)


# Features and learners of a method's own


def reading(features, learner="mlp"):
    """Return how a pipeline with these features, or this learner, reads a dataset."""
    cls = find(learner)
    return Reading(tuple(features), cls.reads, learner, getattr(cls, "recipe", None))


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("bace", f"bace@features={COUNTED}"),
        ("bace@train=200", f"bace@train=200@features={COUNTED}"),
        *((name, name) for name in ("bace@features=morgan.64.2", "bace@features=morgan.64.2@train=200")),  # the user's
        ("bace@backbone=gin", "bace@backbone=gin"),  # its networks read SMILES
        ("mof_thermal", "mof_thermal"),  # its rows are no molecules
        ("glass", "glass"),  # formulas
        ("waterbirds", "waterbirds"),  # images
    ],
)
def test_the_features_of_a_method_name_a_variant_of_its_dataset_where_they_can_be_and_no_others_are_asked_for(
    dataset, name
):
    assert with_features(dataset, ("morgan_counts:256:2", "atom_pairs:128")) == name


# Backbones


def test_a_backbone_that_reads_smiles_is_given_their_bytes_and_has_its_own_recipe(base):
    other = load_problem("b3db_measured@epochs=2@backbone=gin")
    assert other.name == "b3db_measured@backbone=gin@epochs=2"
    assert (other.about.features, other.train.x.dtype) == (("smiles",), np.uint8)
    assert other.recipe.model_dump() == find("gin").recipe.model_dump() | {"epochs": 2}
    assert same(other, base, ROWS)


def test_a_toml_may_name_its_backbone_and_what_differs_from_its_recipe(tmp_path):
    text = tomli_w.dumps(fields_of("b3db_measured")[1])
    (tmp_path / "graphs.toml").write_text(f'backbone = "gin"\n{text}\n[recipe]\nepochs = 3\n')
    spec = load_spec(str(tmp_path / "graphs.toml"))
    assert (spec.backbone, spec.features, spec.recipe.epochs) == ("gin", ("smiles",), 3)
    assert spec.recipe.hidden == find("gin").recipe.hidden
    (tmp_path / "graphs.toml").write_text(f'backbone = "gin"\n{text}\n[recipe]\nlr = 0.5\n')
    back = load_spec(f"{tmp_path / 'graphs.toml'}@backbone=mlp")
    assert (back.features, back.recipe) == (load_spec("b3db_measured").features, Recipe())
    (tmp_path / "bytes.toml").write_text(text.replace('"morgan:2048:2"', '"smiles"'))
    with pytest.raises(UserError, match="backbone mlp reads numbers: choose features other than 'smiles'"):
        load_spec(str(tmp_path / "bytes.toml"))
    assert load_spec(f"{tmp_path / 'bytes.toml'}@backbone=gin").features == ("smiles",)


def test_a_problem_that_is_read_with_other_features_keeps_its_name_and_fingerprint(base):
    read = read_with(reading(("morgan_counts:256:2",)), base, "b3db_measured")
    assert (read.name, read.fingerprint, read.about) == (base.name, base.fingerprint, base.about)
    assert read.digest != base.digest  # so that nothing trained on one is taken for the other
    assert same(read, load_problem("b3db_measured@features=morgan_counts.256.2"))
    assert read.recipe == base.recipe


@pytest.mark.parametrize(("name", "standardise"), [("ace_chembl1871_ki", True), ("freesolv", None)])
def test_every_learner_standardises_the_target_as_the_recipe_of_its_dataset_says(name, standardise):
    read = read_with(make_method("gin", "regression").reading, load_problem(name), name)
    for recipe in (read.recipe, load_spec(f"{name}@backbone=gin").recipe):
        assert recipe == find("gin").recipe.model_copy(update={"standardise": standardise})
