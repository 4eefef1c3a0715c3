"""The tables of the leaderboard, each one entry of ``TABLES``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark import __version__
from benchmark.measure import catalogue as m
from benchmark.store.cell import Cell
from leaderboard.read.results import Dataset, Results
from leaderboard.stats.intervals import INTERVAL_KINDS, IntervalKind
from leaderboard.tables import fills
from leaderboard.tables.columns import versus
from leaderboard.tables.layouts import (
    DatasetColumn,
    Fill,
    minority,
    of_erm,
    per_dataset,
    per_method,
    positives,
    size,
    tested,
)
from leaderboard.tables.table import Table, Value

__all__ = ["TABLES", "Table", "Value", "build", "stamp"]


@dataclass(frozen=True)
class TableEntry:
    """A table to be made; ``intervals`` says whether its caption explains them."""

    key: str
    title: str
    caption: str
    fill: Fill
    intervals: bool = True


def borderline(results: Results) -> Sequence[Dataset]:
    return [dataset for dataset in results.of_task("classification") if dataset.group == "borderline"]


TRAIN, TESTED = DatasetColumn("Train", size), DatasetColumn("ID test", tested)
AGGREGATE, EACH, DRIFT = "Aggregate accuracy", "Each prediction", "Between two retrainings, |Δ| (pp)"
MAGNITUDES = (
    TRAIN,
    TESTED,
    of_erm(m.ACCURACY, "ERM accuracy", AGGREGATE),
    of_erm(m.drift(m.ACCURACY), over=AGGREGATE),
    of_erm(m.CHURN, over=EACH),
    of_erm(m.SYM_KL, over=EACH),
)
TABLES = (
    TableEntry(
        "main",
        "Churn against ERM",
        "Difference of each method's churn to ERM's in percentage points, at equal bootstraps, on the ID test; "
        "negative is better. Of the methods without a mark († or collapsed) the lowest of a dataset is bold.",
        per_method(
            Results.headline,
            versus(m.CHURN),
            TRAIN,
            of_erm(m.CHURN, "ERM churn (%)"),
            compare=True,
        ),
    ),
    TableEntry(
        "magnitudes",
        "What retraining changes",
        "ERM on the ID test: how far the accuracy of two retrainings differs, and how many of their predictions do.",
        per_dataset(Results.headline, MAGNITUDES),
    ),
    TableEntry(
        "distributional",
        "Distributional disagreement against ERM",
        "Difference of each method's symmetric KL divergence between retrainings to ERM's in nats, at equal "
        "bootstraps, on the ID test; negative is better.",
        per_method(
            Results.headline,
            versus(m.SYM_KL, digits=2),
            of_erm(m.SYM_KL, "ERM sym-KL (nats)", digits=2),
            compare=True,
        ),
    ),
    TableEntry(
        "per-class",
        "Churn by true class",
        "ERM's churn over the examples of each class of the ID test. The ratio is the churn of the rarer class over "
        "that of the other.",
        per_dataset(
            Results.headline,
            (
                TRAIN,
                TESTED,
                positives("Class 1"),
                of_erm(m.CHURN),
                of_erm(m.churn_of_class(0)),
                of_erm(m.churn_of_class(1)),
                minority("Ratio"),
            ),
        ),
    ),
    TableEntry(
        "drift",
        "Drift of aggregate metrics",
        "How far five metrics of two retrainings of ERM differ on the ID test, beside churn.",
        per_dataset(
            Results.headline,
            (
                TRAIN,
                *(
                    of_erm(m.drift(of), of.name, DRIFT)
                    for of in (m.ACCURACY, m.PRECISION, m.RECALL, m.F1, m.AVERAGE_PRECISION)
                ),
                of_erm(m.CHURN),
            ),
        ),
    ),
    TableEntry(
        "borderline",
        "What retraining changes, borderline datasets",
        "As for the headline datasets. The paper sets these aside, because ERM passes the filter by little or their "
        "test sets are small: methods are not compared on them.",
        per_dataset(borderline, MAGNITUDES),
    ),
    TableEntry(
        "filter",
        "Which datasets pass the filter",
        "ERM must beat the majority class of the ID test by 5 pp on 60 examples or more, or else churn would tell more "
        "of the class balance than of the method.",
        fills.outcomes,
        intervals=False,
    ),
    TableEntry(
        "splits",
        "Sensitivity to the canonical split",
        "ERM's churn and each method's difference to it in percentage points on each canonical split, and the range "
        "over splits.",
        fills.split_by_split(Results.headline),
        intervals=False,
    ),
    TableEntry(
        "ranks",
        "Mean ranks",
        "Methods by the mean rank of their churn over the headline datasets; 1 is the lowest churn.",
        fills.ranks,
        intervals=False,
    ),
    TableEntry(
        "changes",
        "What a change of method changes",
        "Share of the ID test, in %, that ERM has wrong and the method right (mended) or the reverse (broken), at "
        "equal bootstraps.",
        fills.changes(Results.headline),
        intervals=False,
    ),
    TableEntry(
        "triage",
        "Churn and entropy as predictors of flips",
        "How well scores of ERM's predictions put those first that flip: the share of all flips in the first tenth of "
        "the ID test, and the area under the curve of the flip rate of those reviewed against their share (AuPC).",
        fills.triage(Results.headline),
        intervals=False,
    ),
    TableEntry(
        "top-k",
        f"Stability of the top {m.TOP}",
        f"Jaccard overlap of the {m.TOP} ID test examples with the highest probability of class 1, between two "
        "retrainings: of ERM, and the difference of each method to it at equal bootstraps; positive is better. The hit "
        "rate is the share of class 1 among them, to be compared with its share of all.",
        per_method(
            Results.headline,
            versus(m.TOP_JACCARD),
            positives("Class 1", 100, 0),
            of_erm(m.HIT_RATE),
            of_erm(m.TOP_JACCARD, "ERM"),
            compare=True,
        ),
    ),
    TableEntry(
        "regression",
        "Regression",
        "Mean absolute error and churn, the mean absolute difference of two retrainings, on the ID test in target "
        "units; Δ is the difference to ERM at equal bootstraps. The lowest churn of a dataset is bold.",
        fills.regression,
    ),
    TableEntry(
        "compute",
        "Compute",
        "Forward and backward passes of one network and batch per training step (coupled networks share one backward "
        "pass), networks and forward passes per prediction, and the CPU time of a retraining in multiples of ERM's: "
        "mean, in which datasets with the same molecules count once, and range over datasets.",
        fills.footprints,
        intervals=False,
    ),
)


def build(results: Results, kind: IntervalKind = "runs") -> list[Table]:
    """Every table that ``results`` have data for, with intervals of one kind; missing cells are "–"."""
    found = []
    for entry in TABLES:
        body = entry.fill(results, kind)
        if body is not None:
            caption = f"{entry.caption} {INTERVAL_KINDS[kind]}" if entry.intervals else entry.caption
            names = tuple(dataset.name for dataset in body.datasets)
            found.append(
                Table(entry.key, entry.title, caption, body.header, body.rows, body.notes, body.over, names, kind)
            )
    return found


def stamp(results: Results, table: Table) -> tuple[str, ...]:
    """Where the numbers of ``table`` come from, as lines of a comment: version, data, retrainings, kind of interval."""
    datasets = [dataset for dataset in results.datasets if dataset.name in table.datasets]
    cells: list[Cell] = [cell for d in datasets for entry in d.entries for cell in entry.cells.values()]
    versions = sorted({cell.facts.versions.get("suite", "unknown") for cell in cells})
    retrainings = sum(len(cell.key.seeds) for cell in cells)
    lines = [
        f"churn-benchmark {__version__}; cells by {', '.join(versions)}; {retrainings} retrainings",
        f"intervals: {table.kind}",
    ]
    for dataset in datasets:
        data = dataset.facts.fingerprints.get("data", "unknown")
        problems = {cell.key.canonical_seed: cell.key.problem for e in dataset.entries for cell in e.cells.values()}
        splits = ", ".join(f"split {split}: {problem}" for split, problem in sorted(problems.items()))
        lines.append(f"{dataset.name}: data {data}; {splits}")
    return tuple(lines)
