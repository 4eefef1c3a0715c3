"""Properties of all networks that read molecules as graphs, and of the methods that train them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from rdkit import Chem
from torch import Tensor, nn

from benchmark.backbones._smiles import smiles_bytes
from benchmark.data.problem import load_problem
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.train.backbone import Backbone, find
from benchmark.types import Examples, Problem, Recipe

BACKBONES = [
    pytest.param(("gin", "torch_geometric"), id="gin"),
    pytest.param(("chemprop", "chemprop"), id="chemprop", marks=pytest.mark.slow),  # takes seconds to import
]
# No stereocentres: chemprop's features include RDKit's tags for them, which depend on the order of atoms.
MOLECULES = ["C", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "FC(F)(F)c1ccncc1", "CN1CCC(CC1)c1c[nH]c2ccc(F)cc12"]


@pytest.fixture(scope="module", params=BACKBONES)
def backbone(request: pytest.FixtureRequest) -> Backbone:
    name, package = request.param
    pytest.importorskip(package)
    return find(name)


@pytest.fixture(scope="module")
def network(backbone: Backbone) -> nn.Module:
    torch.manual_seed(0)
    return backbone.module(Recipe(hidden=64), 2, 0.0).eval()


@torch.no_grad()
def outputs(network: nn.Module, molecules: Sequence[str]) -> Tensor:
    return network(torch.tensor(smiles_bytes(molecules)))


def problem_of(backbone: Backbone, dataset: str) -> Problem:
    """Return a slice of real data, to be trained in few steps."""
    problem = load_problem(f"{dataset}@backbone={backbone.name}@epochs=2@hidden=32@batch_size=16")

    def first(examples: Examples, n: int) -> Examples:
        return Examples(examples.x[:n], examples.y[:n], examples.ids[:n], examples.smiles[:n])

    return replace(problem, train=first(problem.train, 40), evals={"id": first(problem.evals["id"], 20)})


def predicted(problem: Problem, method: str, seeds: Sequence[int] = (1,)) -> np.ndarray:
    """Predictions of retrainings that are trained together."""
    return retrain(make_method(method, problem.task), problem, seeds)["id"].values


def test_outputs_do_not_depend_on_what_else_is_in_the_batch(network):
    alone = torch.cat([outputs(network, [smiles]) for smiles in MOLECULES])
    torch.testing.assert_close(outputs(network, MOLECULES), alone)
    torch.testing.assert_close(outputs(network, MOLECULES[::-1]), alone.flip(0))
    assert len({tuple(row) for row in alone.tolist()}) == len(MOLECULES)


def test_outputs_do_not_depend_on_the_order_of_atoms(network):
    Chem.rdBase.SeedRandomNumberGenerator(0)
    other = {Chem.MolToSmiles(Chem.MolFromSmiles(MOLECULES[-1]), doRandom=True) for _ in range(10)}
    assert len(other) > 5
    values = outputs(network, sorted(other))
    torch.testing.assert_close(values, outputs(network, MOLECULES[-1:]).expand_as(values))


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["b3db_measured", "b3db_logbb"])
def test_methods_train_it_and_a_seed_alone_is_the_same_to_the_bit_as_in_company(backbone, dataset):
    problem = problem_of(backbone, dataset)
    values = {}
    for method in ["erm", "swa:start=0", "bagging:k=2", "twin:lam=3", "mc_dropout:p=0.3:passes=2"]:
        values[method] = predicted(problem, method, [1, 2])
        np.testing.assert_array_equal(predicted(problem, method, [2]), values[method][1:])
        assert values[method].shape == (2, 20, problem.n_outputs)
        assert np.isfinite(values[method]).all()
        assert values[method].std(axis=1).min() > 0
    assert len({value.tobytes() for value in values.values()}) == len(values)


def test_twins_that_are_tied_agree_more_than_two_that_are_not(backbone, retrained):
    problem = problem_of(backbone, "b3db_measured")
    x = problem.evals["id"].x
    tied, untied = (retrained(problem, method, [1]).each(x)[0] for method in ("twin:lam=30", "bagging:k=2"))
    assert np.abs(tied[0] - tied[1]).mean() < 0.5 * np.abs(untied[0] - untied[1]).mean()


def test_dropout_is_on_in_passes_at_prediction(backbone):
    problem = problem_of(backbone, "b3db_measured")
    plain, two = (predicted(problem, f"mc_dropout:p=0.3:passes={n}") for n in (1, 2))
    assert np.abs(two - plain).max() > 1e-4
    np.testing.assert_allclose(predicted(problem, "mc_dropout:p=0:passes=2"), predicted(problem, "erm"), atol=1e-6)


def test_swa_of_the_last_epoch_alone_is_erm(backbone):
    problem = problem_of(backbone, "b3db_measured")
    np.testing.assert_array_equal(predicted(problem, "swa:start=0.5"), predicted(problem, "erm"))
