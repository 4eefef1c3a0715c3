"""Pages, the intervals in them, and the order of methods as the results that come with the suite have it."""

import re
from collections.abc import Iterator, Set

import pandas as pd

from benchmark.files import CHECKOUT
from benchmark.types import PAPER, Sampling
from leaderboard.read.published import PUBLISHED
from leaderboard.write.formats import from_json

FROZEN = CHECKOUT / "leaderboard" / "published" / "0.1.0" / "tables"
"""The tables of version 0.1.0, whose studies the pages cite."""


def text(page: str) -> str:
    """Return a file of the checkout."""
    return (CHECKOUT / page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """Return a page in one line."""
    return " ".join(text(page).split())


NUMBER = r"([+−]?\d+(?:\.\d+)?)"
INTERVAL = re.compile(rf"{NUMBER}(?: (?:%|pp))? \[{NUMBER}, {NUMBER}\]")
Interval = tuple[str, ...]


def intervals(text: str) -> Iterator[Interval]:
    """Yield value, low and high of each interval in a text, without plus signs."""
    for found in INTERVAL.finditer(text):
        yield tuple(part.removeprefix("+") for part in found.groups())


def unknown(text: str, known: Set[Interval]) -> list[Interval]:
    """Return the intervals of a text that are not ``known``, nor those of a difference the other way round."""
    return [one for one in intervals(text) if one not in known and _turned(one) not in known]


def _turned(interval: Interval) -> Interval:
    """Return a gain of 2 where the interval has −2."""
    value, low, high = (part.removeprefix("−") if part.startswith("−") else f"−{part}" for part in interval)
    return value, high, low


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def places(sampling: Sampling, name: str = "places") -> pd.DataFrame:
    """Return the table of the order under a sampling, or another, as pages show it, by its first column."""
    path = PUBLISHED / "tables" / ("" if sampling == PAPER else sampling) / f"{name}.json"
    table = from_json(path.read_text(encoding="utf-8"))
    rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]
    return pd.DataFrame(rows, columns=table.header).set_index(table.header[0])


def told(sampling: Sampling, *names: str) -> set[Interval]:
    """Return the intervals of such tables, by default of the order."""
    tables = (places(sampling, name).to_numpy().ravel() for name in names or ("places",))
    return {interval for table in tables for text in table for interval in intervals(text)}
