"""Whether a candidate may replace a model: how many predictions would flip, for better or worse."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv  # scipy.stats takes seconds to import

from benchmark.errors import UserError
from leaderboard.scoring.review import join
from leaderboard.scoring.runs import Runs
from leaderboard.stats.intervals import Estimate, over_both

INTERVALS = {
    "one": "95 % Clopper-Pearson interval over examples: what these two models would do on other examples",
    "many": "95 % jackknife interval over runs and examples, with an upper end that is never below Clopper-Pearson's "
    "over examples: what other runs would do on other examples",
}


@dataclass(frozen=True)
class Gate:
    """Shares of all examples, by name: flips, and with truth bad (right before, wrong after), good, and other (wrong
    before and after); ``passed`` says whether all limits hold, ``reasons`` which do not.
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
    """Compare run by run: of several, those of equal name; shares must not be above their limits (0 to 1).

    With ``sure`` the upper end of the interval must not be either: see ``_estimate`` for why it is then above the share
    where nothing varies. Raises UserError for a regression, for runs whose
    names differ, for a limit on bad flips without truth, and for what ``join`` refuses.
    """
    if "values" in (baseline.kind, candidate.kind):
        raise UserError("a gate counts flips of classes, but these are values of a regression (see --kind)")
    r = len(baseline.names)
    if r != len(candidate.names) or (r > 1 and set(baseline.names) != set(candidate.names)):
        raise UserError(
            f"the runs differ: {', '.join(baseline.names)} in {baseline.source}, {', '.join(candidate.names)} in "
            f"{candidate.source}; one run each expected, or runs of the same names"
        )
    both = join(baseline, candidate)
    said = both.classes_said()
    after = [r + (candidate.names.index(name) if r > 1 else 0) for name in baseline.names]
    flips = said[:r] != said[after]
    kinds = {"flips": flips}
    if both.y is not None:
        old, new = said[:r] == both.y, said[after] == both.y
        kinds |= {"bad": old & ~new, "good": ~old & new, "other": flips & ~old & ~new}
    elif max_bad_flips is not None:
        raise UserError("--max-bad-flips needs true classes: give --truth, or a column y_true")
    estimates = {name: _estimate(found) for name, found in kinds.items()}
    reasons = []
    for name, limit in (("flips", max_flips), ("bad", max_bad_flips)):
        if limit is None:
            continue
        value = estimates[name].high if sure else estimates[name].value
        if value > limit + 1e-12:
            what = "bad flips" if name == "bad" else "flips"
            end = "the upper end of the interval, " if sure else ""
            reasons.append(f"{what}: {end}{value:.2%}{',' if sure else ''} is above {limit:.2%}")
    return Gate(estimates, flips.shape[1], r, not reasons, tuple(reasons), INTERVALS["one" if r == 1 else "many"])


def _estimate(found: np.ndarray) -> Estimate:
    """The share of ``found`` (R, T) with its interval.

    Of several runs the upper end is at least Clopper-Pearson's for T examples. Where no run or example differs from
    another, as where nothing flips, the jackknife sees no variance and its interval is the share itself: twenty
    examples without a flip would be certain never to flip, though one run of them says "up to 17 %". An example's mean
    over runs lies within 0 and 1, so that it varies at most as a single flip does, and this end holds for it too.
    """
    k, n = found.mean(axis=0).sum(), found.shape[1]
    exact = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    if len(found) > 1:
        both = over_both([found.mean(axis=1)], [found.mean(axis=0)])
        return replace(both, high=float(np.fmax(both.high, exact)))
    return Estimate(k / n, float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0, exact)
