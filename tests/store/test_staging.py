"""A folder is there whole, old or new, however its writer ends, and what dead writers leave is removed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.store.staging import replacing, staging, sweep

PYTHON = """
import os, signal, sys
from pathlib import Path
from benchmark.store.staging import replacing, staging

target = Path(sys.argv[1])
"""


def python(script: str, target: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PYTHON + script, str(target), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


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
    with replacing(site) as new:
        page(new, "new")
        assert shown(site) == "old"
    assert shown(site) == "new"
    assert names(site.parent) == ["site"]


def test_a_folder_is_created_with_those_above_it(tmp_path: Path) -> None:
    with replacing(tmp_path / "a" / "b") as new:
        page(new, "new")
    assert shown(tmp_path / "a" / "b") == "new"


def test_a_failure_keeps_the_old_folder(site: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(site) as new:
        (new / "missing" / "index.html").write_text("new")
    assert shown(site) == "old"
    assert names(site.parent) == ["site"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_between_the_renames_keeps_the_old_folder(
    site: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name == "new" and not target.exists():
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(error), replacing(site) as new:
        page(new, "new")
    assert shown(site) == "old"
    assert names(site.parent) == ["site"]


KILLED = """
left = int(sys.argv[2])

def counted(function):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call

for owner, name in ((Path, "rename"), (Path, "write_text"), (os, "mkdir"), (os, "unlink"), (os, "rmdir")):
    setattr(owner, name, counted(getattr(owner, name)))
with replacing(target) as new:
    for name in ("index.html", "style.css"):
        (new / name).write_text("new")
print("finished")
"""


@pytest.mark.slow
def test_a_kill_before_any_step_leaves_a_whole_folder_once_it_is_swept(site: Path) -> None:
    seen, outcome, step = set(), "", 0
    while "finished" not in outcome:
        step += 1
        writer = python(KILLED, site, str(step))
        outcome = writer.communicate()[0]
        assert writer.returncode in (0, -signal.SIGKILL)
        seen.add(site.exists())
        sweep(site.parent, "site")
        assert shown(site) in ("old", "new")
        assert names(site.parent) == ["site"]
    assert seen == {True, False}, "no kill came between the two renames"
    assert step > 8


HELD = """
with staging(target) as hidden:
    print(hidden.name, flush=True)
    input()
"""


def test_the_folder_of_a_living_process_stays_and_that_of_a_dead_one_goes(site: Path) -> None:
    with python(HELD, site) as writer:
        assert writer.stdout is not None
        hidden = writer.stdout.readline().strip()
        with replacing(site) as new:
            page(new, "new")
        assert names(site.parent) == [hidden, "site"]
        writer.kill()
    sweep(site.parent)
    assert names(site.parent) == ["site"]


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def swept(prefix: str, dir: Path) -> str:
        folder = dir / f"{prefix}{len(made):08d}"
        folder.mkdir()
        made.append(str(folder))
        if len(made) == 1:
            sweep(site.parent)
            assert not folder.exists()
        return str(folder)

    monkeypatch.setattr("tempfile.mkdtemp", swept)
    with staging(site) as hidden:
        assert hidden.is_dir()
        sweep(site.parent)
        assert hidden.is_dir()
    assert names(site.parent) == ["site"]


AT_ONCE = """
for i in range(40):
    with replacing(target) as new:
        for name in ("index.html", "style.css"):
            (new / name).write_text(sys.argv[2])
"""


@pytest.mark.slow
def test_of_processes_that_replace_a_folder_at_once_all_finish_and_one_stays_whole(site: Path) -> None:
    writers = [python(AT_ONCE, site, text) for text in ("one", "two", "three")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert shown(site) in ("one", "two", "three")
    assert names(site.parent) == ["site"]
    for writer in writers:
        writer.communicate()


def test_hidden_folders_of_a_user_are_kept(site: Path) -> None:
    (site.parent / ".site.backup").mkdir()
    (site.parent / ".site.backup" / "thesis.tex").write_text("years of work")
    sweep(site.parent)
    assert (site.parent / ".site.backup" / "thesis.tex").read_text() == "years of work"


def test_a_name_with_wildcards_means_itself(tmp_path: Path) -> None:
    with staging(tmp_path / "[a]*") as hidden:
        assert hidden.parent == tmp_path
    with replacing(tmp_path / "[a]*") as new:
        page(new, "new")
    assert names(tmp_path) == ["[a]*"]
