"""A method in isolation learns as it does in the harness, and reaches nothing but its sample."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run import sandbox
from benchmark.run.check import synthetic
from benchmark.run.isolation import CODE, SENTENCE, copy_code, isolated, method_file
from benchmark.run.runner import retrain
from benchmark.train import sample_for
from benchmark.types import Inputs
from tests.test_registry import own

METHOD = """
import gc, os, socket, sys
from pathlib import Path

import numpy as np

from benchmark.learners.linear import Linear
from benchmark.pipeline import Remedy, method


class Shaped:
    def __init__(self, predict):
        self.predict = predict


@method("mine", title="Mine")
class Mine(Remedy):
    def fit(self, sample, learner):
BODY
        return Linear().fit(sample)
"""
Write = Callable[[str], Path]
pytestmark = pytest.mark.skipif(bool(sandbox.trouble()), reason=sandbox.trouble())


@pytest.fixture
def write(write_method: Callable[[str, str, str], Path]) -> Write:
    """A function that writes the user's method ``mine``; its ``fit`` begins with the given lines."""
    return partial(write_method, "mine", METHOD)


def retrained(method: str = "mine", inputs: Inputs | None = None) -> np.ndarray:
    """Return the predictions of a method in isolation, for the ID test unless other inputs are given."""
    problem = synthetic("classification")
    with isolated(method) as code:
        return code.retrain(sample_for(problem, "halves", 1)[0], inputs or problem.evals["id"].inputs)


def failures(method: str = "mine") -> Sequence[str]:
    """Return what the check of a method in isolation finds."""
    with isolated(method) as code:
        return code.check(["classification"]).failures


SLOW = [("gin", "halves"), ("warm_start", "update")]


@pytest.mark.parametrize(
    ("name", "sampling"), [("linear", "halves"), *(pytest.param(*given, marks=pytest.mark.slow) for given in SLOW)]
)
def test_predictions_are_those_of_the_harness(name, sampling):
    problem = synthetic("classification")
    sample, _ = sample_for(problem, sampling, 4)
    with isolated(name) as code:
        values = code.retrain(sample, problem.evals["id"].inputs)
    expected = retrain(make_method(name, problem.task, sampling=sampling), problem, [4], sampling)["id"].values[0]
    np.testing.assert_allclose(values, expected, atol=1e-5)


@pytest.mark.slow
def test_the_check_is_of_the_tasks_that_count(write):
    write("assert sample.task == 'classification', 'learns no numbers'")
    with isolated("mine") as code:
        checked = code.check(["classification"])
        (failure,) = code.check(["regression"]).failures
    assert (checked.name, checked.tasks, checked.failures) == ("mine", ("classification",), ())
    assert failure.startswith("regression: AssertionError: learns no numbers (")


def test_the_file_of_a_method_is_found_without_running_it(write, tmp_path):
    write("")
    path = tmp_path / "home" / "methods" / "mine.py"
    path.write_text("raise SystemExit  # from benchmark.pipeline import method")
    assert method_file("mine") == path
    for name in ("twin", "linear"):
        found = method_file(name)
        assert found is not None
        assert found.stem == name
    assert method_file("nobody") is None
    with pytest.raises(UserError, match=r"nowhere\.py: no such file"), isolated("nowhere.py"):
        pass


FINDS_THE_PROBLEM = """
problem = next((o for o in gc.get_objects() if type(o).__name__ == "Problem" and o.evals), None)
test = problem.evals["id"]
answers = {row.tobytes(): label for row, label in zip(test.x, test.y)}
def predict(inputs):
    y = np.array([answers.get(row.tobytes(), 0) for row in inputs.x], dtype=float)
    return np.stack([1 - y, y], axis=1) if sample.task == "classification" else y[:, None]
return Shaped(predict)
"""
REACHES_OUT = """
said = []
for line in LINES:
    try:
        exec(line)
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
raise RuntimeError("; ".join(said))
"""


@pytest.mark.slow
def test_a_method_that_cheats_fails_the_check(write, tmp_path):
    own = tmp_path / "labels.txt"
    own.write_text("1")
    package = find_spec("B3DB")
    assert package is not None
    (b3db,) = (next(Path(place).glob("B3DB_classification*.tsv*")) for place in package.submodule_search_locations)
    refused = {f"open({str(path)!r})": f"No such file or directory: {str(path)!r}" for path in (own, b3db)} | {
        "from benchmark import load_problem; load_problem('b3db_measured')": "unknown dataset 'b3db_measured'",
        "import leaderboard.read.published": "ModuleNotFoundError: No module named 'leaderboard",
        "socket.create_connection(('127.0.0.1', 9))": "PermissionError: ",
        "assert os.fstatvfs(1).f_blocks": "AssertionError",  # what it says is on no disk, which others see fill
    }
    for body, sentences in (
        (REACHES_OUT.replace("LINES", repr([*refused])), refused.values()),
        (FINDS_THE_PROBLEM, ["different train seeds give the same predictions"]),
    ):
        write(body)
        found = failures()
        assert [sentence for sentence in sentences if not any(sentence in line for line in found)] == [], found


ASKS_FOR_A_FILE = """
import json
from multiprocessing.connection import Connection
import gc
pipe = next(o for o in gc.get_objects() if isinstance(o, Connection))
pipe.send_bytes(b"d" + json.dumps(["HERE/../..", {"labels.csv": "DIGEST"}]).encode())
pipe.recv_bytes()
raise RuntimeError(open("HERE/../../labels.csv").read())
"""


def test_a_process_cannot_have_a_file_from_elsewhere_by_asking_for_it(write_method, tmp_path):
    (tmp_path / "labels.csv").write_text("secret")
    path = write_method("mine", ASKS_FOR_A_FILE, "")
    digest = hashlib.sha256(b"secret").hexdigest()
    path.write_text(path.read_text().replace("DIGEST", digest).replace("HERE", str(path.parent)))
    with pytest.raises(UserError, match="No such file") as error:
        failures(str(path))
    assert "secret" not in str(error.value)


def test_a_retraining_has_nothing_of_the_user_and_no_test_molecule(write, monkeypatch):
    monkeypatch.setenv("AWS_SECRET", "x")
    write(
        "found = [type(o).__name__ for o in gc.get_objects() if type(o).__name__ in ('Problem', 'Examples', 'Cell')]\n"
        "tables = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.shape[1:] == sample.x.shape[1:]]\n"
        "own = [n for n in os.environ if n in ('AWS_SECRET', 'CHURN_DATA_DIR', 'PYTHONPATH') or 'MLFLOW' in n]\n"
        "files = [p for p in Path().rglob('*') if p.is_file() and str(p.absolute()) not in sys.path]\n"
        "known = {'site-packages', 'compiled'}  # libraries, and the loops of the suite\n"
        "own_files = [p for p in files if p.suffix != '.py' and known.isdisjoint(p.parts)]\n"
        "raise RuntimeError(f'{found} {own} {own_files} {os.getcwd() == os.environ[\"HOME\"]}')"
    )
    with pytest.raises(UserError, match=r"mine: RuntimeError: ") as error:
        retrained()
    said = str(error.value)
    assert "RuntimeError: [] [] [] True (" in said
    assert f"{Path('home', 'methods', 'mine.py')}:" in said
    assert said.endswith(f"; {SENTENCE}")


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
            "return Shaped(lambda inputs: np.ones((len(inputs), 7)))",
            r"predict\(inputs\) must have shape \(1, 2\)|must have shape \(50, 2\)",
        ),
        ("raise SystemExit", "mine: SystemExit: "),
    ],
)
def test_what_a_process_does_wrong_is_an_error_of_its_method(write, body, message):
    write(body)
    with pytest.raises(UserError, match=message):
        retrained()


@pytest.mark.slow
def test_the_test_molecules_come_in_another_order_and_their_predictions_go_back(write):
    write("return Shaped(lambda inputs: np.stack([inputs.smiles.astype(float), inputs.x[:, 0]], axis=1))")
    x = synthetic("classification").evals["id"].x.copy()
    x[:, 0] = np.linspace(0, 1, len(x))
    inputs = Inputs(x, np.array([str(1 - share) for share in x[:, 0]]))
    values = retrained(inputs=inputs)
    np.testing.assert_allclose(values[:, 1], x[:, 0], atol=1e-6)
    np.testing.assert_allclose(values[:, 0], 1 - x[:, 0], atol=1e-6)


ONE_STEP = "adamw(*np.ones((4, 3), np.float32), np.float32(1), tuple(np.ones(6, np.float32)))"


@pytest.mark.slow
def test_a_loop_that_was_compiled_outside_is_not_compiled_again(write):
    exec(f"from benchmark.train.kernels import adamw; {ONE_STEP}", {"np": np})
    write(f"from benchmark.train.kernels import adamw; {ONE_STEP}; raise ValueError(adamw.stats)")
    hits_alone = r"cache_hits=Counter\(\{.*\}\), cache_misses=Counter\(\)"
    with pytest.raises(UserError, match=hits_alone):
        retrained()


def predicted(method: str) -> float:
    """Return the probability that a method predicts in isolation."""
    return float(retrained(method)[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_method_that_is_a_package_has_its_neighbours(write_files, tmp_path, elsewhere):
    init, method = "from mine.method import Mine  # of benchmark.pipeline", own("nets.SHARE", "from . import nets")
    files = {"mine/__init__.py": init, "mine/method.py": method, "mine/nets.py": "SHARE = 0.125"}
    folder = write_files(files) / "mine"
    if elsewhere:
        path = folder.rename(tmp_path / "mine") / "method.py"
        assert "different train seeds give the same predictions" in failures(str(path))[0]
    else:
        assert predicted("mine") == 0.125


@pytest.mark.slow
def test_a_method_imports_a_library_of_pythons_path(write_method, tmp_path, monkeypatch):
    write_method("mine", own("library.SHARE", "import library"), "")
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "library.py").write_text("SHARE = 0.875")
    (tmp_path / "libraries" / "labels.csv").write_text("1")
    monkeypatch.syspath_prepend(tmp_path / "libraries")  # as a .pth file does
    assert predicted("mine") == 0.875
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "libraries"))
    assert predicted("mine") == 0.875
    copied = "open(library.__file__.replace('library.py', 'labels.csv'))"
    original = f"open({str(tmp_path / 'libraries' / 'labels.csv')!r})"
    for reads in (copied, original):
        write_method("mine", own(reads, "import library"), "")
        with pytest.raises(UserError, match="No such file or directory"):
            predicted("mine")


def test_of_a_large_folder_only_what_can_be_imported_is_copied(tmp_path):
    there = tmp_path / "projects"
    imported = {"module.py", "package/part.py", "wheel.libs/shared.so"}
    for name in (*imported, ".venv/lib/module.py", "my-project/module.py", "package/data.csv"):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).touch()
    copy_code(there, tmp_path / "copy", CODE)
    files = (path.relative_to(tmp_path / "copy") for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert {file.as_posix() for file in files} == imported


PRIOR, PATH_OF = np.array([0.25]), "from benchmark.registry import path_of"


@pytest.mark.slow
@pytest.mark.parametrize("where", ["home/methods", "elsewhere"])
def test_a_method_reads_the_files_that_it_declares_and_no_others(write_method, tmp_path, where):
    digest = hashlib.sha256(PRIOR.tobytes()).hexdigest()
    files = f"files = {{'prior.bin': {digest!r}}}"
    code = own("np.fromfile(path_of(self, 'prior.bin'))[0]", PATH_OF, files)
    path = write_method("mine", code, "")
    (tmp_path / "elsewhere").mkdir()
    if where == "elsewhere":
        path = path.rename(tmp_path / where / "mine.py")
    given = "mine" if where == "home/methods" else str(path)
    with pytest.raises(UserError, match=rf"{path.parent}/prior\.bin: .*, found no such file"):
        failures(given)
    PRIOR.tofile(path.parent / "prior.bin")
    PRIOR.tofile(path.parent / "other.bin")
    assert "different train seeds give the same predictions" in failures(given)[0]
    path.write_text(code.replace("path_of(self, 'prior.bin')", "path_of(self, 'prior.bin').with_name('other.bin')"))
    assert "FileNotFoundError" in failures(given)[0]
    (2 * PRIOR).tofile(path.parent / "prior.bin")
    with pytest.raises(UserError, match=rf"prior\.bin: .* {digest}, found [0-9a-f]{{64}}"):
        failures(given)


def test_a_method_declares_no_file_outside_its_folder(write_method, tmp_path):
    (tmp_path / "labels.csv").write_text("1")
    digest = hashlib.sha256(b"1").hexdigest()
    for name in ("../../labels.csv", str(tmp_path / "labels.csv")):
        fields = f"files = {{{name!r}: {digest!r}}}"
        write_method("mine", own(f"len(path_of(self, {name!r}).read_text())", PATH_OF, fields), "")
        with pytest.raises(UserError, match=r"leads out of .*: nothing is read"):
            predicted("mine")
