r"""ChemBERTa: a transformer on SMILES, pretrained on properties of 77 million molecules and fine-tuned.

The weights are those of ChemBERTa-77M-MTR. A new head with two layers reads the vector z that the transformer makes of
its first token; all weights are trained.

$$
\hat p(x) = \mathrm{softmax}\left( W_2 \tanh(W_1 z(x) + b_1) + b_2 \right)
$$

Source: Ahmad et al. 2022, arXiv:2209.01712; Prastalo and Jablonka 2026, appendix on ChemBERTa.

Difference: none from the paper. SMILES are cut off at 128 tokens.

Cost: trains one network of 3.4 million weights, in minutes for a thousand molecules on one core.
"""

from benchmark.pipeline import Recipe, learner
from benchmark.train import Module, NetworkLearner


@learner("chemberta", title="ChemBERTa-77M-MTR", revision=1)
class ChemBERTa(NetworkLearner):
    reads = "smiles"
    recipe = Recipe(lr=2e-5, batch_size=32, epochs=10)
    grid = (*({"epochs": epochs} for epochs in (1, 2, 3, 5, 7)), {})
    """Shorter trainings first; the default is the longest."""
    requires = ("transformers",)
    extra = "pretrained"

    def module(self, recipe: Recipe, n_inputs: int, n_outputs: int, dropout: float) -> Module:
        from benchmark.learners._chemberta import Network

        return Network(n_outputs, dropout)

    def weights(self) -> str:
        from benchmark.learners._chemberta import MODEL

        return MODEL.digest()
