"""The molecules of datasets with their labels, as numbers that are compared at once and kept in the cache."""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache, partial

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
    recipe = [spec.sha256, reading, rdBase.rdkitVersion, program("benchmark.data")]
    make = partial(_described, spec)
    return Molecules(**(cache.kept(cache.named(name, recipe, ".molecules"), make) if spec.sha256 else make()))


def _described(spec: DatasetSpec) -> dict[str, np.ndarray]:
    table = rows.load_table(spec)
    table = table[~table[[reason for reason in rows.EXCLUDED if reason != "repeated"]].any(axis=1)]
    texts = [_flat(text) for text in table["canonical"]] if spec.smiles else table["name"].tolist()
    if "composition" in spec.features:
        texts = reduced(texts)
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    keys, places = np.unique(np.frombuffer(digests, dtype=np.uint64), return_inverse=True)
    return {"keys": keys, "y": np.bincount(places, labels(spec, table)) / np.bincount(places)}


@lru_cache(maxsize=2**18)
def _flat(canonical: str) -> str:
    if not MARKS.search(canonical):
        return canonical
    with rdBase.BlockLogs():
        return str(Chem.MolToSmiles(Chem.MolFromSmiles(canonical), isomericSmiles=False))
