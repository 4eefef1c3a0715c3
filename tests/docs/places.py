"""Pages, and the order of methods as the results that come with the suite have it."""

import pandas as pd

from benchmark.files import CHECKOUT
from benchmark.types import PAPER, Sampling
from leaderboard.read.published import PUBLISHED
from leaderboard.write.formats import from_json

from .test_figures import Interval, intervals

FROZEN = CHECKOUT / "leaderboard" / "published" / "0.1.0" / "tables"
"""The tables of version 0.1.0, whose studies the pages cite."""


def text(page: str) -> str:
    """Return a file of the checkout."""
    return (CHECKOUT / page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """Return a page in one line."""
    return " ".join(text(page).split())


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def places(sampling: Sampling, name: str = "places") -> pd.DataFrame:
    """Return the table of the order under a sampling, or another, as pages show it, by its first column."""
    path = PUBLISHED / "tables" / ("" if sampling == PAPER else sampling) / f"{name}.json"
    table = from_json(path.read_text(encoding="utf-8"))
    rows = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]
    return pd.DataFrame(rows, columns=table.header).set_index(table.header[0])


def told(sampling: Sampling, name: str = "places") -> set[Interval]:
    """Return the intervals of such a table."""
    return {interval for text in places(sampling, name).to_numpy().ravel() for interval in intervals(text)}
