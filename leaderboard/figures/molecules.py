"""Molecules of the test sets: their SMILES where the data are at hand, and their drawings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from xml.etree import ElementTree

from benchmark.errors import UserError
from leaderboard.read.results import Dataset, Results

SVG = "http://www.w3.org/2000/svg"
INK = "#000000"
"""What RDKit draws in this colour takes the colour of the text around it."""
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
"""By atomic number, the usual hues; each has a contrast of at least 3 on white and on near-black."""


@dataclass(frozen=True)
class Shape:
    """Lines and letters of one colour: an SVG path of the commands M, L, Q, C and Z, all absolute."""

    path: str
    stroke: str
    width: float
    fill: str


@lru_cache(maxsize=2)
def structures(results: Results) -> dict[str, dict[str, str]]:
    """The SMILES of all test examples by dataset and example id, for the datasets whose data are on this machine.

    Nothing is downloaded: a dataset whose raw file is missing or altered, or that has no molecules, is left out.
    """
    found = {dataset.name: _smiles(dataset) for dataset in results.datasets}
    return {name: smiles for name, smiles in found.items() if smiles}


def _smiles(dataset: Dataset) -> dict[str, str]:
    from benchmark.data.rows import load_rows
    from benchmark.data.sources import locate, verified
    from benchmark.data.spec import load_spec

    try:
        spec = load_spec(dataset.name)
        if not spec.smiles or (path := locate(spec)) is None:
            return {}
        verified(path, spec)  # what is not as expected would be downloaded again
        used = load_rows(spec).used
    except UserError:
        return {}
    cells = [cell for entry in dataset.entries for cell in entry.cells.values()]
    tests = {str(i) for cell in cells for predictions in cell.predictions.values() for i in predictions.ids}
    return {i: smiles for i, smiles in zip(used["id"], used["smiles"], strict=True) if i in tests}


def draw(smiles: str, width: int, height: int) -> str:
    """The structure as an SVG element of ``width`` × ``height`` pixels, to be put into a page.

    It has no background and no ids, and takes the colour of the text around it, heteroatoms excepted. Raises
    UserError if RDKit cannot parse ``smiles``.
    """
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    svg = ElementTree.Element("svg", {"xmlns": SVG, **size, "aria-hidden": "true"})
    for shape in shapes(smiles, width, height):
        style = {"stroke": shape.stroke, "stroke-width": f"{shape.width:g}"} if shape.width else {}
        style = {"d": shape.path, "fill": shape.fill, **style}
        ElementTree.SubElement(svg, "path", {key: _ink(value) for key, value in style.items()})
    return ElementTree.tostring(svg, encoding="unicode")


def _ink(colour: str) -> str:
    return "currentColor" if colour == INK else colour


def shapes(smiles: str, width: int, height: int) -> list[Shape]:
    """What is to be drawn in a box of ``width`` × ``height``, shapes of one style joined into one path."""
    joined: dict[tuple[str, float, str], list[str]] = {}
    for element in ElementTree.fromstring(_rdkit(smiles, width, height)).iter(f"{{{SVG}}}path"):
        style = dict(part.strip().split(":", 1) for part in element.get("style", "").split(";") if ":" in part)
        stroke = style.get("stroke", "none")
        thick = float(style["stroke-width"].removesuffix("px")) if stroke != "none" else 0.0
        fill = element.get("fill") or style.get("fill", INK)
        joined.setdefault((stroke, thick, fill), []).append(_compact(element.attrib["d"]))
    return [Shape("".join(paths), stroke, thick, fill) for (stroke, thick, fill), paths in joined.items()]


def _compact(path: str) -> str:
    for command in "MLQCZ":
        path = path.replace(f" {command}", command).replace(f"{command} ", command)
    return path.strip()


def _rdkit(smiles: str, width: int, height: int) -> str:
    from rdkit import Chem, rdBase
    from rdkit.Chem.Draw import rdMolDraw2D

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        raise UserError(f"cannot draw {smiles!r}: RDKit does not read it as a molecule; mend the SMILES in its data")
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    options.clearBackground = False
    options.padding = 0.03
    options.bondLineWidth = 1.2
    options.fixedBondLength = min(width, height) / 5  # a small molecule is not blown up
    options.setAtomPalette(_palette())
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())


@cache
def _palette() -> Mapping[int, Any]:
    def rgb(colour: str) -> tuple[float, ...]:
        return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))

    return {-1: rgb(INK), **{number: rgb(colour) for number, colour in ELEMENTS.items()}}
