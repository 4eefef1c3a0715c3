"""Tracking servers as teams run them: with passwords and permissions, and behind a bad network."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
import requests
from mlflow.exceptions import MlflowException

from benchmark.run import driver
from benchmark.store import opening, outbox, tracking
from tests.conftest import MlflowServer, free_port

from .conftest import planned

ADMIN = ("admin", "of-the-test-1234")


def fill(*methods: str) -> tuple[driver.Tally, list[str]]:
    said: list[str] = []
    tally = driver.fill([planned(m) for m in methods], force=False, jobs=1, report=said.append)
    return tally, said


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    """A server with basic authentication that passes on artifacts, and the users reader and writer."""
    pytest.importorskip("flask_wtf", reason="mlflow[auth] is not installed: pip install -e '.[test]'")
    folder = tmp_path_factory.mktemp("server")
    settings = {"database_uri": f"sqlite:///{folder}/users.db", "default_permission": "READ"}
    settings |= {"admin_username": ADMIN[0], "admin_password": ADMIN[1]}
    settings |= {"authorization_function": "mlflow.server.auth:authenticate_request_basic_auth"}
    (folder / "auth.ini").write_text("\n".join(["[mlflow]", *(f"{key} = {value}" for key, value in settings.items())]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_AUTH_CONFIG_PATH", str(folder / "auth.ini"))
        patch.setenv("MLFLOW_FLASK_SERVER_SECRET_KEY", "of the test")
        started = MlflowServer(f"sqlite:///{folder}/mlflow.db", folder, "--app-name", "basic-auth")
        started.start()
        for name in ("reader", "writer"):
            user = {"username": name, "password": f"{name}-of-the-test"}
            requests.post(f"{started.uri}/api/2.0/mlflow/users/create", json=user, auth=ADMIN).raise_for_status()
    yield started
    started.stop()


def be(patch: pytest.MonkeyPatch, user: tuple[str, str] | str | None) -> None:
    """Give the name and password of a user, or none, to all later requests."""
    name, password = (user, f"{user}-of-the-test") if isinstance(user, str) else user or ("", "")
    for variable, value in (("MLFLOW_TRACKING_USERNAME", name), ("MLFLOW_TRACKING_PASSWORD", password)):
        patch.setenv(variable, value)
        if not value:
            patch.delenv(variable)


@pytest.fixture(autouse=True)
def place(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")


@pytest.mark.long
def test_a_writer_records_a_reader_reads_and_a_stranger_is_told_what_to_give(server, monkeypatch, capfd):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    be(monkeypatch, None)
    for user in (None, ("reader", "wrong-password")):
        be(monkeypatch, user)
        with pytest.raises(opening.TrackingError, match="give your name and password as MLFLOW_TRACKING_USERNAME"):
            tracking.Store()
    be(monkeypatch, "writer")
    tally, _ = fill("knn")
    assert (len(tally.trained), tally.exit_code) == (1, 0)
    be(monkeypatch, "reader")
    (cell,) = tracking.Store().cells()
    np.testing.assert_array_equal(cell.predictions["id"].values, tally.trained[0].predictions["id"].values)
    with pytest.raises(opening.RefusedError, match="ask for the permission EDIT on this experiment"):
        fill("knn:k=3")  # before anything is trained
    assert not outbox.pending()
    outbox.save(replace(cell, key=replace(cell.key, params={"k": 3})))
    tally, said = fill("knn")
    assert (len(tally.unrecorded), tally.skipped, tally.trouble) == (1, 1, ""), "one refused cell stops no other work"
    assert said[0].startswith("REFUSED  ")
    assert "View run" not in "".join(capfd.readouterr())


class BadNetwork(BaseHTTPRequestHandler):
    """Passes requests on to ``target``; of ten, one is lost, one is delayed, and one is answered with 500."""

    target, count = "", 0

    def handle_any(self) -> None:
        type(self).count += 1
        turn = self.count % 10
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if turn in (3, 6):
            self.close_connection = turn == 3
            if turn == 6:
                self.send_error(500)
            return
        time.sleep(0.5 if turn == 9 else 0)
        request = Request(self.target + self.path, body or None, dict(self.headers), method=self.command)
        try:
            answer = urlopen(request)
        except HTTPError as error:
            answer = error
        with answer:
            content = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.long
def test_a_network_that_loses_delays_and_breaks_requests_costs_no_prediction(server, monkeypatch):
    monkeypatch.setattr(BadNetwork, "target", server.uri)
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), BadNetwork)
    Thread(target=proxy.serve_forever, daemon=True).start()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{proxy.server_port}")
    be(monkeypatch, "writer")
    trained: dict[str, np.ndarray] = {}
    for _ in range(8):
        with suppress(opening.TrackingError):
            tally, _ = fill("linear", "erm")
            trained |= {cell.key.digest: cell.predictions["id"].values for cell in tally.trained}
            if tally.exit_code == 0:
                break
    assert BadNetwork.count > 20
    proxy.shutdown()
    proxy.server_close()
    assert not outbox.pending()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    cells = list(tracking.Store().cells(trained))
    assert len(cells) == len(trained) == 2
    for cell in cells:
        np.testing.assert_array_equal(cell.predictions["id"].values, trained[cell.key.digest])


def test_errors_of_a_store_have_the_remedy_of_their_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fill("knn")[0].exit_code == 0
    client = tracking.Store().client
    (experiment,) = [e for e in client.search_experiments() if e.name.startswith("churn/")]
    assert experiment.artifact_location.startswith((tmp_path / "mlruns").as_uri()), "beside the database"
    client.delete_experiment(experiment.experiment_id)
    with pytest.raises(opening.RefusedError, match="restore it with mlflow experiments restore --experiment-id"):
        fill("knn:k=3")
    for address, remedy in {
        str(tmp_path / "mlruns"): "copy its runs into a database with mlflow migrate-filestore",
        "localhost:5000": "write the address with its scheme, e.g. http://127.0.0.1:5000",
        f"http://127.0.0.1:{free_port()}": "start its server",
    }.items():
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        with pytest.raises(opening.TrackingError, match=remedy):
            tracking.Store(address)
    for error, remedy in {
        ImportError("No module named 'boto3'"): "install it with pip: this store, or where its files are, is reached",
        MlflowException("When an mlflow-artifacts URI was supplied, the tracking URI must be"): "start that, and set",
    }.items():
        with pytest.raises(opening.TrackingError, match=remedy), opening.translated_errors("sqlite:///mlflow.db"):
            raise error
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        database.execute("UPDATE alembic_version SET version_num = 'of the future'")
    database.close()
    with pytest.raises(opening.TrackingError, match="mlflow db upgrade and its address or, if a newer MLflow made it"):
        tracking.Store(f"sqlite:////{tmp_path}/mlflow.db")  # another spelling, as MLflow keeps stores open
