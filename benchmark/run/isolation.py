"""Running of a method away from everything that it must not see: a process of its own with the sample alone.

The process (``isolated``) has a copy of the code of ``benchmark`` and ``methods``, the installed libraries, a copy of
the code in the other folders of Python's path (of ``PYTHONPATH`` and ``.pth`` files), the files that the method
declares, an empty home and working folder, an environment with nothing of the user's, and limits of time and memory.
Behind its walls (``walls``), it reads nothing else: no dataset, no cache, no published result, no other sample.
"""

import hashlib
import io
import json
import os
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import numpy as np

from benchmark.errors import UserError
from benchmark.files import CHECKOUT, PACKAGE, cache_folder, home, inside, own_methods, package_root
from benchmark.pipeline import Reading
from benchmark.registry import own_files
from benchmark.run import isolated as process
from benchmark.run.walls import SECONDS, SENTENCE
from benchmark.types import MLP, TASKS, Inputs, Recipe, Sample, Task

ARRAYS = ("x", "y", "smiles", "rows", "bootstrap_pool")
LONGEST = 2**20
"""Bytes of a message about the method."""
LABELS = ("B3DB", "leaderboard")
"""Installed packages that have labels of test molecules: of a dataset, and of the published results."""


def method_file(name: str) -> Path | None:
    """Return the file of a method or learner of the suite or the user, by its name; it is not imported."""
    folders = [*import_module("methods").__path__, *import_module("benchmark.learners").__path__]
    suite = (Path(folder) / f"{name}.py" for folder in folders)
    return next((path for path in suite if path.is_file()), own_files().get(name))


@dataclass(frozen=True)
class Checked:
    """The outcome of the check of a method's contract: its name, its tasks, how it reads a dataset, and a line for each
    failure."""

    name: str
    tasks: tuple[str, ...]
    reading: Reading
    failures: tuple[str, ...]


@dataclass(frozen=True)
class Trained:
    """The predictions (T, C) float32 of one retraining, and the names of the walls that stood around it."""

    values: np.ndarray
    walls: tuple[str, ...]


class Isolation:
    """A method (a name, or the path of a file ending in .py) with a copy of the code that it needs, in ``folder``."""

    def __init__(self, method: str, folder: Path) -> None:
        self.method, self.folder, self.file = method, folder, ""
        suite, own = (Path(at) for at in (import_module("methods").__path__[0], own_methods()))
        self._copies = {folder / "suite" / "benchmark": PACKAGE, folder / "suite" / "methods": suite}
        if own.is_dir() and not own.samefile(suite):
            self._copies[folder / "own" / "methods"] = own
        for copy, original in self._copies.items():
            copy_code(original, copy)
        for i, original in enumerate(_own_libraries()):
            self._copies[folder / "path" / str(i)] = original
            copy_code(original, folder / "path" / str(i), CODE)
        if method.endswith(".py"):
            self.file = str(self._taken(Path(method)))

    def _taken(self, path: Path) -> Path:
        """Return the copy of a method's file, which may lie outside the folders of methods. Raises UserError.

        If it belongs to a package, that is copied as a whole.
        """
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        path = path.resolve()
        for copy, original in self._copies.items():
            if path.is_relative_to(original.resolve()):
                return copy / path.relative_to(original.resolve())
        above, given = package_root(path), self.folder / "given"
        self._copies[given] = above
        (given / path.relative_to(above)).parent.mkdir(parents=True)
        if above == path.parent:
            shutil.copyfile(path, given / path.name)
        else:
            package = path.relative_to(above).parts[0]
            copy_code(above / package, given / package)
        return given / path.relative_to(above)

    def provide(self, folder: Path, files: Mapping[str, str]) -> None:
        """Copy the files that a method in ``folder``, a copy, declares with their sha256. Raises UserError."""
        for copy, original in self._copies.items():
            if folder.is_relative_to(copy):
                beside = original / folder.relative_to(copy)
                for name, expected in files.items():
                    path = inside(beside, name)
                    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"
                    if digest != expected:
                        raise UserError(f"{path}: the method declares sha256 {expected}, found {digest}")
                    inside(folder, name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, folder / name)

    def check(self, tasks: Iterable[Task] = TASKS) -> Checked:
        """Check the method's contract on those of ``tasks`` that it can learn.

        Raises UserError for a method that cannot be imported or ends the process.
        """
        with self._started({"task": "", "tasks": sorted(tasks)}) as talk:
            about = json.loads(talk.next(process.CHECKED, LONGEST))
            failures = tuple(self.named(str(line)) for line in about["failures"])
            features, reads, learner, recipe = about["reading"]
            reading = Reading(tuple(map(str, features)), reads, str(learner), recipe and Recipe(**recipe))
            return Checked(str(about["name"]), tuple(map(str, about["tasks"])), reading, failures)

    def retrain(self, sample: Sample, inputs: Inputs, learner: str = "", backbone: str = MLP) -> Trained:
        """Fit the method to ``sample`` in a new process, and return its predictions for ``inputs``.

        ``backbone`` is the learner of the dataset, and ``learner`` another in its place. ``inputs`` are handed over
        when the process says that it has trained. Raises UserError if the method fails.
        """
        about: dict[str, object] = {name: getattr(sample, name) for name in ("seed", "sampling", "task", "n_outputs")}
        about |= {"recipe": sample.recipe.model_dump(), "learner": learner, "backbone": backbone}
        with self._started(about) as talk:
            arrays = {name: getattr(sample, name) for name in ARRAYS}
            talk.send(process.SAMPLE, _packed(arrays | {"smiles": arrays["smiles"].astype(str)}))
            talk.next(process.TRAINED, 0)
            order = np.random.default_rng().permutation(len(inputs))  # a molecule's place says nothing of its test set
            talk.send(process.TESTS, _packed({"x": inputs.x[order], "smiles": inputs.smiles[order].astype(str)}))
            shape = (len(inputs), sample.n_outputs)
            size = 4 * shape[0] * shape[1]
            reply = talk.next(process.VALUES, size)
            if len(reply) != size:
                raise UserError(f"{self.method}: expected predictions of shape {shape}, found {len(reply)} bytes")
            values = np.empty(shape, dtype=np.float32)
            values[order] = np.frombuffer(reply, dtype=np.float32).reshape(shape)
            return Trained(values, talk.walls)

    @contextmanager
    def _started(self, about: dict[str, object]) -> Iterator["_Talk"]:
        with (
            tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as scratch,
            tempfile.TemporaryFile() as said,
        ):
            script = self.folder / "suite" / "benchmark" / "run" / "isolated.py"
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=scratch,
                env=self._environment(scratch),
                start_new_session=True,
            )
            timer = threading.Timer(2 * SECONDS, _end, [child])
            timer.start()
            try:
                talk = _Talk(self, child, said)
                libraries = _libraries()
                job = {
                    "method": self.method,
                    "file": self.file,
                    "path": [str(self.folder / "suite"), *self._of_path(), *libraries],
                    "readable": [str(self.folder / part) for part in ("suite", "own", "given", "path")]
                    + libraries
                    + _bases(),
                    "hidden": _hidden(),
                    "writable": scratch,
                }
                talk.send(process.JOB, json.dumps(job | about).encode())
                talk.walls = tuple(json.loads(talk.next(process.WALLS, LONGEST)))
                yield talk
            finally:
                timer.cancel()
                _end(child)
                child.communicate()

    def _environment(self, scratch: str) -> dict[str, str]:
        """Return the environment of the process: one thread, and a home, a cache and temporary files of its own."""
        names = ("HOME", "TMPDIR", "TEMP", "TMP", "USERPROFILE", "CHURN_CACHE_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR")
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # Windows starts none without
        own = {"CHURN_HOME": str(self.folder / "own"), "CHURN_OFFLINE": "1", "LANG": "C.UTF-8"}
        own["JOBLIB_MULTIPROCESSING"] = "0"  # it would warn that it may start no process
        return dict.fromkeys(names, scratch) | single | kept | own

    def _of_path(self) -> list[str]:
        return [str(copy) for copy in self._copies if copy.parent == self.folder / "path"]

    def named(self, text: str) -> str:
        """Name the user's files in a message of the process, not the copies that it had."""
        for copy, original in self._copies.items():
            text = text.replace(str(copy), str(original))
        return text


@contextmanager
def isolated(method: str) -> Iterator[Isolation]:
    """Copy the code of the suite and of the user's methods, to run ``method`` in isolation. Raises UserError."""
    with tempfile.TemporaryDirectory(prefix="churn-", ignore_cleanup_errors=True) as folder:
        yield Isolation(method, Path(folder).resolve())


class _Talk:
    """The messages to and from a process."""

    def __init__(self, of: Isolation, child: "subprocess.Popen[bytes]", said: IO[bytes]) -> None:
        self._of, self._child, self._said = of, child, said
        self.walls: tuple[str, ...] = ()

    def send(self, kind: bytes, content: bytes) -> None:
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):  # what went wrong is in the next reply
            process.send(self._child.stdin, kind, content)

    def next(self, kind: bytes, most: int) -> bytes:
        """Return the content of the next message, which has to be of ``kind``. Raises UserError."""
        assert self._child.stdout is not None
        message = process.receive(self._child.stdout, max(most, LONGEST))
        while message and message[0] == process.FILES:
            about = json.loads(message[1])
            self._of.provide(Path(about["folder"]), about["files"])
            self.send(process.JOB, b"")
            message = process.receive(self._child.stdout, max(most, LONGEST))
        if message and message[0] == kind and len(message[1]) <= most:
            return message[1]
        method = self._of.method
        text = self._of.named(message[1].decode("utf-8", "replace")) if message else ""
        if message and message[0] == process.WRONG:
            raise UserError(text[:4000])
        if message and message[0] == process.FAILED:
            raise UserError(f"{method}: {text[:4000]}; {SENTENCE}: no dataset, cache or network is within its reach")
        _end(self._child)
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 2000))
        last = self._of.named(self._said.read().decode("utf-8", "replace")).strip()
        raise UserError(
            f"{method}: its process ended without an answer, or gave a wrong one: it crashed, left Python, or used "
            f"more than {SECONDS} s or the memory allowed{': ' + last if last else ''}"
        )


def _end(child: "subprocess.Popen[bytes]") -> None:
    """Kill the process and those that it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


CODE = ("*.py", "*.so", "*.pyd")
"""Names of files with code."""


def copy_code(source: Path, target: Path, kinds: Sequence[str] = CODE[:1]) -> None:
    """Copy the Python files below ``source``: no data, nor anything else that a user keeps beside them."""
    for path in (path for kind in kinds for path in source.rglob(kind) if path.is_file()):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def _packed(arrays: dict[str, np.ndarray]) -> bytes:
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def _libraries() -> list[str]:
    """Return the folders of the standard library and of installed packages, as they are on the path of this process."""
    installed = {*site.getsitepackages(), site.getusersitepackages()}
    installed |= {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    dynamic = [path for path in sys.path if Path(path).name == "lib-dynload"]
    return [path for path in sys.path if path in installed or path in dynamic]


def _own_libraries() -> list[Path]:
    """Return the other folders of the path of this process, which ``PYTHONPATH`` and ``.pth`` files add.

    Neither the working folder nor the home of datasets and results is one, unless ``PYTHONPATH`` names it.
    """
    named = {os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder}
    known = {os.path.abspath(folder) for folder in (*_libraries(), str(CHECKOUT))}
    unnamed = {os.path.abspath(folder) for folder in (os.curdir, str(home()), str(own_methods()))} - named
    paths = dict.fromkeys(os.path.abspath(folder) for folder in sys.path if folder)
    return [Path(path) for path in paths if path not in known | unnamed and os.path.isdir(path)]


def _bases() -> list[str]:
    """Return the other folders of the installation of Python, with its shared libraries."""
    return [str(Path(base) / "lib") for base in {sys.base_prefix, sys.base_exec_prefix}]


def _hidden() -> list[str]:
    """Return what may lie among the libraries and has labels: data, caches and packages with results."""
    packages = [find_spec(name) for name in LABELS]
    places = [place for package in packages if package for place in package.submodule_search_locations or ()]
    data = os.environ.get("CHURN_DATA_DIR")
    return [*places, str(cache_folder()), *([os.path.abspath(data)] if data else [])]
