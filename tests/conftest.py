"""Where the tests find the data files, and guards for the user's tracking store, cache and network."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

STAGED = Path(__file__).resolve().parents[2] / "shared" / "data" / "raw"

# In the environment, so that tests which start a process of their own see it too.
if "CHURN_DATA_DIR" not in os.environ and STAGED.is_dir():
    os.environ["CHURN_DATA_DIR"] = str(STAGED)
os.environ.pop("MLFLOW_RUN_ID", None)
os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{tempfile.mkdtemp()}/mlflow.db"
os.environ["CHURN_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["CHURN_OFFLINE"] = "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than about five seconds")


@pytest.fixture(scope="session")
def staged_data() -> Path:
    """The folder of raw data files that no package ships."""
    folder = Path(os.environ.get("CHURN_DATA_DIR", STAGED))
    if not folder.is_dir():
        pytest.skip(f"no folder of raw data at {folder}: set CHURN_DATA_DIR to run this test")
    return folder
