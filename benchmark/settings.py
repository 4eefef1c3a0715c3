"""Parsers of command-line texts: settings as ``NAME=VALUE``, and seeds; and the check of texts that are shown."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from benchmark.errors import UserError
from benchmark.types import Sampling, partner

DEFAULT_SEEDS: Mapping[Sampling, str] = {"paper": "10", "nested": "10", "halves": "20", "update": "10"}
"""Train seeds of a result on the leaderboard. Ten halvings cost as much as ten retrainings on the whole."""


FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks without ink, which no category of Unicode tells from others."""


def visible(text: str) -> str:
    """Return a name or title as it is. Raises ValueError for an invisible character, with which two look the same."""
    if hidden := next((c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") or c in FILLERS), ""):
        raise ValueError(f"has the invisible character U+{ord(hidden):04X}; remove it")
    return text


def items(text: str) -> list[str]:
    """Return the distinct parts of a list with commas, in their order."""
    return list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))


def assignments(parts: Iterable[str], where: str) -> dict[str, str]:
    """Return the values by name. Raises UserError for a part that is not ``NAME=VALUE`` and for a repeated name."""
    given: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not (equals and key and value):
            raise UserError(f"{where}: expected NAME=VALUE, found {part!r}")
        if key in given:
            raise UserError(f"{where}: {key} is given twice")
        given[key] = value
    return given


def parse_settings(texts: list[str]) -> dict[str, str]:
    """Parse ``--set`` texts: ``NAME=VALUE`` pairs separated by commas. A value may be a list, as in ``tuned=1,3``."""
    parts = (part for text in texts for part in re.split(r",(?=\w+=|$)", text) if part)
    return assignments(parts, "--set")


MOST_SEEDS = 10_000
"""More seeds than anybody waits for: their list alone could fill the memory."""


def parse_seeds(text: str) -> list[int]:
    """Parse seeds: ``10`` means 1 to 10, ``3-5`` is a range, ``99,7`` a list. Raises UserError.

    >>> parse_seeds("3 ")
    [1, 2, 3]
    """
    text = text.strip()
    return _seeds("seeds", text, f"1-{text}" if text.isdecimal() else text, "a count as in 10")


def parse_splits(text: str) -> list[int]:
    """Parse canonical seeds: ``99`` is one seed, ``99,7`` are two. Raises UserError."""
    return _seeds("canonical seeds", text, text, "one as in 99")


def _seeds(name: str, text: str, meant: str, example: str) -> list[int]:
    """Return the seeds that a list of numbers and ranges means. Raises UserError, with the text that was given."""
    wrong = UserError(f"{name} {text[:80]!r}: expected {example}, a range as in 1-10, or a list as in 1,3,5")
    seeds: list[int] = []
    for part in filter(None, meant.split(",")):
        written = re.fullmatch(r"\s*(\d{1,20})\s*(?:-\s*(\d{1,20})\s*)?", part)  # Python reads +3 and 1_0, too
        given = range(int(written[1]), int(written[2] or written[1]) + 1) if written else range(0)
        if not given or given[-1] >= 2**32:  # the generators' keys have 32 bits
            raise wrong
        if len(given) + len(seeds) > MOST_SEEDS:
            raise UserError(f"{name} {text[:80]!r}: at most {MOST_SEEDS:,} are possible")
        seeds += given
    if not seeds:
        raise wrong
    return list(dict.fromkeys(seeds))


def features_of(text: str) -> tuple[str, ...]:
    """Return the features that a key or option names, with dots for colons and ``+`` between them. Raises UserError.

    >>> features_of("atom_pairs.4096+minimol")
    ('atom_pairs:4096', 'minimol')
    """
    names = text.split("+") if text else []
    if not all(names):
        raise UserError(f"features {text!r}: expected a name on each side of '+', as in atom_pairs.4096+minimol")
    return tuple(name.replace(".", ":") for name in names)


def refuse_lone_halves(seeds: Sequence[int], sampling: Sampling) -> None:
    """Raise UserError if ``sampling`` is ``halves`` and a train seed lacks the other half of its halving."""
    alone = ", ".join(str(seed) for seed in seeds if partner(seed) not in seeds)
    if sampling == "halves" and alone:
        pairs = "under --sampling halves, train seeds 2j-1 and 2j are the two halves of one halving"
        raise UserError(f"{pairs}: {alone} without the other half; use an even count, as in --seeds 20")
