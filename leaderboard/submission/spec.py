"""The metadata of a submission: ``submission.yml`` and ``manifest.json``."""

import json
import unicodedata
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchmark.errors import UserError

NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"
"""Pattern for methods, versions and datasets, safe as path components."""
MAX_DEPTH = 8


def _visible(text: str) -> str:
    if hidden := next((c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")), ""):
        raise ValueError(f"has the invisible character U+{ord(hidden):04X}; remove it")
    return text


Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\r\n]+$"),
    AfterValidator(_visible),
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=5000)]
Link = Annotated[str, StringConstraints(max_length=500, pattern=r"^https://[^\s<>\"'()]+$")]
Version = Annotated[str, StringConstraints(pattern=NAME)]
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class Strict(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Model = TypeVar("Model", bound=Strict)


class Description(Strict):
    """The fields of ``submission.yml``."""

    name: Line = Field(description="Name of the method, shown in tables.")
    authors: tuple[Line, ...] = Field(min_length=1, max_length=100)
    version: Version = Field(description="Version, equal to the name of the folder.")
    description: Text = Field(description="Description of the method, detailed enough to reimplement it.")
    licence: Line = Field(description="SPDX identifier of the licence of the predictions, e.g. CC-BY-4.0.")
    compute: Text = Field(description="Cost of one retraining, and the machine.")
    training_data: Text = Field(description="Additional training data, including for pretraining; or none.")
    code: Link | None = Field(None, description="Link to the code.")
    paper: Link | None = Field(None, description="Link to a paper.")
    superseded_by: Version | None = Field(None, description="The version that replaces this one.")
    collapsed: tuple[Version, ...] = Field((), description="Datasets with nearly constant predictions.")


class File(Strict):
    """The description of a predictions file in ``manifest.json``."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    rows: int = Field(gt=0)
    problems: dict[int, Fingerprint] = Field(description="Fingerprint of the data by canonical seed.")
    samples: dict[int, Fingerprint] = Field(description="Fingerprint of the training rows by canonical seed.")


class Manifest(Strict):
    """``manifest.json``: the suite's version and the files, ``predictions/SAMPLING/DATASET.parquet``."""

    suite: Line
    files: dict[str, File] = Field(min_length=1)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``submission.yml``, for validation in editors."""
    return Description.model_json_schema()


def parse_description(content: bytes, where: str) -> Description:
    """Parse a description in YAML. Raises UserError naming file, line or field.

    All scalars are read as texts, as intended for ``version: 1.0``. Anchors, aliases, tags and deep nesting are refused
    before any object is built, so a small file cannot expand into a large one.
    """
    try:
        text = content.decode("utf-8")
        _refuse_tricks(text, where)
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{where}: not a YAML file: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(node, yaml.MappingNode):
        raise UserError(f"{where}: expected fields such as 'name: ...', found {content[:40]!r}")
    return _validated(Description, _plain(node, where), where)


def parse_manifest(content: bytes, where: str) -> Manifest:
    """Parse a manifest in JSON. Raises UserError naming file and field."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not a JSON file: {str(error)[:300]}") from error
    return _validated(Manifest, data, where)


def _refuse_tricks(text: str, where: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise UserError(f"{where}, line {line}: anchors and aliases (& and *) are not allowed; write it out")
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            raise UserError(f"{where}, line {line}: expected plain text, found the tag {tag[:60]!r}; remove it")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UserError(f"{where}, line {line}: nested more than {MAX_DEPTH} deep")


def _plain(node: yaml.Node, where: str) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, where) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        return node.value
    fields: dict[str, Any] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or name in fields:
            raise UserError(f"{where}, line {line}: expected a new field, found {name[:60]!r} again")
        fields[name] = _plain(value, where)
    return fields


def _validated(model: type[Model], data: Any, where: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part)[:60] for part in first["loc"])
        value = "" if first["type"] == "missing" else f", found {str(first['input'])[:80]!r}"
        allowed = f" (allowed: {', '.join(model.model_fields)})" if first["type"] == "extra_forbidden" else ""
        raise UserError(f"{where}: field {field!r}: {first['msg']}{value}{allowed}") from error
