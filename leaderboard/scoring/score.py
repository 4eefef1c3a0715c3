"""The score of a model: churn and related measures, and a ranking of the fragile examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.errors import UserError
from benchmark.measure.catalogue import beyond, boards, churn_of_class, scorecard
from benchmark.measure.estimate import estimate, interval
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.measure.measure import Measure
from leaderboard.scoring.runs import Runs

CARD = 2**22
"""Number of probabilities or values above which a score has no scorecard, which takes all examples at once."""


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

    ``tolerance``, in target units, is the change above which a regression's prediction flips. Memory beyond ``values``
    is limited to a block of examples and one number per example, above ``CARD`` values. Raises UserError for a single
    run, which has no churn, and for a tolerance that is not positive, or that is given for classes.
    """
    runs = values if isinstance(values, Runs) else Runs.of(values, y, ids)
    if len(runs.names) < 2:
        raise UserError(
            f"{runs.source}: one run ({runs.names[0]!r}) has no churn: retrain on another bootstrap or with another "
            "seed, and provide both runs (a column run in a long table, or a column for each run)"
        )
    card = _card(runs, kind, tolerance)
    measures = _measures(runs)
    by_run = {measure.key: _Sum() for measure in measures}
    by_example = {measure.key: np.empty(len(runs.ids)) for measure in measures}
    classes = range(len(runs.classes)) if runs.y is not None else ()
    by_class = {c: (churn_of_class(c), _Sum()) for c in classes}
    margin = np.empty(len(runs.ids)) if runs.kind == "probabilities" else None
    for rows, p in runs.blocks():
        for measure in measures:
            assert measure.of_examples is not None
            by_run[measure.key].add(measure.of_runs(p), len(p.ids))
            by_example[measure.key][rows] = measure.of_examples(p)
        for c, (churn, total) in by_class.items():
            total.add(churn.of_runs(p), int((p.y == c).sum()))
        if margin is not None:
            margin[rows] = margin_of(p.values)
    estimates = {
        key: interval(
            kind,
            lambda key=key: [by_run[key].mean()],  # type: ignore[misc]
            lambda key=key: [by_example[key]],  # type: ignore[misc]
            len(runs.ids),
        )
        for key in by_run
    }
    fragile = by_example["churn"]
    per_class = {
        runs.classes[c]: (
            total.n,
            interval(
                kind,
                lambda total=total: [total.mean()],  # type: ignore[misc]
                lambda c=c: [fragile[runs.y == c]],  # type: ignore[misc]
                total.n,
            ),
        )
        for c, (_, total) in by_class.items()
        if total.n
    }
    flips = _flips(runs, estimates["churn"].value) if "accuracy" in by_run else None
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


def _measures(runs: Runs) -> list[Measure]:
    """Select the boards' measures that ``runs`` allow, churn first."""
    allowed = [measure for measure in boards(runs.task) if _by_block(measure) and _allows(runs, measure)]
    return sorted(allowed, key=lambda measure: measure.key != "churn")


def _by_block(measure: Measure) -> bool:
    """Tell whether a measure of all examples is the mean over blocks of them."""
    return measure.of_examples is not None and measure.rows is None and not measure.whole


def _allows(runs: Runs, measure: Measure) -> bool:
    truth = runs.y is not None or not measure.needs_truth
    return truth and (runs.kind != "labels" or not measure.needs_probabilities)


def _card(runs: Runs, kind: IntervalKind, tolerance: float | None) -> list[tuple[Measure, Estimate]]:
    """Return the measures of the scorecard that ``runs`` allow and that are not computed by block, where defined."""
    if tolerance is not None and (runs.task != "regression" or not 0 < tolerance < np.inf):
        raise UserError(
            f"--tolerance {tolerance:g}, for {runs.kind}: expected a positive number in the target's unit, and only "
            "for regression values"
        )
    if runs.size > CARD:
        return []
    own = {} if tolerance is None else {"beyond_tolerance": beyond(tolerance)}
    measures = [own.get(measure.key, measure) for measure in scorecard(runs.task) if not _by_block(measure)]
    p = runs.predictions()
    found = [(measure, estimate(measure, [(p, None)], kind)) for measure in measures if _allows(runs, measure)]
    return [(measure, value) for measure, value in found if not np.isnan(value.value)]


class _Sum:
    """A mean over examples, accumulated from block means."""

    def __init__(self) -> None:
        self.total: np.ndarray | float = 0.0
        self.n = 0

    def add(self, mean: np.ndarray, n: int) -> None:
        if n:
            self.total = self.total + mean * n
            self.n += n

    def mean(self) -> np.ndarray:
        return np.asarray(self.total / self.n)


def _flips(runs: Runs, churn: float) -> Flips:
    r = len(runs.names)
    right = runs.predicted_classes() == runs.y
    times = right.sum(axis=0, dtype=np.int64)
    changed = float((times * (r - times)).mean() / (r * (r - 1) / 2))
    rest = max(0.0, churn - changed)
    if r > 2:
        return Flips(changed, rest)
    return Flips(changed, rest, float((~right[0] & right[1]).mean()), float((right[0] & ~right[1]).mean()))
