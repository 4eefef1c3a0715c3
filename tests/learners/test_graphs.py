"""Properties of all networks that read molecules as graphs, and of the methods that train them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from rdkit import Chem
from torch import Tensor

from benchmark.data.problem import load_problem
from benchmark.learners.chemprop import Chemprop
from benchmark.learners.gin import GIN
from benchmark.train.device import CPU
from benchmark.train.ensemble import TrainedNetwork, Training
from benchmark.train.learner import NetworkLearner
from benchmark.types import Recipe
from tests.plain import predicted

LEARNERS = [GIN(), pytest.param(Chemprop(), marks=pytest.mark.slow)]  # takes seconds to import
# No stereocentres: chemprop's features include RDKit's tags for them, which depend on the order of atoms.
MOLECULES = ["C", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].[Cl-]", "FC(F)(F)c1ccncc1", "CN1CCC(CC1)c1c[nH]c2ccc(F)cc12"]


@pytest.fixture(scope="module", params=LEARNERS, ids=lambda learner: learner.name)
def learner(request: pytest.FixtureRequest) -> NetworkLearner:
    for module in request.param.requires:
        pytest.importorskip(module)
    return request.param


@pytest.fixture(scope="module")
def network(learner: NetworkLearner) -> TrainedNetwork:
    inputs = learner.prepared(np.array(MOLECULES), CPU)
    made = learner.networks([(1, 0)], inputs, Recipe(hidden=64), 2, CPU, Training())
    return made.trained(made.state)[0]


def outputs(network: TrainedNetwork, molecules: Sequence[str]) -> Tensor:
    return network.passes(np.array(molecules), 1)[0]


def test_outputs_depend_neither_on_what_else_is_in_the_batch_nor_on_the_order_of_atoms(network):
    alone = torch.cat([outputs(network, [smiles]) for smiles in MOLECULES])
    torch.testing.assert_close(outputs(network, MOLECULES), alone)
    torch.testing.assert_close(outputs(network, MOLECULES[::-1]), alone.flip(0))
    assert len({tuple(row) for row in alone.tolist()}) == len(MOLECULES)
    Chem.rdBase.SeedRandomNumberGenerator(0)
    other = {Chem.MolToSmiles(Chem.MolFromSmiles(MOLECULES[-1]), doRandom=True) for _ in range(10)}
    assert len(other) > 5
    values = outputs(network, sorted(other))
    torch.testing.assert_close(values, outputs(network, MOLECULES[-1:]).expand_as(values))


def test_remarks_of_rdkit_on_known_molecules_are_not_shown(learner, capfd):
    learner.prepared(np.array(["[2H].OC"]), CPU)
    assert capfd.readouterr().err == ""


def test_dropout_is_on_in_passes_at_prediction(learner):
    problem = load_problem(f"b3db_measured@backbone={learner.name}@epochs=2@hidden=32@batch_size=16")
    few = {"id": problem.evals["id"].take(slice(20))}
    problem = replace(problem, train=problem.train.take(slice(40)), evals=few)
    plain, two = (predicted(problem, f"mc_dropout:p=0.3:passes={n}") for n in (1, 2))
    assert np.abs(two - plain).max() > 1e-4
    np.testing.assert_allclose(predicted(problem, "mc_dropout:p=0:passes=2"), predicted(problem, "erm"), atol=1e-6)


@pytest.mark.slow
def test_what_it_learns_orders_molecules_it_has_not_seen(learner, retrained):
    problem = load_problem(f"b3db_logbb@backbone={learner.name}@epochs=10@hidden=64@batch_size=16")
    test = problem.evals["id"]
    (values,) = retrained(replace(problem, train=problem.train.take(slice(200))), "erm", [1]).predict(test.inputs)
    assert np.corrcoef(values[:, 0], test.y)[0, 1] > 0.3
