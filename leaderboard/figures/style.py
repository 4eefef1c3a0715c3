"""Style of figures and their conversion to SVG and PDF."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from leaderboard.figures.figure import Figure
from leaderboard.figures.molecules import relative

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Whole
    from matplotlib.lines import Line2D as Line2D
    from matplotlib.path import Path as Path

    Sheet = Whole
else:  # slow to import, and not needed for figures in the cache
    Axes = Sheet = Line2D = Path = Any

INK = "#010101"
"""Black in a PDF; replaced by the colour of the surrounding text in an SVG, so that it is legible on dark pages."""
MUTED = "#7a7a7a"
"""For axes and secondary elements: a contrast of more than 4 on white and on near-black."""
COLUMN, PAGE = 3.5, 5.5
"""Widths in inches of a column of two, and of the text in the paper (NeurIPS), at which type is 7 to 8 points."""
FIXED = (
    *("Bagging K=2", "Bagging K=5", "Deep ensemble K=5", "MC dropout", "Random forest", "SWA", "Twin-bootstrap λ=300"),
    *("SVM", "Gaussian process", "Extra trees", "k-NN", "Gradient boosting", "Logistic or ridge regression"),
    *("Twin-bootstrap λ=100", "Multi-kernel SVM", "LightGBM", "Codistillation λ=100", "Twin-shared λ=100", "XGBoost"),
    *("Perceptron", "CatBoost", "GIN", "Chemprop", "TabM K=32", "MiniMol", "ChemBERTa-77M-MTR", "ResNet-50"),
    *("Twin-bootstrap λ=3", "Codistillation λ=3", "Twin-shared λ=3", "Kernel ridge"),
)
"""All learners, and the remedies of the first page: each has the same look in all results. New ones come last."""
COLOURS = ("#0196fa", "#2168a8", "#1aa75f", "#8f5368", "#7096b5", "#d17f06", "#b33f20")
"""Close to the hues of Okabe and Ito (2008), adjusted to a contrast of 3 on white and on near-black and a CIELAB
distance of at least 25 between any two, also for readers who see no red or no green."""
MARKERS = "osD^vPX<>p*"
LEARNERS = (
    *("Perceptron", "SVM", "Gaussian process", "Extra trees", "k-NN", "Random forest", "Logistic or ridge regression"),
    *("LightGBM", "Multi-kernel SVM", "GIN", "TabM K=32", "XGBoost", "CatBoost", "Chemprop", "Gradient boosting"),
    "Kernel ridge",
)
"""Learners with the same colour in all results, whatever they are trained on, each its own."""
HUES = (INK, *COLOURS, "#c95fd6", "#e6007e", "#70a000", "#0a7868", "#686820", "#e02020", "#2850f8", "#a08000")
TIP = "tip: "
"""Start of the ``gid`` of an artist whose rest is shown where the pointer rests on it."""
MOST = 14
"""Maximum number of methods, reference included, in a figure that distinguishes them by colour."""
RC = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.labelpad": 3,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titley": 1.0,  # else each draw measures all tick labels, to find that no title is in their way
    "figure.facecolor": "none",
    "font.family": "DejaVu Sans",  # comes with matplotlib, hence the same everywhere
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


def hue_of(learner: str) -> str:
    """Return the colour of a learner; of those that are not in ``LEARNERS``, some share one."""
    return HUES[(LEARNERS.index(learner) if learner in LEARNERS else sum(map(ord, learner))) % len(HUES)]


def styles(titles: Iterable[str], reference: str) -> dict[str, Style]:
    """Return a colour and a marker for each method: ink for the reference, and no two alike while there are any left.

    With other features or settings, which follow its name, a learner keeps its colour.
    """
    looks = [
        Style(COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)])
        for i in range(len(COLOURS) * len(MARKERS))
    ]
    taken = {reference: Style(INK, "o")}
    taken |= {title: look for title, look in zip(FIXED, looks, strict=False) if title not in LEARNERS}

    def take(title: str, wanted: Sequence[Style]) -> None:
        used = {*taken.values()}
        free = [style for style in wanted if style not in used]
        taken[title] = free[0] if free else wanted[sum(map(ord, title)) % len(wanted)]

    for learner in LEARNERS:
        take(learner, [Style(hue_of(learner), marker) for marker in MARKERS])
    parts = {title: re.split(" ·|,", title)[0] for title in sorted(set(titles) - {*FIXED, reference})}
    for title in sorted(parts, key=lambda title: parts[title] not in LEARNERS):
        known = taken.get(parts[title])
        take(title, [Style(known.colour, marker) for marker in MARKERS] if known else looks)
    return taken


@contextmanager
def look() -> Iterator[None]:
    """Apply the suite's settings on top of matplotlib's defaults, ignoring the user's."""
    import matplotlib.style

    with matplotlib.style.context(["default", RC]):
        yield


def sheet(width: float, height: float) -> Sheet:
    """Return an empty figure of this size in inches, independent of pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    return FigureCanvasAgg(Sheet(figsize=(width, height))).figure


def axes(on: Sheet, left: float, right: float, top: float, bottom: float) -> Axes:
    """Add axes with these margins, in inches."""
    width, height = on.get_size_inches()
    return on.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )


def breadth(texts: Iterable[str], size: float = 7.5) -> float:
    """Return the width of the widest of ``texts`` in inches, at a ``size`` in points; at most 1.7, to leave room."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font, measure = FontProperties(size=size), TextToPath().get_text_width_height_descent
    return min(1.7, max(measure(text, font, False)[0] for text in texts) / 72)


def ticks(ax: Axes, most: int = 6, axis: Literal["both", "x", "y"] = "both") -> None:
    """Label an axis with at most ``most`` round numbers: no 2.5 or 12.5."""
    ax.locator_params(axis, nbins=most, steps=[1, 2, 5, 10])


def logarithmic(axis: Any, subs: Sequence[int], text: str) -> None:
    """Label a logarithmic axis, formatted by ``text``, at these multiples of powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(10, subs=subs))
    axis.set_major_formatter(StrMethodFormatter(text))
    axis.set_minor_formatter(NullFormatter())


def finish(on: Sheet, *, key: str, title: str, caption: str, alt: str, dataset: str = "") -> Figure:
    """Convert ``on`` to a ``Figure``, on a larger page than its sheet if a long name reaches beyond it."""
    from matplotlib import rc_context
    from matplotlib.transforms import Bbox

    svg, pdf = io.StringIO(), io.BytesIO()
    page = Bbox.union([on.get_tightbbox(), Bbox.from_bounds(0, 0, *on.get_size_inches())])
    with rc_context({"svg.hashsalt": key}):  # ids of clips and markers unique within a page
        on.savefig(svg, format="svg", bbox_inches=page, metadata={"Date": None})
    if not dataset:  # embedding fonts takes longer than all else, and pages of datasets have hundreds of figures
        on.savefig(pdf, format="pdf", bbox_inches=page, metadata={"CreationDate": None, "Title": title})
    return Figure(key, title, caption, alt, dataset, _for_pages(svg.getvalue(), alt), pdf.getvalue())


def _for_pages(svg: str, alt: str) -> str:
    """Convert matplotlib's SVG to an element of a page: no leaking styles, no unreferenced ids, fewer digits."""
    for prefix, uri in (("", "http://www.w3.org/2000/svg"), ("xlink", "http://www.w3.org/1999/xlink")):
        ElementTree.register_namespace(prefix, uri)
    root = ElementTree.fromstring(svg)
    used = set(re.findall(r"#([\w-]+)", svg))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in list(root.iter()):
        if (name := element.get("id", "")).startswith(TIP):
            tip = ElementTree.Element("{http://www.w3.org/2000/svg}title")
            tip.text = name.removeprefix(TIP)
            element.insert(0, tip)
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
    if name == "d":
        return relative(value.upper(), 100, 100)
    if name in ("x", "y", "transform", "width", "height"):
        return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
    return value
