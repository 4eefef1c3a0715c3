"""Two drivers share an MLflow server on PostgreSQL, which restarts as they record: no run is lost or duplicated."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.store import tracking
from tests.conftest import free_port
from tests.run.test_loss import assert_each_once_and_whole

SERVER = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


@pytest.fixture
def postgres() -> Iterator[str]:
    """Address of an empty database on a real PostgreSQL server on loopback."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -e '.[test]'")
    initdb = shutil.which("initdb") or (str(SERVER[-1]) if SERVER else "")
    if not initdb:
        pytest.skip("PostgreSQL's initdb is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="churn-postgres-"))
    user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "nobody")
        user = {"user": "nobody"}
    port = free_port()
    data = str(folder / "data")
    make = [initdb, "--pgdata", data, "--username", "churn", "--auth", "trust", "--encoding", "UTF8", "--no-sync"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)
    serve = [str(Path(initdb).resolve().parent / "postgres"), "-D", data, "-p", str(port), "-k", str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*serve, "-h", "127.0.0.1"], stdout=log, stderr=log, cwd=folder, **user)
    address = f"postgresql+psycopg://churn@127.0.0.1:{port}/postgres"
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    else:
        pytest.fail((folder / "log").read_text())
    yield address
    process.send_signal(signal.SIGINT)  # does not wait for open connections
    process.wait(30)
    shutil.rmtree(folder, ignore_errors=True)


def drive(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start ``churn run …`` with a separate outbox, as on another machine."""
    environment = {**os.environ, "CHURN_OUTBOX": str(folder)}
    command = [sys.executable, "-m", "benchmark", "run", "--dataset", "b3db_measured", "--jobs", "1", *words]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder.parent
    )


@pytest.mark.long
def test_two_drivers_and_a_restart_of_the_server_leave_each_cell_once_and_whole(postgres, mlflow_server, tmp_path):
    server = mlflow_server(postgres)
    grids = {
        "one": ("--method", "random_forest:trees=2,random_forest:trees=3", "--seeds", "15"),
        "other": ("--method", "random_forest:trees=4,random_forest:trees=5", "--seeds", "15"),
    }

    def both() -> list[tuple[int, str]]:
        drivers = [drive(tmp_path / name, *words) for name, words in grids.items()]
        if not restarted:
            deadline = time.monotonic() + 90
            while len(tracking.Store()._runs("seed")) <= 5:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            server.stop()
            server.start()
            restarted.append(True)
        outputs = [driver.communicate(timeout=120)[0] for driver in drivers]
        return [(driver.returncode, output) for driver, output in zip(drivers, outputs, strict=True)]

    restarted: list[bool] = []
    first, second = both(), both()
    for status, output in first:
        assert status in (0, 1), output  # 1: the store was away for too long, and the cell waits in the outbox
        assert "Traceback" not in output
    for status, output in second:
        assert status == 0, output
        assert "0 cells trained, 2 already recorded, 0 failed" in output
    assert_each_once_and_whole({f"Random forest, trees={n}": 15 for n in (2, 3, 4, 5)})
