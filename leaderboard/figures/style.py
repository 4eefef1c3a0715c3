"""How figures look, and how they become SVG and PDF: one place for colours, sizes and what is written to the files."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from leaderboard.figures.font import families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet

    from leaderboard.figures.figure import Figure

INK = "#010101"
"""Drawn as black in a PDF; an SVG takes the colour of the text around it, so that it reads on dark pages too."""
MUTED = "#7a7a7a"
"""Axes and what is secondary: a contrast of more than 4 on white and on near-black."""
COLUMN, PAGE = 3.5, 7.0
"""Widths in inches, of one column and of a page; type is 7 to 8 points at these."""
KNOWN = (
    "Bagging K=2",
    "Bagging K=5",
    "Deep ensemble K=5",
    "MC dropout",
    "Random forest",
    "SWA",
    "Twin-bootstrap λ=300",
)
"""These keep their colours whatever else is in the results."""
COLOURS = ("#0196fa", "#2168a8", "#1aa75f", "#8f5368", "#7096b5", "#d17f06", "#b33f20")
"""Near the hues of Okabe and Ito (2008), moved until each has a contrast of 3 on white and on near-black and any two
are at least 25 apart in CIELAB, also for readers who see no red or no green."""
MARKERS = "osD^vPX"
MOST = 14
"""A figure that tells methods apart by colour shows no more of them, the reference included."""
RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.labelpad": 3,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "font.size": 7.5,
    "grid.alpha": 0.3,
    "grid.color": MUTED,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
}


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str


def styles(titles: Iterable[str], reference: str) -> dict[str, Style]:
    """A colour and a marker for each method: ink for the reference; no two of the next 49 look the same."""
    found = {reference: Style(INK, "o")}
    n = len(COLOURS)
    for i, title in enumerate([*KNOWN, *sorted(set(titles) - {*KNOWN, reference})]):
        found[title] = Style(COLOURS[i % n], MARKERS[(i + i // n) % n])
    return found


@contextmanager
def look() -> Iterator[None]:
    """Our settings on top of matplotlib's own, whatever the user's are."""
    import matplotlib.style

    with matplotlib.style.context(["default", {**RC, "font.family": list(families())}]):
        yield


def sheet(width: float, height: float) -> Sheet:
    """An empty figure in inches, that no global state knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    made = Sheet(figsize=(width, height))
    FigureCanvasAgg(made)
    return made


def axes(on: Sheet, left: float, right: float, top: float, bottom: float) -> Axes:
    """Axes that leave these margins, in inches."""
    width, height = on.get_size_inches()
    return on.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )


def ticks(ax: Axes, most: int = 6, axis: Literal["both", "x", "y"] = "both") -> None:
    """At most so many round numbers on an axis: no 2.5 or 12.5."""
    ax.locator_params(axis, nbins=most, steps=[1, 2, 5, 10])


def finish(on: Sheet, *, key: str, title: str, caption: str, alt: str, dataset: str = "") -> Figure:
    """``on`` as a ``Figure``."""
    from matplotlib import rc_context

    from leaderboard.figures.figure import Figure

    svg, pdf = io.StringIO(), io.BytesIO()
    with rc_context({"svg.hashsalt": key}):  # ids of clips and markers that no other figure of a page has
        on.savefig(svg, format="svg", metadata={"Date": None})
    on.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Title": title})
    return Figure(key, title, caption, alt, dataset, _for_pages(svg.getvalue(), alt), pdf.getvalue())


def _for_pages(svg: str, alt: str) -> str:
    """matplotlib's SVG as an element of a page: no styles that leak, no ids that nothing refers to, fewer digits."""
    for prefix, uri in (("", "http://www.w3.org/2000/svg"), ("xlink", "http://www.w3.org/1999/xlink")):
        ElementTree.register_namespace(prefix, uri)
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r"#([\w-]+)", svg))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.text = element.text if element.text and element.text.strip() else None
        element.tail = None
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for name, value in list(element.attrib.items()):
            element.set(name, _attribute(name, value))
        if element.tag.endswith("}text") and "fill:" not in element.get("style", ""):
            element.set("fill", "currentColor")
    described = {"role": "img", "aria-label": alt, "font-family": "sans-serif"}
    root.attrib.update({**described, "stroke-linejoin": "round", "stroke-linecap": "butt"})
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(name: str, value: str) -> str:
    if name == "style":
        return re.sub(r"font-family: [^;]*;? ?", "", value).replace(INK, "currentColor").strip("; ")
    if name in ("d", "x", "y", "transform", "width", "height"):
        value = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
        return re.sub(r"\s*\n\s*", "", value) if name == "d" else value
    return value
