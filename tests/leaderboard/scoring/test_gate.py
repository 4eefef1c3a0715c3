"""The interval of a gate with several runs, against hand calculation and simulations with a known share of flips."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from benchmark.errors import UserError
from benchmark.measure.intervals import Estimate
from leaderboard.scoring.gate import gate
from leaderboard.scoring.runs import Runs

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def flips_of(cases: np.ndarray) -> Estimate:
    """The gate's estimate for models that differ where ``cases`` (R, T) says so."""
    old = np.broadcast_to(np.arange(cases.shape[1]) % 2, cases.shape)
    return gate(Runs.of(old), Runs.of(old ^ cases), 1.0).estimates["flips"]


def clopper_pearson(k: float, n: float) -> tuple[float, float]:
    return stats.beta.ppf(0.025, k, n - k + 1), stats.beta.ppf(0.975, k + 1, n - k)


def probit(mean: float, molecules: float, runs: float) -> tuple[Draw, float]:
    """Flips where a latent value exceeds 0, with standard deviations between molecules and runs, 1 of each pair."""

    def draw(rng: np.random.Generator, r: int, t: int) -> np.ndarray:
        latent = mean + molecules * rng.normal(size=t) + runs * rng.normal(size=(r, 1)) + rng.normal(size=(r, t))
        return latent > 0

    return draw, float(stats.norm.cdf(mean / np.sqrt(1 + molecules**2 + runs**2)))


def certain(share: float) -> tuple[Draw, float]:
    """Some molecules flip in every run, some others in one of ten."""

    def draw(rng: np.random.Generator, r: int, t: int) -> np.ndarray:
        chance = np.where(rng.random(t) < share, 1, 0.1 * (rng.random(t) < 0.02))
        return rng.random((r, t)) < chance

    return draw, share + (1 - share) * 0.002


@pytest.mark.parametrize(("r", "t"), [(2, 60), (10, 300)])
def test_with_several_runs_it_is_clopper_and_pearsons_for_the_effective_number_of_predictions(r: int, t: int) -> None:
    cases = probit(-1.5, 1, 0.4)[0](np.random.default_rng(r), r, t)
    share, over_runs, over_examples = cases.mean(), stats.sem(cases.mean(axis=1)), stats.sem(cases.mean(axis=0))
    spread = over_runs**2 + over_examples**2
    df = spread**2 / (over_runs**4 / (r - 1) + over_examples**4 / (t - 1))
    n = share * (1 - share) / spread * (stats.t.ppf(0.975, t - 1) / stats.t.ppf(0.975, df)) ** 2
    assert n < r * t
    found = flips_of(cases)
    assert found.value == pytest.approx(share)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(n * share, n))


@pytest.mark.parametrize("r", [3, 10])
@pytest.mark.parametrize(
    ("draw", "truth"),
    [probit(-1.5, 0.8, 0), probit(-1.7, 1, 0.4), probit(-3.4, 1.5, 0.6), certain(0.005), certain(0.05)],
    ids=["molecules differ", "runs differ too", "few flip", "few always flip", "some always flip"],
)
def test_it_covers_the_share_of_flips_for_other_molecules_and_other_runs(draw: Draw, truth: float, r: int) -> None:
    rng = np.random.default_rng(r)
    estimates = [flips_of(draw(rng, r, 200)) for _ in range(200)]
    assert np.mean([e.low <= truth <= e.high for e in estimates]) >= 0.92
    assert np.mean([e.high < truth for e in estimates]) <= 0.06


@pytest.mark.parametrize("flipping", [0, 1, 7])
def test_where_few_examples_flip_more_runs_are_no_more_examples(flipping: int) -> None:
    cases = np.zeros((10, 400), dtype=bool)
    cases[np.arange(flipping), np.arange(flipping)] = True  # each in one run of ten
    found = flips_of(cases)
    assert found.high == pytest.approx(stats.beta.ppf(0.975, flipping / 10 + 1, 400 - flipping / 10))
    assert found.low <= found.value == flipping / 4000


def test_runs_that_differ_as_a_whole_leave_the_share_open_though_all_examples_are_alike() -> None:
    found = flips_of(np.array([[False] * 50, [True] * 50]))
    assert (found.low, found.value, found.high) == (pytest.approx(0, abs=0.01), 0.5, pytest.approx(1, abs=0.01))


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_if_nothing_or_everything_flips_the_other_end_is_exact(runs: int) -> None:
    none, every = (flips_of(np.full((runs, 20), flips)) for flips in (False, True))
    assert (none.low, none.value, every.value, every.high) == (0, 0, 1, 1)
    assert (1 - none.high, every.low) == pytest.approx((0.025 ** (1 / 20), 0.025 ** (1 / 20)))


def test_of_one_run_good_and_bad_flips_have_clopper_and_pearsons_intervals() -> None:
    y, old, new = np.zeros((3, 100), dtype=int)
    old[:3], new[10:15] = 1, 1
    tables = Runs.of(old[None], y), Runs.of(new[None], y)
    outcome = gate(*tables, 0.08, by_estimate=True)
    for name, count in {"flips": 8, "bad": 5, "good": 3}.items():
        found = outcome.estimates[name]
        assert (found.value, found.low, found.high) == pytest.approx((count / 100, *clopper_pearson(count, 100)))
    assert outcome.passed
    assert (gate(*tables, 0.08).passed, gate(*tables, 0.08).undecided) == (False, True)


PIC50 = 6 + np.random.default_rng(0).normal(size=200)
UNITS = {
    "nM": 10 ** (9 - PIC50),
    "the negative": -PIC50,
    "thousandths": PIC50 / 1000,
    "thousands": 1000 * PIC50,
    "natural logarithms": PIC50 * np.log(10),
    "classes": np.digitize(PIC50, (5.5, 6.5)),
}
TRUTHS = {unit: (truth, r"as if they were in other units.*or give --tolerance") for unit, truth in UNITS.items()}
TRUTHS["a missing value"] = (
    np.where(np.arange(200) == 7, -999, PIC50),
    r"-999 stands in 1 true value, far from the others .* give --tolerance",
)


@pytest.mark.parametrize("truth", TRUTHS)
def test_the_error_is_no_tolerance_if_the_truth_has_another_unit_or_a_missing_value(truth: str) -> None:
    y, message = TRUTHS[truth]
    of = [PIC50 + 0.3 * np.random.default_rng(r).normal(size=(1, 200)) for r in range(2)]
    models = [Runs.of(values, y.astype(float)) for values in of]
    with pytest.raises(UserError, match=message):
        gate(*models, 0.05)
    assert gate(*models, 1.0, tolerance=0.3).tolerance == 0.3


def test_a_weak_regression_and_one_of_capped_values_still_have_their_error_as_tolerance() -> None:
    of = [0.3 * PIC50 + 4 + 0.3 * np.random.default_rng(r + 5).normal(size=(1, 200)) for r in range(2)]
    assert gate(*(Runs.of(values, PIC50) for values in of), 1.0).tolerance == pytest.approx(0.6, abs=0.06)
    capped = np.where(np.arange(200) % 9 == 0, 1000, 100 * (PIC50 - PIC50.min()))
    assert gate(*(Runs.of(capped[None] + r, capped) for r in (5.0, 9.0)), 1.0).tolerance == pytest.approx(5)


@pytest.mark.parametrize("tolerance", [0, -1, np.inf, np.nan])
def test_a_tolerance_that_nothing_or_everything_passes_is_refused(tolerance: float) -> None:
    values = Runs.of(PIC50[None])
    with pytest.raises(UserError, match="expected a positive number in the target's unit"):
        gate(values, values, 0.1, tolerance=tolerance)
