"""The paper's table of methods, GIN and chemprop in plain PyTorch: what the suite is timed against."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, Subset, TensorDataset

from benchmark.train import sample_for
from benchmark.types import Problem, Sampling


class Plain:
    """A plain implementation of the table: one network at a time, DataLoaders, PyTorch's default threads."""

    def __init__(self, problem: Problem):
        self.problem, self.recipe = problem, problem.recipe
        self.data = TensorDataset(torch.tensor(problem.train.x), torch.tensor(problem.train.y))
        self.test = torch.tensor(problem.evals["id"].x)

    def network(self, dropout: float = 0.0) -> nn.Sequential:
        width, hidden = self.problem.train.x.shape[1], self.recipe.hidden
        drop = [nn.Dropout(dropout)] if dropout else []
        layers = [nn.Linear(width, hidden), nn.ReLU(), *drop, nn.Linear(hidden, hidden), nn.ReLU(), *drop]
        return nn.Sequential(*layers, nn.Linear(hidden, self.problem.n_outputs))

    def optimiser(self, network: nn.Module) -> torch.optim.AdamW:
        return torch.optim.AdamW(network.parameters(), lr=self.recipe.lr, weight_decay=self.recipe.weight_decay)

    def loader(self, rows: list[int]) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(Subset(self.data, rows), batch_size=self.recipe.batch_size, shuffle=True)

    def fit(self, rows: list[int], dropout: float = 0.0, average_from: float | None = None) -> nn.Module:
        network = self.network(dropout)
        optimiser, loader, mean = self.optimiser(network), self.loader(rows), AveragedModel(network)
        for epoch in range(self.recipe.epochs):
            for x, y in loader:
                optimiser.zero_grad()
                functional.cross_entropy(network(x), y).backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
            if average_from is not None and epoch >= average_from * self.recipe.epochs:
                mean.update_parameters(network)
        return network if average_from is None else mean

    @torch.no_grad()
    def probabilities(self, networks: Sequence[nn.Module]) -> Tensor:
        return torch.stack([network(self.test).softmax(dim=1) for network in networks]).mean(dim=0)

    def twins(self, both: Sequence[list[int]], lam: float = 300.0) -> Tensor:
        """Train two networks by the paper's Algorithm 1 and return their probabilities for the ID test, (T, C)."""

        def sym_kl(a: Tensor, b: Tensor) -> Tensor:
            log_p, log_q = functional.log_softmax(a, dim=1), functional.log_softmax(b, dim=1)
            return 0.5 * ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(dim=1).mean()

        a, b = self.network(), self.network()
        optimisers, loaders = [self.optimiser(a), self.optimiser(b)], [self.loader(rows) for rows in both]
        for _ in range(self.recipe.epochs):
            for (xa, ya), (xb, yb) in zip(*loaders, strict=True):
                aa, ba, ab, bb = a(xa), b(xa), a(xb), b(xb)
                loss = functional.cross_entropy(aa, ya) + functional.cross_entropy(bb, yb)
                loss = loss + lam * 0.5 * (sym_kl(aa, ba) + sym_kl(ab, bb))
                for optimiser in optimisers:
                    optimiser.zero_grad()
                loss.backward()
                for network, optimiser in zip((a, b), optimisers, strict=True):
                    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                    optimiser.step()
        return self.probabilities([a, b])

    def table(self, sampling: Sampling, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Train every method at one train seed; return the predictions of ERM and twin for the ID test, (T, C)."""
        torch.manual_seed(seed)
        sample, places = sample_for(self.problem, sampling, seed)

        def bootstrap() -> list[int]:
            n = len(sample.bootstrap_pool)
            return places[sample.bootstrap_pool[torch.randint(n, (n,)).numpy()]].tolist()

        rows = places[sample.rows].tolist()
        erm = self.probabilities([self.fit(rows)])
        self.probabilities([self.fit(rows, average_from=0.5)])
        noisy = self.fit(rows, dropout=0.2)
        self.probabilities([noisy] * 20)
        self.probabilities([self.fit(rows) for _ in range(5)])
        for k in (2, 5):
            self.probabilities([self.fit(bootstrap()) for _ in range(k)])
        return erm.numpy(), self.twins([bootstrap(), bootstrap()]).numpy()


Train = Callable[[int], None]
"""Trains a new network for some epochs."""


def gin(smiles: np.ndarray, y: np.ndarray, problem: Problem) -> Train:
    """GIN of torch-geometric's layers, on the atoms of molecules (N,) with classes (N,)."""
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader as Loader
    from torch_geometric.nn import GINConv, global_mean_pool

    from benchmark.learners._gin import LAYERS, graph

    recipe, h = problem.recipe, problem.recipe.hidden

    class Network(nn.Module):
        def __init__(self, bits: int) -> None:
            super().__init__()

            def perceptron() -> nn.Module:
                return nn.Sequential(nn.Linear(h, h), nn.ReLU(), nn.Linear(h, h))

            self.atoms, self.head = nn.Linear(bits, h), nn.Linear(h, problem.n_outputs)
            self.layers = nn.ModuleList(GINConv(perceptron(), train_eps=True) for _ in range(LAYERS))
            self.norms = nn.ModuleList(nn.LayerNorm(h) for _ in range(LAYERS))

        def forward(self, of: Any) -> Tensor:
            rows = self.atoms(of.x)
            for layer, norm in zip(self.layers, self.norms, strict=True):
                rows = norm(rows + torch.relu(layer(rows, of.edge_index)))
            return self.head(global_mean_pool(rows, of.batch))

    def of(text: str, label: int) -> Data:
        bits, degrees, neighbours = graph(text)
        ends = np.stack([neighbours, np.repeat(np.arange(len(bits)), degrees)])
        return Data(torch.from_numpy(bits), torch.from_numpy(ends), y=torch.tensor([label]))

    molecules = [of(text, int(label)) for text, label in zip(smiles, y, strict=True)]

    def train(epochs: int) -> None:
        network = Network(molecules[0].x.shape[1])
        optimiser = torch.optim.AdamW(network.parameters(), lr=recipe.lr, weight_decay=recipe.weight_decay)
        for _ in range(epochs):
            for batch in Loader(molecules, batch_size=recipe.batch_size, shuffle=True):
                optimiser.zero_grad()
                functional.cross_entropy(network(batch), batch.y).backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()

    return train


def chemprop(smiles: np.ndarray, y: np.ndarray, problem: Problem) -> Train:
    """Chemprop's network and trainer, on molecules (N,) with classes (N,)."""
    from chemprop import data, models
    from chemprop import nn as parts
    from lightning import pytorch

    recipe = problem.recipe
    points = [data.MoleculeDatapoint.from_smi(text, np.array([label])) for text, label in zip(smiles, y, strict=True)]
    molecules = data.MoleculeDataset(points)
    molecules.cache = True

    def train(epochs: int) -> None:
        network = models.MPNN(
            parts.BondMessagePassing(d_h=recipe.hidden),
            parts.agg.AggregationRegistry["norm"](),
            parts.BinaryClassificationFFN(input_dim=recipe.hidden, hidden_dim=recipe.hidden),
        )
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        trainer = pytorch.Trainer(accelerator="cpu", max_epochs=epochs, enable_model_summary=False, **quiet)
        trainer.fit(network, data.build_dataloader(molecules, batch_size=recipe.batch_size))

    return train
