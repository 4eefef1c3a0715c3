"""Export of splits and samples as files, for training outside the suite.

``protocol.json`` holds the dataset's name, the sampling, seeds, a fingerprint and the sha256 of each file. For each
canonical split, ``split-SEED/`` contains ``train-SEED.parquet`` (``example_id, smiles, y, x``: the rows that a single
model of this train seed is trained on, in order and with repeats) and ``test.parquet`` (``evalset, example_id, smiles,
x``; no labels). ``x`` are the features that the suite's own methods use.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.data.problem import digest, load_problem
from benchmark.errors import UserError
from benchmark.settings import DEFAULT_SEEDS, parse_seeds, refuse_lone_halves
from benchmark.store.staging import staging
from benchmark.train import sample_for
from benchmark.types import Problem, Sampling

FORMAT = 2
PART = ".protocol"
"""Start of the name of what is not complete; what a killed command has left is removed."""
CANONICAL_SEEDS = (99,)
TRAIN_SEEDS: Mapping[Sampling, tuple[int, ...]] = {s: tuple(parse_seeds(text)) for s, text in DEFAULT_SEEDS.items()}
"""Train seeds of every result on the leaderboard, under each sampling (paper, section Experimental setup)."""
SUBMITTED: tuple[Sampling, ...] = ("halves", "nested", "paper")
"""Samplings of submissions. Under ``update``, chance alone changes predictions, and nothing is published to compare."""
MOST_SPLITS, MOST_SEEDS = 5, 100
"""The most canonical and train seeds of a submission."""


def protocol_fingerprint(problems: Iterable[Problem], sampling: Sampling, seeds: Sequence[int]) -> str:
    """Return 16 hex digits of the data of each split and the rows of a single model of each train seed."""
    splits = {}
    for problem in problems:
        rows = np.stack([_rows(problem, sampling, seed) for seed in sorted(seeds)])
        splits[problem.canonical_seed] = problem.fingerprint, digest(rows)
    return joined_fingerprint(splits)


def joined_fingerprint(splits: Mapping[int, tuple[str, str]]) -> str:
    """Return one fingerprint for those of data and rows, by canonical seed, which version 0.1.0 gave separately."""
    return hashlib.sha256(repr(sorted(splits.items())).encode()).hexdigest()[:16]


def _rows(problem: Problem, sampling: Sampling, seed: int) -> np.ndarray:
    """Return the rows (R,) of the pool that a single model is trained on, in order and with repeats."""
    sample, places = sample_for(problem, sampling, seed)
    return places[sample.rows]


def export(
    dataset: str,
    out: Path,
    canonical_seeds: Sequence[int] = CANONICAL_SEEDS,
    seeds: Sequence[int] = (),
    sampling: Sampling = "halves",
) -> Path:
    """Write the protocol of ``dataset`` to the folder ``out`` and return the path of its ``protocol.json``.

    ``seeds`` are those of ``TRAIN_SEEDS`` by default. Raises UserError for an unknown dataset, a folder that is not
    empty, and half a halving.
    """
    seeds = sorted(seeds or TRAIN_SEEDS[sampling])
    refuse_lone_halves(seeds, sampling)
    if out.is_file() or any(not path.name.startswith(PART) for path in out.glob("*")):
        raise UserError(f"{out} is not an empty folder: choose another, so that no old training file remains")
    splits: dict[str, Any] = {}
    problems = [load_problem(dataset, canonical_seed) for canonical_seed in canonical_seeds]
    about = {"format": FORMAT, "suite": __version__, "dataset": problems[0].name, "task": problems[0].task}
    about |= {"n_outputs": problems[0].n_outputs, "sampling": sampling, "train_seeds": seeds}
    about |= {"fingerprint": protocol_fingerprint(problems, sampling, seeds), "splits": splits}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for left in out.glob(f"{PART}*"):
            shutil.rmtree(left)
        with staging(out / PART[1:]) as new:
            for problem in problems:
                folder = new / f"split-{problem.canonical_seed}"
                folder.mkdir()
                files = {}
                for name, table in _samples(problem, sampling, seeds):
                    path = folder / f"{name}.parquet"
                    pq.write_table(table, path, compression="zstd")
                    files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
                train = len(_rows(problem, sampling, seeds[0]))
                splits[str(problem.canonical_seed)] = {
                    "problem": problem.fingerprint,
                    "rows": {"train": train} | {name: len(test) for name, test in problem.evals.items()},
                    "files": files,
                }
            (new / "protocol.json").write_text(f"{json.dumps(about, indent=1)}\n", encoding="utf-8")
            for path in sorted(new.iterdir(), reverse=True):  # protocol.json, which marks a complete protocol, last
                path.rename(out / path.name)
    except OSError as error:
        raise UserError(f"cannot write the protocol to {out}: {error}") from error
    return out / "protocol.json"


def _samples(problem: Problem, sampling: Sampling, seeds: Sequence[int]) -> Iterator[tuple[str, pa.Table]]:
    """Yield a table of training rows for each seed, and the test sets; features of the pool would be its union."""
    train, tests = problem.train, problem.evals
    for seed in seeds:
        rows = _rows(problem, sampling, seed)
        columns = {"example_id": train.ids[rows], "smiles": train.smiles[rows], "y": train.y[rows]}
        yield f"train-{seed}", _table(columns, train.x[rows])
    joined = {name: np.concatenate([getattr(test, name) for test in tests.values()]) for name in ("ids", "smiles", "x")}
    evalset = np.repeat(list(tests), [len(test) for test in tests.values()])
    columns = {"evalset": evalset, "example_id": joined["ids"], "smiles": joined["smiles"]}
    yield "test", _table(columns, joined["x"])


def _table(columns: dict[str, np.ndarray], x: np.ndarray) -> pa.Table:
    arrays = {name: values.astype(object) if values.dtype.kind == "U" else values for name, values in columns.items()}
    features = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])
    return pa.Table.from_pandas(pd.DataFrame(arrays), preserve_index=False).append_column("x", features)
