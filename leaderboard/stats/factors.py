"""How much of a quantity goes with each factor of a grid, and with each pair of factors: an analysis of variance.

Values are (P, F), of P pipelines, which differ in factors such as their learner, on each of F families of datasets. A
grid of pipelines is not balanced, so what factors explain depends on the order in which they enter. It is averaged over
all orders in which factors come before pairs of factors (Lindeman, Merenda and Gold 1980; the Shapley value of each
term), and what factors explain together is shared equally. In a balanced grid, all orders give the same.

Families are a sample. Variances are therefore estimated without bias over families: of a mean square over F families,
the variance between them is taken off, divided by F, as in the classical analysis of a mixed model.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from benchmark.measure.intervals import Estimate, jackknife

FAMILY, REST = "family", "rest"
Term = tuple[str, ...]
"""One factor, or a pair of factors."""
T = TypeVar("T", bound=Term)


def told_apart(factors: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the factors, with their levels (P,), that not all others together determine."""
    rank = {name: _space(factors, [(other,) for other in factors if other != name]).shape[1] for name in factors}
    whole = _space(factors, [(name,) for name in factors]).shape[1]
    return tuple(name for name in factors if rank[name] < whole)


def shares(factors: Mapping[str, Sequence[str]], values: np.ndarray) -> dict[Term, Estimate]:
    """Return the share of the variance of ``values`` (P, F) that goes with each term, with 95 % intervals.

    Terms are the ``factors``, by the levels (P,) of pipelines, then ``FAMILY``, pairs of factors, pairs of a factor and
    ``FAMILY``, and ``REST``: more than two factors together, and chance. Left out are pairs of factors that add nothing
    to these two, and ``REST`` if the factors tell all pipelines apart. Estimates and Student's intervals are the
    jackknife's, for other families. A share that is truly zero can come out below 0. Raises ValueError unless all
    factors are ``told_apart`` and there are three families.
    """
    with threadpool_limits(limits=1):  # on more threads, eigenvectors differ by rounding, and the eighth digit by one
        if len(told_apart(factors)) < len(factors) or values.shape[1] < 3:
            raise ValueError("expected factors that can be told apart, and values of at least three families")
        mains = [(name,) for name in factors]
        rank = _space(factors, mains).shape[1]
        pairs = [pair for pair in combinations(factors, 2) if _space(factors, [*mains, pair]).shape[1] > rank]

        def explained(terms: Collection[Term]) -> np.ndarray:
            return _variances(_space(factors, terms), values)

        constant, everything = explained(()), _variances(np.eye(len(values)), values)
        of_mains = _averaged(mains, explained)
        of_pairs = _averaged(pairs, lambda terms: explained([*mains, *terms]))
        parts: dict[Term, np.ndarray] = {term: gain[0] for term, gain in of_mains.items()}
        parts |= {(FAMILY,): constant[1]} | {pair: gain[0] for pair, gain in of_pairs.items()}
        parts |= {(*term, FAMILY): gain[1] for term, gain in of_mains.items()}
        total = everything.sum(axis=0) - constant[0]
        if rank < len(values):
            parts[(REST,)] = total - sum(parts.values())
        n = values.shape[1]
        of = {term: np.divide(part, total, out=np.zeros_like(part), where=total > 0) for term, part in parts.items()}
        return {term: jackknife([n * part[0] - (n - 1) * part[1:]]) for term, part in of.items()}


def _space(factors: Mapping[str, Sequence[str]], terms: Collection[Term]) -> np.ndarray:
    """Return an orthonormal basis (P, rank) of the functions of the levels of ``terms``, the constant among them."""
    n = len(next(iter(factors.values())))
    alike = np.ones((n, n))  # in how many terms two pipelines are in the same cell
    for term in terms:
        _, cells = np.unique([factors[name] for name in term], axis=1, return_inverse=True)
        alike += np.equal.outer(cells.ravel(), cells.ravel())
    sizes, directions = np.linalg.eigh(alike)
    return np.asarray(directions[:, sizes > 1e-9 * sizes[-1]])


def _variances(basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return what a basis explains of the mean over families, and of the variance between them.

    Both are sums over pipelines, (2, 1 + F): of all families, and without each.
    """
    n = values.shape[1]
    seen = basis.T @ values
    counts = np.array([n, *[n - 1] * n])
    sums, squares = seen.sum(axis=1, keepdims=True), (seen**2).sum(axis=0)
    of_means = ((np.hstack([sums, sums - seen]) / counts) ** 2).sum(axis=0)
    between = (np.array([squares.sum(), *(squares.sum() - squares)]) / counts - of_means) * counts / (counts - 1)
    return np.array([of_means - between / counts, between])


def _averaged(terms: Sequence[T], explained: Callable[[Collection[T]], np.ndarray]) -> dict[T, np.ndarray]:
    """Return what each term adds to what is ``explained``, averaged over all orders of the terms."""
    k = len(terms)
    of_sets = {frozenset(some): explained(some) for size in range(k + 1) for some in combinations(terms, size)}
    return {
        term: sum(
            (of_sets[some | {term}] - known) / (k * comb(k - 1, len(some)))
            for some, known in of_sets.items()
            if term not in some
        )
        for term in terms
    }
