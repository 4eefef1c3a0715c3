"""A gate for replacing a model by a candidate: how many predictions would flip, for better or worse."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, stdtrit  # scipy.stats takes seconds to import

from benchmark.data.checks.missing import far
from benchmark.errors import UserError
from benchmark.measure.intervals import FEWEST_DIFFERING, Estimate, differing, influence, variance
from leaderboard.scoring.runs import Runs, together

TITLES = {"flips": "flips", "bad": "bad (right to wrong)", "good": "good (wrong to right)", "other": "wrong to wrong"}
OF_VALUES = {"flips": "flips", "bad": "bad (the error increases)", "good": "good (the error decreases)"}
"""Names of the estimates of a gate, of classes and of values."""
INTERVALS = {
    "one": "95 % Clopper-Pearson interval over examples: the range expected for these two models on other examples",
    "many": "95 % Clopper-Pearson interval for the effective number of predictions, given the variances over runs and "
    "examples: the range expected for other runs on other examples",
}
FEWEST = 10
"""The fewest examples that say whether predictions and true values have the same unit."""


@dataclass(frozen=True)
class Gate:
    """The verdict on a candidate; ``reasons`` name the limits that it exceeds, or ``undecided``, may exceed.

    ``limits`` are those of estimates, by name.

    ``estimates`` are shares of all examples by name: flips and, with truth, bad (right before, wrong after), good, and
    other (wrong before and after).
    """

    estimates: dict[str, Estimate]
    n: int
    runs: int
    passed: bool
    reasons: tuple[str, ...]
    interval: str
    undecided: bool = False
    tolerance: float | None = None
    """The change of a regression's value that counts as a flip."""
    limits: Mapping[str, float] = field(default_factory=dict)

    def title(self, name: str) -> str:
        return TITLES[name] if self.tolerance is None else OF_VALUES[name]


def gate(
    baseline: Runs,
    candidate: Runs,
    max_flips: float,
    max_bad_flips: float | None = None,
    by_estimate: bool = False,
    tolerance: float | None = None,
) -> Gate:
    """Compare models run by run, matching runs by name if there are several.

    Neither shares nor the upper ends of their intervals may exceed their limits (0 to 1); with ``by_estimate``, the
    intervals do not count. A value of a regression flips if it moves by more than ``tolerance``, by default the
    baseline's MAE. Raises UserError for runs with different names, for a limit on bad flips without truth, and for
    anything ``flipped`` refuses.
    """
    baseline.check_tolerance(tolerance)
    changes = flipped(baseline, candidate, tolerance)
    kinds = changes.kinds
    if "bad" not in kinds and max_bad_flips is not None:
        raise UserError("--max-bad-flips needs true classes or values: give --truth FILE, or --truth-column NAME")
    estimates = {name: share_of(cases) for name, cases in kinds.items()}
    above, open_ = [], []
    limits = {"flips": max_flips} | ({} if max_bad_flips is None else {"bad": max_bad_flips})
    for name, limit in limits.items():
        share, title = estimates[name], "bad flips" if name == "bad" else "flips"
        if share.value > limit + 1e-12:
            above.append(f"{title}: {share.value:.2%} is above {limit:.2%}")
        elif not by_estimate and share.high > limit + 1e-12:
            open_.append(
                f"{title}: the interval [{share.low:.2%}, {share.high:.2%}] contains the limit of {limit:.2%}; give "
                "more examples, or --by-estimate to go by the estimate alone"
            )
    reasons = above or open_
    runs, examples = kinds["flips"].shape
    interval = INTERVALS["one" if runs == 1 else "many"]
    beyond = changes.tolerance if changes.both.kind == "values" else None
    undecided = bool(open_) and not above
    return Gate(estimates, examples, runs, not reasons, tuple(reasons), interval, undecided, beyond, limits)


class Flipped(NamedTuple):
    """The predictions of two models that differ, run by run."""

    kinds: dict[str, np.ndarray]
    """Masks (R, T) by name: flips and, with truth, bad, good and, of classes, other."""
    old: np.ndarray
    new: np.ndarray
    """Predicted classes, or values, (R, T)."""
    both: Runs
    tolerance: float
    """The change of a value that counts as a flip; 0 for classes."""


def flipped(old: Runs, new: Runs, tolerance: float | None = None) -> Flipped:
    """Compare the predictions of two models run by run, matching runs by name if there are several.

    A class flips if it differs, for better if it becomes right and for worse if it was. A value flips if it moves by
    more than ``tolerance``, by default the MAE of ``old``: for worse if its error grows. Raises UserError for runs with
    different names, for values without a tolerance and without truth, or with one in another unit, with an error so
    large that none could flip or with a −999, and for anything ``together`` refuses.
    """
    r = len(old.names)
    if r != len(new.names) or (r > 1 and set(old.names) != set(new.names)):
        raise UserError(
            f"the runs differ: {', '.join(old.names)} in {old.source}, {', '.join(new.names)} in {new.source}; "
            "expected one run each, or runs with the same names"
        )
    both = together((old, new), f"{old.source} and {new.source}")
    values = both.values if both.kind == "values" else both.predicted_classes()
    after = values[[r + (new.names.index(name) if r > 1 else 0) for name in old.names]]
    before, y = values[:r], both.y
    if both.kind != "values":
        kinds = {"flips": before != after}
        if y is not None:
            was, now = before == y, after == y
            kinds |= {"bad": was & ~now, "good": ~was & now, "other": kinds["flips"] & ~was & ~now}
        return Flipped(kinds, before, after, both, 0.0)
    if tolerance is None:
        if y is None:
            raise UserError(
                "values always differ a little: give --tolerance, the change that counts as a flip, or the true values "
                "(--truth, --truth-column), whose error is the default"
            )
        tolerance = float(np.abs(before - y).mean())
        if doubt := next((one for one in far(y) if one.sure), None):
            raise UserError(
                f"{both.source}: {doubt.said('true value')}, and moves the tolerance, the mean absolute error of the "
                "old model: if it means a missing value, leave such examples out; else give --tolerance, the change "
                "that counts as a flip"
            )
        low, high = np.percentile(values, [2.5, 97.5])
        enough = len(y) >= FEWEST
        constant = np.abs(y - np.median(y)).mean()
        if tolerance > (high - low if enough else np.ptp(values)) or (enough and tolerance > 2 * constant):
            raise UserError(
                f"{both.source}: the tolerance would be {tolerance:,.4g}, the mean absolute error of the old model, "
                f"but most predictions are from {low:,.4g} to {high:,.4g} and true values from {y.min():,.4g} to "
                f"{y.max():,.4g}, as if they were in other units: write both in the same unit, or give --tolerance, "
                "the change that counts as a flip"
            )
    flips = np.abs(after - before) > tolerance
    kinds = {"flips": flips}
    if y is not None:
        grows = np.abs(after - y) > np.abs(before - y)
        kinds |= {"bad": flips & grows, "good": flips & ~grows}
    return Flipped(kinds, before, after, both, tolerance)


def share_of(cases: np.ndarray) -> Estimate:
    """Estimate the share of ``cases`` (R, T), with its interval for other examples and, if R > 1, other runs.

    Runs and examples are both samples: a molecule that flips tends to flip in all runs, and a run that flips many
    molecules would flip many others. The variance of the share is therefore that over runs plus that over examples, as
    in ``over_both``: neither the number of predictions nor that of examples is the size of the sample. The interval is
    Clopper and Pearson's for the number of independent predictions that would have this variance,
    n = p(1 − p)/variance · (t(T−1)/t(df))², which allows for the degrees of freedom (Korn and Graubard 1998, Survey
    Methodology 24:193–201). It stays within 0 and 1. Noise of single predictions is in both variances, so it errs on
    the wide side.

    n is at most R·T; or at most T where fewer than ``FEWEST_DIFFERING`` examples differ, because then the variance over
    examples is unknown: that hardly any of them flips is evidence on T examples, however many runs agree. For a single
    run n = T, and the interval holds for these two models.
    """
    share, (runs, examples) = float(cases.mean()), cases.shape
    by_example = cases.mean(axis=0)
    n = float(examples)
    if runs > 1:
        parts = [influence([part])[1][0] for part in (cases.mean(axis=1), by_example)]
        known = differing([by_example]) >= FEWEST_DIFFERING
        spread, df = variance(parts)
        if spread > 0:
            wider = float(stdtrit(df, 0.975) / stdtrit(max(examples - 1, 1), 0.975))
            n = min(share * (1 - share) / spread / wider**2, examples * (runs if known else 1))
    k = share * n
    low = float(betaincinv(k, n - k + 1, 0.025)) if k > 0 else 0.0
    return Estimate(share, low, float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0)
