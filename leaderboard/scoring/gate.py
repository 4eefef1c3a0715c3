"""A gate for replacing a model by a candidate: how many predictions would flip, for better or worse."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, stdtrit  # scipy.stats takes seconds to import

from benchmark.errors import UserError
from leaderboard.scoring.review import join
from leaderboard.scoring.runs import Runs
from leaderboard.stats.intervals import FEWEST_DIFFERING, Estimate, differing, influence, variance

TITLES = {
    "flips": "flips",
    "bad": "bad (right to wrong)",
    "good": "good (wrong to right)",
    "other": "wrong to wrong",
}
"""What the estimates of a gate are called."""
INTERVALS = {
    "one": "95 % Clopper-Pearson interval over examples: the range expected for these two models on other examples",
    "many": "95 % Clopper-Pearson interval for the effective number of predictions, given the variances over runs and "
    "examples: the range expected for other runs on other examples",
}


@dataclass(frozen=True)
class Gate:
    """The verdict on a candidate; ``reasons`` name the limits it exceeds.

    ``estimates`` are shares of all examples by name: flips and, with truth, bad (right before, wrong after), good, and
    other (wrong before and after).
    """

    estimates: dict[str, Estimate]
    n: int
    runs: int
    passed: bool
    reasons: tuple[str, ...]
    interval: str


def gate(
    baseline: Runs, candidate: Runs, max_flips: float, max_bad_flips: float | None = None, sure: bool = False
) -> Gate:
    """Compare models run by run, matching runs by name if there are several.

    Shares must not exceed their limits (0 to 1); with ``sure``, nor must the upper ends of their intervals. Raises
    UserError for a regression, for runs with different names, for a limit on bad flips without truth, and for anything
    ``join`` refuses.
    """
    if "values" in (baseline.kind, candidate.kind):
        raise UserError("a gate counts flips between classes, but these are regression values (see --kind)")
    r = len(baseline.names)
    if r != len(candidate.names) or (r > 1 and set(baseline.names) != set(candidate.names)):
        raise UserError(
            f"the runs differ: {', '.join(baseline.names)} in {baseline.source}, {', '.join(candidate.names)} in "
            f"{candidate.source}; expected one run each, or runs with the same names"
        )
    both = join(baseline, candidate)
    classes = both.predicted_classes()
    after = [r + (candidate.names.index(name) if r > 1 else 0) for name in baseline.names]
    flips = classes[:r] != classes[after]
    kinds = {"flips": flips}
    if both.y is not None:
        old, new = classes[:r] == both.y, classes[after] == both.y
        kinds |= {"bad": old & ~new, "good": ~old & new, "other": flips & ~old & ~new}
    elif max_bad_flips is not None:
        raise UserError("--max-bad-flips needs true classes: give --truth, or a column y_true")
    estimates = {name: _estimate(cases) for name, cases in kinds.items()}
    reasons = []
    for name, limit in (("flips", max_flips), ("bad", max_bad_flips)):
        if limit is None:
            continue
        value = estimates[name].high if sure else estimates[name].value
        if value > limit + 1e-12:
            end = "the upper end of the interval, " if sure else ""
            title = "bad flips" if name == "bad" else "flips"
            reasons.append(f"{title}: {end}{value:.2%}{',' if sure else ''} is above {limit:.2%}")
    return Gate(estimates, flips.shape[1], r, not reasons, tuple(reasons), INTERVALS["one" if r == 1 else "many"])


def _estimate(cases: np.ndarray) -> Estimate:
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
