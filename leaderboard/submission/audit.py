"""What the predictions of a submission show about their origin, against those of the suite on the same examples.

Six numbers are compared with limits, which the suite's own methods stay clear of, with the exception named in
``LIMITS``. They are evidence, not proof: a number below its limit marks a row, and only ``--verify`` retrains it.

Shapes: R retrainings of one cell, T test examples.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from benchmark.measure.basics import predicted_class
from benchmark.measure.catalogue import QUALITY
from benchmark.measure.matched import class_shares
from benchmark.measure.measure import once
from benchmark.store.cell import Cell
from benchmark.types import PAPER, Predictions, Task
from leaderboard.read.results import submitted
from leaderboard.tables.boards import constant

LIMITS = {"copy": 1e-5, "mixture": 0.15, "alike": 1 / 3, "notch": 0.1, "unrelated": 2.7, "implausible": 0.35}
"""The number below which a submission gets a mark (see ``limits``, ``evidence``). They leave room below the smallest
number of the suite's own methods, over all published datasets and samplings, each compared with the others like a
submission, except with variants of one method (SWA and SWA-Gaussian):

- *copy*: 1.6e-5, of SWA on Tox21's AR-LBD, whose networks start as ERM's do and rank a rare class as these do; 5.9e-5
  of all other methods.
- *mixture*: 0.30, of a twin.
- *notch*: 0.11, of twin-shared networks of five epochs on CYP2C9, 0.19 of codistillation, and 0.26 of methods that do
  not couple models, of a tuned k-NN on Bioavailability. The cut at 0.5 is not judged under ``nested``, where coupled
  models learn to agree on the decision.
- *alike*: 0.61, of the multi-kernel SVM on BBBP, where it is the first with descriptors; 0.72 of all other methods.
- *unrelated*: 6.4 under ``halves`` at twenty train seeds, and 2.9 at ten (ridge regression on descriptors, FreeSolv);
  3.7 under ``nested`` and 4.3 under ``paper``, at ten. The exception are coupled networks (codistillation, twin-shared)
  of five epochs, which on 12 of 57 datasets depend on their initialisation so much more than on their rows that they
  would be marked, with -0.5 at the least. The control ``erm_whole``, whose retrainings all see the same rows, has at
  most 2.0. Chance alone reaches 2.7 once in a hundred submissions.
- *implausible*: for classes 0.58, of a k-NN (CYP2D6); for numbers 0.64, of ridge regression (FreeSolv).
"""
IMPLAUSIBLE_REGRESSION = 0.15
"""The limit of *implausible* for numbers, where better features can leave little of every other method's errors."""
RANKS = 3
"""How much more of the variance of ranks than of predictions a little noise makes up, where molecules lie close."""
TAILS = (0.05, 0.95)
"""Quantiles of a run between which its predictions are compared with those of others."""
OTHER_CUTS = (0.35, 0.4, 0.6, 0.65)
"""Cuts of the probability of class 1 where churn is compared with that at 0.5."""
OTHER_LISTS = (-0.3, -0.15, 0.15, 0.3)
"""How much shorter or longer lists are that matched churn is compared with, as a share of the rarer class."""
ENOUGH_FLIPS = 5
"""Flips between two retrainings, at the other cuts, that it takes for the ratio to say something."""
ENOUGH = 20
"""Train seeds at which one test set shows whether retrainings are related to the suite's of the same seed."""
MIN_METHODS = 3
"""Methods of the suite that it takes to tell what is usual on a dataset."""
SAME = 1e-6
"""Largest share of a run's variance that a copy leaves unexplained: noise of a thousandth of the standard deviation. Of
all published runs, two of ERM and SWA are the closest, with 1e-5, apart from variants of one method (SWA-Gaussian)."""


def marks(cell: Cell, published: Iterable[Cell]) -> tuple[str, ...]:
    """Return the marks of a submitted cell, in the order of ``LIMITS``."""
    rivals = [other for other in published if comparable(cell, other)]
    numbers = [evidence(cell, rivals, name) for name, p in cell.predictions.items() if not constant(p)]
    limit = limits(next(iter(cell.predictions.values())).task)
    return tuple(mark for mark in limit if any(of[mark] < limit[mark] for of in numbers if mark in of))


def limits(task: Task) -> Mapping[str, float]:
    """Return ``LIMITS``, with that of *implausible* for the task."""
    return {**LIMITS, "implausible": IMPLAUSIBLE_REGRESSION} if task == "regression" else LIMITS


def comparable(cell: Cell, other: Cell) -> bool:
    """Tell whether ``other`` has predictions of another method for the examples of ``cell``, under any sampling."""
    same = (other.key.dataset, other.key.problem) == (cell.key.dataset, cell.key.problem)
    return same and other.key.method != cell.key.method


def copied(p: Predictions, other: Predictions) -> tuple[int, int] | None:
    """Return the positions of a run of ``p`` and of the run of ``other`` that it copies (see ``SAME``), if any."""
    found = np.argwhere(_unexplained(_runs(p), _runs(other)) < SAME)
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None


def evidence(cell: Cell, rivals: Sequence[Cell], evalset: str, of: Iterable[str] = LIMITS) -> dict[str, float]:
    """Return the numbers ``of`` marks on one test set; empty if too few methods of the suite ran on the dataset.

    ``copy``: the share of a run's variance that the most similar run of ``rivals`` leaves unexplained, of the
    predictions between ``TAILS``, or a third of that of their ranks if less, whichever way rounded predictions tie: an
    increasing transformation hides a copy from the first.
    ``mixture``: the share that a weighted mean of these runs and the truth leaves unexplained, divided by the
    same for the most similar run; or this for the predictions with the same ranks that such a mean explains best.
    ``notch``: churn at the cut of decision, divided by the mean churn at other cuts of the same probabilities, over all
    test sets together, or half of matched churn divided by that of longer and shorter lists if less: predictions edited
    so that two files agree have none at that cut alone.
    ``alike``: the mean distance between two retrainings, divided by the smallest of the suite; 1 under ``paper``, where
    retrainings may see the same rows.
    ``unrelated``: how much more a run deviates from the mean run as the suite's runs of its own train seed do, than as
    those of other seeds, in standard deviations of a random assignment of seeds; with fewer than ``ENOUGH`` seeds that
    all have, over all test sets together, because one of them shows too little. Deviations count by their ranks,
    because a few examples far from all others would outweigh the rest. The suite's runs are those of all its pipelines,
    or of those with the same features, whichever relates more: on few molecules, ridge regression on MiniMol's
    embeddings deviates as others on these do, and not as those on fingerprints.
    ``implausible``: the share of the errors of the suite's most accurate method (its mean prediction) that it repeats;
    1 unless it is more accurate than that method.
    """
    suite = [other for other in rivals if not (submitted(other) or other.facts.study or other.facts.control)]
    peers = [other for other in suite if other.key.sampling == cell.key.sampling]
    if len({other.key.pipeline for other in peers}) < MIN_METHODS:
        return {}
    p, of_peers = cell.predictions[evalset], [other.predictions[evalset] for other in peers]
    every = [other.predictions[evalset] for other in rivals]
    numbers: dict[str, Callable[[], float]] = {
        "copy": lambda: min(_copy(p, every), _copied_order(p, every) / RANKS),
        "mixture": lambda: _mixture(p, every),
        "notch": lambda: _notch(cell),
        "alike": lambda: 1.0 if cell.key.sampling == PAPER else _spread(p) / min(map(_spread, of_peers)),
        "unrelated": lambda: _relation(cell, peers, evalset),
        "implausible": lambda: _shared_errors(p, of_peers),
    }
    return {mark: numbers[mark]() for mark in of}


def _copy(p: Predictions, others: Sequence[Predictions]) -> float:
    every = np.concatenate([_central(other) for other in others])
    return float(np.median(_unexplained(_central(p), every).min(axis=1)))


def _copied_order(p: Predictions, others: Sequence[Predictions]) -> float:
    """As ``_copy`` for ranks, averaged where the other run ties: published predictions are rounded."""
    ranks, every = _ranks(p), np.concatenate([_ranks(other) for other in others])
    shares = []
    for run, other in zip(ranks, every[_unexplained(ranks, every).argmin(axis=1)], strict=True):
        _, group, size = np.unique(other, return_inverse=True, return_counts=True)
        shares.append(_unexplained((np.bincount(group, run) / size)[None, group], other[None])[0, 0])
    return float(np.median(shares))


def _mixture(p: Predictions, others: Sequence[Predictions]) -> float:
    runs = [_runs(other) for other in others]
    every = np.concatenate(runs)
    parts = np.concatenate([every, [each.mean(axis=0) for each in runs], [p.y]])

    def share(predictions: np.ndarray) -> float:
        copied = float(np.median(_unexplained(predictions, every).min(axis=1)))
        return float(np.median([_held_out(run, parts) for run in predictions])) / max(copied, SAME)

    return min(share(_runs(p)), share(np.stack([_unwarped(order, parts) for order in _ranks(p)])))


def _unwarped(ranks: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the predictions (T,) with these ``ranks`` that a weighted mean of ``parts`` (N, T) explains best.

    The values of the mean are given out in the order of the ranks, and the mean is fitted to them anew.
    """
    from scipy.optimize import nnls

    centred = parts - parts.mean(axis=1, keepdims=True)
    mean, quantiles = centred.mean(axis=0), (ranks - 0.5) / len(ranks)
    for _ in range(3):
        run = np.quantile(mean, quantiles)
        mean = nnls(centred.T, run - run.mean(), maxiter=100 * len(parts))[0] @ centred
    return np.asarray(np.quantile(mean, quantiles))


def _notch(cell: Cell) -> float:
    """Return churn at 0.5 over that at ``OTHER_CUTS``; half of matched churn over that of ``OTHER_LISTS`` if less."""
    from scipy.stats import rankdata

    groups = [group for p in cell.predictions.values() for group in (p.halvings() if p.sampling == "halves" else [p])]
    if groups[0].task == "regression" or groups[0].values.shape[-1] > 2:
        return 1.0

    def above(group: Predictions, cut: float) -> np.ndarray:
        return _runs(group) > cut

    def listed(group: Predictions, change: float) -> np.ndarray:
        share = class_shares(group)[1]
        length = round(len(group.ids) * (share + change * min(share, 1 - share)))
        return np.asarray(rankdata(-_runs(group), axis=-1) <= length)

    def ratio(called: Callable[[Predictions, float], np.ndarray], here: float, others: Sequence[float]) -> float:
        def flips(cut: float) -> float:
            shares = [(called(group, cut).mean(axis=0), len(group.seeds)) for group in groups]
            return sum(float((2 * s * (1 - s)).sum()) * r / (r - 1) for s, r in shares)

        elsewhere = float(np.mean([flips(cut) for cut in others]))
        return flips(here) / elsewhere if elsewhere >= ENOUGH_FLIPS * len(groups) / len(cell.predictions) else 1.0

    at_half = 1.0 if cell.key.sampling == "nested" else ratio(above, 0.5, OTHER_CUTS)
    return min(at_half, ratio(listed, 0, OTHER_LISTS) / 2)


def _held_out(run: np.ndarray, parts: np.ndarray) -> float:
    """Return the share of the variance of ``run`` (T,) that a weighted mean of ``parts`` (N, T) leaves unexplained.

    The weights, at least 0, are fitted to one half of the examples and judged on the other: there can be more parts
    than examples, and then they would fit anything.
    """
    from scipy.optimize import nnls

    order = np.random.default_rng(0).permutation(len(run))
    halves = order[::2], order[1::2]
    left = 0.0
    for fit, judge in (halves, halves[::-1]):
        centre, level = parts[:, fit].mean(axis=1, keepdims=True), run[fit].mean()
        weights, _ = nnls((parts[:, fit] - centre).T, run[fit] - level, maxiter=100 * len(parts))
        left += float(np.square(run[judge] - level - weights @ (parts[:, judge] - centre)).sum())
    whole = float(np.square(run - run.mean()).sum())
    return left / whole if whole else 1.0  # a constant, to which ranks against all parts are unwarped


def _unexplained(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 − r² of each run of ``a`` (R, T) with each of ``b`` (R', T); 1 if they do not correlate positively."""
    r = _directions(a) @ _directions(b).T
    return 1 - np.square(np.maximum(r, 0))


def _spread(p: Predictions) -> float:
    """Return the mean distance between two retrainings that are compared, in standard deviations of the predictions."""
    every = _central(p)
    runs = [every[pair] for pair in p.pairs()] if p.sampling == "halves" else [every]
    apart = [np.abs(of[i] - of[:i]).mean() for of in runs for i in range(1, len(of))]
    counts = [i for of in runs for i in range(1, len(of))]
    return float(np.average(apart, weights=counts) / every.std(axis=1).mean())


def _relation(cell: Cell, peers: Sequence[Cell], evalset: str) -> float:
    from scipy.stats import rankdata

    seeds = sorted(set(cell.key.seeds).intersection(*(other.key.seeds for other in peers)))
    evalsets = [evalset] if len(seeds) >= ENOUGH else list(cell.predictions)
    key = "deviations", tuple(seeds), tuple(evalsets)

    def deviations(of: Cell) -> np.ndarray:
        runs = np.concatenate([_runs(of.only(seeds).predictions[name]) for name in evalsets], axis=1)
        return _directions(rankdata(runs - runs.mean(axis=0), axis=-1))

    ours, *theirs = (once(of.predictions[evalset], key, partial(deviations, of)) for of in (cell, *peers))
    alike: dict[str, list[np.ndarray]] = {}
    for peer, runs in zip(peers, theirs, strict=True):
        alike.setdefault(peer.key.features, []).append(runs)

    def related(runs: Sequence[np.ndarray]) -> float:
        relation = ours @ _directions(np.sum(runs, axis=0)).T
        centred = relation - relation.mean(axis=0) - relation.mean(axis=1, keepdims=True) + relation.mean()
        n = len(seeds)
        error = np.sqrt(np.square(centred).sum() / (n - 1)) / n  # of a random permutation (Hoeffding 1951)
        return float((np.trace(relation) / n - relation.mean()) / max(error, 1e-12))

    return max(map(related, [theirs, *(runs for runs in alike.values() if len(runs) >= MIN_METHODS)]))


def _shared_errors(p: Predictions, suite: Sequence[Predictions]) -> float:
    quality = QUALITY[p.task]
    best = max(suite, key=lambda of: quality.better * quality.mean(of))
    if quality.better * quality.mean(p) <= quality.better * quality.mean(best):
        return 1.0
    mean = _answers(best.values.mean(axis=0), p.task)
    errors = p.y - mean
    if not errors.any():
        return 1.0
    return float(1 - ((_answers(p.values, p.task) - mean) * errors).mean(axis=0).sum() / np.square(errors).sum())


def _answers(values: np.ndarray, task: Task) -> np.ndarray:
    return predicted_class(values) if task == "classification" else values[..., 0].astype(np.float64)


def _directions(runs: np.ndarray) -> np.ndarray:
    """Centre each run (…, T) and scale it to length 1; a constant one becomes 0."""
    centred = runs - runs.mean(axis=-1, keepdims=True)
    length = np.linalg.norm(centred, axis=-1, keepdims=True)
    return np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)


def _runs(p: Predictions) -> np.ndarray:
    """Return one number per example (R, T): the probability of the last class, or the prediction."""
    return p.values[..., -1].astype(np.float64)


def _central(p: Predictions) -> np.ndarray:
    """Return these numbers, the twentieth part at either end cut off: a few that lie far out would be all that counts.

    So it is where descriptors of a molecule have no bound, or few examples belong to the rarer class.
    """
    runs = _runs(p)
    return once(p, _central, lambda: np.clip(runs, *np.quantile(runs, TAILS, axis=-1, keepdims=True)))


def _ranks(p: Predictions) -> np.ndarray:
    """Return the ranks of these numbers (R, T), which no increasing transformation of the predictions changes."""
    from scipy.stats import rankdata

    return once(p, _ranks, lambda: np.asarray(rankdata(_runs(p), axis=-1)))
