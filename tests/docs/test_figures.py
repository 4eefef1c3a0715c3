"""Pages of the documentation that name published tables, by default those of version 0.1.0, say what these say."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from leaderboard.write import cited

from .places import Interval, intervals, text, unknown

TABLE = re.compile(r"`((?:\d\.\d\.\d/)?(?:paper|nested|halves|update|studies)/[a-z0-9-]+)(?:#([a-z0-9.-]+))?`")
PAGES = ("protocols", "paper", "statistics", "faq", "results")


@cache
def known(name: str) -> frozenset[Interval]:
    if name == "RESULTS.md":
        return frozenset(intervals(text("RESULTS.md")))
    one, _ = cited.find(of_version(name))
    texts = (cell if isinstance(cell, str) else cell.text for cell in one.cells.values())
    return frozenset(interval for text in texts for interval in intervals(text))


def of_version(name: str) -> str:
    return name if name[0].isdigit() else f"0.1.0/{name}"


def parts(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each row of a table, and each other paragraph, with the published tables that it goes by.

    These are those named in it; otherwise, the last that were named above it in its section.
    """
    last: list[str] = []
    for block in re.split(r"\n\n+", text(f"docs/{page}.md")):
        if block.startswith("#"):
            last = []
        for part in block.splitlines() if block.startswith("|") else [block]:
            named = [name for name, _ in TABLE.findall(part)] + ["RESULTS.md"] * ("RESULTS.md" in part)
            if named and not part.startswith("|"):
                last = named
            yield part, named or last


@pytest.mark.parametrize("page", PAGES)
def test_each_interval_is_one_of_the_tables_that_are_named_beside_it(page: str) -> None:
    checked = 0
    for part, names in parts(page):
        if "compare twin bagging" in part:  # see test_paper
            continue
        odd = unknown(part, frozenset().union(*map(known, names)))
        assert not odd, f"{page}.md: {odd} are in none of {names}: {part[:200]}"
        checked += len([*intervals(part)])
    assert checked > 0 or page in ("results", "faq", "statistics")


@pytest.mark.parametrize("page", PAGES)
def test_each_address_leads_to_a_published_number_or_table(page: str) -> None:
    for name, cell in TABLE.findall(text(f"docs/{page}.md")):
        cited.find(of_version(f"{name}#{cell}" if cell else name))
