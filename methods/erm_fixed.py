r"""ERM, partly fixed: some of its three sources of randomness are the same in all retrainings, to find out which of
them flips predictions.

This is the instrument of the study ``decomposition``, not a method to be ranked. The trained network is a function A of
the train seeds of its rows, its initial weights and its batches. Each is the train seed s of the retraining unless it
is fixed.

$$
\theta = A(s_{\mathrm{data}}, s_{\mathrm{initialisation}}, s_{\mathrm{batches}})
$$

Source: ours.
"""

from dataclasses import replace

from benchmark.pipeline import Learner, Model, NonNegativeInt, Remedy, Sample, method
from benchmark.train import at_seed


@method("erm_fixed", title="ERM, some randomness fixed", revision=1)
class ERMFixed(Remedy):
    needs = ("networks",)
    samplings = ("paper",)

    data: NonNegativeInt | None = None
    """Train seed whose bootstrap all retrainings share; by default each draws its own."""
    initialisation: NonNegativeInt | None = None
    """Train seed whose initial weights all retrainings share; by default each draws its own."""
    batches: NonNegativeInt | None = None
    """Train seed whose order of batches all retrainings share; by default each draws its own."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        rows = (sample if self.data is None else at_seed(sample, self.data)).rows
        seed = sample.seed if self.initialisation is None else self.initialisation
        batches = sample.seed if self.batches is None else self.batches
        return learner.fit(replace(sample, rows=rows, seed=seed, batches=batches))
