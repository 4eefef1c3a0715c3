"""Compiled loops over the first layer of a perceptron on sparse bits, such as fingerprints.

A batch touches some rows of the first layer's weights: those of the bits that its molecules have. Only these have a
gradient; AdamW merely decays the others and moves them on by their momentum. The steps that follow until a row is
touched again are therefore taken at once, when it has just been touched and is in the cache (``advance``).

Numba compiles each function on first use and keeps the result on disk. Without its ``fastmath``, sums are added in the
order that is written here, on any machine.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Schedule(NamedTuple):
    """Columns and rows that the S steps of an epoch touch, for T pairs of a step and a column, ordered by step."""

    columns: np.ndarray
    """Columns (T,) of the inputs, which are rows of the weights."""
    steps: np.ndarray
    """Offsets (S + 1,) of the steps in ``columns``."""
    idle: np.ndarray
    """Number (T,) of steps without the column that follow within the epoch."""
    lead: np.ndarray
    """Number (L,) of steps before the first that touches a column; S if none does."""
    members: np.ndarray
    """Rows of the step's batch that have the column's bit, one pair after another."""
    spans: np.ndarray
    """Offsets (T + 1,) of the pairs in ``members``."""


@njit(cache=True)
def schedule(indptr, indices, rows, starts, width):  # type: ignore[no-untyped-def]
    """Return what the steps of an epoch touch, a ``Schedule``.

    ``indptr`` and ``indices`` are those of the inputs (N, ``width``) in CSR form; step s sees the inputs' ``rows`` from
    ``starts[s]`` to ``starts[s + 1]``.
    """
    total = 0
    for row in rows:
        total += indptr[row + 1] - indptr[row]
    steps = len(starts) - 1
    columns, idle = np.empty(total, np.int32), np.empty(total, np.int32)
    members, spans = np.empty(total, np.int32), np.zeros(total + 1, np.int32)
    offsets = np.zeros(steps + 1, np.int32)
    count, at = np.zeros(width, np.int32), np.zeros(width, np.int32)
    pairs, filled = 0, 0
    for s in range(steps):
        for row in rows[starts[s] : starts[s + 1]]:
            for column in indices[indptr[row] : indptr[row + 1]]:
                if count[column] == 0:
                    columns[pairs] = column
                    pairs += 1
                count[column] += 1
        for t in range(offsets[s], pairs):
            at[columns[t]] = filled
            filled += count[columns[t]]
            spans[t + 1] = filled
            count[columns[t]] = 0
        for r in range(starts[s + 1] - starts[s]):
            row = rows[starts[s] + r]
            for column in indices[indptr[row] : indptr[row + 1]]:
                members[at[column]] = r
                at[column] += 1
        offsets[s + 1] = pairs
    lead = np.full(width, steps, np.int32)
    for s in range(steps - 1, -1, -1):
        for t in range(offsets[s], offsets[s + 1]):
            idle[t] = lead[columns[t]] - s - 1
            lead[columns[t]] = s
    return Schedule(columns[:pairs], offsets, idle[:pairs], lead, members, spans[: pairs + 1])


@njit(cache=True)
def _sum(values, rows, start, stop, total):  # type: ignore[no-untyped-def]
    """Write the sum of the rows ``rows[start:stop]`` of ``values`` (R, H) to ``total`` (H,), four rows at a time."""
    for h in range(len(total)):
        total[h] = 0
    whole = stop - (stop - start) % 4
    for i in range(start, whole, 4):
        a, b, c, d = values[rows[i]], values[rows[i + 1]], values[rows[i + 2]], values[rows[i + 3]]
        for h in range(len(total)):
            total[h] = total[h] + a[h] + b[h] + c[h] + d[h]
    for i in range(whole, stop):
        a = values[rows[i]]
        for h in range(len(total)):
            total[h] += a[h]


@njit(cache=True)
def sum_rows(weight, indptr, indices, rows, out):  # type: ignore[no-untyped-def]
    """Write the product of the inputs' ``rows`` (R,) with ``weight`` (L, H) to ``out`` (R, H): sums of its rows."""
    for r in range(len(rows)):
        _sum(weight, indices, indptr[rows[r]], indptr[rows[r] + 1], out[r])


@njit(cache=True)
def sum_gradients(outer, members, spans, first, last, out):  # type: ignore[no-untyped-def]
    """Write the gradients of the pairs ``first`` to ``last`` to the first rows of ``out`` (L, H).

    ``outer`` (R, H) is the gradient with respect to the sums. Returns the sum of squares.
    """
    width = outer.shape[1]
    squares = np.zeros(width, np.float32)
    for t in range(first, last):
        total = out[t - first]
        _sum(outer, members, spans[t], spans[t + 1], total)
        for h in range(width):
            squares[h] += total[h] * total[h]
    square = 0.0
    for h in range(width):
        square += squares[h]
    return square


@njit(cache=True, error_model="numpy")
def adamw(weight, mean, square, gradient, scale, rates):  # type: ignore[no-untyped-def]
    """Take one step of AdamW on flat arrays of equal length, for ``gradient`` times ``scale``; see ``rates``."""
    beta1, beta2, decay, step, root, eps = rates
    unit = np.float32(1)
    for i in range(len(weight)):
        g = gradient[i] * scale
        m, v = beta1 * mean[i] + (unit - beta1) * g, beta2 * square[i] + (unit - beta2) * g * g
        weight[i] = weight[i] * decay - step * m / (np.sqrt(v) * root + eps)
        mean[i] = m
        square[i] = v


@njit(cache=True, error_model="numpy")
def _wait(weight, mean, square, n, eps, push, root_of, keep):  # type: ignore[no-untyped-def]
    """Take ``n`` steps without gradient on a row of the weights (H,), by the factors of ``Idle``."""
    a, b = push[min(n, len(push) - 1)], root_of[min(n, len(push) - 1)]
    decay_n, beta1_n, beta2_n = keep[0, n], keep[1, n], keep[2, n]
    for h in range(len(weight)):
        weight[h] = weight[h] * decay_n - a * mean[h] / (np.sqrt(square[h]) * b + eps)
        mean[h] *= beta1_n
        square[h] *= beta2_n


@njit(cache=True, error_model="numpy")
def adamw_rows(weight, mean, square, gradient, columns, idle, scale, rates, push, root_of, keep):  # type: ignore[no-untyped-def]
    """Take one step of AdamW on the rows ``columns`` (T,) of the weights (L, H), then ``idle`` (T,) without gradient.

    ``gradient`` (T or more, H) is multiplied by ``scale``. ``push``, ``root_of`` and ``keep`` are those of
    ``Idle`` after this step. The steps without gradient are those of ``_wait``, with the same square root.
    """
    beta1, beta2, decay, step, root, eps = rates
    unit = np.float32(1)
    for t in range(len(columns)):
        n, w, m, v = idle[t], weight[columns[t]], mean[columns[t]], square[columns[t]]
        if n == 0:
            adamw(w, m, v, gradient[t], scale, rates)
            continue
        a, b = push[min(n, len(push) - 1)], root_of[min(n, len(push) - 1)]
        decay_n, beta1_n, beta2_n = keep[0, n], keep[1, n], keep[2, n]
        for h in range(len(w)):
            g = gradient[t, h] * scale
            mean_h, square_h = beta1 * m[h] + (unit - beta1) * g, beta2 * v[h] + (unit - beta2) * g * g
            s = np.sqrt(square_h)
            moved = w[h] * decay - step * mean_h / (s * root + eps)
            w[h] = moved * decay_n - a * mean_h / (s * b + eps)
            m[h] = mean_h * beta1_n
            v[h] = square_h * beta2_n


@njit(cache=True, error_model="numpy")
def advance(weight, mean, square, lead, eps, push, root_of, keep):  # type: ignore[no-untyped-def]
    """Take the ``lead`` (L,) steps without gradient before each row of the weights (L, H) is touched."""
    for c in range(len(lead)):
        if lead[c]:
            _wait(weight[c], mean[c], square[c], lead[c], eps, push, root_of, keep)
