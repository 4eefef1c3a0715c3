"""Canonical splits, by the names used in the TOMLs: ``scaffold:0.8``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rdkit.Chem import Mol
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from benchmark.errors import UserError


class Split(NamedTuple):
    """Row numbers (int64) of the training pool, the ID test and the OOD test."""

    train: np.ndarray
    id: np.ndarray
    ood: np.ndarray


def scaffold_split(molecules: Sequence[Mol], seed: int, share: float = 0.8) -> Split:
    """Bemis–Murcko scaffold split (doi:10.1021/jm9602928; paper, section Datasets).

    Molecules of one scaffold (without chirality; acyclic ones share the empty scaffold) stay together.
    The groups, largest first and then shuffled, are taken while they fit into ``share`` of the rows; the
    others are the OOD test. A fifth of the taken rows is the ID test, the rest the training pool.
    """
    groups: dict[str, list[int]] = {}
    for row, molecule in enumerate(molecules):
        groups.setdefault(MurckoScaffoldSmiles(mol=molecule, includeChirality=False), []).append(row)
    by_size = sorted(groups.values(), key=len, reverse=True)
    order = np.arange(len(by_size))
    np.random.RandomState(seed).shuffle(order)

    room = int(share * len(molecules))
    taken: list[int] = []
    left: list[int] = []
    for group in order:
        rows = by_size[group]
        (taken if len(taken) + len(rows) <= room else left).extend(rows)
    pool = np.array(taken, dtype=np.int64)
    np.random.RandomState(seed).shuffle(pool)
    n_id = max(1, int(0.2 * len(pool)))
    return Split(train=pool[n_id:], id=pool[:n_id], ood=np.array(left, dtype=np.int64))


def make_split(molecules: Sequence[Mol], name: str, seed: int) -> Split:
    """The split called ``name``. Raises UserError for an unknown one or one that leaves a part empty."""
    kind, _, text = name.partition(":")
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if kind != "scaffold" or not 0 <= share <= 1:
        raise UserError(
            f"unknown split {name!r}: expected scaffold:SHARE with a share between 0 and 1, as in scaffold:0.8"
        )
    split = scaffold_split(molecules, seed, share)
    for part, rows in split._asdict().items():
        if len(rows) == 0:
            raise UserError(f"split {name!r} with canonical seed {seed} leaves no molecule in {part!r}")
    return split
