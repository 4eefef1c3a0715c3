"""Which datasets are one family, or one group of families: molecules and labels that they share, for all pairs.

A rank test takes its families as independent. Two datasets are not if they have the same molecules with labels that
tell each other; what they are called does not matter.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

from benchmark.data.checks.molecules import Molecules, molecules
from benchmark.data.listing import how_to_get
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError
from benchmark.files import shipped_datasets

FEWEST = 20
"""Fewest shared molecules of a pair that is compared: with fewer, a correlation says little."""
LISTED = 0.2
"""Smallest shared part of the smaller dataset's molecules of a pair that is listed."""
CORRELATED = 0.7
"""Two listed datasets are one family if their labels of the shared molecules correlate at least so much: then each
tells half of the variance of the other (0.7² = 0.49). All pairs of two measured values of one target correlate by 0.76
or more, 1 % of the pairs of different targets by 0.7 (datasets/README.md)."""
MOSTLY = 0.5
"""Two datasets are of one group if they share at least this part of the smaller one's molecules, whatever the labels
are."""
COLUMNS = ("first", "second", "shared", "of_first", "of_second", "share", "pearson", "spearman", "agreement", "one")


def comparable(specs: Iterable[DatasetSpec]) -> list[DatasetSpec]:
    """Return those of ``specs`` whose file is on this machine; rows of images have no name that others share."""
    return [spec for spec in specs if not spec.source.startswith("hf:") and not how_to_get(spec)]


def pairs(
    specs: Sequence[DatasetSpec], through: Callable[[list[str]], Iterable[str]] = iter, only_first: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Return the pairs that share at least ``FEWEST`` and ``LISTED`` molecules, and the datasets that cannot be read.

    Molecules are told apart without stereochemistry, other rows by their names; a molecule in several rows has their
    mean label. The columns are ``COLUMNS``: ``share`` is that of the smaller dataset, ``pearson`` (between two classes
    Matthews' φ, between a class and a number the point-biserial correlation) and ``spearman`` those of the labels of
    shared molecules, NaN if one is constant; ``agreement`` is the part of them with equal classes, NaN for numbers;
    ``one`` is ``family``, ``group`` or empty, see ``one``. ``through`` gets the names of the datasets, and yields them
    as it shows progress. With ``only_first``, only the first dataset is compared with the others, and must be readable.
    """
    from scipy.sparse import csr_array

    sets: dict[str, Molecules] = {}
    unread: list[str] = []
    named = {spec.name: spec for spec in specs}
    names = list(named)
    for name in (*names[:only_first], *through(names[only_first:])):
        try:
            sets[name] = molecules(named[name])
        except UserError:
            if only_first and name == specs[0].name:
                raise
            unread.append(name)
    known = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *(each.keys for each in sets.values())]))
    sizes = np.array([len(each.keys) for each in sets.values()], dtype=np.int64)
    columns = np.concatenate([np.empty(0, dtype=np.int64), *(np.searchsorted(known, s.keys) for s in sets.values())])
    ones, starts = np.ones(sizes.sum(), dtype=np.int32), np.r_[0, sizes.cumsum()]
    held = csr_array((ones, columns, starts), shape=(len(sets), len(known)))
    shared = (held @ held.T).toarray()
    rows = []
    for (i, first), (j, second) in combinations(enumerate(sets), 2):
        if only_first and i:
            break
        share = shared[i, j] / max(1, min(sizes[i], sizes[j]))
        if shared[i, j] >= FEWEST and share >= LISTED:
            classes = named[first].task == named[second].task == "classification"
            labels = _labels(sets[first], sets[second], classes)
            row = (first, second, int(shared[i, j]), int(sizes[i]), int(sizes[j]), share, *labels)
            rows.append((*row, one(share, *labels[:2])))
    return pd.DataFrame(rows, columns=list(COLUMNS)), unread


def _labels(first: Molecules, second: Molecules, classes: bool) -> tuple[float, float, float]:
    """Return Pearson's and Spearman's correlation of the labels of shared molecules, and how ``classes`` agree."""
    from scipy.stats import rankdata

    _, mine, theirs = np.intersect1d(first.keys, second.keys, assume_unique=True, return_indices=True)
    x, y = first.y[mine], second.y[theirs]
    agreement = float((x == y).mean()) if classes else math.nan
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan, agreement
    return float(np.corrcoef(x, y)[0, 1]), float(np.corrcoef(rankdata(x), rankdata(y))[0, 1]), agreement


def one(share: float, pearson: float, spearman: float) -> str:
    """Return ``family`` or ``group`` if two datasets with these shared molecules must be one; empty if they need not.

    They are a family if they share a fifth of the smaller one's molecules and one of the two correlations is at least
    ``CORRELATED`` in absolute value; a group if they share half, or are a family.
    """
    correlation = max((abs(r) for r in (pearson, spearman) if not math.isnan(r)), default=0.0)
    if share >= LISTED and correlation >= CORRELATED:
        return "family"
    return "group" if share >= MOSTLY else ""


def contradictions(table: pd.DataFrame, specs: Mapping[str, DatasetSpec]) -> list[str]:
    """Return a line for each pair that must be one family or group by ``table`` but is not by the TOMLs.

    That each pair agrees makes families and groups transitive: what is linked by other datasets is one as well.
    """
    lines = []
    for row in table[table["one"] != ""].itertuples():
        first, second = specs[str(row.first)], specs[str(row.second)]
        wrong = []
        if row.one == "family" and first.family != second.family:
            wrong.append(f"the families {first.family} and {second.family}")
        if first.strict_family != second.strict_family:
            wrong.append(f"the groups {first.strict_family} and {second.strict_family}")
        if wrong:
            lines.append(
                f"{first.name} and {second.name} share {row.shared:,} molecules "
                f"({row.share:.0%} of the smaller; correlation of labels {row.pearson:.2f}, of ranks "
                f"{row.spearman:.2f}), but are of " + " and ".join(wrong)
            )
    return lines


@cache
def _listed() -> dict[str, pd.DataFrame]:
    table = pd.read_csv(shipped_datasets() / "overlaps.csv").fillna({"one": ""})
    swapped = {"first": "second", "second": "first", "of_first": "of_second", "of_second": "of_first"}
    both = pd.concat([table, table.rename(columns=swapped)], ignore_index=True)
    both["near"] = both["one"].map({"family": 0, "group": 1, "": 2})
    ordered = both.sort_values(["near", "shared", "second"], ascending=[True, False, True])
    return {str(name): rows for name, rows in ordered.groupby("first")}


def listed(name: str) -> pd.DataFrame:
    """Return the rows of the shipped table of ``pairs`` that a dataset is in, as ``first``: its family, its group, the
    others; those that share most first."""
    return _listed().get(name, pd.DataFrame())
