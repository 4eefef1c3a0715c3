r"""Label smoothing: a share of each label is spread evenly over the classes.

The network learns that no label is certain, so its probabilities stay away from 0 and 1.

$$
-\sum_{c=1}^{C} \tilde y_c \log\, p_\theta(x)_c, \qquad
\tilde y_c = (1 - \alpha) \, [c = y] + \frac{\alpha}{C}
$$

Source: Szegedy et al. 2016, arXiv:1512.00567.

Difference: a regression has no classes, so the same share of each label is replaced by the mean label. This is not in
the source.
"""

import numpy as np

from benchmark.pipeline import Learner, Model, Remedy, Sample, Share, method


@method("label_smoothing", title="Label smoothing α={alpha:g}", revision=1)
class LabelSmoothing(Remedy):
    needs = ("targets",)

    alpha: Share = 0.1
    """Share of each label that is spread."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        known = sample.labels
        even = known[sample.rows].mean() if sample.task == "regression" else 1 / sample.n_outputs
        return learner.fit(sample.towards(np.full_like(known, even), self.alpha))
