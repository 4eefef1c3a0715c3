"""A folder of pretrained networks as a user would keep them."""

from pathlib import Path

import pytest


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models."""
    pytest.importorskip("transformers", reason="the extra [pretrained] is not installed")
    monkeypatch.setenv("CHURN_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"
