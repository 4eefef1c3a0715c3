"""Writer of tables as LaTeX for the pages of an article."""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise, zip_longest

from leaderboard.tables.table import Table, Value, one_line

GREEK = "alpha beta gamma delta varepsilon kappa lambda mu pi rho sigma chi Delta"
LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "\u00a0": "~",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "*": r"$^{*}$",
    **{sign: f"$\\{name}$" for sign, name in zip("αβγδεκλμπρσχΔ", GREEK.split(), strict=True)},
    "µ": r"$\mu$",
    "×": r"$\times$",
    "−": "$-$",
    "′": "$'$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "°": r"$^\circ$",
    "→": r"$\rightarrow$",
    "∣": r"$\mid$",
    "–": "--",
    "…": r"\ldots{}",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "·": r"$\cdot$",
    **{sign: f"$^{{{digit}}}$" for sign, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
}


def latex(text: str) -> str:
    """Escape special characters, write symbols as maths and tie % to its number; the result is one line."""
    escaped = "".join(LATEX.get(character, character) for character in one_line(text))
    return re.sub(r"(?<=\d) (?=\\%)", "~", re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped))


LINE = 108
"""Approximate number of characters in a line of an article at 7 pt; slightly longer ones are scaled down to 6 pt."""
PAGE = 50
"""Number of 7 pt lines on a page of an article beside caption and notes."""


def to_latex(table: Table, stamp: Sequence[str] = ()) -> str:
    """Return the table as one ``table`` environment per page of an article; needs booktabs and graphicx.

    ``stamp`` holds comment lines for the head, with the provenance of the numbers. A table wider than a line has its
    intervals below the numbers, and if still wider is cut into panels below each other. Each group of rows whose first
    text is omitted after the first row is a panel, too.
    """
    groups = _groups(table)
    stacked = any(sum(_widths(group, stacked=False)) > LINE for group in groups)
    panels = [part for group in groups for panel in _narrow(group, stacked) for part in _short(panel, stacked)]
    lines = [f"% {one_line(line)}" for line in (*stamp, r"Needs \usepackage{booktabs,graphicx}.")]
    room = 0.0
    for panel in panels:
        height = _height(panel, stacked)
        if panel is panels[0] or height > room:
            lines += [] if panel is panels[0] else [r"\end{table}"]
            lines += [r"\begin{table}[tp]", r"\centering", *_caption(table, first=panel is panels[0])]
            lines += [r"\fontsize{7}{8}\selectfont", r"\setlength{\tabcolsep}{4pt}"]
            room = PAGE
        room -= height
        lines += [r"\par\medskip", *_tabular(panel, stacked)]
    if table.notes:
        lines += [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\raggedright {latex(' '.join(table.notes))}}}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _caption(table: Table, first: bool) -> list[str]:
    if not first:
        return [rf"\tablename~\ref{{tab:{table.key}}}, continued."]
    return [rf"\caption{{\textbf{{{latex(table.title)}.}} {latex(table.caption)}}}", rf"\label{{tab:{table.key}}}"]


def _groups(table: Table) -> list[Table]:
    """Split a table whose rows omit repeated first texts into one table per text, headed by it."""
    starts = [i for i, row in enumerate(table.rows) if row[0] != ""]
    if len(starts) == len(table.rows):
        return [table]
    over = [((str(table.rows[start][0]), len(table.header) - 1),) for start in starts]
    rows = [tuple(row[1:] for row in table.rows[a:b]) for a, b in pairwise([*starts, len(table.rows)])]
    return [replace(table, header=table.header[1:], rows=r, over=head) for r, head in zip(rows, over, strict=True)]


def _narrow(table: Table, stacked: bool) -> list[Table]:
    """Cut a table into as few panels as fit on a line, of similar width.

    Each begins with the texts that name its rows; columns under one head stay together.
    """
    widths = _widths(table, stacked)
    names = (*table.numeric(), True).index(True)
    over = table.over or (("", 1),) * len(table.header)
    ends = list(accumulate(span for _, span in over))
    blocks = [range(max(end - span, names), end) for end, (_, span) in zip(ends, over, strict=True) if end > names]

    def cut(room: int) -> list[list[int]]:
        panels = [list(range(names))]
        for block in blocks:
            if len(panels[-1]) > names and sum(widths[c] for c in (*panels[-1], *block)) > room:
                panels.append(list(range(names)))
            panels[-1] += block
        return panels

    fewest = len(cut(LINE))
    panels = next(panels for room in range(LINE + 1) if len(panels := cut(room)) == fewest)
    return [_of_columns(table, columns) for columns in panels] if fewest > 1 else [table]


def _of_columns(table: Table, columns: Sequence[int]) -> Table:
    above = [(text, i) for i, (text, span) in enumerate(table.over) for _ in range(span)]
    over = [(text, len(list(same))) for (text, _), same in groupby(above[c] for c in columns)] if above else []
    rows = tuple(tuple(row[c] for c in columns) for row in table.rows)
    return replace(table, header=tuple(table.header[c] for c in columns), rows=rows, over=tuple(over))


def _short(table: Table, stacked: bool) -> list[Table]:
    """Cut a table into as few as fit on a page, with equal numbers of rows."""
    n = max(1, len(table.rows))
    parts = min(n, math.ceil(_height(table, stacked) / PAGE))
    return [replace(table, rows=table.rows[i * n // parts : (i + 1) * n // parts]) for i in range(parts)]


def _height(table: Table, stacked: bool) -> float:
    """Return the height of a table in lines; rules and spaces between rows count as fractions."""
    head = 2 + max(len(_head(table, c, stacked)) for c in range(len(table.header))) + 2 * bool(table.over)
    return head + sum(max(len(_lines(cell, stacked)) for cell in row) + 0.25 * stacked for row in table.rows)


def _widths(table: Table, stacked: bool) -> list[int]:
    """Return the width of each column in characters, including the space beside it."""
    columns = [(*_head(table, c, stacked), *_below(table, c, stacked)) for c in range(len(table.header))]
    return [2 + max(map(len, lines)) for lines in columns]


def _below(table: Table, c: int, stacked: bool) -> list[str]:
    return [line for row in table.rows for line in _lines(row[c], stacked)]


def _head(table: Table, c: int, stacked: bool) -> list[str]:
    """Return the head of a column, wrapped to the width of the cells below if ``stacked``."""
    return _wrapped(table.header[c], max(8, *map(len, _below(table, c, stacked)))) if stacked else [table.header[c]]


def _lines(cell: str | Value, stacked: bool) -> list[str]:
    """Return the lines of a cell: a number and its interval share one unless ``stacked``."""
    if isinstance(cell, str):
        return _wrapped(cell, 20) if stacked else [cell]
    number, _, interval = cell.text.partition(" [")
    return [number, f"[{interval}"] if stacked and interval else [cell.text]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False) or [""]


def _tabular(table: Table, stacked: bool) -> list[str]:
    """Return the lines of a panel, scaled down if it is wider than the text."""
    columns = "".join("r" if number else "l" for number in table.numeric())
    heads = [_stack(_head(table, c, stacked), columns[c]) for c in range(len(columns))]
    lines = [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"]
    lines += [rf"\begin{{tabular}}{{@{{}}{columns}}}", r"\toprule", *_over(table, stacked)]
    lines += [" & ".join(heads) + r" \\", r"\midrule"]
    for i, row in enumerate(table.rows):
        lines += [r"\addlinespace[2pt]"] if stacked and i else []
        cells = zip_longest(*(_latex_cell(cell, stacked) for cell in row), fillvalue="")
        lines += [" & ".join(line) + r" \\" for line in cells]
    return [*lines, r"\bottomrule", r"\end{tabular}}"]


def _over(table: Table, stacked: bool) -> list[str]:
    cells, rules, start = [], [], 0
    widths = _widths(table, stacked)
    for text, span in table.over:
        lines = _wrapped(text, sum(widths[start : start + span]) - 2)
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{_stack(lines, 'c')}}}")
        if text:
            rules.append(rf"\cmidrule(lr){{{start + 1}-{start + span}}}")
        start += span
    return [" & ".join(cells) + r" \\", "".join(rules)] if table.over else []


def _stack(lines: Sequence[str], align: str) -> str:
    return latex(lines[0]) if len(lines) == 1 else rf"\shortstack[{align}]{{" + r" \\ ".join(map(latex, lines)) + "}"


def _latex_cell(cell: str | Value, stacked: bool) -> list[str]:
    """Return the lines of a cell. Symbols overhang to the right so that the numbers of a column stay aligned."""
    if isinstance(cell, str):
        return [latex(line) for line in _lines(cell, stacked)]
    first, *below = _lines(cell, stacked)
    signs = "".join(flag for flag in cell.flags.split() if not flag.isalpha())
    words = [flag for flag in cell.flags.split() if flag.isalpha()]
    number = rf"\textbf{{{latex(first)}}}" if cell.mark == "best" else latex(first)
    return [" ".join([number + (rf"\rlap{{{latex(signs)}}}" if signs else ""), *map(latex, words)]), *map(latex, below)]
