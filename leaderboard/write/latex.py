"""Writer of tables as LaTeX for the pages of an article."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

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


def latex(text: str) -> str:
    """Escape special characters, write symbols as maths and tie % to its number; the result is one line."""
    signed = re.sub(r"(?<![\w.])-(?=\d)", "−", one_line(text))
    escaped = "".join(LATEX.get(character, character) for character in signed)
    return re.sub(r"(?<=\d) (?=\\%)", "~", escaped)


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
    if not table.over and len(_panels(table)) > MOST:
        table = min(table, _turned(table), key=lambda one: len(_panels(one)))
    lines = [f"% {one_line(line)}" for line in (*stamp, r"Needs \usepackage{array,booktabs,longtable}.")]
    lines += [r"\begingroup", r"\fontsize{7}{8}\selectfont", r"\setlength{\tabcolsep}{4pt}"]
    lines += [r"\setlength{\LTcapwidth}{\linewidth}"]
    for number, columns in enumerate(_panels(table)):
        lines += _panel(table, columns, first=number == 0)
    if table.notes:
        lines += [rf"\noindent {latex(' '.join(table.notes))}\par"]
    return "\n".join([*lines, r"\endgroup", ""])


def _turned(table: Table) -> Table:
    names, *rows = zip(("", *table.header[1:]), *table.rows, strict=True)
    return replace(table, header=tuple(n if isinstance(n, str) else n.text for n in names), rows=tuple(rows))


def _panels(table: Table) -> list[list[int]]:
    """Return the columns of each panel, which starts with the texts that name the rows."""
    widths = _widths(table)
    names = max(1, table.numeric().index(True) if True in table.numeric() else 1)
    panels = [list(range(names))]
    for c in range(names, len(widths)):
        if len(panels[-1]) > names and sum(widths[i] for i in (*panels[-1], c)) > LINE:
            panels.append(list(range(names)))
        panels[-1].append(c)
    return panels


def _widths(table: Table) -> list[int]:
    """Return the width of each column in characters, with the space beside it."""
    below = [
        max([0, *(len(text) if number else min(len(text), TEXT) for text in _cells(table, c))])
        for c, number in enumerate(table.numeric())
    ]
    return [2 + max(width, *map(len, _head(table, c))) for c, width in enumerate(below)]


def _cells(table: Table, c: int) -> list[str]:
    """Return the texts of a column with the words beside its numbers, but not the signs, which hang over."""
    cells = (row[c] for row in table.rows)
    return [
        cell if isinstance(cell, str) else " ".join([cell.text, *filter(str.isalpha, cell.flags.split())])
        for cell in cells
    ]


def _head(table: Table, c: int) -> list[str]:
    """Return the head of a column, wrapped to the width of the cells below."""
    return _wrapped(table.header[c], max([10, *(min(len(text), TEXT) for text in _cells(table, c))]))


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False) or [""]


def _panel(table: Table, columns: Sequence[int], first: bool) -> list[str]:
    """Return the lines of a panel. All panels have one number, that of the first, and its caption."""
    numeric = table.numeric()
    wide = [not numeric[c] and max(map(len, ["", *_cells(table, c)])) > TEXT for c in columns]
    wrapped = rf">{{\raggedright\arraybackslash}}p{{{TEXT / 2:g}em}}"
    kinds = "".join(
        "r" if numeric[c] else wrapped if is_wide else "l" for c, is_wide in zip(columns, wide, strict=True)
    )
    heads = [_stack(_head(table, c), "r" if numeric[c] else "l") for c in columns]
    head = [r"\toprule", *_over(table, columns), " & ".join(heads) + r" \\", r"\midrule"]
    caption = rf"\caption{{\textbf{{{latex(table.title)}.}} {latex(table.caption)}}}\label{{tab:{table.key}}}\\"
    return [
        *([] if first else [r"\addtocounter{table}{-1}"]),
        rf"\begin{{longtable}}{{@{{}}{kinds}@{{}}}}",
        *([caption, *head, r"\endfirsthead"] if first else []),
        *(*head, r"\endhead"),
        *(" & ".join(_latex_cell(row[c]) for c in columns) + r" \\" for row in table.rows),
        *(r"\bottomrule", r"\end{longtable}"),
    ]


def _over(table: Table, columns: Sequence[int]) -> list[str]:
    """Return the line of heads above those of the columns, with its rules."""
    above = [(text, number) for number, (text, span) in enumerate(table.over) for _ in range(span)]
    cells, rules, start, widths = [], [], 1, _widths(table)
    for (text, _), same in groupby(above[c] for c in columns if above):
        end = start + len(list(same)) - 1
        lines = _wrapped(text, sum(widths[c] for c in columns[start - 1 : end]) - 2)
        cells.append(rf"\multicolumn{{{end - start + 1}}}{{c}}{{{_stack(lines, 'c')}}}")
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
