"""Targets before they are used: rows that a dataset selects, logarithms, and one target for each molecule."""

from collections import Counter

import numpy as np
import pandas as pd

from benchmark.data.readers import LINE
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError


def excluded(raw: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    """Return a mask (N,) of the rows whose text in a column of ``where`` is not one of those listed after it."""
    out = np.zeros(len(raw), dtype=bool)
    for column, *texts in spec.where:
        out |= ~raw[column].str.strip().isin(texts).to_numpy()
    return out


def scaled(raw: pd.DataFrame, rows: np.ndarray, spec: DatasetSpec) -> tuple[pd.Series, np.ndarray]:
    """Return the targets (N,) as text, as logarithms if the spec says so, and a mask (N,) of those outside ``limits``.

    ``rows`` (N,) marks the rows with a target. Raises UserError with the line of one that is no number, or that has no
    logarithm.
    """
    text = raw[spec.target].str.strip()
    if not (spec.limits or spec.log10):
        return text, np.zeros(len(raw), dtype=bool)
    numbers = _numbers(text, raw, rows, spec, "a number")
    low, high = spec.limits or (-np.inf, np.inf)
    inside = rows & (low <= numbers) & (numbers <= high)
    if spec.log10:
        numbers = np.log10(_numbers(text, raw, inside, spec, "a number above 0, for a logarithm", above=0.0))
    return text.mask(inside, [repr(float(n)) for n in numbers]), rows & ~inside


def merged(text: pd.Series, keys: pd.Series, rows: np.ndarray, raw: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Return ``target``, one for each molecule by the rule ``merge`` of the spec, and ``merged``, the rows without one.

    ``keys`` (N,) tell molecules apart, ``rows`` (N,) marks those with a target. A molecule's target stands in its first
    row. It is the mean; or the majority's, and none if two lead; or, by ``drop``, the one that all its rows have.
    Raises UserError with the line of a target without which there is no mean.
    """
    out = np.zeros(len(text), dtype=bool)
    if not spec.merge:
        return pd.DataFrame({"target": text, "merged": out})
    targets = text.to_numpy(dtype=object).copy()
    if spec.merge == "mean":
        numbers = _numbers(text, raw, rows, spec, "a number, for a mean")
    for places in pd.Series(np.flatnonzero(rows)).groupby(keys.to_numpy()[rows], sort=False):
        of = places[1].to_numpy()
        if len(of) == 1:
            continue
        out[of[1:]] = True
        if spec.merge == "mean":
            targets[of[0]] = repr(float(numbers[of].mean()))
            continue
        (first, most), *others = Counter(targets[of]).most_common()
        if others and (spec.merge == "drop" or others[0][1] == most):
            out[of] = True
        targets[of[0]] = first
    return pd.DataFrame({"target": targets, "merged": out}, index=text.index)


def _numbers(
    text: pd.Series, raw: pd.DataFrame, rows: np.ndarray, spec: DatasetSpec, expected: str, above: float = -np.inf
) -> np.ndarray:
    """Return targets as numbers (N,), NaN outside ``rows``. Raises UserError for one that is not above ``above``."""
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    wrong = rows & ~(np.isfinite(numbers) & (numbers > above))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UserError(
            f"{spec.name}: column {spec.target!r}, line {raw[LINE].iloc[row]}: expected {expected}, found "
            f"{text.iloc[row]!r}"
        )
    numbers[~rows] = np.nan
    return numbers
