"""Features of a material's formula: fractions of its elements, and statistics of their tabulated properties.

After Ward, Agrawal, Choudhary and Wolverton 2016 (doi:10.1038/npjcompumats.2016.28), with the tables of pymatgen.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

import numpy as np

from benchmark.errors import UserError
from benchmark.files import install

HEAVIEST = 103
"""Atomic number of lawrencium, the last element with a column of its own."""
PROPERTIES = (
    *("Z", "X", "group", "row", "mendeleev_no", "atomic_mass", "atomic_radius"),
    *("molar_volume", "melting_point", "ionization_energy", "electron_affinity"),
)
"""Properties of an element: attributes of pymatgen's ``Element``."""
STATISTICS = ("mean", "deviation", "least", "most")
WIDTH = HEAVIEST + len(PROPERTIES) * len(STATISTICS)


def composition(formulas: Sequence[str], lines: Sequence[int], dataset: str) -> np.ndarray:
    """Return the fractions of elements, then mean, deviation, least and most of each property: (N, ``WIDTH``) float64.

    Mean and standard deviation are weighted by the elements' fractions; a property that no element of a formula has is
    NaN. Raises UserError with the line of a text that is no formula, and without pymatgen.
    """
    refuse(dataset)
    out = np.zeros((len(formulas), WIDTH))
    known = _properties()
    for row, formula, line in zip(out, formulas, lines, strict=True):
        try:
            numbers, weights = _elements(formula)
        except ValueError as error:
            raise UserError(f"{dataset}: line {line}: expected a formula such as Fe2O3, found {formula!r}") from error
        np.add.at(row, numbers - 1, weights)
        row[HEAVIEST:] = _statistics(known[numbers], weights).ravel()
    return out


def refuse(dataset: str) -> None:
    """Raise UserError without pymatgen."""
    if find_spec("pymatgen") is None:
        raise UserError(f"{dataset}: features 'composition' need pymatgen-core: {install('materials')}")


def is_formula(text: str) -> bool:
    """Return whether a text is a formula of elements that ``composition`` knows."""
    try:
        _elements(text)
    except ValueError:
        return False
    return True


def _elements(formula: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the atomic numbers (E,) and fractions (E,) of a formula's elements. Raises ValueError if it is none."""
    from pymatgen.core import Composition

    try:
        parts = Composition(formula).fractional_composition.items()
        numbers = np.array([element.Z for element, _ in parts])
        weights = np.array([float(fraction) for _, fraction in parts])
    except (AttributeError, KeyError, TypeError, ZeroDivisionError) as error:
        raise ValueError from error
    if not len(numbers) or not ((numbers > 0) & (numbers <= HEAVIEST)).all() or not np.isclose(weights.sum(), 1):
        raise ValueError
    return numbers, weights


def reduced(formulas: Sequence[str]) -> list[str]:
    """Return one spelling for each composition: ``Fe2O3`` for ``Fe4O6``. A text that is no formula stays as it is."""
    if find_spec("pymatgen") is None:
        return list(formulas)
    from pymatgen.core import Composition

    return [str(Composition(text).reduced_formula) if is_formula(text) else text for text in formulas]


def _statistics(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the ``STATISTICS`` (P, 4) of the properties ``values`` (E, P) of elements with these ``weights`` (E,)."""
    has = np.isfinite(values)
    shares = np.where(has, weights[:, None], 0)
    total = np.where(has.any(0), shares.sum(0), np.nan)
    filled = np.where(has, values, 0)
    mean = (shares * filled).sum(0) / total
    deviation = np.sqrt((shares * (filled - mean) ** 2).sum(0) / total)
    least, most = np.where(has, values, np.inf).min(0), np.where(has, values, -np.inf).max(0)
    return np.where(has.any(0), np.stack([mean, deviation, least, most]), np.nan).T


@cache
def _properties() -> np.ndarray:
    """Return the ``PROPERTIES`` of the element with each atomic number up to ``HEAVIEST``, NaN where unknown."""
    from pymatgen.core import Element

    table = np.full((HEAVIEST + 1, len(PROPERTIES)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of each value that it does not know
        for z in range(1, HEAVIEST + 1):
            element = Element.from_Z(z)
            for k, name in enumerate(PROPERTIES):
                try:
                    table[z, k] = float(getattr(element, name))
                except (TypeError, ValueError, AttributeError):
                    continue
    return table
