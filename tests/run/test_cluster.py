"""A real Dask cluster gives the same predictions, and loses nothing when parts of it die."""

import importlib
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run import cluster, runner
from benchmark.run.check import synthetic
from benchmark.run.runner import Failed, Planned
from benchmark.store import tracking
from benchmark.store.cell import Cell
from tests.conftest import free_port
from tests.store.conftest import planned
from tests.test_registry import own

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of Dask itself
METHODS = ["erm", "bagging:k=2", "twin", "random_forest:trees=5"]
SEEDS = [1, 2, 3, 4, 5]


@dataclass
class Dask:
    """A scheduler and three workers in separate processes."""

    address: str
    processes: list[subprocess.Popen[bytes]]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    pytest.importorskip("distributed", reason="Dask is not installed: pip install -e '.[cluster]'")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    port = str(free_port())
    run, address = [sys.executable, "-m", "distributed.cli.dask_scheduler"], f"tcp://127.0.0.1:{port}"
    processes = [subprocess.Popen([*run, "--no-dashboard", "--host", "127.0.0.1", "--port", port], **quiet)]
    run = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    options = ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
    processes += [subprocess.Popen([*run, *options], **quiet) for _ in range(3)]  # which wait for the scheduler
    yield Dask(address, processes)
    for process in reversed(processes):
        process.kill()
        process.wait()


@pytest.fixture
def client(dask: Dask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(cluster, "PATIENCE", "120s")  # it has just been started
    with cluster.connect(dask.address) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def plans(texts: list[str]) -> list[Planned]:
    return [planned(text, *SEEDS) for text in texts]


def filled(planned: list[Planned], **options: object) -> dict[str, Cell]:
    results = [result for _, result in runner.run(planned, **options)]
    failed = [result.reason for result in results if isinstance(result, Failed)]
    assert not failed, failed[0]
    return {cell.title: cell for cell in results if isinstance(cell, Cell)}


def assert_same(ours: dict[str, Cell], theirs: dict[str, Cell]) -> None:
    assert ours.keys() == theirs.keys()
    for title, cell in ours.items():
        for evalset, p in cell.predictions.items():
            np.testing.assert_array_equal(p.values, theirs[title].predictions[evalset].values)


@pytest.mark.slow
def test_the_work_of_a_killed_worker_is_done_on_another_and_a_lost_scheduler_is_an_error_that_says_how_to_go_on(
    dask, client
):
    results = []
    for _, result in runner.run(plans(METHODS), client=client, fresh=True):
        if not results:
            os.kill(dask.processes[1].pid, signal.SIGKILL)
        results.append(result)
    cells = {cell.title: cell for cell in results if isinstance(cell, Cell)}
    assert_same(cells, filled(plans(METHODS), jobs=1, fresh=True))

    running = runner.run(plans(METHODS), client=client, fresh=True)
    next(running)
    dask.processes[0].kill()
    with pytest.raises(UserError, match=r"scheduler was lost(.|\n)*same command again"):
        list(running)


@pytest.mark.slow
def test_the_command_line_works_on_a_cluster_where_a_large_problem_travels_compressed_and_is_unpacked_once(
    dask, client, own_store, churn
):
    def profiled(dask_worker):
        return os.getpid(), dask_worker.periodic_callbacks["profile"].is_running()

    assert all(running for _, running in client.run(profiled).values())
    words = ["--method", "erm,random_forest:trees=2", "--dataset", "b3db_measured", "--seeds", "3"]
    said = churn("run", *words, "--scheduler", dask.address)
    assert "2 cells trained, 0 already recorded, 0 failed" in said
    assert {cell.title for cell in tracking.Store().cells()} == {"ERM", "Random forest, trees=2"}

    small = synthetic("classification")
    x = np.pad(small.train.x, ((0, 0), (0, 16_000_000 // small.train.x.nbytes * small.train.x.shape[1])))
    problems = [replace(small, name=name, train=replace(small.train, x=x)) for name in ("one", "other")]

    def seen(problem, unit):
        from distributed import get_worker

        vars(problem)["units"] = nth = vars(problem).get("units", 0) + 1
        held = max(len(pickle.dumps(one)) for one in get_worker().data.values())
        return (os.getpid(), problem.name, nth), problem.digest, held

    units = [(problem, unit) for problem in problems for unit in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Dask warns of more than 10 MB
        found = list(cluster.spread(client, seen, units))
    counts, digests, held = zip(*found, strict=True)
    assert len(set(counts)) == 24  # unpacked anew, a problem would always be in its first unit
    assert set(digests) == {problem.digest for problem in problems}
    assert max(held) < x.nbytes / 10
    working = {pid for pid, _, _ in counts}
    assert not any(running for pid, running in client.run(profiled).values() if pid in working)


@pytest.mark.slow
def test_a_method_that_kills_its_workers_fails_alone(client, tmp_path, monkeypatch, own_registry):
    (tmp_path / "deadly.py").write_text(own("os._exit(3)", "import os"))  # the workers run in this folder
    monkeypatch.syspath_prepend(tmp_path)
    remedy = importlib.import_module("deadly").Mine()
    method = replace(make_method("erm", "classification"), remedy=remedy)
    deadly = runner.plan(synthetic("classification"), method, [9])
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    results = [r for _, r in runner.run([deadly, *plans(["erm"])], client=client) if not isinstance(r, int)]
    (failed,) = [result for result in results if isinstance(result, Failed)]
    assert "the worker process died on train seeds (9,)" in failed.reason
    (cell,) = [result for result in results if isinstance(result, Cell)]
    assert_same({"ERM": cell}, filled(plans(["erm"]), jobs=1))


def test_a_missing_scheduler_is_an_error_that_explains_how_to_start_one(monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install -e '.[cluster]'")
    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    message = r"no Dask scheduler answers at tcp://127\.0\.0\.1:9(.|\n)*dask scheduler"
    with pytest.raises(UserError, match=message), cluster.connect("tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize(("text", "message"), [("cores = 1", "expected 'jobs'"), ("jobs = ", "not a description")])
def test_a_wrong_description_of_slurm_is_named_by_its_file(tmp_path, text, message):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed: pip install -e '.[cluster]'")
    file = tmp_path / "slurm.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught, cluster.connect(slurm=file):
        pass
    assert str(file) in str(caught.value)
