"""Kills of a command at many moments of its work: ``python kills.py FOLDER WORK TRIALS`` prints what became of them.

Each trial starts from a copy of the same folder. A child is killed at one of the steps that it takes there (a file
opened for writing, made, moved or removed, or a statement to the database); it then runs again, whole. The state that
this leaves is compared with that of a child that was never killed. A worker dies of memory in its training instead.
"""

import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run import driver, runner
from benchmark.store import outbox, tracking
from benchmark.studies import make_study
from benchmark.study.training import TrainingContext
from leaderboard import site
from leaderboard.read.stored import read

FOLDER = Path(sys.argv[1] if __name__ == "__main__" else "")  # tests that collect doctests import this
START = Path(f"{FOLDER}.start")
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
METHODS, SEEDS = ("random_forest:trees=2", "erm"), (1, 2, 3)
GREEDY = """
import os, resource, signal
from benchmark.learners.linear import Linear
from benchmark.pipeline import Remedy, method


@method("greedy", title="Greedy")
class Greedy(Remedy):
    moment: int = 0

    def fit(self, sample, learner):
        model = Linear().fit(sample)
        if len(sample.rows) > 20 and "GREEDY" in os.environ:  # not in the warm-up
            resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
            kept = []
            try:
                while True:
                    kept.append(bytearray(2**24 * (1 + self.moment)))
            except MemoryError:
                os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does
        return model
"""
"""A method whose worker dies when the memory that it may have is full."""


def planned(*methods: str, seeds: tuple[int, ...] = SEEDS) -> list[runner.Planned]:
    problem = load_problem("small.toml", 99)
    return [runner.plan(problem, make_method(name, problem.task), seeds, dataset="small.toml") for name in methods]


def fill(*methods: str, jobs: int = 1, seeds: tuple[int, ...] = SEEDS) -> driver.Tally:
    tally = driver.fill(planned(*methods, seeds=seeds), force=False, jobs=jobs, report=print)
    if tally.trouble:
        raise UserError(tally.trouble)
    return tally


def save() -> None:
    """Train one cell and keep it in the outbox."""
    outbox.save([result for _, result in runner.run(planned(METHODS[0]), 1)][-1])


def build() -> None:
    results, health = read()
    site.write(results, FOLDER / "site", health=health)


def update() -> None:
    study = make_study("updates", {"dataset": "small.toml", "cuts": "1", "seeds": "2", "methods": "warm_start"})
    context = TrainingContext(study, 1, "cpu", print)
    context.finish(study.report(context))


WORKS: dict[str, tuple[Callable[[], object] | None, Callable[[], object]]] = {
    "store": (None, tracking.Store),
    "run": (tracking.Store, lambda: fill(*METHODS)),
    "recording": (lambda: (tracking.Store(), save()), lambda: fill(METHODS[0])),
    "build": (lambda: (fill(*METHODS), build(), shutil.rmtree(FOLDER / "site" / "datasets")), build),
    "update": (tracking.Store, update),
}
"""What is done before, and the work that is killed."""


def state() -> dict[str, Any]:
    """Return the predictions, records and pages, and what is left over."""
    store = tracking.Store()
    cells = [(c.title, [hashlib.sha256(p.values).hexdigest() for p in c.predictions.values()]) for c in store.cells()]
    runs = [(kind, run.info.status) for kind in ("cell", "seed") for run in store._runs(kind)]
    records = [(r.study, r.key, hashlib.sha256(repr(r.content).encode()).hexdigest()) for r in store.records()]
    pages = {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in (FOLDER / "site").rglob("*") if p.is_file()}
    left = [*store.unreadable, *map(str, outbox.pending())]
    return json.loads(json.dumps({"cells": sorted(cells), "runs": sorted(runs), "records": sorted(records),
                                  "pages": pages, "left": left}))  # fmt: skip


def counts_steps(killed_at: int) -> list[int]:
    """Kill this process at step ``killed_at``; return a list that counts the steps."""
    steps = [0]

    def step() -> None:
        steps[0] += 1
        if steps[0] == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        changes = event in CHANGES or (event == "open" and given[2] & os.O_ACCMODE)
        if changes and str(given[0]).startswith(str(FOLDER)):
            step()

    sys.addaudithook(hook)
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "after_cursor_execute", lambda *_: step())
    return steps


def in_child(work: Callable[[], Any], killed_at: int = 0) -> tuple[int, dict[str, Any]]:
    """Do ``work`` in a child; return its exit code, a signal as a negative number, and the steps and state after it."""
    out, into = os.pipe()
    if not (child := os.fork()):
        steps = counts_steps(killed_at)
        try:
            work()
        except UserError as error:
            print(error)
            os._exit(2)
        content = {"steps": steps[0]} | state()
        os.write(into, json.dumps(content).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), json.loads(said or b"{}")


def restore() -> None:
    shutil.rmtree(FOLDER)
    shutil.copytree(START, FOLDER)
    os.chdir(FOLDER)


def killed(work: Callable[[], object], trials: int) -> dict[str, int]:
    """Kill the work at ``trials`` steps, evenly spaced from the first to the last."""
    shutil.copytree(FOLDER, START)
    code, reference = in_child(work)
    assert code == 0, "the work failed without a kill"
    steps = reference.pop("steps")
    at_work = recovered = 0
    for trial in range(trials):
        restore()
        at_work += in_child(work, 1 + trial * steps // trials)[0] == -signal.SIGKILL
        code, after = in_child(work)
        after.pop("steps", None)
        recovered += code == 0 and after == reference
        if after != reference:
            print(trial, 1 + trial * steps // trials, steps, code, {k: (v, reference[k]) for k, v in after.items()})
    lost = trials - recovered
    return {"steps": steps, "trials": trials, "in the work": at_work, "recovered": recovered, "lost": lost}


def out_of_memory(trials: int) -> dict[str, int]:
    """Let the worker of each of ``trials`` methods die of memory, beside one that does not."""
    (FOLDER / "methods").mkdir()
    (FOLDER / "methods" / "greedy.py").write_text(GREEDY)
    names = [f"greedy:moment={i}" for i in range(trials)]
    os.environ["GREEDY"] = "1"
    tally = fill(METHODS[0], *names, jobs=2, seeds=(1,))
    died = sum("died" in failed.reason and "out of memory" in failed.reason for failed in tally.failed)
    assert [cell.key.method for cell in tally.trained] == ["random_forest"], "another method was lost"
    del os.environ["GREEDY"]
    recovered = len(fill(METHODS[0], *names, jobs=2, seeds=(1,)).trained)
    whole = [title for title, _ in state()["cells"]]
    assert len(whole) == len(set(whole)) == trials + 1
    return {"trials": trials, "in the work": died, "recovered": recovered, "lost": trials - recovered}


def set_up(folder: Path) -> None:
    """Let the suite keep everything in ``folder``."""
    folder.mkdir(exist_ok=True)
    os.environ |= {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "CHURN_OUTBOX": str(folder / "outbox")}
    os.environ |= {"CHURN_CACHE_DIR": str(folder / "cache"), "CHURN_HOME": str(folder)}


def unflushed(connection: Any, _: object) -> None:
    """Wait for no disk: what a process had written when it was killed is there for others."""
    connection.execute("PRAGMA synchronous = OFF")


def main() -> None:
    name, trials = sys.argv[2], int(sys.argv[3])
    os.chdir(FOLDER)
    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", unflushed)
    set_up(Path(f"{FOLDER}.first"))
    fill(*METHODS)  # so that no child has to import or compile
    set_up(FOLDER)
    if name == "worker":
        table = out_of_memory(trials)
    else:
        before, work = WORKS[name]
        assert before is None or in_child(before)[0] == 0
        table = killed(work, trials)
    print(json.dumps({"work": name} | table))


if __name__ == "__main__":
    main()
