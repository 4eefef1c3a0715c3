"""The sentences of the page on what churn to expect, from the same numbers as its tables."""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmark.data.checks.expected import PREDICTORS
from benchmark.types import TASKS, Sampling, Task
from leaderboard.read.results import Results
from leaderboard.tables.bodies.expected import correlation, scale_of, shown
from leaderboard.tables.expected import Point, best, check, models, with_method
from leaderboard.tables.layouts import listed
from leaderboard.tables.table import Value, spelled

TRAINED_ON: Mapping[Sampling, str] = {
    "halves": "the two halves of the training rows",
    "nested": "bootstraps of the training rows and saw nothing else",
    "paper": "bootstraps of the training rows",
    "update": "the same rows",
}


def sentences(results: Results) -> Iterator[str]:
    """Yield what a reader with a table of their own can expect, by paragraphs; none for too few families."""
    fitted = models(results)
    for task in TASKS:
        of_task = [model for model in fitted if model.task == task]
        if of_task:
            of = with_method(results, task, of_task[0].method)
            yield _range(results, task, of, of_task[0].method)
            yield _learned(results, task, of, of_task[0].method)
            yield _related(of, task, of_task[0].method)


def _spelled(value: float, task: Task) -> str:
    return f"{value * scale_of(task)[0]:.2g}"


def _unit(task: Task) -> str:
    return " %" if task == "classification" else " standard deviations of the target"


def _range(results: Results, task: Task, of: list[Point], title: str) -> str:
    churns = [point.churns[title] for point in of]
    low, middle, high = (_spelled(float(value), task) for value in (min(churns), np.median(churns), max(churns)))
    if task == "regression":
        told = f"predictions differ by {low} to {high}{_unit(task)} on average (median {middle})"
    else:
        told = f"{low} to {high}{_unit(task)} of predictions flip (median {middle}{_unit(task)})"
    between = f"between two models of {title} that were trained on {TRAINED_ON[results.sampling]}."
    return f"{task.capitalize()}: over {len(of)} families of datasets, {told} {between}"


def _learned(results: Results, task: Task, of: list[Point], title: str) -> str:
    """Say how well the best predictor does on families left out, beside the mean of the others."""
    chosen = best(results, task)
    assert chosen is not None
    scale, digits, unit = scale_of(task)
    unit = unit.replace("%", "pp")
    found, mean = check(of, title, chosen), check(of, title, "mean")
    assert found is not None
    assert mean is not None
    errors = [spelled(float(one.errors.mean()) * scale, digits) for one in (found, mean)]
    within = f"{found.covered} of {len(found.truth)} families are within their 95 % prediction interval"
    if chosen == "mean":
        return (
            f"Nothing that is known before training predicts the churn of a held-out family better than the mean of "
            f"the other families, which is off by {errors[1]} {unit} on average; {within}."
        )
    gain = Value.of(found.gain(mean), scale, digits, signed=True).text
    return (
        f"The best prediction before training comes from the {PREDICTORS[chosen]}: for a held-out family, it is off by "
        f"{errors[0]} {unit} on average, against {errors[1]} {unit} for the mean of the other families (difference "
        f"{gain} {unit}). {within[0].upper()}{within[1:]}, whose median width is "
        f"{spelled(found.width * scale, digits)} {unit}."
    )


def _related(of: list[Point], task: Task, title: str) -> str:
    """Say which properties go with churn, as far as their intervals allow."""
    found = {one.title.partition(" (")[0]: correlation(of, one.name, title) for one in shown(task)}
    known = {name: e for name, e in found.items() if not np.isnan(e.low)}
    sure = [f"{name} (ρ = {spelled(e.value, 2, True)})" for name, e in known.items() if e.excludes_zero]
    open_ = [name for name, e in known.items() if not e.excludes_zero]
    first = (
        f"Taken one at a time, these properties correlate with {title}'s churn over families: {listed(sure)}."
        if sure
        else ""
    )
    others = "the others" if sure else "all properties"
    second = f"For {others}, the interval of the correlation includes 0: {listed(open_)}." if open_ else ""
    return " ".join(filter(None, [first, second]))
