r"""Label smoothing by neighbours: a share of each label is replaced by the mean label of the most similar molecules.

The neighbours of a training molecule are those of k-NN among the other training molecules, NN in the formula.

$$
-\sum_{c=1}^{C} \tilde y_c \log\, p_\theta(x)_c, \qquad
\tilde y_c = (1 - \alpha) \, [c = y] + \frac{\alpha}{k} \sum_{j \in \mathrm{NN}_k(x)} [c = y_j]
$$

Source: Bahri and Jiang 2021, arXiv:2102.05140, who propose it against churn.

Difference: they look for neighbours among the activations of a network that was trained first, and also spread a part
over all classes; here neighbours are those of k-NN on the features, other than the molecule itself, and nothing is
spread. In a regression, labels are averaged in the same way.
"""

from benchmark.learners.knn import of_neighbours
from benchmark.pipeline import Learner, Model, PositiveInt, Remedy, Sample, Share, method


@method("knn_label_smoothing", title="k-NN label smoothing α={alpha:g}", revision=1)
class KNNLabelSmoothing(Remedy):
    needs = ("targets",)

    alpha: Share = 0.5
    """Share of each label that is replaced."""
    k: PositiveInt = 10
    """Number of neighbours."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        return learner.fit(sample.towards(of_neighbours(sample, sample.x, self.k, others=True), self.alpha))
