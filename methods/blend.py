r"""Blend: the mean prediction of a network, a support vector machine and a random forest on the same molecules.

The errors of different kinds of models are less alike than those of several networks. All three see ERM's training
rows.

$$
\hat p(x) = \frac{1}{3} \left[ p_\theta(x) + p_{\mathrm{svm}}(x) + p_{\mathrm{forest}}(x) \right]
$$

Source: ours; on ensembles of different models, Dietterich 2000, doi:10.1007/3-540-45014-9_1.

Cost: trains one network, one ``svm`` and one ``random_forest``; a prediction uses all three.
"""

from benchmark.learners.random_forest import RandomForest
from benchmark.learners.svm import SVM
from benchmark.pipeline import Learner, Model, PositiveInt, Remedy, Sample, method
from benchmark.train import Mean


@method("blend", title="Network, SVM and forest", revision=1)
class Blend(Remedy):
    builds_on = ("svm", "random_forest")

    trees: PositiveInt = 500
    """Number of trees of the forest, as in ``random_forest``."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return Mean([part.fit(sample) for part in (learner, SVM(), RandomForest(self.trees))])
