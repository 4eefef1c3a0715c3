"""Addresses of the cells of a table, made from the names of their row and column."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from leaderboard.tables.table import MISSING, Table, Value

LETTERS = {"δ": "delta", "λ": "lambda", "α": "alpha", "β": "beta", "ρ": "rho"}
"""Spellings of letters that an address should not have; other letters of this kind are left out."""


def addresses(table: Table) -> tuple[tuple[str, ...], ...]:
    """Return for each cell its address within the table, ROW.COLUMN; empty for a cell without content.

    A row is named by its first text, and by those that follow as far as it takes to tell rows apart: ``svm``, or
    ``bace.svm``; an empty text stands for the one above. A column is named by its header, and by the one above and its
    unit if others have the same. Names that are equal nevertheless are numbered. Texts that name rows have no address.

    >>> number = Value("14.8", 14.8)
    >>> table = Table("t", "", "", ("Method", "Δ churn (pp)"), (("Twin λ=3", number), ("Bagging K=5", number)))
    >>> addresses(table)
    (('', 'twin-lambda-3.delta-churn'), ('', 'bagging-k-5.delta-churn'))
    """
    leading = next((c for c, number in enumerate(table.numeric()) if number), len(table.header)) or 1
    names: list[list[str]] = []
    for row in table.rows:
        texts = [_text(cell) for cell in row[:leading]]
        names.append([text or (names[-1][c] if names else "") for c, text in enumerate(texts)])
    width = next((w for w in range(1, leading) if len({tuple(name[:w]) for name in names}) == len(names)), leading)
    rows = _numbered([".".join(filter(None, map(spelled, name[:width]))) for name in names])
    columns = _columns(table)
    return tuple(
        tuple(
            f"{name}.{column}" if c >= width and _text(cell) not in ("", MISSING) else ""
            for c, (column, cell) in enumerate(zip(columns, row, strict=True))
        )
        for name, row in zip(rows, table.rows, strict=True)
    )


def spelled(name: str, unit: bool = False) -> str:
    """Return a name in small letters, digits and hyphens, with what is in brackets at its end only if ``unit`` is set.

    >>> spelled("|Δ accuracy| (pp)"), spelled("FreeSolv (kcal/mol)"), spelled("Churn (% of MAE)", unit=True)
    ('delta-accuracy', 'freesolv', 'churn-of-mae')
    """
    kept = name if unit else re.sub(r"\s*\([^()]*\)$", "", name)
    plain = unicodedata.normalize("NFKD", kept).casefold()
    plain = "".join(f" {LETTERS[letter]} " if letter in LETTERS else letter for letter in plain)
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"['’]", "", plain)).strip("-")


def _columns(table: Table) -> list[str]:
    """Return names of columns: of four forms each the first that no other column has."""
    above = [text for text, span in table.over for _ in range(span)] or [""] * len(table.header)
    forms = [
        [spelled(name), spelled(f"{over} {name}"), spelled(name, unit=True), spelled(f"{over} {name}", unit=True)]
        for over, name in zip(above, table.header, strict=True)
    ]
    often = [Counter(of_form) for of_form in zip(*forms, strict=True)]
    return _numbered(
        [next((name for name, n in zip(form, often, strict=True) if n[name] == 1), form[-1]) for form in forms]
    )


def _numbered(names: Sequence[str]) -> list[str]:
    """Return names with ``-2``, ``-3`` … after those that have come before.

    >>> _numbered(["a", "b", "a", ""])
    ['a', 'b', 'a-2', 'cell']
    """
    taken: set[str] = set()
    numbered = []
    for name in (name or "cell" for name in names):
        number = 1
        while (tried := name if number == 1 else f"{name}-{number}") in taken:
            number += 1
        taken.add(tried)
        numbered.append(tried)
    return numbered


def _text(cell: str | Value) -> str:
    return cell if isinstance(cell, str) else cell.text
