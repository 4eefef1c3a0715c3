"""Dataset descriptions: one TOML file each, checked field by field."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from benchmark.errors import UserError, did_you_mean

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
UNVERIFIED = ("tadf", "hf")
"""Sources without a known checksum: a table that the user supplies, a dataset that its hub verifies."""

SUITES = {"lite": ("b3db_measured", "dili", "cyp2d6_substrate")}
"""Named selections besides the groups; ``lite`` gives a first impression within minutes."""


class Recipe(BaseModel):
    """Training settings of the networks (paper, section Methods). A TOML names only what differs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: int = Field(256, gt=0, multiple_of=16)
    lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-4, ge=0)
    batch_size: int = Field(64, gt=0)
    epochs: int = Field(30, gt=0)


class DatasetSpec(BaseModel):
    """One dataset. ``name`` is the stem of the file at ``path``; all else is in it (fields: datasets/README.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    path: Path = Path()
    title: str
    task: Literal["classification", "regression"]
    group: Literal["dev", "headline", "borderline", "excluded", "regression", "scope", "extra"]
    family: str = ""
    source: str = Field(pattern=r"^\w+:.+")
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    rows_sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    rows: int | None = Field(None, gt=0)
    parsable: int | None = Field(None, gt=0)
    smiles: str = ""
    id: str = ""
    target: str
    target_name: str = ""
    unit: str = ""
    positive: str | None = None
    features: tuple[str, ...] = Field(min_length=1)
    ignore: tuple[str, ...] = ()
    split: str
    licence: str = "unknown"
    cite: str = ""
    notes: str = ""
    recipe: Recipe = Recipe()

    @property
    def spelled(self) -> str:
        """How the command line names this dataset: by its name, or by the path of a TOML outside the registry."""
        return self.name if self.path.parent in (DATASETS, Path()) else str(self.path)

    @model_validator(mode="after")
    def _complete(self) -> DatasetSpec:
        scheme = self.source.partition(":")[0]
        if not self.sha256 and scheme not in UNVERIFIED:
            raise PydanticCustomError("sha256", "a {scheme}: source needs sha256, of the file", {"scheme": scheme})
        if not (self.smiles or self.id):
            raise PydanticCustomError("smiles", "name the column of the SMILES, or 'id' for rows that are no molecules")
        if self.split.startswith("scaffold") and not self.smiles:
            raise PydanticCustomError("split", "a scaffold split needs the column 'smiles'; use random:0.8")
        return self


def dataset_names() -> list[str]:
    """The names of the registry: one TOML each in ``datasets/``."""
    return sorted(path.stem for path in DATASETS.glob("*.toml"))


def load_spec(name: str) -> DatasetSpec:
    """The spec of a dataset of the registry, or of the TOML file at the path ``name``.

    Raises UserError for an unknown name, and for a TOML that cannot be read, naming file and field.
    """
    path = Path(name).resolve() if name.endswith(".toml") else DATASETS / f"{name}.toml"
    if not path.is_file() and name.endswith(".toml"):
        raise UserError(f"{path}: no such file")
    if not path.is_file():
        raise did_you_mean("dataset", name, dataset_names())
    try:
        return DatasetSpec(name=path.stem, path=path, **_fields(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or first["type"]
        raise UserError(f"{path}: field '{where}': {first['msg']} (see datasets/README.md)") from error


def _fields(path: Path) -> dict[str, Any]:
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    for field in {"name", "path"} & set(fields):
        raise UserError(f"{path}: field {field!r}: a dataset's name is its file's; remove the field or rename the file")
    scheme, _, file = str(fields.get("source", "")).partition(":")
    if scheme == "file" and file:  # relative to the TOML, wherever the command is given
        fields["source"] = f"file:{(path.parent / file).resolve()}"
    return {"family": path.stem, **fields}


def expand(names: str) -> list[str]:
    """Dataset names from a comma-separated list of names, paths, groups and suites, each once, in the order given."""
    if names.endswith(".toml") and Path(names).is_file():  # its folder may have a comma
        return [names]
    specs = [load_spec(name) for name in dataset_names()]
    chosen: dict[str, None] = {}
    for item in filter(None, (part.strip() for part in names.split(","))):
        members = SUITES.get(item) or [spec.name for spec in specs if spec.group == item]
        for name in members or [item]:
            load_spec(name)
            chosen[name] = None
    if not chosen:
        raise UserError(f"no dataset in {names!r}: name at least one, as in b3db_measured")
    return list(chosen)
