r"""Model soup: one network with the mean weights of k networks that start from the same initialisation.

The k networks differ in their bootstraps of the training rows and share the batch order. If targets are standardised,
this is done once, on the sample, because the networks of a soup need targets in the same unit.

$$
\min_{\theta_k} L_{S_k}(\theta_k), \qquad \bar\theta = \frac{1}{K} \sum_{k=1}^{K} \theta_k, \qquad
\hat p(x) = p_{\bar\theta}(x)
$$

Source: Wortsman et al. 2022, arXiv:2203.05482.

Difference: they average networks that were fine-tuned with different hyperparameters; here the networks are trained
from their initialisation, with the same hyperparameters, on different bootstraps.

Cost: trains k networks; a prediction uses one.
"""

from dataclasses import replace

import numpy as np

from benchmark.pipeline import Model, PositiveInt, Sample, method
from benchmark.train import NetworkLearner, NetworkRemedy, TargetScaler, bootstrap


@method("model_soup", title="Model soup K={k}", revision=1)
class ModelSoup(NetworkRemedy):
    k: PositiveInt = 5
    """Number of networks whose weights are averaged, as in ``bagging``."""

    def train(self, sample: Sample, learner: NetworkLearner) -> Model:
        import torch

        units = []
        if sample.task == "regression" and learner.settings(sample).standardise:  # in one unit, to be averaged
            units = [TargetScaler(float(sample.y.mean()), float(sample.y.std()) or 1.0)]
            recipe = sample.recipe.model_copy(update={"standardise": None})
            sample = replace(sample, y=(sample.y - units[0].mean) / units[0].deviation, recipe=recipe)
        parts = [learner.train(sample, rows[None]) for rows in bootstrap(sample, self.k)]  # all from one initialisation
        weights = zip(*(part.parts[0].state for part in parts), strict=True)
        mean = parts[0].parts[0].with_state([torch.stack(each).mean(0) for each in weights])
        return replace(parts[0], parts=[mean], units=units, rows=np.concatenate([part.rows for part in parts]))
