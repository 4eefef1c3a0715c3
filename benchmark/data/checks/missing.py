"""What texts in tables stand for: missing values, sums, thousands, and labels; it imports no RDKit."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmark.errors import number_of

MISSING_WORDS = frozenset(
    re.split(
        r"\|",
        "-|--|---|–|—|.|?|??|n.d.|n.d|nd|n/d|n.a.|n.a|na|n/a|n.t.|n.t|nt|n/t|n.b.|k.a.|nan|nil|none|null|unk|"
        "unknown|undetermined|missing|blank|empty|tbd|pending|untested|unavailable|no data|not available|"
        "not applicable|not determined|not done|not measured|not tested|#n/a|#div/0!|#value!|#ref!|#num!|"
        "#name?|#null!",
    )
)
"""Words that stand for a missing value in a user's target, whatever their capitals."""


TOTAL = re.compile(
    r"\W*((grand |sub)?totals?|sum|mean|avg|average|median|min|max|std|sd|std?[. ]*dev|standard deviation|variance|sem|"
    r"count|rmse|mae|accuracy|(roc )?auc|overall|summe|anzahl|gesamt|mittelwert|durchschnitt|standardabweichung|"
    r"moyenne|\xe9cart[- ]type|promedio)\W*|"
    r"((grand |sub)?totals?|mean|average|median)(\s*[:(±].*| of all| score)",
    re.IGNORECASE,
)
"""What spreadsheets write in place of a name beside numbers that sum up the rows above."""


THOUSANDS = re.compile(r"[-+\u2212]?[1-9]\d{0,2}(\.\d{3})+")
"""A number whose points may all stand between thousands."""


def between_thousands(texts: Sequence[str]) -> str:
    """Return a number whose point seems to stand between thousands; "" if none does.

    It seems so if some of ``texts`` have no point, and three or more have: each with three digits after it, of which
    the last is a 0 in one, as programs do not write decimals.

    >>> between_thousands(["856", "1.234", "1.460", "2.305"]), between_thousands(["856", "1.234", "1.46", "2.305"])
    ('1.460', '')
    """
    pointed = [text for text in texts if "." in text]
    zero = next((text for text in pointed if text.endswith("0")), "")
    return zero if 2 < len(pointed) < len(texts) and all(map(THOUSANDS.fullmatch, pointed)) else ""


def folded(text: str) -> str:
    """Return a label without what people do not mean by it: capitals, blanks around it and repeated in it, characters
    that are not seen, and whether an accent is one of its own.

    >>> folded(" Weakly  ACTIVE "), folded("acti\N{SOFT HYPHEN}ve\N{ZERO WIDTH SPACE}")
    ('weakly active', 'active')
    """
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf")
    return " ".join(text.split()).casefold()


class Far(NamedTuple):
    """A number that may stand for a missing value, how often it is there, and the range of the others."""

    value: float
    times: int
    low: float
    high: float
    sure: bool
    """True for −999 and −9999, which are hardly ever measured."""

    def said(self, what: str) -> str:
        """Return a clause on the number, which stands ``times`` times as ``what``, such as a true value."""
        there = number_of(self.times, what)
        return f"{self.value:g} stands in {there}, far from the others ({self.low:g} to {self.high:g})"


def far(numbers: np.ndarray) -> Iterator[Far]:
    """Yield the least and the greatest of some numbers if they are written as what is missing is, such as −999.

    They are farther from the others than these spread, and there several times, unless they are −999 or −9999; a 0 is
    there three times.
    """
    values, counts = np.unique(numbers, return_counts=True)
    for i in {0, len(values) - 1} if len(values) > 2 else ():
        value, rest = values[i], np.delete(values, i)
        odd = re.fullmatch(r"99[9.]*|-9[9.]+|-99+\.\d+|-\d+|10{3,}", f"{value:.15g}")
        sure = bool(re.fullmatch(r"-9{3,}", f"{value:.15g}"))
        apart = min(abs(rest - value)) > np.ptp(rest) * (0.5 if value == 0 else 1)
        if apart and (sure or counts[i] > 1) and (odd or (value == 0 and counts[i] > 2)):
            yield Far(float(value), int(counts[i]), float(rest.min()), float(rest.max()), sure)
