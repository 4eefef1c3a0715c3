"""The churn to expect of a table: families of datasets, lines through them, and how well they predict a family that
they have not seen.

A family is one point: the means over its datasets, on the scale of ``link``. Two methods are predicted: ERM, and the
calmest that keeps accuracy, the first in the order of the first page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmark.data.checks.expected_churn import (
    PREDICTORS,
    Expected,
    Model,
    Predictor,
    Properties,
    link,
    predict,
    terms,
    to_json,
    unlink,
)
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.intervals import Estimate, jackknife
from benchmark.types import TASKS, Task
from leaderboard.read.properties import of_datasets
from leaderboard.read.results import AggregationUnit, Dataset, Results
from leaderboard.stats.least_squares import fit
from leaderboard.tables.order import lacking
from leaderboard.tables.summary import summaries

FEWEST = 8
"""Fewest families to fit a line to."""
COMPARED = 4
"""Fewest methods of a dataset, with all train seeds, for it to count."""


@dataclass(frozen=True)
class Point:
    """A family on one task: its datasets, their ``properties``, and the churn of each method by title, as a share or in
    standard deviations of the target. ``quality`` is ERM's accuracy, or its MAE in standard deviations."""

    family: str
    group: str
    """The group of families that most of its molecules share."""
    datasets: tuple[Dataset, ...]
    properties: tuple[Properties, ...]
    churns: Mapping[str, float]
    quality: float

    @property
    def title(self) -> str:
        first, *others = (dataset.title for dataset in self.datasets)
        return f"{first} and {len(others)} more" if others else first

    @property
    def task(self) -> Task:
        return self.datasets[0].task

    @property
    def papers(self) -> bool:
        """Whether it is one of the paper's families."""
        return any(dataset.group not in ("wide", "extra") for dataset in self.datasets)

    def terms(self, predictor: Predictor) -> np.ndarray:
        return np.mean([terms(p, predictor) for p in self.properties], axis=0)

    def value(self, name: str) -> float:
        """Return a property by the name of its field, or ``quality``, averaged over its datasets; nan without it."""
        if name == "quality":
            return self.quality
        values = [getattr(p, name) for p in self.properties]
        return float("nan") if None in values else float(np.mean(values))


@dataclass(frozen=True)
class Check:
    """Predictions for families left out, one for each of ``points``, beside the truth."""

    predictor: Predictor
    expected: tuple[Expected, ...]
    truth: tuple[float, ...]

    @property
    def errors(self) -> np.ndarray:
        """Distances (F,) of the predictions from the truth, in the unit of churn."""
        return np.abs([e.value - t for e, t in zip(self.expected, self.truth, strict=True)])

    @property
    def covered(self) -> int:
        """The number of families within their interval."""
        return sum(e.low <= t <= e.high for e, t in zip(self.expected, self.truth, strict=True))

    @property
    def width(self) -> float:
        return float(np.median([e.high - e.low for e in self.expected]))

    def gain(self, other: "Check") -> Estimate:
        """Return the mean difference of the errors from those of ``other``, with Student's interval over families."""
        return jackknife([self.errors - other.errors])


def methods_of(results: Results, task: Task) -> list[str]:
    """Return the titles of ERM and of the calmest method that keeps accuracy, if that is another."""
    summary = next((s for s in summaries(results) if s.task == task and s.placed), None)
    if summary is None or summary.reference is None:
        return []
    return list(dict.fromkeys([summary.reference.title, summary.placed[0].title]))


@lru_cache(maxsize=8)
def points(results: Results, task: Task) -> tuple[Point, ...]:
    """Return the families of a task whose datasets have ERM, enough methods, and known properties."""
    datasets = [d for d in results.of_task(task) if d.reference is not None]
    chosen = [d for d in datasets if sum(not e.control and not lacking(d, e) for e in d.entries) >= COMPARED]
    known = of_datasets(chosen)
    families: dict[str, list[Dataset]] = {}
    for dataset in chosen:
        if known[dataset.name] is not None:
            families.setdefault(dataset.family, []).append(dataset)
    titles = methods_of(results, task)
    return tuple(_point(some, [p for d in some if (p := known[d.name])], titles) for some in families.values())


def _point(datasets: list[Dataset], properties: list[Properties], titles: Sequence[str]) -> Point:
    task = datasets[0].task
    units = [known.sd or 1.0 for known in properties]
    churns = {}
    for title in titles:
        entries = [entry for dataset in datasets if (entry := dataset.entry(title)) is not None]
        if len(entries) == len(datasets):
            churn_of = [entry.mean(churn(task)) / unit for entry, unit in zip(entries, units, strict=True)]
            churns[title] = unlink(float(np.mean([link(value, task) for value in churn_of])), task)
    references = [dataset.reference for dataset in datasets if dataset.reference is not None]
    quality = [entry.mean(QUALITY[task]) / unit for entry, unit in zip(references, units, strict=True)]
    first = datasets[0]
    return Point(first.family, first.family_group, tuple(datasets), tuple(properties), churns, float(np.mean(quality)))


def model(families: Sequence[Point], title: str, predictor: Predictor, reference: bool) -> Model:
    """Fit the line of a method's churn through families. Raises ValueError for too few."""
    task, sampling = families[0].task, families[0].datasets[0].sampling
    terms = np.array([point.terms(predictor) for point in families])
    line = fit(terms, np.array([link(point.churns[title], task) for point in families]))
    covariance = tuple(tuple(row) for row in line.covariance.tolist())
    coefficients = tuple(line.coefficients.tolist())
    return Model(
        *(sampling, task, title, reference, predictor, coefficients, covariance, line.spread, line.df, len(families))
    )


def check(
    families: Sequence[Point], title: str, predictor: Predictor, unit: AggregationUnit = "family"
) -> Check | None:
    """Predict the churn of each family from those of another ``unit``.

    None where too few would be left, or where a property is the same for all, through which no line leads.
    """
    expected = []
    for point in families:
        others = [other for other in families if getattr(other, unit) != getattr(point, unit)]
        if len(others) < FEWEST - 1:
            return None
        try:
            fitted = model(others, title, predictor, True)
        except ValueError:
            return None
        expected.append(predict(fitted, point.terms(predictor)))
    return Check(predictor, tuple(expected), tuple(point.churns[title] for point in families)) if families else None


def with_method(results: Results, task: Task, title: str) -> list[Point]:
    return [point for point in points(results, task) if title in point.churns]


def best(results: Results, task: Task) -> Predictor | None:
    """Return what predicts ERM's churn on families left out with the smallest mean error; None for too few families."""
    titles = methods_of(results, task)
    checks = [check(with_method(results, task, titles[0]), titles[0], p) for p in PREDICTORS] if titles else []
    known = [c for c in checks if c is not None]
    return min(known, key=lambda c: float(c.errors.mean())).predictor if known else None


def models(results: Results) -> list[Model]:
    """Return the models to publish of one sampling: of ERM and the calmest method, for each task with families."""
    made = []
    for task in TASKS:
        predictor = best(results, task)
        for number, title in enumerate(methods_of(results, task) if predictor else []):
            families = with_method(results, task, title)
            if predictor and len(families) >= FEWEST:
                made.append(model(families, title, predictor, number == 0))
    return made


def content(results: Results) -> str:
    """Return the published file (``benchmark.data.checks.expected_churn``) of all samplings of ``results``."""
    known: dict[str, Properties | None] = {}
    for part in results.every:
        known |= of_datasets([dataset for task in TASKS for dataset in part.of_task(task)])
    return to_json([line for part in results.every for line in models(part)], known)
