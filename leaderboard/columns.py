"""What the tables show: a quantity is one value, a column shows it, absolute or against ERM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmark import metrics
from benchmark import quantities as q
from benchmark.types import Cell, Predictions, Task
from leaderboard.results import Dataset, Entry
from leaderboard.stats.intervals import Estimate, Kind, difference, jackknife, over_both, over_examples, pair_bootstrap
from leaderboard.table import Value

Pair = tuple[Cell, Cell | None]
"""A method's cell on one canonical split, and the reference's there, None if it shares no train seed."""


@dataclass(frozen=True)
class Quantity:
    """A number of a cell's predictions: ``runs`` gives it for each run (R,) or pair of runs (R, R).

    ``examples`` gives the contributions of the examples, whose mean is the mean of ``runs``; None where the quantity
    is no mean over examples, so that only an interval over runs is defined. It lies between 0 and ``most``.
    """

    runs: Callable[[Predictions], np.ndarray]
    examples: Callable[[Predictions], np.ndarray] | None = None
    most: float = np.inf

    def estimate(self, splits: Sequence[tuple[Predictions, Predictions | None]], kind: Kind) -> Estimate:
        """The mean over ``splits`` of the first, less the second where there is one (at equal seeds), with interval."""

        def of(measure: Callable[[Predictions], np.ndarray]) -> list[np.ndarray]:
            return [measure(a) if b is None else difference(measure(a), measure(b)) for a, b in splits]

        return interval(kind, lambda: of(self.runs), partial(of, self.examples) if self.examples else None)


Arrays = Callable[[], Sequence[np.ndarray]]


def interval(kind: Kind, runs: Arrays, examples: Arrays | None) -> Estimate:
    """The mean over splits with an interval of ``kind``; where ``examples`` are None, over runs at the least.

    Both are functions, because only what the kind needs is computed.
    """
    if kind == "paper":
        return pair_bootstrap(runs())
    if kind == "runs" or examples is None:
        return jackknife(runs())
    return over_examples(examples()) if kind == "examples" else over_both(runs(), examples())


def churn_given(label: int) -> Quantity:
    """Churn over the test examples of true class ``label``."""
    return Quantity(lambda p: q.churn_of_class(p, label), lambda p: q.example_churn(p)[p.y == label])


def drift(of_run: Callable[[Predictions], np.ndarray]) -> Quantity:
    """|Δ| between two retrainings of a per-run quantity."""
    return Quantity(lambda p: q.drift(of_run(p)))


def accuracy(p: Predictions) -> np.ndarray:
    return metrics.accuracy(p.values, p.y)


def churn(p: Predictions) -> np.ndarray:
    return metrics.PAIRWISE[p.task]["churn"](p.values)


ACCURACY = Quantity(accuracy, q.example_accuracy, most=1)
CHURN = Quantity(churn, q.example_churn)
SYM_KL = Quantity(lambda p: metrics.sym_kl(p.values), q.example_sym_kl)
MAE = Quantity(lambda p: metrics.mae(p.values, p.y), q.example_error)
JACCARD = Quantity(q.top_jaccard, most=1)
HIT_RATE = Quantity(q.hit_rate, most=1)


@dataclass(frozen=True)
class Column:
    """One column. ``better`` says which way is good, ``scale`` and ``digits`` how the number is written.

    Without a ``quantity`` it shows the compute of a cell. ``versus`` shows the difference to ERM.
    """

    key: str
    title: str
    task: Task
    quantity: Quantity | None
    better: int
    """+1: higher is better; −1: lower is better."""
    scale: float = 1
    digits: int = 3
    versus: bool = False
    help: str = ""

    def value(self, pairs: Sequence[Pair], evalset: str = "id", kind: Kind = "runs") -> Estimate | None:
        """The estimate over splits; of a difference over those that have both, and none for ERM itself."""
        if self.quantity is None:
            return compute(pairs)
        if not self.versus:
            return self.quantity.estimate([(cell.predictions[evalset], None) for cell, _ in pairs], kind)
        both = matched(pairs, evalset)
        return self.quantity.estimate(both, kind) if both else None

    def show(self, estimate: Estimate | None) -> Value:
        most = self.quantity.most if self.quantity and not self.versus else np.inf
        return Value.of(estimate, self.scale, self.digits, self.versus, most)


def pairs_of(dataset: Dataset, entry: Entry) -> list[Pair]:
    """The cells of ``entry``, each with ERM's on the same split."""
    erm = dataset.reference.cells if dataset.reference else {}
    return [(cell, _comparable(cell, erm.get(seed))) for seed, cell in entry.cells.items()]


def _comparable(cell: Cell, erm: Cell | None) -> Cell | None:
    return erm if erm is not None and set(cell.key.seeds) & set(erm.key.seeds) else None


def matched(pairs: Sequence[Pair], evalset: str = "id") -> list[tuple[Predictions, Predictions]]:
    """The predictions of method and ERM at the train seeds of both, on each split that has both; empty for ERM."""
    return [
        (common(cell, erm).predictions[evalset], common(erm, cell).predictions[evalset])
        for cell, erm in pairs
        if erm is not None and erm is not cell
    ]


def common(cell: Cell, other: Cell) -> Cell:
    """``cell`` with only the train seeds that ``other`` has too, in ascending order."""
    return cell.only(set(cell.key.seeds) & set(other.key.seeds))


def compute(pairs: Sequence[Pair]) -> Estimate | None:
    """CPU time of one training in multiples of ERM's, averaged over splits."""
    ratios = [cell.fit_seconds / erm.fit_seconds for cell, erm in pairs if erm is not None and erm.fit_seconds > 0]
    return Estimate(float(np.mean(ratios)), np.nan, np.nan) if ratios else None


COMPUTE_HELP = "measured CPU time of one retraining, in multiples of ERM's"
FLIP_HELP = "share of test predictions whose class differs between two retrainings, mean over all pairs"
DIFFERENCE_HELP = "mean absolute difference of two retrainings"
COLUMNS = (
    Column("accuracy", "Accuracy", "classification", ACCURACY, +1),
    Column("delta_accuracy", "Δ accuracy (pp)", "classification", ACCURACY, +1, 100, 1, versus=True),
    Column("churn", "Churn (%)", "classification", CHURN, -1, 100, 1, help=FLIP_HELP),
    Column("delta_churn", "Δ churn (pp)", "classification", CHURN, -1, 100, 1, versus=True),
    Column("sym_kl", "Sym-KL (nats)", "classification", SYM_KL, -1),
    Column("delta_sym_kl", "Δ sym-KL (nats)", "classification", SYM_KL, -1, versus=True),
    Column("compute", "Compute (× ERM)", "classification", None, -1, digits=1, help=COMPUTE_HELP),
    Column("mae", "MAE", "regression", MAE, -1),
    Column("delta_mae", "Δ MAE", "regression", MAE, -1, versus=True),
    Column("churn", "Churn |f − f′|", "regression", CHURN, -1, help=DIFFERENCE_HELP),
    Column("delta_churn", "Δ churn", "regression", CHURN, -1, versus=True),
    Column("compute", "Compute (× ERM)", "regression", None, -1, digits=1, help=COMPUTE_HELP),
)
"""The columns of a dataset's board."""
