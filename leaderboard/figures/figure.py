"""What a figure is, before and after it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A figure, ready to be written to ``key``.svg and ``key``.pdf.

    ``dataset`` is empty for an overall figure. ``alt`` says in one or two sentences what is to be seen, with the main
    numbers. ``svg`` is an element without XML header, transparent, in the colour of the text around it, and shares no
    ids with other figures; ``pdf`` is black on transparent. Equal results give equal bytes.
    """

    key: str
    title: str
    caption: str
    alt: str
    dataset: str
    svg: str
    pdf: bytes


@dataclass(frozen=True)
class Drawing:
    """A figure that is yet to be drawn, by ``draw(*given)``, which may decline.

    ``draw`` is a function of a module and ``given`` holds all that the figure depends on, and no more: the figure is
    drawn again only when one of them changes.
    """

    draw: Callable[..., Figure | None]
    given: tuple[Any, ...]
