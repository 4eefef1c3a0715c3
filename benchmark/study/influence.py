"""Training rows that a prediction hangs on: effects of their presence, estimated from complementary halves.

Two models trained on the two halves of a random halving differ by D = Σᵢ Sᵢ wᵢ + noise on a test molecule: D is the
difference of their probabilities of class 1, Sᵢ = ±1 tells which of the two had row i (0: neither), wᵢ is what the
presence of the row in one half and its absence from the other add to it. That is a linear datamodel (Ilyas et al. 2022,
arXiv:2202.00622). Over H halvings the mean of Sᵢ D is an unbiased estimate of wᵢ, with the standard error sd(D)/√H: too
large to pick a few of a thousand rows by. So each effect has a prior, learned from all rows and all test molecules at
once (empirical Bayes): a mixture of normal distributions whose centre and weights depend on the similarity of the row
to the molecule. Its widest parts are for the few rows that matter (Stephens 2017, doi:10.1093/biostatistics/kxw041).

Shapes: H halvings, N training rows, T test molecules, K claims (a row named for a molecule), M parts of the mixture.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, softmax

BANDS = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.85, 1.01)
"""Limits of the bands of Tanimoto similarity within which rows have one prior."""
WIDTHS = np.array([0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
"""Standard deviations of the parts of the prior (M,), in multiples of that of D."""
WEIGHT = 20
"""The weights of a band's parts count for as many rows before any is seen as those of the band below."""
LEAST = 0.05
"""Least effect of a named row: five points of the probability of class 1."""
CERTAIN = 0.95
"""Least posterior probability that the effect of a named row is that large, in the direction named."""
MOST = 5
"""Largest number of rows named for a molecule."""
LEVEL = 0.05
"""Level of the one-sided test of a named row on held-out halvings: the chance that a row without effect passes."""


class Effects(NamedTuple):
    """Posterior means (N, T) of w, in the unit of D, and the probability that |w| is ``LEAST`` in their direction."""

    mean: np.ndarray
    certainty: np.ndarray


class Seen(NamedTuple):
    """Claims as held-out halvings find them: mean effect with its 95 % interval, and one-sided p, each (K,)."""

    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray


def effects(halves: np.ndarray, differences: np.ndarray, similarity: np.ndarray, sign: np.ndarray) -> Effects:
    """Estimate the effects of rows from ``halves`` S (H, N) of −1, 0, 1 and ``differences`` D (H, T).

    ``similarity`` (N, T) chooses the prior; ``sign`` (N,) is that of the effect expected of a row on molecules like it,
    +1 for class 1 and −1 for class 0. A molecule whose D does not vary has no effects.
    """
    scale = differences.std(axis=0)
    single = halves.T @ (differences / np.where(scale > 0, scale, 1)) / len(halves)
    noise = 1 / len(halves)
    signed = single * sign[:, None]
    out = Effects(np.zeros_like(single), np.zeros_like(single))
    band = np.digitize(similarity, BANDS)
    bands, counts = np.unique(band, return_counts=True)
    centres = isotonic_regression([signed[band == b].mean() for b in bands], weights=counts).x
    weights = np.eye(len(WIDTHS))[0]
    for b, centre in zip(bands, centres, strict=True):
        inside = band == b
        weights = mixture(signed[inside] - centre, noise, weights)
        unit = np.broadcast_to(scale, similarity.shape)[inside]
        mean, above = posterior(signed[inside], centre, noise, weights, LEAST / np.where(unit > 0, unit, np.inf))
        out.mean[inside], out.certainty[inside] = mean * unit, np.where(unit > 0, above, 0)
    return Effects(out.mean * sign[:, None], out.certainty)


def mixture(values: np.ndarray, noise: float, before: np.ndarray) -> np.ndarray:
    """Return the weights (M,) of the parts of a mixture centred on 0, of which ``values`` (K,) were observed with the
    variance ``noise``: the mode of their posterior, by expectation and maximisation.

    ``before`` (M,) are weights that count for ``WEIGHT`` observations.
    """
    likely = stats.norm.logpdf(values[:, None], scale=np.sqrt(WIDTHS**2 + noise))
    weights = np.full(len(WIDTHS), 1 / len(WIDTHS))
    for _ in range(200):
        parts = softmax(likely + np.log(np.maximum(weights, 1e-300)), axis=1).sum(axis=0)
        weights = (parts + WEIGHT * before) / (len(values) + WEIGHT)
    return weights


def posterior(
    values: np.ndarray, centre: float, noise: float, weights: np.ndarray, least: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior means (K,) of effects, and the probability that they are ``least`` (K,) in its direction.

    ``values`` (K,) were observed with the variance ``noise``; the prior is the mixture around ``centre``.
    """
    prior = WIDTHS**2
    likely = stats.norm.logpdf(values[:, None], centre, np.sqrt(prior + noise))
    parts = softmax(likely + np.log(np.maximum(weights, 1e-300)), axis=1)
    means = centre + (values[:, None] - centre) * prior / (prior + noise)
    sds = np.sqrt(np.maximum(prior * noise / (prior + noise), 1e-12))
    mean = (parts * means).sum(axis=1)
    side = np.where(mean < 0, -1, 1)[:, None]
    return mean, (parts * ndtr((side * means - least[:, None]) / sds)).sum(axis=1)


def named(estimated: Effects) -> list[np.ndarray]:
    """Return the rows named for each molecule, strongest first: at most ``MOST`` whose effect is ``CERTAIN``."""
    strength = np.where(estimated.certainty >= CERTAIN, np.abs(estimated.mean), 0)
    order = np.argsort(-strength, axis=0, kind="stable")[:MOST]
    return [rows[strength[rows, t] > 0] for t, rows in enumerate(order.T)]


def seen(halves: np.ndarray, differences: np.ndarray, sign: np.ndarray) -> Seen:
    """Try claims on held-out halvings, with a paired t-test: a halving gives a model with the row and one without it.

    ``halves`` (H, K) are of the named rows, ``differences`` (H, K) of their molecules, ``sign`` (K,) is the claim.
    Halvings that left the row out are not used. Where the models never differ, p is 1.
    """
    effect, low, high = np.zeros((3, len(sign)))
    out = Seen(effect, low, high, np.ones(len(sign)))
    for k, s in enumerate(sign):
        used = halves[:, k] != 0
        values = halves[used, k] * differences[used, k]
        out.effect[k] = out.low[k] = out.high[k] = values.mean()
        if values.std() > 0:
            test = stats.ttest_1samp(values, 0, alternative="greater" if s > 0 else "less")
            out.p[k] = test.pvalue
            out.low[k], out.high[k] = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    return out
