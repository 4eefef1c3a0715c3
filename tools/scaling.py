"""Print how time and memory grow with rows, train seeds, methods and workers: CPU seconds, wall seconds and peak MB.

    python tools/scaling.py

Rows are those of a dataset, drawn with replacement where it has fewer. Each line is measured in a process of its own,
after imports and what numba compiles; of several workers, it has the wall time alone.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the suite, if it is not installed

from benchmark.data.problem import load_problem
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.types import Examples, Problem

SEVEN = ["erm", "swa", "mc_dropout", "deep_ensemble", "bagging:k=2", "bagging", "twin"]
LINES = [
    *((rows, ["erm"], 2, 1) for rows in (500, 5_000, 50_000)),
    *((rows, [method], 2, 1) for method in ("svm", "random_forest") for rows in (500, 5_000)),
    *((1_000, ["erm"], seeds, 1) for seeds in (2, 10, 50)),
    *((1_000, SEVEN[:methods], 10, 1) for methods in (1, 4, 7)),
    *((1_000, SEVEN, 20, workers) for workers in (1, 2)),
]
"""Rows, methods, train seeds and workers of each line."""


def drawn(problem: Problem, rows: int) -> Problem:
    """Return the problem with a training pool of ``rows`` rows, drawn without replacement if it has as many."""
    have = len(problem.train)
    of = np.random.default_rng(0).choice(have, rows, replace=rows > have)
    train = Examples(problem.train.x[of], problem.train.y[of], np.arange(rows).astype(str), problem.train.smiles[of])
    return replace(problem, train=train)


def measure(dataset: str, rows: int, methods: list[str], seeds: int, workers: int) -> tuple[float, float, float]:
    """Return the CPU seconds of this process, the wall seconds and its peak memory in MB, for one line."""
    problem = load_problem(dataset)
    made = [make_method(text, problem.task) for text in methods]

    def retrain(problem: Problem, seeds: int) -> None:
        cells = [runner.plan(problem, method, range(1, seeds + 1), sampling="halves") for method in made]
        failed = [result for _, result in runner.run(cells, workers, fresh=True) if isinstance(result, runner.Failed)]
        assert not failed, failed

    retrain(drawn(problem, 100), 2 * workers)  # starts workers, imports and compiles
    cpu, wall = time.process_time(), time.perf_counter()
    retrain(drawn(problem, rows), seeds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="ames", help="a classification dataset")
    parser.add_argument("--line", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.line is not None:
        print(json.dumps(measure(given.dataset, *LINES[given.line])))
        return
    print(f"{'rows':>8}{'seeds':>7}{'workers':>9}{'CPU s':>10}{'wall s':>10}{'peak MB':>10}  methods")
    for number, (rows, methods, seeds, workers) in enumerate(LINES):
        command = [sys.executable, __file__, "--dataset", given.dataset, "--line", str(number)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        cpu, wall, peak = json.loads(done.stdout.splitlines()[-1])
        used = f"{cpu:10.2f}{wall:10.2f}{peak:10.0f}" if workers == 1 else f"{'–':>10}{wall:10.2f}{'–':>10}"
        print(f"{rows:8}{seeds:7}{workers:9}{used}  {', '.join(methods)}", flush=True)


if __name__ == "__main__":
    main()
