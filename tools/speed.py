"""Time what people wait for, here and in an earlier checkout, and training beside plain loops: tables in Markdown.

    git worktree add /tmp/before COMMIT
    python tools/speed.py --before /tmp/before > tables.md

It takes 42 minutes or more, in which the machine should do no more, and measures what docs/performance.md tabulates.
``--table`` chooses tables, also those that are only measured when they are named. Each line is measured in a process
and an empty home of its own, after what it does before its ``yield``; lines of a table take turns, and the median
counts. Without ``--before``, waits have the times of this checkout alone.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky import get_reusable_executor

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # the suite, if neither PYTHONPATH nor an installation has one

Body = Iterator[None]
PAPERS = ("erm", "swa", "mc_dropout", "deep_ensemble", "bagging:k=2", "bagging", "twin")
"""Methods of the paper's main table."""
CELLS = ("--dataset", "dili,hia_hou,skin_reaction,bioavailability_ma")
CELLS += ("--method", "erm,svm,gaussian_process,linear,lightgbm,multi_kernel,knn")
RUN, PLAN = ("run", *CELLS, "--jobs", "2"), ("plan", *CELLS)
HEADLINE = ("--dataset", "headline", "--method", "erm,bagging,twin", "--seeds", "2")


def churn(*words: str) -> None:
    """Run a command of the suite in this folder, without its output."""
    package = "leaderboard" if words[0] in ("build", "score") else "benchmark"
    subprocess.run([sys.executable, "-m", package, *words], check=True, stdout=subprocess.DEVNULL)


def command(*words: str, after: Sequence[Sequence[str]] = ()) -> Body:
    """A command, after others."""
    for others in after:
        churn(*others)
    yield
    churn(*words)


def scored(runs: int) -> Body:
    """The churn of runs of 300 examples, in one table."""
    draw = np.random.default_rng(0)
    lines = [f"{run},m{n},{n % 2},{p:.4f}" for run in range(runs) for n, p in enumerate(draw.random(300))]
    Path("table.csv").write_text("\n".join(["run,example_id,y_true,p1", *lines]), encoding="utf-8")
    yield
    churn("score", "table.csv")


def descriptors() -> Body:
    """Those of BACE, whose molecules are known."""
    from benchmark.data.rows import load_rows
    from benchmark.data.spec import load_spec

    load_rows(load_spec("bace"))
    yield
    load_rows(load_spec("bace@features=rdkit_descriptors"))


def retrained(
    *methods: str, seeds: int, workers: int = 1, sampling: Any = "halves", rows: int = 0, dataset: str = "bace"
) -> Body:
    """Retrainings with a training pool of ``rows`` rows or the dataset's own, after a short one, which compiles."""
    from benchmark.data.problem import load_problem
    from benchmark.registry import make_method
    from benchmark.run import runner

    problem = load_problem(dataset)
    made = [make_method(text, problem.task, backbone=problem.backbone) for text in methods]

    def train(problem: Any, seeds: int) -> None:
        cells = [runner.plan(problem, method, range(1, seeds + 1), sampling=sampling) for method in made]
        failed = [result for _, result in runner.run(cells, workers, fresh=True) if isinstance(result, runner.Failed)]
        assert not failed, failed

    train(_drawn(problem, 100), 2 * workers)
    yield
    train(_drawn(problem, rows) if rows else problem, seeds)


def one_by_one(sampling: str, seeds: int) -> Body:
    """The paper's methods, of which none shares a network with another."""
    parts = [retrained(method, seeds=seeds, sampling=sampling) for method in PAPERS]
    for part in parts:
        next(part)
    yield
    for part in parts:
        next(part, None)


def plainly(sampling: Any, seeds: int) -> Body:
    """The paper's methods in a plain loop, with PyTorch's default threads."""
    from benchmark.data.problem import load_problem
    from tools.plain import Plain

    problem = load_problem("bace")
    plain = Plain(problem)
    plain.fit(list(range(len(problem.train))))
    yield
    for seed in range(1, seeds + 1):
        plain.table(sampling, seed)


def by_others(learner: str) -> Body:
    """A network of half of BACE, trained by the library that has it, on one thread."""
    from benchmark.data.problem import load_problem
    from benchmark.train import sample_for
    from benchmark.train.device import one_thread
    from tools import plain

    problem = load_problem(f"bace@backbone={learner}")
    sample, places = sample_for(problem, "halves", 1)
    of = problem.train.smiles[places[sample.rows]], sample.y[sample.rows]
    with one_thread():
        train: Callable[[int], None] = getattr(plain, learner)(*of, problem)
        train(1)
        yield
        train(problem.recipe.epochs)


def on_dask(*cells: str) -> Body:
    """A run of ``cells`` on two Dask workers, which are there and have imported nothing."""
    from distributed import LocalCluster

    churn("plan", *cells)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield
        churn("run", *cells, "--scheduler", cluster.scheduler_address)


def invented(datasets: int, methods: int) -> Iterator[Any]:
    """Cells of ten retrainings and 300 examples."""
    from tests.leaderboard.conftest import cell, noisy

    draw = np.random.default_rng(0)
    for name in (f"d{number}" for number in range(datasets)):
        y = (draw.random(300) < 0.4).astype(int)
        for method in ("erm", *(f"m{number}" for number in range(1, methods))):
            yield cell(method, noisy(draw, y, 1.2, 10), y=y, dataset=name, about={"group": "headline", "family": name})


def recorded(cells: int) -> Body:
    """Cells of ten retrainings, recorded in SQLite."""
    from benchmark.store.tracking import Store

    store, (first, *others) = Store(), list(invented(1, cells + 1))
    store.log(first)
    yield
    for made in others:
        store.log(made)


def built(methods: int, datasets: int, again: bool = False) -> Body:
    """A board, with an empty cache or, ``again``, with all but one cell in it."""
    from leaderboard import site
    from leaderboard.read.results import collect

    cells = [*invented(datasets, methods)]
    if again:
        site.write(collect(cells[:-1], "invented"), Path("site"))
        get_reusable_executor().shutdown()
    results = collect(cells, "invented")
    yield
    site.write(results, Path("site"))


def _drawn(problem: Any, rows: int) -> Any:
    """Return the problem with a training pool of ``rows`` rows, drawn without replacement if it has as many."""
    from benchmark.types import Examples

    have = len(problem.train)
    of = np.random.default_rng(0).choice(have, rows, replace=rows > have)
    train = Examples(problem.train.x[of], problem.train.y[of], np.arange(rows).astype(str), problem.train.smiles[of])
    return replace(problem, train=train)


class Line(NamedTuple):
    """What is measured. Its times are divided by ``per``."""

    what: str
    body: Callable[[], Body]
    per: int = 1


class Table(NamedTuple):
    """Lines, with their times as multiples of the first line's, or, with ``faster``, its time as multiples of theirs.

    ``waits`` are timed in both checkouts. A ``named`` table is only measured when it is asked for.
    """

    lines: Sequence[Line]
    repeats: int = 1
    faster: bool = False
    waits: bool = False
    named: bool = False


OURS = partial(retrained, *PAPERS, seeds=10)
TWO = {sampling: partial(OURS, sampling=sampling, workers=2) for sampling in ("paper", "halves")}
NETWORK = {name: partial(retrained, "erm", seeds=2, dataset=f"bace@backbone={name}") for name in ("gin", "chemprop")}


def _training(sampling: str) -> Table:
    lines = [
        Line(f"a plain loop, {os.cpu_count()} threads", partial(plainly, sampling, 2), 2),
        Line("ours, nothing shared", partial(one_by_one, sampling, 10), 10),
        Line("ours", partial(OURS, sampling=sampling), 10),
        Line("ours, 2 workers", TWO[sampling], 10),
    ]
    return Table(lines, faster=True)


def _learner(name: str, library: str) -> Table:
    lines = [Line(f"{name} by {library}", partial(by_others, name)), Line("ours", NETWORK[name], 2)]
    return Table(lines, faster=True)


FEATURES_KNOWN = Line("run of 28 cells on four sets, features known", partial(command, *RUN, after=[PLAN]))
ERM = partial(retrained, "erm", seeds=2, dataset="ames")
TABLES = {
    "waits": Table(
        [
            Line("RDKit's descriptors of 1,513 molecules (BACE)", descriptors),
            FEATURES_KNOWN,
            Line("20 retrainings of a support vector machine", partial(retrained, "svm", seeds=20)),
            Line("20 retrainings of nearest neighbours", partial(retrained, "knn", seeds=20)),
            Line("20 retrainings of a random forest", partial(retrained, "random_forest", seeds=20)),
        ],
        3,
        waits=True,
    ),
    "longer": Table(
        [
            Line("the run of 28 cells, when all are recorded", partial(command, *RUN, after=[RUN])),
            Line("their pages", partial(command, "build", "--out", "site", after=[RUN])),
            Line("these cells on two Dask workers", partial(on_dask, *CELLS)),
            *(Line(f"a train seed of the paper's methods under {s}, 2 workers", TWO[s], 10) for s in TWO),
            *(Line(f"a network of {name} on half of BACE", NETWORK[name], 2) for name in NETWORK),
            Line("a retraining recorded in SQLite, in cells of ten", partial(recorded, 30), 300),
            Line("a board of 100 methods on 60 datasets", partial(built, 100, 60)),
            Line("churn score, 3,000 runs of 300 examples", partial(scored, 3_000)),
        ],
        waits=True,
    ),
    "new cell": Table(
        [Line("the board with one new cell", partial(built, 100, 60, again=True))], waits=True, named=True
    ),
    "commands": Table(
        [
            Line("churn --help", partial(command, "--help")),
            Line("churn list", partial(command, "list")),
            Line("churn plan of 28 cells on four sets", partial(command, *PLAN, after=[PLAN])),
            Line("churn score, 5 runs of 300 examples", partial(scored, 5)),
        ],
        3,
        waits=True,
    ),
    "paper": _training("paper"),
    "halves": _training("halves"),
    "gin": _learner("gin", "torch-geometric"),
    "chemprop": _learner("chemprop", "chemprop's own trainer"),
    "cluster": Table([FEATURES_KNOWN, Line("the same on two Dask workers", partial(on_dask, *CELLS))], 3, named=True),
    "headline": Table(
        [
            Line(
                "run of ERM, bagging and twin on headline, two seeds, features known",
                partial(command, "run", *HEADLINE, "--jobs", "2", after=[("plan", *HEADLINE)]),
            ),
            Line("the same on two Dask workers", partial(on_dask, *HEADLINE)),
        ],
        3,
        named=True,
    ),
    "rows": Table([Line(f"ERM, {rows:,} training rows", partial(ERM, rows=rows), 2) for rows in (500, 5_000, 50_000)]),
    "kernels": Table(
        [
            Line(f"{name}, {rows:,} training rows", partial(retrained, name, seeds=2, dataset="ames", rows=rows), 2)
            for name in ("svm", "random_forest")
            for rows in (500, 5_000)
        ]
    ),
    "seeds": Table(
        [Line(f"ERM, {seeds} train seeds", partial(retrained, "erm", seeds=seeds)) for seeds in (2, 10, 50)]
    ),
    "methods": Table(
        [
            *(Line(f"the paper's first {n} methods", partial(retrained, *PAPERS[:n], seeds=10)) for n in (1, 4, 7)),
            Line("all seven, 2 workers", partial(OURS, workers=2)),
        ]
    ),
}


class Used(NamedTuple):
    """Seconds, and peak memory of the largest process in MB."""

    wall: float
    cpu: float
    peak: float


def use(body: Body) -> Used:
    """Measure what follows the first ``yield``."""

    def cpu() -> float:
        return sum(
            time for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for time in resource.getrusage(who)[:2]
        )

    next(body)
    start, before = time.perf_counter(), cpu()
    for _ in body:
        raise RuntimeError("a body yields once")
    wall = time.perf_counter() - start
    get_reusable_executor().shutdown()  # joblib's workers count once they have ended
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Used(wall, cpu() - before, peak / 1024)


def measure(table: str, line: int, checkout: Path) -> Used:
    """Measure a line in a process and an empty home of its own, with the code of ``checkout``."""
    with tempfile.TemporaryDirectory() as home:
        places = {"CHURN_HOME": home, "CHURN_CACHE_DIR": f"{home}/cache", "PYTHONPATH": str(checkout)}
        command = [sys.executable, str(Path(__file__).resolve()), "--line", table, str(line)]
        done = subprocess.run(command, cwd=home, env=os.environ | places, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{TABLES[table].lines[line].what} in {checkout}:\n{done.stderr}")
        wall, cpu, peak = json.loads(done.stdout.splitlines()[-1])
    per = TABLES[table].lines[line].per
    return Used(wall / per, cpu / per, peak)


def report(name: str, checkouts: Sequence[Path]) -> None:
    """Print a table; the last checkout is the one that is compared with the first."""
    table = TABLES[name]
    if not table.waits:
        checkouts = checkouts[-1:]
    numbers = range(len(table.lines))
    turns = [[[measure(name, n, c) for c in checkouts] for n in numbers] for _ in range(table.repeats)]
    used = [
        [Used(*(statistics.median(values) for values in zip(*of, strict=True))) for of in zip(*each, strict=True)]
        for each in zip(*turns, strict=True)
    ]
    compared = len(checkouts) > 1
    if compared:
        heads = [text for kind in ("CPU s", "s") for text in (f"{kind} before", "after", "times as fast")]
    else:
        heads = ["CPU s", "s", "peak MB", "times as fast" if table.faster else "times as long"]
    print(f"\n| {name} | {' | '.join(heads)} |\n|{' --- |' * (len(heads) + 1)}")
    for line, (one, *others) in zip(table.lines, used, strict=True):
        if compared:
            (now,) = others
            pairs = (one.cpu, now.cpu), (one.wall, now.wall)
            cells = [text for a, b in pairs for text in (f"{a:.3g}", f"{b:.3g}", f"{a / b:.2f}")]
        else:
            long = one.wall / used[0][0].wall
            cells = [f"{one.cpu:.3g}", f"{one.wall:.3g}", f"{one.peak:,.0f}"]
            cells.append(f"{1 / long if table.faster else long:.2f}")
        print(f"| {line.what} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="an earlier checkout, for the waits")
    parser.add_argument("--table", action="append", choices=[*TABLES, "least"], help="a table; may be repeated")
    parser.add_argument("--line", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.line:
        table, line = given.line
        print(json.dumps(use(TABLES[table].lines[int(line)].body())))
        return
    for name in given.table or [*(name for name, table in TABLES.items() if not table.named), "least"]:
        if name in TABLES:
            try:
                report(name, [*([given.before.resolve()] if given.before else []), ROOT])
            except RuntimeError as error:  # the other tables are worth having
                print(error, file=sys.stderr)
        else:
            from benchmark.data.problem import load_problem
            from tools.roofline import report as report_least

            report_least(load_problem("bace"))


if __name__ == "__main__":
    main()
