"""RDKit's descriptors of a molecule, with what several of them need computed once and in compiled loops.

RDKit computes the electrotopological states of a molecule six times, in Python, and for each of ``Ipc`` and ``AvgIpc``
a characteristic polynomial by products of matrices, on all threads of BLAS.
"""

import numpy as np
from numba import njit
from rdkit.Chem import Descriptors, GetDistanceMatrix, GetPeriodicTable, Mol
from rdkit.Chem.EState.EState import GetPrincipleQuantumNumber
from rdkit.ML.InfoTheory.rdInfoTheory import InfoEntropy

OF_STATES = ("MaxAbsEStateIndex", "MaxEStateIndex", "MinAbsEStateIndex", "MinEStateIndex")


def descriptors(molecule: Mol) -> list[float]:
    """Return all RDKit descriptors (217,) of a molecule, NaN where one fails (``Descriptors.CalcMolDescriptors``)."""
    distances = GetDistanceMatrix(molecule)
    molecule._eStateIndices = _states(molecule, distances)  # where RDKit looks for them
    coefficients = np.abs(_polynomial(distances))
    entropy = InfoEntropy(coefficients)
    values = {"AvgIpc": entropy, "Ipc": sum(coefficients) * entropy}
    for name, compute in Descriptors.descList:
        if name not in values:
            try:
                values[name] = compute(molecule, False) if name in OF_STATES else compute(molecule)
            except Exception:  # RDKit catches any, too
                values[name] = np.nan
    return [values[name] for name, _ in Descriptors.descList]


def _states(molecule: Mol, distances: np.ndarray) -> np.ndarray:
    """Return the electrotopological state (A,) of each atom, as RDKit's ``EStateIndices`` does."""
    outer, intrinsic = GetPeriodicTable().GetNOuterElecs, np.zeros(len(distances))
    for i, atom in enumerate(molecule.GetAtoms()):
        if degree := atom.GetDegree():
            number = atom.GetAtomicNum()
            n, electrons = GetPrincipleQuantumNumber(number), outer(number) - atom.GetTotalNumHs()
            intrinsic[i] = (4.0 / (n * n) * electrons + 1) / degree
    return np.asarray(_perturbed(intrinsic, distances + 1))


@njit(cache=True)
def _perturbed(intrinsic, distances):  # type: ignore[no-untyped-def]
    """Add to each atom's ``intrinsic`` state (A,) the differences from the others', by the square of ``distances``."""
    change = np.zeros(len(intrinsic))
    for i in range(len(intrinsic)):
        for j in range(i + 1, len(intrinsic)):
            if distances[i, j] < 1e6:
                part = (intrinsic[i] - intrinsic[j]) / (distances[i, j] * distances[i, j])
                change[i] += part
                change[j] -= part
    return change + intrinsic


def _polynomial(distances: np.ndarray) -> np.ndarray:
    """Return the characteristic polynomial (A + 1,) of the graph in which atoms at distance 1 are adjacent.

    The method is RDKit's, that of Le Verrier, Faddeev and Frame, which loses digits of large molecules: only equal sums
    in equal order give equal numbers, and ``trace`` adds in an order of its own.
    """
    adjacent = distances == 1
    product, coefficients = adjacent.astype(np.float64), np.ones(len(distances) + 1)
    for k in range(1, len(coefficients)):
        coefficients[k] = 1.0 / k * product.trace()
        product = _multiplied(adjacent, product, coefficients[k])
    coefficients[1:] *= -1
    return coefficients


@njit(cache=True)
def _multiplied(adjacent, product, share):  # type: ignore[no-untyped-def]
    """Return the product of the matrices ``adjacent`` (A, A) and ``product`` minus ``share`` times the identity, in
    which a row is a sum of a few neighbours' rows."""
    out = np.zeros(product.shape)
    for i in range(len(product)):
        product[i, i] -= share
    for i in range(len(product)):
        for j in np.nonzero(adjacent[i])[0]:
            out[i] += product[j]
    return out
