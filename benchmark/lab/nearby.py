"""What the studies of where predictions flip share: test molecules beside those that were trained on.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, 2048 bits).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.data.neighbours import neighbours
from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.lab.study import Content, Head, Lab, Sampled, SheetRow, Trainer, head, percent, retrainings
from benchmark.measure.basics import mean_over_pairs, pseudo_values
from benchmark.measure.catalogue import CHURN
from benchmark.types import Predictions

HEADS: Sequence[str | Head] = ["Dataset", "Test molecules", "Number", head(CHURN), Head("Ratio to all", digits=2)]
Groups = Mapping[str, np.ndarray]
"""By name, which of the test molecules are in it, (T,) of bool."""


@dataclass(frozen=True)
class Neighbourhoods:
    """Predictions on the test molecules of a dataset, and what ``neighbours`` tells of these."""

    title: str
    predictions: Predictions
    facts: Mapping[str, np.ndarray]

    def churn(self, some: np.ndarray) -> Sampled:
        """Churn (R, R) over the molecules ``some`` (T,)."""
        return Sampled(CHURN.of_runs(self.predictions.on(some)))

    def ratio(self, some: np.ndarray) -> Sampled:
        """The same in multiples of the churn of all, which is of the same runs; of no flips at all there is none."""
        part, whole = self.churn(some).values, CHURN.of_runs(self.predictions)

        def of(runs: np.ndarray) -> float:
            both = (mean_over_pairs(pairs[np.ix_(runs, runs)]) for pairs in (part, whole))
            return next(both) / (next(both) or np.nan)

        return Sampled(pseudo_values(of, len(whole)))

    def rows(self, groups: Groups) -> list[SheetRow]:
        """Churn in each group that has a molecule, and its ratio to that of all, for ``HEADS``."""
        return [
            [self.title, name, str(some.sum()), self.churn(some), self.ratio(some)]
            for name, some in groups.items()
            if some.any()
        ]

    def sentence(self, groups: Groups) -> str:
        """How many of all test molecules flip, and of those in each group."""
        every = np.ones(len(self.predictions.ids), dtype=bool)

        def of(some: np.ndarray) -> str:
            return percent(mean_over_pairs(self.churn(some).values), 1)

        parts = ", ".join(f"{name} ({some.sum()}) {of(some)}" for name, some in groups.items() if some.any())
        return f"{self.title}: two retrainings disagree on {of(every)} of {len(every)} test molecules; {parts}."


@dataclass(frozen=True)
class Nearby:
    """A study of flips near training molecules: its settings, and where it gets what it reports on."""

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp"
    canonical_seed: int = 99
    seeds: str = "10"
    method: str = "erm"

    def flips(self, lab: Lab) -> Iterator[Neighbourhoods]:
        """What is known of each dataset."""
        names = expand(self.dataset)
        for name in names:
            spec = load_spec(name)
            if spec.task != "classification" or not spec.smiles:
                raise UserError(
                    f"{name}: flips near other molecules need SMILES and classes; leave it out of --dataset"
                )
        cells = lab.cells([self.method], names, [self.canonical_seed], retrainings(self.seeds))
        for name in names:
            split = self.canonical_seed
            kept = lab.record(f"{name}, split {split}", name, split, of_test, name, split)
            p = cells[name, self.method][0].predictions["id"]
            order = {id_: i for i, id_ in enumerate(kept["ids"])}
            index = [order[id_] for id_ in p.ids.tolist()]
            facts = {fact: np.array(column)[index] for fact, column in kept.items()}
            yield Neighbourhoods(load_spec(name).title, p, facts)


def of_test(trainer: Trainer, name: str, canonical_seed: int) -> Content:
    """The neighbours of a dataset's ID test in its training pool."""
    problem = load_problem(name, canonical_seed)
    return neighbours(problem.train, problem.evals["id"])
