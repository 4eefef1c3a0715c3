r"""RCP anchor: where the earlier model is right, the targets are mixed with its predictions.

Where it is wrong, the target is the label. In a regression, the earlier model is right where its error is not above its
median error.

$$
-\sum_{c=1}^{C} \tilde y_c \log\, p_\theta(x)_c, \qquad
\tilde y_c = \begin{cases}
\alpha \, p_{\mathrm{old}}(x)_c + (1 - \alpha) \, [c = y] & \text{if the old model is right} \\
[c = y] & \text{otherwise}
\end{cases}
$$

Source: Milani Fard et al. 2016, Launch and Iterate: Reducing Prediction Churn, NeurIPS 29: the anchor of their
stabilisation operator RCP ("regress to corrected prediction").

Difference: they also damp the labels where the earlier model is wrong, which changes nothing here, as the others'
weights are all one.

Cost: trains one network beside the earlier one; a prediction uses the new one alone.
"""

import numpy as np

from benchmark.pipeline import Learner, Model, Remedy, Sample, Share, method
from benchmark.train import before_update, was_right


@method("rcp_anchor", title="RCP anchor α={alpha:g}", revision=1)
class RCPAnchor(Remedy):
    needs = ("targets",)
    samplings = ("update",)
    incumbent = "erm"

    alpha: Share = 0.5
    """Share of the earlier model's prediction where it is right."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        old, own = learner.fit(before_update(sample)).predict(sample.inputs), sample.labels
        targets = np.where(was_right(sample, old)[:, None], self.alpha * old + (1 - self.alpha) * own, own)
        return learner.fit(sample.towards(targets))
