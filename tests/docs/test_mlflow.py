"""The page on models in MLflow: its scripts and commands run as they stand."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT

PAGE = (CHECKOUT / "docs" / "mlflow.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)


def run(folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    for name in ("MLFLOW_TRACKING_URI", "CHURN_HOME"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=folder, check=False, env=environment
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.slow
@pytest.mark.long
def test_the_scripts_and_commands_of_the_page_run_as_written(tmp_path):
    said = []
    for name, text in BLOCKS:
        if name == "run":
            for line in text.splitlines():
                python, *words = shlex.split(line)
                assert python == "python"
                said.append(run(tmp_path, *words))
            continue
        (tmp_path / name).write_text(text)
        said.append(run(tmp_path, name))
    _, whole, part, gate, evaluate = said
    whole, part = (" ".join(text.split()) for text in (whole, part))  # captions are wrapped
    assert "5 runs, 200 examples, read as labels." in whole
    assert "Columns: predictions prediction; truth target." in whole
    assert "4 runs, 200 examples" in part
    assert len(json.loads((tmp_path / "score.json").read_text())["runs"]) == 4
    assert gate.endswith("passed\n")
    share = float(evaluate.split()[-1])
    assert f"flips  {share:7.2%}" in gate
    assert 0 < share < 0.1
