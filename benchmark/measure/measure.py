"""The form of a measure: a number computed from predictions, with its values by run, pair of runs or example.

Values are fractions, nats or target units, never percentages; ``scale`` is for display. Shapes: R retrainings, T test
examples, C classes. Undefined values, such as the churn of an absent class, are nan.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmark.measure.basics import mean_over_pairs
from benchmark.types import Predictions, Task

PP = ("pp", 100, 1)
"""Unit, scale and digits of a difference between shares: percentage points."""
Of = Callable[[Predictions], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A number computed from predictions, and its presentation.

    Exactly one of these is given: ``each`` (R, T), ``per_run`` (R,), or ``per_pair`` (R, R), symmetric with a zero
    diagonal.
    ``per_example`` returns the contributions (T,) of the examples, whose mean is the mean over runs or pairs; ``each``
    implies it. A measure without it has no interval over examples.
    """

    key: str
    name: str
    """The name within a sentence."""
    task: Task
    better: int
    """+1: higher is better; −1: lower is better; 0: neither."""
    each: Of | None = None
    per_run: Of | None = None
    per_pair: Of | None = None
    per_example: Of | None = None
    rows: Of | None = None
    """Marks the test examples (T,) that it is over; None for all."""
    whole: bool = False
    """True if the contribution of an example depends on the other examples."""
    unit: str = ""
    scale: float = 1
    digits: int = 3
    most: float = math.inf
    least: float = 0
    delta: tuple[str, float, int] | None = None
    """Unit, scale and digits of a difference, if they differ from those of the measure."""
    head: str = ""
    """The column header, if it is not the name with its unit."""
    help: str = ""
    needs_truth: bool = True
    needs_probabilities: bool = False
    board: bool = True
    """True if boards, summaries and ``score`` show it."""
    front: bool = False
    """True if it is among the first columns of the front page."""

    @property
    def title(self) -> str:
        return self.head or _with_unit(f"{self.name[:1].upper()}{self.name[1:]}", self.unit)

    @property
    def in_delta(self) -> tuple[str, float, int]:
        """Unit, scale and digits of a difference."""
        return self.delta or (self.unit, self.scale, self.digits)

    @property
    def shown_delta(self) -> tuple[str, float, int]:
        """Title, scale and digits of a difference."""
        unit, scale, digits = self.in_delta
        return _with_unit(f"Δ {self.name}", unit), scale, digits

    def of_runs(self, p: Predictions) -> np.ndarray:
        """Return the value for each run, (R,), or pair of runs, (R, R); under ``halves``, for each halving, (J,)."""
        if p.sampling == "halves":
            return once(p, ("halvings", self), lambda: self._of_halvings(p))
        return self._of_each(p)

    def _of_halvings(self, p: Predictions) -> np.ndarray:
        """Return the mean of the two runs of each halving, or the value of the pair, (J,)."""
        if self.per_pair:
            return np.array([pair for part in p.tens() for pair in self._of_each(part)[::2, 1::2].diagonal()])
        return np.asarray(self._of_each(p)[p.pairs()].mean(axis=1))

    def _of_each(self, p: Predictions) -> np.ndarray:
        """Return the value for each run, (R,), or pair of runs, (R, R), whatever the sampling."""
        if self.rows is not None:
            every, kept = replace(self, rows=None), self.rows(p)
            return once(
                p, ("runs", self), lambda: every._of_each(p.on(kept) if kept.any() else p) * (kept.any() or np.nan)
            )
        if (each := self.each) is not None:
            return once(p, ("runs", each), lambda: np.asarray(each(p).mean(axis=1)))
        function = self.per_run or self.per_pair
        assert function is not None, f"measure {self.key} has no function"
        return once(p, ("runs", function), lambda: function(p))

    @property
    def of_examples(self) -> Of | None:
        """The function for the contributions (T,) of the examples; None if the measure is not a mean over them."""
        each = self.each
        function = self.per_example if each is None else lambda p: np.asarray(each(p).mean(axis=0))
        return function and (lambda p: once(p, ("examples", self), lambda: self._contributions(p, function)))

    def _contributions(self, p: Predictions, function: Of) -> np.ndarray:
        """Return ``function`` of the predictions, under ``halves`` its mean over the halvings, on the ``rows``."""
        parts = [function(part) for part in (p.halvings() if p.sampling == "halves" else [p])]
        every = np.mean(parts, axis=0)
        return np.asarray(every if self.rows is None else every[self.rows(p)])

    def mean(self, p: Predictions) -> float:
        """Return the mean over runs or over pairs of runs; nan if there is no pair."""
        values = self.of_runs(p)
        return float(values.mean()) if values.ndim == 1 else mean_over_pairs(values)


def once(p: Predictions, key: object, compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the cached result of ``compute``, read-only."""
    if key not in p.computed:
        p.computed[key] = compute()
        p.computed[key].flags.writeable = False
    return p.computed[key]


def _with_unit(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title
