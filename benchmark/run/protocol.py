"""Export of splits and bootstraps as files, for training outside the suite.

``protocol.json`` holds the dataset's name, seeds and fingerprints. For each canonical split, ``split-SEED/`` contains
``train.parquet`` (``example_id, smiles, y``), ``bootstraps.parquet`` (``train_seed, member, example_id``: the N rows of
each bootstrap in order), ``test.parquet`` (``evalset, example_id, smiles``; no labels) and ``features.parquet``
(``example_id, x``: the features of all examples that the suite's own methods use).
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.data.problem import digest, load_problem
from benchmark.errors import UserError
from benchmark.train import bootstrap, draw
from benchmark.types import PAPER, Problem

FORMAT = 1
CANONICAL_SEEDS = (99,)
TRAIN_SEEDS = tuple(range(1, 11))
"""Train seeds of every result on the leaderboard (paper, section Experimental setup)."""


def bootstrap_fingerprint(problem: Problem, seeds: Sequence[int]) -> str:
    """Return 16 hex digits that identify the first bootstrap of each train seed."""
    return digest(_bootstraps(problem, seeds))


def _bootstraps(problem: Problem, seeds: Sequence[int], members: int = 1) -> np.ndarray:
    return np.stack([bootstrap(draw(problem, PAPER, seed)[0], members) for seed in sorted(seeds)])


def export(
    dataset: str,
    out: Path,
    canonical_seeds: Sequence[int] = CANONICAL_SEEDS,
    seeds: Sequence[int] = TRAIN_SEEDS,
    members: int = 1,
) -> Path:
    """Write the protocol of ``dataset`` to the folder ``out`` and return the path of its ``protocol.json``.

    Each train seed gets ``members`` bootstraps, for methods that train several networks. Raises UserError for an
    unknown dataset or a folder with other contents.
    """
    path = out / "protocol.json"
    if out.exists() and any(out.iterdir()) and not path.is_file():
        raise UserError(f"{out} exists and does not contain a protocol: choose another folder")
    splits = {}
    for canonical_seed in canonical_seeds:
        problem = load_problem(dataset, canonical_seed)
        folder = out / f"split-{canonical_seed}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in _tables(problem, seeds, members).items():
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        splits[str(canonical_seed)] = {
            "problem": problem.fingerprint,
            "bootstraps": bootstrap_fingerprint(problem, seeds),
            "rows": {"train": len(problem.train)} | {name: len(test) for name, test in problem.evals.items()},
        }
    about = {
        "format": FORMAT,
        "suite": __version__,
        "dataset": problem.name,
        "task": problem.task,
        "n_outputs": problem.n_outputs,
        "train_seeds": sorted(seeds),
        "members": members,
        "splits": splits,
    }
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")  # last, as it marks a complete protocol
    return path


def _tables(problem: Problem, seeds: Sequence[int], members: int) -> dict[str, pa.Table]:
    train, tests = problem.train, problem.evals
    rows = _bootstraps(problem, seeds, members)
    n = rows.shape[2]
    everyone = [train, *tests.values()]
    x = np.concatenate([examples.x for examples in everyone])
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])
    ids = pa.array(np.concatenate([examples.ids for examples in everyone]).astype(object))
    columns = {
        "train": {"example_id": train.ids, "smiles": train.smiles, "y": train.y},
        "bootstraps": {
            "train_seed": np.repeat(np.array(sorted(seeds)), members * n),
            "member": np.tile(np.repeat(np.arange(members), n), len(seeds)),
            "example_id": train.ids[rows.ravel()],
        },
        "test": {
            "evalset": np.repeat(list(tests), [len(test) for test in tests.values()]),
            "example_id": np.concatenate([test.ids for test in tests.values()]),
            "smiles": np.concatenate([test.smiles for test in tests.values()]),
        },
    }
    features = pa.table({"example_id": ids, "x": lists})
    return {name: _table(arrays) for name, arrays in columns.items()} | {"features": features}


def _table(columns: dict[str, np.ndarray]) -> pa.Table:
    arrays = {name: values.astype(object) if values.dtype.kind == "U" else values for name, values in columns.items()}
    return pa.Table.from_pandas(pd.DataFrame(arrays), preserve_index=False)
