"""Molecules of the test sets: their SMILES, and drawings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmark.errors import UserError
from leaderboard.read.results import Results

SVG = "http://www.w3.org/2000/svg"
INK = "#000000"
"""RDKit's default colour, replaced by that of the surrounding text."""
ELEMENTS = {
    5: "#b0743a",
    7: "#4a78e0",
    8: "#e0423a",
    9: "#249a4a",
    15: "#d26c12",
    16: "#a88405",
    17: "#249a4a",
    35: "#b5622e",
    53: "#9a5fd0",
}
"""The usual hues by atomic number; each has a contrast of at least 3 on white and on near-black."""
PALETTE = {z: tuple(c / 255 for c in bytes.fromhex(colour[1:])) for z, colour in {-1: INK, **ELEMENTS}.items()}
"""The colours of elements for RDKit, by atomic number: −1 stands for all others."""


@dataclass(frozen=True)
class Shape:
    """Lines and letters of one colour: an SVG path of absolute M, L, Q, C and Z commands."""

    path: str
    stroke: str
    width: float
    fill: str


@lru_cache(maxsize=2)
def structures(results: Results) -> dict[str, dict[str, str]]:
    """Return the SMILES of all test examples, under all samplings, by dataset and example id.

    Nothing is downloaded: ``leaderboard.read.structures`` says which datasets are left out.
    """
    from leaderboard.read.structures import of_tests  # pandas

    by_dataset: dict[str, dict[str, str]] = {}
    for dataset in (dataset for part in results.every for dataset in part.datasets):
        by_dataset.setdefault(dataset.name, {}).update(of_tests(dataset))
    return {name: smiles for name, smiles in by_dataset.items() if smiles}


def draw(smiles: str, width: int, height: int) -> str:
    """Return the structure as an SVG element of ``width`` × ``height`` pixels, to be embedded in a page.

    Coordinates are whole tenths of a pixel, each relative to the one before, which compresses to half the size. The
    element has no background and no ids, and takes the colour of the surrounding text except for heteroatoms. Raises
    UserError if RDKit cannot parse ``smiles``.
    """
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {10 * width} {10 * height}"}
    svg = ElementTree.Element("svg", {"xmlns": SVG, **size, "aria-hidden": "true"})
    for shape in shapes(smiles, width, height):
        style = {"stroke": shape.stroke, "stroke-width": f"{10 * shape.width:g}"} if shape.width else {}
        style = {"d": relative(shape.path, 10), "fill": shape.fill, **style}
        style = {key: "currentColor" if value == INK else value for key, value in style.items()}
        ElementTree.SubElement(svg, "path", style)
    return ElementTree.tostring(svg, encoding="unicode")


POINTS = {"M": 1, "L": 1, "Q": 2, "C": 3}
"""Points that each command of a path takes."""


def segments(path: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the commands of an SVG path of absolute M, L, Q, C and Z, each with its points (P, 2); Z has none."""
    for command, words in re.findall(r"([MLQCZ])([^MLQCZ]*)", path):
        points = np.array(re.findall(r"-?[\d.]+", words), dtype=float).reshape(-1, 2)
        if command == "Z":
            yield command, points
        for start in range(0, len(points), POINTS.get(command, 1)):
            yield command, points[start : start + POINTS[command]]
            command = "L" if command == "M" else command


def relative(path: str, scale: int, unit: int = 1) -> str:
    """Return a path with each point relative to the one before, which halves its length.

    Coordinates are rounded to whole 1/``scale`` and written in ``unit`` of these.
    """
    here = first = np.zeros(2, dtype=int)
    parts = []
    for command, points in segments(path):
        moved = np.round(scale * points).astype(int) - here
        parts.append(command.lower() + " ".join(f"{x / unit:g},{y / unit:g}" for x, y in moved.tolist()))
        here = here + moved[-1] if len(moved) else first
        first = here if command == "M" else first
    return "".join(parts)


def shapes(smiles: str, width: int, height: int) -> list[Shape]:
    """Return the shapes of a structure in a box of ``width`` × ``height``, those of one style joined into one path."""
    joined: dict[tuple[str, float, str], list[str]] = {}
    for element in ElementTree.fromstring(_rdkit(smiles, width, height)).iter(f"{{{SVG}}}path"):
        style = dict(part.strip().split(":", 1) for part in element.get("style", "").split(";") if ":" in part)
        stroke = style.get("stroke", "none")
        thick = float(style["stroke-width"].removesuffix("px")) if stroke != "none" else 0.0
        fill = element.get("fill") or style.get("fill", INK)
        compact = re.sub(r" ?([MLQCZ]) ?", r"\1", element.attrib["d"]).strip()
        joined.setdefault((stroke, thick, fill), []).append(compact)
    return [Shape("".join(paths), stroke, thick, fill) for (stroke, thick, fill), paths in joined.items()]


def _rdkit(smiles: str, width: int, height: int) -> str:
    from rdkit import Chem, rdBase
    from rdkit.Chem.Draw import rdMolDraw2D

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        raise UserError(f"cannot draw {smiles!r}: RDKit does not read it as a molecule; correct the SMILES in the data")
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    options.clearBackground = False
    options.padding = 0.03
    options.bondLineWidth = 1.2
    options.fixedBondLength = min(width, height) / 5  # do not enlarge small molecules
    options.setAtomPalette(PALETTE)
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())
