"""The learner equals chemprop's own network and learns."""

from typing import Any

import pytest
import torch

from benchmark.learners.chemprop import Chemprop
from benchmark.train.adamw import optimiser
from benchmark.types import Recipe

MOLECULES = ["C", "CC(=O)Oc1ccccc1C(=O)O", "C[C@H](N)C(=O)O", "[Na+].[Cl-]", "FC(F)(F)c1ccncc1", "C/C=C/Br"]

pytestmark = pytest.mark.slow  # importing chemprop takes seconds


@pytest.fixture(scope="module", autouse=True)
def chemprop() -> Any:
    return pytest.importorskip("chemprop")


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_outputs_are_those_of_chemprops_own_model_with_the_same_weights(chemprop, n_outputs):
    recipe = Chemprop.recipe
    network, width = Chemprop().module(recipe, 0, n_outputs, 0.0), recipe.hidden
    model = chemprop.models.MPNN(
        chemprop.nn.BondMessagePassing(d_h=width),
        chemprop.nn.agg.AggregationRegistry["norm"](),
        chemprop.nn.RegressionFFN(n_tasks=n_outputs, input_dim=width, hidden_dim=width),
    )
    model.message_passing.load_state_dict(network.messages.state_dict())
    model.predictor.ffn.load_state_dict(network.head.state_dict())
    data = chemprop.data.MoleculeDataset([chemprop.data.MoleculeDatapoint.from_smi(smiles) for smiles in MOLECULES])
    expected = model.eval()(chemprop.data.collate_batch([data[i] for i in range(len(data))]).bmg)
    outputs = network.eval()(MOLECULES)
    assert outputs.shape == (len(MOLECULES), n_outputs)
    torch.testing.assert_close(outputs, expected)
    outputs.square().sum().backward()
    expected.square().sum().backward()
    theirs = [*model.message_passing.parameters(), *model.predictor.parameters()]
    for parameter, reference in zip(network.parameters(), theirs, strict=True):
        torch.testing.assert_close(parameter.grad, reference.grad)


def test_molecules_without_bonds_are_a_batch():
    network = Chemprop().module(Recipe(hidden=16), 0, 2, 0.0)
    alone, among = (network(of) for of in (["C", "[Na+].[Cl-]"], ["CCO", "C", "[Na+].[Cl-]"]))
    torch.testing.assert_close(alone, among[1:])
    alone.sum().backward()


def test_copies_of_a_molecule_are_one_without_dropout_and_have_dropout_of_their_own():
    network = Chemprop().module(Recipe(hidden=16), 0, 2, 0.5)
    copies = ["CCO", "CCO"]
    first, second = network.train()(copies)
    assert not torch.equal(first, second)
    first, second = network.eval()(copies)
    assert torch.equal(first, second)


@pytest.mark.parametrize("epochs", [3, 50])
def test_the_learning_rate_is_that_of_chemprops_trainer_at_each_step(epochs):
    from chemprop.schedulers import build_NoamLike_LRSched

    steps, recipe = 7, Chemprop.recipe
    theirs = optimiser([torch.nn.Parameter(torch.zeros(1))], recipe.model_copy(update={"lr": 1e-4}))
    scheduler = build_NoamLike_LRSched(theirs, 2 * steps, (epochs - 2) * steps, 1e-4, 1e-3, 1e-4)
    for step in range(epochs * steps):
        ours = recipe.lr * Chemprop().schedule(step / steps, epochs)
        assert ours == pytest.approx(theirs.param_groups[0]["lr"])
        theirs.step()
        scheduler.step()
