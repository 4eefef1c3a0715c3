"""The selection rule: the largest λ that costs no more accuracy than a tolerance (paper, section Methods,
"Hyperparameter selection").
"""

from collections.abc import Mapping, Sequence

from benchmark.data.spec import load_spec
from benchmark.store.cell import Cell
from benchmark.study.context import Context, GridStudy
from benchmark.study.text import mean
from benchmark.types import Task

LAMBDAS: Mapping[Task, tuple[float, ...]] = {"classification": (1, 3, 10, 30, 100, 300), "regression": (1, 3)}
TOLERANCES: Mapping[Task, tuple[float, ...]] = {"classification": (0.02, 0.01, 0.005), "regression": (0.04,)}
"""Tolerated fall in accuracy (fraction) or rise in MAE (target units); the first is the paper's."""


def loss(cells: Sequence[Cell]) -> float:
    """Return 1 − accuracy, or the MAE, on the ID test: mean over splits and retrainings."""
    if cells[0].predictions["id"].task == "regression":
        return mean("mae", cells)
    return 1 - mean("accuracy", cells)


def select(losses: Mapping[float, float], erm: float, tolerance: float) -> float | None:
    """Return the largest λ whose loss exceeds ERM's by at most ``tolerance``, or None.

    >>> select({1: 0.20, 10: 0.21, 100: 0.25}, erm=0.20, tolerance=0.02)
    10
    """
    return max((lam for lam, value in losses.items() if value - erm <= tolerance + 1e-9), default=None)


def largest(study: GridStudy, context: Context, text: str, erm: Sequence[Cell]) -> tuple[float, Sequence[Cell]] | None:
    """Return the λ that the rule selects on the dataset of ``study``, and its cells; None if it admits none.

    ``text`` is the method, such as "twin:lam={lam:g}". λ is lowered until it is admitted; smaller ones are not trained.
    """
    task = load_spec(study.dataset).task
    for lam in sorted(LAMBDAS[task], reverse=True):
        method = text.format(lam=lam)
        cells = study.cells(context, [method], [study.dataset])[study.dataset, method]
        if select({lam: loss(cells)}, loss(erm), TOLERANCES[task][0]) is not None:
            return lam, cells
    return None
