"""No command looks up or connects to another machine."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.files import CHECKOUT

GUARD = """
import os, sys

HERE = (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0")
LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
MESSAGES = ("socket.connect", "socket.sendto")

def guard(event, arguments):
    if event in LOOKUPS:
        host = arguments[0]
    elif event in MESSAGES and isinstance(arguments[1], tuple):  # otherwise a socket that is a file
        host = arguments[1][0]
    else:
        return
    if (host.decode() if isinstance(host, bytes) else host) in HERE:
        return
    with open(os.environ["GUARD_LOG"], "a") as log:
        log.write(f"{event} {host}: {' '.join(sys.argv)}\\n")
    raise OSError(f"{host} is another machine")

sys.addaudithook(guard)
"""
QUIET = ("PYTEST_CURRENT_TEST", "CI", "GITHUB_ACTIONS", "DO_NOT_TRACK", "MLFLOW_DISABLE_TELEMETRY", "CHURN_OFFLINE")
"""Variables that keep MLflow or the suite from the network by themselves."""


@pytest.fixture
def guarded(tmp_path: Path) -> dict[str, str]:
    """The environment of a user, in which every process notes and refuses attempts to reach another machine."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)
    return {name: value for name, value in os.environ.items() if name not in QUIET} | {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join((str(tmp_path / "guard"), str(CHECKOUT))),
        "GUARD_LOG": str(tmp_path / "attempts"),
        "CHURN_HOME": str(tmp_path),
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db",
    }


def attempts(guarded: dict[str, str], *words: str) -> list[str]:
    """Run a command that succeeds; return its attempts to reach another machine."""
    log = Path(guarded["GUARD_LOG"])
    log.unlink(missing_ok=True)
    done = subprocess.run(words, env=guarded, cwd=log.parent, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.long
def test_commands_reach_no_other_machine(guarded: dict[str, str], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    p = rng.random((4, 100))
    table = {"run": np.repeat(range(4), 100), "example_id": np.tile(range(100), 4), "p0": 1 - p.ravel()}
    table |= {"p1": p.ravel(), "y_true": np.tile(rng.integers(2, size=100), 4)}
    pd.DataFrame(table).to_csv(tmp_path / "mine.csv", index=False)
    suite = (sys.executable, "-m")
    run = ("run", "--offline", "--method", "knn", "--dataset", "b3db_measured", "--seeds", "2", "--jobs", "2")
    assert attempts(guarded, *suite, "benchmark", *run, "--site", "site") == []
    assert attempts(guarded, *suite, "leaderboard", "build", "--out", "site") == []
    assert attempts(guarded, *suite, "leaderboard", "score", "mine.csv", "--html", "mine.html") == []

    project = ("mlflow", "run", str(CHECKOUT), "--env-manager", "local", "-e", "leaderboard")
    assert attempts(guarded | {"MLFLOW_DISABLE_TELEMETRY": "true"}, *project, "-P", f"out={tmp_path}/site") == []


def test_the_guard_notes_what_reaches_out(guarded: dict[str, str]) -> None:
    script = "import contextlib, socket\nwith contextlib.suppress(OSError): socket.getaddrinfo('example.org', 443)"
    (line,) = attempts(guarded, sys.executable, "-c", script)
    assert line.startswith("socket.getaddrinfo example.org")
