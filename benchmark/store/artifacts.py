"""The files of a run in MLflow, with the checksums that tell damage."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mlflow.artifacts import download_artifacts
from mlflow.entities import Run, RunInfo
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from pydantic_core import from_json

SUMS = "churn.sha256"
"""Tag with the sha256 of each file of a run by its path, as JSON; runs by earlier versions lack it."""


def upload(run: RunInfo, files: Mapping[str, bytes], address: str) -> None:
    """Store the files of a run in the tracking store at ``address`` under their paths."""
    if not files:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        get_artifact_repository(run.artifact_uri, tracking_uri=address).log_artifacts(folder)


def local_folder(artifact_uri: str) -> Path:
    """Return the local path of a folder of artifacts, downloaded if it is remote."""
    parts = urlsplit(artifact_uri)
    if parts.scheme in ("", "file") and not parts.netloc:
        return Path(url2pathname(parts.path))
    return Path(download_artifacts(artifact_uri=artifact_uri))


def sums(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the tag with the checksums of a run's files by their paths."""
    return {SUMS: json.dumps({name: hashlib.sha256(content).hexdigest() for name, content in files.items()})}


def verify(run: Run, files: Mapping[str, bytes]) -> None:
    """Raise ValueError if a file of a run differs from its checksum; those of earlier versions have none."""
    if SUMS not in run.data.tags:
        return
    expected = from_json(run.data.tags[SUMS])
    for name, content in files.items():
        found = hashlib.sha256(content).hexdigest()
        if not isinstance(expected, dict) or found != expected.get(name):
            raise ValueError(
                f"{run.info.run_name}: {name} was changed after it was written: its sha256 is {found}, not the one in "
                f"the tag {SUMS}; restore the file, or train the cell again with --force"
            )
