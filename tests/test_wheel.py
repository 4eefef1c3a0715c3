"""The suite installed from a wheel, outside any checkout, in an initially empty folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.files import CHECKOUT

pytestmark = pytest.mark.long

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the installed wheel; its dependencies come from this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("the wheel is built from a git checkout")
    for name in filter(None, tracked.stdout.split("\0")):
        if not name.startswith("tests/") and (CHECKOUT / name).is_file():
            target = folder / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, target)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(folder / "source")], check=True
    )
    (wheel,) = folder.glob("*.whl")
    shutil.rmtree(folder / "source")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    return folder / "site"


@pytest.fixture(scope="module")
def churn(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A function that runs the console script in an initially empty folder."""
    work = tmp_path_factory.mktemp("work")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW_", "CHURN_"))}
    environment |= {"PYTHONPATH": str(installed), "CHURN_OFFLINE": "1", "CHURN_CACHE_DIR": str(work / ".cache")}
    environment |= {"COLUMNS": "200"}

    def run(*words: str, cwd: Path = work) -> subprocess.CompletedProcess[str]:
        script = str(installed / "bin" / "churn")
        result = subprocess.run([script, *words], cwd=cwd, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "Traceback" not in result.stderr
        return result

    run.work = work
    return run


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_everything_works_in_an_empty_folder_and_nothing_is_written_elsewhere(churn: Run, installed: Path) -> None:
    work, before = churn.work, files_below(installed)
    listing = churn("list").stdout
    assert "headline" in listing
    assert "twin" in listing
    assert "The default job can run here." in churn("doctor").stdout
    churn("new-method", "mine")
    assert "keeps the contract" in churn("check", "mine", "--trust").stdout
    rows = "".join(f"{'C' * (i % 7 + 1)}{'NOSF'[i % 4]}{'C' * (i // 7)},{i * 7 % 3 // 2}\n" for i in range(90))
    (work / "assays.csv").write_text("SMILES,active\n" + rows)
    churn("new-dataset", "assays.csv", "--target", "active", "--split", "random:0.5")
    assert "2 cells trained" in churn("run", "--method", "erm,mine", "--dataset", "assays", "--seeds", "4").stdout
    assert "1 dataset, 2 rows" in churn("build").stdout
    assert (work / "site" / "datasets" / "assays.html").is_file()
    assert {"mlflow.db", "mlruns", "outbox", "datasets", "methods"} <= {path.name for path in work.iterdir()}
    assert files_below(installed) == before


def test_what_comes_with_the_suite_is_in_the_wheel(churn: Run, installed: Path, tmp_path: Path) -> None:
    version = (CHECKOUT / "leaderboard" / "published").glob("*/manifest.json")
    for manifest in version:
        assert (installed / manifest.relative_to(CHECKOUT)).read_bytes() == manifest.read_bytes()
    for package in ("benchmark", "leaderboard", "methods"):
        assert (installed / package / "py.typed").is_file()
    assert files_below(installed / "benchmark" / "datasets") == files_below(CHECKOUT / "datasets")
    assert "Random forest" in churn("power", "--dataset", "bace", "--methods", "erm,random_forest", cwd=tmp_path).stdout
