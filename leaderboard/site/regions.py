"""Regions of chemistry where flips cluster, found by one half of the retrainings, shown by the other half.

A region is a scaffold (Murcko; Bemis and Murcko 1996, doi:10.1021/jm9602928) or a functional group (RDKit's fragments)
that several test molecules have. Had all retrainings both found and shown the regions, the highest of many noisy
numbers would be shown: it would be too high. The second half takes no part in the choice, so its numbers are unbiased.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmark.measure.catalogue import churn
from benchmark.measure.intervals import Estimate, jackknife
from benchmark.types import Predictions
from leaderboard.read.results import Dataset
from leaderboard.tables.table import Table, Value

FEWEST = 5
"""Test molecules of the smallest region."""
MOST = 8
"""Regions that are shown of a test."""
RUNS = 4
"""Fewest retrainings (or halvings) to find and show regions: two in each half."""


@dataclass(frozen=True)
class Region:
    """A region with the positions of its test molecules, and its churn, measured by the second half of the runs.

    ``excess`` is the difference to the churn of all other molecules, with its interval over these runs.
    """

    name: str
    members: np.ndarray
    churn: Estimate
    excess: Estimate


def regions(p: Predictions, smiles: Sequence[str]) -> list[Region]:
    """Return the regions that stand out most in the first half of the runs, whose churn is above that of the other
    molecules there, in the order of that half's evidence; none with fewer than ``RUNS`` runs.

    Evidence is the difference in churn between inside and outside in units of its standard error over molecules: a
    region of two molecules that flip must not win over a scaffold of twenty. Regions of the same molecules are one.
    """
    units = p.halvings() if p.sampling == "halves" else list(range(len(p.seeds)))
    if len(units) < RUNS:
        return []
    first, second = halves(p)
    flips = _each(first)
    found: dict[bytes, tuple[float, str, np.ndarray]] = {}
    for name, inside in masks(tuple(smiles)).items():
        if FEWEST <= inside.sum() <= len(inside) - FEWEST:
            a, b = flips[inside], flips[~inside]
            error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
            found.setdefault(inside.tobytes(), ((a.mean() - b.mean()) / (error or np.inf), name, inside))
    best = sorted(found.values(), key=lambda each: -each[0])[:MOST]
    of_runs = churn(p.task).of_runs
    shown = []
    for evidence, name, inside in best:
        if evidence > 0:
            ours, others = of_runs(second.on(inside)), of_runs(second.on(~inside))
            shown.append(Region(name, np.flatnonzero(inside), jackknife([ours]), jackknife([ours - others])))
    return shown


def halves(p: Predictions) -> tuple[Predictions, Predictions]:
    """Return the first half of the retrainings and the others; the two runs of a halving stay together."""
    if p.sampling == "halves":
        seeds = [seed for halving in p.halvings() for seed in halving.seeds]
        cut = len(seeds) // 4 * 2
    else:
        seeds, cut = list(p.seeds), len(p.seeds) // 2
    places = [p.seeds.index(seed) for seed in seeds]
    return p.only(places[:cut]), p.only(places[cut:])


def table(dataset: Dataset, method: str, found: Sequence[Region], evalset: str, split: int) -> Table:
    """Return the regions of a test under a method as a table."""
    measure = churn(dataset.task)
    _, delta_scale, digits = measure.shown_delta
    runs = "halvings" if dataset.sampling == "halves" else "retrainings"
    flips, more = (
        ("flips cluster", "flip more often")
        if dataset.task == "classification"
        else ("predictions change most", "change more")
    )
    return Table(
        key=f"{dataset.name}-regions",
        title=f"{dataset.title}: where {flips}",
        caption=f"Scaffolds and functional groups whose molecules {more} than the others under {method}, found with "
        f"the first half of the {runs} and measured with the second half, which took no part in the choice "
        f"({evalset}, split {split}; at least {FEWEST} molecules). 95 % jackknife intervals over the {runs} of the "
        f"second half; of {MOST} regions without any difference, about {MOST * 0.025:.1f} would have an interval above "
        "zero. Regions overlap.",
        header=("Region", "Molecules", measure.title, "Difference from all others"),
        rows=tuple(
            (
                region.name,
                Value(str(len(region.members)), len(region.members)),
                Value.of(region.churn, measure.scale, measure.digits, most=measure.most),
                Value.of(region.excess, delta_scale, digits, signed=True),
            )
            for region in found
        ),
        datasets=(dataset.name,),
    )


@cache
def masks(smiles: tuple[str, ...]) -> Mapping[str, np.ndarray]:
    """Return which of the molecules (T,) have each scaffold and each functional group, by its name."""
    from rdkit import Chem, rdBase
    from rdkit.Chem import Fragments
    from rdkit.Chem.Scaffolds.MurckoScaffold import GetScaffoldForMol

    counts = [getattr(Fragments, name) for name in dir(Fragments) if name.startswith("fr_")]
    groups = {(count.__doc__ or "").strip().removeprefix("Number of "): count for count in counts}
    found: dict[str, np.ndarray] = {}

    def mark(name: str, place: int) -> None:
        found.setdefault(name, np.zeros(len(smiles), dtype=bool))[place] = True

    with rdBase.BlockLogs():
        for place, text in enumerate(smiles):
            molecule = Chem.MolFromSmiles(text) if text else None
            if molecule is None:
                continue
            if scaffold := Chem.MolToSmiles(GetScaffoldForMol(molecule)):
                mark(scaffold, place)
            for name, count in groups.items():
                if count(molecule):
                    mark(name, place)
    return found


def _each(p: Predictions) -> np.ndarray:
    of_examples = churn(p.task).of_examples
    assert of_examples is not None
    return of_examples(p)
