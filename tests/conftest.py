"""Where the tests find the data files, and guards for the user's tracking store, cache and network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

STAGED = Path(__file__).resolve().parents[2] / "shared" / "data" / "raw"

# In the environment, so that tests which start a process of their own see it too.
if "CHURN_DATA_DIR" not in os.environ and STAGED.is_dir():
    os.environ["CHURN_DATA_DIR"] = str(STAGED)
os.environ.pop("MLFLOW_RUN_ID", None)
os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{tempfile.mkdtemp()}/mlflow.db"
os.environ["CHURN_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["CHURN_OFFLINE"] = "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than about five seconds")


@pytest.fixture(scope="session")
def staged_data() -> Path:
    """The folder of raw data files that no package ships."""
    folder = Path(os.environ.get("CHURN_DATA_DIR", STAGED))
    if not folder.is_dir():
        pytest.skip(f"no folder of raw data at {folder}: set CHURN_DATA_DIR to run this test")
    return folder


class MlflowServer:
    """A real ``mlflow server`` on loopback."""

    def __init__(self, backend: str, folder: Path):
        self.backend, self.folder, self.port = backend, folder, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = ["server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        words += ["--backend-store-uri", self.backend, "--artifacts-destination", str(self.folder / "artifacts")]
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "mlflow", *words], stdout=log, stderr=log)
        for _ in range(240):
            try:
                with urlopen(f"{self.uri}/health"):
                    return
            except OSError:
                time.sleep(0.25)
        raise RuntimeError((self.folder / "server.log").read_text())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def mlflow_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], MlflowServer]]:
    """Starts a server with the given backend store, which is then the tracking store."""
    started: list[MlflowServer] = []

    def start(backend: str) -> MlflowServer:
        started.append(MlflowServer(backend, tmp_path))
        monkeypatch.setenv("MLFLOW_TRACKING_URI", started[-1].uri)
        started[-1].start()
        return started[-1]

    yield start
    for server in started:
        server.stop()
