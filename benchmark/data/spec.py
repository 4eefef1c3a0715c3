"""Dataset descriptions: one TOML file each, checked field by field."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from benchmark.errors import UserError, did_you_mean
from benchmark.files import own_datasets, shipped_datasets
from benchmark.settings import assignments
from benchmark.types import MLP, DatasetFacts, Recipe, Task

UNVERIFIED = ("tadf", "hf")
"""Sources without a known checksum: a table that the user supplies, a dataset that its hub verifies."""

SUITES = {"lite": ("b3db_measured", "dili", "cyp2d6_substrate")}
"""Named selections besides the groups; ``lite`` gives a first impression within minutes."""


PoolSize = Annotated[int, Field(ge=2)]


class Settings(Recipe):
    """What may follow ``@`` in the name of a variant: the size of its pool, its backbone, its recipe's fields."""

    train: PoolSize | None = None
    backbone: str = MLP


class DatasetSpec(BaseModel):
    """One dataset. ``name`` is the stem of the file at ``path``; all else is in it (fields: datasets/README.md).

    A variant has the name with its settings, ``bace@train=200``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^\w[\w.-]*(@\w+=[\w.+-]+)*$")
    path: Path = Path()
    title: str
    task: Task
    group: Literal["dev", "headline", "borderline", "excluded", "regression", "scope", "extra", "variant"]
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
    groups: tuple[str, ...] = ()
    split: str
    train: PoolSize | None = None
    backbone: str = MLP
    licence: str = "unknown"
    cite: str = ""
    notes: str = ""
    recipe: Recipe = Recipe()

    @property
    def spelled(self) -> str:
        """How the command line names this dataset: by its name, or by the path of a TOML outside the registry."""
        if self.path.parent in (shipped_datasets(), own_datasets(), Path()):
            return self.name
        return str(self.path) + self.name.removeprefix(self.path.stem)

    @property
    def facts(self) -> DatasetFacts:
        """What is kept of the dataset with every result on it."""
        same = {name: getattr(self, name) for name in DatasetFacts.model_fields if name != "target"}
        return DatasetFacts(target=self.target_name or self.target, **same)

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
    """The names of the registry: one TOML each, of the suite or in ``datasets/`` of the user's home."""
    return sorted({path.stem for folder in (shipped_datasets(), own_datasets()) for path in folder.glob("*.toml")})


def _toml(name: str) -> Path:
    """The file of a dataset of the registry. Raises UserError for an unknown name, and for one with two files."""
    mine, theirs = own_datasets() / f"{name}.toml", shipped_datasets() / f"{name}.toml"
    here = [path for path in (theirs, mine) if path.is_file()]
    if not here:
        raise did_you_mean("dataset", name, dataset_names())
    if len(here) > 1 and not mine.samefile(theirs):
        raise UserError(f"{mine}: {name!r} is a dataset of the suite: rename your file")
    return here[0]


def load_spec(name: str) -> DatasetSpec:
    """The spec of a dataset of the registry, or of the TOML file at a path; ``@`` and settings make it a variant.

    ``bace@train=200@epochs=10`` is a dataset of its own, named with its settings in one order and spelling. A setting
    that says what the dataset has anyway stays in the name, though the problem is the same.

    Raises UserError for an unknown name or setting, a value that the setting cannot have, and for a TOML that cannot
    be read, naming file and field.
    """
    base, settings = _parts(name)
    path = Path(base).resolve() if base.endswith(".toml") else _toml(base)
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        spec = DatasetSpec(name=path.stem, path=path, **_fields(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a TOML file: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or first["type"]
        raise UserError(f"{path}: field '{where}': {first['msg']} (see datasets/README.md)") from error
    return _variant(spec, settings) if settings else _on(spec, spec.backbone)


def _parts(name: str) -> tuple[str, str]:
    """The name or path of a dataset, and the settings that follow it: ``bace``, ``@train=200``."""
    base, settings = re.fullmatch(r"(.+\.toml|[^@]*)(@.*)?", name, re.DOTALL).groups("")  # type: ignore[union-attr]
    return base, settings


def _variant(spec: DatasetSpec, settings: str) -> DatasetSpec:
    """``spec`` with other ``settings``, ``@train=200@epochs=10``. Raises UserError."""
    given = assignments(settings.split("@")[1:], spec.name + settings)
    for name in given:
        if name not in Settings.model_fields:
            raise did_you_mean(f"setting of {spec.name}:", name, list(Settings.model_fields))
    try:
        values = Settings.model_validate_strings(given).model_dump(include=set(given))
    except ValidationError as error:
        first = error.errors()[0]
        wrong = str(first["loc"][0])
        raise UserError(f"{spec.name}@{wrong}={given[wrong]}: {first['msg']}") from error
    spelled = [f"{name}={values[name]}" for name in sorted(values)]
    changes = {
        "name": "@".join([spec.name, *spelled]),
        "title": ", ".join([spec.title, *spelled]),
        "group": "variant",
        "train": values.pop("train", spec.train),
    }
    spec = _on(spec, values.pop("backbone", spec.backbone))
    return spec.model_copy(update=changes | {"recipe": spec.recipe.model_copy(update=values)})


def _on(spec: DatasetSpec, name: str) -> DatasetSpec:
    """``spec``, as its TOML has it, on a backbone: with what this reads as features, and with its recipe.

    What the TOML says of the recipe is for the TOML's own backbone. Raises UserError.
    """
    reads, recipe = "numbers", Recipe()
    if name != MLP:
        from benchmark.train.backbone import find

        reads, recipe = find(name).reads, find(name).recipe
    pixels = spec.features[0].startswith("pixels")
    if reads == "smiles" and not spec.smiles:
        raise UserError(f"{spec.name}: backbone {name} reads SMILES: name their column in 'smiles'")
    if reads == "pixels" and not pixels:
        raise UserError(f"{spec.name}: backbone {name} reads images, and the features are {', '.join(spec.features)}")
    if reads == "numbers" and "smiles" in spec.features:
        raise UserError(f"{spec.name}: backbone {name} reads numbers: name other features than 'smiles'")
    if name == spec.backbone:
        recipe = recipe.model_copy(update=spec.recipe.model_dump(exclude_unset=True))
    features = ("smiles",) if reads == "smiles" else spec.features
    return spec.model_copy(update={"backbone": name, "features": features, "recipe": recipe})


def _fields(path: Path) -> dict[str, Any]:
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    for field in {"name", "path"} & set(fields):
        raise UserError(f"{path}: field {field!r}: a dataset's name is its file's; remove the field or rename the file")
    scheme, _, file = str(fields.get("source", "")).partition(":")
    if scheme == "file" and file:  # relative to the TOML, wherever the command is given
        fields["source"] = f"file:{(path.parent / file).resolve()}"
    return {"family": path.stem, **fields}


def expand(names: str) -> list[str]:
    """Dataset names from a comma-separated list of names, paths, groups and suites, each once, in the order given.

    All may have settings: ``headline@epochs=10`` names a variant of each headline dataset.
    """
    path, _ = _parts(names)
    if path.endswith(".toml") and Path(path).is_file():  # its folder may have a comma
        return [load_spec(names).spelled]
    specs = [load_spec(name) for name in dataset_names()]
    chosen: dict[str, None] = {}
    for item in filter(None, (part.strip() for part in names.split(","))):
        base, settings = _parts(item)
        members = SUITES.get(base) or [spec.name for spec in specs if spec.group == base]
        for name in members or [base]:
            chosen[load_spec(name + settings).spelled] = None
    if not chosen:
        raise UserError(f"no dataset in {names!r}: name at least one, as in b3db_measured")
    return list(chosen)
