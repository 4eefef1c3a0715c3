"""Figures, before and after they are drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, with_config


@with_config(ConfigDict(ser_json_bytes="base64", val_json_bytes="base64"))
@dataclass(frozen=True)
class Figure:
    """A figure, ready to be written to ``key``.svg and ``key``.pdf.

    ``dataset`` is empty for an overall figure; one of a dataset has no ``pdf``, and its page saves the ``svg``. ``alt``
    describes the figure in one or two sentences with the main numbers. ``svg`` is a transparent element without XML
    header, in the colour of the surrounding text, and shares no ids with other figures; ``pdf`` is black on
    transparent. Equal results give equal bytes.
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
    """A figure yet to be drawn by ``draw(*given)``, which may return None; ``terms`` end its caption.

    ``draw`` is a module-level function and ``given`` holds exactly the data that the figure depends on: the figure is
    redrawn only when one of them changes.
    """

    draw: Callable[..., Figure | None]
    given: tuple[Any, ...]
    terms: str = ""
