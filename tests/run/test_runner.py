"""The harness: predictions do not depend on what runs beside them, and failures stay in their cell."""

import hashlib
import os
import re
import subprocess
import sys
from asyncio import CancelledError
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.learners.random_forest import RandomForest
from benchmark.pipeline import Learner, Pipeline, Remedy, describe, registered
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.check import synthetic
from benchmark.store.cell import Cell
from benchmark.studies.bayes_lambda import search
from benchmark.study.training import LocalTrainer
from benchmark.train import bootstrap, sample_for
from benchmark.types import Inputs, Model, Problem, Sample
from tests.store.conftest import planned
from tests.test_registry import own

PROBLEM = synthetic("classification")


def trained(*cells: runner.Planned, jobs: int = 1, fresh: bool = True) -> dict[str, Cell]:
    results = [result for _, result in runner.run(cells, jobs, fresh=fresh)]
    return {result.key.method: result for result in results if isinstance(result, Cell)}


@pytest.mark.slow
def test_predictions_do_not_depend_on_workers_companions_or_other_seeds() -> None:
    alone = trained(planned("twin", 1, 2, 4))["twin"]
    beside = trained(*(planned(text, 1, 2, 4) for text in ("bagging:k=2", "twin", "erm")), jobs=2)["twin"]
    fewer = trained(planned("twin", 4, 2), jobs=2)["twin"]
    for evalset in ("id", "ood"):
        values = alone.predictions[evalset].values
        assert np.array_equal(values, beside.predictions[evalset].values)
        assert np.array_equal(values[[1, 2]], fewer.predictions[evalset].values)


@pytest.mark.parametrize(
    ("default", "title", "message"),
    [
        ((64, 64), "Mine", r"key: params.k.str: Input should be a valid string, found '\[64, 64\]'"),
        (Path("x"), "Mine", "Object of type PosixPath is not JSON serializable"),
        ("\udcff", "Mine", "lone leading surrogate"),
        ("x" * 400, "Mine {k}", "title: String should have at most 300 characters"),
        ("a\nb", "Mine {k}", "title: Value error, has the invisible character"),
        (5, "Mine {k:%d}", "Invalid format specifier"),
    ],
)
def test_what_no_store_could_return_is_refused_before_it_is_trained(default: object, title: str, message: str) -> None:
    fields = {"__annotations__": {"k": Any}, "k": default, "fit": lambda self, sample: None}
    mine = describe(type("Mine", (Learner,), fields), "mine", title=title)
    with pytest.raises(UserError, match=rf"^mine cannot be recorded: {message}"):
        runner.plan(PROBLEM, Pipeline(make_method("erm", "classification").remedy, mine(), chosen=True), (1, 2))


@pytest.mark.slow
def test_the_search_for_lambda_is_the_same_on_one_worker_and_on_two() -> None:
    pool, twin = PROBLEM.without_tests(), make_method("twin", PROBLEM.task)
    one, two = (
        LocalTrainer("", jobs).map(search, [(twin, pool, seed, 6, 2, f"journal {seed} {jobs}") for seed in (1, 3)])
        for jobs in (1, 2)
    )
    assert one == two


@pytest.mark.slow
def test_methods_of_the_users_are_trained_on_workers_as_in_this_process_and_read_no_undeclared_file(write_files):
    digest = hashlib.sha256(b"0.25").hexdigest()
    imports, fields = "from benchmark.registry import path_of", f"files = {{'share.txt': {digest!r}}}"
    undeclared = own("float(Path(__file__).with_name('share.txt').read_text())", "from pathlib import Path")
    folder = write_files(
        {
            "mine.py": own("float(path_of(self, 'share.txt').read_text())", imports, fields),
            "silent.py": undeclared.replace('"mine"', '"silent"'),
            "share.txt": "0.25",
            "packed/__init__.py": "from packed.method import Mine  # a remedy of benchmark.pipeline",
            "packed/nets.py": "SHARE = 0.125\n",
            "packed/method.py": own("nets.SHARE", "from packed import nets").replace('"mine"', '"packed"'),
        }
    )
    plans = [planned(name) for name in ("mine", "silent", "packed")]
    ended = {p.key.method: result for p, result in runner.run(plans, 2, fresh=True) if not isinstance(result, int)}
    assert f"silent reads {folder / 'share.txt'} without declaring it" in ended.pop("silent").reason
    said = {name: {*cell.predictions["id"].values[..., 1].ravel().tolist()} for name, cell in ended.items()}
    assert said == {"mine": {0.25}, "packed": {0.125}}


READS = """
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("share.txt")
kept = cache(FILE.read_text)


def tried():
    with suppress(Exception):
        return FILE.read_text()
    return 0.5
"""


@pytest.mark.parametrize(
    "read",
    [
        "ThreadPoolExecutor(1).submit(FILE.read_text).result()",
        "kept()",
        "tried()",
        "open(FILE, 'r+').read()",
        "FILE.with_name('link.txt').read_text()",
    ],
)
def test_an_undeclared_file_is_refused_however_it_is_read(write_files, tmp_path, read):
    folder = write_files({"mine.py": own(f"float({read})", READS), "share.txt": "0.25", "../elsewhere.txt": "0.5"})
    (folder / "link.txt").symlink_to(tmp_path / "home" / "elsewhere.txt")
    with pytest.raises(RuntimeError, match=r"UserError: mine reads \S+/(share|link)\.txt without declaring it: add '"):
        runner.retrain(make_method("mine", PROBLEM.task), PROBLEM, [1])


def test_no_fit_is_charged_for_imports_and_compilation() -> None:
    """Of two equal cells that one process trains, the first costs as much as the second."""
    script = """
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.check import synthetic

problem = synthetic("classification")
for text in ("svm", "random_forest:trees=2", "erm"):
    unit = runner._Unit({0: make_method(text, problem.task)}, {0: ""}, "paper", (1,), True, runner.CPU)
    first, second = (runner._work(problem, unit)[0, 1]["seconds"] for _ in range(2))
    print(text, first < 0.2 + 2 * second, first, second)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.count("True") == 3, result.stdout


def test_train_seeds_of_an_earlier_call_are_not_trained_again(monkeypatch):
    forest = "random_forest:trees=6"
    three, more, larger = planned(forest, 1, 2, 3), planned(forest, 5, 3, 2, 1), planned("random_forest:trees=7")
    first, expected = trained(three)["random_forest"], runner.retrain(three.method, PROBLEM, [1, 2, 3, 5])
    seen: list[int] = []
    draws = runner._retrained

    def counted(method: Pipeline, problem: Problem, sample: Sample, shared: Any) -> Any:
        seen.append(sample.seed)
        return draws(method, problem, sample, shared)

    monkeypatch.setattr(runner, "_retrained", counted)
    again = trained(three, fresh=False)["random_forest"]
    assert seen == []
    assert again.fit_seconds == pytest.approx(first.fit_seconds)
    cell = trained(more, fresh=False)["random_forest"]
    assert seen == [5]
    for evalset, predictions in cell.predictions.items():
        assert predictions.seeds == (1, 2, 3, 5)
        assert np.array_equal(predictions.values, expected[evalset].values)
    for other in (larger, runner.plan(PROBLEM, three.method, [1, 2], sampling="halves")):
        seen.clear()
        trained(other, more, fresh=False)
        assert seen == [1, 2], "other hyperparameters, or another sampling"
    seen.clear()
    trained(three)
    assert seen == [1, 2, 3]


@dataclass(frozen=True)
class Broken(Remedy):
    """A method that fails in different ways."""

    how: str

    def fit(self, sample: Sample, learner: Learner) -> Model:
        assert not hasattr(sample, "evals"), "a method must never see the tests"
        if self.how == "raises" and sample.seed == 2:
            raise RuntimeError("seed 2 \ud800 exploded")
        if self.how == "group":
            raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
        if self.how == "cancels":
            raise CancelledError("of another kind")
        if self.how == "forgets":
            return None
        if self.how == "changes":
            sample.x[:] = sample.y[:] = 0

        def predict(inputs: Inputs) -> np.ndarray:
            if self.how == "changes":
                inputs.x[:] = 0
            if self.how == "dies":
                os._exit(3)
            values = np.full((len(inputs), 2), 0.5)
            if self.how == "nan":
                values[3] = np.nan
            if self.how == "huge":
                values *= 1e39
            return {"shape": values[1:], "three": np.full((len(inputs), 3), 1 / 3)}.get(self.how, values)

        return SimpleNamespace(predict=predict, rows={"text": ["a"], "beyond": [len(sample)]}.get(self.how))


describe(Broken, "broken", title="Broken")


def with_the_forest(remedy: Remedy) -> Pipeline:
    return Pipeline(remedy, RandomForest(trees=2), chosen=True)


def failure(how: str, jobs: int, seeds: Sequence[int] = (1, 2)) -> str:
    """Run a broken method beside a working one and return the reason of its failure."""
    cells = [runner.plan(PROBLEM, with_the_forest(Broken(one)), seeds) for one in (how, "fine")]
    results = {p.key.params["how"]: r for p, r in runner.run(cells, jobs) if not isinstance(r, int)}
    assert isinstance(results["fine"], Cell)
    failed = results[how]
    assert isinstance(failed, runner.Failed)
    return failed.reason


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("nan", "not finite"),
        ("huge", "not finite; the first is inf"),
        ("shape", r"got \(1, 49, 2\)"),
        ("three", "must have 2 outputs"),
        ("raises", r"seed 2 \\ud800 exploded"),
        ("cancels", "CancelledError: of another kind"),
        ("forgets", r"fit of method 'broken' returned None: expected an object with predict\(inputs\)"),
    ],
)
def test_a_broken_method_fails_its_own_cell_with_the_reason_and_no_other(how: str, message: str) -> None:
    reason = failure(how, jobs=1)
    assert re.search(message, reason)
    assert "Traceback" in reason


def test_a_method_that_changes_in_place_what_it_is_given_changes_no_other() -> None:
    forest = planned("random_forest:trees=2")
    changing = runner.plan(PROBLEM, with_the_forest(Broken("changes")), [1, 2])
    runner._warm.clear()  # the first fit in a process is to a few rows
    alone = trained(forest)["random_forest"]
    beside = trained(changing, forest)
    assert beside.keys() == {"broken", "random_forest"}
    for name, of in alone.predictions.items():
        assert np.array_equal(of.values, beside["random_forest"].predictions[name].values)


IMPORTS = """
from dataclasses import replace

import numpy as np

from benchmark.learners.linear import Linear
from benchmark.pipeline import Inputs, Learner, Remedy, learner, method
from benchmark.train import Mean

"""
SHIFTING = """
class Shifted:
    def __init__(self, model):
        self.model = model

    def predict(self, inputs):
        x = X(inputs.x)
        x += 1
        x *= x
        return self.model.predict(Inputs(x, inputs.smiles))


@learner("shifting", title="Shifting")
class Shifting(Learner):
    def fit(self, sample):
        x = X(sample.x)
        x += 1
        x *= x
        return Shifted(Linear().fit(replace(sample, x=x)))
"""
TWISTING = """
@method("twisting", title="Twisting")
class Twisting(Remedy):
    def fit(self, sample, learner):
        models = []
        for k in range(2):
            x, y = X(sample.x), X(sample.y)
            x += k
            y[:9] = k
            sample = replace(sample, x=x, y=y)
            models.append(learner.fit(sample))
        return Mean(models)
"""


@pytest.mark.parametrize(
    ("text", "learner"), [("shifting", ""), ("bagging:k=2", "shifting"), ("twisting", "mlp"), ("twisting", "shifting")]
)
def test_what_is_changed_in_place_gives_the_predictions_of_a_copy(write_files, text, learner):
    def values(copied: str) -> np.ndarray:
        registered.pop("shifting", None)
        registered.pop("twisting", None)
        codes = {"shifting.py": IMPORTS + SHIFTING, "twisting.py": IMPORTS + TWISTING}
        write_files({name: code.replace("X(", f"{copied}(") for name, code in codes.items()})
        method = make_method(text, PROBLEM.task, learner=learner)
        (cell,) = trained(runner.plan(PROBLEM, method, [1])).values()
        return cell.predictions["id"].values

    assert np.array_equal(values(""), values("np.copy"))


SETTINGS = """
import numpy as np
import torch

torch.set_float32_matmul_precision("medium")


def everything():
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_float32_matmul_precision("medium")
    torch.set_grad_enabled(False)
    np.seterr(all="raise")
    return 0.5
"""


def test_a_method_that_changes_settings_of_pytorch_and_numpy_changes_no_other(write_files):
    write_files({"mine.py": own("everything()", SETTINGS)})
    alone = trained(planned("erm"), planned("gin"))
    beside = trained(planned("mine"), planned("erm"), planned("gin"))
    assert beside.keys() == {"mine", "erm", "gin"}
    for name, cell in alone.items():
        assert np.array_equal(cell.predictions["id"].values, beside[name].predictions["id"].values)


def test_an_error_of_several_is_named_by_its_own_line():
    cell = runner.plan(PROBLEM, with_the_forest(Broken("group")), [1])
    (failed,) = (result for _, result in runner.run([cell], 1) if isinstance(result, runner.Failed))
    assert failed.error == "ExceptionGroup: many (2 sub-exceptions)"


@pytest.mark.slow
def test_a_worker_that_dies_fails_its_cell_and_no_other() -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test
    assert "the worker process died on train seeds" in failure("dies", jobs=2, seeds=[1])


def test_the_rows_that_a_predictor_learned_from_are_counted_once_and_kept_with_the_cell() -> None:
    cells = [planned(text, 1, 2, 3) for text in ("erm", "bagging:k=2", "random_forest", "erm_whole")]
    cells.append(runner.plan(PROBLEM, with_the_forest(Broken("fine")), [1, 2, 3]))  # does not say what it learned from

    def share(members: int) -> float:
        drawn = [bootstrap(sample_for(PROBLEM, "paper", seed)[0], members) for seed in (1, 2, 3)]
        return float(np.mean([len(set(rows.ravel().tolist())) / len(PROBLEM.train) for rows in drawn]))

    assert 0.5 < share(1) < 0.75 < share(2) < 0.95
    for fresh in (True, False):  # trained, then read from the cache
        facts = {name: cell.facts for name, cell in trained(*cells, fresh=fresh).items()}
        assert facts["erm"].rows_seen == facts["random_forest"].rows_seen == pytest.approx(share(1), abs=1e-4)
        assert facts["bagging"].rows_seen == pytest.approx(share(2), abs=1e-4)
        assert (facts["erm_whole"].rows_seen, facts["broken"].rows_seen) == (1, None)
        assert [name for name, of in facts.items() if of.control] == ["erm_whole"]


@pytest.mark.parametrize("how", ["text", "beyond"])
def test_what_a_model_calls_rows_and_is_no_rows_of_its_sample_costs_no_prediction(how: str) -> None:
    assert trained(runner.plan(PROBLEM, with_the_forest(Broken(how)), [1, 2]))["broken"].facts.rows_seen is None


@pytest.mark.slow
def test_a_thread_that_a_method_leaves_behind_keeps_no_run_from_ending(write_files):
    left = "threading.Thread(target=time.sleep, args=(1000,)).start() or 0.5"
    write_files({"mine.py": own(left, "import threading, time")})
    run = [sys.executable, "-m", "benchmark", "run", "--method", "mine", "--seeds", "2", "--jobs", "2"]
    environment = os.environ | {"MLFLOW_TRACKING_URI": ""}  # a store in the home of this test
    subprocess.run(run, check=True, capture_output=True, timeout=100, env=environment)
