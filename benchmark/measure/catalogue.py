"""The catalogue of measures: everything that is said of predictions in numbers, one entry each.

Boards, summaries, MLflow, studies, ``score``, the comparison with the paper and ``verify`` all read it: a new entry is
shown by all of them. A measure is a fraction, or in nats or target units, never in percent; ``scale`` is for readers.
R retrainings, T test examples, C classes; what is undefined, as the churn of a class without examples, is nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmark.measure.basics import clipped, pairwise, predicted_class, right
from benchmark.types import Predictions, Task

Of = Callable[[Predictions], np.ndarray]
TOP = 10
"""How many examples a batch of acquisitions takes (paper, top-K appendix)."""


@dataclass(frozen=True)
class Measure:
    """A number of predictions, and how people read it.

    One of ``each`` (R, T), ``per_run`` (R,) and ``per_pair`` (R, R), a symmetric matrix with zeros on its diagonal,
    says what it is of. ``per_example`` (T,) are the contributions of the examples, whose mean over examples is the mean
    over runs or pairs; ``each`` implies it, and without it there is no interval over examples.
    """

    key: str
    name: str
    """Its name in a sentence."""
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
    """Its largest possible value; the least is 0."""
    delta: tuple[str, float, int] | None = None
    """Unit, scale and digits of a difference, where these are not those of the measure."""
    head: str = ""
    """The header of its column, where that is not its name with its unit."""
    help: str = ""
    needs_truth: bool = True
    needs_probabilities: bool = False
    tracked: bool = True
    """Whether MLflow has it as a metric of every run."""
    board: bool = True
    """Whether boards, summaries and ``score`` show it."""
    front: bool = False
    """Whether the first page starts with it."""

    @property
    def title(self) -> str:
        return self.head or _with_unit(f"{self.name[:1].upper()}{self.name[1:]}", self.unit)

    @property
    def shown_delta(self) -> tuple[str, float, int]:
        """Title, scale and digits of a difference."""
        unit, scale, digits = self.delta or (self.unit, self.scale, self.digits)
        return _with_unit(f"Δ {self.name}", unit), scale, digits

    def of_runs(self, p: Predictions) -> np.ndarray:
        """Its value for each run (R,) or pair of runs (R, R)."""
        if (each := self.each) is not None:
            return _once(p, ("runs", each), lambda: np.asarray(each(p).mean(axis=1)))
        made = self.per_run or self.per_pair
        assert made is not None, f"measure {self.key} is of nothing"
        return _once(p, ("runs", made), lambda: made(p))

    @property
    def of_examples(self) -> Of | None:
        """The contributions (T,) of the examples, if it is a mean over them."""
        if (each := self.each) is not None:
            return lambda p: _once(p, ("examples", each), lambda: np.asarray(each(p).mean(axis=0)))
        made = self.per_example
        return made and (lambda p: _once(p, ("examples", made), lambda: made(p)))

    def mean(self, p: Predictions) -> float:
        """Its mean over runs, or over pairs of runs; nan if there is none."""
        values = self.of_runs(p)
        values = values if values.ndim == 1 else values[np.triu_indices(len(values), k=1)]
        return float(values.mean()) if len(values) else math.nan


def _once(p: Predictions, key: object, compute: Callable[[], np.ndarray]) -> np.ndarray:
    """What ``compute`` gives, computed the first time and never altered."""
    if key not in p.computed:
        p.computed[key] = compute()
        p.computed[key].flags.writeable = False
    return p.computed[key]


def _with_unit(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title


PP = ("pp", 100, 1)
"""How differences between shares are shown: in percentage points."""


# Classification


def surprise(p: Predictions) -> np.ndarray:
    """Negative log-probability of the true class in nats, (R, T)."""
    return -np.log(clipped(np.take_along_axis(p.values, p.y[None, :, None], axis=2)[..., 0]))


def flips(p: Predictions) -> np.ndarray:
    """Share of examples whose class differs, (R, R): the class-flip rate (paper, section Measurement)."""
    return pairwise(predicted_class(p.values), lambda a, others: (a != others).mean(axis=1))


def example_flips(p: Predictions) -> np.ndarray:
    """Share of the R(R−1)/2 pairs in which each example changes its class, (T,). One run has no pair: nan.

    Time and memory grow with R·T.
    """
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    classes = predicted_class(p.values)
    same = sum(np.square((classes == c).sum(axis=0, dtype=np.int64)) for c in range(p.values.shape[2]))
    return np.asarray((r * r - same) / (r * (r - 1)))


def sym_kl(p: Predictions) -> np.ndarray:
    """Mean ½(KL(p‖q) + KL(q‖p)) in nats, (R, R) (paper, section Measurement)."""
    probabilities = clipped(p.values)

    def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        divergence = 0.5 * (a[0] - b[:, 0]) * (a[1] - b[:, 1])
        return np.asarray(divergence.sum(axis=-1).mean(axis=-1))

    return pairwise(np.stack([probabilities, np.log(probabilities)], axis=1), compare)


def example_sym_kl(p: Predictions) -> np.ndarray:
    """Mean over pairs of each example's ½(KL(p‖q) + KL(q‖p)) in nats, (T,)."""
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    q = clipped(p.values)
    log = np.log(q)
    both = r * (q * log).sum(axis=0) - q.sum(axis=0) * log.sum(axis=0)  # Σ over pairs of (p − q)(log p − log q)
    return np.asarray(both.sum(axis=-1) / (r * (r - 1)))


ACCURACY = Measure("accuracy", "accuracy", "classification", +1, each=right, most=1, delta=PP, front=True)
LOG_LOSS = Measure(
    *("log_loss", "log-loss", "classification", -1), each=surprise, unit="nats", needs_probabilities=True, board=False
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
    """Squared distance of the probabilities from the truth, (R, T): of two classes that of one, of more the sum."""
    off = np.square(p.values.astype(np.float64) - np.eye(p.values.shape[2])[p.y]).sum(axis=-1)
    return np.asarray(off / 2 if p.values.shape[2] == 2 else off)


BRIER = Measure(
    *("brier", "Brier score", "classification", -1),
    each=squared_distance,
    most=2,
    help="squared distance of the probabilities from the truth (Brier 1950)",
    needs_probabilities=True,
)


# Class 1 of a classification, and its ten most probable members


def precision(p: Predictions) -> np.ndarray:
    """Share of class 1 among the examples predicted as class 1, (R,); 0 where none is, as in scikit-learn."""
    hit, said, _ = _counts(p)
    return _ratio(hit, said)


def recall(p: Predictions) -> np.ndarray:
    """Share predicted as class 1 among the examples of class 1, (R,); 0 where there is none."""
    hit, _, true = _counts(p)
    return _ratio(hit, true)


def f1(p: Predictions) -> np.ndarray:
    """Harmonic mean of precision and recall of class 1, (R,); 0 where there is neither."""
    hit, said, true = _counts(p)
    return _ratio(2 * hit, said + true)


def _counts(p: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    said, true = predicted_class(p.values) == 1, p.y == 1
    return (said & true).sum(axis=1), said.sum(axis=1), np.full(len(p.seeds), true.sum())


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def average_precision(p: Predictions) -> np.ndarray:
    """Average precision of class 1 by its odds, (R,), as scikit-learn has it; nan without an example of it."""
    from sklearn.metrics import average_precision_score  # late: it takes a second

    true = p.y == 1
    if not true.any():
        return np.full(len(p.seeds), np.nan)
    return np.array([average_precision_score(true, score) for score in _log_odds(p)])


def top_jaccard(p: Predictions, k: int = TOP) -> np.ndarray:
    """Jaccard overlap of the ``k`` examples with the highest probability of class 1, (R, R).

    Ties are broken by example id; a test set of fewer examples is taken whole (paper, top-K appendix).
    """
    members = _top(p, k)
    shared = members.astype(np.float64) @ members.T.astype(np.float64)
    overlap = shared / (2 * members[0].sum() - shared)
    np.fill_diagonal(overlap, 0)
    return np.asarray(overlap)


def hit_rate(p: Predictions, k: int = TOP) -> np.ndarray:
    """Share of class 1 among the ``k`` examples with the highest probability of it, (R,)."""
    members = _top(p, k)
    return np.asarray((members & (p.y == 1)).sum(axis=1) / members[0].sum())


def _top(p: Predictions, k: int) -> np.ndarray:
    """Which examples are among the first ``k`` of each run, (R, T)."""
    members = np.zeros(p.values.shape[:2], dtype=bool)
    for row, score in zip(members, _log_odds(p), strict=True):
        row[np.lexsort((p.ids, -score))[:k]] = True
    return members


def _log_odds(p: Predictions) -> np.ndarray:
    """Log-odds of class 1, (R, T): the order of its probability, without the ties that float32 has next to one."""
    tiny = np.finfo(np.float64).tiny
    one, others = p.values[..., 1].astype(np.float64), np.delete(p.values, 1, axis=2).sum(axis=2, dtype=np.float64)
    return np.log(np.maximum(one, tiny)) - np.log(np.maximum(others, tiny))


def _of_class_one(key: str, name: str, of: Of) -> Measure:
    return Measure(key, name, "classification", +1, per_run=of, most=1, delta=PP, tracked=False, board=False)


PRECISION = _of_class_one("precision", "precision", precision)
RECALL = _of_class_one("recall", "recall", recall)
F1 = _of_class_one("f1", "F1", f1)
AVERAGE_PRECISION = _of_class_one("average_precision", "average precision", average_precision)
TOP_JACCARD = Measure(
    *("top10_jaccard", "Jaccard", "classification", +1),
    per_pair=top_jaccard,
    digits=2,
    most=1,
    needs_truth=False,
    needs_probabilities=True,
    tracked=False,
    board=False,
)
HIT_RATE = Measure(
    *("hit_rate", "hit rate", "classification", +1),
    per_run=hit_rate,
    unit="%",
    scale=100,
    digits=0,
    most=1,
    needs_probabilities=True,
    tracked=False,
    board=False,
)


# Parts and differences of others


def churn_of_class(label: int) -> Measure:
    """Churn over the test examples of true class ``label`` (paper, per-class appendix)."""

    def of_pairs(p: Predictions) -> np.ndarray:
        rows = p.y == label
        return flips(p.on(rows)) if rows.any() else np.full((len(p.seeds), len(p.seeds)), np.nan)

    def of_examples(p: Predictions) -> np.ndarray:
        return example_flips(p)[p.y == label]

    return Measure(
        *(f"churn_y{label}", f"churn, class {label}", "classification", -1),
        per_pair=of_pairs,
        per_example=of_examples,
        unit="%",
        scale=100,
        digits=1,
        most=1,
        delta=PP,
        tracked=False,
        board=False,
    )


def drift(of: Measure) -> Measure:
    """|Δ| of a per-run measure between two retrainings (paper, additional metrics)."""

    def between(p: Predictions) -> np.ndarray:
        values = of.of_runs(p)
        return np.abs(values[:, None] - values[None, :])

    unit, scale, digits = of.delta or (of.unit, of.scale, of.digits)
    return Measure(
        *(f"abs_delta_{of.key}", f"|Δ {of.name}|", of.task, -1),
        per_pair=between,
        unit=unit,
        scale=scale,
        digits=digits,
        tracked=False,
        board=False,
    )


# Regression


def error(p: Predictions) -> np.ndarray:
    """Absolute error in target units, (R, T)."""
    return np.asarray(np.abs(p.values[..., 0].astype(np.float64) - p.y))


def difference(p: Predictions) -> np.ndarray:
    """Mean |f − f'| in target units, (R, R): the churn of a regression (paper, regression appendix)."""
    return pairwise(p.values[..., 0].astype(np.float64), lambda a, others: np.abs(a - others).mean(axis=1))


def example_difference(p: Predictions) -> np.ndarray:
    """Mean over pairs of each example's |f − f'|, (T,). One run has no pair: nan."""
    r = len(p.seeds)
    if r < 2:
        return np.full(len(p.ids), np.nan)
    ordered = np.sort(p.values[..., 0].astype(np.float64), axis=0)
    above = 2 * np.arange(r) - (r - 1)  # how often each is the larger of a pair, less how often the smaller
    return np.asarray(above @ ordered / (r * (r - 1) / 2))


MAE = Measure("mae", "MAE", "regression", -1, each=error, front=True)
CHURN_OF_VALUES = Measure(
    *("churn", "churn", "regression", -1),
    per_pair=difference,
    per_example=example_difference,
    head="Churn |f − f′|",
    help="mean absolute difference of two retrainings",
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
"""Every measure, in the order in which boards show them."""
QUALITY: Mapping[Task, Measure] = {"classification": ACCURACY, "regression": MAE}
"""What churn is never shown without: how good the predictions are."""
_BY_KEY = {(measure.task, measure.key): measure for measure in CATALOGUE}


def find(key: str, task: Task) -> Measure | None:
    """The measure of a task with this key; None if there is none."""
    return _BY_KEY.get((task, key))


def churn(task: Task) -> Measure:
    """The measure that methods are ranked by."""
    return _BY_KEY[task, "churn"]


def boards(task: Task) -> list[Measure]:
    """The measures of a task that boards show."""
    return [measure for measure in CATALOGUE if measure.task == task and measure.board]


def tracked(task: Task) -> list[Measure]:
    """The measures of a task that MLflow has."""
    return [measure for measure in CATALOGUE if measure.task == task and measure.tracked]
