"""The board of the published results, ready to look at: the one that came with the release, or built once."""

import tarfile
from collections.abc import Callable
from pathlib import Path

from benchmark.errors import UserError
from benchmark.files import cache_folder, files_in, hash_of, program
from benchmark.store.staging import replacing
from leaderboard import site
from leaderboard.read import published
from leaderboard.write.templates import PACKAGE, templates

ARCHIVE = published.PUBLISHED.parent / "board.tar.xz"
"""The site that a release is packed with; a checkout has none, and builds it."""


def ready(report: Callable[[str], None]) -> Path:
    """Return the first page of the board, in the cache; ``report`` is told if it takes longer than seconds.

    Raises UserError if the archive cannot be read, or if there are no published results.
    """
    folder, manifest = cache_folder() / "board", published.PUBLISHED / "manifest.json"
    if ARCHIVE.is_file():
        made_of = hash_of([ARCHIVE])
    elif manifest.is_file():
        made_of = hash_of([manifest, *files_in(PACKAGE / "static", "*")]) + templates()
        made_of += program("leaderboard", "benchmark")
    else:
        raise UserError(f"{published.PUBLISHED}: no published results came with this version")
    mark = folder / ".made-of"
    if not mark.is_file() or mark.read_text(encoding="utf-8") != made_of:
        mark.unlink(missing_ok=True)
        if ARCHIVE.is_file():
            _unpack(folder)
        else:
            report(f"building the board of {published.PUBLISHED.name}, once: it takes a few minutes")
            site.write(published.gather(published.PUBLISHED), folder)
        mark.write_text(made_of, encoding="utf-8")
    return folder / "index.html"


def _unpack(folder: Path) -> None:
    try:
        with replacing(folder) as new, tarfile.open(ARCHIVE) as archive:
            archive.extractall(new, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise UserError(f"{ARCHIVE}: cannot be unpacked to {folder}: {error}: install the package again") from error
