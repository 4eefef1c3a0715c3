"""Descriptions of datasets: a TOML each, or one for the endpoints of a collection, validated."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from benchmark.errors import UserError, did_you_mean
from benchmark.files import files_in, own_datasets, shipped_datasets
from benchmark.settings import assignments, features_of, visible
from benchmark.types import MLP, DatasetFacts, Recipe, Task

UNVERIFIED = ("tadf", "hf")
"""Sources without a checksum: a table that the user supplies, and datasets that the hub verifies."""

MOST_BYTES = 2**24
"""The largest TOML; one of 20,000 columns to ignore has half a megabyte."""

BY_COLUMN = ("fold", "given", "group", "ood", "time")
"""Kinds of splits that read a column of the table."""

NOT_OF_MOLECULES = ("columns", "composition", "pixels", "smiles")
"""Features that are not numbers computed from a molecule."""

MANY_ROWS, SAMPLED = 10_000, 5_000
"""Rows of a user's table of which all are taken for a comparison of methods, and of a random sample of more: training
takes minutes then, and no method is left out."""

PoolSize = Annotated[int, Field(ge=2)]


def _spelled(features: str) -> str:
    """Refuse ``features`` that are not names with dots before their numbers, joined by plus signs."""
    if not re.fullmatch(r"\w+(\.\d+)*(\+\w+(\.\d+)*)*", features):
        raise PydanticCustomError(
            "features", "expected names of features as in morgan_counts.4096.2+rdkit_descriptors, with dots for colons"
        )
    return features


class Settings(Recipe):
    """Settings after ``@`` in the name of a variant: its pool, split, backbone, features, and fields of its recipe."""

    train: PoolSize | None = None
    new: Annotated[int, Field(ge=1)] | None = None
    """The last rows of the pool that an earlier model did not have, for methods that use one."""
    split: Literal["", "time"] = ""
    """``time`` splits by the column that the TOML names in ``dated``."""
    backbone: str = MLP
    features: Annotated[str, AfterValidator(_spelled)] = ""
    """Features of molecules in place of the dataset's; a dot stands for the colon, which no file's name may hold."""


class DatasetSpec(BaseModel, frozen=True, extra="forbid"):
    """Description of a dataset. ``name`` is the stem of the TOML at ``path``, or that of an endpoint in it.

    The fields are explained in datasets/README.md. The name of a variant has its settings, as in ``bace@train=200``.
    """

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*(@\w+=[\w.+-]+)*$"), AfterValidator(visible)]
    path: Path = Path()
    title: Annotated[str, AfterValidator(visible)]
    task: Task
    group: Literal[
        "dev", "headline", "borderline", "excluded", "regression", "scope", "wide", "extra", "own", "variant"
    ]
    family: str = ""
    family_group: str = ""
    suites: tuple[str, ...] = ()
    source: str = Field(pattern=r"^\w+:[^\x00-\x1f]+$")
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    rows_sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    rows: int | None = Field(None, gt=0)
    parsable: int | None = Field(None, gt=0)
    smiles: str = ""
    id: str = ""
    target: str = Field(min_length=1)
    target_name: str = ""
    unit: str = ""
    positive: str | None = None
    negative: str = ""
    classes: tuple[str, ...] = ()
    sheet: str = ""
    missing: tuple[str, ...] = ()
    decimal: Literal["", ",", "."] = ""
    suffix: str = ""
    relation: str = ""
    bounds: Literal["", "exclude", "exact"] = ""
    desalt: bool = False
    where: tuple[Annotated[tuple[str, ...], Field(min_length=2)], ...] = ()
    limits: tuple[float, float] | None = None
    log10: bool = False
    merge: Literal["", "mean", "majority", "drop"] = ""
    sample: PoolSize | None = None
    features: tuple[str, ...] = Field(min_length=1)
    ignore: tuple[str, ...] = ()
    one_hot: tuple[tuple[str, ...], ...] = ()
    groups: tuple[str, ...] = ()
    split: str
    dated: str = ""
    train: PoolSize | None = None
    new: Annotated[int, Field(ge=1)] | None = None
    backbone: str = MLP
    previous: str = ""
    licence: str = "unknown"
    cite: str = ""
    notes: str = ""
    recipe: Recipe = Recipe()

    @property
    def shipped(self) -> bool:
        """Tell whether the TOML is one of the suite's, which lie in subfolders."""
        return self.path.is_relative_to(shipped_datasets()) and self.path.parent != shipped_datasets()

    @property
    def spelled(self) -> str:
        """Name on the command line; the path of the TOML if that is outside the registry."""
        if self.shipped or self.path.parent in (shipped_datasets(), own_datasets(), Path()):
            return self.name
        return str(self.path) + self.name.removeprefix(self.path.stem)

    @property
    def facts(self) -> DatasetFacts:
        """Facts that are stored with every result on the dataset."""
        same = {name: getattr(self, name) for name in DatasetFacts.model_fields if name != "target"}
        return DatasetFacts(target=self.target_name or self.target, **same)

    @property
    def strict_family(self) -> str:
        """Group of families in the strict reading: by default the family."""
        return self.family_group or self.family

    @property
    def split_column(self) -> str:
        """Column that a split reads; empty for other splits."""
        kind, _, column = self.split.partition(":")
        if kind == "fold":
            return column.rpartition(":")[0] if re.search(r":-?\d+$", column) else column
        return (time_column(column)[0] if kind == "time" else column) if kind in BY_COLUMN else ""

    @property
    def class_names(self) -> tuple[str, ...]:
        """What the user calls classes 0, 1 and so on; ``0`` and ``1`` where the table does. Empty for a regression."""
        if self.task == "regression":
            return ()
        if self.cut:
            return f"< {self.cut}", f"≥ {self.cut}"
        return self.classes or (
            (self.negative or f"not {self.positive}", self.positive) if self.positive else ("0", "1")
        )

    @property
    def cut(self) -> str:
        """Return where ``positive`` binarises a number: ``median``, or a number; empty if it does not."""
        return self.positive.removeprefix(">= ") if self.positive and self.positive.startswith(">= ") else ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        scheme = self.source.partition(":")[0]
        if not self.sha256 and scheme not in UNVERIFIED:
            raise PydanticCustomError("sha256", "a {scheme}: source needs the sha256 of its file", {"scheme": scheme})
        if not (self.smiles or self.id):
            raise PydanticCustomError("smiles", "name the SMILES column, or 'id' for rows that are not molecules")
        if self.classes and (len(set(self.classes)) < max(3, len(self.classes)) or self.positive):
            raise PydanticCustomError("classes", "expected three or more different texts, without 'positive'")
        if self.task == "regression" and (self.classes or self.positive is not None or self.negative):
            raise PydanticCustomError("task", "a regression has no 'classes', 'positive' or 'negative': leave them out")
        if self.negative and not self.positive:
            raise PydanticCustomError("negative", "name class 1 with 'positive', too")
        if any(len(set(one)) < max(3, len(one)) for one in self.one_hot):
            raise PydanticCustomError("one_hot", "expected lists of a column and its two or more different texts")
        if self.target in (column for column, *_ in self.one_hot):
            raise PydanticCustomError("one_hot", "the target cannot be a feature: leave its column out")
        if self.relation and not self.bounds:
            raise PydanticCustomError("relation", "say in 'bounds' what to do with bounds: exclude, or exact")
        if self.limits and not self.limits[0] < self.limits[1]:
            raise PydanticCustomError("limits", "expected the lowest target, and then a higher one")
        if self.desalt and not self.smiles:
            raise PydanticCustomError("desalt", "there are no molecules: name the SMILES column, or leave it out")
        if self.cut and self.cut != "median" and not re.fullmatch(r"-?\d+(\.\d+)?", self.cut):
            raise PydanticCustomError("positive", "expected the text of class 1, '>= median' or '>= ' and a number")
        if self.split.startswith("scaffold") and not self.smiles:
            raise PydanticCustomError("split", "a scaffold split needs the field 'smiles'; use random:0.8")
        return self


def time_column(text: str) -> tuple[str, float]:
    """Return the column of a split ``time:COLUMN`` or ``time:COLUMN:SHARE``, and the pool's share, by default 0.8.

    >>> time_column("assay_date"), time_column("assay_date:0.7"), time_column("Date: assay")
    (('assay_date', 0.8), ('assay_date', 0.7), ('Date: assay', 0.8))
    """
    column, colon, share = text.rpartition(":")
    if colon and re.fullmatch(r"0?\.\d+", share):
        return column, float(share)
    return text, 0.8


def dataset_names() -> list[str]:
    """Return the datasets of the registry: those of the suite, and the TOMLs of ``datasets/`` in the user's home."""
    return sorted({name for _, name in _beside()} | set(_of_suite(shipped_datasets())))


def _beside() -> list[tuple[Path, str]]:
    """Return the folder and the name of each dataset that has a TOML of its own."""
    folders = shipped_datasets(), own_datasets()
    return [(folder, path.stem) for folder in folders for path in files_in(folder, "*.toml")]


def fields_of(name: str) -> tuple[Path, dict[str, Any]]:
    """Return the file of a dataset, by its name or the path of its TOML, and the fields that it states.

    Raises UserError for an unknown name, for that of several, for one with two files, and for an invalid TOML.
    """
    if name.endswith(".toml"):
        path = Path(name).resolve()
        if not os.path.isfile(path):
            raise UserError(f"{path}: no such file")
        return path, _own_fields(path)
    suite = _of_suite(shipped_datasets())
    paths = [folder / f"{name}.toml" for folder in (shipped_datasets(), own_datasets())]
    paths = [path for path in paths if os.path.isfile(path)]  # False also for a name that no file can have
    if paths and (name in suite or not paths[0].samefile(paths[-1])):
        raise UserError(f"{paths[-1]}: the suite has a dataset {name!r}: rename your file")
    if paths:
        return paths[0], _own_fields(paths[0])
    if name not in suite:
        stated = [of for _, of in suite.values()] + [_own_fields(folder / f"{own}.toml") for folder, own in _beside()]
        if "," in name or any(name in (of.get("group"), *of.get("suites", ())) for of in stated):
            raise UserError(f"{name}: expected one dataset, such as bace, found a name of several")
        raise did_you_mean("dataset", name, dataset_names())
    path, fields = suite[name]
    return path, dict(fields)


@cache
def _of_suite(folder: Path) -> Mapping[str, tuple[Path, dict[str, Any]]]:
    """Return the file and the fields of each dataset in the subfolders of ``folder``, by name.

    A file with ``endpoint`` describes a collection: each endpoint has the fields of the collection and its own, and is
    called by ``prefix`` and its key. The notes of both are joined, and so are the scheme of a source and the file.
    """
    datasets: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in files_in(folder, "*/*.toml"):
        shared = _toml(path)
        endpoints, prefix = shared.pop("endpoint", None), shared.pop("prefix", "")
        if endpoints is None:
            datasets[path.stem] = path, shared
            continue
        for key, own in endpoints.items():
            joined = {"notes": f"{shared.get('notes', '')} {own.get('notes', '')}".strip()}
            if shared["source"].endswith(":"):
                joined["source"] = shared["source"] + own["source"]
            datasets[prefix + key] = path, shared | own | joined
    return datasets


def load_spec(name: str) -> DatasetSpec:
    """Return the spec of a registered dataset or of the TOML at a path; settings after ``@`` make it a variant.

    ``bace@train=200@epochs=10`` is a separate dataset, named with its settings in a canonical order and spelling. A
    setting equal to the dataset's own stays in the name, although the problem is the same. Raises UserError for an
    unknown name or setting, an invalid value, and an invalid TOML, naming file and field.
    """
    base, settings = _parts(name)
    spec = as_written(base)
    return _variant(spec, settings) if settings else _on(spec, spec.backbone)


def known_spec(name: str) -> DatasetSpec | None:
    """Return the spec of a dataset; None if none of this name is registered here, or its TOML is invalid.

    It spells no error: the closest of many names take a hundredth of a second.
    """
    if _parts(name)[0] not in dataset_names():
        return None
    try:
        return load_spec(name)
    except UserError:
        return None


def as_written(name: str) -> DatasetSpec:
    """Return the spec of a dataset, without settings after ``@``, whatever its backbone would change.

    Unlike ``load_spec``, it imports no backbone, for which PyTorch takes seconds. Raises UserError as that does.
    """
    path, fields = fields_of(name)
    name = path.stem if name.endswith(".toml") else name
    try:
        return DatasetSpec(**{"name": name, "path": path, **fields, "family": fields.get("family") or name})
    except ValidationError as error:
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")  # a slip: another is missing
        where = ".".join(map(str, first["loc"])) or first["type"]
        if first["type"] == "extra_forbidden" and first["loc"][-1] in DatasetSpec.model_fields:  # added at the end
            raise UserError(f"{path}: field '{where}': move it above [{first['loc'][0]}]") from error
        raise UserError(f"{path}: field '{where}': {first['msg']} (see datasets/README.md)") from error


def _parts(name: str) -> tuple[str, str]:
    """Split ``bace@train=200`` into the name or path of the dataset and its settings: ``bace``, ``@train=200``."""
    base, settings = re.fullmatch(r"(.+\.toml|[^@]*)(@.*)?", name, re.DOTALL).groups("")  # type: ignore[union-attr]
    return base, settings


def _variant(spec: DatasetSpec, settings: str) -> DatasetSpec:
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
        "new": values.pop("new", spec.new),
    }
    if values.pop("split", ""):
        if not spec.dated:
            raise UserError(f"{changes['name']}: the dataset has no dates: name their column in 'dated', in its TOML")
        changes["split"] = f"time:{spec.dated}"
    if given_features := values.pop("features", ""):
        features = _of_molecules(spec, features_of(given_features))
        spec = spec.model_copy(update={"features": features})
    spec = _on(spec, values.pop("backbone", spec.backbone))
    if given_features and "smiles" in spec.features:
        raise UserError(
            f"{changes['name']}: backbone {spec.backbone} reads SMILES: leave out features={given_features}"
        )
    return spec.model_copy(update=changes | {"recipe": spec.recipe.model_copy(update=values)})


def _of_molecules(spec: DatasetSpec, features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the features of ``spec`` with ``features`` in place of those computed from molecules. Raises UserError."""
    wrong = [name for name in features if name.partition(":")[0] in NOT_OF_MOLECULES]
    if wrong:
        raise UserError(
            f"{spec.name}: {', '.join(wrong)} cannot replace its features: name features that are computed from "
            "molecules, as in morgan_counts:4096:2"
        )
    others = tuple(name for name in spec.features if name.partition(":")[0] in NOT_OF_MOLECULES)
    if len(others) == len(spec.features):
        raise UserError(
            f"{spec.name}: its features, {', '.join(others)}, are not computed from molecules, so they cannot be "
            f"replaced by {', '.join(features)}"
        )
    return (*features, *others)


def with_features(dataset: str, features: Sequence[str]) -> str:
    """Return the name of the variant of ``dataset`` with other features of molecules.

    It is ``dataset`` itself if its features are not of molecules, its backbone reads SMILES, or its name says which
    features to take.
    """
    spec = load_spec(dataset)
    replaceable = any(name.partition(":")[0] not in NOT_OF_MOLECULES for name in spec.features)
    if not features or not replaceable or "@features=" in dataset:
        return dataset
    return f"{dataset}@features={'+'.join(features).replace(':', '.')}"


def _on(spec: DatasetSpec, name: str) -> DatasetSpec:
    """Return ``spec``, unchanged from its TOML, with the features that a backbone reads and its recipe. The TOML's
    applies to its own backbone alone, but for ``standardise``, which is about the target. Raises UserError."""
    reads, recipe = "numbers", Recipe()
    if name != MLP:
        from benchmark.learners import find

        learner = find(name)
        reads, recipe = learner.reads, getattr(learner, "recipe", recipe)
    pixels = spec.features[0].startswith("pixels")
    if reads == "smiles" and not spec.smiles:
        raise UserError(f"{spec.name}: backbone {name} reads SMILES: name the SMILES column in 'smiles'")
    if reads == "pixels" and not pixels:
        raise UserError(f"{spec.name}: backbone {name} reads images, but the features are {', '.join(spec.features)}")
    if reads == "numbers" and "smiles" in spec.features:
        raise UserError(f"{spec.name}: backbone {name} reads numbers: choose features other than 'smiles'")
    kept = None if name == spec.backbone else {"standardise"}
    recipe = recipe.model_copy(update=spec.recipe.model_dump(exclude_unset=True, include=kept))
    features = ("smiles",) if reads == "smiles" else spec.features
    return spec.model_copy(update={"backbone": name, "features": features, "recipe": recipe})


def _toml(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:  # brackets or dots can nest too deeply
        raise UserError(f"{path}: not a TOML file: {error}") from error


def _own_fields(path: Path) -> dict[str, Any]:
    """Return the fields of a TOML outside the suite, whose ``file:`` is relative to it, not to the working folder."""
    fields = _toml(path)
    for field in {"name", "path"} & set(fields):
        raise UserError(
            f"{path}: field {field!r}: a dataset is named after its file; remove the field or rename the file"
        )
    scheme, _, file = str(fields.get("source", "")).partition(":")
    if scheme == "file" and file and "\0" not in file:
        fields["source"] = f"file:{(path.parent / file).resolve()}"
    return fields


def expand(names: str) -> list[str]:
    """Return the distinct datasets of a comma-separated list of names, paths, groups and suites, in order.

    All may have settings: ``headline@epochs=10`` is a variant of each headline dataset.
    """
    path, after = _parts(names)
    if path.endswith(".toml") and "," not in after and os.path.isfile(path):  # its folder may contain a comma
        return [load_spec(names).spelled]
    every = set(dataset_names())
    shipped = (fields for _, fields in _of_suite(shipped_datasets()).values())
    single = every - {name for of in shipped for name in (of.get("group"), *of.get("suites", ()))}
    specs: list[DatasetSpec] = []  # of all, but only for a group or suite: a file that is not asked for may be invalid
    chosen: dict[str, None] = {}
    for item in filter(None, (part.strip() for part in names.split(","))):
        base, settings = _parts(item)
        if base not in single and not specs:
            specs = [as_written(name) for name in sorted(every)]
        members = [spec.name for spec in specs if base not in single and base in (spec.group, *spec.suites)]
        for name in members or [base]:
            chosen[load_spec(name + settings).spelled] = None
    if not chosen:
        raise UserError(f"no dataset in {names!r}: name at least one, as in b3db_measured")
    return list(chosen)
