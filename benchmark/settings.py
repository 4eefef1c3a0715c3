"""Settings on the command line, as ``NAME=VALUE``: hyperparameters of a method, fields of a dataset."""

from __future__ import annotations

from collections.abc import Iterable

from benchmark.errors import UserError


def assignments(parts: Iterable[str], where: str) -> dict[str, str]:
    """The values by name. Raises UserError for what is no ``NAME=VALUE``, and for a name that is given twice."""
    given: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not (equals and key and value):
            raise UserError(f"{where}: expected NAME=VALUE, found {part!r}")
        if key in given:
            raise UserError(f"{where}: {key} is given twice")
        given[key] = value
    return given
