"""Time where people wait, in two checkouts of the suite in turn: CPU and wall seconds, and their ratios.

    git worktree add /tmp/before 0.1.0
    python tools/waits.py /tmp/before . --repeats 3

Each task runs in a process and an empty home of its own. The first repeat includes what numba compiles once. It takes
many minutes; the machine should do nothing else.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

DATASETS = "dili,hia_hou,skin_reaction,bioavailability_ma"
GRIDS = f"""[[block]]
name = "bits"
dataset = "{DATASETS}"
method = "erm,svm,gaussian_process,linear,lightgbm,multi_kernel,knn"
"""
LOADED = (
    "from benchmark.data.rows import load_rows; from benchmark.data.spec import load_spec; load_rows(load_spec('{}'))"
)
RETRAINED = """
from benchmark.data.problem import load_problem
from benchmark.registry import make_method
from benchmark.run.runner import retrain
retrain(make_method("{}", "classification"), load_problem("bace"), range(1, 21), "halves")
"""


class Task(NamedTuple):
    """Something that people wait for; ``first`` is done before, in the same home, and not timed."""

    what: str
    words: list[str]
    first: Sequence[list[str]] = ()


RUN = ["-m", "benchmark", "run", "--grids", "grids.toml", "--jobs", "2"]
LOAD = [["-c", LOADED.format("bace")]]
PLAN = [["-m", "benchmark", "plan", "--grids", "grids.toml"]]
TASKS = {
    "features": Task("descriptors of 1,513 molecules (BACE)", ["-c", LOADED.format("bace@features=rdkit_descriptors")]),
    "run": Task("run of 28 cells on four sets, features known", RUN, PLAN),
    "again": Task("the same run, when all is recorded", RUN, [RUN]),
    "svm": Task("20 retrainings of a support vector machine", ["-c", RETRAINED.format("svm")], LOAD),
    "knn": Task("20 retrainings of nearest neighbours", ["-c", RETRAINED.format("knn")], LOAD),
}


def seconds(checkout: Path, task: Task) -> tuple[float, float]:
    """Return the CPU and wall seconds of a task with the code of ``checkout``, those of its workers included."""
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "grids.toml").write_text(GRIDS, encoding="utf-8")
        places = {"CHURN_HOME": home, "CHURN_CACHE_DIR": f"{home}/cache", "PYTHONPATH": str(checkout)}
        for words in [*task.first, task.words]:
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            command = [sys.executable, *words]
            subprocess.run(command, cwd=home, env=os.environ | places, check=True, stdout=subprocess.DEVNULL)
            after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, help="another")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"all, or some of {', '.join(TASKS)}")
    parser.add_argument("--repeats", type=int, default=3, help="times that each is measured; the median counts")
    given = parser.parse_args()
    if unknown := {*given.tasks} - {*TASKS}:
        parser.error(f"unknown tasks {', '.join(sorted(unknown))}: expected {', '.join(TASKS)}")
    checkouts = given.before.resolve(), given.after.resolve()
    print(f"{'':46}{'CPU before':>12}{'after':>8}{'ratio':>7}{'wall before':>13}{'after':>8}{'ratio':>7}")
    for name in given.tasks or TASKS:
        timed = [[seconds(checkout, TASKS[name]) for checkout in checkouts] for _ in range(given.repeats)]
        cells = ""
        for kind, width in ((0, 12), (1, 13)):
            before, after = (statistics.median(pair[which][kind] for pair in timed) for which in (0, 1))
            cells += f"{before:{width}.1f}{after:8.1f}{before / after:7.2f}"
        print(f"{TASKS[name].what:46}{cells}", flush=True)


if __name__ == "__main__":
    main()
