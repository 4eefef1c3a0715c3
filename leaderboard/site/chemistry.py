"""RDKit's own build for browsers, as one script that pages load on demand: structure search, and drawings of rows.

The package @rdkit/rdkit is 7 MB of WebAssembly, too much for the repository and for the package of this suite. A build
downloads it once, checks its sha256, and keeps it in the cache. Pages that are opened from a disk may not fetch a file
beside them, so it becomes a script: the module's code, and its WebAssembly compressed, as text.
"""

import base64
import gzip
import io
import tarfile
from importlib.resources import files as resources
from pathlib import Path

import pooch

from benchmark.errors import UserError
from benchmark.files import cache_folder, offline

URL = "https://registry.npmjs.org/@rdkit/rdkit/-/rdkit-2026.9.1.tgz"
SHA256 = "ae6b0e42b85114a2f38ef890fcb229a90b54b0b42d4636c50ae1c7f77d85ffe0"
SCRIPT = "static/rdkit.js"
"""Path below the site's folder."""


def script() -> str:
    """Return the script, which sets ``rdkitCode`` and defines ``initRDKitModule``.

    It starts with RDKit's licence (BSD, three clauses), as that requires. Raises UserError without the package.
    """
    with tarfile.open(fileobj=io.BytesIO(_package().read_bytes())) as package:
        module, code = (_member(package, f"package/dist/RDKit_minimal.{suffix}") for suffix in ("js", "wasm"))
    licence = (resources("rdkit") / "license.txt").read_text(encoding="utf-8").replace("*/", "* /")
    packed = base64.b64encode(gzip.compress(code, mtime=0)).decode()
    return f'/* {URL}\n{licence}*/\n{module.decode()}\nvar rdkitCode = "{packed}";\n'


def _package() -> Path:
    """Return the path of the package, downloaded if it is not in the cache. Raises UserError."""
    folder, name = cache_folder() / "raw", URL.rpartition("/")[2]
    if offline() and not (folder / name).is_file():
        raise UserError(f"{folder / name} is missing, and --offline forbids downloading it: build without --rdkit")
    try:
        return Path(pooch.retrieve(URL, f"sha256:{SHA256}", name, folder))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise UserError(
            f"RDKit for browsers cannot be downloaded: {error}: put {URL} at {folder / name}, or build without --rdkit"
        ) from error


def _member(package: tarfile.TarFile, name: str) -> bytes:
    found = package.extractfile(name)
    assert found is not None
    return found.read()
