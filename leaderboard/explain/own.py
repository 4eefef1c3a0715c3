"""The end of a run on a user's own data: how methods differ, which one to use, and which molecules flip."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.files import home
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.intervals import described
from benchmark.types import REFERENCE
from leaderboard.explain.flips import Flips, flips, to_csv, to_html
from leaderboard.read.results import Dataset, Results
from leaderboard.read.structures import of_tests
from leaderboard.site.explorer import drawings
from leaderboard.tables.boards import MARKS, BoardRow, board
from leaderboard.tables.columns import absolute, versus
from leaderboard.tables.summary import OWN
from leaderboard.tables.table import Table, Value, spelled

LOSS = 1.0
"""Accepted loss: points of accuracy, or % of ERM's MAE, as the page Decide starts with."""
COST = 10.0
"""Accepted compute in multiples of ERM's, as there."""
FRONT = 5
"""Number of fragile molecules that are printed."""


@dataclass(frozen=True)
class Own:
    """What a user's dataset shows: a table of methods, sentences, and the flips of the method to use."""

    table: Table
    sentences: Sequence[str]
    flips: Flips | None


def owned(results: Results, names: Sequence[str] = ()) -> list[Dataset]:
    """Return the user's own datasets, or those named, each under the sampling that decisions go by."""
    datasets = [dataset for part in results.leading() for dataset in part.datasets]
    return [d for d in datasets if (d.name in names if names else d.group == OWN)]


def own(dataset: Dataset) -> Own:
    """Compare the methods on a dataset and choose the one with the least churn among those that lose little accuracy.

    Intervals are over retrainings and test examples, as a decision is about new molecules too.
    """
    whole = board(dataset, "id", "both")
    columns = [column for m in (churn(dataset.task), QUALITY[dataset.task]) for column in (absolute(m), versus(m))]
    rows: list[tuple[str | Value, ...]] = [
        (" ".join([row.title, *row.marks]), *[column.show(row.estimates.get(column.key)) for column in columns])
        for row in whole.rows
    ]
    caption = f"ID test; Δ is the paired difference from ERM on the same samples. {described('both', dataset.sampling)}"
    header = ("Method", *(column.title for column in columns))
    table = Table(dataset.name, dataset.title, caption, header, tuple(rows), kind="both")
    chosen = _chosen(dataset, whole.rows)
    if chosen is None:
        return Own(table, ["Train ERM and another method to compare: --method erm,svm,bagging"], None)
    entry = next(e for e in dataset.entries if e.title == chosen.title)
    split = min(entry.cells)
    erm = dataset.reference.cells.get(split) if dataset.reference else None
    marks = [text for sign, text in MARKS.items() if any(sign in row.marks for row in whole.rows)]
    return Own(table, [*marks, _advice(dataset, chosen)], flips(entry.cells[split], erm))


def _chosen(dataset: Dataset, rows: Sequence[BoardRow]) -> BoardRow | None:
    reference = next((row for row in rows if row.method == REFERENCE), None)
    if reference is None or len(rows) < 2:
        return None
    fit = [row for row in rows if row is reference or _fits(dataset, row, reference)]
    return min(fit, key=lambda row: row.estimates["churn"].value, default=None)  # type: ignore[union-attr]


def _fits(dataset: Dataset, row: BoardRow, reference: BoardRow) -> bool:
    cost = row.estimates.get("compute")
    cheap = cost is None or cost.value <= COST
    return not row.marks and cheap and _gain(dataset, row, reference) >= -LOSS


def _gain(dataset: Dataset, row: BoardRow, reference: BoardRow) -> float:
    """Return the gain of accuracy in points, or the fall of MAE in % of ERM's."""
    quality = QUALITY[dataset.task].key
    change, usual = row.estimates.get(f"delta_{quality}"), reference.estimates.get(quality)
    if change is None or usual is None:
        return float("-inf")
    return 100 * change.value if dataset.task == "classification" else -100 * change.value / usual.value


def _advice(dataset: Dataset, row: BoardRow) -> str:
    unit = "point of accuracy" if dataset.task == "classification" else "% of ERM's MAE"
    limit = f"among methods that lose at most {LOSS:g} {unit} and take at most {COST:g} times ERM's compute"
    if row.method == REFERENCE:
        return f"Stay with ERM: {limit}, none has less churn."
    change = row.estimates.get("delta_churn")
    known = change is not None and change.excludes_zero
    shown = (
        "These results show that it churns less than ERM."
        if known
        else "These results do not show that it churns less than ERM."
    )
    cost = row.estimates.get("compute")
    price = f" It takes {spelled(cost.value)} times ERM's compute." if cost else ""
    return f"Use {row.title}: it has the least churn {limit}. {shown}{price}"


def write(dataset: Dataset, found: Flips) -> tuple[Path, Path]:
    """Write the molecules that flip as a CSV and as a page, in ``reports/`` of the user's home; return the paths."""
    smiles = of_tests(dataset)
    folder = home() / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = drawings({i: smiles[i] for i in found.shown if i in smiles})
    table, page = (folder / f"{dataset.name}-flips.{suffix}" for suffix in ("csv", "html"))
    table.write_text(to_csv(found, smiles), encoding="utf-8")
    page.write_text(to_html(found, drawn), encoding="utf-8")
    return table, page


def fragile(dataset: Dataset, found: Flips) -> list[str]:
    """Return a line for each of the molecules that flip most often."""
    smiles = of_tests(dataset)
    some = found.table.head(FRONT)
    classes = dataset.task == "classification"
    values = some["churn" if classes else "mean_difference"]
    return [
        f"{f'{100 * value:.0f} % of pairs' if classes else f'{value:.3g} apart'}  {smiles.get(name, name)}"
        for name, value in zip(some["example_id"], values, strict=True)
    ]
