r"""Distilled SVM: one network that learns the predictions of a support vector machine on the same molecules.

The support vector machine's prediction is q; in a regression, squared differences take the place of both terms.

$$
(1 - w) \, \ell(\theta; x, y) - w \sum_{c=1}^{C} q(x)_c \log\, p_\theta(x)_c
$$

Source: Hinton et al. 2015, arXiv:1503.02531.

Difference: the source distils a larger network; here the teacher is ``svm``, and the temperature is 1.

Cost: trains one ``svm`` and one network; a prediction uses the network.
"""

from benchmark.learners.svm import SVM
from benchmark.pipeline import Learner, Model, Remedy, Sample, Share, method


@method("distilled_svm", title="Distilled SVM", revision=1)
class DistilledSVM(Remedy):
    needs = ("targets",)
    builds_on = ("svm",)

    weight: Share = 1.0
    """Share of the loss on the machine's predictions, w in the formula; the rest is on labels."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return learner.fit(sample.towards(SVM().fit(sample).predict(sample.inputs), self.weight))
