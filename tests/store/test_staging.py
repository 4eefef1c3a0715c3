"""A folder is there whole, old or new, however its writer ends, and what dead writers leave is removed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.store import staging


def page(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("index.html", "style.css"):
        (folder / name).write_text(text)


def shown(target: Path) -> str:
    """Return the text that all files of a folder have."""
    texts = {(target / name).read_text() for name in ("index.html", "style.css")}
    assert len(texts) == 1
    return texts.pop()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def site(tmp_path: Path) -> Path:
    page(tmp_path / "site", "old")
    return tmp_path / "site"


def test_a_folder_is_replaced_whole_and_nothing_else_is_left(site: Path) -> None:
    with staging.replacing(site) as new:
        page(new, "new")
        assert shown(site) == "old"
    assert shown(site) == "new"
    assert names(site.parent) == ["site"]


def test_an_error_while_writing_or_between_the_renames_keeps_the_old_folder(site, monkeypatch):
    with pytest.raises(FileNotFoundError), staging.replacing(site) as new:
        (new / "missing" / "index.html").write_text("new")
    assert shown(site) == "old"
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name == "new" and not target.exists():
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(KeyboardInterrupt), staging.replacing(site) as new:
        page(new, "new")
    assert shown(site) == "old"
    assert names(site.parent) == ["site"]


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from benchmark.store.staging import replacing, sweep

target = Path(sys.argv[1])

def counted(function):
    def call(*args, **kwargs):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call

def replace(step):
    left[:] = [step]
    for owner, name in ((Path, "rename"), (Path, "write_text"), (os, "mkdir"), (os, "unlink"), (os, "rmdir")):
        setattr(owner, name, counted(getattr(owner, name)))
    with replacing(target) as new:
        for name in ("index.html", "style.css"):
            (new / name).write_text("new")

left = []
for step in itertools.count(1):
    if not (child := os.fork()):
        replace(step)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    there = target.exists()
    sweep(target.parent, target.name)
    print(code, there, *{(target / name).read_text() for name in ("index.html", "style.css")})
    if code == 0:
        break
"""


@pytest.mark.slow
def test_a_kill_before_any_step_leaves_a_whole_folder_once_it_is_swept(site: Path) -> None:
    said = subprocess.check_output([sys.executable, "-c", KILLED, str(site)], text=True)
    lines = [line.split() for line in said.splitlines()]
    assert len(lines) > 7
    assert {code for code, *_ in lines} == {"-9", "0"}
    assert {there for _, there, *_ in lines} == {"True", "False"}, "no kill came between the two renames"
    assert {tuple(texts) for _, _, *texts in lines} == {("old",), ("new",)}


def test_what_a_kill_left_is_removed_after_a_day_and_what_is_in_use_or_a_user_s_stays(site: Path) -> None:
    (site.parent / ".site.backup").mkdir()
    long_ago = time.time() - staging.DAY - 60
    os.utime(site.parent / ".site.backup", (long_ago, long_ago))
    with staging.staging(site) as in_use, staging.staging(site) as left:
        (left / "new").mkdir()
        os.utime(left, (long_ago, long_ago))
        staging.sweep(site.parent)
        assert names(site.parent) == sorted([".site.backup", in_use.name, "site"])
    assert names(site.parent) == [".site.backup", "site"]


def test_a_name_with_wildcards_means_itself(tmp_path: Path) -> None:
    with staging.staging(tmp_path / "[a]*") as hidden:
        assert hidden.parent == tmp_path
    with staging.replacing(tmp_path / "[a]*") as new:
        page(new, "new")
    assert names(tmp_path) == ["[a]*"]
