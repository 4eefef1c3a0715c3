"""The tables of the leaderboard, each one entry of ``TABLES``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark import __version__
from benchmark import quantities as q
from benchmark.types import Cell
from leaderboard import fills
from leaderboard.columns import (
    ACCURACY,
    CHURN,
    COLUMNS,
    HIT_RATE,
    JACCARD,
    SYM_KL,
    Column,
    accuracy,
    churn_given,
    drift,
)
from leaderboard.layouts import Fill, Measure, minority, of_erm, per_dataset, per_method, positives, size, tested
from leaderboard.results import Dataset, Results
from leaderboard.stats.intervals import KINDS, Kind
from leaderboard.table import Table, Value

__all__ = ["TABLES", "Table", "Value", "build", "stamp"]


@dataclass(frozen=True)
class Entry:
    """A table to be made; ``intervals`` says whether its caption explains them."""

    key: str
    title: str
    caption: str
    fill: Fill
    intervals: bool = True


def borderline(results: Results) -> Sequence[Dataset]:
    return [dataset for dataset in results.of_task("classification") if dataset.group == "borderline"]


OF_BOARD = {(column.task, column.key): column for column in COLUMNS}
TRAIN, TESTED = Measure("Train", size), Measure("ID test", tested)
AGGREGATE, EACH, DRIFT = "Aggregate accuracy", "Each prediction", "Between two retrainings, |Δ| (pp)"
MAGNITUDES = (
    TRAIN,
    TESTED,
    of_erm("ERM accuracy", ACCURACY, 1, 3, AGGREGATE),
    of_erm("|Δ accuracy| (pp)", drift(accuracy), over=AGGREGATE),
    of_erm("Churn (%)", CHURN, over=EACH),
    of_erm("Sym-KL (nats)", SYM_KL, 1, 3, EACH),
)
TABLES = (
    Entry(
        "main",
        "Churn against ERM",
        "Difference of each method's churn to ERM's in percentage points, at equal bootstraps, on the ID test; "
        "negative is better. Of the methods without a mark († or collapsed) the lowest of a dataset is bold.",
        per_method(
            Results.headline,
            OF_BOARD["classification", "delta_churn"],
            TRAIN,
            of_erm("ERM churn (%)", CHURN),
            compare=True,
        ),
    ),
    Entry(
        "magnitudes",
        "What retraining changes",
        "ERM on the ID test: how far the accuracy of two retrainings differs, and how many of their predictions do.",
        per_dataset(Results.headline, MAGNITUDES),
    ),
    Entry(
        "distributional",
        "Distributional disagreement against ERM",
        "Difference of each method's symmetric KL divergence between retrainings to ERM's in nats, at equal "
        "bootstraps, on the ID test; negative is better.",
        per_method(
            Results.headline,
            Column("delta_sym_kl", "Δ sym-KL (nats)", "classification", SYM_KL, -1, digits=2, versus=True),
            of_erm("ERM sym-KL (nats)", SYM_KL, 1, 2),
            compare=True,
        ),
    ),
    Entry(
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
                of_erm("Churn (%)", CHURN),
                of_erm("Churn, class 0 (%)", churn_given(0)),
                of_erm("Churn, class 1 (%)", churn_given(1)),
                minority("Ratio"),
            ),
        ),
    ),
    Entry(
        "drift",
        "Drift of aggregate metrics",
        "How far five metrics of two retrainings of ERM differ on the ID test, beside churn.",
        per_dataset(
            Results.headline,
            (
                TRAIN,
                of_erm("accuracy", drift(accuracy), over=DRIFT),
                of_erm("precision", drift(q.precision), over=DRIFT),
                of_erm("recall", drift(q.recall), over=DRIFT),
                of_erm("F1", drift(q.f1), over=DRIFT),
                of_erm("average precision", drift(q.average_precision), over=DRIFT),
                of_erm("Churn (%)", CHURN),
            ),
        ),
    ),
    Entry(
        "borderline",
        "What retraining changes, borderline datasets",
        "As for the headline datasets. The paper sets these aside, because ERM passes the filter by little or their "
        "test sets are small: methods are not compared on them.",
        per_dataset(borderline, MAGNITUDES),
    ),
    Entry(
        "filter",
        "Which datasets pass the filter",
        "ERM must beat the majority class of the ID test by 5 pp on 60 examples or more, or else churn would tell more "
        "of the class balance than of the method.",
        fills.outcomes,
        intervals=False,
    ),
    Entry(
        "splits",
        "Sensitivity to the canonical split",
        "ERM's churn and each method's difference to it in percentage points on each canonical split, and the range "
        "over splits.",
        fills.split_by_split(Results.headline),
        intervals=False,
    ),
    Entry(
        "ranks",
        "Mean ranks",
        "Methods by the mean rank of their churn over the headline datasets; 1 is the lowest churn.",
        fills.ranks,
        intervals=False,
    ),
    Entry(
        "changes",
        "What a change of method changes",
        "Share of the ID test, in %, that ERM has wrong and the method right (mended) or the reverse (broken), at "
        "equal bootstraps.",
        fills.changes(Results.headline),
        intervals=False,
    ),
    Entry(
        "triage",
        "Churn and entropy as predictors of flips",
        "How well scores of ERM's predictions put those first that flip: the share of all flips in the first tenth of "
        "the ID test, and the area under the curve of the flip rate of those reviewed against their share (AuPC).",
        fills.triage(Results.headline),
        intervals=False,
    ),
    Entry(
        "top-k",
        f"Stability of the top {q.TOP}",
        f"Jaccard overlap of the {q.TOP} ID test examples with the highest probability of class 1, between two "
        "retrainings: of ERM, and the difference of each method to it at equal bootstraps; positive is better. The hit "
        "rate is the share of class 1 among them, to be compared with its share of all.",
        per_method(
            Results.headline,
            Column("delta_jaccard", "Δ Jaccard", "classification", JACCARD, +1, digits=2, versus=True),
            positives("Class 1", 100, 0),
            of_erm("Hit rate (%)", HIT_RATE, 100, 0),
            of_erm("ERM", JACCARD, 1, 2),
            compare=True,
        ),
    ),
    Entry(
        "regression",
        "Regression",
        "Mean absolute error and churn, the mean absolute difference of two retrainings, on the ID test in target "
        "units; Δ is the difference to ERM at equal bootstraps. The lowest churn of a dataset is bold.",
        fills.regression,
    ),
    Entry(
        "compute",
        "Compute",
        "Forward and backward passes of one network and batch per training step (coupled networks share one backward "
        "pass), networks and forward passes per prediction, and the CPU time of a retraining in multiples of ERM's: "
        "mean, in which datasets with the same molecules count once, and range over datasets.",
        fills.footprints,
        intervals=False,
    ),
)


def build(results: Results, kind: Kind = "runs") -> list[Table]:
    """Every table that ``results`` have data for, with intervals of one kind; missing cells are "–"."""
    found = []
    for entry in TABLES:
        body = entry.fill(results, kind)
        if body is not None:
            caption = f"{entry.caption} {KINDS[kind]}" if entry.intervals else entry.caption
            names = tuple(dataset.name for dataset in body.datasets)
            found.append(
                Table(entry.key, entry.title, caption, body.header, body.rows, body.notes, body.over, names, kind)
            )
    return found


def stamp(results: Results, table: Table) -> tuple[str, ...]:
    """Where the numbers of ``table`` come from, as lines of a comment: version, data, retrainings, kind of interval."""
    datasets = [dataset for dataset in results.datasets if dataset.name in table.datasets]
    cells: list[Cell] = [cell for d in datasets for entry in d.entries for cell in entry.cells.values()]
    versions = sorted({cell.about.get("version.suite", "unknown") for cell in cells})
    retrainings = sum(len(cell.key.seeds) for cell in cells)
    lines = [
        f"churn-benchmark {__version__}; cells by {', '.join(versions)}; {retrainings} retrainings",
        f"intervals: {table.kind}",
    ]
    for dataset in datasets:
        data = dataset.about.get("fingerprint.data", "unknown")
        problems = {cell.key.canonical_seed: cell.key.problem for e in dataset.entries for cell in e.cells.values()}
        splits = ", ".join(f"split {split}: {problem}" for split, problem in sorted(problems.items()))
        lines.append(f"{dataset.name}: data {data}; {splits}")
    return tuple(lines)
