"""Tables: rows of texts and values, which the writers turn into HTML, LaTeX, CSV, JSON and Markdown."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, replace

import numpy as np

from benchmark.measure.intervals import Estimate

MISSING = "–"
"""Placeholder for a missing cell, which is never imputed."""


@dataclass(frozen=True)
class Value:
    """One number of a table, formatted for display.

    ``text`` is the formatted number with its interval in brackets; ``number``, ``low`` and ``high`` are the same at
    full precision in the same unit, or nan. ``mark`` is "best", "better", "worse" or "". ``flags`` qualify the number:
    †, †?, collapsed, control, * (see the table's notes).
    """

    text: str
    number: float = np.nan
    low: float = np.nan
    high: float = np.nan
    mark: str = ""
    flags: str = ""

    @classmethod
    def of(
        cls,
        estimate: Estimate | float | None,
        scale: float = 1,
        digits: int = 1,
        signed: bool = False,
        most: float = np.inf,
        least: float = 0,
    ) -> Value:
        """Format an estimate, as ``16.1 [13.9, 18.3]`` for 0.161 with ``scale`` 100, or a number without an interval.

        The interval of an unsigned number is clipped to its ``least`` and ``most`` possible values. If three decimals,
        as of numbers in target units, leave nothing of any of them, they have three significant digits instead; from
        100,000 on, they have none.

        >>> Value.of(Estimate(-0.105, -0.11, -0.099), scale=100, signed=True).text
        '−10.5 [−11.0, −9.9]'
        >>> Value.of(Estimate(2.34e-7, 2.1e-7, 2.6e-7), digits=3).text
        '2.34e−07 [2.1e−07, 2.6e−07]'
        >>> Value.of(Estimate(1.5e6, 9e4, 3e6), digits=3).text
        '1500000 [90000, 3000000]'
        >>> Value.of(Estimate(0.96, 0.91, 1.01), scale=100, most=1).text, Value.of(Estimate(0.2, -0.1, 0.5)).text
        ('96.0 [91.0, 100.0]', '0.2 [0.0, 0.5]')
        >>> Value.of(None).text, Value.of(968, digits=0)
        ('–', Value(text='968', number=968, low=nan, high=nan, mark='', flags=''))
        """
        if isinstance(estimate, int | float):
            estimate = Estimate(estimate, np.nan, np.nan)
        if estimate is None or math.isnan(estimate.value):
            return cls(MISSING)
        least = -np.inf if signed or estimate.value < least else least
        low, high = (x if math.isnan(x) else min(max(x, least), most) for x in (estimate.low, estimate.high))
        number, low, high = (x * scale for x in (estimate.value, low, high))
        form = estimate.form(digits, scale)
        text, *ends = (spelled(x, digits, signed, form) for x in (number, low, high))
        if not math.isnan(low):
            text += f" [{', '.join(ends)}]"
        return cls(text, number, low, high)

    def but(self, mark: str | None = None, flags: str | None = None) -> Value:
        return replace(self, mark=self.mark if mark is None else mark, flags=self.flags if flags is None else flags)


def spelled(number: float, digits: int = 1, signed: bool = False, form: str = "") -> str:
    """Format a number with a true minus sign, never "−0.0", and a plus sign if ``signed``; ``form`` is Python's.

    >>> spelled(-3.96), spelled(0.04, signed=True), spelled(-0.04), spelled(1164, 0)
    ('−4.0', '+0.0', '0.0', '1164')
    """
    return f"{number:{'+' if signed else ''}z{form or f'.{digits}f'}}".replace("-", "−")


def spelled_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def one_line(text: str) -> str:
    """Replace line breaks and control characters by spaces.

    TeX would read what follows a break in a comment as commands, and a spreadsheet as another row.
    """
    if text.isprintable():  # as nearly all are
        return text
    return "".join(" " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character for character in text)


@dataclass(frozen=True)
class Table:
    """A table with ``rows`` as long as ``header``; the first column names the row.

    ``over`` is an upper header of texts and the numbers of columns they span, covering all columns. ``datasets`` are
    the names of the datasets in it and ``kind`` that of its intervals (see ``benchmark.measure.intervals``).
    Raises ValueError for a row or an ``over`` of another width.
    """

    key: str
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Value, ...], ...]
    notes: tuple[str, ...] = ()
    over: tuple[tuple[str, int], ...] = ()
    datasets: tuple[str, ...] = ()
    kind: str = "runs"

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.rows} | ({sum(span for _, span in self.over)} if self.over else set())
        if widths - {len(self.header)}:
            raise ValueError(f"table {self.key}: {len(self.header)} columns, but also rows or spans of {widths}")

    def numeric(self) -> tuple[bool, ...]:
        """Return for each column whether it holds numbers."""
        return tuple(any(isinstance(row[c], Value) for row in self.rows) for c in range(len(self.header)))
