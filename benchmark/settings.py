"""What the texts on a command line mean: settings as ``NAME=VALUE``, and seeds."""

from __future__ import annotations

import re
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


def parse_settings(texts: list[str]) -> dict[str, str]:
    """``--set`` values: each ``NAME=VALUE``, several separated by commas; ``tuned=1,3`` is a list."""
    parts = (part for text in texts for part in re.split(r",(?=\w+=|$)", text) if part)
    return assignments(parts, "--set")


def parse_seeds(text: str) -> list[int]:
    """Train or canonical seeds: ``10`` means 1 to 10, ``3-5`` a range, ``99,7`` a list. Raises UserError."""
    largest = max(map(int, re.findall(r"\d+", text)), default=0)
    try:
        if largest >= 2**32:  # the generators' keys have 32 bits
            seeds = []
        elif text.isdecimal():
            seeds = list(range(1, int(text) + 1))
        else:
            seeds = []
            for part in filter(None, text.split(",")):
                low, dash, high = part.partition("-")
                seeds += range(int(low), int(high) + 1) if dash else [int(low)]
    except ValueError:
        seeds = []
    if not seeds or min(seeds) < 0:
        raise UserError(f"seeds {text!r}: expected a count as in 10, a range as in 1-10, or a list as in 1,3,5")
    return list(dict.fromkeys(seeds))


def parse_splits(text: str) -> list[int]:
    """Canonical seeds: ``99`` is one, ``99,7`` are two. Raises UserError."""
    return parse_seeds(text + ("" if "," in text else ","))
