"""A method in isolation learns as it does in the harness, and reaches nothing but its sample."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run.check import synthetic
from benchmark.run.isolation import isolated, method_file
from benchmark.run.runner import retrain
from benchmark.train import draw

METHOD = """
import gc, inspect, os, socket, subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.registry import method
from benchmark.train import bootstrap, generator
from methods.linear import Linear


class Shaped:
    def __init__(self, predict):
        self.predict = predict


@method("mine", title="Mine")
@dataclass(frozen=True)
class Mine:
    trains_networks: ClassVar[bool] = False

    def fit(self, sample):
BODY
        return Linear().fit(sample)
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(write_method: Callable[[str, str, str], Path]) -> Write:
    """A function that writes the user's method ``mine``; its ``fit`` begins with the given lines."""
    return partial(write_method, "mine", METHOD)


def landlocked() -> bool:
    """Tell whether this system has Landlock, which also holds libraries that open files without Python."""
    path = Path("/sys/kernel/security/lsm")
    return sys.platform == "linux" and (not path.exists() or "landlock" in path.read_text())


@pytest.mark.parametrize("name", ["linear", pytest.param("twin", marks=pytest.mark.slow)])
def test_predictions_are_those_of_the_harness(name):
    problem = synthetic("classification")
    sample, _ = draw(problem, "halves", 4)
    with isolated(name) as code:
        trained = code.retrain(sample, problem.evals["id"].x)
    expected = retrain(make_method(name, problem.task, sampling="halves"), problem, [4], "halves")["id"].values[0]
    np.testing.assert_allclose(trained.values, expected, atol=1e-5)
    assert "files, network and programs (Python's audit hook)" in trained.walls


@pytest.mark.slow
def test_a_method_keeps_the_contract_in_isolation(write):
    write("")
    with isolated("mine") as code:
        checked = code.check()
    assert (checked.name, checked.tasks, checked.failures) == ("mine", ("classification", "regression"), ())


@pytest.mark.slow
def test_the_check_is_of_the_tasks_that_count(write):
    write("assert sample.task == 'classification', 'learns no numbers'")
    with isolated("mine") as code:
        assert code.check(["classification"]).failures == ()
        (failure,) = code.check().failures
    assert failure.startswith("regression: AssertionError: learns no numbers (")


def test_the_file_of_a_method_is_found_without_running_it(write, tmp_path):
    write("")
    path = tmp_path / "home" / "methods" / "mine.py"
    path.write_text("raise SystemExit")
    assert method_file("mine") == path
    assert method_file("linear") is not None
    assert method_file("nobody") is None
    with pytest.raises(UserError, match=r"nowhere\.py: no such file"), isolated("nowhere.py"):
        pass


FINDS_THE_PROBLEM = """
problem = next((o for o in gc.get_objects() if type(o).__name__ == "Problem" and o.evals), None)
test = problem.evals["id"]
answers = {row.tobytes(): label for row, label in zip(test.x, test.y)}
def predict(x):
    y = np.array([answers.get(row.tobytes(), 0) for row in x], dtype=float)
    return np.stack([1 - y, y], axis=1) if sample.task == "classification" else y[:, None]
return Shaped(predict)
"""
FINDS_THE_POOL = """
for frame in inspect.stack():
    for value in frame.frame.f_locals.values():
        if type(value).__name__ == "Problem":
            rows = generator("forest", sample.seed).integers(0, len(value.train), size=len(value.train))
            return Linear().fit(replace(sample, x=value.train.x, y=value.train.y, rows=rows))
"""
IGNORES_THE_SEED = """
fitted = Linear().fit(replace(sample, rows=np.arange(len(sample))))
jitter = 1e-4 * generator("other", sample.seed).random()
def predict(x):
    return fitted.predict(x) + (np.array([jitter, -jitter]) if sample.task == "classification" else jitter)
return Shaped(lambda x: np.clip(predict(x), 0, 1) if sample.task == "classification" else predict(x))
"""
IGNORES_THE_SAMPLE = """
def predict(x):
    p = 0.1 + 0.8 * generator("other", sample.seed).random((len(x), 1))
    return np.hstack([p, 1 - p]) if sample.task == "classification" else p
return Shaped(predict)
"""
ONLY_ITS_SAMPLE = "PermissionError: a method may use its sample and nothing else: this one tried to "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("from benchmark import load_problem; load_problem('b3db_measured')", "unknown dataset 'b3db_measured'"),
        ("open('LABELS').read()", ONLY_ITS_SAMPLE + "read LABELS"),
        ("np.loadtxt('LABELS')", ONLY_ITS_SAMPLE + "read LABELS"),
        ("os.listdir('FOLDER')", ONLY_ITS_SAMPLE + "read FOLDER"),
        ("open('B3DB_FILE').read()", ONLY_ITS_SAMPLE + "read B3DB_FILE"),
        ("open(f'/proc/{os.getppid()}/environ').read()", ONLY_ITS_SAMPLE + "read /proc/"),
        ("import leaderboard.read.published", "ModuleNotFoundError: No module named 'leaderboard'"),
        (
            "from benchmark.files import cached; cached('kept') or open('CACHE/made/kept')",
            ONLY_ITS_SAMPLE + "read CACHE",
        ),
        ("Path('LABELS').unlink()", ONLY_ITS_SAMPLE + "change LABELS"),
        ("open('LABELS', 'w')", ONLY_ITS_SAMPLE + "change LABELS"),
        ("subprocess.run(['cat', 'LABELS'])", ONLY_ITS_SAMPLE + "start a program"),
        ("socket.create_connection(('127.0.0.1', 9))", ONLY_ITS_SAMPLE + "use the network"),
        (FINDS_THE_PROBLEM, "different train seeds give the same predictions"),
        (FINDS_THE_POOL, "predictions under halves depend on rows outside the half"),
        (IGNORES_THE_SEED, "different train seeds give the same predictions"),
        (IGNORES_THE_SAMPLE, "predictions do not depend on the training data"),
    ],
)
def test_a_method_that_cheats_fails_the_check(write, body, sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    for path in (tmp_path / "labels.txt", tmp_path / "cache" / "made" / "kept"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    package = find_spec("B3DB")
    assert package is not None
    (b3db,) = (str(next(Path(place).glob("B3DB_classification*.tsv*"))) for place in package.submodule_search_locations)
    places = {"LABELS": str(tmp_path / "labels.txt"), "FOLDER": str(tmp_path), "B3DB_FILE": b3db}
    for word, place in (places | {"CACHE": str(tmp_path / "cache")}).items():
        body, sentence = body.replace(word, place), sentence.replace(word, place)
    write(body)
    with isolated("mine") as code:
        failures = code.check().failures
    assert any(sentence in line for line in failures), failures
    assert (tmp_path / "labels.txt").read_text() == "1"


@pytest.mark.slow
@pytest.mark.skipif(not landlocked(), reason="without Landlock, only what goes through Python is held")
@pytest.mark.parametrize(
    "opens",
    [
        "import pyarrow.csv as csv; csv.read_csv('LABELS')",
        "import ctypes; assert ctypes.CDLL(None).open(b'LABELS', 0) < 0, 'was opened'; 1 / 0",
    ],
)
def test_the_kernel_holds_libraries_that_open_files_without_python(write, opens, tmp_path):
    (tmp_path / "labels.txt").write_text("1")
    write(opens.replace("LABELS", str(tmp_path / "labels.txt")))
    problem = synthetic("classification")
    with isolated("mine") as code, pytest.raises(UserError, match=r"PermissionError|ZeroDivisionError"):
        code.retrain(draw(problem, "halves", 1)[0], problem.evals["id"].x)


def test_a_retraining_has_nothing_of_the_user_and_no_test_molecule(write, monkeypatch):
    monkeypatch.setenv("AWS_SECRET", "x")
    write(
        "found = [type(o).__name__ for o in gc.get_objects() if type(o).__name__ in ('Problem', 'Examples', 'Cell')]\n"
        "tables = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.shape[1:] == sample.x.shape[1:]]\n"
        "raise RuntimeError(f'{found} {sorted(os.environ)} {os.listdir()} {os.getcwd() == os.environ[\"HOME\"]}')"
    )
    problem = synthetic("classification")
    with isolated("mine") as code, pytest.raises(UserError, match=r"mine: RuntimeError: ") as error:
        code.retrain(draw(problem, "halves", 1)[0], problem.evals["id"].x)
    said = str(error.value)
    assert "RuntimeError: [] ['CHURN_CACHE_DIR'," in said
    assert "[] True (" in said
    assert not {word for word in ("AWS_SECRET", "CHURN_DATA_DIR", "PYTHONPATH", "MLFLOW") if word in said}
    assert f"{Path('home', 'methods', 'mine.py')}:" in said
    assert said.endswith(
        "a method may use its sample and nothing else: no dataset, cache or network is within its reach"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os._exit(0)", "mine: its process ended without an answer"),
        ("os.write(2, b'oh dear'); os.abort()", "ended without an answer, or gave a wrong one: .*: oh dear$"),
        (
            "for fd in range(3, 20):\n    try: os.write(fd, b'v' + b'\\xff' * 99)\n    except OSError: pass",
            "or gave a wrong one",
        ),
        (
            "return Shaped(lambda x: np.ones((len(x), 7)))",
            r"predict\(x\) must have shape \(1, 2\)|must have shape \(50, 2\)",
        ),
        ("return None", "TypeError: fit of method 'mine' returned None"),
        ("raise SystemExit", "mine: SystemExit: "),
    ],
)
def test_what_a_process_does_wrong_is_an_error_of_its_method(write, body, message):
    write(body)
    problem = synthetic("classification")
    with isolated("mine") as code, pytest.raises(UserError, match=message):
        code.retrain(draw(problem, "halves", 1)[0], problem.evals["id"].x)


@pytest.mark.slow
def test_the_test_molecules_come_in_another_order_and_their_predictions_go_back(write):
    write("return Shaped(lambda x: np.stack([1 - x[:, 0], x[:, 0]], axis=1))")
    problem = synthetic("classification")
    x = problem.evals["id"].x.copy()
    x[:, 0] = np.linspace(0, 1, len(x))
    with isolated("mine") as code:
        values = code.retrain(draw(replace(problem), "halves", 1)[0], x).values
    np.testing.assert_allclose(values[:, 1], x[:, 0], atol=1e-6)
