"""The clock of what people wait for."""

from pathlib import Path

from tools.waits import Task, seconds


def test_only_the_task_itself_is_timed_with_its_processes_in_a_home_of_its_own(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass"
    run = f"subprocess.run([sys.executable, '-c', {busy!r}])"
    within = f"import pathlib, subprocess, sys; pathlib.Path('made').touch(); {run}"
    idle = "import pathlib; assert pathlib.Path('made').exists() and pathlib.Path('grids.toml').exists()"
    cpu, wall = seconds(tmp_path, Task("", ["-c", within]))
    assert 0.5 < cpu < wall + 0.5
    cpu, _ = seconds(tmp_path, Task("", ["-c", idle], [["-c", within]]))
    assert cpu < 0.5
