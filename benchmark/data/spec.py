"""Dataset descriptions: one TOML file each, checked field by field."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmark.errors import UserError, did_you_mean

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"


class Recipe(BaseModel):
    """Training settings of the networks (paper, section Methods). A TOML names only what differs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: int = Field(256, gt=0, multiple_of=16)
    lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-4, ge=0)
    batch_size: int = Field(64, gt=0)
    epochs: int = Field(30, gt=0)


class DatasetSpec(BaseModel):
    """One dataset. ``name`` is the file's stem; all else is in the file (fields: datasets/README.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    task: Literal["classification", "regression"]
    group: Literal["dev", "headline", "borderline", "excluded", "regression", "scope", "extra"]
    source: str = Field(pattern=r"^\w+:.+")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    smiles: str
    target: str
    positive: str | None = None
    features: tuple[str, ...]
    split: str
    licence: str
    cite: str
    notes: str = ""
    recipe: Recipe = Recipe()


def dataset_names() -> list[str]:
    """The names of the registry: one TOML each in ``datasets/``."""
    return sorted(path.stem for path in DATASETS.glob("*.toml"))


def load_spec(name: str) -> DatasetSpec:
    """The spec of a dataset of the registry, or of the TOML file at the path ``name``.

    Raises UserError for an unknown name, and for a TOML that cannot be read, naming file and field.
    """
    path = Path(name) if name.endswith(".toml") else DATASETS / f"{name}.toml"
    if not path.is_file():
        raise did_you_mean("dataset", name, dataset_names())
    try:
        return DatasetSpec(name=path.stem, **_fields(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path}: field '{where}': {first['msg']} (see datasets/README.md)") from error


def _fields(path: Path) -> dict[str, Any]:
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    if "name" in fields:
        raise UserError(f"{path}: field 'name': a dataset's name is its file's; remove the field or rename the file")
    return fields


def expand(names: str) -> list[str]:
    """Dataset names from a comma-separated list of names, paths and groups, each once, in the order given."""
    specs = [load_spec(name) for name in dataset_names()]
    chosen: dict[str, None] = {}
    for item in filter(None, (part.strip() for part in names.split(","))):
        members = [spec.name for spec in specs if spec.group == item]
        for name in members or [item]:
            load_spec(name)
            chosen[name] = None
    return list(chosen)
