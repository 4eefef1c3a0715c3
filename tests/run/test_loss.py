"""No result is lost if drivers are killed, interrupted, out of disk space or run at once."""

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from benchmark.store import outbox, tracking


@pytest.fixture
def here(own_store: Path, small_table: str) -> Path:
    """A folder with a store, an outbox and the dataset ``small``, which takes a second."""
    toml = Path(small_table)
    toml.write_text(toml.read_text().replace('"own"', '"extra"'))  # after a run on own data, a page is built
    return own_store


class Driver:
    """``churn run …`` in a separate session, as in a terminal."""

    def __init__(self, *words: str):
        self.log = Path(f"driver.{time.monotonic_ns()}.log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmark", "run", *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    def until(self, reached: Callable[[], object]) -> None:
        deadline = time.monotonic() + 240  # a driver can take a minute to start on a busy machine
        while not reached():
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.01)

    def ends_interrupted(self, said: str) -> None:
        """Check that it ends within a minute as if by Ctrl-C, and leaves no process, once helpers have ended."""
        assert self.process.wait(60) == 130, self.output
        assert said in self.output
        assert "Traceback" not in self.output
        deadline = time.monotonic() + 10
        while (processes := self._alive()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert processes == []

    def _alive(self) -> list[str]:
        """Return the processes of its session, except zombies."""
        processes = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
                command = (stat.parent / "cmdline").read_text().replace("\0", " ")
                if int(session) == self.process.pid and state != "Z" and command:  # a process that is ending has none
                    processes.append(command)
            except (FileNotFoundError, ProcessLookupError):
                continue
        return processes

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.process.wait(10)


@pytest.fixture
def drive(here: Path) -> Iterator[Callable[..., Driver]]:
    started: list[Driver] = []

    def start(*words: str) -> Driver:
        started.append(Driver(*words))
        return started[-1]

    yield start
    for driver in started:
        driver.kill()


def recorded_seeds() -> int:
    """Count nested runs in the database itself, as MLflow would create its tables."""
    with closing(sqlite3.connect("file:mlflow.db?mode=ro", uri=True)) as store, suppress(sqlite3.OperationalError):
        return int(store.execute("SELECT count(*) FROM tags WHERE key = 'churn.train_seed'").fetchone()[0])
    return 0


def assert_each_once_and_whole(titles: dict[str, int]) -> None:
    """Check that the store holds a finished cell of each title with its nested runs, and no other run."""
    store = tracking.Store()
    cells = list(store.cells())
    assert store.unreadable == []
    assert {cell.title: len(cell.predictions["id"].seeds) for cell in cells} == titles
    assert len(cells) == len(titles)
    assert [run.info.status for run in store._runs("cell")] == ["FINISHED"] * len(titles)
    nested = store._runs("seed")
    assert [run.info.status for run in nested] == ["FINISHED"] * sum(titles.values())
    assert {run.data.tags["mlflow.parentRunId"] for run in nested} == {cell.run_id for cell in cells}


SCRIPT = """
import os, sys
from benchmark.run import driver, runner
from benchmark.store import outbox, tracking
from benchmark.run.check import synthetic
from benchmark.registry import make_method
from benchmark.store.cell import Cell

problem = synthetic("classification")
cells = [runner.plan(problem, make_method(m, problem.task), [1, 2]) for m in ("random_forest:trees=2", "erm")]

def at_once(work, numbers):
    # In separate processes; returns their exit codes, a signal as a negative number.
    children = []
    for number in numbers:
        child = os.fork()
        if not child:
            work(number)
            os._exit(0)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

def fill():
    return driver.fill(cells, force=False, jobs=1, report=print)
"""


def script(text: str) -> str:
    result = subprocess.run([sys.executable, "-c", SCRIPT + text], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


WHOLE = {"Random forest, trees=2": 2, "ERM": 2}
SMALL = ("--method", "erm", "--dataset", "small.toml", "--sampling", "paper", "--seeds", "2")
RUN = ("run", *SMALL, "--jobs", "1")


@pytest.mark.long
@pytest.mark.parametrize(
    ("work", "trials"), [("store", 8), *((work, 30) for work in ("run", "recording", "build", "update", "worker"))]
)
def test_kills_lose_nothing_and_need_no_more_than_another_start(here: Path, work: str, trials: int) -> None:
    folder = here / "kills"
    folder.mkdir()
    for name in ("small.csv", "small.toml"):
        shutil.copy(here / name, folder)
    command = [sys.executable, str(Path(__file__).with_name("kills.py")), str(folder), work, str(trials)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    table = json.loads(done.stdout.splitlines()[-1])
    assert (table["in the work"], table["recovered"], table["lost"]) == (trials, trials, 0), done.stdout


@pytest.mark.long
@pytest.mark.parametrize("apart", [True, False], ids=["on several machines", "with one outbox"])
def test_drivers_that_start_at_once_on_a_new_store_all_finish_and_record_each_cell_once(here, apart):
    output = script(f"""
def start(number):
    if {apart}:
        os.environ["CHURN_OUTBOX"] = f"outbox{{number}}"
    outcome = fill()
    print("trouble", outcome.trouble) if outcome.trouble else None
    sys.stdout.flush()

if not {apart}:
    outbox.prepare()
    for planned, result in runner.run(cells, 1):
        if isinstance(result, Cell):
            outbox.save(result)
assert at_once(start, range(3)) == [0, 0, 0]
""")
    assert "trouble" not in output
    assert output.count("recorded from") == (0 if apart else 2)
    assert outbox.pending() == []
    assert_each_once_and_whole(WHOLE)
    assert [path.name for path in here.glob(".*") if path.is_dir()] == []


@pytest.mark.long
def test_drivers_whose_stores_meet_the_same_new_dataset_at_once_record_all(here: Path) -> None:
    """MLflow looks for a dataset before inserting it; here all drivers look before any inserts."""
    script("""
import multiprocessing
from mlflow.store.tracking.dbmodels.models import SqlDataset
from sqlalchemy import event
from sqlalchemy.orm import Session

done = [result for planned, result in runner.run(cells, 1) if isinstance(result, Cell)]
first = tracking.Store()
all_looked = multiprocessing.get_context("fork").Barrier(2)

def together(number):
    @event.listens_for(Session, "before_flush")
    def wait(session, *_):
        if any(isinstance(row, SqlDataset) for row in session.new):
            all_looked.wait(10)
    store = tracking.Store()
    store.log(done[number])

first._experiment(done[0])
assert at_once(together, range(2)) == [0, 0]
""")
    assert_each_once_and_whole(WHOLE)


@pytest.mark.long
def test_ctrl_c_while_training_ends_at_once_and_keeps_what_is_finished(drive) -> None:
    words = [*SMALL[:3], "small.toml,small.toml@epochs=10000", *SMALL[4:]]
    driver = drive(*words, "--jobs", "2")
    driver.until(lambda: "finished ERM on small," in driver.output)
    os.killpg(driver.process.pid, signal.SIGINT)  # as a terminal does: workers get it too
    driver.ends_interrupted("Interrupted: 1 of 2 cells had finished and is kept. The same command")
    assert f"resumes from there:\n  python -m benchmark run {' '.join(words)} --jobs 2\n" in driver.output
    assert_each_once_and_whole({"ERM": 2})


@pytest.mark.long
def test_ctrl_c_while_recording_ends_once_the_cell_is_recorded(drive) -> None:
    driver = drive("--method", "random_forest:trees=2", *SMALL[2:-1], "80", "--jobs", "2")
    driver.until(lambda: outbox.pending() and recorded_seeds())
    driver.process.send_signal(signal.SIGINT)
    driver.ends_interrupted("Interrupted: 1 of 1 cells had finished and is kept")
    assert outbox.pending() == []
    assert_each_once_and_whole({"Random forest, trees=2": 80})


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 4 MB, enough for a database.

    It is mounted outside pytest's folder, from which later runs could not remove what a killed test left mounted.
    """
    disk = Path(tempfile.mkdtemp(prefix="disk-"))
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        disk.rmdir()
        pytest.skip(f"cannot mount a tmpfs to fill: {mount.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)
    disk.rmdir()


def fill_up(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(4096))


@pytest.mark.parametrize(
    ("training", "message"),
    [(False, "cannot be written to: [Errno 28]"), (True, "finished predictions cannot be saved")],
    ids=["before training", "while training"],
)
def test_a_disk_under_the_outbox_that_is_full_stops_the_run_and_leaves_no_half_of_a_cell(
    here, small_disk, monkeypatch, churn, training, message
):
    monkeypatch.setenv("CHURN_OUTBOX", str(small_disk))
    save = outbox.save
    with monkeypatch.context() as others:
        if training:
            others.setattr(outbox, "save", lambda cell: (fill_up(small_disk), save(cell))[1])
        else:
            fill_up(small_disk)
        output = churn(*RUN, code=2)
    assert message in output
    assert ("free some space there" if training else "with some free space") in output
    assert [path.name for path in small_disk.iterdir() if path.name != ".lock"] == ["ballast"]

    (small_disk / "ballast").unlink()
    assert "1 cell trained" in churn(*RUN)
    assert_each_once_and_whole({"ERM": 2})


@pytest.mark.long
def test_a_full_disk_under_a_new_store_is_named_and_leaves_nothing(here, small_disk, monkeypatch, churn) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{small_disk}/mlflow.db")
    (small_disk / "ballast").write_bytes(bytes(3_500_000))  # the disk fills up between two tables
    output = churn(*RUN, code=2)
    assert "mlflow.db cannot be used: database or disk is full" in output
    assert "free space on its disk" in output
    assert [path.name for path in small_disk.iterdir() if path.is_dir() or path.stat().st_size] == ["ballast"]

    (small_disk / "ballast").unlink()
    churn(*RUN)
    assert_each_once_and_whole({"ERM": 2})


@pytest.mark.slow
@pytest.mark.parametrize("full", ["artifacts", "database", "read only"])
def test_a_store_that_cannot_be_written_to_is_named_and_costs_no_prediction(here, full, request, monkeypatch, churn):
    reason = {
        "artifacts": "cannot be used: [Errno 28] No space left on device",
        "database": "mlflow.db cannot be used: database or disk is full",
        "read only": "attempt to write a readonly database",
    }
    disk = here if full == "read only" else request.getfixturevalue("small_disk")
    if full == "database":
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{disk}/mlflow.db")
    tracking.Store()
    if full == "artifacts":
        (here / "mlruns").symlink_to(disk)
    with monkeypatch.context() as broken:
        if full == "read only":
            broken.setenv("MLFLOW_TRACKING_URI", f"sqlite:///file:{here}/mlflow.db?mode=ro&uri=true")
        else:
            fill_up(disk)
        output = churn(*RUN, code=1)
    assert reason[full] in output
    assert "free space on its disk" in output
    assert ": 1 finished cell, which the next run records" in output
    assert list(tracking.Store().cells()) == []

    (disk / "ballast").unlink(missing_ok=True)
    if full == "read only":  # and a clock that is moved back before the cell is recorded
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() - 10 * 365 * 86400)
    assert "0 cells trained, 1 already recorded" in churn(*RUN)
    assert outbox.pending() == []
    assert_each_once_and_whole({"ERM": 2})


@pytest.mark.filterwarnings("ignore:flock not supported on this filesystem, falling back")
def test_a_folder_without_flock_has_other_locks_and_one_that_a_kill_left_stops_nobody(here, monkeypatch, churn):
    import fcntl

    def refuse(*given: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    child = os.fork()
    if not child:
        outbox.prepare()
        outbox.lock().acquire()
        os._exit(0)
    os.waitpid(child, 0)
    assert "1 cell trained" in churn(*RUN)
    assert_each_once_and_whole({"ERM": 2})
