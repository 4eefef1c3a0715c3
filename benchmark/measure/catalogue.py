"""The catalogue of measures, with one entry for each number reported about predictions.

Boards, summaries, MLflow, studies, ``score``, the comparison with the paper and ``verify`` all read the catalogue, so
they all show a new entry. Values are fractions, nats or target units, never percentages; ``scale`` is for display.
Shapes: R retrainings, T test examples, C classes. Undefined values, such as the churn of an absent class, are nan.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmark.measure.basics import clipped, mean_over_pairs, pairwise, predicted_class, right
from benchmark.types import Predictions, Task

Of = Callable[[Predictions], np.ndarray]
TOP = 10
"""Number of examples in a batch of acquisitions (paper, top-K appendix)."""
PP = ("pp", 100, 1)
"""Unit, scale and digits of a difference between shares: percentage points."""


@dataclass(frozen=True)
class Measure:
    """A number computed from predictions, and its presentation.

    Exactly one of ``each`` (R, T), ``per_run`` (R,) and ``per_pair`` (R, R), symmetric with a zero diagonal, is given.
    ``per_example`` returns the contributions (T,) of the examples, whose mean is the mean over runs or pairs; ``each``
    implies it. A measure without it has no interval over examples.
    """

    key: str
    name: str
    """The name within a sentence."""
    task: Task
    better: int
    """+1: higher is better; −1: lower is better."""
    each: Of | None = None
    per_run: Of | None = None
    per_pair: Of | None = None
    per_example: Of | None = None
    unit: str = ""
    scale: float = 1
    digits: int = 3
    most: float = math.inf
    """The largest possible value; the smallest is 0."""
    delta: tuple[str, float, int] | None = None
    """Unit, scale and digits of a difference, if they differ from those of the measure."""
    head: str = ""
    """The column header, if it is not the name with its unit."""
    help: str = ""
    needs_truth: bool = True
    needs_probabilities: bool = False
    tracked: bool = True
    """True if MLflow stores it as a metric of every run."""
    board: bool = True
    """True if boards, summaries and ``score`` show it."""
    front: bool = False
    """True if it is among the first columns of the front page."""

    @property
    def title(self) -> str:
        return self.head or _with_unit(f"{self.name[:1].upper()}{self.name[1:]}", self.unit)

    @property
    def shown_delta(self) -> tuple[str, float, int]:
        """Title, scale and digits of a difference."""
        unit, scale, digits = self.delta or (self.unit, self.scale, self.digits)
        return _with_unit(f"Δ {self.name}", unit), scale, digits

    def of_runs(self, p: Predictions) -> np.ndarray:
        """Return the value for each run, (R,), or pair of runs, (R, R); under ``halves``, for each halving, (J,)."""
        if p.sampling == "halves":
            return _once(p, ("halvings", self), lambda: np.array([self.mean(pair) for pair in p.halvings()]))
        if (each := self.each) is not None:
            return _once(p, ("runs", each), lambda: np.asarray(each(p).mean(axis=1)))
        function = self.per_run or self.per_pair
        assert function is not None, f"measure {self.key} has no function"
        return _once(p, ("runs", function), lambda: function(p))

    @property
    def of_examples(self) -> Of | None:
        """The function for the contributions (T,) of the examples; None if the measure is not a mean over them."""
        function = self.per_example if self.each is None else _over_runs(self.each)
        return function and (lambda p: _once(p, ("examples", self), lambda: _over_halvings(p, function)))

    def mean(self, p: Predictions) -> float:
        """Return the mean over runs or over pairs of runs; nan if there is no pair."""
        values = self.of_runs(p)
        return float(values.mean()) if values.ndim == 1 else mean_over_pairs(values)


def _over_runs(each: Of) -> Of:
    return lambda p: np.asarray(each(p).mean(axis=0))


def _over_halvings(p: Predictions, function: Of) -> np.ndarray:
    """Return ``function`` of the predictions; under ``halves``, its mean over the halvings."""
    return function(p) if p.sampling != "halves" else np.mean([function(pair) for pair in p.halvings()], axis=0)


def _once(p: Predictions, key: object, compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the cached result of ``compute``, read-only."""
    if key not in p.computed:
        p.computed[key] = compute()
        p.computed[key].flags.writeable = False
    return p.computed[key]


def _with_unit(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title


# Classification


def surprise(p: Predictions) -> np.ndarray:
    """Return the negative log-probability of the true class in nats, (R, T)."""
    return -np.log(clipped(np.take_along_axis(p.values, p.y[None, :, None], axis=2)[..., 0]))


def flips(p: Predictions) -> np.ndarray:
    """Return the share of examples whose class differs, (R, R): the class-flip rate (paper, section Measurement)."""
    return pairwise(predicted_class(p.values), lambda a, others: (a != others).mean(axis=1))


def example_flips(p: Predictions) -> np.ndarray:
    """Return the share of the R(R−1)/2 pairs in which each example changes its class, (T,); nan for a single run.

    Time and memory grow with R·T.
    """
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    classes = predicted_class(p.values)
    same = sum(np.square((classes == c).sum(axis=0, dtype=np.int64)) for c in range(p.values.shape[2]))
    return np.asarray((r * r - same) / (r * (r - 1)))


def sym_kl(p: Predictions) -> np.ndarray:
    """Return the mean ½(KL(p‖q) + KL(q‖p)) in nats, (R, R) (paper, section Measurement)."""
    probabilities = clipped(p.values)

    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        divergence = 0.5 * (a[0] - b[:, 0]) * (a[1] - b[:, 1])
        return np.asarray(divergence.sum(axis=-1).mean(axis=-1))

    return pairwise(np.stack([probabilities, np.log(probabilities)], axis=1), compare)


def example_sym_kl(p: Predictions) -> np.ndarray:
    """Return the mean over pairs of each example's ½(KL(p‖q) + KL(q‖p)) in nats, (T,); nan for a single run."""
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    q = clipped(p.values)
    log = np.log(q)
    both = r * (q * log).sum(axis=0) - q.sum(axis=0) * log.sum(axis=0)  # Σ over pairs of (p − q)(log p − log q)
    return np.asarray(both.sum(axis=-1) / (r * (r - 1)))


ACCURACY = Measure("accuracy", "accuracy", "classification", +1, each=right, most=1, delta=PP, front=True)
LOG_LOSS = Measure(
    "log_loss", "log-loss", "classification", -1, each=surprise, unit="nats", needs_probabilities=True, board=False
)
CHURN = Measure(
    *("churn", "churn", "classification", -1),
    per_pair=flips,
    per_example=example_flips,
    unit="%",
    scale=100,
    digits=1,
    most=1,
    delta=PP,
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
    front=True,
)


def squared_distance(p: Predictions) -> np.ndarray:
    """Return the squared distance of the probabilities from the truth, (R, T), halved if there are two classes."""
    off = np.square(p.values.astype(np.float64) - np.eye(p.values.shape[2])[p.y]).sum(axis=-1)
    return np.asarray(off / 2 if p.values.shape[2] == 2 else off)


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


def _counts(p: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    predicted, true = predicted_class(p.values) == 1, p.y == 1
    return (predicted & true).sum(axis=1), predicted.sum(axis=1), np.full(len(p.seeds), true.sum())


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def average_precision(p: Predictions) -> np.ndarray:
    """Return scikit-learn's average precision of class 1, ranked by its odds, (R,); nan without an example of it."""
    from sklearn.metrics import average_precision_score  # slow to import

    true = p.y == 1
    if not true.any():
        return np.full(len(p.seeds), np.nan)
    return np.array([average_precision_score(true, score) for score in _log_odds(p)])


def top_jaccard(p: Predictions, k: int = TOP) -> np.ndarray:
    """Return the Jaccard overlap of the ``k`` examples with the highest probability of class 1, (R, R).

    Ties are broken by example id; a smaller test set is taken whole (paper, top-K appendix).
    """
    members = _top(p, k)
    shared = members.astype(np.float64) @ members.T.astype(np.float64)
    overlap = shared / (2 * members[0].sum() - shared)
    np.fill_diagonal(overlap, 0)
    return np.asarray(overlap)


def hit_rate(p: Predictions, k: int = TOP) -> np.ndarray:
    """Return the share of class 1 among the ``k`` examples with the highest probability of it, (R,)."""
    members = _top(p, k)
    return np.asarray((members & (p.y == 1)).sum(axis=1) / members[0].sum())


def _top(p: Predictions, k: int) -> np.ndarray:
    """Mark the first ``k`` examples of each run, (R, T)."""
    members = np.zeros(p.values.shape[:2], dtype=bool)
    for row, score in zip(members, _log_odds(p), strict=True):
        row[np.lexsort((p.ids, -score))[:k]] = True
    return members


def _log_odds(p: Predictions) -> np.ndarray:
    """Return log-odds of class 1, (R, T), which order examples without the ties of float32 probabilities near one."""
    tiny = np.finfo(np.float64).tiny
    one, others = p.values[..., 1].astype(np.float64), np.delete(p.values, 1, axis=2).sum(axis=2, dtype=np.float64)
    return np.log(np.maximum(one, tiny)) - np.log(np.maximum(others, tiny))


_hidden = partial(Measure, tracked=False, board=False)
_of_class_one = partial(_hidden, task="classification", better=+1, most=1)
PRECISION = _of_class_one("precision", "precision", per_run=precision, delta=PP)
RECALL = _of_class_one("recall", "recall", per_run=recall, delta=PP)
F1 = _of_class_one("f1", "F1", per_run=f1, delta=PP)
AVERAGE_PRECISION = _of_class_one("average_precision", "average precision", per_run=average_precision, delta=PP)
TOP_JACCARD = _of_class_one(
    "top10_jaccard", "Jaccard", per_pair=top_jaccard, digits=2, needs_truth=False, needs_probabilities=True
)
HIT_RATE = _of_class_one(
    "hit_rate", "hit rate", per_run=hit_rate, unit="%", scale=100, digits=0, needs_probabilities=True
)


# Measures derived from others


def churn_of_class(label: int) -> Measure:
    """Return the churn over the test examples of true class ``label`` (paper, per-class appendix)."""

    def of_pairs(p: Predictions) -> np.ndarray:
        rows = p.y == label
        return flips(p.on(rows)) if rows.any() else np.full((len(p.seeds), len(p.seeds)), np.nan)

    def of_examples(p: Predictions) -> np.ndarray:
        return example_flips(p)[p.y == label]

    return replace(
        CHURN,
        key=f"churn_y{label}",
        name=f"churn, class {label}",
        per_pair=of_pairs,
        per_example=of_examples,
        help="",
        needs_truth=True,
        tracked=False,
        board=False,
        front=False,
    )


class Drift(Measure):
    """A measure of |Δ| between two retrainings: its distribution is skewed, so its interval is on the log scale."""


def drift(of: Measure) -> Drift:
    """Return the measure of |Δ| of a per-run measure between two retrainings (paper, additional metrics)."""

    def between(p: Predictions) -> np.ndarray:
        values = of.of_runs(p)
        return np.abs(values[:, None] - values[None, :])

    unit, scale, digits = of.delta or (of.unit, of.scale, of.digits)
    key, name = f"abs_delta_{of.key}", f"|Δ {of.name}|"
    as_hidden = partial(Drift, per_pair=between, most=of.most, tracked=False, board=False)
    return as_hidden(key, name, of.task, -1, unit=unit, scale=scale, digits=digits)


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
    if r < 2:
        return np.full(len(p.ids), np.nan)
    ordered = np.sort(p.values[..., 0].astype(np.float64), axis=0)
    above = 2 * np.arange(r) - (r - 1)  # times that each is the larger of a pair, less times that it is the smaller
    return np.asarray(above @ ordered / (r * (r - 1) / 2))


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

CATALOGUE = (
    *(ACCURACY, LOG_LOSS, CHURN, SYM_KL, BRIER),
    *(PRECISION, RECALL, F1, AVERAGE_PRECISION, TOP_JACCARD, HIT_RATE),
    *map(churn_of_class, (0, 1)),
    *map(drift, (ACCURACY, PRECISION, RECALL, F1, AVERAGE_PRECISION)),
    *(MAE, CHURN_OF_VALUES),
)
"""All measures, in the order of the boards."""
QUALITY: Mapping[Task, Measure] = {"classification": ACCURACY, "regression": MAE}
"""The measure of quality that always accompanies churn."""
_BY_KEY = {(measure.task, measure.key): measure for measure in CATALOGUE}


def find(key: str, task: Task) -> Measure | None:
    """Return the measure of a task with this key, or None."""
    return _BY_KEY.get((task, key))


def churn(task: Task) -> Measure:
    """Return the measure that methods are ranked by."""
    return _BY_KEY[task, "churn"]


def boards(task: Task) -> list[Measure]:
    """Return the measures of a task that boards show."""
    return [measure for measure in CATALOGUE if measure.task == task and measure.board]


def tracked(task: Task) -> list[Measure]:
    """Return the measures of a task that MLflow stores."""
    return [measure for measure in CATALOGUE if measure.task == task and measure.tracked]
