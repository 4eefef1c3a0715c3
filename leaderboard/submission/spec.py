"""``submission.yml`` and ``manifest.json``: what a submission says about itself."""

from __future__ import annotations

import json
import unicodedata
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchmark.errors import UserError

NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"
"""Names of methods, versions and datasets: parts of a path that lead nowhere else."""
MAX_DEPTH = 8


def _visible(text: str) -> str:
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp"):
            raise ValueError(f"has the invisible character U+{ord(character):04X}; remove it")
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

Model = TypeVar("Model", bound=BaseModel)


class Description(BaseModel):
    """The fields of ``submission.yml``; any other is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Line = Field(description="The method's name, as tables show it.")
    authors: tuple[Line, ...] = Field(min_length=1, max_length=100)
    version: Version = Field(description="The name of the folder.")
    description: Text = Field(description="What the method does, so that others could build it.")
    licence: Line = Field(description="SPDX identifier of the licence of the predictions, as in CC-BY-4.0.")
    compute: Text = Field(description="What one retraining cost, and on which machine.")
    training_data: Text = Field(description="Training data beyond the benchmark's own, pretraining included; or none.")
    code: Link | None = Field(None, description="Where the code is.")
    paper: Link | None = Field(None, description="Where the method is described.")
    superseded_by: Version | None = Field(None, description="The version that replaces this one.")
    collapsed: tuple[Version, ...] = Field((), description="Datasets on which one class is predicted nearly always.")


class File(BaseModel):
    """What ``manifest.json`` says about a file of predictions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    rows: int = Field(gt=0)
    problems: dict[int, Fingerprint] = Field(description="Fingerprint of the data by canonical seed.")
    bootstraps: dict[int, Fingerprint] = Field(description="Fingerprint of the bootstraps by canonical seed.")


class Manifest(BaseModel):
    """``manifest.json``: the suite's version and the files, as ``predictions/DATASET.parquet``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suite: Line
    files: dict[str, File] = Field(min_length=1)


def schema() -> dict[str, Any]:
    """The JSON Schema of ``submission.yml``, for editors that check while one types."""
    return Description.model_json_schema()


def parse_description(content: bytes, where: str) -> Description:
    """The description in a YAML file. Raises UserError naming file, line or field.

    All scalars are texts, as ``version: 1.0`` is meant to be. Anchors, aliases, tags and deep nesting are refused
    before anything is built, so that no small file becomes a large object.
    """
    try:
        text = content.decode("utf-8")
        _refuse_tricks(text, where)
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{where}: not a YAML file: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(node, yaml.MappingNode):
        raise UserError(f"{where}: expected fields as in 'name: ...', found {content[:40]!r}")
    return _validated(Description, _plain(node, where), where)


def parse_manifest(content: bytes, where: str) -> Manifest:
    """The manifest in a JSON file. Raises UserError naming file and field."""
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
    found: dict[str, Any] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or name in found:
            raise UserError(f"{where}, line {line}: expected a new field, found {name[:60]!r} again")
        found[name] = _plain(value, where)
    return found


def _validated(model: type[Model], data: Any, where: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part)[:60] for part in first["loc"])
        found = "" if first["type"] == "missing" else f", found {str(first['input'])[:80]!r}"
        known = f" (known: {', '.join(model.model_fields)})" if first["type"] == "extra_forbidden" else ""
        raise UserError(f"{where}: field {field!r}: {first['msg']}{found}{known}") from error
