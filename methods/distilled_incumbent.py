r"""Distilled incumbent: a network that learns the labels and the predictions of the earlier model.

The loss is a weighted sum of the loss on labels and of the cross-entropy with the earlier model's probabilities; in a
regression, both are squared differences.

$$
(1 - w) \, \ell(\theta; x, y) - w \sum_{c=1}^{C} p_{\mathrm{old}}(x)_c \log\, p_\theta(x)_c
$$

Source: Jiang et al. 2022, Churn Reduction via Distillation, arXiv:2106.02654.

Difference: they select the weight on validation data; here it is a hyperparameter.

Cost: trains one network beside the earlier one; a prediction uses the new one alone.
"""

from benchmark.pipeline import Learner, Model, Remedy, Sample, Share, method
from benchmark.train import before_update


@method("distilled_incumbent", title="Distilled incumbent, weight {weight:g}", revision=1)
class DistilledIncumbent(Remedy):
    needs = ("targets",)
    samplings = ("update",)
    incumbent = "erm"

    weight: Share = 0.5
    """Share of the loss on the earlier model's predictions, w in the formula; the rest is on labels."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        earlier = learner.fit(before_update(sample))
        return learner.fit(sample.towards(earlier.predict(sample.inputs), self.weight))
