"""The board of the published results, ready to look at: the one that came with the release, or built once."""

import tarfile
from collections.abc import Callable
from importlib.resources import files as resources
from pathlib import Path

from benchmark.errors import UserError
from benchmark.files import cache_folder, hash_of, program
from benchmark.store.staging import replacing
from leaderboard import site
from leaderboard.read import published
from leaderboard.write.templates import templates

PACKAGE = Path(str(resources("leaderboard")))
ARCHIVE = published.PUBLISHED.parent / "board.tar.xz"
"""The site that a release is packed with; a checkout has none, and builds it."""


def ready(report: Callable[[str], None]) -> Path:
    """Return the first page of the board, in the cache; ``report`` is told if it takes longer than seconds.

    Raises UserError if the archive cannot be read, or if there are no published results.
    """
    folder = cache_folder() / "board"
    sources = [path for path in (ARCHIVE, published.PUBLISHED / "manifest.json") if path.is_file()]
    if not sources:
        raise UserError(f"{published.PUBLISHED}: no published results came with this version")
    if sources[0] == ARCHIVE:
        made_of = hash_of([ARCHIVE])
    else:
        made_of = hash_of([*sources, *sorted((PACKAGE / "static").iterdir())]) + templates()
        made_of += program("leaderboard", "benchmark")
    mark = folder / ".made-of"
    if not mark.is_file() or mark.read_text(encoding="utf-8") != made_of:
        mark.unlink(missing_ok=True)
        if sources[0] == ARCHIVE:
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
