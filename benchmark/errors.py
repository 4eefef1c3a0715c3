"""The errors a user can mend."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class UserError(Exception):
    """A mistake the user can mend: the command line prints it without a traceback and exits with 2."""


def did_you_mean(kind: str, name: str, known: Sequence[str]) -> UserError:
    """The error for an unknown ``name``: the nearest known names, or all of them where none is near."""
    folded = {text.lower(): text for text in reversed(known)}
    near = [folded[text] for text in get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known) or 'none'}"
    return UserError(f"unknown {kind} {name!r}: {hint}")
