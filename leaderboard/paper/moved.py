"""Differences between two generations of results: the same cells, trained by two versions of the suite.

A new trainer rounds differently, and training amplifies the last bit. What that moves is shown by the paired difference
at equal train seeds, whose interval should exclude 0 for about one cell in twenty if nothing else changed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.errors import UserError
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, weighted
from benchmark.store.cell import Cell
from benchmark.types import Task
from leaderboard.read.results import Results
from leaderboard.tables.columns import common
from leaderboard.tables.table import Table, Value, spelled
from leaderboard.write.formats import to_markdown


@dataclass(frozen=True)
class Move:
    """One measure of one cell before and now, and the paired difference (now − before) with its interval.

    Values are those of the measure: shares, or the target's unit.
    """

    sampling: str
    dataset: str
    family: str
    group: str
    task: Task
    canonical_seed: int
    method: str
    measure: str
    before: float
    now: float
    difference: float
    low: float
    high: float

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.difference, self.low, self.high)


def moves(before: Results, now: Results) -> Iterator[Move]:
    """Yield what moved in each cell of both results that was trained by different code, for the ID test."""
    earlier = {kind: cell for kind, cell, _ in _cells(before)}
    for kind, cell, title in _cells(now):
        old = earlier.get(kind)
        if old is None or old.key.code == cell.key.code:
            continue
        facts, task = cell.facts.dataset, cell.predictions["id"].task
        pair = common(cell, old).predictions["id"], common(old, cell).predictions["id"]
        for measure in (QUALITY[task], churn(task)):
            change = estimate(measure, [pair])
            place = cell.key.sampling, cell.key.dataset, facts.family or cell.key.dataset, facts.group, task
            means = measure.mean(pair[1]), measure.mean(pair[0])
            difference = change.value, change.low, change.high
            yield Move(*place, cell.key.canonical_seed, title, measure.key, *means, *difference)


def _cells(results: Results) -> Iterator[tuple[object, Cell, str]]:
    for part in results.every:
        for dataset in part.datasets:
            for entry in dataset.entries:
                yield from ((cell.key.kind, cell, entry.title) for cell in entry.cells.values())


def read(path: Path) -> list[Move]:
    """Read the table that ``report`` wrote."""
    return [Move(*row) for row in pd.read_csv(path).itertuples(index=False)]


def report(before: Results, now: Results, path: Path | None = None) -> str:
    """Return what moved since ``before``, in words and by method, and write every cell to ``path``.

    Raises UserError if no cell was trained again with other code.
    """
    moved = list(moves(before, now))
    if not moved:
        raise UserError(f"{before.source}: none of its cells has been trained again with other code in {now.source}")
    if path:
        path.write_text(pd.DataFrame(moved).to_csv(index=False, float_format="%.8g"), encoding="utf-8")
    return f"{sentence(moved)}\n\n{to_markdown(by_method(moved))}"


def sentence(moved: Sequence[Move]) -> str:
    """Return how many cells moved by more than retraining explains, and the largest of these differences."""
    parts = []
    for name, is_churn in (("churn", True), ("accuracy or MAE", False)):
        tested = [m for m in moved if (m.measure == "churn") == is_churn and not np.isnan(m.low)]
        apart = sum(m.estimate.excludes_zero for m in tested)
        parts.append(f"the interval of the difference in {name} excludes 0 for {apart} of {len(tested)} cells")
    cells = sum(m.measure == "churn" for m in moved)
    text = f"{cells} cells were trained again: {' and '.join(parts)}, where chance gives about one in twenty."
    shares = [m for m in moved if m.measure == "churn" and m.task == "classification"]
    if shares:
        m = max(shares, key=lambda m: abs(m.difference))
        change = spelled(100 * m.difference, signed=True)
        text += f" The largest difference in churn is {change} pp: {m.method} on {m.dataset}, sampling {m.sampling}."
    return text


def by_method(moved: Sequence[Move]) -> Table:
    """Return a row per method and sampling: the mean differences over the headline families, with intervals."""
    headline = [m for m in moved if m.group in ("dev", "headline")]
    rows: list[tuple[str | Value, ...]] = []
    for sampling, method in sorted({(m.sampling, m.method) for m in headline}):
        mine = [m for m in headline if (m.sampling, m.method) == (sampling, method)]
        means = (_mean([m for m in mine if m.measure == key]) for key in ("churn", "accuracy"))
        rows.append((method, sampling, *means))
    header = ("Method", "Sampling", "Δ churn (pp)", "Δ accuracy (pp)")
    caption = (
        "Now minus before, at equal train seeds: mean over the headline datasets; each family counts once. No interval "
        "where, on some dataset, every retraining predicts the same classes as before."
    )
    return Table("moved", "What moved", caption, header, tuple(rows))


def _mean(moved: Sequence[Move]) -> Value:
    families = [m.family for m in moved]
    weights = np.array([1 / (len(set(families)) * families.count(family)) for family in families])
    return Value.of(weighted([m.estimate for m in moved], weights), 100, 2, signed=True)
