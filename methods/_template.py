r"""TITLE: one sentence on what it does.

Two or three sentences on the idea, in plain English, with the meaning of the symbols in the formula.

$$
\hat p(x) = \frac{1}{K} \sum_{k=1}^{K} p_{\theta_k}(x)
$$

Source: authors and year, with the DOI or arXiv number.

Difference: what differs from the source.
"""

from benchmark.pipeline import Learner, Model, Remedy, Sample, method
from benchmark.train import Mean, bootstrap


@method("NAME", title="TITLE k={k}")
class Template(Remedy):
    """Fields are hyperparameters: set them with ``--method NAME:k=3``."""

    k: int = 2
    """What it is, and where its default comes from."""

    def fit(self, sample: Sample, learner: Learner) -> Model:
        """Return an object whose ``predict(inputs)`` gives probabilities (rows, classes) or targets (rows, 1).

        ``sample`` is all that a retraining may see: molecules ``x``, ``y`` and ``smiles``, and the rows of them that a
        single model trains on. ``bootstrap`` resamples it; take all other randomness from
        ``benchmark.train.generator("other", sample.seed, sample.member)``. ``learner.fit`` trains one model, whatever
        the learner is: ``sample.of(rows, k)`` is the sample of the k-th of several, and ``sample.towards(targets)`` one
        with soft labels. A learner that trains networks also has ``train``, with a loss or a step of your own; say what
        you need of a learner in ``needs``. For a new learner, derive from ``Learner``, ``Estimators`` (an estimator
        with scikit-learn's interface, as in benchmark/learners/linear.py) or ``NetworkLearner`` (a PyTorch
        module). ``sample.task`` says whether ``y`` holds classes or numbers.
        """
        return Mean([learner.fit(sample.of(rows, k)) for k, rows in enumerate(bootstrap(sample, self.k))])
