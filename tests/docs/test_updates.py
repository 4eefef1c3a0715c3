"""The workflow on the page on updates runs what it says; test_snippets checks the page's other commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from benchmark.files import CHECKOUT
from leaderboard.__main__ import app as leaderboard_app

PAGE = (CHECKOUT / "docs" / "updates.md").read_text(encoding="utf-8")
(WORKFLOW,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, flags=re.S | re.M)
STEPS = yaml.safe_load(WORKFLOW)["jobs"]["gate"]["steps"]


def test_the_workflow_fails_on_too_many_flips_and_reports_them(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    ids = [f"m{i}" for i in range(300)]
    for name, share in (("old", 0.05), ("new", 0.3)):
        pd.DataFrame({"example_id": ids, "y_pred": y ^ (rng.random(300) < share), "y_true": y}).to_parquet(
            f"{name}.parquet"
        )
    commands = [step["run"] for step in STEPS if "churn " in step.get("run", "")]
    said = []
    for command in commands:
        words, _, _ = command.partition(" >")
        with pytest.raises(SystemExit) as stop:
            leaderboard_app(shlex.split(words)[1:])
        said.append((stop.value.code, capsys.readouterr().out))
    (update, report), (gate, verdict) = said
    assert (update, gate) == (0, 1)
    assert report.startswith("### The update flips")
    assert "<failure message=" in verdict
