"""Test molecules and their neighbours in the training pool, shared by the studies of where predictions flip.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, 2048 bits).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.data.checks.neighbours import neighbours
from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.basics import mean_over_pairs, pseudo_values
from benchmark.measure.catalogue import CHURN
from benchmark.study.context import Content, Context, Trainer, retrainings
from benchmark.study.report import Head, Sampled, SheetRow, head
from benchmark.study.text import percent
from benchmark.types import Predictions

HEADS: Sequence[str | Head] = ["Dataset", "Test molecules", "Number", head(CHURN), Head("Ratio to all", digits=2)]
Groups = Mapping[str, np.ndarray]
"""Masks (T,) of the test molecules by the name of their group."""


@dataclass(frozen=True)
class Neighbourhoods:
    """Predictions on the test molecules of a dataset, with the columns of ``neighbours`` for these molecules."""

    title: str
    predictions: Predictions
    facts: Mapping[str, np.ndarray]

    def churn(self, rows: np.ndarray) -> Sampled:
        """Return the churn (R, R) over the molecules ``rows`` (T,)."""
        return Sampled(CHURN.of_runs(self.predictions.on(rows)))

    def ratio(self, rows: np.ndarray) -> Sampled:
        """Return the churn over ``rows`` in multiples of the churn over all molecules, from the same runs.

        The ratio is nan where nothing flips.
        """
        part, whole = self.churn(rows).values, CHURN.of_runs(self.predictions)

        def of(runs: np.ndarray) -> float:
            both = (mean_over_pairs(pairs[np.ix_(runs, runs)]) for pairs in (part, whole))
            return next(both) / (next(both) or np.nan)

        return Sampled(pseudo_values(of, len(whole)))

    def rows(self, groups: Groups) -> list[SheetRow]:
        """Return rows for ``HEADS``: the churn of each group with molecules, and its ratio to the churn of all."""
        return [
            [self.title, name, str(rows.sum()), self.churn(rows), self.ratio(rows)]
            for name, rows in groups.items()
            if rows.any()
        ]

    def sentence(self, groups: Groups) -> str:
        """Return a sentence with the churn of all test molecules and of each group."""
        every = np.ones(len(self.predictions.ids), dtype=bool)

        def of(rows: np.ndarray) -> str:
            return percent(mean_over_pairs(self.churn(rows).values), 1)

        parts = ", ".join(f"{name} ({rows.sum()}) {of(rows)}" for name, rows in groups.items() if rows.any())
        return f"{self.title}: two retrainings disagree on {of(every)} of {len(every)} test molecules; {parts}."


@dataclass(frozen=True)
class Nearby:
    """Base of the studies of flips near training molecules: their settings and their data."""

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp"
    canonical_seed: int = 99
    seeds: str = "10"
    method: str = "erm"

    def flips(self, context: Context) -> Iterator[Neighbourhoods]:
        """Yield the predictions and neighbours of each dataset."""
        names, split = expand(self.dataset), self.canonical_seed
        for name in names:
            spec = load_spec(name)
            if spec.task != "classification" or not spec.smiles:
                raise UserError(f"{name}: this study needs SMILES and classes; leave the dataset out of --dataset")
        cells = context.cells([self.method], names, [split], retrainings(self.seeds))
        for name in names:
            columns = context.record(f"{name}, split {split}", name, split, of_test, name, split)
            p = cells[name, self.method][0].predictions["id"]
            order = {id_: i for i, id_ in enumerate(columns["ids"])}
            index = [order[id_] for id_ in p.ids.tolist()]
            facts = {fact: np.array(column)[index] for fact, column in columns.items()}
            yield Neighbourhoods(load_spec(name).title, p, facts)


def of_test(trainer: Trainer, name: str, canonical_seed: int) -> Content:
    """Return the neighbours of a dataset's ID test molecules in its training pool."""
    problem = load_problem(name, canonical_seed)
    return neighbours(problem.train, problem.evals["id"])
