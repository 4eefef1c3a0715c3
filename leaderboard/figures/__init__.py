"""The figures: matplotlib, as SVG for pages and PDF for papers, from ``Results`` only."""

from __future__ import annotations

from dataclasses import dataclass


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
