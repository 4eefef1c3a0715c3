"""Steps without gradient are taken at once, within stated bounds; ``test_perceptrons`` has where they end."""

import numpy as np
import pytest

from benchmark.train.adamw import EPS, LONGEST, idle


@pytest.mark.parametrize(("start", "steps"), [(0, 20), (16, 16), (1000, 73), (5000, 400)])
@pytest.mark.parametrize("ratio", [1e-3, 1e-1, 1.0, 10.0, 1e3])
def test_one_term_stands_for_many_steps_within_a_five_hundredth_and_a_thirtieth_at_first(start, steps, ratio):
    """``ratio`` is that of ε to the root of the second moment."""
    lr, decay, after = 1e-3, 1 - 1e-3 * 1e-4, start + 1
    push, root, keep = (factors.astype(float) for factors in idle(start, steps, lr, 1e-4))
    mean, square = 1.0, (EPS / ratio) ** 2
    for n in range(1, steps + 1):
        at = min(n, LONGEST)
        k = np.arange(1, n + 1)
        sizes = lr * 0.9**k / (1 - 0.9 ** (after + k)) * decay ** (n - k)
        exact = float((sizes * mean / (np.sqrt(square * 0.999**k / (1 - 0.999 ** (after + k))) + EPS)).sum())
        once = push[1, at] * mean / (np.sqrt(square) * root[1, at] + EPS)
        assert once == pytest.approx(exact, rel=2e-3 if start else 3.3e-2)
        assert keep[:, n] == pytest.approx([decay**n, 0.9**n, 0.999**n])
