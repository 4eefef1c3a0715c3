"""The doctor reports every problem with its remedy; its exit code tells whether the default job can run."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.commands import doctor
from benchmark.commands.doctor import Finding, diagnose
from benchmark.commands.options import DEFAULT_DATASET
from benchmark.data import downloads
from benchmark.data.spec import dataset_names
from benchmark.files import install
from tests.conftest import Churn


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with a separate store and no data except that in packages."""
    monkeypatch.delenv("CHURN_DATA_DIR", raising=False)
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def bad() -> list[Finding]:
    return [finding for finding in diagnose(DEFAULT_DATASET) if finding.state == "bad"]


def test_a_healthy_machine_can_run_the_default_job(churn: Churn) -> None:
    output = churn("doctor")
    assert output.splitlines()[-1] == "The default job can run here."
    assert "\nbad " not in output
    parts = ("Python 3.", "torch ", "tracking store sqlite:", "device: CPU", "cache ", f"data of {DEFAULT_DATASET}: ")
    for part in parts:
        assert f"ok    {part}" in output
    assert "data of 2 other datasets: on this machine" in output
    assert f"data of {len(dataset_names()) - 3} datasets: not on this machine" in output


def test_a_broken_file_is_named_and_fails_if_it_is_the_default_dataset_s(churn, monkeypatch, tmp_path):
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "data"))
    broken = tmp_path / "data" / "molnet" / "BBBP.csv"
    broken.parent.mkdir(parents=True)
    broken.write_text("num,name,p_np,smiles\n")
    said = churn("doctor")
    (finding,) = bad()
    assert finding.what.startswith(f"data of bbbp: {broken} is not the expected file")
    assert "get a fresh copy" in finding.remedy
    assert f"bad   {finding.what}\n      {finding.remedy}\n" in said
    monkeypatch.setitem(downloads.SOURCES, "b3db", lambda name: downloads.Origin(path=tmp_path / name))
    (tmp_path / "B3DB_regression.tsv").write_text("SMILES\tlogBB\nCCO\t0.1\n")
    output = churn("doctor", code=1)
    assert f"bad   data of {DEFAULT_DATASET}: {tmp_path}/B3DB_regression.tsv is not the expected file" in output
    assert output.splitlines()[-1] == "The default job cannot run here."


@pytest.mark.slow
def test_a_dead_tracking_store_fails_with_a_remedy(churn, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    output = churn("doctor", code=1)
    assert "bad   the tracking store http://127.0.0.1:9 cannot be used: " in output
    assert "start its server, free space on its disk, or set MLFLOW_TRACKING_URI" in output


@pytest.mark.parametrize(
    ("package", "installed", "message"),
    [
        ("torch", "2.0.1", "torch 2.0.1, expected >=2.9"),
        ("mlflow", "3.18.0", "mlflow 3.18.0, expected <3.18,>=3.16"),
        ("tomli-w", None, "tomli-w is not installed"),
    ],
)
def test_a_package_of_a_wrong_version_fails_with_the_command_that_mends_it(monkeypatch, package, installed, message):
    def fake(name: str) -> str:
        if name == package and installed is None:
            raise PackageNotFoundError(name)
        return installed if name == package and installed else version(name)

    monkeypatch.setattr(doctor, "version", fake)
    assert bad() == [Finding("bad", message, install(), vital=True)]


def test_a_full_disk_and_a_data_folder_that_does_not_exist_are_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=2**30))
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "nowhere"))
    missing, *full = bad()
    assert missing.what == f"CHURN_DATA_DIR={tmp_path / 'nowhere'} is not a folder"
    assert len(full) == 2
    assert all("only 1.0 GB of disk space free" in finding.what and finding.remedy for finding in full)
    assert not any(finding.vital for finding in (missing, *full))
