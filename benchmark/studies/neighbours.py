"""Flips near training molecules: far from all of them, at activity cliffs, and among conflicting labels. Beyond the
paper.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, 2048 bits). An activity cliff is a test molecule with a
training molecule of the other class at a similarity of 0.7 or more.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmark.data.checks.neighbours import CLOSE, neighbours
from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.basics import mean_over_pairs, pseudo_values
from benchmark.measure.catalogue import CHURN
from benchmark.study.context import CanonicalSeed, Content, Context, Trainer, retrainings, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow, head
from benchmark.study.text import percent
from benchmark.types import Predictions, Problem

HEADS: Sequence[str | Head] = ["Dataset", "Test molecules", "Number", head(CHURN), Head("Ratio to all", digits=2)]
BANDS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.01)
FAR = 0.4
"""Below this similarity to all of the training set, the sentence of the answer calls a molecule far from it."""
DRAWN = 10
"""Least number of molecules of a group that is drawn."""
Groups = Mapping[str, np.ndarray]
"""Masks (T,) of the test molecules by the name of their group."""


def churn_of(p: Predictions, rows: np.ndarray) -> Sampled:
    """Return the churn (R, R) over the molecules ``rows`` (T,)."""
    return Sampled(CHURN.of_runs(p.on(rows)))


def ratio(p: Predictions, rows: np.ndarray) -> Sampled:
    """Return the churn over ``rows`` in multiples of the churn over all molecules, from the same runs.

    The ratio is nan where nothing flips.
    """
    part, whole = CHURN.of_runs(p.on(rows)), CHURN.of_runs(p)

    def of_runs(runs: np.ndarray) -> float:
        ours, every = (mean_over_pairs(pairs[np.ix_(runs, runs)]) for pairs in (part, whole))
        return ours / (every or np.nan)

    return Sampled(pseudo_values(of_runs, len(whole)))


@dataclass(frozen=True)
class Nearby(ABC):
    """Base of the studies of flips near training molecules."""

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp"
    canonical_seed: CanonicalSeed = 99
    seeds: str = "10"
    method: str = "erm"

    def report(self, context: Context) -> Report:
        rows, series, answer = list[SheetRow](), dict[str, list[Point]](), []
        for title, p, facts in self._flips(context):
            every, groups = np.ones(len(p.ids), dtype=bool), {n: g for n, g in self.groups(facts).items() if g.any()}
            rows += [[title, name, str(g.sum()), churn_of(p, g), ratio(p, g)] for name, g in groups.items()]
            said = {n: g for n, g in {"": every, **self.named(facts)}.items() if g.any()}
            churns = {name: percent(mean_over_pairs(churn_of(p, members).values), 1) for name, members in said.items()}
            whole = churns.pop("")
            parts = ", ".join(f"{name} ({said[name].sum()}) {churn}" for name, churn in churns.items())
            answer.append(f"{title}: two retrainings disagree on {whole} of {len(every)} test molecules; {parts}.")
            series[title] = self.points(p, facts)
        return Report(answer, *self.shown(rows, series))

    def _flips(self, context: Context) -> Iterator[tuple[str, Predictions, Mapping[str, np.ndarray]]]:
        """Yield the title, the predictions and the facts on the neighbours of each dataset, in one order."""
        names, split = expand(self.dataset), self.canonical_seed
        for name in names:
            spec = load_spec(name)
            if spec.task != "classification" or not spec.smiles:
                raise UserError(f"{name}: this study needs SMILES and classes; leave the dataset out of --dataset")
        cells = context.cells([self.method], names, [split], retrainings(self.seeds))
        for name in names:
            columns = context.record(f"{name}, split {split}", name, split, of_test)
            p = cells[name, self.method][0].predictions["id"]
            order = {id_: i for i, id_ in enumerate(columns["ids"])}
            index = [order[id_] for id_ in p.ids.tolist()]
            yield load_spec(name).title, p, {fact: np.array(column)[index] for fact, column in columns.items()}

    @abstractmethod
    def groups(self, facts: Mapping[str, np.ndarray]) -> Groups:
        """Return the groups of the table."""

    def named(self, facts: Mapping[str, np.ndarray]) -> Groups:
        """Return the groups that the answer names."""
        return self.groups(facts)

    @abstractmethod
    def points(self, p: Predictions, facts: Mapping[str, np.ndarray]) -> list[Point]:
        """Return the points of a dataset."""

    @abstractmethod
    def shown(self, rows: list[SheetRow], series: dict[str, list[Point]]) -> tuple[list[Sheet], list[Chart]]:
        """Return the tables and charts."""


@study("similarity", title="Flips and similarity to the training set")
class Similarity(Nearby):
    def groups(self, facts: Mapping[str, np.ndarray]) -> Groups:
        near = facts["similarity"]
        return {f"{a:g} to {min(b, 1):g}": (near >= a) & (near < b) for a, b in pairwise(BANDS)}

    def named(self, facts: Mapping[str, np.ndarray]) -> Groups:
        near = facts["similarity"]
        return {f"similarity below {FAR:g}": near < FAR, f"at least {CLOSE:g}": near >= CLOSE}

    def points(self, p: Predictions, facts: Mapping[str, np.ndarray]) -> list[Point]:
        near, bands = facts["similarity"], self.groups(facts).values()
        return [Point(float(near[b].mean()), churn_of(p, b)) for b in bands if b.sum() >= DRAWN]

    def shown(self, rows: list[SheetRow], series: dict[str, list[Point]]) -> tuple[list[Sheet], list[Chart]]:
        about = "bands", "Flips and similarity"
        caption = f"{self.method} on the ID test of split {self.canonical_seed}, by the highest similarity to training."
        x, y = Axis("Highest similarity to the training set"), Axis("Churn (%)", 100)
        chart = Chart(*about, f"{caption} Bands of at least ten molecules.", x, y, series)
        return [Sheet(*about, caption, HEADS, rows)], [chart]


@study("label-noise", title="Flips at activity cliffs and conflicting labels")
class LabelNoise(Nearby):
    def groups(self, facts: Mapping[str, np.ndarray]) -> Groups:
        same, other = facts["same"], facts["other"]
        return {
            "conflicting labels": facts["conflict"],
            "activity cliff": other,
            "neighbours of the same class only": same & ~other,
            "no neighbour": ~same & ~other,
        }

    def points(self, p: Predictions, facts: Mapping[str, np.ndarray]) -> list[Point]:
        groups = enumerate(self.groups(facts).values())
        return [Point(i, ratio(p, members)) for i, members in groups if members.sum() >= DRAWN]

    def shown(self, rows: list[SheetRow], series: dict[str, list[Point]]) -> tuple[list[Sheet], list[Chart]]:
        about = "groups", "Flips at activity cliffs and conflicting labels"
        caption = (
            f"{self.method} on the ID test of split {self.canonical_seed}. Neighbours: training molecules with a "
            f"similarity of at least {CLOSE}. Conflicting: the structure, without stereochemistry, has both labels."
        )
        x = Axis("", names=["conflict", "cliff", "same class", "no neighbour"])
        y = Axis("Churn in multiples of all molecules'")
        chart = Chart(*about, f"{caption} Groups of at least ten molecules.", x, y, series)
        return [Sheet(*about, caption, HEADS, rows)], [chart]


def of_test(trainer: Trainer, problem: Problem) -> Content:
    """Return the neighbours of the ID test molecules in the training pool."""
    return neighbours(problem.train, problem.evals["id"])
