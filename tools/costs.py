"""Time the pipelines of the first page, one retraining at a time on one thread, for the board's column of compute.

    taskset --cpu-list 0 python tools/costs.py time costs.jsonl 0/2 &    # every other dataset; can be started again
    taskset --cpu-list 1 python tools/costs.py time costs.jsonl 1/2
    python tools/costs.py time again.jsonl 0/1 "TabM K=32" XGBoost       # some pipelines, of which ERM is always one
    python tools/costs.py compare costs.jsonl again.jsonl
    python tools/costs.py write costs.jsonl

Cells are trained on several machines and beside others, so that what a retraining took there compares badly. Nothing
else should run on the core. A core that others share is now fast, now slow: short retrainings are timed three times,
ERM every minute, and a cell takes the median of its times.
"""

import json
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))  # the suite, if it is not installed

from benchmark.data.problem import load_problem
from benchmark.data.spec import expand
from benchmark.run import grids, runner
from benchmark.run.driver import plan_grid
from benchmark.run.runner import Planned
from benchmark.train.device import one_thread
from benchmark.train.loop import sharing
from benchmark.train.resampling import sample_for
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.write import cited
from leaderboard.write.published import write

GRIDS = Path(__file__).parents[1] / "leaderboard" / "pipelines.toml"
SHORT = 0.5
"""Seconds below which a retraining is timed ``TIMES`` times."""
TIMES = 3
BESIDE = 60
"""Seconds after which ERM is timed again: its time divides those of all pipelines of a dataset."""


def grids_of(part: int, parts: int) -> Iterator[tuple[Planned, list[Planned]]]:
    """Yield ERM on every ``parts``-th dataset with each published grid of it, the datasets with fewest rows first."""
    blocks, done = grids.read(GRIDS)
    by_dataset: dict[str, list[grids.Grid]] = {}
    for grid in (grid for block in blocks for alike in block.grids() for grid in alike):
        if grid.sampling == "halves" and 99 in grid.canonical_seeds:
            by_dataset.setdefault(grid.datasets[0], []).append(grid)
    smallest = sorted(
        by_dataset.keys() & set(expand("pipelines")), key=lambda name: (len(load_problem(name).train), name)
    )
    for group in (by_dataset[name] for name in smallest[part::parts]):
        reference = next(cell for cell in plan_grid(group[0], {}) if cell.title == "ERM")
        for grid in group:  # one problem is in memory at a time
            planned = plan_grid(grid._replace(canonical_seeds=(99,)), {})
            yield reference, [cell for cell in planned if cell.key.digest in done]


def seconds_of(cell: Planned, seed: int) -> float:
    """Return the CPU seconds of a retraining."""
    sample, _ = sample_for(cell.problem, cell.key.sampling, seed)
    runner.warm_up(cell.method, sample)
    with sharing():
        start = time.process_time()
        cell.method.fit(sample)
        return time.process_time() - start


def measure(path: Path, part: int, parts: int, titles: Collection[str]) -> None:
    """Append a line to the file for each time that it lacks, of all pipelines, or of ERM and some ``titles``."""
    taken: dict[str, list[float]] = {}
    if path.exists():
        taken |= pd.read_json(path, lines=True, dtype=False).groupby("cell")["seconds"].apply(list).to_dict()

    def add(cell: Planned) -> None:
        times = taken.setdefault(cell.key.digest, [])
        times.append(seconds_of(cell, cell.key.seeds[len(times) % len(cell.key.seeds)]))
        line = {"cell": cell.key.digest, "dataset": cell.dataset, "title": cell.title, "seconds": times[-1]}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    beside = "", -np.inf  # the dataset on which ERM was timed last, and when
    for reference, planned in grids_of(part, parts):
        for number in range(TIMES):
            for cell in (cell for cell in planned if not titles or cell.title in ("ERM", *titles)):
                times = taken.get(cell.key.digest, [])
                if len(times) > number or (times and times[0] > SHORT):
                    continue
                if beside[0] != cell.dataset or time.monotonic() > beside[1] + BESIDE:
                    add(reference)
                    beside = cell.dataset, time.monotonic()
                add(cell)


def medians(path: Path) -> pd.DataFrame:
    """Return the dataset, title and median seconds of each cell, and its multiple of ERM's on the dataset."""
    cells = pd.read_json(path, lines=True, dtype=False).groupby("cell", sort=False)
    found = cells.agg({"dataset": "first", "title": "first", "seconds": "median"})
    erm = found[found["title"] == "ERM"].groupby("dataset")["seconds"].last()  # of the last revision
    return found.assign(multiple=found["seconds"] / found["dataset"].map(erm))


def compare(first: Path, second: Path) -> None:
    """Print the ratio of two measurements of the board's column: multiples of ERM's time, averaged over datasets."""
    if lacking := [path.name for path in (first, second) if medians(path)["multiple"].isna().any()]:
        sys.exit(f"{', '.join(lacking)}: no times of ERM on some datasets")
    both = medians(first).join(medians(second)["multiple"].rename("other"), how="inner").groupby("title")
    ratios = both["multiple"].mean() / both["other"].mean()
    for title, ratio in ratios.sort_values().items():
        print(f"{ratio:.3f}  {both.size()[title]:3}  {title}")


def write_to(folder: Path, path: Path) -> None:
    """Write the times to the published cells."""
    if folder in cited.versions():
        sys.exit(f"{folder.name} is released")
    seconds, kept = medians(path)["seconds"].to_dict(), published.read(folder)
    timed = [replace(cell, fit_seconds=seconds.get(cell.key.digest, cell.fit_seconds)) for cell in kept]
    write(collect(timed, str(folder)), folder, complete=False)
    print(f"{len(seconds)} of {len(kept)} cells timed: {folder}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["time", path, share, *titles]:
            with one_thread():
                measure(Path(path), *map(int, share.split("/")), titles)
        case ["compare", first, second]:
            compare(Path(first), Path(second))
        case ["write", path]:
            write_to(published.PUBLISHED, Path(path))
        case _:
            sys.exit(__doc__)
