"""Small models like the pretrained networks, with random weights, in a folder as a user would keep them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models."""
    pytest.importorskip("transformers", reason="the extra [pretrained] is not installed")
    monkeypatch.setenv("CHURN_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def save() -> Callable[..., Path]:
    """A function that saves a model with random weights in ``folder``."""

    def saved(model: Any, config: Any, folder: Path, seed: int = 0) -> Path:
        import torch
        from transformers.utils import logging

        logging.disable_progress_bar()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model(config).save_pretrained(folder)
        return folder

    return saved
