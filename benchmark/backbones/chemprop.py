"""Chemprop's directed message passing network on bonds (Heid et al. 2024, doi:10.1021/acs.jcim.3c01250)."""

from functools import lru_cache
from typing import Any

from rdkit import Chem
from torch import Tensor, nn

from benchmark.backbones._smiles import smiles_of
from benchmark.train.backbone import Backbone
from benchmark.types import Recipe


class Chemprop(Backbone):
    """Chemprop with its command-line defaults, except for widths of 304 (a multiple of 16) instead of 300.

    Like all backbones, it is trained by AdamW at a constant learning rate; chemprop uses Adam with warm-up and decay.
    """

    reads = "smiles"
    recipe = Recipe(hidden=304, epochs=50)
    extra = "chemprop"
    library = "chemprop"

    def module(self, recipe: Recipe, n_outputs: int, dropout: float) -> nn.Module:
        return Network(recipe.hidden, n_outputs, dropout)


@lru_cache(maxsize=100_000)
def graph(smiles: str) -> Any:
    """Return chemprop's ``MolGraph`` of a molecule."""
    from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer

    return SimpleMoleculeMolGraphFeaturizer()(Chem.MolFromSmiles(smiles))


class Network(nn.Module):
    """From bytes of SMILES (B, D) to outputs (B, C): messages, a scaled sum over atoms, a perceptron."""

    def __init__(self, hidden: int, n_outputs: int, dropout: float) -> None:
        from chemprop.nn import BondMessagePassing, NormAggregation
        from chemprop.nn.ffn import MLP

        super().__init__()
        self.messages = BondMessagePassing(d_h=hidden, dropout=dropout)
        self.aggregation = NormAggregation()
        self.head = MLP.build(hidden, n_outputs, hidden, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        from chemprop.data import BatchMolGraph

        graphs = BatchMolGraph([graph(smiles) for smiles in smiles_of(x.cpu().numpy())])
        graphs.to(x.device)
        return self.head(self.aggregation(self.messages(graphs), graphs.batch))
