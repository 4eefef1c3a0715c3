"""Modules trained by the loop equal those of plain PyTorch; backbones are discovered, and draws are reproducible."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
import torch
from torch import nn

import benchmark.backbones
import benchmark.train.backbone
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.driver import plan_grid
from benchmark.run.runner import retrain
from benchmark.store.cell import Grid
from benchmark.train import bootstrap, draw, generator
from benchmark.train.backbone import Backbone, find, names
from benchmark.train.device import CPU
from benchmark.train.modules import Draws
from benchmark.train.resampling import Stream
from benchmark.types import PAPER, Problem, Recipe, Task

TASKS: list[Task] = ["classification", "regression"]
SEEDS = [3, 1]
N = 100  # not a multiple of the batch size: the last batch is a partial one

FILE = """
from torch import nn

from benchmark.data.spec import Recipe
from benchmark.train.backbone import Backbone


class Normed(Backbone):
    reads = "numbers"
    recipe = Recipe()

    def module(self, recipe, n_outputs, dropout):
        return nn.Sequential(
            nn.Linear(32, recipe.hidden, bias=False),  # the norm cancels a bias; its gradient would be noise
            nn.BatchNorm1d(recipe.hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(recipe.hidden, n_outputs),
        )
"""


@pytest.fixture(scope="module", autouse=True)
def normed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A backbone ``normed``, a single file next to those of the suite."""
    folder = tmp_path_factory.mktemp("backbones")
    (folder / "normed.py").write_text(FILE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark.backbones, "__path__", [*benchmark.backbones.__path__, str(folder)])
        yield
    sys.modules.pop("benchmark.backbones.normed", None)
    find.cache_clear()


def problem_of(task: Task) -> Problem:
    """Return a small problem with steps so long that gradients are clipped and weight decay matters."""
    recipe = Recipe(hidden=16, batch_size=32, lr=1e-2, weight_decay=0.1, epochs=4)
    return replace(synthetic(task, n=N), recipe=recipe, backbone="normed")


def predicted(problem: Problem, method: str, seeds: Sequence[int] = SEEDS) -> np.ndarray:
    return retrain(make_method(method, problem.task), problem, seeds)["id"].values


def rows_of(problem: Problem, seed: int, members: int = 1) -> np.ndarray:
    return bootstrap(draw(problem, PAPER, seed)[0], members)


def draw_as(stream: Stream, seed: int, member: int = 0) -> None:
    torch.manual_seed(int(generator(stream, seed, member).integers(2**63)))


def drawn(problem: Problem, seed: int, members: int = 1, dropout: float = 0.0) -> list[nn.Module]:
    """Return new networks of one train seed in training mode, drawn as in the loop."""
    networks = []
    for member in range(members):
        draw_as("initialisation", seed, member)
        networks.append(find("normed").module(problem.recipe, problem.n_outputs, dropout).train())
    draw_as("dropout", seed)
    return networks


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("method", "members", "lam"), [("erm", 1, 0.0), ("twin:lam=3", 2, 3.0)])
def test_modules_predict_what_a_plain_pytorch_loop_does(plain, task, method, members, lam):
    problem = problem_of(task)
    values = predicted(problem, method)
    for i, seed in enumerate(SEEDS):
        rows = rows_of(problem, seed, members)
        *_, networks = plain.epochs(problem, seed, drawn(problem, seed, members), rows, lam)
        np.testing.assert_allclose(values[i], plain.predictions(problem, networks), atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_swa_averages_weights_and_the_statistics_of_batch_norms(plain, task):
    problem = problem_of(task)
    for seed, values in zip(SEEDS, predicted(problem, "swa:start=0.5"), strict=True):
        epochs = plain.epochs(problem, seed, drawn(problem, seed), rows_of(problem, seed))
        ends = [deepcopy(networks[0]).state_dict() for networks in epochs]
        averaged = find("normed").module(problem.recipe, problem.n_outputs, 0.0)
        late = {name: torch.stack([end[name].double() for end in ends[2:]]) for name in ends[0]}
        assert late["1.running_mean"].std(0).max() > 1e-3
        averaged.load_state_dict({name: tensors.mean(0) for name, tensors in late.items()})
        np.testing.assert_allclose(values, plain.predictions(problem, [averaged]), atol=1e-5)


@pytest.mark.parametrize("task", TASKS)
def test_mc_dropout_averages_passes_with_dropout_and_with_the_statistics_of_training(plain, task):
    problem = problem_of(task)
    networks = drawn(problem, SEEDS[0], dropout=0.5)
    *_, (network,) = plain.epochs(problem, SEEDS[0], networks, rows_of(problem, SEEDS[0]))
    network.eval()[3].train()
    draw_as("dropout at prediction", SEEDS[0])
    with torch.no_grad():
        passes = [torch.cat([network(x) for x in torch.tensor(problem.evals["id"].x).split(32)]) for _ in range(3)]
    assert not torch.allclose(passes[0], passes[1])
    outputs = torch.stack(passes)
    expected = (outputs.softmax(-1) if task == "classification" else outputs).mean(0)
    values = predicted(problem, "mc_dropout:p=0.5:passes=3")
    np.testing.assert_allclose(values[0], expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("method", ["erm", "twin:lam=3", "mc_dropout:p=0.5:passes=3", "swa"])
def test_a_seed_alone_is_the_same_to_the_bit_as_in_company_and_leaves_global_generators_as_they_were(method):
    problem = problem_of("classification")
    before = torch.get_rng_state()
    many = predicted(problem, method, [1, 2, 3])
    np.testing.assert_array_equal(predicted(problem, method, [2]), many[1:2])
    np.testing.assert_array_equal(predicted(problem, method, [3, 1]), many[[2, 0]])
    assert torch.equal(before, torch.get_rng_state())


class Noisy(Backbone):
    """A backbone whose views are features with noise."""

    reads, recipe = "numbers", Recipe()

    def module(self, recipe, n_outputs, dropout):
        return torch.nn.PReLU(init=1.0)  # an identity with a parameter

    def augmented(self, x):
        return x + torch.randn_like(x)


def test_coupled_networks_see_the_same_views_of_a_batch_and_others_their_own():
    x = torch.zeros(6, 2)
    rows = torch.tensor([[0, 1, 2], [0, 1, 2]])

    def seen(keys: list[tuple[int, int]]) -> list[torch.Tensor]:
        networks = Noisy("noisy").networks(keys, x, Recipe(), 2, 0.0, CPU)
        return list(networks.epoch([rows[: len(keys)]] * 2))

    (one, two), (first, second), (other, _) = seen([(1, 0), (1, 1)]), seen([(1, 0)]), seen([(2, 0)])
    assert torch.equal(one[0], one[1])
    assert torch.equal(two[0], two[1])
    assert not torch.equal(one, two), "each step has its own views"
    assert torch.equal(one[0], first[0])
    assert torch.equal(two[0], second[0])
    assert not torch.equal(first, other)


def test_draws_go_on_where_they_stopped_whatever_is_drawn_between():
    draw_as("dropout", 5)
    expected = torch.rand(8)
    torch.manual_seed(0)
    outside = torch.rand(4)
    torch.manual_seed(0)
    draws, other = Draws("dropout", (5, 0), CPU), Draws("dropout", (5, 1), CPU)
    inner, outer = [], []
    for _ in range(4):
        with draws:
            inner.append(torch.rand(2))
        with other:
            assert not torch.equal(torch.rand(2), inner[-1])
        outer.append(torch.rand(1))
    assert torch.equal(torch.cat(inner), expected)
    assert torch.equal(torch.cat(outer), outside)


def test_draws_give_the_global_generator_back_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), Draws("initialisation", (1, 0), CPU):
        torch.rand(3) + torch.rand(4)
    assert torch.equal(before, torch.get_rng_state())


def test_a_file_in_the_folder_is_a_backbone():
    assert "normed" in names()
    assert find("normed").name == "normed"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_thing\n", r"broken\.py: cannot be imported: ModuleNotFoundError: No module .*no_such_thing"),
        ("x = 1\n", r"broken\.py: expected one subclass of Backbone, found 0"),
    ],
)
def test_a_file_that_is_no_backbone_is_an_error_that_names_it(source, message, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(benchmark.backbones, "__path__", [*benchmark.backbones.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "benchmark.backbones.broken", raising=False)
    with pytest.raises(UserError, match=message):
        find("broken")
    sys.modules.pop("benchmark.backbones.broken", None)


def test_an_unknown_backbone_is_an_error_that_names_the_nearest():
    with pytest.raises(UserError, match="unknown backbone 'gim': did you mean 'gin'"):
        load_spec("bace@backbone=gim")


def test_a_backbone_whose_package_is_missing_is_described_and_says_what_to_install(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "chemprop"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "chemprop", None)
    backbone = find("chemprop")
    assert load_spec("bace@backbone=chemprop").recipe == backbone.recipe
    with pytest.raises(
        UserError,
        match=r"^backbone chemprop cannot import chemprop\S*: pip install -c constraints\.txt -e '\.\[chemprop\]'$",
    ):
        backbone.networks([(1, 0)], None, backbone.recipe, 2, 0.0, CPU)


def test_a_grid_on_a_backbone_whose_library_is_not_installed_is_refused_before_anything_is_trained(monkeypatch):
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(benchmark.train.backbone, "version", missing)
    message = (
        "backbone chemprop needs chemprop, which is not installed: pip install -c constraints.txt -e '.[chemprop]'"
    )
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        plan_grid(Grid(["erm"], ["b3db_measured@backbone=chemprop"], [99], [1]), {})
    assert plan_grid(Grid(["erm"], ["b3db_measured"], [99], [1]), {})
