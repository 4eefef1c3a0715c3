"""Write the tables and sections of docs/methods.md from docstrings, hyperparameters and published results.

Run it after a change of any of them; tests compare. The other text of the page is kept.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmark import registry
from benchmark.files import CHECKOUT, published_results
from benchmark.learners import SELECTED, find
from benchmark.learners.sklearn import Wrapped
from benchmark.pipeline import Learner, Part, Pipeline, Remedy
from benchmark.registry import SKLEARN
from benchmark.run.check import synthetic
from benchmark.train import Ensemble, Mean, bootstrap, sample_for
from benchmark.train.learner import NetworkLearner
from benchmark.types import MLP, PAPER, REFERENCE, TASKS, Problem, Reads, Recipe, Sampling, Task
from leaderboard.tables.table import Table
from leaderboard.write import cited
from leaderboard.write.formats import from_json

REMEDIES: Mapping[str, Sequence[str]] = {
    "Reference and ensembles": (
        *("erm", "bagging", "deep_ensemble", "majority_vote", "mc_dropout", "swa", "swa_gaussian", "model_soup"),
        *("knn_averaging", "blend"),
    ),
    "Coupled networks": ("twin", "twin_shared", "codistillation", "twin_overlap", "gradnorm"),
    "Remedies on labels and losses": (
        *("label_smoothing", "knn_label_smoothing", "mixup", "generalised_cross_entropy", "co_teaching"),
        *("entropy_regularisation", "confidence_penalty", "logit_penalty"),
    ),
    "Remedies on training and activations": ("early_stopping", "sharpness_aware", "smooth_relu"),
    "Distillation and one deployed network": (
        *("distilled_bagging", "distilled_svm", "twin_shared_one", "codistillation_one", "anchor"),
    ),
    "Methods for updates": (
        *("average_incumbent", "distilled_incumbent", "rcp_anchor", "focal_distillation", "extended_bagging"),
        "warm_start",
    ),
    "Controls": ("erm_whole", "erm_fixed"),
}
LEARNERS: Mapping[str, Sequence[str]] = {
    "Networks": ("mlp", "tabm", "gin", "chemprop", "chemberta", "resnet50"),
    "Trees": ("random_forest", "extra_trees", "gradient_boosting", "lightgbm", "xgboost", "catboost"),
    "Kernels, neighbours and linear models": (
        *("svm", "multi_kernel", "kernel_ridge", "gaussian_process", "knn", "linear", "minimol"),
    ),
    "Any estimator": (SKLEARN,),
}


class About(NamedTuple):
    """The docstring of a method: its title, its paragraphs (text and formulas), and what it says under labels."""

    title: str
    idea: str
    rest: list[str]
    labelled: dict[str, str]


LABELS = ("Source", "Difference", "Cost")
COST = "Cost / ERM's"
READS: Mapping[Reads, str] = {
    "numbers": "the features of the dataset, as numbers",
    "smiles": "SMILES",
    "pixels": "images",
}
NETWORK = [f.name for f in fields(NetworkLearner)]
"""The hyperparameters that all networks have."""


PARTS = {name: cls for name, cls in registry.discover()[0].items() if cls.__module__.endswith(f".{name}")}
"""The suite's remedies and learners by name."""


@cache
def about(name: str) -> About:
    """Return what the file of a remedy or learner says of it. Raises ValueError for a docstring without a title."""
    module = sys.modules[PARTS.get(name, Wrapped).__module__]
    first, *others = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    title, colon, idea = " ".join(first.split()).partition(": ")
    if not colon:
        raise ValueError(f"{module.__file__}: the docstring must begin with a title and a colon, got {first!r}")
    labelled: dict[str, str] = {}
    rest: list[str] = []
    for paragraph in others:
        label, colon, text = paragraph.partition(": ")
        if colon and label in LABELS:
            labelled[label] = " ".join(text.split())
        else:
            rest.append(paragraph if paragraph.startswith("$$") else " ".join(paragraph.split()))
    return About(title, idea, rest, labelled)


def own(cls: type[Part]) -> list[str]:
    """Return the names of the hyperparameters of a part, but for those that all networks have."""
    shared = NETWORK if issubclass(cls, NetworkLearner) else ()
    return [f.name for f in fields(cls) if f.name not in shared]  # type: ignore[arg-type]


def described(cls: type[Part]) -> dict[str, str]:
    """Return the descriptions of its own hyperparameters that the docstrings below a part's fields give."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        tree = ast.parse(inspect.getsource(base))
        body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
        for name, text in pairwise(body):
            if isinstance(name, ast.AnnAssign) and isinstance(name.target, ast.Name) and isinstance(text, ast.Expr):
                found[name.target.id] = " ".join(ast.literal_eval(text.value).split())
    return {name: found[name] for name in own(cls) if name in found}


def shown(value: object) -> str:
    """Return a value as the command line spells it."""
    return str(value).lower() if value is None or isinstance(value, bool) else f"{value:g}"


def pipeline(cls: type[Part], task: Task, sampling: Sampling = PAPER, **given: str) -> Pipeline:
    """Return a remedy with the perceptron, or ERM with a learner, whose extra need not be installed.

    ``given`` are values of hyperparameters of remedies that have them.
    """
    if issubclass(cls, Learner):
        learner = cls(**(cls.regression if task == "regression" else {}))
        return replace(registry.make_method(REFERENCE, task), learner=learner, chosen=True)
    return registry.make_method(cls.name, task, given, sampling=sampling)


def default(cls: type[Part], field: str) -> str:
    """Return the default of a hyperparameter, and where it is another one."""
    cases: list[tuple[str, Task, Sampling]] = [("", cls.tasks[0], PAPER)]
    cases += [("for regressions", "regression", PAPER)] if "regression" in cls.tasks else []
    cases += [(f"under `{one}`", cls.tasks[0], one) for one in cls.samplings if one != PAPER]
    values = {text: getattr(pipeline(cls, task, one).head, field) for text, task, one in cases}
    usual = values.pop("")
    others = [f"{shown(value)} {text}" for text, value in values.items() if value != usual]
    return ", ".join([shown(usual), *others])


def learners_of(cls: type[Remedy]) -> str:
    """Return the learners that a remedy can use."""
    known = [find(name) for names in LEARNERS.values() for name in names if name in PARTS]
    able = [one for one in known if {*one.offers, one.reads} >= {*cls.needs}]
    others = [one for one in known if one not in able]
    if not others:
        return "all"
    if able == [one for one in known if issubclass(one, NetworkLearner)]:
        return "all networks"
    names = ", ".join(f"`{one.name}`" for one in min(able, others, key=len))
    return names if len(able) <= len(others) else f"all but {names}"


def seen(cls: type[Remedy]) -> str:
    """Return the shares of the training pool that one retraining has learned from, by sampling."""
    shares: dict[str, list[str]] = {}
    for sampling in (PAPER, "nested", "halves", "update"):
        if sampling in cls.samplings:
            shares.setdefault(f"{int(100 * fitted(cls, sampling)[1])} %", []).append(f"`{sampling}`")
    return ", ".join(f"{share} under {' and '.join(samplings)}" for share, samplings in shares.items())


@cache
def fitted(cls: type[Remedy], sampling: Sampling) -> tuple[Any, float]:
    """Return a small model of a remedy, and the share of the training pool that it has learned from."""
    problem, seed = small(cls.tasks[0])
    sample, places = sample_for(problem, sampling, seed)
    model: Any = pipeline(cls, cls.tasks[0], sampling, trees="5").fit(sample)
    return model, len(np.unique(places[model.rows])) / len(problem.train)


@cache
def small(task: Task) -> tuple[Problem, int]:
    """Return a problem, and the train seed, of a hundred, whose first bootstraps have typical shares of its rows."""
    problem = replace(synthetic(task, n=500, features=16), recipe=Recipe(epochs=1, hidden=16))

    def distance(seed: int) -> float:
        rows, n = bootstrap(sample_for(problem, PAPER, seed)[0], 5), len(problem.train)
        return sum(abs(len(np.unique(rows[:k])) / n - (1 - np.exp(-k))) for k in (1, 2, 5))

    return problem, min(range(1, 101), key=distance)


def footprint(cls: type[Part]) -> tuple[int, int, int, int] | None:
    """Return the counts of a method with its defaults (paper, compute appendix): forward and backward passes of one
    network and one batch in a training step, and the networks and passes that a prediction takes.

    Networks that are trained at once are coupled and share one backward pass. None if the method may take its own
    steps, or deploys anything but networks that it trains.
    """
    if issubclass(cls, NetworkLearner):
        return 1, 1, 1, 1
    if not issubclass(cls, Remedy) or cls.builds_on or "modules" in cls.needs or PAPER not in cls.samplings:
        return None
    model, _ = fitted(cls, PAPER)
    parts = model.parts if type(model) is Mean else [model]
    if not all(isinstance(part, Ensemble) for part in parts):
        return None
    n = sum(len(part.parts) for part in parts)
    return *((n, n) if len(parts) == n else (n**2, 1)), n, n * getattr(model, "passes", 1)


def cost(cls: type[Part]) -> str:
    """Return how many networks are trained and asked, from the docstring or from the description of training."""
    if text := about(cls.name).labelled.get("Cost"):
        return capital(text)
    count = footprint(cls)
    if count is None:
        raise ValueError(f"{sys.modules[cls.__module__].__file__}: the docstring needs a paragraph 'Cost: …'")
    forwards, backwards, trained, passes = count
    networks = counted(trained, "network")
    steps = f"{counted(forwards, 'forward pass')} and {counted(backwards, 'backward pass')} of a batch in a step"
    return f"Trains {networks}, with {steps}; a prediction uses {networks} in {counted(passes, 'pass')}."


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def texts(table: Table) -> pd.DataFrame:
    """Return the cells of a table as they are shown, by method."""
    rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]
    return pd.DataFrame(rows, columns=table.header).set_index("Method")


@cache
def published(key: str) -> tuple[str, pd.DataFrame]:
    """Return the number of families of a published table of a study, and its means over these."""
    table = cited.find(f"studies/{key}")[0].table
    rows = texts(table)
    if "Dataset" in rows:
        rows = rows[rows["Dataset"].str.startswith("mean of")]
        return rows["Dataset"].iloc[0].removeprefix("mean of "), rows
    return table.caption.removeprefix("Mean over ").partition(",")[0], rows


STUDIES: Mapping[Sampling, tuple[str, Mapping[str, str]]] = {
    "halves": ("remedies-frontier", {"churn": "Churn (%)", "accuracy": "Accuracy (%)"}),
    "update": (
        "updates-classification",
        {"flips": "Flips (%)", "bad flips": "Bad flips (%)", "accuracy": "Accuracy (%)"},
    ),
}
"""The published tables of methods that are not on the board, of which ``update`` has those without halves, and the
columns that are shown, by their names in the sentence."""
BOARD: Mapping[Task, tuple[str, Mapping[str, str]]] = {
    "classification": (
        "places",
        {
            "matched churn": "Matched churn (%)",
            "matched accuracy": "Δ matched accuracy (pp)",
            "recall of the rarer class": "Δ recall of the rarer class (pp)",
        },
    ),
    "regression": ("places-regression", {"1 − ICC": "1 − ICC (%)", "MAE": "Δ MAE (%)"}),
}
"""The table of each task's order, and the columns that are shown, by their names in the sentence."""


@cache
def board(name: str) -> tuple[str, pd.DataFrame]:
    """Return what a table of the first page is a mean over, and its cells."""
    table = from_json((published_results() / "tables" / "halves" / f"{name}.json").read_text(encoding="utf-8"))
    return table.notes[0].removeprefix("Mean over ").partition(";")[0], texts(table)


def measured(row: pd.Series, columns: Mapping[str, str], intervals: bool = True) -> str:
    """Return the cells of a row with their units, those of the columns' names."""
    parts = []
    for name, column in columns.items():
        value, *ends = row[column].split(" ", 1)
        unit = column.rpartition("(")[2].removesuffix(")")
        parts.append(" ".join([name, value, unit, *(ends if intervals else ())]))
    return ", ".join(parts)


def on_board(cls: type[Part]) -> Iterator[tuple[Task, str]]:
    """Yield the tasks of which a method with its defaults is on the board, and its row as a sentence."""
    for task, (name, columns) in BOARD.items():
        over, table = board(name)
        if task not in cls.tasks or "halves" not in cls.samplings:
            continue
        title = registry.title(pipeline(cls, task, "halves"), task)
        if title in table.index and title != registry.title(registry.make_method(REFERENCE, task), task):
            row = table.loc[title]
            place, time = row["Place"], row["Compute (× ERM)"]
            yield task, f"{over} of {task}: place {place}, {measured(row, columns)}; time {time}."


def figures(cls: type[Part]) -> str:
    """Return a sentence with the published means of a method, and those of ERM beside them; empty if there are none."""
    sampling: Sampling = "halves" if "halves" in cls.samplings else "update"
    key, columns = STUDIES[sampling]
    families, table = published(key)
    if "classification" not in cls.tasks or sampling not in cls.samplings:
        return ""
    title = registry.title(pipeline(cls, "classification", sampling), "classification")
    if title not in table.index:
        return ""
    row = table.loc[title]
    time = f"; time {row[COST].partition(' [')[0]}" if COST in table else ""
    erm = f"; ERM has {measured(table.loc['ERM'], columns, intervals=False)}" if title != "ERM" else ""
    return f"{families} of classifications under `{sampling}`: {measured(row, columns)}{time}{erm}."


def section(name: str) -> str:
    """Return the section on a remedy or learner, or on the family of scikit-learn's estimators."""
    text = about(name)
    lines = [f"#### `{name}`", f"**{text.title}:** {text.idea}", *text.rest]
    cls = PARTS.get(name)
    if cls is not None and (names := own(cls)):
        words = described(cls)
        table = ["| hyperparameter | default | meaning |", "| --- | --- | --- |"]
        table += [f"| `{name}` | {default(cls, name)} | {words[name]} |" for name in names]
        lines.append("\n".join(table))
    facts = [f"*Cost*: {capital(text.labelled['Cost'])}"] if cls is None else [*facts_of(cls)]
    facts.append(f"*Source*: {capital(text.labelled['Source'])}")
    if difference := text.labelled.get("Difference"):
        facts.append(f"*Difference from the source*: {capital(difference)}")
    lines = [line if line.startswith(("$$", "|")) else wrapped(linked(line)) for line in lines]
    lines.append("\n".join(wrapped(linked(f"- {fact}"), "  ") for fact in facts))
    return "\n\n".join(line.replace("``", "`") for line in lines)


def facts_of(cls: type[Part]) -> Iterator[str]:
    """Yield what a remedy sees or a learner reads, what it costs, and how it does in the published results."""
    if issubclass(cls, Remedy):
        yield f"*Sees* {seen(cls)}."
        yield f"*Learners*: {learners_of(cls)}."
    elif issubclass(cls, Learner):
        features = ", ".join(f"`{name}`" for name in cls.features)
        yield f"*Reads* {features or READS[cls.reads]}."
        if issubclass(cls, NetworkLearner):
            settings = [f"`{name}` {value:g}" for name, value in cls.recipe if name in NETWORK and value is not None]
            yield f"*Recipe*: {', '.join(settings)}."
        if cls.extra:
            yield f"*Needs* the extra `[{cls.extra}]`."
    yield f"*Cost*: {cost(cls)}"
    if len(cls.tasks) == 1:
        yield f"*For* {cls.tasks[0]} alone."
    rows = dict(on_board(cls))
    for sentence in rows.values():
        yield f"*On the board*, {sentence}"
    if "classification" not in rows and (sentence := figures(cls)):
        yield f"*Published*, {sentence}"


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def linked(text: str) -> str:
    """Return text with links at the numbers of arXiv and at DOIs."""
    text = re.sub(r"arXiv:(\d{4}\.\d{5})", r"[\g<0>](https://arxiv.org/abs/\1)", text)
    return re.sub(r"doi:(10\.[\w.:/-]*\w)", r"[\g<0>](https://doi.org/\1)", text)


def overview(groups: Mapping[str, Sequence[str]]) -> str:
    """Return a table with a line for each remedy or learner."""
    lines = ["| name | what it does | hyperparameters |", "| --- | --- | --- |"]
    for name in (name for names in groups.values() for name in names):
        idea = about(name).idea.replace("``", "`").removesuffix(".")
        settings = ", ".join(f"`{key}`" for key in own(PARTS[name])) if name in PARTS else "the estimator's"
        lines.append(f"| [`{name}{'' if name in PARTS else ':…'}`](#{name}) | {idea} | {settings} |")
    return "\n".join(lines)


def selected() -> str:
    """Return the table of the λ that the paper's rule selects."""
    lines = ["| learner | sampling | λ |", "| --- | --- | --- |"]
    usual = {task: registry.make_method("twin", task).head.params["lam"] for task in TASKS}
    chosen = {(MLP, PAPER): usual, **SELECTED}
    for (learner, sampling), values in chosen.items():
        lam = ", ".join(f"{value:g} ({task})" for task, value in values.items())
        lines.append(f"| `{learner}` | `{sampling}` | {lam} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page as Markdown with formulas between ``$`` and ``$$``; what is before its tables stays."""
    text = re.sub(r"^\| learner \| sampling \|.*?(?=\n\n)", lambda _: selected(), text, flags=re.M | re.S)
    parts = [text.partition("\n## Remedies\n")[0].strip()]
    for heading, groups in (("## Remedies", REMEDIES), ("## Learners", LEARNERS)):
        about = text.partition(f"\n{heading}\n")[2].partition("\n| name |")[0]
        parts += [heading, about.strip(), overview(groups)]
        for group, names in groups.items():
            parts += [f"### {group}", *map(section, names)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    path = CHECKOUT / "docs" / "methods.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
