"""Case study: molecules on which ERM's retrainings disagree and those of the calmest method never do."""

from collections.abc import Mapping

import numpy as np

from benchmark.measure.basics import FLIPPING
from benchmark.study.text import percent
from leaderboard.figures import molecules
from leaderboard.figures.contrast import Contrast, cells, colour_key
from leaderboard.figures.figure import Figure
from leaderboard.figures.molecules import segments
from leaderboard.figures.style import INK, PAGE, Axes, Path, axes, finish, sheet

CASES = 6
"""Maximum number of molecules in the figure."""
ACROSS = 3
LABEL, TALL = 1.15, 1.1
WIDE = (PAGE - LABEL) / ACROSS
"""Width of the methods' names, and height and width of a drawing, in inches."""
PIXELS = 100
"""RDKit pixels per inch."""


def cases(pair: Contrast, smiles: Mapping[str, str]) -> Figure | None:
    """Draw the six eligible molecules that ERM flips most; None if there are none with known structure."""
    erm, other = pair.erm_flips, pair.other_flips
    eligible = (erm >= FLIPPING) & (other == 0) & np.isin(pair.ids, list(smiles))
    chosen = [t for t in np.lexsort((pair.ids, -erm)) if eligible[t]][:CASES]
    if not chosen:
        return None
    n, runs = len(chosen), len(pair.erm)
    words, strip, gap = 0.3, 0.3, 0.14
    each = words + TALL + strip + gap
    height = each * -(-n // ACROSS) + 0.16
    on = sheet(PAGE, height)
    for i, t in enumerate(chosen):
        left, top = LABEL + (i % ACROSS) * WIDE, 0.16 + (i // ACROSS) * each
        right = PAGE - left - WIDE + 0.12
        ax = axes(on, left, right, top + words, height - top - words - TALL)
        _draw(ax, smiles[str(pair.ids[t])])
        ax.set_title(f"class {pair.y[t]}; flips in {percent(erm[t])}", loc="left", fontsize=7, pad=3)
        ax = axes(on, left, right, top + words + TALL, height - top - words - TALL - strip)
        cells(ax, pair.erm[None, :, t])
        cells(ax, pair.other[None, :, t], down=1.2)
        ax.set(xlim=(0, runs), ylim=(2.2, 0))
        ax.set_axis_off()
        if i % ACROSS == 0:
            for y, name in ((0.5, "ERM"), (1.7, pair.method)):
                ax.annotate(name, (0, y), (-4, 0), textcoords="offset points", ha="right", va="center")
    colour_key(on, np.concatenate([pair.erm[:, chosen], pair.other[:, chosen]]))
    return finish(
        on,
        key=f"cases-{pair.dataset}",
        title=f"Molecules that flip, {pair.title}",
        caption=f"The {n} test molecules that flip most among ERM's {runs} retrainings, in at least "
        f"{percent(FLIPPING)} of pairs, and never with {pair.method}. Above each: true class and share of ERM's pairs "
        f"in which it flips; below: predicted class in each retraining. Canonical split {pair.split}.",
        alt=f"Drawings of {n} test molecules. ERM's retrainings disagree on each in {percent(erm[chosen].min())} to "
        f"{percent(erm[chosen].max())} of pairs; those of {pair.method} always agree.",
        dataset=pair.dataset,
    )


def _draw(ax: Axes, smiles: str) -> None:
    """Draw the structure as paths in the colours of the pages' drawings, so that SVG and PDF agree."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch

    width, height = round((WIDE - 0.12) * PIXELS), round(TALL * PIXELS)
    for shape in molecules.shapes(smiles, width, height):
        edge, face = (to_rgba(INK if colour == molecules.INK else colour) for colour in (shape.stroke, shape.fill))
        patch = PathPatch(_path(shape.path), linewidth=shape.width * 72 / PIXELS, capstyle="butt", joinstyle="round")
        patch.set(edgecolor=edge, facecolor=face)
        ax.add_artist(patch)
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.set_axis_off()


def _path(text: str) -> Path:
    """Convert an SVG path of absolute commands."""
    from matplotlib.path import Path

    code = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4, "Z": Path.CLOSEPOLY}
    parts = [(code[command], points if len(points) else np.zeros((1, 2))) for command, points in segments(text)]
    return Path(np.concatenate([p for _, p in parts]), [c for c, p in parts for _ in p])
