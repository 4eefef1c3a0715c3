"""Addresses of published numbers, which never change: VERSION/TABLE#CELL, as in ``0.1.0/halves/places#svm.churn``.

A released version of the published results is frozen, so its tables, the names of their cells and the numbers in them
stay as they are; corrected results are another version. TABLE is the sampling and key of a table, or ``studies`` and
the key of a study's table; CELL is made by ``leaderboard.tables.addresses``. The site has a page for each table at
``cite/VERSION/TABLE.html``. The board of a dataset is ``SAMPLING/datasets/DATASET-TEST``.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmark.errors import did_you_mean
from benchmark.types import PAPER, SAMPLINGS
from leaderboard.read.published import PUBLISHED
from leaderboard.tables.addresses import addresses
from leaderboard.tables.table import Table, Value
from leaderboard.write.formats import from_json

STUDY = "study-"


@dataclass(frozen=True)
class Frozen:
    """A published table. ``name`` is its part of addresses and ``sha256`` that of its CSV file."""

    version: str
    name: str
    table: Table
    csv: Path
    sha256: str

    @cached_property
    def cells(self) -> Mapping[str, str | Value]:
        """The cells that have an address, by it."""
        pairs = zip(addresses(self.table), self.table.rows, strict=True)
        return {address: cell for of_row, row in pairs for address, cell in zip(of_row, row, strict=True) if address}

    def text(self, cell: str) -> str:
        """Return the number or text at the address of a cell, as pages show it."""
        value = self.cells[cell]
        return value if isinstance(value, str) else " ".join(filter(None, (value.text, value.flags)))

    @property
    def bibtex(self) -> str:
        """The entry to cite the table by."""
        title = re.sub(r"([&%$#_{}])", r"\\\1", self.table.title)
        note = f"churn-benchmark, results {self.version}, table {self.name}, SHA-256 of its CSV {self.sha256}"
        return f"""@misc{{churnbenchmark:{self.version}/{self.name},
  author  = {{{{The churn-benchmark authors}}}},
  title   = {{{title}}},
  version = {{{self.version}}},
  note    = {{{note}}},
}}
"""


def versions() -> list[Path]:
    """Return the folders of the results that were released, oldest first; others have no address as yet."""
    lines = (PUBLISHED.parent / "released.sha256").read_text(encoding="utf-8").splitlines()
    return [PUBLISHED.parent / line.split()[1].partition("/")[0] for line in lines if not line.startswith("#")]


def tables(folder: Path) -> Iterator[Frozen]:
    """Yield the tables of one version of the published results, in the order of their names."""
    return (_frozen(folder.name, name, path) for name, path in _paths(folder).items())


def _paths(folder: Path) -> dict[str, Path]:
    """Return the JSON file of each table of a version, by the table's part of addresses."""
    by_name = {}
    for path in (folder / "tables").rglob("*.json"):
        *places, key = path.relative_to(folder / "tables").parts
        if key.startswith(STUDY):
            places = ["studies"]
        elif not places or places[0] not in SAMPLINGS:
            places = [PAPER, *places]
        by_name["/".join([*places, key.removeprefix(STUDY).removesuffix(".json")])] = path
    return dict(sorted(by_name.items()))


def _frozen(version: str, name: str, path: Path) -> Frozen:
    csv = path.with_suffix(".csv")
    digest = hashlib.sha256(csv.read_bytes()).hexdigest()
    return Frozen(version, name, from_json(path.read_text(encoding="utf-8")), csv, digest)


def find(address: str) -> tuple[Frozen, str]:
    """Return the table at an address, and the address of the cell in it, empty if none is given.

    ``address`` may be that of a page, and lack its version, which is then the newest that has the table. Raises
    UserError for a version, table or cell that does not exist, naming those that are spelled alike.
    """
    page, _, cell = address.strip().rpartition("cite/")[2].partition("#")
    first, _, rest = page.removesuffix(".html").partition("/")
    given, name = (first, rest) if re.match(r"v?\d", first) else ("", page.removesuffix(".html"))
    folders = {folder.name: _paths(folder) for folder in versions()}
    if given and given not in folders:
        raise did_you_mean("version of the published results", given, [*folders])
    version = given or next((v for v in reversed(folders) if name in folders[v]), [*folders][-1])
    if name not in folders[version]:
        raise did_you_mean(f"table of the results {version}:", name, [*folders[version]])
    frozen = _frozen(version, name, folders[version][name])
    if cell and cell not in frozen.cells:
        raise did_you_mean(f"cell of the table {name}:", cell, [*frozen.cells])
    return frozen, cell
