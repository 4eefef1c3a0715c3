r"""MC dropout: one network with dropout that stays on at prediction, averaged over many passes.

Each of the T passes sets every hidden unit to zero with probability ``p``; the mask m says which.

$$
\hat p(x) = \frac{1}{T} \sum_{t=1}^{T} p_{\theta, m_t}(x)
$$

Source: Gal and Ghahramani 2016, arXiv:1506.02142; Prastalo and Jablonka 2026, section Methods.

Difference: as in the paper, except that training uses AdamW, as with all networks here.
"""

from dataclasses import replace

from benchmark.pipeline import Model, PositiveInt, Sample, ShareBelowOne, method
from benchmark.train import NetworkLearner, NetworkRemedy


@method("mc_dropout", title="MC dropout", revision=1)
class MCDropout(NetworkRemedy):
    p: ShareBelowOne = 0.2
    """Dropout rate after each hidden layer; the default is the paper's."""
    passes: PositiveInt = 20
    """Forward passes with dropout that are averaged at prediction; the default is the paper's T."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return replace(replace(learner, dropout=self.p).fit(sample), passes=self.passes)
