"""Two processes in sandboxes cannot tell each other anything, in ways that they can without."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT
from benchmark.run import sandbox

from . import channels

pytestmark = pytest.mark.skipif(bool(sandbox.trouble()), reason=sandbox.trouble())
SCRIPT = Path(channels.__file__)
FILES = ("file", "flocked", "locked", "leased", "watched")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text("1")
    return tmp_path


def start(role: str, folder: Path, confined: bool) -> subprocess.Popen[bytes]:
    words = [str(SCRIPT), role, str(folder), *channels.CHANNELS]
    if confined:
        readable = [(path, path) for path in (str(folder), str(SCRIPT), *sys.path) if path]
        return sandbox.start(words, readable, stdout=subprocess.PIPE, env={})
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE)


@contextmanager
def sent(folder: Path, confined: bool) -> Iterator[None]:
    """A process that has sent on all channels, and is still there."""
    sender = start("send", folder, confined)
    assert sender.stdout is not None
    try:
        sender.stdout.readline()
        yield
    finally:
        sender.kill()
        sender.communicate()


def heard(folder: Path, confined: bool) -> list[str]:
    said = start("receive", folder, confined).communicate()[0].decode().strip()
    return [name for name in said.split(", ") if name]


@pytest.mark.slow
def test_two_sandboxes_have_no_channel_though_two_processes_have_many(folder):
    with sent(folder, confined=True):
        assert heard(folder, confined=True) == []
    assert {path.name for path in folder.iterdir()} == set(FILES)
    try:
        with sent(folder, confined=False):
            without = heard(folder, confined=False)
    finally:
        channels.clean(folder)
    assert len(without) >= 16, channels.CHANNELS.keys() - set(without)


HARM = """
import os, stat, subprocess, sys
file = sys.argv[1] + "/file"

def fills():
    for part in range(3):
        with open(f"/tmp/{part}", "wb") as big:
            os.posix_fallocate(big.fileno(), 0, 2**30 // 3 + 4096)

tries = {
    "chmod": lambda: os.chmod(file, 0o777), "utime": lambda: os.utime(file), "chown": lambda: os.chown(file, 1, 1),
    "setxattr": lambda: os.setxattr(file, "user.a", b"1"), "write": lambda: open(file, "a"),
    "of the folder": lambda: os.setxattr(sys.argv[1], "user.a", b"1"), "new": lambda: os.mkdir(file + "2"),
    "remove": lambda: os.remove(file), "rename": lambda: os.rename(file, file + "2"),
    "link": lambda: os.link(file, file + "2"),
    "stat": lambda: os.stat(sys.argv[1] + "/../secret"), "list": lambda: os.listdir("/home"),
    "a program": lambda: subprocess.run([sys.executable, "-c", ""]), "a process": os.fork,
    "the root": lambda: open("/new", "w"), "a full folder": fills,
}
for name, attempt in tries.items():
    try:
        attempt()
        print(name, "was possible")
    except OSError:
        pass
print(stat.S_ISREG(os.stat(os.devnull).st_mode), os.environ.get("SECRET"))
"""


def test_a_sandbox_has_no_file_of_the_user_to_change_and_no_device(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    (tmp_path / "secret").write_text("1")
    (tmp_path / "given").mkdir()
    path = tmp_path / "given" / "file"
    path.write_text("1")
    before = path.stat()
    given = str(path.parent)
    child = sandbox.start(["-c", HARM, given], [(given, given)], stdout=subprocess.PIPE, env={})
    assert child.communicate()[0].decode() == "True None\n"
    assert (path.stat(), path.read_text()) == (before, "1")


@pytest.mark.parametrize("copied", [True, False])
def test_what_is_hidden_is_empty_or_missing_though_it_lies_among_what_may_be_read(tmp_path, copied):
    """Missing as a cache of the user's is, beside the code that is copied for the sandbox."""
    whole, copy = tmp_path / "whole", tmp_path / "copy"
    for folder in (whole / "labels", copy / "labels" if copied else copy):
        folder.mkdir(parents=True)
        (folder / "test.csv").write_text("1")
    look = f"import os; print([os.listdir(path) for path, *_ in os.walk({str(whole)!r})])"
    words, hidden = ["-I", "-S", "-c", look], str(whole / "labels")
    child = sandbox.start(words, [(str(copy), str(whole))], [hidden], stdout=subprocess.PIPE)
    assert child.communicate()[0].decode().strip() == ("[['labels'], []]" if copied else "[['test.csv']]")


def test_a_process_cannot_take_more_memory_than_its_limit():
    grow = "from benchmark.run.sandbox import limit; limit(); bytearray(2**34)"
    given = [(path, path) for path in (str(CHECKOUT), *sys.path) if path]
    words = ["-c", f"import sys; sys.path[:] = {sys.path}; {grow}"]
    child = sandbox.start(words, given, stderr=subprocess.PIPE, env={})
    assert child.communicate()[1].decode().strip().endswith("MemoryError")


def test_what_a_process_can_read_of_itself_is_made_up_and_lets_catboost_train() -> None:
    script = (
        "import os; print(sorted(os.listdir('/proc/self')), open('/proc/self/statm').read().split()[0])\n"
        "import catboost, numpy as np\n"
        "x = np.arange(40.0).reshape(20, 2)\n"
        "model = catboost.CatBoostClassifier(iterations=2, thread_count=1, verbose=False, allow_writing_files=False)\n"
        "print(len(model.fit(x, x[:, 0] > 20).predict(x)))\n"
    )
    trained = find_spec("catboost") is not None
    lines = script.splitlines(keepends=True)[: None if trained else 1]
    paths = [(path, path) for path in sys.path if path]
    start = f"import sys; sys.path += {[path for path, _ in paths]}\n"
    child = sandbox.start(["-c", start + "".join(lines)], paths, stdout=subprocess.PIPE, env={"HOME": "/tmp"})
    said = child.communicate(timeout=60)[0].decode().splitlines()
    assert said == ["['exe', 'maps', 'statm'] 100000", "20"][: 1 + trained]
