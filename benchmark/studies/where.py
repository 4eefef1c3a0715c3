"""Where predictions flip: far from the training set, at activity cliffs, among conflicting labels. Beyond the paper.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, 2048 bits). An activity cliff is a test molecule with a
training molecule of the other class at a similarity of 0.7 or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from benchmark import metrics
from benchmark.data.neighbours import CLOSE, neighbours
from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.driver import parse_seeds
from benchmark.errors import UserError
from benchmark.study import CHURN, Axis, Chart, Content, Head, Lab, Point, Report, Row, Sampled, Sheet, Trainer, study

BANDS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.01)


def flips(values: np.ndarray, some: np.ndarray) -> Sampled:
    """Churn (R, R) over the examples ``some`` (T,)."""
    return Sampled(metrics.churn(values[:, some]))


@dataclass(frozen=True)
class _Where:
    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp"
    canonical_seed: int = 99
    seeds: str = "10"
    method: str = "erm"

    def facts(self, lab: Lab) -> Mapping[str, tuple[np.ndarray, Mapping[str, np.ndarray]]]:
        """By dataset title: the predictions (R, T, C), and what ``neighbours`` tells of their molecules."""
        names, found = expand(self.dataset), {}
        for name in names:
            spec = load_spec(name)
            if spec.task != "classification" or not spec.smiles:
                raise UserError(
                    f"{name}: flips near other molecules need SMILES and classes; leave it out of --dataset"
                )
        cells = lab.cells([self.method], names, [self.canonical_seed], parse_seeds(self.seeds))
        for name in names:
            key = f"{name}, split {self.canonical_seed}"
            kept = lab.record(key, partial(self._neighbours, name))
            p = cells[name, self.method][0].predictions["id"]
            order = {id_: i for i, id_ in enumerate(kept["ids"])}
            index = [order[id_] for id_ in p.ids.tolist()]
            facts = {fact: np.array(column)[index] for fact, column in kept.items()}
            found[load_spec(name).title] = (p.values, facts)
        return found

    def _neighbours(self, name: str, trainer: Trainer) -> Content:
        problem = load_problem(name, self.canonical_seed)
        return neighbours(problem.train, problem.evals["id"])

    def rows(self, title: str, values: np.ndarray, groups: Mapping[str, np.ndarray]) -> Sequence[Row]:
        """Churn in each group that has an example, and its ratio to that of all."""
        every = metrics.mean_over_pairs(metrics.churn(values)) or np.nan  # of no flips at all there is no ratio
        return [
            [title, name, str(some.sum()), flips(values, some), Sampled(flips(values, some).values / every)]
            for name, some in groups.items()
            if some.any()
        ]


HEADS: Sequence[str | Head] = ["Dataset", "Test molecules", "Number", CHURN, Head("Ratio to all", digits=2)]


@study("similarity", title="Flips and similarity to the training set")
@dataclass(frozen=True)
class Similarity(_Where):
    def report(self, lab: Lab) -> Report:
        rows: list[Row] = []
        curves = {}
        for title, (values, facts) in self.facts(lab).items():
            near = facts["similarity"]
            bands = {f"{a:g} to {min(b, 1):g}": (near >= a) & (near < b) for a, b in pairwise(BANDS)}
            rows += self.rows(title, values, bands)
            curves[title] = [Point(float(near[b].mean()), flips(values, b)) for b in bands.values() if b.sum() >= 10]
        caption = f"{self.method} on the ID test of split {self.canonical_seed}, by the highest similarity to training."
        x = Axis("Highest similarity to the training set")
        chart = Chart(
            "bands",
            "Flips and similarity",
            f"{caption} Bands of ten molecules or more.",
            x,
            Axis("Churn (%)", 100),
            curves,
        )
        return Report(
            ["Whether predictions flip more often for molecules that are unlike those trained on."],
            [Sheet("bands", "Flips and similarity", caption, HEADS, rows)],
            [chart],
        )


@study("label-noise", title="Flips at activity cliffs and conflicting labels")
@dataclass(frozen=True)
class LabelNoise(_Where):
    def report(self, lab: Lab) -> Report:
        rows: list[Row] = []
        for title, (values, facts) in self.facts(lab).items():
            same, other, conflict = facts["same"], facts["other"], facts["conflict"]
            groups = {
                "conflicting labels": conflict,
                "activity cliff": other,
                "neighbours of the same class only": same & ~other,
                "no neighbour": ~same & ~other,
            }
            rows += self.rows(title, values, groups)
        caption = (
            f"{self.method} on the ID test of split {self.canonical_seed}. Neighbours: training molecules at a "
            f"similarity of {CLOSE} or more. Conflicting: the structure has both labels, without stereochemistry."
        )
        return Report(
            ["Whether predictions flip where the labels around a molecule contradict each other."],
            [Sheet("groups", "Flips at activity cliffs and conflicting labels", caption, HEADS, rows)],
        )
