"""Docstrings as Markdown: an extension of Griffe, which reads the code for the pages of the API."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


def plain(text: str) -> str:
    """Fence doctests, which Markdown would take for quotations, and end a paragraph before code with one colon."""
    text = re.sub(r"::$", ":", text, flags=re.M)
    return re.sub(r"^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.M | re.S)


class Plain(Extension):
    """Write docstrings as ``plain`` does."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)
