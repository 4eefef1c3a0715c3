"""One rule for the hyperparameter of every method, and the churn of each at equal accuracy. Beyond the paper.

The paper selects the λ of the twin so that it gives up accuracy for less churn, and leaves its baselines at their
defaults. Here the hyperparameter that trades accuracy for churn is selected by the same rule for all methods: the
setting with the least churn that costs no more accuracy than the tolerance of the paper's rule, relative to ERM on the
development set. Accuracies still differ, so the churn of each method is also interpolated between its settings to the
accuracy of ERM.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmark.data.spec import load_spec
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.registry import make_method
from benchmark.store.cell import Cell
from benchmark.study.context import Context, GridStudy, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow, both, head
from benchmark.study.selection import TOLERANCES, loss
from benchmark.study.text import mean, over, percent, summary
from benchmark.types import Sampling, Task


class Knob(NamedTuple):
    """A method and the hyperparameter that trades its accuracy for churn, with the values to try, in order."""

    method: str
    name: str
    values: Sequence[float]

    def text(self, value: float) -> str:
        """Return the method at one value, as on the command line."""
        return f"{self.method}:{self.name}={value:g}"

    def title(self, cell: Cell) -> str:
        """Return the title of the method without its hyperparameter, from one of its cells."""
        return re.split(rf",? (λ|{self.name})=|, {self.name}", cell.title, flags=re.IGNORECASE)[0]


LAMBDAS = {"classification": (3, 10, 30, 100, 300), "regression": (0.3, 1, 3, 10)}
KNOBS: Sequence[tuple[str, str, Sequence[float]]] = (
    ("svm", "C", (0.1, 0.3, 0.5, 0.7, 1, 2, 5)),
    ("multi_kernel", "C", (0.35, 0.5, 0.7, 1, 1.4, 2)),
    ("linear", "l2", (0.1, 1, 10, 100, 1000)),
    ("knn", "k", (1, 3, 5, 9, 15, 31)),
    ("random_forest", "leaf", (1, 2, 3, 5, 10)),
    ("gradient_boosting", "rate", (0.01, 0.03, 0.1, 0.3)),
    ("bagging", "k", (2, 5, 10)),
    ("deep_ensemble", "k", (2, 5, 10)),
    ("mc_dropout", "p", (0.1, 0.2, 0.5)),
    ("swa", "start", (0.25, 0.5, 0.75)),
)
COUPLED = ("twin", "twin_shared", "codistillation")
"""Methods with λ."""


def knobs_of(task: Task) -> list[Knob]:
    """Return the methods with their hyperparameters for a task."""
    return [*(Knob(*knob) for knob in KNOBS), *(Knob(name, "lam", LAMBDAS[task]) for name in COUPLED)]


@study("knobs", title="One rule for every method's hyperparameter")
class Knobs(GridStudy):
    seeds: str = "20"
    sampling: Sampling = "halves"

    def report(self, context: Context) -> Report:
        spec = load_spec(self.dataset)
        measures = QUALITY[spec.task], churn(spec.task)
        tolerance = TOLERANCES[spec.task][0]
        knobs = knobs_of(spec.task)
        texts = [knob.text(value) for knob in knobs for value in knob.values]
        cells = self.cells(context, ["erm", *texts], [self.dataset], self.sampling)
        erm = cells[self.dataset, "erm"]
        rows: list[SheetRow] = []
        series: dict[str, list[Point]] = {}
        at_equal: dict[str, float] = {}
        for knob in knobs:
            tried = {value: cells[self.dataset, knob.text(value)] for value in knob.values}
            usual = getattr(make_method(knob.method, spec.task, sampling=self.sampling).head, knob.name)
            chosen = selected(tried, erm, tolerance)
            title = knob.title(tried[knob.values[0]][0])
            equal = Sampled(equal_accuracy(list(tried.values()), erm))
            known = bool(np.isfinite(equal.values).all())
            at_equal |= {title: float(np.mean(equal.values))} if known else {}
            rows.append([title, *_at(knob, usual, tried), *_at(knob, chosen, tried), equal if known else "–"])
            series[title] = [Point(*both(setting), f"{value:g}", value == chosen) for value, setting in tried.items()]
        series["ERM"] = [Point(*both(erm))]
        best = min(at_equal, key=at_equal.__getitem__)
        lowest = f"{at_equal[best]:.3f}" if spec.task == "regression" else percent(at_equal[best], 1)
        of_erm = "MAE" if spec.task == "regression" else "accuracy"
        answer = (
            f"On {spec.title} ERM has {summary(erm)}. Among settings and mixtures of neighbouring settings with ERM's "
            f"{of_erm} or a better one, the lowest churn is that of {best}: {lowest}."
        )
        where = f"{spec.title}, {over(self.canonical_seed)}, sampling {self.sampling}, ID test"
        allowed = f"{tolerance:g} of MAE" if spec.task == "regression" else f"{100 * tolerance:g} pp of accuracy"
        caption = (
            f"{where}. Selected: the calmest setting that costs at most {allowed} relative to ERM. The last column is "
            f"the lowest churn at ERM's {of_erm} or a better one, on the line through a method's settings in their "
            "order."
        )
        header: list[str | Head] = ["Method", "Default", *map(head, measures), "Selected"]
        header += [Head(f"{measure.title}, selected", measure.scale, measure.digits) for measure in measures]
        header += [Head(f"{measures[1].title} at ERM's {of_erm}", measures[1].scale, measures[1].digits)]
        sheet = Sheet("selected", "Every method at its default and at its selected setting", caption, header, rows)
        x, y = (Axis(measure.title, measure.scale) for measure in measures)
        title = "Accuracy and churn along each hyperparameter"
        return Report([answer], [sheet], [Chart("frontier", title, f"{where}.", x, y, series)])


def _at(knob: Knob, value: float | None, tried: Mapping[float, Sequence[Cell]]) -> SheetRow:
    """Return a setting with its accuracy (or MAE) and churn, as far as they are known."""
    shown = "none" if value is None else f"{knob.name} = {value:g}"
    return [shown, *both(tried[value])] if value is not None and value in tried else [shown, "–", "–"]


def selected(tried: Mapping[float, Sequence[Cell]], erm: Sequence[Cell], tolerance: float) -> float | None:
    """Return the value with the least churn whose loss exceeds ERM's by at most ``tolerance``, or None."""
    admitted = [value for value, cells in tried.items() if loss(cells) - loss(erm) <= tolerance + 1e-9]
    return min(admitted, key=lambda value: mean("churn", tried[value]), default=None)


def churn_at(loss: float, losses: np.ndarray, churns: np.ndarray) -> float:
    """Return the lowest churn at a loss of at most ``loss`` on the line through settings, in order; nan without any.

    >>> churn_at(0.2, np.array([0.1, 0.3]), np.array([0.4, 0.2]))
    0.3
    """
    reached = list(churns[losses <= loss])
    for i in range(len(losses) - 1):
        (a, b), (c, d) = losses[i : i + 2], churns[i : i + 2]
        if min(a, b) < loss < max(a, b):
            reached.append(c + (d - c) * (loss - a) / (b - a))
    return float(min(reached, default=np.nan))


def equal_accuracy(tried: Sequence[Sequence[Cell]], erm: Sequence[Cell]) -> np.ndarray:
    """Return pseudo-values (R,) of the churn at ERM's loss, one for each retraining, or halving, that is left out."""
    runs = len(erm[0].key.seeds)
    width = 2 if erm[0].key.sampling == "halves" else 1

    def value(kept: Sequence[int]) -> float:
        def of(cells: Sequence[Cell]) -> tuple[float, float]:
            some = [cell.only([cell.key.seeds[i] for i in kept]) for cell in cells]
            return loss(some), mean("churn", some)

        points = np.array([of(cells) for cells in tried])
        return churn_at(of(erm)[0], points[:, 0], points[:, 1])

    whole, n = value(range(runs)), runs // width
    without = [value([i for i in range(runs) if i // width != j]) for j in range(n)]
    return n * whole - (n - 1) * np.array(without)
