"""Time the published pipelines again, one retraining at a time on one thread, for the board's column of compute.

    taskset --cpu-list 0 python tools/costs.py time costs.jsonl    # an hour; goes on after an interruption
    python tools/costs.py compare costs.jsonl again.jsonl
    python tools/costs.py write costs.jsonl

Cells are trained on several machines and beside others, so that what a retraining took there compares badly. Nothing
else should run on the core.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

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
SHORT = 0.2
"""Seconds below which a retraining is timed twice, and the shorter time counts: the first may fill caches."""


def cells() -> Iterator[Planned]:
    """Yield the published cells of the file of grids, one dataset after another."""
    blocks, done = grids.read(GRIDS)
    by_dataset: dict[str, list[grids.Grid]] = {}
    for grid in (grid for block in blocks for part in block.grids() for grid in part):
        by_dataset.setdefault(grid.datasets[0], []).append(grid)
    for grid in (grid for group in by_dataset.values() for grid in group):
        yield from (cell for cell in plan_grid(grid, {}) if cell.key.digest in done)


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


def measure(path: Path) -> None:
    """Append a line to the file for each cell that it lacks."""
    known = _read(path) if path.exists() else {}
    for cell in cells():
        if cell.key.digest not in known:
            line = {"cell": cell.key.digest, "dataset": cell.dataset, "title": cell.title, "seconds": seconds_of(cell)}
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
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["cell"]: line for line in lines}


if __name__ == "__main__":
    match [sys.argv[1], *map(Path, sys.argv[2:])]:
        case ["time", path]:
            with one_thread():
                measure(path)
        case ["compare", first, second]:
            compare(first, second)
        case ["write", path]:
            write_to(published.PUBLISHED, path)
        case _:
            sys.exit(__doc__)
