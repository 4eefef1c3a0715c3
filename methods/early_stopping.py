r"""Early stopping: the weights of the epoch with the smallest loss on molecules of the sample that are held out.

The molecules are divided at random, with all repeats of one together; the network is trained on the larger part R and
keeps the weights θ with the index e of the epoch whose loss on the other part V is smallest. Training ends when the
loss has not fallen for ``patience`` epochs.

$$
\hat p(x) = p_{\theta_{e^*}}(x), \qquad e^* = \mathrm{argmin}_e \, L_V(\theta_e), \qquad V \cup R = S
$$

Source: Prechelt 1998, doi:10.1007/3-540-49430-8_3.

Difference: the loss on the held-out molecules is the log loss or the squared error; nothing is trained again on all
rows.

Cost: trains one network, on fewer rows and for no more epochs than ERM, and predicts the held-out molecules after each.
"""

from typing import Annotated

import numpy as np

from benchmark.pipeline import Field, Model, PositiveInt, Sample, method
from benchmark.train import Ensemble, Epoch, LearnedFrom, NetworkLearner, NetworkRemedy, generator


@method("early_stopping", title="Early stopping", revision=1)
class EarlyStopping(NetworkRemedy):
    share: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Share of the molecules that are held out."""
    patience: PositiveInt = 5
    """Epochs without a smaller loss after which training ends."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        molecules = np.unique(sample.rows)
        order = generator("other", sample.seed, sample.member).permutation(molecules)
        out = np.isin(sample.rows, order[: max(1, round(self.share * len(order)))])
        inputs, labels = sample.inputs[sample.rows[out]], sample.labels[sample.rows[out]]
        losses: list[float] = []
        best: list[Ensemble] = []

        def watch(epoch: Epoch) -> bool:
            ensemble = epoch.ensemble()
            predicted = ensemble.predict(inputs).astype(np.float64)
            if sample.task == "classification":
                losses.append(-float((labels * np.log(predicted.clip(min=1e-12))).sum(axis=1).mean()))
            else:
                losses.append(float(np.square(predicted - labels).mean()))
            first = min(range(len(losses)), key=losses.__getitem__)
            best[:] = [ensemble] if first == epoch.number else best
            return epoch.number - first >= self.patience

        learner.train(sample, sample.rows[~out][None], each_epoch=watch)
        return LearnedFrom(best[0], sample.rows)
