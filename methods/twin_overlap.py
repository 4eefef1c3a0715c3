r"""Twin-overlap: twin-bootstrap with an adjustable overlap of the two networks' training data, from none to all.

At share 0 the networks have no molecule in common, as in codistillation (but with N draws each, from half of the pool);
at share 1 they are twin-shared. At 0.5 they share 39 % of the pool, about as much as twin-bootstrap's bootstraps. The
loss is that of ``twin``. The formula says how draw i of the two networks is made, where u is drawn uniformly from [0,
1], s is a draw from ERM's rows, and a and b are draws from two random halves of the molecules.

$$
(S_{1,i}, S_{2,i}) = \begin{cases}
(s_i, s_i) & \text{if } u_i < \mathrm{share} \\
(a_i, b_i) & \text{otherwise}
\end{cases}
$$

Source: ours, to see what lies between the three points of the paper's appendix on the overlap spectrum.
"""

import numpy as np

from benchmark.pipeline import Model, Sample, Share, Weight, method
from benchmark.train import LAMBDAS, NetworkLearner, NetworkRemedy, generator, twins


@method("twin_overlap", title="Twin-overlap {share:g} λ={lam:g}", regression={"lam": 3.0}, revision=1)
class TwinOverlap(NetworkRemedy):
    grid, regression_grid = LAMBDAS
    lam: Weight = 300.0
    """Weight of the consistency loss, as in ``twin``."""
    share: Share = 0.5
    """Probability that both networks share a draw of training data. The default gives about the overlap of ``twin``."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        return learner.train(sample, overlapping(sample, self.share), loss=twins(sample, self.lam))


def overlapping(sample: Sample, share: float) -> np.ndarray:
    """Draw rows (2, N) int64 for two networks that have an expected ``share`` in [0, 1] of their draws in common.

    With probability ``share``, both networks take a draw from ``sample.rows``. Otherwise each draws from its own half
    of the sample's molecules, which are split at random. At 0 the two share no molecule, at 1 all of them; draws in
    common at one share remain in common at a larger one.
    """
    n = len(sample.rows)
    draws = generator("overlap", sample.seed, sample.member)
    halves = np.split(draws.permutation(len(sample)), [len(sample) // 2])
    together = draws.random(n) < share
    separate = [half[draws.integers(0, len(half), size=n)] for half in halves]
    return np.where(together, sample.rows, separate)
