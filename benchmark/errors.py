"""Errors that a user can fix, and numbers of things in messages."""

import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from sysconfig import get_path

MANY = 80
"""Names that are too many to list."""


def number_of(n: int, one: str, many: str = "") -> str:
    """Return a number of things in words.

    >>> number_of(1, "row"), number_of(1058, "row"), number_of(0, "family", "families")
    ('1 row', '1,058 rows', '0 families')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


class UserError(Exception):
    """A mistake the user can fix. The command line prints it without a traceback and exits with 2."""


def did_you_mean(kind: str, name: str, choices: Sequence[str]) -> UserError:
    """Return the error for an unknown ``name``, suggesting the closest choices, or listing all if none is close."""
    folded = {text.lower(): text for text in reversed(choices)}
    near = [folded[text] for text in get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    elif len(choices) > MANY:
        nearest = ", ".join(folded[text] for text in get_close_matches(name.lower(), folded, n=5, cutoff=0))
        hint = f"{len(choices)} are known, such as {nearest}"
        hint += "; churn list shows datasets, and churn new-dataset makes one of a table" * (kind == "dataset")
    else:
        hint = f"known: {', '.join(choices) or 'none'}"
    return UserError(f"unknown {kind} {name!r}: {hint}")


def encodable(text: str) -> str:
    """Return a text with lone surrogates, which no store or message can hold, as escapes."""
    return text.encode(errors="backslashreplace").decode()


def located(error: BaseException) -> str:
    """Describe an error with its innermost place, in the code of a method's author if it passed there."""
    frames = traceback.extract_tb(error.__traceback__)
    libraries = ("<", str(Path(__file__).parent), get_path("stdlib"), get_path("purelib"))  # "<string>" is generated
    frame = [*frames[-1:], *(frame for frame in frames if not frame.filename.startswith(libraries))][-1]
    return encodable(f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})")
