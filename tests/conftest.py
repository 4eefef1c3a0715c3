"""Where the tests find the data files, and guards for the user's tracking store, cache and network."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import numpy as np
import pytest

if TYPE_CHECKING:
    from benchmark.pipeline import Learner, Pipeline
    from benchmark.types import Inputs, Model, Predictions

STAGED = Path(__file__).resolve().parents[2] / "shared" / "data" / "raw"

# In the environment, so that tests which start a process of their own see it too.
if "CHURN_DATA_DIR" not in os.environ and STAGED.is_dir():
    os.environ["CHURN_DATA_DIR"] = str(STAGED)
for name in ("MLFLOW_RUN_ID", "CHURN_HOME"):
    os.environ.pop(name, None)
os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{tempfile.mkdtemp()}/mlflow.db"
WORKERS = os.environ.get("CHURN_TEST_CACHE") if "PYTEST_XDIST_WORKER" in os.environ else None
"""The cache of the process that has started this one, which its workers share."""
os.environ["CHURN_CACHE_DIR"] = os.environ["CHURN_TEST_CACHE"] = WORKERS or tempfile.mkdtemp()
os.environ["CHURN_OFFLINE"] = "1"
os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # pytest-xdist has a process for each core
# Otherwise each process that a test starts compiles all that it imports, MLflow and PyTorch for six seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # some tests import MLflow before the suite does
gc.set_threshold(10_000, 10, 100)  # full collections visit all that MLflow and PyTorch keep: a tenth of the time


FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than about two seconds")
    config.addinivalue_line("markers", "long: takes half a minute or more; run only by -m long")


@pytest.fixture(scope="session")
def staged_data() -> Path:
    """The folder of raw data files that no package ships."""
    folder = Path(os.environ.get("CHURN_DATA_DIR", STAGED))
    if not folder.is_dir():
        pytest.skip(f"no folder of raw data at {folder}: set CHURN_DATA_DIR to run this test")
    return folder


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser without a window, which logs what it asks for."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS.split(), "--window-size=1280,1000", f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield browser
    browser.quit()


@pytest.fixture(scope="session", autouse=True)
def quick_stores() -> Iterator[None]:
    """SQLite stores of this process are copies of an empty one, which takes MLflow a second, and are not flushed."""
    from benchmark.store import opening

    create, empty = opening._create, sqlite3.connect(":memory:", check_same_thread=False)

    def quick(path: Path, url: Any) -> None:
        from mlflow.store.db import utils
        from sqlalchemy import event
        from sqlalchemy.engine import Engine

        make = utils._initialize_tables

        def copy(engine: Engine) -> None:
            with contextlib.closing(engine.raw_connection()) as connection:
                if empty.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    with contextlib.suppress(sqlite3.OperationalError):  # a full disk, which MLflow itself reports
                        empty.backup(connection.driver_connection)
                        return
                make(engine)
                connection.driver_connection.backup(empty)

        with pytest.MonkeyPatch.context() as once:
            once.setattr(utils, "_initialize_tables", copy)
            create(path, url)
        if not event.contains(Engine, "connect", unflushed):
            event.listen(Engine, "connect", unflushed)

    with pytest.MonkeyPatch.context() as session:
        session.setattr(opening, "_create", quick)
        yield


def unflushed(connection: Any, _: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture(scope="session", autouse=True)
def published_once() -> Iterator[None]:
    """The shipped results are read once by each process: reading takes three seconds."""
    from leaderboard.read import published

    folder, contents, kept = published.PUBLISHED, published.contents, cache(published.contents)

    def read(
        place: Path, leading: bool = False, datasets: Collection[str] = (), reference: bool = False
    ) -> published.Contents:
        if place != folder:
            return contents(place, leading, datasets, reference)
        return published.Contents(*map(list, kept(place, leading, frozenset(datasets), reference)))

    with pytest.MonkeyPatch.context() as session:
        session.setattr(published, "contents", read)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_fonts() -> Iterator[None]:
    """PDFs have fonts of type 3: those of type 42 take longer to embed than a figure to draw."""
    from leaderboard.figures import style

    with pytest.MonkeyPatch.context() as session:
        session.setitem(style.RC, "pdf.fonttype", 3)
        yield


@pytest.fixture(scope="session", autouse=True)
def leaderboard_here() -> Iterator[None]:
    """A run asks the leaderboard in this process, where its own would import everything anew."""
    from benchmark.commands import train

    def run(words: Sequence[str], check: bool) -> SimpleNamespace:
        from leaderboard.__main__ import app

        assert [*words[:3]] == [sys.executable, "-m", "leaderboard"]
        with pytest.raises(SystemExit) as stop:
            app([*words[3:]])
        return SimpleNamespace(returncode=int(stop.value.code or 0))

    with pytest.MonkeyPatch.context() as session:
        session.setattr(train, "subprocess", SimpleNamespace(run=run))
        yield


@pytest.fixture(scope="module", autouse=True)
def one_parquet_reader() -> Iterator[None]:
    """The tests of a file share the process that reads Parquet, whose start takes 0.3 s."""
    from benchmark.data.parquet import one_process

    with one_process():
        yield


@pytest.fixture
def own_registry(tmp_path: Path) -> Iterator[None]:
    """Discard what a test registers, imports from its folder, or adds to Python's path, after it."""
    from benchmark.pipeline import registered
    from leaderboard.read.pipelines import known_part

    before, path = dict(registered), list(sys.path)
    known_part.cache_clear()
    yield
    known_part.cache_clear()
    suite = {name: cls for name, cls in registered.items() if cls.__module__.startswith(("methods.", "benchmark."))}
    registered.clear()
    registered.update(before | suite)
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(f"{tmp_path}{os.sep}"):  # paths of thousands take 0.1 s
            del sys.modules[name]


@pytest.fixture
def write_files(tmp_path, monkeypatch, own_registry) -> Callable[[Mapping[str, str | bytes]], Path]:
    """``write_files({"mine.py": code})`` writes files in the user's folder of methods, and returns it."""
    monkeypatch.setenv("CHURN_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "methods"

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return write


@pytest.fixture
def write_method(write_files) -> Callable[[str, str, str], Path]:
    """``write_method("mine", code, body)`` writes the user's method ``mine``; ``body`` replaces BODY in its ``fit``."""

    def write(name: str, code: str, body: str) -> Path:
        return write_files({f"{name}.py": code.replace("BODY", indent(body, " " * 8))}) / f"{name}.py"

    return write


@pytest.fixture
def full_disk() -> contextlib.AbstractContextManager[None]:
    """Imitates a full disk: after the first 1,000 bytes of a file, writing raises OSError."""
    import resource  # not on Windows

    @contextlib.contextmanager
    def limited() -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited()


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, in which the tracking store and the outbox are."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_table(tmp_path: Path) -> str:
    """Path of the TOML of 90 small molecules, of which even slow features are computed at once."""
    from benchmark.data.author import write_dataset
    from benchmark.data.describe.fields import describe_file

    rows = (f"{'NOS'[i % 3]}{'C' * (i // 3 + 1)},{i % 2}" for i in range(90))
    file = tmp_path / "small.csv"
    file.write_text("\n".join(["smiles,active", *rows, ""]))
    return str(write_dataset(file, "small", tmp_path, describe_file(file, target="active", split="random:0.5")))


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of datasets, which is empty."""
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


class MlflowServer:
    """A real ``mlflow server`` on loopback."""

    def __init__(self, backend: str, folder: Path, *words: str):
        self.backend, self.folder, self.words, self.port = backend, folder, words, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = ["server", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        words += ["--backend-store-uri", self.backend, "--artifacts-destination", str(self.folder / "artifacts")]
        words += self.words
        with (self.folder / "server.log").open("a") as log:
            environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # for eight idle processes
            command = [sys.executable, "-m", "mlflow", *words]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        for _ in range(720):
            try:
                with urlopen(f"{self.uri}/health"):
                    return
            except OSError:
                time.sleep(0.25)
        raise RuntimeError((self.folder / "server.log").read_text())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(90)


def call(*words: str, which: Callable[[list[str]], object] | None = None) -> int:
    """Run a command line in this process, by default one of ``benchmark``, and return its exit code."""
    from benchmark.__main__ import app

    with pytest.raises(SystemExit) as stop:
        (which or app)([*words])
    return int(stop.value.code or 0)


Churn = Callable[..., str]


@pytest.fixture
def churn(capsys: pytest.CaptureFixture[str]) -> Churn:
    """``churn("list")`` is what a command line prints that ends with ``code``, 0 or given; of code 2, its error."""

    def run(*words: str, code: int = 0, which: Callable[[list[str]], object] | None = None) -> str:
        capsys.readouterr()
        ended, printed = call(*words, which=which), capsys.readouterr()
        assert ended == code, printed
        assert "Traceback" not in printed.err + printed.out
        return printed.err if code == 2 else printed.out

    return run


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


@pytest.fixture
def waterbirds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A dozen images in the layout of grodino/waterbirds: a folder per split, with labels and places in a table."""
    if getattr(find_spec("datasets"), "origin", None) is None:  # found, not imported: it reads its settings then
        pytest.skip("Hugging Face's datasets is not installed: pip install -e '.[vision]'")
    from PIL import Image

    from benchmark.data.rows import load_rows

    root = tmp_path / "data" / "hf" / "grodino" / "waterbirds"
    for part, n in {"train": 6, "validation": 2, "test": 4}.items():
        folder = root / part
        folder.mkdir(parents=True)
        rows = ["file_name,label,place"]
        for i in range(n):
            Image.new("RGB", (40, 24 + i), (255 * (i % 2), 10 * i, 0)).save(folder / f"{i}.png")
            rows.append(f"{i}.png,{i % 2},{i // 2 % 2}")
        (folder / "metadata.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    load_rows.cache_clear()
    yield root
    with warnings.catch_warnings():  # the hub's library leaves files open
        warnings.simplefilter("ignore")
        gc.collect()


class Retrainings:
    """A method fitted at several train seeds, each retraining alone."""

    def __init__(self, models: Sequence[Model]):
        self.models = models

    def predict(self, inputs: Inputs) -> np.ndarray:
        """Predictions (S, T, C)."""
        return np.stack([model.predict(inputs) for model in self.models])


@pytest.fixture(scope="session")
def retrained() -> Callable[..., Retrainings]:
    """``retrained(problem, method, seeds)`` fits a method, or the one of that name, to the sample of each seed."""
    from benchmark.registry import make_method
    from benchmark.train import sample_for
    from benchmark.types import PAPER, Problem, Sampling

    def fitted(
        problem: Problem, method: Pipeline | Learner | str, seeds: Sequence[int], sampling: Sampling = PAPER
    ) -> Retrainings:
        made = make_method(method, problem.task, None, problem.backbone) if isinstance(method, str) else method
        return Retrainings([made.fit(sample_for(problem, sampling, seed)[0]) for seed in seeds])

    return fitted


@pytest.fixture
def predictions() -> Callable[..., Predictions]:
    """Of a classification, random: ``predictions(runs)`` of so many retrainings that mostly agree."""
    from benchmark.types import Predictions

    def made(runs: int, n: int = 40, seed: int = 0) -> Predictions:
        rng = np.random.default_rng(seed)
        share = np.clip(rng.random(n) + 0.25 * rng.normal(size=(runs, n)), 0.01, 0.99)
        ids = np.array([f"m{i}" for i in range(n)])
        values = np.stack([share, 1 - share], axis=-1)
        return Predictions(tuple(range(runs)), ids, rng.integers(2, size=n), values, "classification")

    return made
