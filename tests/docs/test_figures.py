"""Pages of the documentation that name published tables, by default those of version 0.1.0, say what these say."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from benchmark.files import CHECKOUT
from leaderboard.write import cited

NUMBER = r"([+−]?\d+(?:\.\d+)?)"
INTERVAL = re.compile(rf"{NUMBER}(?: (?:%|pp))? \[{NUMBER}, {NUMBER}\]")
TABLE = re.compile(r"`((?:\d\.\d\.\d/)?(?:paper|nested|halves|update|studies)/[a-z0-9-]+)(?:#([a-z0-9.-]+))?`")
PAGES = ("protocols", "paper", "statistics", "faq", "results")
Interval = tuple[str, str, str]


def intervals(text: str) -> Iterator[Interval]:
    """Yield value, low and high of each interval in a text, without plus signs."""
    for found in INTERVAL.finditer(text):
        yield tuple(part.removeprefix("+") for part in found.groups())


def turned(interval: Interval) -> Interval:
    """Return the interval of the difference the other way round: a gain of 2 where the table has −2."""
    value, low, high = (part.removeprefix("−") if part.startswith("−") else f"−{part}" for part in interval)
    return value, high, low


@cache
def known(name: str) -> frozenset[Interval]:
    if name == "RESULTS.md":
        return frozenset(intervals((CHECKOUT / "RESULTS.md").read_text(encoding="utf-8")))
    one, _ = cited.find(of_version(name))
    texts = (cell if isinstance(cell, str) else cell.text for cell in one.cells.values())
    return frozenset(interval for text in texts for interval in intervals(text))


def of_version(name: str) -> str:
    return name if name[0].isdigit() else f"0.1.0/{name}"


def parts(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each row of a table, and each other paragraph, with the published tables that it goes by.

    These are those named in it; otherwise, the last that were named above it in its section.
    """
    text = (CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    last: list[str] = []
    for block in re.split(r"\n\n+", text):
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
        for interval in intervals(part):
            found = any(interval in known(name) or turned(interval) in known(name) for name in names)
            assert found, f"{page}.md: {interval} is in none of {names}: {part[:200]}"
            checked += 1
    assert checked > 0 or page in ("results", "faq", "statistics")


@pytest.mark.parametrize("page", PAGES)
def test_each_address_leads_to_a_published_number_or_table(page: str) -> None:
    text = (CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for name, cell in TABLE.findall(text):
        cited.find(of_version(f"{name}#{cell}" if cell else name))
