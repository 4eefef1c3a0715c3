"""What a table tells of the churn to come, before anything is trained on it.

Nothing here reads a label of a test set. The nearest neighbours of test rows in the training pool say the most: where
they disagree, two models may; and a k-NN, which trains in no time, can be retrained on two halves of the pool and its
flips counted (``knn_churn``).
"""

import numpy as np
import pandas as pd

from benchmark.data.checks.expected_churn import Properties
from benchmark.data.checks.nearest import comparable, ranked, tanimoto
from benchmark.data.rows import Rows, structures
from benchmark.data.spec import DatasetSpec
from benchmark.data.splits import Split
from benchmark.train.resampling import generator

NEIGHBOURS = 5
"""Neighbours that a k-NN averages, as those of the method of that name."""
HALVINGS = 10
"""Halvings of the pool over which a k-NN's churn is averaged: those of train seeds 1 to 20."""
MOST_PAIRS = 5 * 10**7
"""Test rows times rows of the training pool to compare, at most: of more, a sample of the test rows is compared."""
REACH = 64
"""Nearest rows of the pool that are remembered: half of it has 5 of them, but for one case in 10^12."""


def properties(spec: DatasetSpec, rows: Rows, split: Split, y: np.ndarray, conflicting: int) -> Properties | None:
    """Return the properties of used ``rows`` with labels ``y`` (N,), of which ``conflicting`` are in conflict.

    None for images, for which no neighbours are known, and for a pool of which a half has fewer than 5 rows.
    """
    train, test = split.train, split.tests["id"]
    if spec.features[0].startswith("pixels") or len(train) // 2 < NEIGHBOURS:
        return None
    most = max(1, MOST_PAIRS // len(train))
    if len(test) > most:
        test = np.random.default_rng(0).permutation(test)[:most]
    x, pool, kernel = comparable(spec, rows, test, train)
    labels = y[train].astype(np.float64)
    order = ranked(x, pool, kernel, REACH)
    share, sd = float(labels.mean()), float(labels.std())
    regression = spec.task == "regression"
    unit = (sd or 1.0) if regression else 1.0
    molecules = bool(spec.smiles)
    return Properties(
        task=spec.task,
        rows=len(train),
        minority=None if regression else min(share, 1 - share),
        sd=sd if regression else None,
        scaffolds=_scaffolds(rows.used, train) if molecules else None,
        similarity=_similarity(x, pool[order[:, 0]]) if molecules else None,
        conflicts=conflicting / len(y),
        disagreement=disagreement(labels[order[:, :NEIGHBOURS]], regression) / unit,
        knn_churn=knn_churn(order, labels, regression) / unit,
    )


def _scaffolds(used: pd.DataFrame, train: np.ndarray) -> float:
    """Return the number of distinct Bemis–Murcko scaffolds, the empty one of acyclic molecules included, per molecule
    (doi:10.1021/jm9602928)."""
    found = used["scaffold"].to_numpy()[train]
    if not any(found):  # another split has not computed them
        found = structures(used["canonical"].to_numpy()[train].tolist(), True, False)["scaffold"].to_numpy()
    return len(set(found)) / len(train)


def _similarity(bits: np.ndarray, others: np.ndarray) -> float:
    """Return the mean similarity of fingerprints (T, D) to ``others`` (T, D), each to the one beside it."""
    return float(np.mean([tanimoto(one[None], other[None])[0, 0] for one, other in zip(bits, others, strict=True)]))


def disagreement(labels: np.ndarray, regression: bool) -> float:
    """Return how the ``labels`` (T, k) of neighbours differ: the mean standard deviation, or chance that two differ.

    >>> disagreement(np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]), regression=False)
    0.3333333333333333
    """
    k = labels.shape[1]
    if regression:
        return float(labels.std(axis=1, ddof=1).mean())
    ones = labels.sum(axis=1)
    return float((2 * ones * (k - ones) / (k * (k - 1))).mean())


def knn_churn(order: np.ndarray, labels: np.ndarray, regression: bool) -> float:
    """Return the churn of a k-NN between two halves of the pool, averaged over halvings.

    ``order`` (T, M) are the rows of the pool nearest to each test row, the nearest first, and ``labels`` (N,) those of
    the pool. The halves are those of the sampling ``halves`` (``benchmark.train.resampling.sample_for``).
    """
    n, churns = len(labels), []
    for halving in range(1, HALVINGS + 1):
        shuffled = generator("halving", halving).permutation(n)
        halves = shuffled[: n // 2], shuffled[n // 2 : n // 2 * 2]
        first, second = (_predicted(order, labels, half) for half in halves)
        churns.append(np.abs(first - second).mean() if regression else ((first > 0.5) != (second > 0.5)).mean())
    return float(np.mean(churns))


def _predicted(order: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean label (T,) of the nearest ``NEIGHBOURS`` that are among ``rows``."""
    among = np.isin(np.arange(len(labels)), rows)[order]
    taken = among & (np.cumsum(among, axis=1) <= NEIGHBOURS)
    return np.asarray((labels[order] * taken).sum(axis=1) / taken.sum(axis=1))
