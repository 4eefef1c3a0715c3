"""What a grid refuses before anything is trained, and the warnings about its methods."""

import re
import shlex

import numpy as np
import pytest

from benchmark.commands import train
from benchmark.data import problem
from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.learners.multi_kernel import MultiKernel
from benchmark.run import driver
from benchmark.run.driver import plan_grid, warnings
from benchmark.run.runner import run
from benchmark.store.cell import Cell, Grid
from benchmark.types import Problem
from tests.test_registry import own

DATASET = "b3db_measured"


def test_halves_take_whole_halvings():
    with pytest.raises(UserError, match=r"3, 6 without the other half; use an even count, as in --seeds 20"):
        plan_grid(Grid(["erm"], [DATASET], [99], [1, 2, 3, 6], "halves"), {})
    (cell,) = plan_grid(Grid(["erm"], [DATASET], [99], [1, 2, 5, 6], "halves"), {})
    assert cell.key.sampling == "halves"
    assert cell.command.endswith("--seeds 1,2,5,6 --sampling halves")


@pytest.mark.parametrize(("method", "sampling"), [("anchor", "nested"), ("erm_fixed:data=7", "halves")])
def test_a_method_that_needs_another_sample_is_no_entry_where_it_is_hidden(method, sampling):
    said = f"needs more of the training pool than a retraining sees under --sampling {sampling}: .* --sampling paper"
    with pytest.raises(UserError, match=said):
        plan_grid(Grid(["erm", method], [DATASET], [99], [1, 2], sampling), {})


def test_a_method_that_is_edited_while_the_data_are_read_is_not_kept_as_what_was_not_trained(write_method, monkeypatch):
    path, load = write_method("mine", own("0.25"), ""), driver.load_problem

    def edited(*given: object) -> Problem:
        path.write_text(own("0.5"))
        return load(*given)

    monkeypatch.setattr(driver, "load_problem", edited)
    with pytest.raises(UserError, match=f"mine: its files were edited while {DATASET} was read: run the command again"):
        plan_grid(Grid(["mine"], [DATASET], [99], [1, 2], "halves"), {})


def test_lambda_is_the_one_selected_under_the_sampling_and_where_none_was_a_warning_says_so():
    (halves,) = plan_grid(Grid(["twin"], [DATASET], [99], [1, 2], "halves"), {})
    assert halves.key.params["lam"] == 100
    assert halves.command.startswith("churn run --method twin --dataset")
    assert not any("λ" in line for line in warnings([halves]))
    (regression,) = plan_grid(Grid(["twin"], ["b3db_logbb"], [99], [1, 2], "halves"), {})
    (line,) = (line for line in warnings([regression]) if "λ" in line)
    assert "churn study lambda-rule --sampling halves" in line


@pytest.fixture
def quick(monkeypatch):
    """The multi-kernel SVM on fewer bits and without the descriptors, which take ten seconds."""
    monkeypatch.setattr(MultiKernel, "features", ("morgan_counts:256:2", "atom_pairs:128"))
    return "features=morgan_counts.256.2+atom_pairs.128"


def test_a_method_with_features_of_its_own_trains_on_them_and_is_compared_with_erm(quick):
    name = f"{DATASET}@train=200"
    erm, own = plan_grid(Grid(["erm", "multi_kernel"], [name], [99], [1, 2], "halves"), {})
    assert (own.key.dataset, own.key.problem) == (erm.key.dataset, erm.key.problem)
    assert own.command.endswith(f"--dataset {name} --canonical-seed 99 --seeds 1-2 --sampling halves")
    variant = load_problem(f"{name}@{quick}")
    for read, given in ((own.problem.train, variant.train), (own.problem.evals["ood"], variant.evals["ood"])):
        np.testing.assert_array_equal(read.x, given.x)
        np.testing.assert_array_equal(read.ids, given.ids)
    assert erm.problem.train.x.shape[1] == 2048
    assert own.problem.train.x.shape[1] == 384


def test_planning_computes_no_features_of_other_pipelines_than_the_datasets(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("benchmark.data.problem._with_features", refuse)
    for learner in ("svm", "random_forest"):
        grid = Grid(["bagging"], [DATASET], [99], [1, 2], "halves", learner, "atom_pairs.64+rdkit_descriptors")
        (planned,) = plan_grid(grid, {})
        assert planned.command.endswith(f"--dataset {DATASET} --canonical-seed 99 --seeds 1-2 --sampling halves")
        with pytest.raises(AssertionError):
            planned.problem  # noqa: B018


@pytest.mark.parametrize(("method", "learner"), [("svm:C=10", ""), ("erm", "svm:C=10")])
def test_a_setting_that_no_method_takes_is_refused(method, learner):
    with pytest.raises(UserError, match="--set C has no effect beside svm:C=10: leave one out"):
        plan_grid(Grid([method], [DATASET], [99], [1, 2], "halves", learner), {"C": "1"})


def test_a_setting_that_another_method_takes_stays(quick):
    first, second = plan_grid(Grid(["knn:k=3", "knn"], [DATASET], [99], [1, 2], "halves"), {"k": "7"})
    assert [cell.method.head.params["k"] for cell in (first, second)] == [3, 7]


def test_a_variant_by_features_is_what_all_methods_read(quick):
    erm, own = plan_grid(Grid(["erm", "multi_kernel"], [f"{DATASET}@features=atom_pairs.64"], [99], [1, 2]), {})
    assert erm.problem.train.x.shape[1] == own.problem.train.x.shape[1] == 64
    assert erm.key.problem == own.key.problem != load_problem(DATASET).fingerprint


def test_methods_with_features_of_their_own_are_trained_beside_others_as_alone(quick):
    both = plan_grid(Grid(["svm:C=0.7", "multi_kernel"], [f"{DATASET}@train=100"], [99], [1, 2]), {})
    cells = [outcome for _, outcome in run(both, jobs=1, fresh=True) if isinstance(outcome, Cell)]
    together = {cell.key.method: cell.predictions["id"].values for cell in cells}
    (alone,) = (outcome for _, outcome in run(both[1:], jobs=1, fresh=True) if isinstance(outcome, Cell))
    np.testing.assert_array_equal(together["multi_kernel"], alone.predictions["id"].values)
    assert not np.array_equal(together["multi_kernel"], together["svm"])


@pytest.mark.parametrize(
    ("grid", "settings", "message"),
    [
        ({"methods": ["erm", "tiwn"]}, {}, "unknown method 'tiwn': did you mean 'twin'"),
        ({"features": "atom_pair.64"}, {}, "unknown features 'atom_pair': did you mean 'atom_pairs'"),
        ({"features": "morgan:64:2"}, {}, "features 'morgan:64:2': here, dots stand for the colons: morgan.64.2"),
        ({"features": "morgan.64.2+morgan.64.2"}, {}, "features 'morgan.64.2' are named twice"),
        ({"features": "atom_pairs.64", "learner": "gin"}, {}, "gin reads smiles: leave out the features atom_pairs:64"),
        (
            {"features": "atom_pairs.64", "datasets": [DATASET, "mof_thermal"]},
            {},
            "mof_thermal: no features can be read in place of columns",
        ),
        ({"methods": ["erm", "twin"]}, {"lamda": "3"}, "unknown hyperparameter of erm, twin: 'lamda': did you mean"),
        ({"datasets": ["esol", DATASET], "methods": ["majority_vote"]}, {}, "majority_vote learns classification, not"),
    ],
)
def test_a_mistake_is_refused_before_any_dataset_is_loaded(monkeypatch, grid, settings, message):
    def load(name, canonical_seed):
        pytest.fail(f"{name} was loaded")

    monkeypatch.setattr(driver, "load_problem", load)
    monkeypatch.setattr(problem, "load_rows", load)
    given = {"methods": ["erm"], "datasets": [DATASET], "canonical_seeds": [99], "seeds": [1, 2]} | grid
    with pytest.raises(UserError, match=re.escape(message)):
        plan_grid(Grid(**given), settings)


@pytest.mark.parametrize("sampling", ["paper", "halves"])
@pytest.mark.parametrize(
    ("method", "learner", "features", "tune"),
    [
        ("twin", "gin", "", ""),
        ("twin:lam=1e-06", "mlp:lr=1.1e-05:epochs=7", "atom_pairs.64", ""),
        ("svm", "", "", "one-se"),
        ("swa:start=0.123456789", "", "", ""),
        ("bagging:k=3", "svm:C=0.5", "", ""),
        ("bagging", "label_smoothing", "", ""),
        ("erm", "mlp", "atom_pairs.64+morgan.32.1", ""),
    ],
)
def test_the_command_of_a_cell_names_the_same_cell(method, learner, features, tune, sampling):
    grid = Grid([method], [f"{DATASET}@train=100"], [99], [1, 2, 5, 6], sampling, learner, features, tune)
    (cell,) = plan_grid(grid, {})
    words = shlex.split(cell.command)[2:]
    said = dict(zip(words[::2], words[1::2], strict=True))
    options = ("method", "dataset", "canonical-seed", "sampling", "seeds", "learner", "features", "tune")
    (again,) = train._grids(*(said.get(f"--{option}", "") for option in options))
    (same,) = plan_grid(again, {})
    assert same.key == cell.key
    assert (same.command, same.title) == (cell.command, cell.title)


def test_a_learner_that_reads_molecules_is_compared_on_the_same_rows():
    (erm,) = plan_grid(Grid(["erm"], [DATASET], [99], [1, 2]), {})
    (gin,) = plan_grid(Grid(["erm"], [DATASET], [99], [1, 2], learner="gin"), {})
    assert (gin.key.dataset, gin.key.problem, gin.key.learner) == (erm.key.dataset, erm.key.problem, "")
    assert (gin.key.method, erm.key.method) == ("gin", "erm")
    for ours, theirs in ((gin.problem.train, erm.problem.train), (gin.problem.evals["id"], erm.problem.evals["id"])):
        np.testing.assert_array_equal(ours.ids, theirs.ids)
        np.testing.assert_array_equal(ours.y, theirs.y)
    with pytest.raises(UserError, match="gin reads SMILES"):
        plan_grid(Grid(["erm"], ["mof_thermal"], [99], [1, 2], learner="gin"), {})
