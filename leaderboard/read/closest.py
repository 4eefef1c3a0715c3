"""The training rows closest to each test molecule: from a file shipped with the suite, otherwise searched for.

``closest.parquet`` in the published folder has the columns ``search``, which names what was compared, and ``found``.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.files import named, program
from leaderboard.read.jobs import Job, made
from leaderboard.read.published import PUBLISHED
from leaderboard.read.results import Dataset
from leaderboard.read.structures import Molecules

FILE = "closest.parquet"
CLOSEST = 5
"""Training rows that are shown of a test molecule."""


def closest(dataset: Dataset, split: int, molecules: Molecules) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return for each test set the rows of ``molecules`` (T, K) that are the ``CLOSEST`` of the training pool to each
    molecule, the most similar first, and their similarities (T, K); nothing if the pool is unknown."""
    pool = molecules.pool(dataset, split)
    return {
        name: (pool[np.array(order)], np.array(values))
        for _, content in _found([(dataset, split, molecules)])
        for name, (order, values) in json.loads(content).items()
    }


def search(datasets: Iterable[tuple[Dataset, Molecules | None]]) -> Iterator[tuple[str, bytes]]:
    """Search the closest rows of all test molecules at once, for ``closest`` to find in the cache when all are done."""
    return _found((d, split, molecules) for d, molecules in datasets if molecules is not None for split in d.splits)


def pack(found: Mapping[str, bytes]) -> bytes:
    """Return the file with what ``search`` returns."""
    content = io.BytesIO()
    columns = {"search": pa.array(found.keys()), "found": pa.array(found.values(), pa.binary())}
    pq.write_table(pa.table(columns), content, compression="brotli", compression_level=11, write_page_checksum=True)
    return content.getvalue()


@cache
def shipped(folder: Path) -> Mapping[str, bytes]:
    """Return the content of the file in ``folder``: nothing without the file, or from one that is damaged."""
    try:
        table = pq.read_table(folder / FILE, page_checksum_verification=True)
        return dict(zip(table["search"].to_pylist(), table["found"].to_pylist(), strict=True))
    except (OSError, ValueError, KeyError):
        return {}


def _found(of: Iterable[tuple[Dataset, int, Molecules]]) -> Iterator[tuple[str, bytes]]:
    """Return the name and the content of each search of which the training pool is known; those not shipped begin."""
    known, names = shipped(PUBLISHED), []

    def jobs() -> Iterator[Job]:
        for dataset, split, molecules in of:
            if len(pool := molecules.pool(dataset, split)):
                predictions = dataset.cell(split).predictions
                tests = {name: [molecules.rows[i] for i in p.ids.tolist()] for name, p in predictions.items()}
                smiles = {name: molecules.smiles[rows].tolist() for name, rows in tests.items()}
                given = molecules.smiles[pool].tolist(), smiles
                names.append(hashlib.sha256(json.dumps([CLOSEST, given]).encode()).hexdigest()[:16])
                if names[-1] not in known:
                    from rdkit import rdBase  # what reads results starts without it

                    code = [rdBase.rdkitVersion, program("benchmark.data"), CLOSEST, given]
                    yield Job(named("closest", code, ".json"), _search, given)

    results = made(jobs())
    return ((name, known[name] if name in known else next(results)) for name in names)


def _search(rows: Sequence[str], tests: Mapping[str, Sequence[str]]) -> bytes:
    """Return for each test set the positions (T, K) of the ``CLOSEST`` of the SMILES ``rows`` to each of its molecules,
    the most similar first, and their similarities (T, K)."""
    from benchmark.data.checks.nearest import first  # RDKit
    from benchmark.data.checks.neighbours import similarities

    every = similarities([smiles for part in tests.values() for smiles in part], rows)
    parts = dict(zip(tests, np.split(every, np.cumsum([len(part) for part in tests.values()])[:-1]), strict=True))
    order = {name: first(part, CLOSEST) for name, part in parts.items()}
    values = {name: np.take_along_axis(part, order[name], axis=1).round(2) for name, part in parts.items()}
    return json.dumps({name: [order[name].tolist(), values[name].tolist()] for name in parts}).encode()
