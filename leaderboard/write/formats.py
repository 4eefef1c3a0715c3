"""A table as HTML, CSV, JSON and Markdown; ``leaderboard.write.latex`` writes LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence

from markupsafe import Markup

from leaderboard.tables.table import Table, Value
from leaderboard.write.templates import render


def to_html(table: Table) -> Markup:
    """A ``table`` element with its caption; numbers at full precision are in ``data-value``."""
    return Markup(render("table.html", table=table, numeric=table.numeric()))


def _names(table: Table) -> list[str]:
    """The columns' names, with what stands above them."""
    above = [text for text, span in table.over for _ in range(span)] or [""] * len(table.header)
    return [f"{text}: {name}" if text else name for text, name in zip(above, table.header, strict=True)]


def to_csv(table: Table) -> str:
    """The numbers at full precision, in the units of the header; beside them the ends of the interval and the flags,
    in columns of their own where a column has any."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    columns: list[list[str]] = []
    for c, (name, number) in enumerate(zip(_names(table), table.numeric(), strict=True)):
        cells = [row[c] for row in table.rows]
        values = [cell if isinstance(cell, Value) else Value(cell) for cell in cells]
        parts = {
            "": [_exact(value.number) for value in values] if number else [value.text for value in values],
            " low": [_exact(value.low) for value in values],
            " high": [_exact(value.high) for value in values],
            " flags": [value.flags for value in values],
        }
        for end, texts in parts.items():
            if not end or any(texts):
                head.append(name + end)
                columns.append(texts)
    writer.writerow(head)
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _exact(number: float) -> str:
    return "" if math.isnan(number) else repr(round(number, 10))


def to_markdown(table: Table) -> str:
    """The header and rows as a table of Markdown, the best in bold, aligned, so that it reads as plain text too."""
    rows = [[markdown(text) for text in table.header], *([_shown(cell) for cell in row] for row in table.rows)]
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


def _shown(cell: str | Value) -> str:
    if isinstance(cell, str):
        return markdown(cell)
    number = f"**{cell.text}**" if cell.mark == "best" else cell.text
    return f"{number} {markdown(cell.flags)}".strip()


def markdown(text: str) -> str:
    """``text`` as Markdown shows it, in a table too: a star is a star, not the start of a list."""
    return text.replace("|", "\\|").replace("*", "\\*")


def to_json(table: Table) -> str:
    """The whole table; a cell is a text or an object with text, value, low, high, mark and flags."""
    rows = [[cell if isinstance(cell, str) else _object(cell) for cell in row] for row in table.rows]
    whole = {name: getattr(table, name) for name in ("key", "title", "caption", "kind", "datasets", "notes", "over")}
    return json.dumps({**whole, "header": table.header, "rows": rows}, ensure_ascii=False, indent=1) + "\n"


def _object(value: Value) -> dict[str, str | float | None]:
    low, high, number = (None if math.isnan(x) else round(x, 10) for x in (value.low, value.high, value.number))
    return {"text": value.text, "value": number, "low": low, "high": high, "mark": value.mark, "flags": value.flags}
