"""The molecules of datasets with their labels, as numbers that are compared at once and kept in the cache."""

import hashlib
import io
import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rdkit import Chem, rdBase

from benchmark import files as cache
from benchmark.data import rows
from benchmark.data.compositions import reduced
from benchmark.data.problem import labels
from benchmark.data.spec import DatasetSpec
from benchmark.files import program

MARKS = re.compile(r"[@/\\]|\[\d")
"""What states stereochemistry or an isotope in a SMILES."""


@dataclass(frozen=True)
class Molecules:
    """The distinct molecules of a dataset that have a label.

    ``keys`` (N,), ascending, are hashes (uint64) of the SMILES without stereochemistry and isotopes, of the composition
    if rows are formulas, and of the row's name if they are neither. ``y`` (N,) are the mean classes or targets of the
    rows of each, repetitions included, float64.
    """

    keys: np.ndarray
    y: np.ndarray


@lru_cache(maxsize=512)
def molecules(spec: DatasetSpec) -> Molecules:
    """Return the molecules of a dataset, without its fingerprints and scaffolds, which take most of the time.

    They are kept in the cache under the sha256 that the spec states, so that its file is read once.
    Raises UserError if the dataset cannot be read.
    """
    name, _, _ = spec.name.partition("@")
    reading = spec.model_dump(include=(rows.READ | {"task"}) - {"split"})
    code = program("benchmark.data")

    def make() -> tuple[bytes, ...]:
        packed = io.BytesIO()
        np.savez(packed, **vars(_described(spec)))
        return (packed.getvalue(),)

    key = cache.named(name, [spec.sha256, reading, rdBase.rdkitVersion, code], ".molecules")
    (packed,) = cache.kept((key,), make) if spec.sha256 else make()
    with np.load(io.BytesIO(packed)) as stored:
        return Molecules(**stored)


def _described(spec: DatasetSpec) -> Molecules:
    table = rows.load_table(spec)
    table = table[~table[[reason for reason in rows.EXCLUDED if reason != "repeated"]].any(axis=1)]
    texts = [_flat(text) for text in table["canonical"]] if spec.smiles else _names(table["id"].tolist())
    if "composition" in spec.features:
        texts = reduced(texts)
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    keys, places = np.unique(np.frombuffer(digests, dtype=np.uint64), return_inverse=True)
    return Molecules(keys, np.bincount(places, labels(spec, table)) / np.bincount(places))


def _names(ids: list[str]) -> list[str]:
    """Return the names behind ids that are numbered because a name stands in several rows: ``Bi2Te3-2``."""
    known = set(ids)
    return [start if (start := re.sub(r"-\d+$", "", text)) in known else text for text in ids]


@lru_cache(maxsize=2**18)
def _flat(canonical: str) -> str:
    if not MARKS.search(canonical):
        return canonical
    with rdBase.BlockLogs():
        return str(Chem.MolToSmiles(Chem.MolFromSmiles(canonical), isomericSmiles=False))
