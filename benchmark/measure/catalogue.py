"""The catalogue of measures, with one entry for each number reported about predictions.

Boards, summaries, MLflow, studies, ``score``, the comparison with the paper and ``verify`` all read the catalogue, so
they all show a new entry. Values are fractions, nats or target units, never percentages; ``scale`` is for display.
Shapes: R retrainings, T test examples, C classes. Undefined values, such as the churn of an absent class, are nan.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmark.measure import matched, ranking
from benchmark.measure.basics import clipped, flip_rate, flips, pairwise, predicted_class, right, votes
from benchmark.measure.measure import PP, Measure
from benchmark.types import Predictions, Task

# Classification


def surprise(p: Predictions) -> np.ndarray:
    """Return the negative log-probability of the true class in nats, (R, T)."""
    return -np.log(clipped(np.take_along_axis(p.values, p.y[None, :, None], axis=2)[..., 0]))


def example_flips(p: Predictions) -> np.ndarray:
    """Return the share of the R(R−1)/2 pairs in which each example changes its class, (T,); nan for a single run.

    Time and memory grow with R·T.
    """
    return flip_rate(votes(p).sum(axis=0))


def sym_kl(p: Predictions) -> np.ndarray:
    """Return the mean ½(KL(p‖q) + KL(q‖p)) in nats, (R, R) (paper, section Measurement)."""
    q = clipped(p.values).reshape(len(p.seeds), -1)
    cross = q @ np.log(q).T / len(p.ids)  # Σ (p − q)(log p − log q), multiplied out
    own = np.diag(cross)
    return np.maximum(0.5 * (own[:, None] + own - cross - cross.T), 0)


def example_sym_kl(p: Predictions) -> np.ndarray:
    """Return the mean over pairs of each example's ½(KL(p‖q) + KL(q‖p)) in nats, (T,); nan for a single run."""
    r, q = len(p.seeds), clipped(p.values)
    log = np.log(q)
    both = r * (q * log).sum(axis=0) - q.sum(axis=0) * log.sum(axis=0)  # Σ over pairs of (p − q)(log p − log q)
    return np.asarray(both.sum(axis=-1) / (r * (r - 1) or np.nan))


ACCURACY = Measure("accuracy", "accuracy", "classification", +1, each=right, most=1, delta=PP, front=True)
LOG_LOSS = Measure(
    "log_loss", "log-loss", "classification", -1, each=surprise, unit="nats", needs_probabilities=True, board=False
)
_share = partial(Measure, unit="%", scale=100, digits=1, most=1, delta=PP)
_calls = partial(_share, task="classification")
CHURN = _calls(
    *("churn", "churn"),
    better=-1,
    per_pair=flips,
    per_example=example_flips,
    help="share of test predictions whose class differs between two retrainings, mean over all pairs",
    needs_truth=False,
    front=True,
)
SYM_KL = Measure(
    *("sym_kl", "sym-KL", "classification", -1),
    per_pair=sym_kl,
    per_example=example_sym_kl,
    unit="nats",
    needs_truth=False,
    needs_probabilities=True,
)


MATCHED_CHURN = _calls(
    *("matched_churn", "matched churn"),
    better=-1,
    per_pair=matched.matched_churn,
    per_example=matched.example_matched_churn,
    whole=True,
    help="churn if every retraining calls equally many examples positive, those with its highest scores; their share "
    "is that of class 1 in the training pool (in the true labels, where the pool is unknown). More than two classes: "
    "chance-corrected churn times the churn of independent predictions",
    needs_probabilities=True,
    front=True,
)
MATCHED_ACCURACY = _calls(
    *("matched_accuracy", "matched accuracy"),
    better=+1,
    each=matched.matched_right,
    whole=True,
    help="accuracy of the same calls; of more than two classes, of the predictions",
    needs_probabilities=True,
    front=True,
)
CHANCE_CORRECTED = _calls(
    *("chance_corrected_churn", "chance-corrected churn"),
    better=-1,
    per_pair=matched.chance_corrected,
    most=2,
    help="1 − Cohen's κ between two retrainings: 0 is identical, 100 no better than chance; undefined where both "
    "predict a single class",
    needs_truth=False,
)
CHURN_OF_RARER = replace(
    CHURN,
    key="churn_rarer",
    name="churn of the rarer class",
    rows=matched.rarer_class,
    help="churn over the test examples whose true class is the rarer one of the training pool",
    needs_truth=True,
    front=False,
)
RECALL_OF_RARER = _calls(
    *("recall_rarer", "recall of the rarer class"),
    better=+1,
    each=right,
    rows=matched.rarer_class,
    help="share of the test examples of the rarer class that are predicted as it",
)


def squared_distance(p: Predictions) -> np.ndarray:
    """Return the squared distance of the probabilities from the truth, (R, T), halved if there are two classes."""
    off = np.square(p.values.astype(np.float64) - np.eye(p.values.shape[2])[p.y]).sum(axis=-1)
    return np.asarray(off / 2 if p.values.shape[2] == 2 else off)


BINS = 15
"""Equal bins of the confidence in the expected calibration error (Guo et al. 2017, section 2)."""


def calibration_error(p: Predictions) -> np.ndarray:
    """Return the expected calibration error of the predicted class, (R,): Guo et al. 2017, arXiv:1706.04599.

    Examples are put into ``BINS`` equal bins by the probability of their predicted class; the error is the mean over
    examples of the distance between their bin's accuracy and its mean probability.
    """
    confidence, correct = p.values.max(axis=2).astype(np.float64), right(p)
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    gaps = [np.bincount(*run, minlength=BINS) for run in zip(bins, correct - confidence, strict=True)]
    return np.abs(gaps).sum(axis=1) / len(p.y)


def confidence_difference(p: Predictions) -> np.ndarray:
    """Return the mean total variation distance between the probabilities of two runs, (R, R).

    With two classes it is the mean difference in the probability of class 1.
    """
    return pairwise(p.values.astype(np.float64), lambda a, others: np.abs(a - others).sum(axis=2).mean(axis=1) / 2)


BRIER = Measure(
    *("brier", "Brier score", "classification", -1),
    each=squared_distance,
    most=2,
    help="squared distance of the probabilities from the truth (Brier 1950)",
    needs_probabilities=True,
)


# Class 1 of a classification, and the ten examples most likely to belong to it


def precision(p: Predictions) -> np.ndarray:
    """Return the share of class 1 among the examples predicted as class 1, (R,); 0 if there are none."""
    hits, predicted, _ = _counts(p)
    return _ratio(hits, predicted)


def recall(p: Predictions) -> np.ndarray:
    """Return the share predicted as class 1 among the examples of class 1, (R,); 0 if there are none."""
    hits, _, true = _counts(p)
    return _ratio(hits, true)


def f1(p: Predictions) -> np.ndarray:
    """Return the harmonic mean of precision and recall of class 1, (R,); 0 if both are undefined."""
    hits, predicted, true = _counts(p)
    return _ratio(2 * hits, predicted + true)


def balanced_accuracy(p: Predictions) -> np.ndarray:
    """Return the mean over classes of the share of their examples that are predicted correctly, (R,)."""
    correct = right(p)
    return np.asarray(np.mean([correct[:, p.y == label].mean(axis=1) for label in np.unique(p.y)], axis=0))


def matthews(p: Predictions) -> np.ndarray:
    """Return Matthews' correlation of predicted and true class, (R,); 0 if either is a single class.

    Of more than two classes it is Gorodkin's R_K (2004, doi:10.1016/j.compbiolchem.2004.09.006).
    """
    n, true, predicted = len(p.y), np.bincount(p.y, minlength=p.values.shape[2]), votes(p).sum(axis=1)
    spread = (n * n - np.square(predicted).sum(axis=1)) * float(n * n - np.square(true).sum())
    return _ratio(right(p).sum(axis=1) * n - predicted @ true, np.sqrt(spread))


def is_one(p: Predictions) -> np.ndarray:
    """Return which predictions are class 1, (R, T) of bool."""
    return np.asarray(predicted_class(p.values) == 1)


def _counts(p: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    predicted, true = is_one(p), p.y == 1
    return (predicted & true).sum(axis=1), predicted.sum(axis=1), np.full(len(p.seeds), true.sum())


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


_hidden = partial(Measure, board=False)
_of_class_one = partial(_hidden, task="classification", better=+1, most=1)
_scored = partial(_of_class_one, needs_probabilities=True)
AUROC = _scored("auroc", "AUROC", per_run=ranking.auroc, delta=PP, help="area under the ROC curve of class 1")
BALANCED_ACCURACY = _calls(
    *("balanced_accuracy", "balanced accuracy"), better=+1, per_run=balanced_accuracy, help="mean recall of the classes"
)
MCC = Measure(
    *("mcc", "MCC", "classification", +1),
    per_run=matthews,
    most=1,
    least=-1,
    help="Matthews' correlation of predicted and true class",
)
POSITIVES = _calls(
    *("positives", "predicted positive"), better=0, each=is_one, help="share predicted as class 1", needs_truth=False
)
PRECISION = _of_class_one("precision", "precision", per_run=precision, delta=PP)
RECALL = _of_class_one("recall", "recall", per_run=recall, delta=PP)
F1 = _of_class_one("f1", "F1", per_run=f1, delta=PP)
AVERAGE_PRECISION = _scored("average_precision", "average precision", per_run=ranking.average_precision, delta=PP)
TOP_JACCARD = _of_class_one(
    "top10_jaccard", "Jaccard", per_pair=ranking.top_jaccard, digits=2, needs_truth=False, needs_probabilities=True
)
HIT_RATE = _of_class_one(
    "hit_rate", "hit rate", per_run=ranking.hit_rate, unit="%", scale=100, digits=0, needs_probabilities=True
)


# Measures derived from others


def churn_of_class(label: int) -> Measure:
    """Return the churn over the test examples of true class ``label`` (paper, per-class appendix)."""
    key, name = f"churn_y{label}", f"churn, class {label}"
    return replace(CHURN_OF_RARER, key=key, name=name, rows=lambda p: p.y == label, help="", board=False)


class Drift(Measure):
    """A measure of |Δ| between two retrainings: its distribution is skewed, so its interval is on the log scale."""


def drift(measure: Measure) -> Drift:
    """Return the measure of |Δ| of a per-run measure between two retrainings (paper, additional metrics)."""

    def between(p: Predictions) -> np.ndarray:
        values = measure.of_runs(p)
        return np.abs(values[:, None] - values[None, :])

    unit, scale, digits = measure.in_delta
    return Drift(
        f"abs_delta_{measure.key}",
        f"|Δ {measure.name}|",
        measure.task,
        -1,
        unit=unit,
        scale=scale,
        digits=digits,
        most=measure.most,
        board=False,
        per_pair=between,
        help="its difference between two retrainings",
        needs_probabilities=measure.needs_probabilities,
    )


# Regression


def error(p: Predictions) -> np.ndarray:
    """Return the absolute error in target units, (R, T)."""
    return np.asarray(np.abs(p.values[..., 0].astype(np.float64) - p.y))


def difference(p: Predictions) -> np.ndarray:
    """Return the mean |f − f'| in target units, (R, R): the churn of a regression (paper, regression appendix)."""
    return pairwise(p.values[..., 0].astype(np.float64), lambda a, others: np.abs(a - others).mean(axis=1))


def example_difference(p: Predictions) -> np.ndarray:
    """Return the mean over pairs of each example's |f − f'|, (T,); nan for a single run."""
    r = len(p.seeds)
    ordered = np.sort(p.values[..., 0].astype(np.float64), axis=0)
    above = 2 * np.arange(r) - (r - 1)  # times that each is the larger of a pair, less times that it is the smaller
    return np.asarray(above @ ordered / (r * (r - 1) / 2 or np.nan))


MAE = Measure("mae", "MAE", "regression", -1, each=error, front=True)
CHURN_OF_VALUES = Measure(
    *("churn", "churn", "regression", -1),
    per_pair=difference,
    per_example=example_difference,
    head="Churn |f − f′|",
    help="mean absolute difference between two retrainings",
    needs_truth=False,
    front=True,
)


ONE_MINUS_ICC = _share(
    *("one_minus_icc", "1 − ICC", "regression", -1),
    per_pair=matched.one_minus_icc,
    most=2,
    help="share of the variance of predictions that is retraining: ICC is the intraclass correlation of two "
    "retrainings, absolute agreement; undefined where both predict one value",
    needs_truth=False,
    front=True,
)


def r2(p: Predictions) -> np.ndarray:
    """Return the coefficient of determination R², (R,); nan if all true values are equal."""
    spread = np.square(p.y - p.y.mean(dtype=np.float64)).sum()
    if spread == 0:
        return np.full(len(p.seeds), np.nan)
    return np.asarray(1 - np.square(error(p)).sum(axis=1) / spread)


TOLERANCE = 0.5
"""Tolerance of a regression in standard deviations of the true values, where none is given in target units."""


def tolerance_of(p: Predictions) -> float:
    """Return ``TOLERANCE`` in target units: a share of the standard deviation of the test set's true values."""
    return TOLERANCE * float(p.y.std(dtype=np.float64))


def beyond(tolerance: float | None = None) -> Measure:
    """Return the share of examples that two runs predict further apart than ``tolerance``, in target units.

    Without ``tolerance``, that of ``tolerance_of`` is used, which needs the true values.
    """

    def of_pairs(p: Predictions) -> np.ndarray:
        limit = tolerance_of(p) if tolerance is None else tolerance
        return pairwise(
            p.values[..., 0].astype(np.float64), lambda a, others: (np.abs(a - others) > limit).mean(axis=1)
        )

    limit = f"{TOLERANCE:g} standard deviations of the true values" if tolerance is None else f"{tolerance:g}"
    return _share(
        *("beyond_tolerance", "flips beyond tolerance", "regression", -1),
        per_pair=of_pairs,
        board=False,
        help=f"share of the test set that two retrainings predict more than {limit} apart",
        needs_truth=tolerance is None,
    )


R2 = _hidden("r2", "R²", "regression", +1, per_run=r2, most=1, least=-math.inf, digits=3)
SPEARMAN = _hidden(
    *("spearman", "Spearman's ρ", "regression", +1),
    per_run=ranking.rank_quality,
    most=1,
    least=-1,
    help="rank correlation of predicted and true values",
)


# Scorecard: what decisions rest on besides the class


def _rank_correlation(task: Task) -> Measure:
    return _hidden(
        *("rank_correlation", "rank correlation", task, +1),
        per_pair=ranking.rank_correlation,
        most=1,
        least=-1,
        help="Spearman's correlation of the scores, or predicted values, between two retrainings",
        needs_truth=False,
        needs_probabilities=task == "classification",
    )


def _list_churn(share: float, task: Task) -> Measure:
    return _share(
        *(f"list_churn_{share:.0%}".replace("%", "pc"), f"list churn, top {share:.0%}".replace("%", " %"), task, -1),
        per_pair=lambda p: matched.list_churn(p, share),
        help="share of the examples with the highest scores that another retraining replaces",
        needs_truth=False,
        needs_probabilities=task == "classification",
        board=False,
    )


def _top_hits(share: float) -> Measure:
    return _scored(
        *(f"hit_rate_{share:.0%}".replace("%", "pc"), f"hit rate in the top {share:.0%}".replace("%", " %")),
        per_run=lambda p: ranking.hit_rate(p, ranking.share_of(p, share)),
        help="share of class 1 in the part of the test set with the highest probability of it",
        delta=PP,
    )


ECE = _hidden(
    *("ece", "ECE", "classification", -1),
    per_run=calibration_error,
    most=1,
    help=f"expected calibration error of the predicted class, {BINS} bins",
    needs_probabilities=True,
)
CONFIDENCE_CHURN = _hidden(
    *("confidence_churn", "churn of probabilities", "classification", -1),
    per_pair=confidence_difference,
    most=1,
    help="mean total variation distance between two retrainings; of two classes, the difference in probability",
    needs_truth=False,
    needs_probabilities=True,
)
LISTS = (0.01, 0.05, 0.1, 0.2)
"""Shares of the test set that a list of the highest scores holds."""
HIT_RATES = tuple(map(_top_hits, LISTS[:3]))
SCORECARD: Mapping[Task, Mapping[str, Sequence[Measure]]] = {
    "classification": {
        "decisions": (MATCHED_CHURN, MATCHED_ACCURACY, CHURN, ACCURACY, CHANCE_CORRECTED),
        "classes": (CHURN_OF_RARER, RECALL_OF_RARER, BALANCED_ACCURACY, MCC, POSITIVES),
        "ranking": (
            *(AUROC, AVERAGE_PRECISION, _rank_correlation("classification")),
            *(_list_churn(share, "classification") for share in LISTS),
            *HIT_RATES,
            *map(drift, HIT_RATES),
        ),
        "probabilities": (BRIER, ECE, CONFIDENCE_CHURN),
    },
    "regression": {
        "values": (ONE_MINUS_ICC, CHURN_OF_VALUES, MAE, R2, beyond()),
        "ranking": (
            *(SPEARMAN, _rank_correlation("regression")),
            *(_list_churn(share, "regression") for share in LISTS),
        ),
    },
}
"""The measures of the scorecard by task and part, in its order."""


def scorecard(task: Task) -> list[Measure]:
    """Return the measures of the scorecard."""
    return [measure for part in SCORECARD[task].values() for measure in part]


CATALOGUE = (
    *(MATCHED_CHURN, MATCHED_ACCURACY, CHURN, ACCURACY, CHANCE_CORRECTED),
    *(CHURN_OF_RARER, RECALL_OF_RARER, BALANCED_ACCURACY, MCC, POSITIVES, LOG_LOSS, SYM_KL, BRIER),
    *(PRECISION, RECALL, F1, AVERAGE_PRECISION, TOP_JACCARD, HIT_RATE),
    *map(churn_of_class, (0, 1)),
    *map(drift, (ACCURACY, PRECISION, RECALL, F1, AVERAGE_PRECISION)),
    *(ONE_MINUS_ICC, CHURN_OF_VALUES, MAE),
)
CATALOGUE = (*CATALOGUE, *(m for task in SCORECARD for m in scorecard(task) if m not in CATALOGUE))
"""All measures, in the order of the boards."""
QUALITY: Mapping[Task, Measure] = {"classification": ACCURACY, "regression": MAE}
"""The measure of quality that always accompanies churn."""
ORDER: Mapping[Task, Measure] = {"classification": MATCHED_CHURN, "regression": ONE_MINUS_ICC}
"""The measure that methods are ordered by: no threshold and no scaling of outputs changes it."""
KEPT: Mapping[Task, Measure] = {"classification": MATCHED_ACCURACY, "regression": MAE}
"""The measure that a method with a place may not lose."""
_BY_KEY = {(measure.task, measure.key): measure for measure in CATALOGUE}


def find(key: str, task: Task) -> Measure | None:
    """Return the measure of a task with this key, or None."""
    return _BY_KEY.get((task, key))


def churn(task: Task) -> Measure:
    """Return raw churn, the paper's definition."""
    return _BY_KEY[task, "churn"]


def example_churn(p: Predictions) -> np.ndarray:
    """Return the churn of each example (T,)."""
    of_examples = churn(p.task).of_examples
    assert of_examples is not None
    return of_examples(p)


def boards(task: Task) -> list[Measure]:
    """Return the measures of a task that boards show."""
    return [measure for measure in CATALOGUE if measure.task == task and measure.board]
