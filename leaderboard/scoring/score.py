"""The score of a model: churn and related measures, and a ranking of the fragile examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.errors import UserError
from benchmark.measure.catalogue import beyond, boards, churn_of_class, example_churn, scorecard
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.measure.measure import Measure
from benchmark.types import Predictions
from leaderboard.scoring.runs import Runs

CARD = 2**26
"""Number of comparisons between runs above which a score has no scorecard, which takes minutes."""


@dataclass(frozen=True)
class Flips:
    """The effect of flips on correctness: shares of all examples, averaged over pairs of runs.

    ``changed`` are right in one run of a pair and wrong in the other, half of them in each direction because neither
    run comes first; ``rest`` flip between wrong classes. For two runs, ``mended`` and ``broken`` are the directions,
    from the first run to the second.
    """

    changed: float
    rest: float
    mended: float | None = None
    broken: float | None = None


@dataclass(frozen=True)
class Score:
    """The score of ``runs``, in fractions and target units.

    ``estimates`` has the boards' measures that are means over examples by key, churn first, as far as the kind of
    prediction and the truth allow.
    ``card`` has the other measures of the scorecard with their estimates, of class 1 where they are of one class; none
    above ``CARD`` values. ``per_class`` has the number of examples of each true class and their churn. All intervals
    are of ``kind``.
    ``example_churn`` (T,) is the share of pairs in which an example flips, or for a regression the mean |f − f'|;
    ``ranking`` has the positions of the examples, most fragile first, with ties broken by ``margin`` (see ``rank``).
    """

    runs: Runs
    kind: IntervalKind
    estimates: Mapping[str, Estimate]
    card: Sequence[tuple[Measure, Estimate]]
    per_class: Mapping[str, tuple[int, Estimate]]
    flips: Flips | None
    example_churn: np.ndarray
    margin: np.ndarray | None
    ranking: np.ndarray

    @property
    def churn(self) -> Estimate:
        return self.estimates["churn"]


def churn(values: np.ndarray) -> Estimate:
    """Return the churn of arrays accepted by ``Runs.of``: probabilities (R, T, C), class labels or values (R, T).

    It is the mean, over all pairs of runs, of the share of examples whose class differs (for a regression, of
    |f − f'|), with the 95 % jackknife interval over runs (nan for two runs).

    >>> round(churn(np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 0]])).value, 4)
    0.3333
    """
    return score(values).churn


def score(
    values: np.ndarray | Runs,
    y: np.ndarray | None = None,
    ids: np.ndarray | None = None,
    kind: IntervalKind = "runs",
    tolerance: float | None = None,
) -> Score:
    """Score arrays accepted by ``Runs.of``, or ``Runs``; ``kind`` is the kind of the intervals.

    ``tolerance``, in target units, is the change above which a regression's prediction flips. Raises UserError for a
    single run, which has no churn, and for a tolerance that is not positive, or that is given for classes.
    """
    runs = values if isinstance(values, Runs) else Runs.of(values, y, ids)
    if len(runs.names) < 2:
        raise UserError(
            f"{runs.source}: one run ({runs.names[0]!r}) has no churn: retrain on another bootstrap or with another "
            "seed, and provide both runs (a column run in a long table, or a column for each run)"
        )
    p = runs.predictions()
    card = _card(runs, p, kind, tolerance)
    measures = [measure for measure in boards(runs.task) if _of_examples(measure) and _allows(runs, measure)]
    measures.sort(key=lambda measure: measure.key != "churn")
    estimates = {measure.key: estimate(measure, [(p, None)], kind) for measure in measures}
    counts = np.zeros(0, dtype=int) if runs.y is None or runs.task == "regression" else np.bincount(runs.y)
    per_class = {
        runs.classes[c]: (int(n), estimate(churn_of_class(c), [(p, None)], kind)) for c, n in enumerate(counts) if n
    }
    fragile = example_churn(p)
    flips = _flips(runs, estimates["churn"].value) if "accuracy" in estimates else None
    margin = margin_of(p.values) if runs.kind == "probabilities" else None
    return Score(runs, kind, estimates, card, per_class, flips, fragile, margin, rank(fragile, margin))


def margin_of(values: np.ndarray) -> np.ndarray:
    """Return the gap between the two highest mean probabilities over runs, (R, T, C) to (T,)."""
    best = np.sort(values.mean(axis=0, dtype=np.float64), axis=-1)
    return np.asarray(best[:, -1] - best[:, -2])


def rank(fragility: np.ndarray, margin: np.ndarray | None) -> np.ndarray:
    """Return the positions of the examples, most fragile first; ties by ``margin``, lowest first, then by position.

    With two runs most examples tie; breaking ties by margin finds more of the flips among further runs than the input
    order. ``leaderboard.scoring.standing.captured`` computes how many from the published results.
    """
    return np.lexsort((np.zeros(len(fragility)) if margin is None else margin, -fragility.round(12)))


def _of_examples(measure: Measure) -> bool:
    """Return whether a measure is a mean over all examples, to which each contributes by itself."""
    return measure.of_examples is not None and measure.rows is None and not measure.whole


def _allows(runs: Runs, measure: Measure) -> bool:
    truth = runs.y is not None or not measure.needs_truth
    return truth and (runs.kind != "labels" or not measure.needs_probabilities)


def _card(runs: Runs, p: Predictions, kind: IntervalKind, tolerance: float | None) -> list[tuple[Measure, Estimate]]:
    """Return the other measures of the scorecard that ``runs`` allow, where they are defined."""
    runs.check_tolerance(tolerance)
    own = {} if tolerance is None else {"beyond_tolerance": beyond(tolerance)}
    measures = [own.get(m.key, m) for m in scorecard(runs.task) if runs.size <= CARD and not _of_examples(m)]
    card = [(measure, estimate(measure, [(p, None)], kind)) for measure in measures if _allows(runs, measure)]
    return [(measure, value) for measure, value in card if not np.isnan(value.value)]


def _flips(runs: Runs, churn: float) -> Flips:
    r = len(runs.names)
    right = runs.predicted_classes() == runs.y
    times = right.sum(axis=0, dtype=np.int64)
    changed = float((times * (r - times)).mean() / (r * (r - 1) / 2))
    rest = max(0.0, churn - changed)
    if r > 2:
        return Flips(changed, rest)
    return Flips(changed, rest, float((~right[0] & right[1]).mean()), float((right[0] & ~right[1]).mean()))
