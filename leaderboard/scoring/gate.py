"""A gate for replacing a model by a candidate: how many predictions would flip, for better or worse."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv  # scipy.stats takes seconds to import

from benchmark.errors import UserError
from leaderboard.scoring.review import join
from leaderboard.scoring.runs import Runs
from leaderboard.stats.intervals import Estimate, over_both

INTERVALS = {
    "one": "95 % Clopper-Pearson interval over examples: the range expected for these two models on other examples",
    "many": "95 % jackknife interval over runs and examples, with an upper end no lower than Clopper-Pearson's over "
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
    """Estimate the share of ``cases`` (R, T) with its interval.

    With several runs, the upper end is at least Clopper-Pearson's for T examples. Where no runs or examples differ,
    e.g. without any flip, the jackknife sees no variance and gives no interval: twenty examples without a flip would
    seem certain never to flip, although for a single run the upper end is 17 %. The bound holds
    for several runs too: an example's mean over runs lies between 0 and 1, so it varies no more than a single flip.
    """
    k, n = cases.mean(axis=0).sum(), cases.shape[1]
    exact = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    if len(cases) > 1:
        both = over_both([cases.mean(axis=1)], [cases.mean(axis=0)])
        return replace(both, high=float(np.fmax(both.high, exact)))
    return Estimate(k / n, float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0, exact)
