"""The files of a run in MLflow."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mlflow.artifacts import download_artifacts
from mlflow.entities import Run, RunInfo
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from pydantic_core import from_json

SUMS = "churn.sha256"
"""Tag with the sha256 of each file of a run by its path, as JSON; early runs lack it."""


def upload(run: RunInfo, files: Mapping[str, bytes], address: str) -> None:
    """Store the files of a run in the tracking store at ``address`` under their names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        upload_folder(run, Path(folder), "", address)


def upload_folder(run: RunInfo, folder: Path, name: str, address: str) -> None:
    """Store the files of ``folder`` with a run in the tracking store at ``address``, in its folder ``name``."""
    get_artifact_repository(run.artifact_uri, tracking_uri=address).log_artifacts(str(folder), name or None)


def local_path(uri: str) -> Path | None:
    """Return the path of artifacts on this machine; None for those of a server."""
    parts = urlsplit(uri)
    return Path(url2pathname(parts.path)) if parts.scheme in ("", "file") and not parts.netloc else None


def names(uri: str, address: str) -> set[str]:
    """Return the names of the files in a folder of artifacts of the tracking store at ``address``."""
    return {Path(file.path).name for file in get_artifact_repository(uri, tracking_uri=address).list_artifacts()}


@contextmanager
def local_folder(uri: str) -> Iterator[Path]:
    """Yield the path of a folder of artifacts: a copy for the time of the block if it is on a server."""
    if (path := local_path(uri)) is not None:
        yield path
        return
    with tempfile.TemporaryDirectory() as copy:
        yield Path(download_artifacts(artifact_uri=uri, dst_path=copy))


def sums(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the tag with the checksums of a run's files by their paths."""
    return {SUMS: json.dumps({name: hashlib.sha256(content).hexdigest() for name, content in files.items()})}


def verify(run: Run, files: Mapping[str, bytes]) -> None:
    """Raise ValueError if a file of a run differs from its checksum; without the tag, none is checked."""
    if SUMS not in run.data.tags:
        return
    expected = from_json(run.data.tags[SUMS])
    for name, content in files.items():
        if not isinstance(expected, dict) or expected.get(name) != hashlib.sha256(content).hexdigest():
            raise ValueError(f"{name} was changed after it was written: restore it, or run its command with --force")
