"""RDKit for browsers: what its script holds, and what is said if it cannot be had."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from pathlib import Path

import pytest

from benchmark.errors import UserError
from leaderboard.site import chemistry


def package() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as made:
        for suffix, text in (("js", b"var initRDKitModule = 1;"), ("wasm", b"\0asm" * 9)):
            about = tarfile.TarInfo(f"package/dist/RDKit_minimal.{suffix}")
            about.size = len(text)
            made.addfile(about, io.BytesIO(text))
    return content.getvalue()


def test_the_script_has_the_licence_the_module_and_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.tgz").write_bytes(package())
    monkeypatch.setattr(chemistry, "_package", lambda: tmp_path / "some.tgz")
    script = chemistry.script()
    assert "Redistribution and use in source and binary forms" in script
    assert "var initRDKitModule = 1;" in script
    packed = script.partition('var rdkitCode = "')[2].partition('"')[0]
    assert gzip.decompress(base64.b64decode(packed)) == b"\0asm" * 9


def test_without_network_a_build_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CHURN_OFFLINE", "1")
    with pytest.raises(UserError, match="build without --rdkit"):
        chemistry.script()
