"""Time the published pipelines again, one retraining at a time on one thread, for the board's column of compute.

    taskset --cpu-list 0 python tools/costs.py time costs.jsonl 0/2 &    # every other dataset; can be started again
    taskset --cpu-list 1 python tools/costs.py time costs.jsonl 1/2
    python tools/costs.py compare costs.jsonl again.jsonl
    python tools/costs.py write costs.jsonl

Cells are trained on several machines and beside others, so that what a retraining took there compares badly. Nothing
else should run on the core. A core that others share is now fast, now slow: ERM is timed again every few seconds, and
a time counts as a multiple of ERM's beside it, times ERM's median on the dataset.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the suite, if it is not installed

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
"""Seconds below which a retraining is timed twice, and the shorter time counts: the first may fill caches."""
BESIDE = 15
"""Seconds after which ERM is timed again."""


def cells(part: int, parts: int) -> Iterator[tuple[Planned, Planned]]:
    """Yield the published cells of every ``parts``-th dataset, one dataset after another, each with that of ERM."""
    blocks, done = grids.read(GRIDS)
    by_dataset: dict[str, list[grids.Grid]] = {}
    for grid in (grid for block in blocks for alike in block.grids() for grid in alike):
        by_dataset.setdefault(grid.datasets[0], []).append(grid)
    for group in list(by_dataset.values())[part::parts]:
        reference = next(cell for cell in plan_grid(group[0], {}) if cell.title == "ERM")
        for grid in group:  # one problem is in memory at a time
            yield from ((cell, reference) for cell in plan_grid(grid, {}) if cell.key.digest in done)


def seconds_of(cell: Planned) -> float:
    """Return the CPU seconds of a retraining."""
    taken: list[float] = []
    for seed in cell.key.seeds[:2]:
        sample, _ = sample_for(cell.problem, cell.key.sampling, seed)
        runner.warm_up(cell.method, sample)
        with sharing():
            start = time.process_time()
            cell.method.fit(sample)
            taken.append(time.process_time() - start)
        if taken[0] > SHORT:
            break
    return min(taken)


def measure(path: Path, part: int, parts: int) -> None:
    """Append a line to the file for each cell that it lacks."""
    known = _read(path) if path.exists() else {}
    erm: dict[str, tuple[float, float]] = {}  # when ERM was timed, and its seconds

    def beside(reference: Planned) -> float:
        when, seconds = erm.get(reference.dataset, (-np.inf, 0.0))
        if time.monotonic() > when + BESIDE:
            seconds = seconds_of(reference)
            erm[reference.dataset] = time.monotonic(), seconds
        return seconds

    for cell, reference in cells(part, parts):
        if cell.key.digest not in known:
            before, seconds = beside(reference), seconds_of(cell)
            line = {"cell": cell.key.digest, "dataset": cell.dataset, "title": cell.title, "seconds": seconds}
            line["erm"] = (before + beside(reference)) / 2  # another after a long fit
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def compare(first: Path, second: Path) -> None:
    """Print the ratio of two measurements of each pipeline's time, summed over the cells in both."""
    one, two = _read(first), _read(second)
    sums: dict[str, list[float]] = {}
    for cell in one.keys() & two.keys():
        seconds = sums.setdefault(one[cell]["title"], [0.0, 0.0])
        seconds[0] += one[cell]["seconds"]
        seconds[1] += two[cell]["seconds"]
    for ratio, title in sorted((a / b, title) for title, (a, b) in sums.items()):
        print(f"{ratio:.3f}  {title}")


def write_to(folder: Path, path: Path) -> None:
    """Write the times to the published cells."""
    if folder in cited.versions():
        sys.exit(f"{folder.name} is released")
    taken = _read(path)
    kept = published.read(folder)
    timed = [replace(c, fit_seconds=line["seconds"]) if (line := taken.get(c.key.digest)) else c for c in kept]
    write(collect(timed, str(folder)), folder, complete=False)
    print(f"{len(taken)} of {len(kept)} cells timed: {folder}")


def _read(path: Path) -> dict[str, dict]:
    """Return the lines by cell, their seconds at the speed at which the core did most of its dataset."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    beside: dict[str, set[float]] = {}
    for line in lines:
        beside.setdefault(line["dataset"], set()).add(line["erm"])
    return {
        line["cell"]: line | {"seconds": line["seconds"] / line["erm"] * median(beside[line["dataset"]])}
        for line in lines
    }


if __name__ == "__main__":
    match [sys.argv[1], *map(Path, sys.argv[2:])]:
        case ["time", path, share]:
            with one_thread():
                measure(path, *map(int, str(share).split("/")))
        case ["compare", first, second]:
            compare(first, second)
        case ["write", path]:
            write_to(published.PUBLISHED, path)
        case _:
            sys.exit(__doc__)
