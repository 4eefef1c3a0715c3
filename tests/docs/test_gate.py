"""The workflow on the page on gates fails on too many flips and reports them; test_snippets runs the other commands."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from benchmark.files import CHECKOUT
from leaderboard.__main__ import app
from tests.conftest import call

PAGE = (CHECKOUT / "docs" / "tutorials" / "gate.md").read_text(encoding="utf-8")
(WORKFLOW,) = re.findall(r"^```yaml [^\n]*\n(.*?)^```", PAGE, flags=re.S | re.M)
STEPS = yaml.safe_load(WORKFLOW)["jobs"]["gate"]["steps"]


def test_the_workflow_fails_on_too_many_flips_and_reports_them(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    for name, share in (("old", 0.05), ("new", 0.5)):
        flipped = pd.DataFrame({"example_id": range(300), "y_pred": y ^ (rng.random(300) < share), "y_true": y})
        flipped.to_csv(f"{name}.csv", index=False)
    reports = []
    for command in (step["run"] for step in STEPS if "churn gate" in step.get("run", "")):
        words, _, _ = command.partition(" >")
        assert call(*shlex.split(words)[1:], which=app) == 1
        reports.append(capsys.readouterr().out)
    summary, junit = reports
    assert summary.startswith("### Gate failed")
    assert "<failure message=" in junit
