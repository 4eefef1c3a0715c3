"""Export of splits and samples as files, for training outside the suite.

``protocol.json`` holds the dataset's name, the sampling, seeds, a fingerprint and the sha256 of each file. For each
canonical split, ``split-SEED/`` contains, under the samplings ``halves`` and ``nested``, ``train-SEED.parquet``
(``example_id, smiles, y, x``: the rows that the model of this train seed is trained on, in order and with repeats) and
``test.parquet`` (``evalset, example_id, smiles, x``; no labels). ``x`` are the features that the suite's own methods
use. No file holds the whole pool.

Under ``paper``, where a retraining sees the whole pool, there are ``train.parquet`` (``example_id, smiles, y``),
``bootstraps.parquet`` (``train_seed, member, example_id``: the N rows of each bootstrap in order), ``test.parquet``
(``evalset, example_id, smiles``) and ``features.parquet`` (``example_id, x``, of all examples).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark import __version__
from benchmark.data.problem import digest, load_problem
from benchmark.errors import UserError
from benchmark.settings import DEFAULT_SEEDS, parse_seeds, refuse_lone_halves
from benchmark.train import bootstrap, sample_for
from benchmark.types import PAPER, Examples, Problem, Sampling

FORMAT = 2
CANONICAL_SEEDS = (99,)
TRAIN_SEEDS: Mapping[Sampling, tuple[int, ...]] = {s: tuple(parse_seeds(text)) for s, text in DEFAULT_SEEDS.items()}
"""Train seeds of every result on the leaderboard, under each sampling (paper, section Experimental setup)."""


def protocol_fingerprint(problems: Iterable[Problem], sampling: Sampling, seeds: Sequence[int]) -> str:
    """Return 16 hex digits of the minor version, the data of each split, and the rows of one model of each seed."""
    content = ".".join(__version__.split(".")[:2])
    for problem in problems:
        rows = digest(np.stack([_rows(problem, sampling, seed) for seed in sorted(seeds)]))
        content += f" {problem.canonical_seed} {problem.fingerprint} {rows}"
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _rows(problem: Problem, sampling: Sampling, seed: int) -> np.ndarray:
    """Return the rows (R,) of the pool that a single model is trained on, in order and with repeats."""
    sample, places = sample_for(problem, sampling, seed)
    return places[sample.rows]


def export(
    dataset: str,
    out: Path,
    canonical_seeds: Sequence[int] = CANONICAL_SEEDS,
    seeds: Sequence[int] = (),
    members: int = 1,
    sampling: Sampling = "halves",
) -> Path:
    """Write the protocol of ``dataset`` to the folder ``out`` and return the path of its ``protocol.json``.

    ``seeds`` are those of ``TRAIN_SEEDS`` by default. Under ``paper``, each train seed gets ``members`` bootstraps, for
    methods that train several networks. Raises UserError for an unknown dataset, a folder that is not empty, half a
    halving, and several members under another sampling.
    """
    seeds = sorted(seeds or TRAIN_SEEDS[sampling])
    refuse_lone_halves(seeds, sampling)
    if members > 1 and sampling != PAPER:
        raise UserError(
            f"--members {members}: only --sampling paper gives several bootstraps of the pool; under {sampling}, "
            "resample the rows of each training file yourself"
        )
    if out.is_file() or (out.exists() and any(out.iterdir())):
        raise UserError(f"{out} is not an empty folder: choose another, so that no old training file remains")
    splits = {}
    problems = [load_problem(dataset, canonical_seed) for canonical_seed in canonical_seeds]
    for problem in problems:
        folder = out / f"split-{problem.canonical_seed}"
        folder.mkdir(parents=True, exist_ok=True)
        files = {}
        tables = _pool(problem, seeds, members) if sampling == PAPER else _samples(problem, sampling, seeds)
        for name, table in tables:
            path = folder / f"{name}.parquet"
            pq.write_table(table, path, compression="zstd")
            files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        train = len(_rows(problem, sampling, seeds[0]))
        splits[str(problem.canonical_seed)] = {
            "problem": problem.fingerprint,
            "rows": {"train": train} | {name: len(test) for name, test in problem.evals.items()},
            "files": files,
        }
    about = {
        "format": FORMAT,
        "suite": __version__,
        "dataset": problem.name,
        "task": problem.task,
        "n_outputs": problem.n_outputs,
        "sampling": sampling,
        "train_seeds": seeds,
        "members": members,
        "fingerprint": protocol_fingerprint(problems, sampling, seeds),
        "splits": splits,
    }
    path = out / "protocol.json"
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")  # last, as it marks a complete protocol
    return path


def _samples(problem: Problem, sampling: Sampling, seeds: Sequence[int]) -> Iterator[tuple[str, pa.Table]]:
    """Yield a table of training rows for each seed, and the test sets; features of the pool would be its union."""
    train = problem.train
    for seed in seeds:
        rows = _rows(problem, sampling, seed)
        columns = {"example_id": train.ids[rows], "smiles": train.smiles[rows], "y": train.y[rows]}
        yield f"train-{seed}", _table(columns).append_column("x", _lists(train.x[rows]))
    yield "test", _tests(problem).append_column("x", _lists(_joined(problem.evals.values(), "x")))


def _pool(problem: Problem, seeds: Sequence[int], members: int) -> Iterator[tuple[str, pa.Table]]:
    train = problem.train
    yield "train", _table({"example_id": train.ids, "smiles": train.smiles, "y": train.y})
    rows = np.stack([bootstrap(sample_for(problem, PAPER, seed)[0], members) for seed in seeds])
    n = rows.shape[2]
    columns = {
        "train_seed": np.repeat(np.array(seeds), members * n),
        "member": np.tile(np.repeat(np.arange(members), n), len(seeds)),
        "example_id": train.ids[rows.ravel()],
    }
    yield "bootstraps", _table(columns)
    yield "test", _tests(problem)
    everyone = (train, *problem.evals.values())
    ids = pa.array(_joined(everyone, "ids").astype(object))
    yield "features", pa.table({"example_id": ids, "x": _lists(_joined(everyone, "x"))})


def _tests(problem: Problem) -> pa.Table:
    tests = problem.evals
    columns = {
        "evalset": np.repeat(list(tests), [len(test) for test in tests.values()]),
        "example_id": _joined(tests.values(), "ids"),
        "smiles": _joined(tests.values(), "smiles"),
    }
    return _table(columns)


def _joined(parts: Iterable[Examples], name: str) -> np.ndarray:
    return np.concatenate([getattr(examples, name) for examples in parts])


def _lists(x: np.ndarray) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])


def _table(columns: dict[str, np.ndarray]) -> pa.Table:
    arrays = {name: values.astype(object) if values.dtype.kind == "U" else values for name, values in columns.items()}
    return pa.Table.from_pandas(pd.DataFrame(arrays), preserve_index=False)
