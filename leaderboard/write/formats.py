"""Writers of tables as HTML, CSV, JSON and Markdown; ``leaderboard.write.latex`` writes LaTeX."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from leaderboard.tables.addresses import addresses
from leaderboard.tables.table import Table, Value, one_line
from leaderboard.write.templates import render

DIGITS = 6
"""Digits of numbers in files, but for whole numbers: predictions are published with six binary ones."""


def to_html(table: Table, named: Callable[[str], str] = str, addressed: bool = False) -> Markup:
    """Return a ``table`` element with its caption; ``data-value`` holds numbers to six digits.

    ``named`` turns a text of a cell into one with links. With ``addressed``, each cell is a link to itself.
    """
    places = addresses(table) if addressed else ()
    return Markup(render("table.html", table=table, numeric=table.numeric(), named=named, places=places))


def to_csv(table: Table) -> str:
    """Return the numbers to six digits, in the units of the header; a text that looks like a formula is quoted.

    Interval ends and flags have columns of their own beside those of the numbers that have any.
    """
    above = [text for text, span in table.over for _ in range(span)] or [""] * len(table.header)
    columns: list[tuple[str, list[str]]] = []
    for c, (over, header, number) in enumerate(zip(above, table.header, table.numeric(), strict=True)):
        name = f"{over}: {header}" if over else header
        values = [cell if isinstance(cell, Value) else Value(cell) for cell in (row[c] for row in table.rows)]
        columns.append((name, [_exact(value.number) if number else value.text for value in values]))
        parts = {
            "low": [_exact(value.low) for value in values],
            "high": [_exact(value.high) for value in values],
            "flags": [value.flags for value in values],
        }
        columns += [(f"{name} {part}", texts) for part, texts in parts.items() if any(texts)]
    out = io.StringIO()
    rows = zip(*([literal(text) for text in (name, *texts)] for name, texts in columns), strict=True)
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def literal(text: str) -> str:
    """Put a text on one line and quote one that a spreadsheet would read as a formula; leave numbers as they are."""
    line = one_line(text)
    try:
        float(line)
    except ValueError:
        return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line
    return line


def _exact(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.0f}" if float(number).is_integer() else f"{number:.{DIGITS}g}"


def to_markdown(table: Table) -> str:
    """Return the header and rows as a Markdown table, aligned to read as plain text too, with the best in bold."""
    rows = [[markdown(text) for text in table.header], *([_formatted(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = table.numeric()

    def line(texts: Sequence[str]) -> str:
        aligned = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(texts, widths, right, strict=True)
        ]
        return f"| {' | '.join(aligned)} |"

    rule = ["-" * (width - 1) + (":" if number else "-") for width, number in zip(widths, right, strict=True)]
    return "\n".join([line(rows[0]), line(rule), *map(line, rows[1:]), ""])


def _formatted(cell: str | Value) -> str:
    if isinstance(cell, str):
        return markdown(cell)
    number = f"**{cell.text}**" if cell.mark == "best" else cell.text
    return f"{number} {markdown(cell.flags)}".strip()


def markdown(text: str) -> str:
    """Escape bars and stars, which Markdown would read as columns, emphasis or lists."""
    return text.replace("|", "\\|").replace("*", "\\*")


def to_json(table: Table) -> str:
    """Return the whole table; a cell is a text or an object with text, value, low, high, mark and flags."""
    rows = [[cell if isinstance(cell, str) else _object(cell) for cell in row] for row in table.rows]
    whole = {name: getattr(table, name) for name in ("key", "title", "caption", "kind", "datasets", "notes", "over")}
    about = json.dumps({**whole, "header": table.header}, ensure_ascii=False, indent=1).removesuffix("\n}")
    short = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    lines = ",\n".join(short)  # one for each row, as in a CSV
    return f'{about},\n "rows": [\n{lines}\n ]\n}}\n'


def from_json(text: str) -> Table:
    """Return the table that ``to_json`` wrote."""
    whole = json.loads(text)
    rows = tuple(tuple(cell if isinstance(cell, str) else _value(cell) for cell in row) for row in whole["rows"])
    lists = {name: tuple(whole[name]) for name in ("header", "notes", "datasets")}
    return Table(**{**whole, **lists, "rows": rows, "over": tuple((name, span) for name, span in whole["over"])})


def _value(cell: Mapping[str, Any]) -> Value:
    low, high, number = (math.nan if cell[name] is None else cell[name] for name in ("low", "high", "value"))
    return Value(cell["text"], number, low, high, cell["mark"], cell["flags"])


def _object(value: Value) -> dict[str, str | float | None]:
    low, high, number = (float(x) if (x := _exact(end)) else None for end in (value.low, value.high, value.number))
    return {"text": value.text, "value": number, "low": low, "high": high, "mark": value.mark, "flags": value.flags}
