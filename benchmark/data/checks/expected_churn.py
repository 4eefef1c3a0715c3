"""The churn to expect of a table, from its properties: published models and what they predict.

A model is a line through families of datasets, fitted by the leaderboard (``leaderboard.tables.churn_lines``) and kept
in a file beside the published results, because nothing here may depend on the leaderboard. Shares are predicted on the
logit scale, and a regression's churn, in units of the standard deviation of its target, on the log scale.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from benchmark.errors import UserError
from benchmark.files import published_results
from benchmark.types import Sampling, Task

FILE = "expected.json"
Predictor = Literal["mean", "table", "knn"]
PREDICTORS: Mapping[Predictor, str] = {
    "mean": "mean of the other families",
    "table": "disagreement of neighbours and training rows",
    "knn": "churn of a k-NN between two halves",
}
"""What churn may be predicted from: nothing of the table; what it tells; or a measurement on it that takes a second.

Of the properties, those two have a reason: only molecules near others of another label can flip, and more rows settle
more of them. A k-NN's churn has both in it.
"""
FLOOR = 0.001
"""Smallest share, which has no logit below: half a flip among 500 molecules."""


@dataclass(frozen=True)
class Properties:
    """Properties of a dataset under one canonical split. None where rows are not molecules, or for another task.

    ``rows`` of the training pool; ``minority``, the share of its rarer class, or ``sd``, the standard deviation of its
    targets; ``scaffolds``, distinct Bemis–Murcko scaffolds per molecule of the pool; ``similarity`` of an ID test
    molecule to the nearest one of the pool, on average; ``conflicts``, the share of all rows whose molecule has other
    targets on other rows; ``disagreement`` of the five rows of the pool nearest to a test row: the chance that two of
    them differ in class, or the standard deviation of their targets in units of ``sd``; ``knn_churn``, the churn of a
    k-NN between two halves of the pool, a share of test rows or in units of ``sd``.
    """

    task: Task
    rows: int
    minority: float | None
    sd: float | None
    scaffolds: float | None
    similarity: float | None
    conflicts: float
    disagreement: float
    knn_churn: float
    problem: str = ""
    """Fingerprint of the data and split that they were computed from; empty if that has not been said."""


@dataclass(frozen=True)
class Model:
    """A line on the scale of ``link``: ``coefficients`` (P,), their ``covariance`` (P, P), the standard deviation
    ``spread`` of ``families`` families around it, with ``df`` degrees of freedom.

    ``method`` is the title of the method whose churn it predicts; ``reference`` says whether that is ERM.
    """

    sampling: Sampling
    task: Task
    method: str
    reference: bool
    predictor: Predictor
    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    spread: float
    df: int
    families: int


@dataclass(frozen=True)
class Expected:
    """A predicted churn with its 95 % interval for one new family: a share, or in standard deviations of the target."""

    value: float
    low: float
    high: float


def link(churn: float, task: Task) -> float:
    """Return the logit of a share, or the logarithm of a churn in units of the target's standard deviation.

    >>> link(0.5, "classification"), link(1.0, "regression")
    (0.0, 0.0)
    """
    if task == "regression":
        return float(np.log(max(churn, FLOOR)))
    share = min(max(churn, FLOOR), 1 - FLOOR)
    return float(np.log(share / (1 - share)))


def unlink(value: float, task: Task) -> float:
    """Return the churn whose ``link`` is ``value``."""
    return float(np.exp(value) if task == "regression" else 1 / (1 + np.exp(-value)))


def terms(of: Properties, predictor: Predictor) -> np.ndarray:
    """Return what the coefficients of a predictor are multiplied by, (P,); the first is 1."""
    if predictor == "mean":
        return np.ones(1)
    if predictor == "knn":
        return np.array([1, link(of.knn_churn, of.task)])
    return np.array([1, link(of.disagreement, of.task), np.log(of.rows)])


def predict(model: Model, x: np.ndarray) -> Expected:
    """Return the churn that ``model`` predicts at ``terms`` x (P,) for a new family, with Student's 95 % interval."""
    from scipy.special import stdtrit

    value = float(x @ np.array(model.coefficients))
    error = np.sqrt(model.spread**2 + x @ np.array(model.covariance) @ x)
    half = float(stdtrit(model.df, 0.975) * error)
    return Expected(*(unlink(end, model.task) for end in (value, value - half, value + half)))


def to_json(models: Sequence[Model], properties: Mapping[str, Properties | None]) -> str:
    """Return the content of ``FILE``: the models, and the properties of the datasets behind them by name."""
    content = {
        "models": [model.__dict__ for model in models],
        "properties": {name: of and of.__dict__ for name, of in sorted(properties.items())},
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


@cache
def published() -> tuple[tuple[Model, ...], Mapping[str, Properties | None]]:
    """Return the published models and properties, none without a file. Raises UserError for one that is damaged."""
    path = published_results() / FILE
    if not path.is_file():
        return (), {}
    try:
        content = json.loads(path.read_bytes())
        models = tuple(Model(**_tuples(fields)) for fields in content["models"])
        return models, {name: of and Properties(**of) for name, of in content["properties"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path} cannot be read: {error}: restore the file, or export the results again") from error


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    covariance = tuple(tuple(row) for row in fields["covariance"])
    return {**fields, "coefficients": tuple(fields["coefficients"]), "covariance": covariance}


def expectations(of: Properties, sampling: Sampling) -> list[tuple[Model, Expected]]:
    """Return the published models of a sampling with what they predict, ERM's first; none without models."""
    models = [model for model in published()[0] if (model.task, model.sampling) == (of.task, sampling)]
    models.sort(key=lambda model: not model.reference)
    return [(model, predict(model, terms(of, model.predictor))) for model in models]
