"""Files of grids: blocks of pipelines on datasets, in the order in which they are worth their cost."""

import itertools
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, ValidationError

from benchmark.data.spec import as_written, expand
from benchmark.errors import UserError, did_you_mean
from benchmark.registry import make_method, settings_of
from benchmark.settings import items, parse_seeds, parse_splits, refuse_lone_halves
from benchmark.store.cell import Grid, decode_key
from benchmark.types import Sampling, Task, Tune


class Block(BaseModel, frozen=True, extra="forbid"):
    """A table ``[[block]]``: the options of ``run``; lists of ``learner``, ``features`` and ``tune`` are combined."""

    name: str
    method: str
    dataset: str
    task: Task | None = None
    """Only datasets of this task; all if left out."""
    settings: bool = False
    """True if each method is trained with all settings of its grid."""
    learner: list[str] = Field([""], min_length=1)
    features: list[str] = Field([""], min_length=1)
    """Datasets whose rows are not molecules are left out for features other than ``""``, their own, and for what reads
    SMILES."""
    tune: list[Tune] = Field([""], min_length=1)
    sampling: Sampling = "halves"
    canonical_seed: str = "99"
    seeds: str = "10"

    def grids(self) -> Iterator[list[Grid]]:
        """Yield the grids of each dataset with each kind of features: one problem is in memory at a time.

        Raises UserError if the block has no dataset.
        """
        splits, seeds = parse_splits(self.canonical_seed), parse_seeds(self.seeds)
        specs = {dataset: as_written(dataset.partition("@")[0]) for dataset in expand(self.dataset)}
        specs = {dataset: spec for dataset, spec in specs.items() if self.task in (None, spec.task)}
        if not specs:
            raise UserError(f"no dataset in {self.dataset!r} is a {self.task}")
        for features, (dataset, spec) in itertools.product(self.features, specs.items()):
            if features and not spec.smiles:
                continue
            methods = items(self.method)
            if self.settings:
                methods = [text for name in methods for text in settings_of(name, spec.task, self.sampling)]
            yield [
                Grid(readable, [dataset], splits, seeds, self.sampling, learner, features, tune)
                for learner, tune in itertools.product(self.learner, self.tune)
                if (
                    readable := [name for name in methods if spec.smiles or not _reads_smiles(name, spec.task, learner)]
                )
            ]

    def check(self) -> None:
        """Raise UserError for seeds, a dataset, a method, a learner or features that no cell has."""
        try:
            if not items(self.method):
                raise UserError(f"method = {self.method!r}: expected the name of a method")
            refuse_lone_halves(parse_seeds(self.seeds), self.sampling)
            every = {
                (name, spec.task, spec.backbone, grid.learner, grid.features, grid.tune)
                for grids in self.grids()
                for grid in grids
                for spec in [as_written(grid.datasets[0].partition("@")[0])]
                for name in grid.methods
            }
            if not every:
                raise UserError(f"no dataset in {self.dataset!r} has rows that its methods and features can read")
            for name, task, backbone, learner, features, tune in sorted(every):
                make_method(name, task, None, backbone, self.sampling, learner, features, tune)
        except UserError as error:
            raise UserError(f"block {self.name!r}: {error}") from error


def _reads_smiles(method: str, task: Task, learner: str) -> bool:
    return make_method(method, task, learner=learner).reading.reads == "smiles"


class _File(BaseModel, extra="forbid"):
    block: list[Block] = Field(min_length=1)
    published: str | None = None


class Grids(NamedTuple):
    """A file of grids: its blocks, and the digests of the cells that are published already."""

    blocks: list[Block]
    published: frozenset[str]


def read(path: Path, only: str = "") -> Grids:
    """Return the grids of a file, of all blocks or the one called ``only``. Raises UserError for what cannot be run."""
    if not path.is_file():  # a device may never end
        raise UserError(f"{path}: no such file: name a TOML of grids, with tables [[block]]")
    try:
        content = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: not a file of grids, with tables [[block]]: {field!r}: {first['msg']}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a file of grids: {error}") from error
    names = [block.name for block in content.block]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UserError(f"{path}: several blocks are called {twice!r}: give each a name of its own")
    if only and only not in names:
        raise did_you_mean(f"block of {path}:", only, names)
    blocks = [block for block in content.block if only in ("", block.name)]
    for block in blocks:
        block.check()
    return Grids(blocks, _published(path.parent / content.published) if content.published else frozenset())


def _published(folder: Path) -> frozenset[str]:
    """Return the digests of the cells in a folder of published results, which may not exist yet. Raises UserError."""
    path = folder / "manifest.json"
    try:
        heads = json.loads(path.read_bytes())["cells"] if path.is_file() else []
        return frozenset(decode_key(head["key"]).digest for head in heads)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as published results: {error}: restore the file") from error
