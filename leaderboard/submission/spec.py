"""The card of a submission: ``submission.yml``."""

import re
import unicodedata
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from benchmark.errors import UserError
from benchmark.settings import visible

LETTERS = re.compile(
    "LATIN (CAPITAL|SMALL) LETTER ([A-Z]|AE|SHARP S|ETH|THORN)( WITH .+)?|GREEK SMALL LETTER (?!.*OMICRON).+"
)
"""Names of the letters that a method may be called with: few look like another of them."""
TURNS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of text around, or control what shows it."""
NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"
"""Pattern for methods, versions and datasets, safe as path components."""


def latin(name: str) -> str:
    """Return a name with its accents composed.

    Raises ValueError for a letter of another script, many of which look like Latin ones.
    """
    name = unicodedata.normalize("NFC", name)
    letters = [c for c in name if unicodedata.category(c)[0] in "LM"]
    names = {c: unicodedata.name(c, "a letter without a name") for c in letters}
    if odd := next((c for c, told in names.items() if not LETTERS.fullmatch(told)), ""):
        raise ValueError(f"expected Latin letters, or small Greek ones such as λ, found {odd!r}, {names[odd]}")
    return name


Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(visible)]
Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=5000),
    AfterValidator(lambda text: TURNS.sub("", text)),
]
Link = Annotated[str, StringConstraints(max_length=500, pattern=r"^https://[^\s<>\"'()]+$")]
Version = Annotated[str, StringConstraints(pattern=NAME)]


class Description(BaseModel):
    """The fields of ``submission.yml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[Line, AfterValidator(latin)] = Field(description="Name of the method, shown in tables.")
    authors: tuple[Line, ...] = Field(min_length=1, max_length=100)
    version: Version = Field(description="Version, equal to the name of the folder.")
    description: Text = Field(description="Description of the method, detailed enough to reimplement it.")
    licence: Line = Field(description="SPDX identifier of the licence of the predictions, e.g. CC-BY-4.0.")
    compute: Text = Field(description="Cost of one retraining, and the machine.")
    training_data: Text = Field(description="Additional training data, including for pretraining; or none.")
    files: dict[Line, Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]] = Field(
        {}, max_length=100, description="Files of data or weights that the code reads, with their sha256."
    )
    protocols: dict[Line, Line] = Field(
        {}, max_length=1000, description="Fingerprint of the protocol of each file, as {halves/bace: 0123456789abcdef}."
    )
    code: Link | None = Field(None, description="Link to the code.")
    paper: Link | None = Field(None, description="Link to a paper.")
    superseded_by: Version | None = Field(None, description="The version that replaces this one.")
    collapsed: tuple[Version, ...] = Field((), description="Datasets with nearly constant predictions.")


class _Texts(yaml.BaseLoader):  # type: ignore[misc]
    """Reads all scalars as texts, such as ``version: 1.0``; refuses aliases, which expand, and a field given twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*) are not allowed", problem_mark=self.peek_event().start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [str(key.value) for key, _ in node.value]
        if twice := next((key for i, (key, _) in enumerate(node.value) if str(key.value) in names[:i]), None):
            problem = f"expected a new field, found {str(twice.value)[:60]!r} again"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=twice.start_mark)
        return super().construct_mapping(node, deep)


def parse_description(content: bytes, where: str) -> Description:
    """Parse a description in YAML. Raises UserError naming line or field."""
    try:
        fields = yaml.load(content.decode("utf-8"), Loader=_Texts)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{where}: not a YAML file of texts: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(fields, dict):
        raise UserError(f"{where}: expected fields such as 'name: ...', found {content[:40]!r}")
    try:
        return Description.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part)[:60] for part in first["loc"])
        words = {"tuple_type": "expected a list, as in [A, B]", "too_short": "expected at least one"}
        said = words.get(first["type"], first["msg"])  # which is of tuples, and YAML has none
        value = "" if first["type"] == "missing" else f", found {str(first['input'])[:80]!r}"
        allowed = f" (allowed: {', '.join(Description.model_fields)})" if first["type"] == "extra_forbidden" else ""
        raise UserError(f"{where}: field {field!r}: {said}{value}{allowed}") from error
