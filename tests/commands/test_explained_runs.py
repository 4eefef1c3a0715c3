"""``run`` ends by explaining what it recorded, and a failure to do so costs nothing else."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT

WORDS = ["--dataset", "b3db_measured@epochs=1@hidden=16", "--seeds", "3", "--jobs", "1"]


def run(home: Path, methods: str, **variables: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "benchmark", "run", "--method", methods, *WORDS]
    known = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_TRACKING")}
    environment = {**known, "CHURN_HOME": str(home), "PYTHONPATH": str(CHECKOUT), **variables}
    result = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result


def explained(home: Path) -> int:
    """Return the number of runs with a difference from ERM."""
    with sqlite3.connect(home / "mlflow.db") as store:
        query = "SELECT COUNT(DISTINCT run_uuid) FROM latest_metrics WHERE key = 'id/delta_churn'"
        return int(store.execute(query).fetchone()[0])


@pytest.mark.slow
@pytest.mark.long
def test_a_run_explains_what_it_recorded_once_and_after_a_failure_the_next_does(tmp_path: Path) -> None:
    first = run(tmp_path, "erm,knn")
    assert "sampling paper: 2 runs written" in first.stdout
    assert "runs?workflowType=machine_learning&viewStateShareKey=churn" in first.stdout
    assert explained(tmp_path) == 1
    again = run(tmp_path, "erm,knn")
    assert "0 cells trained, 2 already recorded" in again.stdout
    assert "runs written" not in again.stdout
    assert "explaining" not in again.stderr

    broken = tmp_path / "leaderboard"  # found before the real one, as it is in the working folder
    broken.mkdir()
    (broken / "__init__.py").touch()
    (broken / "__main__.py").write_text("raise SystemExit('no space left on device')")
    failed = run(tmp_path, "erm,linear")
    assert "1 cell trained, 1 already recorded, 0 failed." in failed.stdout
    remedy = "python -m leaderboard explain --dataset b3db_measured@epochs=1@hidden=16"
    assert f"The runs are recorded, but not their explanations. To add them: {remedy}" in failed.stdout + failed.stderr
    assert explained(tmp_path) == 1
    shutil.rmtree(broken)

    assert "sampling paper: 3 runs written" in run(tmp_path, "erm,linear").stdout
    assert explained(tmp_path) == 2


@pytest.mark.long
def test_the_run_of_mlflow_run_has_a_name_and_links_to_its_cells_which_link_back(tmp_path: Path) -> None:
    run(tmp_path, "erm")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    launcher = client.create_run("0", run_name="abundant-ant-1").info.run_id  # as mlflow run does
    run(tmp_path, "erm,knn", MLFLOW_RUN_ID=launcher)
    data = client.get_run(launcher)
    assert data.info.run_name == "ERM, k-NN on b3db_measured@epochs=1@hidden=16"
    note = data.data.tags["mlflow.note.content"]
    (experiment,) = (e for e in client.search_experiments() if "churn.dataset" in e.tags)
    cells = client.search_runs([experiment.experiment_id], "tags.`churn.kind` = 'cell'")
    for cell in cells:
        path = f"#/experiments/{experiment.experiment_id}/runs/{cell.info.run_id}?workflowType=machine_learning"
        assert f"- [{cell.info.run_name}]({path})" in note
    (knn,) = (cell for cell in cells if cell.data.tags["churn.method"] == "knn")
    back = f"(#/experiments/0/runs/{launcher}?workflowType=machine_learning)"
    assert back in knn.data.tags["mlflow.note.content"]
