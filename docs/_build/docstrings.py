"""Docstrings as Markdown: an extension of Griffe, which reads the code for the pages of the API."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class Plain(Extension):
    """Fence doctests, which Markdown would take for quotations, and end a paragraph before code with one colon."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        text = re.sub(r"::$", ":", obj.docstring.value, flags=re.M)
        obj.docstring.value = re.sub(r"^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", text, flags=re.M | re.S)
