"""Running of a method away from everything that it must not see: a process of its own with the sample alone.

The process (``isolated``) is in a sandbox (``sandbox``). It has a copy of the code of ``benchmark`` and ``methods``,
the installed libraries, a copy of the code in the other folders of Python's path (of ``PYTHONPATH`` and ``.pth``
files), the files that the method declares, an empty home, and an environment with nothing of the user's. It reads
nothing else: no dataset, no cache, no published result, no other sample.
"""

import hashlib
import json
import os
import shutil
import site
import socket
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from benchmark.errors import UserError
from benchmark.files import CHECKOUT, ONE_THREAD, PACKAGE, cache_folder, home, inside, own_methods, package_root, packed
from benchmark.registry import own_files
from benchmark.run import isolated as process
from benchmark.run import sandbox
from benchmark.run.check import Checked
from benchmark.types import MLP, TASKS, Inputs, Sample, Task

T = TypeVar("T")
ARRAYS = ("x", "y", "smiles", "rows", "bootstrap_pool", "earlier_rows")
LONGEST = 2**20
"""Bytes of a message about the method."""
LABELS = ("B3DB", "leaderboard")
"""Installed packages that have labels of test molecules: of a dataset, and of the published results."""
CODE = ("*.py", "*.so", "*.pyd")
"""Names of files with code."""
SENTENCE = (
    "a method may use its sample and nothing else: no dataset, cache, network or other process is within its reach"
)


def method_file(name: str) -> Path | None:
    """Return the file of a method or learner of the suite or the user, by its name; it is not imported."""
    folders = [*import_module("methods").__path__, *import_module("benchmark.learners").__path__]
    suite = (Path(folder) / f"{name}.py" for folder in folders)
    return next((path for path in suite if path.is_file()), own_files().get(name))


class Isolation:
    """A method (a name, or the path of a file ending in .py) with a copy of the code that it needs, in ``folder``.

    In the sandbox, copies lie where the originals are outside.
    """

    def __init__(self, method: str, folder: Path) -> None:
        self.method, self._folder = method, folder
        self.files: dict[str, str] = {}
        """The sha256 of the files that the method has declared, by name."""
        self._secret = int.from_bytes(os.urandom(8), "big")
        suite, libraries = Path(import_module("methods").__path__[0]).absolute(), _own_libraries()
        self._originals = [path for path in (PACKAGE, suite, own_methods(), *libraries) if path.is_dir()]
        for original in self._originals:
            copy_code(original, self._copy(original), CODE if original in libraries else CODE[:1])
        compiled = self._copy(PACKAGE) / process.COMPILED
        copy_code(PACKAGE / "train" / "__pycache__", compiled, ("*.nbi", "*.nbc"))
        (compiled.parent / "__pycache__").symlink_to(process.WRITABLE)  # Numba reads only from where it can write
        self._path = [*map(str, dict.fromkeys((CHECKOUT, suite.parent, *libraries))), *_libraries()]
        if method.endswith(".py"):
            self.method = str(self._taken(Path(method).resolve()))
        mounts = {original: self._copy(original) for original in self._originals}
        mounts |= {Path(path): Path(path) for path in _libraries()}
        for path in mounts:
            self._copy(path).mkdir(parents=True, exist_ok=True)  # where it is mounted, if within another copy
        self._mounts = [(str(mounts[path]), str(path)) for path in sorted(mounts)]

    def _copy(self, original: Path) -> Path:
        return self._folder / original.relative_to(original.anchor)

    def _taken(self, path: Path) -> Path:
        """Copy a method's file, which may lie anywhere; if it belongs to a package, as a whole. Raises UserError."""
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        above = package_root(path)
        if above == path.parent:
            self._copy(above).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self._copy(path))
            self._originals.append(above)
        else:
            self._originals.append(above / path.relative_to(above).parts[0])
            copy_code(self._originals[-1], self._copy(self._originals[-1]))
        return path

    def _provide(self, folder: Path, files: Mapping[str, str]) -> None:
        """Copy the files that a method in ``folder`` declares with their sha256. Raises UserError."""
        if not any(folder.is_relative_to(original) for original in self._originals):
            return
        for name, expected in files.items():
            path = inside(folder, name)
            content = path.read_bytes() if path.is_file() else None
            digest = "no such file" if content is None else hashlib.sha256(content).hexdigest()
            if content is None or digest != expected:
                raise UserError(f"{path}: the method declares sha256 {expected}, found {digest}")
            if name not in self.files:  # another retraining may be reading it
                self._copy(path).parent.mkdir(parents=True, exist_ok=True)
                self._copy(path).write_bytes(content)
                self.files[name] = digest

    def check(self, tasks: Iterable[Task] = TASKS) -> Checked:
        """Check the method's contract on those of ``tasks`` that it can learn.

        Raises UserError for a method that cannot be imported or ends the process.
        """
        with self._started({"task": "", "tasks": sorted(tasks)}) as talk:
            return self._parsed(Checked, talk.next(process.CHECKED, LONGEST))

    def _parsed(self, kind: type[T], content: bytes) -> T:
        try:
            return TypeAdapter(kind).validate_json(content)
        except ValidationError as error:
            raise UserError(f"{self.method}: its process gave a wrong answer: {str(error)[:500]}") from error

    def retrain(self, sample: Sample, inputs: Inputs, backbone: str = MLP) -> np.ndarray:
        """Fit the method to ``sample`` in a new process, and return its predictions (T, C) float32 for ``inputs``.

        ``backbone`` is the learner of the dataset. ``inputs`` are handed over when the process says that it has
        trained, always in the same random order. Raises UserError if the method fails.
        """
        about: dict[str, object] = {name: getattr(sample, name) for name in process.ABOUT}
        with self._started(about | {"recipe": sample.recipe.model_dump(), "backbone": backbone}) as talk:
            arrays = {name: value for name in ARRAYS if (value := getattr(sample, name)) is not None}
            talk.send(packed(arrays | {"smiles": arrays["smiles"].astype(str)}))
            talk.next(process.TRAINED, 0)
            order = np.random.default_rng(self._secret).permutation(len(inputs))  # a place says nothing of a test set
            talk.send(packed({"x": inputs.x[order], "smiles": inputs.smiles[order].astype(str)}))
            shape = (len(inputs), sample.n_outputs)
            size = 4 * shape[0] * shape[1]
            reply = talk.next(process.VALUES, size)
            if len(reply) != size:
                raise UserError(f"{self.method}: expected predictions of shape {shape}, found {len(reply)} bytes")
            values = np.empty(shape, dtype=np.float32)
            values[order] = np.frombuffer(reply, dtype=np.float32).reshape(shape)
            return values

    @contextmanager
    def _started(self, about: dict[str, object]) -> Iterator["_Talk"]:
        homes = dict.fromkeys(("HOME", "TMPDIR", "CHURN_CACHE_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR"), "/tmp")
        own = {"CHURN_HOME": str(home()), "CHURN_OFFLINE": "1", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        own["JOBLIB_MULTIPROCESSING"] = "0"  # it would warn that it may start no process
        ours, theirs = socket.socketpair()
        with open(os.memfd_create("said"), "w+b") as said, ours, theirs:  # on a disk, all would see what it takes
            words = ["-P", "-s", "-S", "-B", process.__file__]
            streams: dict[str, Any] = {"stdin": theirs, "stdout": said, "stderr": said}
            child = sandbox.start(words, self._mounts, _hidden(), env=ONE_THREAD | homes | own, **streams)
            theirs.close()
            timer = threading.Timer(2 * sandbox.SECONDS, child.kill)
            timer.start()
            try:
                talk = _Talk(self, Connection(os.dup(ours.fileno())), said)
                talk.send(json.dumps(about | {"method": self.method, "path": self._path}).encode())
                yield talk
            finally:
                timer.cancel()
                child.kill()
                child.wait()


@contextmanager
def isolated(method: str) -> Iterator[Isolation]:
    """Copy the code of the suite and of the user's methods, to run ``method`` in isolation. Raises UserError.

    The caller makes sure that a sandbox works here (``sandbox.trouble``).
    """
    with tempfile.TemporaryDirectory(prefix="churn-", ignore_cleanup_errors=True) as folder:
        yield Isolation(method, Path(folder).resolve())


class _Talk:
    """The messages to and from a process."""

    def __init__(self, isolation: Isolation, pipe: Connection, said: IO[bytes]) -> None:
        self._isolation, self._pipe, self._said = isolation, pipe, said

    def send(self, content: bytes) -> None:
        with suppress(OSError):  # what went wrong is in the next reply
            self._pipe.send_bytes(content)

    def next(self, kind: bytes, most: int) -> bytes:
        """Return the content of the next message, which has to be of ``kind``. Raises UserError."""
        sent, content = self._received(most)
        while sent == process.FILES:
            folder, files = self._isolation._parsed(tuple[Path, dict[str, str]], content)
            self._isolation._provide(Path(os.path.normpath(folder)), files)  # without .., which leads elsewhere
            self.send(b"")
            sent, content = self._received(most)
        if sent == kind and len(content) <= most:
            return content
        method, text = self._isolation.method, content.decode("utf-8", "replace")[:4000]
        if sent == process.WRONG:
            raise UserError(text)
        if sent == process.FAILED:
            raise UserError(f"{method}: {text}; {SENTENCE}")
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - 2000))
        last = self._said.read().decode("utf-8", "replace").strip()
        raise UserError(
            f"{method}: its process ended without an answer, or gave a wrong one: it crashed, left Python, or used "
            f"more than {sandbox.SECONDS} s or the memory allowed{': ' + last if last else ''}"
        )

    def _received(self, most: int) -> tuple[bytes, bytes]:
        try:
            message = self._pipe.recv_bytes(1 + max(most, LONGEST))
        except (EOFError, OSError):  # the process has ended, or the message is too long
            return b"", b""
        return message[:1], message[1:]


def copy_code(source: Path, target: Path, kinds: Sequence[str] = CODE[:1]) -> None:
    """Copy the Python files below ``source``: no data, nor anything else that a user keeps beside them."""
    for folder, within, _ in os.walk(source):
        # Others cannot be imported: the environments, repositories and projects of a large folder on Python's path.
        within[:] = [name for name in within if name.isidentifier() or name.endswith(".libs")]
        for path in (path for kind in kinds for path in Path(folder).glob(kind) if path.is_file()):
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def _libraries() -> list[str]:
    """Return the folders of the standard library and of installed packages, as they are on the path of this process."""
    installed = {*site.getsitepackages(), site.getusersitepackages()}
    installed |= {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return [path for path in sys.path if path in installed or Path(path).name == "lib-dynload"]


def _own_libraries() -> list[Path]:
    """Return the other folders of the path of this process, which ``PYTHONPATH`` and ``.pth`` files add.

    Neither the working folder nor the home of datasets and results is one, unless ``PYTHONPATH`` names it.
    """
    named = {os.path.abspath(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder}
    known = {os.path.abspath(folder) for folder in (*_libraries(), str(CHECKOUT))}
    unnamed = {os.path.abspath(folder) for folder in (os.curdir, str(home()), str(own_methods()))} - named
    paths = dict.fromkeys(os.path.abspath(folder) for folder in sys.path if folder)
    return [Path(path) for path in paths if path not in known | unnamed and os.path.isdir(path)]


def _hidden() -> list[str]:
    """Return what may lie among the libraries and has labels: data, caches and packages with results."""
    packages = [find_spec(name) for name in LABELS]
    places = [place for package in packages if package for place in package.submodule_search_locations or ()]
    return [*places, str(cache_folder()), os.path.abspath(os.environ.get("CHURN_DATA_DIR") or cache_folder())]
