"""Names on pages: each leads to its page, and a method wears the colour and shape that it has in every figure."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from benchmark.pipeline import FEATURES
from leaderboard.figures.style import INK, Style, hue_of
from leaderboard.read.pipelines import Parts
from leaderboard.tables.boards import MARKS

SHAPES = {"o": "●", "s": "■", "D": "◆", "^": "▲", "v": "▼", "P": "✚", "X": "✖"}
SHAPES |= {"<": "◀", ">": "▶", "p": "⬟", "*": "★"}
"""The markers of figures as characters."""


@dataclass(frozen=True)
class Names:
    """The methods and datasets that have pages, as seen from a page that is ``root`` below that of the sampling."""

    root: str
    styles: Mapping[str, Style]
    methods: Mapping[str, str]
    datasets: Mapping[str, str]
    """Parts of addresses by title."""

    def look_of(self, title: str) -> Markup:
        return _marker(self.styles[title])

    def method(self, title: str) -> Markup:
        """Return a link to the page of a method, behind its marker."""
        return Markup('{}<a href="{}">{}</a>').format(self.look_of(title), self._address(title), title)

    def pipeline(self, title: str, parts: Parts) -> Markup:
        """Return a link to the page of a pipeline by its learner, behind a marker of learner and features."""
        said = title if parts.learner in title else f"{parts.learner}: {title}"
        link = Markup('{}<a href="{}" aria-label="{}">{}</a>')
        return link.format(_marker(look_of_parts(parts)), self._address(title), said, parts.learner)

    def linked(self, text: str) -> Markup:
        """Return the text of a cell, with a link if it is the name of a method or dataset, marks or none after it."""
        name, rest = text, ""
        while name and name not in self.methods and name not in self.datasets:
            name, _, last = name.rpartition(" ")
            rest = f" {last}{rest}"
            if last not in {*MARKS, "(dev)"}:
                return escape(text)
        if name in self.methods:
            return self.method(name) + rest
        return Markup('<a href="{}">{}</a>{}').format(self._address(name), name, rest) if name else escape(text)

    def in_figure(self, svg: str) -> Markup:
        """Return a figure whose names of methods are links: a group then, because an image has no parts."""

        def link(match: re.Match[str]) -> str:
            title = html.unescape(match[1])
            return f'<a href="{escape(self._address(title))}">{match[0]}</a>' if title in self.methods else match[0]

        text = re.sub(r"<text\b[^>]*>([^<]+)</text>", link, svg)
        return Markup(text if text == svg else text.replace('role="img"', 'role="group"', 1))

    def _address(self, name: str) -> str:
        page = f"methods/{self.methods[name]}" if name in self.methods else f"datasets/{self.datasets[name]}"
        return f"{self.root}{page}.html"


def look_of_parts(parts: Parts) -> Style:
    """Return the colour of a learner and the marker of features; joint ones share two, with MiniMol and without."""
    joint = ">" if FEATURES["minimol"] in parts.features else "s"
    marker = dict(zip(FEATURES.values(), "oPD^vX", strict=True)).get(parts.features, joint)
    return Style(hue_of(parts.learner), marker)


def _marker(style: Style) -> Markup:
    colour = "" if style.colour == INK else Markup(' style="color:{}"').format(style.colour)
    return Markup('<i class="look"{} aria-hidden="true">{}</i>').format(colour, SHAPES[style.marker])
