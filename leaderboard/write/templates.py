"""Templates of pages, tables and reports."""

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from benchmark import __version__
from leaderboard.read.results import slug


def render(template: str, **values: Any) -> str:
    """Render a file of ``templates/`` with these ``values``."""
    return _environment().get_template(template).render(**values)


def inline(content: object) -> Markup:
    """Return JSON to embed in a page, escaped so that it cannot close its element."""
    return Markup(json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(slug=slug, inline=inline)
    environment.globals.update(version=__version__)
    return environment
