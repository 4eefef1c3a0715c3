"""Writer of tables as LaTeX for the pages of an article."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

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
    "Å": r"\AA{}",
    "—": "---",
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
_ESCAPES = str.maketrans(LATEX)


def latex(text: str) -> str:
    """Escape special characters, write symbols as maths and tie % to its number; the result is one line."""
    line = one_line(text)
    signed = re.sub(r"(?<![\w.])-(?=\d)", "−", line) if "-" in line else line  # most have neither
    escaped = signed.translate(_ESCAPES)
    return re.sub(r"(?<=\d) (?=\\%)", "~", escaped) if "%" in escaped else escaped


LINE = 82
"""Number of characters in a line of an article at 7 pt, with two for the space between columns."""
TEXT = 24
"""Number of characters from which a text is wrapped in its cell."""
MOST = 4
"""Panels of a table whose rows stay rows."""


def to_latex(table: Table, stamp: Sequence[str] = ()) -> str:
    """Return the table as a ``longtable``, which goes on over pages; needs array, booktabs and longtable.

    ``stamp`` holds comment lines for the head, with the provenance of the numbers. The columns of a table wider than a
    line continue below, in a panel that names its rows again. Where there would be more than ``MOST`` panels, rows and
    columns change places if that takes fewer.
    """
    columns = _columns(table)
    if not table.over and len(_panels(columns)) > MOST:
        turned = _turned(table)
        table, columns = min((table, columns), (turned, _columns(turned)), key=lambda one: len(_panels(one[1])))
    lines = [f"% {one_line(line)}" for line in (*stamp, r"Needs \usepackage{array,booktabs,longtable}.")]
    lines += [r"\begingroup", r"\fontsize{7}{8}\selectfont", r"\setlength{\tabcolsep}{4pt}"]
    lines += [r"\setlength{\LTcapwidth}{\linewidth}"]
    for number, panel in enumerate(_panels(columns)):
        lines += _panel(table, panel, first=number == 0)
    if table.notes:
        lines += [rf"\noindent {latex(' '.join(table.notes))}\par"]
    return "\n".join([*lines, r"\endgroup", ""])


def _turned(table: Table) -> Table:
    names, *rows = zip(("", *table.header[1:]), *table.rows, strict=True)
    return replace(table, header=tuple(n if isinstance(n, str) else n.text for n in names), rows=tuple(rows))


class _Column(NamedTuple):
    """The layout of a column: lengths are in characters."""

    place: int
    numeric: bool
    longest: int
    head: list[str]
    """The lines of the head, wrapped to the width of the cells below."""
    width: int
    """The width with the space beside it."""


def _columns(table: Table) -> list[_Column]:
    columns = []
    for c, numeric in enumerate(table.numeric()):
        longest = max((_length(row[c]) for row in table.rows), default=0)
        head = _wrapped(table.header[c], max(10, min(longest, TEXT)))
        below = longest if numeric else min(longest, TEXT)
        columns.append(_Column(c, numeric, longest, head, 2 + max(below, *map(len, head))))
    return columns


def _panels(columns: Sequence[_Column]) -> list[list[_Column]]:
    """Return the columns of each panel, which starts with the texts that name the rows."""
    names = max(1, next((column.place for column in columns if column.numeric), 1))
    panels = [[*columns[:names]]]
    for column in columns[names:]:
        if len(panels[-1]) > names and sum(one.width for one in (*panels[-1], column)) > LINE:
            panels.append([*columns[:names]])
        panels[-1].append(column)
    return panels


def _length(cell: str | Value) -> int:
    """Return the length of a cell with the words beside its number, but not the signs, which hang over."""
    return len(cell if isinstance(cell, str) else " ".join([cell.text, *filter(str.isalpha, cell.flags.split())]))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False) or [""]


def _panel(table: Table, panel: Sequence[_Column], first: bool) -> list[str]:
    """Return the lines of a panel. All panels have one number, that of the first, and its caption."""
    wrapped = rf">{{\raggedright\arraybackslash}}p{{{TEXT / 2:g}em}}"
    kinds = "".join("r" if column.numeric else wrapped if column.longest > TEXT else "l" for column in panel)
    heads = [_stack(column.head, "r" if column.numeric else "l") for column in panel]
    head = [r"\toprule", *_over(table, panel), " & ".join(heads) + r" \\", r"\midrule"]
    caption = rf"\caption{{\textbf{{{latex(table.title)}.}} {latex(table.caption)}}}\label{{tab:{table.key}}}\\"
    return [
        *([] if first else [r"\addtocounter{table}{-1}"]),
        rf"\begin{{longtable}}{{@{{}}{kinds}@{{}}}}",
        *([caption, *head, r"\endfirsthead"] if first else []),
        *(*head, r"\endhead"),
        *(" & ".join(_latex_cell(row[column.place]) for column in panel) + r" \\" for row in table.rows),
        *(r"\bottomrule", r"\end{longtable}"),
    ]


def _over(table: Table, panel: Sequence[_Column]) -> list[str]:
    """Return the line of heads above those of the columns, with its rules."""
    above = [(text, number) for number, (text, span) in enumerate(table.over) for _ in range(span)]
    cells, rules, start = [], [], 1
    for (text, _), same in groupby(panel if above else (), key=lambda column: above[column.place]):
        columns = [*same]
        end = start + len(columns) - 1
        lines = _wrapped(text, sum(column.width for column in columns) - 2)
        cells.append(rf"\multicolumn{{{len(columns)}}}{{c}}{{{_stack(lines, 'c')}}}")
        rules += [rf"\cmidrule(lr){{{start}-{end}}}"] * bool(text)
        start = end + 1
    return [" & ".join(cells) + r" \\", "".join(rules)] if cells else []


def _stack(lines: Sequence[str], align: str) -> str:
    return latex(lines[0]) if len(lines) == 1 else rf"\shortstack[{align}]{{" + r" \\ ".join(map(latex, lines)) + "}"


def _latex_cell(cell: str | Value) -> str:
    """Return a cell. Symbols overhang to the right so that the numbers of a column stay aligned."""
    if isinstance(cell, str):
        return latex(cell)
    signs = "".join(flag for flag in cell.flags.split() if not flag.isalpha())
    words = [flag for flag in cell.flags.split() if flag.isalpha()]
    number = rf"\textbf{{{latex(cell.text)}}}" if cell.mark == "best" else latex(cell.text)
    return " ".join([number + (rf"\rlap{{{latex(signs)}}}" if signs else ""), *map(latex, words)])
