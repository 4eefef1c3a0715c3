"""Which rows a prediction hangs on: against the textbook's posterior, and on simulations whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from benchmark.study import influence

H, N, T = 120, 300, 40


class World:
    """Predictions that hang on rows in a known way: weakly on all that are similar, strongly on a few that are not."""

    def __init__(self, seed: int, strength: float = 1.0):
        rng = np.random.default_rng(seed)
        self.sign = rng.choice([-1.0, 1.0], N)
        self.similarity = rng.beta(2, 8, (N, T))
        self.truth = 0.02 * rng.standard_normal((N, T))
        self.truth += 0.04 * self.sign[:, None] * (self.similarity > 0.4)
        self.loners = [rng.choice(np.flatnonzero(self.similarity[:, t] < 0.2), 2, replace=False) for t in range(T)]
        for t, rows in enumerate(self.loners):
            self.truth[rows, t] += 0.25 * rng.choice([-1, 1], 2)
        self.truth *= strength
        self.rng = rng

    def halvings(self, n: int = H) -> tuple[np.ndarray, np.ndarray]:
        halves = np.array([self.rng.permutation(np.repeat([-1, 1], N // 2)) for _ in range(n)], dtype=np.int8)
        return halves, halves @ self.truth + 0.3 * self.rng.standard_normal((n, T))


def test_the_posterior_of_an_effect_is_that_of_its_mixture_by_quadrature() -> None:
    weights = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
    values, centre, noise, least = np.array([0.35, -0.2, 0.05]), 0.04, 0.01, np.array([0.1, 0.1, 0.02])
    mean, above = influence.posterior(values, centre, noise, weights, least)
    w = np.linspace(-4, 4, 800_001)
    spread = np.where(influence.WIDTHS > 0, influence.WIDTHS, 1e-4)  # a point mass, nearly
    prior = sum(p * stats.norm.pdf(w, centre, s) for p, s in zip(weights, spread, strict=True))
    for k, value in enumerate(values):
        density = prior * stats.norm.pdf(value, w, np.sqrt(noise))
        density /= density.sum()
        expected = (w * density).sum()
        assert mean[k] == pytest.approx(expected, abs=1e-4)
        assert above[k] == pytest.approx(density[np.sign(expected) * w >= least[k]].sum(), abs=1e-3)


def test_the_weights_of_a_mixture_are_found_again() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([0.8, 0, 0, 0, 0.15, 0, 0.05])
    widths = influence.WIDTHS[rng.choice(len(truth), 20_000, p=truth)]
    values = rng.standard_normal(20_000) * np.sqrt(widths**2 + 0.001)
    found = influence.mixture(values, 0.001, np.eye(len(truth))[0])
    assert (found * influence.WIDTHS**2).sum() == pytest.approx((truth * influence.WIDTHS**2).sum(), rel=0.1)
    assert found[:3].sum() == pytest.approx(0.8, abs=0.03)
    assert found[-1] == pytest.approx(0.05, abs=0.02)


def test_few_values_leave_the_weights_of_the_band_below() -> None:
    before = np.array([0.3, 0, 0, 0.7, 0, 0, 0])
    assert influence.mixture(np.array([0.01]), 0.01, before) == pytest.approx(before, abs=0.05)


def test_named_rows_are_those_with_an_effect_whether_similar_or_not() -> None:
    right, found_loners = [], []
    for seed in range(3):
        world = World(seed)
        found = influence.effects(*world.halvings(), world.similarity, world.sign)
        for t, rows in enumerate(influence.named(found)):
            assert len(rows) <= influence.MOST
            strengths = np.abs(found.mean[rows, t])
            assert (np.diff(strengths) <= 0).all()
            right += [*(np.sign(found.mean[rows, t]) * world.truth[rows, t] > influence.LEAST)]
            found_loners += [*np.isin(world.loners[t], rows)]
    assert np.mean(right) >= influence.CERTAIN
    assert np.mean(found_loners) > 0.5  # the nearest rows have none of them


def test_named_rows_are_confirmed_by_held_out_halvings_far_more_often_than_the_nearest() -> None:
    world = World(2)
    found = influence.effects(*world.halvings(), world.similarity, world.sign)
    rows = influence.named(found)
    nearest = [np.argsort(-world.similarity[:, t])[: len(some)] for t, some in enumerate(rows)]
    signs = [np.sign(found.mean[some, t]) for t, some in enumerate(rows)]
    halves, differences = world.halvings()
    of = np.repeat(np.arange(T), [len(some) for some in rows])
    named, near = (
        influence.seen(halves[:, np.concatenate(some)], differences[:, of], np.concatenate(sign)).p
        for some, sign in ((rows, signs), (nearest, [world.sign[some] for some in nearest]))
    )
    assert np.mean(named <= influence.LEVEL) > 2 * np.mean(near <= influence.LEVEL)


@pytest.mark.long
def test_rows_without_effect_are_seldom_named_and_confirmed_at_the_level_of_the_test() -> None:
    world = World(3, strength=0.0)
    found = influence.effects(*world.halvings(), world.similarity, world.sign)
    assert sum(map(len, influence.named(found))) < 0.1 * T
    halves, differences = world.halvings(100)
    passed = []
    for t in range(T):
        claims = influence.seen(halves, np.repeat(differences[:, [t]], N, axis=1), world.sign)
        passed += [*(claims.p <= influence.LEVEL)]
    assert np.mean(passed) == pytest.approx(influence.LEVEL, abs=0.01)


def test_a_claim_is_tried_by_a_paired_t_test_on_the_halvings_that_used_its_row() -> None:
    halves = np.array([[1, 0], [-1, 1], [1, -1], [0, 1], [-1, 1]])
    differences = np.array([[0.3, 9.0], [-0.1, 0.2], [0.4, 0.1], [9.0, 0.3], [0.1, 0.2]])
    seen = influence.seen(halves, differences, np.array([1.0, -1.0]))
    with_row = np.array([0.3, 0.1, 0.4, -0.1])
    assert seen.effect[0] == pytest.approx(with_row.mean())
    t = with_row.mean() / (with_row.std(ddof=1) / 2)
    assert seen.p[0] == pytest.approx(stats.t.sf(t, 3))
    half = stats.t.ppf(0.975, 3) * with_row.std(ddof=1) / 2
    assert (seen.low[0], seen.high[0]) == pytest.approx((with_row.mean() - half, with_row.mean() + half))
    assert seen.effect[1] == pytest.approx(np.mean([0.2, -0.1, 0.3, 0.2]))
    assert seen.p[1] > 0.5  # the claim was a negative effect


def test_a_molecule_whose_models_never_differ_has_no_named_row_and_confirms_none() -> None:
    world = World(4)
    halves, differences = world.halvings()
    differences[:, 5] = 0
    found = influence.effects(halves, differences, world.similarity, world.sign)
    assert not found.mean[:, 5].any()
    assert len(influence.named(found)[5]) == 0
    assert influence.seen(halves[:, :1], differences[:, [5]], np.ones(1)).p.tolist() == [1.0]
