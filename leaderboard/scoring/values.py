"""Values of predictions: labels, probabilities, margins or numbers, and which class a single one is of."""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, softmax

from benchmark.errors import UserError
from leaderboard.scoring.classes import labels_of
from leaderboard.scoring.roles import CLOSE, Part, negative, plain, typed, words


def values_of(part: Part, kind: str, labels: dict[frozenset[str], dict[str, int]]) -> np.ndarray:
    """Return the predictions of a table: indices of labels or values (R, T), or probabilities (R, T, C)."""
    table, at, role = part.table, part.grid.at, part.role
    if kind == "labels":
        indices = []
        for name in role.predicted:
            codes, texts = table.columns[name].encoded
            plainly = [*map(plain, texts)]
            for mine, of_run in zip(labels_of(part, name), codes[at], strict=True):
                index = [labels[mine].get(text, 0) for text in plainly]  # 0 for what only other runs have
                indices.append(np.array(index, dtype=np.uint16)[of_run])
        return np.stack(indices)
    numbers = np.stack([_numbers(part, name) for name in role.predicted], axis=-1)
    if role.wide:
        numbers = numbers[0].T[..., None]
    single = numbers.shape[-1] == 1
    if kind == "values":
        if not single:
            raise UserError(f"{table.name}: --kind values, but {', '.join(role.predicted)} are one run: use --runs")
        return np.asarray(numbers[..., 0])
    p = numbers
    if kind == "logits":
        p = expit(p) if single else softmax(p, axis=-1)
    p = np.concatenate([1 - p, p], axis=-1) if single else p
    off = np.maximum(np.abs(p.sum(axis=-1) - 1), -p.min(axis=-1))
    if off.max() > CLOSE * p.shape[-1] / 2:
        r, t = np.unravel_index(off.argmax(), off.shape)
        what = f"columns {', '.join(role.predicted)}: expected probabilities that sum to 1"
        if single:
            what = f"column {role.predicted[r if role.wide else 0]!r}: expected a probability from 0 to 1"
        if numbers.min() >= 0 and (numbers.max() <= 100 if single else np.allclose(p.sum(axis=-1), 100, atol=1.1)):
            what += " (divide percent by 100)"
        shown = ", ".join(f"{x:g}" for x in numbers[r, t])
        raise UserError(f"{table.name}, row {at[0 if role.wide else r, t] + 1}, {what}, found {shown}")
    p = np.clip(p, 0, 1)
    return np.asarray(p / p.sum(axis=-1, keepdims=True), dtype=np.float32)


def _numbers(part: Part, name: str) -> np.ndarray:
    """Return a column as numbers, (R, T). Raises UserError for a row of an example that is compared and has none."""
    column = part.table.columns[name]
    numbers = column.numbers[part.grid.at]
    if (odd := ~np.isfinite(numbers)).any():
        codes, texts = column.encoded
        row = int(part.grid.at[odd].min())
        shown = repr(texts[codes[row]]) if codes[row] >= 0 else "nothing"
        raise UserError(
            f"{part.table.name}, row {row + 1}, column {name!r}: expected a finite number, found {shown}; if there is "
            "no prediction, leave out such rows and add --common-rows"
        )
    return np.asarray(numbers)


def check_signs(parts: Sequence[Part]) -> None:
    """Raise UserError for single margins that are all on one side of 0, and for a table's that may be probabilities."""
    single = [part for part in parts if len(part.role.predicted) == 1]
    margins = [_numbers(part, part.role.predicted[0]).ravel() for part in single]
    together = np.concatenate(margins or [np.array([-1.0, 1.0])])
    for part, own in zip(single, margins, strict=True):
        shares = own.min() >= 0 and own.max() <= 1
        if not shares and together.min() < 0 < together.max():
            continue
        low, high = (own if shares else together).min(), (own if shares else together).max()
        shown = f"{part.table.name}: --logits {part.role.predicted[0]}: from {low:g} to {high:g}"
        raise UserError(
            f"{shown}, but margins are below 0 for one class and above for the other: if these are percent, divide "
            "them by 100; if they are probabilities, use --probabilities, and write them in all tables"
        )


def check_class(parts: Sequence[Part], classes: Sequence[str], truth: bool) -> None:
    """Raise UserError for single probabilities that are of the first class by their names, in some tables or all."""
    single = [(part.table.name, name) for part in parts if not part.role.classes for name in part.role.predicted]
    first = [(table, name) for table, name in single if negative(name) and classes[-1].lower() not in words(name)]
    if first and (truth or len(first) < len(parts) or len(first) < len(single)):
        table, name = first[0]
        raise UserError(
            f"{table}: {name!r} is by its name the probability of the first of two classes, but that of the second is "
            f"expected: write one minus it, under a name such as p1; if it is that of the second class after all, add "
            f"--probabilities {typed([name])}"
        )


def check_side(part: Part, classes: Sequence[str], p: np.ndarray, y: np.ndarray) -> None:
    """Raise UserError for a probability that falls where the second class is true: it may be that of the first."""
    names = part.role.predicted
    if p.std() and y.std() and np.corrcoef(p, y)[0, 1] < -0.2:
        raise UserError(
            f"{part.table.name}: {names[-1]!r} is lower where the class is {classes[1]}, as if it were the probability "
            f"of class {classes[0]}: if so, write that of class {classes[1]}; if it is that already, add "
            f"--probabilities {typed(names)}"
        )
