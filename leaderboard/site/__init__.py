"""Writer of the results as a static site, atomically and without a server."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmark import __version__
from benchmark.errors import UserError
from benchmark.files import inside
from benchmark.measure.intervals import IntervalKind
from benchmark.store.staging import MARKER, claim, replacing
from leaderboard.read import jobs
from leaderboard.read.results import Results
from leaderboard.site import cite
from leaderboard.site.frame import url_prefixes
from leaderboard.site.pages import Site
from leaderboard.tables.prepare import prepare


def write(
    results: Results,
    out: Path,
    kind: IntervalKind = "runs",
    health: Mapping[str, str] | None = None,
    repository: str = "",
    docs: str = "",
) -> Path:
    """Write the site of ``results`` to the folder ``out``, whole or not at all, and return its first page.

    Each sampling has pages of its own, in a folder of its name unless it is the first. A site of the results that come
    with the suite also has pages to cite, for each of their versions.

    ``kind`` applies to all intervals; ``health`` holds health reports by dataset; ``repository`` and ``docs`` are
    addresses that pages link to. Raises UserError as ``claim`` does, and if writing fails.
    """
    out = claim(out)
    try:
        with replacing(out) as new, kept_alive(), threadpool_limits(limits=1):  # small matrices, beside other processes
            folders = url_prefixes(results)
            prepare(results, kind)
            for part in results.by_sampling or (results,):
                for name, content in Site(part, results, kind, health or {}, repository, docs).files():
                    _put(new, f"{folders[part.sampling]}{name}", content)
            if cite.has(results):
                for name, content in cite.files(repository, docs):
                    _put(new, name, content)
            written = sorted(path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file())
            (new / MARKER).write_text("\n".join([__version__, *written, ""]), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the leaderboard to {out}: {error}") from error
    jobs.sweep()
    return out / "index.html"


@contextmanager
def kept_alive() -> Iterator[None]:
    """Do without Python's search for unreachable cycles: among millions of numbers, it takes a fifth of a build."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _put(folder: Path, name: str, content: str | bytes) -> None:
    path = inside(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
