"""Templates of pages, tables and reports."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from benchmark import __version__
from benchmark.files import files_in, hash_of
from leaderboard.read.results import slug

PACKAGE = Path(__file__).parents[1]
"""The folder of the leaderboard, with ``templates`` and ``static``."""


def render(template: str, **values: Any) -> str:
    """Render a file of ``templates/`` with these ``values``."""
    return _environment().get_template(template).render(**values)


@cache
def templates() -> str:
    """Return 16 hex digits of all templates, which name what they make along with the program."""
    return hash_of(files_in(PACKAGE / "templates", "*"))


def inline(content: object) -> Markup:
    """Return JSON to embed in a page, escaped so that it cannot close its element."""
    return Markup(json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def literals(text: str) -> Markup:
    """Return text from a docstring with its ``names`` as code.

    >>> literals("as in ``twin``, if a < b")
    Markup('as in <code>twin</code>, if a &lt; b')
    """
    return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(text))))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(slug=slug, inline=inline, literals=literals)
    environment.globals.update(version=__version__)
    return environment
