"""Case study: molecules that ERM's retrainings disagree on and the calmest method's never do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from benchmark.lab.study import percent
from benchmark.measure.basics import FLIPPING
from leaderboard.figures import molecules
from leaderboard.figures.contrast import Contrast, cells, key
from leaderboard.figures.figure import Figure
from leaderboard.figures.style import INK, PAGE, axes, finish, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

CASES = 6
"""Molecules in the figure."""
ACROSS = 3
LABEL, WIDE, TALL = 1.25, 1.9, 1.25
"""Inches of the methods' names, and of the box of a drawing."""
PIXELS = 100
"""RDKit's pixels to an inch."""


def cases(shown: Contrast, smiles: Mapping[str, str]) -> Figure | None:
    """Up to six molecules, those that ERM flips most; None if there is none, or no structure is known."""
    erm, other = shown.erm_flips, shown.other_flips
    wanted = (erm >= FLIPPING) & (other == 0) & np.isin(shown.ids, list(smiles))
    chosen = [t for t in np.lexsort((shown.ids, -erm)) if wanted[t]][:CASES]
    if not chosen:
        return None
    runs = len(shown.erm)
    words, strip, gap = 0.3, 0.3, 0.14
    each = words + TALL + strip + gap
    height = each * -(-len(chosen) // ACROSS) + 0.16
    on = sheet(PAGE, height)
    for i, t in enumerate(chosen):
        left, top = LABEL + (i % ACROSS) * WIDE, 0.16 + (i // ACROSS) * each
        right = PAGE - left - WIDE + 0.12
        ax = axes(on, left, right, top + words, height - top - words - TALL)
        _draw(ax, smiles[str(shown.ids[t])])
        ax.set_title(f"class {shown.y[t]}; flips in {percent(erm[t])} of pairs", loc="left", fontsize=7, pad=3)
        ax = axes(on, left, right, top + words + TALL, height - top - words - TALL - strip)
        cells(ax, shown.erm[None, :, t])
        cells(ax, shown.other[None, :, t], down=1.2)
        ax.set_xlim(0, runs)
        ax.set_ylim(2.2, 0)
        ax.set_axis_off()
        if i % ACROSS == 0:
            for y, name in ((0.5, "ERM"), (1.7, shown.method)):
                ax.annotate(name, (0, y), (-4, 0), textcoords="offset points", ha="right", va="center")
    drawn = np.concatenate([shown.erm[:, chosen], shown.other[:, chosen]])
    on.legend(handles=key(drawn), loc="upper right", ncols=6, borderaxespad=0, borderpad=0.1, handletextpad=0)
    n = len(chosen)
    return finish(
        on,
        key=f"cases-{shown.dataset}",
        title=f"Molecules that flip, {shown.title}",
        caption=f"The {n} test molecules that flip most among ERM's {runs} retrainings, in at least "
        f"{percent(FLIPPING)} of pairs, and never with {shown.method}. Above each: its true class and the share of "
        f"ERM's pairs; below: the predicted class in each retraining. Canonical split {shown.split}.",
        alt=f"Drawings of {n} test molecules. ERM's retrainings disagree on each in {percent(erm[chosen].min())} to "
        f"{percent(erm[chosen].max())} of pairs; those of {shown.method} always agree.",
        dataset=shown.dataset,
    )


def _draw(ax: Axes, smiles: str) -> None:
    """The structure in the colours of the pages' drawings, as paths, so that SVG and PDF get the same."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch

    width, height = round((WIDE - 0.12) * PIXELS), round(TALL * PIXELS)
    for shape in molecules.shapes(smiles, width, height):
        colours = [INK if colour == molecules.INK else colour for colour in (shape.stroke, shape.fill)]
        ax.add_patch(
            PathPatch(
                _path(shape.path),
                edgecolor=to_rgba(colours[0]),
                facecolor=to_rgba(colours[1]),
                linewidth=shape.width * 72 / PIXELS,
                capstyle="butt",
                joinstyle="round",
            )
        )
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_axis_off()


def _path(text: str) -> Path:
    """An SVG path of absolute M, L, Q, C and Z."""
    from matplotlib.path import Path

    repeats = {"M": (Path.MOVETO, Path.LINETO), "L": (Path.LINETO,), "Q": (Path.CURVE3,), "C": (Path.CURVE4,)}
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for command, words in re.findall(r"([MLQCZ])([^MLQCZ]*)", text):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", words)]
        if command == "Z":
            numbers = [0.0, 0.0]
            codes.append(int(Path.CLOSEPOLY))
        else:
            first, *rest = repeats[command]
            n = len(numbers) // 2
            codes += [int(first), *[int((rest or [first])[0])] * (n - 1)]
        points += zip(numbers[::2], numbers[1::2], strict=True)
    return Path(points, codes)
