"""A table as HTML, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import textwrap
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leaderboard.table import Table, Value

LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "*": r"$^{*}$",
    "λ": r"$\lambda$",
    "Δ": r"$\Delta$",
    "χ": r"$\chi$",
    "×": r"$\times$",
    "−": "$-$",
    "′": "$'$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "→": r"$\rightarrow$",
    "∣": r"$\mid$",
    "–": "--",
    "…": r"\ldots{}",
    "†": r"$^\dagger$",
    "·": r"$\cdot$",
    **{sign: f"$^{{{digit}}}$" for sign, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
}


def latex(text: str) -> str:
    """``text`` as LaTeX shows it: special characters escaped, the symbols of the tables as maths."""
    escaped = "".join(LATEX.get(character, character) for character in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped)


def to_html(table: Table) -> Markup:
    """A ``table`` element with its caption; numbers at full precision are in ``data-value``."""
    environment = Environment(
        loader=PackageLoader("leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return Markup(environment.get_template("table.html").render(table=table, numeric=table.numeric()))


def to_latex(table: Table, stamp: Sequence[str] = ()) -> str:
    """A complete ``table`` environment; needs booktabs and graphicx.

    ``stamp`` are lines of a comment at its head: where the numbers come from. A wide table has its intervals below
    the numbers; one that is wider than the text is scaled down to it.
    """
    stacked = _width(table) > ONE_LINE
    columns = "".join("r" if number else "l" for number in table.numeric())
    lines = [f"% {line}" for line in (*stamp, r"Needs \usepackage{booktabs,graphicx}.")]
    lines += [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{\textbf{{{latex(table.title)}.}} {latex(table.caption)}}}",
    ]
    lines += [rf"\label{{tab:{table.key}}}", r"\smallskip", r"\scriptsize"]
    lines += [r"\setlength{\tabcolsep}{4pt}"] if stacked else []
    lines += [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%", rf"\begin{{tabular}}{{{columns}}}"]
    lines += [
        r"\toprule",
        *_over(table),
        " & ".join(_head(name, stacked) for name in table.header) + r" \\",
        r"\midrule",
    ]
    for i, row in enumerate(table.rows):
        if stacked:
            lines += [r"\addlinespace[2pt]"] if i else []
            lines += [" & ".join(_latex_number(cell) for cell in row) + r" \\"]
            below = [_latex_interval(cell) for cell in row]
            lines += [" & ".join(below) + r" \\"] if any(below) else []
        else:
            lines += [" & ".join(_latex_cell(cell) for cell in row) + r" \\"]
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if table.notes:
        lines += ["", r"\smallskip", rf"\parbox{{\linewidth}}{{\raggedright {latex(' '.join(table.notes))}}}"]
    return "\n".join([*lines, r"\end{table}", ""])


ONE_LINE = 130
"""A table with more characters a line has its intervals below the numbers."""


def _width(table: Table) -> int:
    texts = [
        [cell if isinstance(cell, str) else cell.text for cell in column] for column in zip(*table.rows, strict=True)
    ]
    return sum(2 + max(map(len, (name, *column))) for name, column in zip(table.header, texts, strict=True))


def _over(table: Table) -> list[str]:
    cells, rules, start = [], [], 1
    for text, span in table.over:
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{latex(text)}}}" if span > 1 else latex(text))
        if text:
            rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
        start += span
    return [" & ".join(cells) + r" \\", "".join(rules)] if table.over else []


def _head(name: str, stacked: bool) -> str:
    lines = [latex(line) for line in (textwrap.wrap(name, 14) if stacked else [name])]
    return lines[0] if len(lines) == 1 else r"\shortstack[r]{" + r" \\ ".join(lines) + "}"


def _latex_cell(cell: str | Value) -> str:
    if isinstance(cell, str):
        return latex(cell)
    return _latex_marked(cell, cell.text)


def _latex_number(cell: str | Value) -> str:
    return latex(cell) if isinstance(cell, str) else _latex_marked(cell, cell.text.partition(" [")[0])


def _latex_interval(cell: str | Value) -> str:
    interval = "" if isinstance(cell, str) else cell.text.partition(" ")[2]
    return rf"{{\tiny {latex(interval)}}}" if interval else ""


def _latex_marked(value: Value, text: str) -> str:
    """Symbols hang over to the right, so that the numbers of a column stay aligned."""
    signs = "".join(flag for flag in value.flags.split() if len(flag) == 1)
    words = [flag for flag in value.flags.split() if len(flag) > 1]
    shown = rf"\textbf{{{latex(text)}}}" if value.mark == "best" else latex(text)
    return " ".join([shown + (rf"\rlap{{{latex(signs)}}}" if signs else ""), *map(latex, words)])


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
