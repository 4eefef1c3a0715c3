"""Write docs/methods.md from the docstrings and hyperparameters of methods and from the published results.

Run it after a change of any of them; tests compare.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmark import registry
from benchmark.backbones import SELECTED
from benchmark.files import CHECKOUT, published_results
from benchmark.lab.selection import TOLERANCES
from benchmark.run.check import synthetic
from benchmark.studies.knobs import knobs_of
from benchmark.train import bootstrap, draw
from benchmark.types import MLP, PAPER, SAMPLINGS, Problem, Recipe, Sampling, Task
from leaderboard.tables.bodies.footprint import footprint

GROUPS: Mapping[str, Sequence[str]] = {
    "Reference and ensembles": (
        *("erm", "bagging", "deep_ensemble", "majority_vote", "mc_dropout", "swa", "swa_gaussian", "model_soup"),
        *("knn_averaging", "blend"),
    ),
    "Coupled networks": ("twin", "twin_shared", "codistillation", "twin_overlap", "gradnorm"),
    "Remedies on labels and losses": (
        *("label_smoothing", "knn_label_smoothing", "mixup", "generalised_cross_entropy", "co_teaching"),
        *("entropy_regularisation", "confidence_penalty", "logit_penalty"),
    ),
    "Distillation and one deployed network": (
        *("distilled_bagging", "distilled_svm", "twin_shared_one", "codistillation_one", "anchor"),
    ),
    "Methods for updates": (
        *("average_incumbent", "distilled_incumbent", "rcp_anchor", "focal_distillation", "extended_bagging"),
    ),
    "Other kinds of models": (
        *("svm", "multi_kernel", "gaussian_process", "random_forest", "extra_trees", "gradient_boosting"),
        *("linear", "knn", "sklearn"),
    ),
    "Controls": ("erm_whole", "erm_fixed"),
}
INTRO = r"""# Methods

Look up what each method does, what it costs, where it comes from, and how it performs in the published results. Every
method is one file in `methods/`, and this page is made from these files and from the published results. To decide on a
method, read [Which method to choose](choosing.md).

Set a hyperparameter with `--method twin:lam=30` or `--set lam=30`. At a train seed, all methods get the same rows and
initial weights, so differences between them are paired.
"""
NOTATION = r"""## Notation

$x$ are the features of a molecule, $y$ is its class or number, and $C$ is the number of classes. A network with the
weights $\theta$ has the outputs $f_\theta(x)$, which are logits or one number. $p_\theta(x)$ are its class
probabilities, or its number. The prediction of a method is $\hat p(x)$. $S$ are the rows that a single model is trained
on at a train seed, $S_k$ are those of network $k$, and $B$ is a batch of them. The fit loss is the cross-entropy or the
squared error:

$$
L_S(\theta) = \frac{1}{|S|} \sum_{(x, y) \in S} \ell(\theta; x, y), \qquad
\ell(\theta; x, y) = -\log\, p_\theta(x)_y \quad \text{or} \quad (f_\theta(x) - y)^2
$$

The disagreement of two networks on a batch is the symmetric Kullback–Leibler divergence in nats or, in a regression,
the squared difference:

$$
D_B(\theta, \theta') = \frac{1}{|B|} \sum_{x \in B} \frac{1}{2} \sum_{c=1}^{C}
\left( p_\theta(x)_c - p_{\theta'}(x)_c \right) \log\, \frac{p_\theta(x)_c}{p_{\theta'}(x)_c}
\quad \text{or} \quad \frac{1}{|B|} \sum_{x \in B} \left( f_\theta(x) - f_{\theta'}(x) \right)^2
$$

$[c = y]$ is 1 if the statement in brackets is true, and 0 otherwise. Formulas are written for classes. In a regression,
numbers take the place of probabilities and of labels of 0 and 1. AdamW lowers each loss for the number of epochs in
the dataset's recipe, by default %(epochs)d, and is not run to the minimum.

## What a retraining sees

| sampling | what a retraining is given | what a single model, such as ERM, is trained on |
| --- | --- | --- |
| `paper` | the whole training pool | a bootstrap of it |
| `nested` | one bootstrap of the pool | that bootstrap |
| `halves` | one half of a random halving of the pool | that half |
| `update` | the whole pool, and which rows an earlier model knew | all rows |

For each method, *Sees* is the share of the rows of the training pool that one retraining has learned from under each
sampling, measured on synthetic data and rounded down. A method runs under the samplings that are listed; the others do
not give it what it needs.

## How defaults were selected

The weight λ of a consistency loss is the largest that the paper's rule admits: on BACE (for `resnet50` on Waterbirds)
it may cost %(tolerance)g percentage points of accuracy. The rule selects another value under some samplings and on
other backbones, which is then the default there:

%(selected)s

The default `C` of [multi_kernel](#multi_kernel) was selected by a rule of its own. For the other methods, the
description says where a default comes from. If it says nothing, no selection is recorded. The study `knobs` selects the
main hyperparameter of %(knobs)d methods by one rule, and shows what other values do on BACE.

## Figures

*Published* figures are means over families of datasets from the studies `frontier`, `remedies` and `updates`, in the
results of version %(version)s, with 95 %% intervals for other families. A mean over families has a wide interval,
because families differ. To compare two methods, use their paired difference, which is on the pages of the leaderboard.
*Time* is the time of a fit there, in units of ERM's, and differs between machines.
"""


class About(NamedTuple):
    """The docstring of a method: its title, its paragraphs (text and formulas), and what it says under labels."""

    title: str
    idea: str
    rest: list[str]
    labelled: dict[str, str]


LABELS = ("Source", "Difference", "Cost")
COST = "Cost / ERM's"


@cache
def about(name: str) -> About:
    """Return what the file of a method says of it. Raises ValueError for a docstring without a title."""
    module = sys.modules[f"methods.{name}"]
    first, *others = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    title, colon, idea = " ".join(first.split()).partition(": ")
    if not colon:
        raise ValueError(f"methods/{name}.py: the docstring must begin with a title and a colon, got {first!r}")
    labelled: dict[str, str] = {}
    rest: list[str] = []
    for paragraph in others:
        label, colon, text = paragraph.partition(": ")
        if colon and label in LABELS:
            labelled[label] = " ".join(text.split())
        else:
            rest.append(paragraph if is_formula(paragraph) else " ".join(paragraph.split()))
    return About(title, idea, rest, labelled)


def is_formula(paragraph: str) -> bool:
    return paragraph.startswith("$$")


def described(cls: type) -> dict[str, str]:
    """Return the descriptions of the hyperparameters that the docstrings below a method's fields give."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        tree = ast.parse(inspect.getsource(base))
        body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                found[field.target.id] = " ".join(ast.literal_eval(text.value).split())
    return {field.name: found[field.name] for field in fields(cls) if field.name in found}


def shown(value: object) -> str:
    """Return a value as the command line spells it."""
    return str(value).lower() if value is None or isinstance(value, bool) else f"{value:g}"


def granted(cls: type) -> Sequence[Sampling]:
    """Return the samplings under which a method may run."""
    return getattr(cls, "samplings", SAMPLINGS)


def default(cls: type, field: str) -> str:
    """Return the default of a hyperparameter, and where it is another one."""
    cases: list[tuple[str, Task, Sampling]] = [("", cls.tasks[0], PAPER)]
    cases += [("for regressions", "regression", PAPER)] if "regression" in cls.tasks else []
    cases += [(f"under `{one}`", cls.tasks[0], one) for one in granted(cls) if one != PAPER]
    values = {text: getattr(registry.make_method(cls.name, task, sampling=one), field) for text, task, one in cases}
    usual = values.pop("")
    others = [f"{shown(value)} {text}" for text, value in values.items() if value != usual]
    return ", ".join([shown(usual), *others])


def seen(cls: type) -> str:
    """Return the shares of the training pool that one retraining has learned from, by sampling."""
    problem = replace(synthetic(cls.tasks[0], n=500, features=16), recipe=Recipe(epochs=1, hidden=16))
    seed = typical_seed(problem)
    shares: dict[str, list[str]] = {}
    for sampling in (PAPER, "nested", "halves", "update"):
        if sampling not in granted(cls):
            continue
        method = registry.make_method(cls.name, cls.tasks[0], {"trees": "2"}, sampling=sampling)
        sample, places = draw(problem, sampling, seed)
        share = len(np.unique(places[method.fit(sample).rows])) / len(problem.train)
        shares.setdefault(f"{int(100 * share)} %", []).append(f"`{sampling}`")
    return ", ".join(f"{share} under {' and '.join(samplings)}" for share, samplings in shares.items())


def typical_seed(problem: Problem) -> int:
    """Return the train seed, of a hundred, whose first bootstraps have the most typical shares of the rows."""

    def distance(seed: int) -> float:
        rows, n = bootstrap(draw(problem, PAPER, seed)[0], 5), len(problem.train)
        return sum(abs(len(np.unique(rows[:k])) / n - (1 - np.exp(-k))) for k in (1, 2, 5))

    return min(range(1, 101), key=distance)


def cost(cls: type) -> str:
    """Return how many networks are trained and asked, from the docstring or from the description of training."""
    if text := about(cls.name).labelled.get("Cost"):
        return capital(text)
    method = registry.make_method(cls.name, cls.tasks[0])
    count = footprint(cls.name, registry.params(method), cls.tasks[0])
    if count is None:
        raise ValueError(f"methods/{cls.name}.py: the docstring needs a paragraph 'Cost: …'")
    passes = [counted(count.forwards, "forward pass"), counted(count.backwards, "backward pass")]
    networks = counted(count.networks, "network")
    used = f"a prediction uses {networks} in {counted(count.passes, 'pass')}"
    return f"Trains {networks}, with {' and '.join(passes)} of a batch in a step; {used}."


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


class Published(NamedTuple):
    """A published table of means over families, and the number of families."""

    rows: pd.DataFrame
    families: str


@cache
def published(key: str) -> Published:
    path = published_results() / "tables" / f"study-{key}.csv"
    rows = pd.read_csv(path)
    if "Dataset" in rows:
        means = rows[rows["Dataset"].str.startswith("mean of")]
        return Published(means.set_index("Method"), means["Dataset"].iloc[0].removeprefix("mean of "))
    caption = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["caption"]
    return Published(rows.set_index("Method"), caption.removeprefix("Mean over ").partition(",")[0])


class Means(NamedTuple):
    """A published table, and what of it is shown: its columns by the names in the sentence, their unit and digits."""

    key: str
    task: Task
    sampling: Sampling
    columns: Mapping[str, str]
    unit: str = " %"
    digits: int = 1

    def show(self, row: pd.Series, intervals: bool = True) -> str:
        """Return the figures of a method as text."""
        parts = []
        for name, column in self.columns.items():
            ends = [f"{row[f'{column} {end}']:.{self.digits}f}" for end in ("low", "high")]
            interval = f" [{', '.join(ends)}]" if intervals and "nan" not in ends else ""
            parts.append(f"{name} {row[column]:.{self.digits}f}{self.unit}{interval}")
        return ", ".join(parts)


BOTH = {"churn": "Churn (%)", "accuracy": "Accuracy (%)"}
RATIOS = {"churn": "Churn / ERM's", "MAE": "MAE / ERM's"}
UPDATES = {"flips": "Flips (%)", "bad flips": "Bad flips (%)", "accuracy": "Accuracy (%)"}
TABLES = (
    Means("frontier-frontier", "classification", "halves", BOTH),
    Means("remedies-frontier", "classification", "halves", BOTH),
    Means("frontier-task-regression-frontier", "regression", "halves", RATIOS, " × ERM's", 2),
    Means("updates-classification", "classification", "update", UPDATES),
)
"""Of the methods in several tables for a task and sampling, the first is shown. The last is for methods of updates."""


def figures(cls: type) -> Iterator[str]:
    """Yield sentences with a method's published means, and those of ERM beside percentages."""
    told: set[tuple[Task, Sampling]] = {("classification", "update")} if "halves" in granted(cls) else set()
    for means in TABLES:
        about_what = means.task, means.sampling
        if means.task not in cls.tasks or means.sampling not in granted(cls) or about_what in told:
            continue
        table, families = published(means.key)
        title = registry.title(registry.make_method(cls.name, means.task, sampling=means.sampling), means.task)
        if title not in table.index:
            continue
        told.add(about_what)
        time = f"; time {table.loc[title, COST]:.1f}" if COST in table else ""
        of_erm = title != "ERM" and means.task == "classification"
        erm = f"; ERM has {means.show(table.loc['ERM'], intervals=False)}" if of_erm else ""
        yield f"{families} of {means.task}s under `{means.sampling}`: {means.show(table.loc[title])}{time}{erm}."


def section(name: str) -> str:
    """Return the section on a method, or on the family of scikit-learn's estimators."""
    text = about(name)
    lines = [f"### `{name}`", f"**{text.title}:** {text.idea}", *text.rest]
    cls = registry.discover()[0].get(name)
    facts = []
    if cls is not None:
        if len(registry.params(registry.make_method(name, cls.tasks[0]))):
            words = described(cls)
            table = ["| hyperparameter | default | meaning |", "| --- | --- | --- |"]
            table += [f"| `{f.name}` | {default(cls, f.name)} | {words[f.name]} |" for f in fields(cls)]
            lines.append("\n".join(table))
        facts.append(f"*Sees* {seen(cls)}.")
        facts.append(f"*Cost*: {cost(cls)}")
        if len(cls.tasks) == 1:
            facts.append(f"*For* {cls.tasks[0]} alone.")
        facts += [f"*Published*, {sentence}" for sentence in figures(cls)]
    else:
        facts.append(f"*Cost*: {capital(text.labelled['Cost'])}")
    facts.append(f"*Source*: {capital(text.labelled['Source'])}")
    if difference := text.labelled.get("Difference"):
        facts.append(f"*Difference from the source*: {capital(difference)}")
    lines = [line if line.startswith(("$$", "|")) else wrapped(linked(line)) for line in lines]
    lines.append("\n".join(wrapped(linked(f"- {fact}"), "  ") for fact in facts))
    return "\n\n".join(line.replace("``", "`") for line in lines)


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def linked(text: str) -> str:
    """Return text with links at the numbers of arXiv and at DOIs."""
    text = re.sub(r"arXiv:(\d{4}\.\d{5})", r"[\g<0>](https://arxiv.org/abs/\1)", text)
    return re.sub(r"doi:(10\.[\w.:/-]*\w)", r"[\g<0>](https://doi.org/\1)", text)


def overview() -> str:
    """Return a table with a line for each method."""
    lines = ["| name | what it does | hyperparameters |", "| --- | --- | --- |"]
    methods, families = registry.discover()[0], registry.families()
    for name in (name for names in GROUPS.values() for name in names):
        idea = about(name).idea.replace("``", "`").removesuffix(".")
        own = "the estimator's" if name in families else ", ".join(f"`{f.name}`" for f in fields(methods[name]))
        lines.append(f"| [`{name}{':…' if name in families else ''}`](#{name}) | {idea} | {own} |")
    return "\n".join(lines)


def selected() -> str:
    lines = ["| backbone | sampling | λ |", "| --- | --- | --- |"]
    usual = {
        task: registry.params(registry.make_method("twin", task))["lam"] for task in ("classification", "regression")
    }
    chosen = {(MLP, PAPER): usual, **SELECTED}
    for (backbone, sampling), values in chosen.items():
        lam = ", ".join(f"{value:g} ({task})" for task, value in values.items())
        lines.append(f"| `{backbone}` | `{sampling}` | {lam} |")
    return "\n".join(lines)


def page() -> str:
    """Return the page as Markdown with formulas between ``$`` and ``$$``."""
    values = {
        "epochs": Recipe().epochs,
        "selected": selected(),
        "tolerance": 100 * TOLERANCES["classification"][0],
        "knobs": len(knobs_of("classification")),
        "version": published_results().name,
    }
    parts = [INTRO.strip(), overview(), (NOTATION % values).strip()]
    for group, names in GROUPS.items():
        parts += [f"## {group}", *map(section, names)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    (CHECKOUT / "docs" / "methods.md").write_text(page(), encoding="utf-8")
