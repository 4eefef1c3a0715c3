"""The tables of the leaderboard, each one entry of ``TABLES``."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from benchmark import __version__
from benchmark.measure import catalogue as m
from benchmark.measure.intervals import IntervalKind, described
from benchmark.measure.ranking import TOP
from benchmark.types import TASKS
from leaderboard.read.results import Dataset, Results, once
from leaderboard.tables.builders import (
    advice,
    churn_to_expect,
    comparisons,
    factors,
    paper_filter,
    places,
    samplings,
    scorecard,
)
from leaderboard.tables.columns import versus
from leaderboard.tables.layouts import (
    Body,
    DatasetColumn,
    TableBuilder,
    class_ratio,
    of_erm,
    per_dataset,
    per_method,
    positives,
    size,
    tested,
)
from leaderboard.tables.table import Table


@dataclass(frozen=True)
class TableEntry:
    key: str
    title: str
    caption: str
    builder: TableBuilder


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
    of_erm(m.MATCHED_CHURN, over=EACH),
    of_erm(m.SYM_KL, over=EACH),
)
SCORECARDS = [
    TableEntry(
        f"scorecard-{part}" if task == "classification" else f"scorecard-{task}-{part}",
        f"Scorecard: {words}",
        f"What decisions rest on besides churn and accuracy, on the ID tests of the {over}.",
        partial(scorecard.over_datasets, task, part),
    )
    for (task, part), words in scorecard.PARTS.items()
    for over in ("headline datasets" if task == "classification" else "regressions",)
]


def by_task(*tables: tuple[str, str, str, Callable[..., Body | None]]) -> list[TableEntry]:
    """Return tables of each task, by their key, title, caption and builder, which takes the task first."""
    return [
        TableEntry(f"{key}-{task}", f"{title}, {task}", caption, partial(builder, task))
        for task in TASKS
        for key, title, caption, builder in tables
    ]


EXPECTED = by_task(
    (
        "expected-readings",
        "Churn to expect from a k-NN's",
        "Retrain a k-NN (five neighbours by Tanimoto similarity, or by distance where rows are not molecules) on "
        "the two halves of the training rows and measure its churn; the table says what churn to expect of larger "
        "models, with 95 % prediction intervals for a new family of datasets.",
        churn_to_expect.readings,
    ),
    (
        "expected-check",
        "Churn predicted before training",
        "Each family of datasets is predicted from the others, from three sources: their mean alone; what the "
        "table itself tells; and a k-NN retrained on the halves of ten halvings, which takes seconds. Error: mean "
        "distance of the prediction from the churn measured, with the difference from that of the mean and its "
        "95 % interval over families.",
        churn_to_expect.checks,
    ),
    (
        "expected-correlations",
        "What goes with churn",
        "Spearman's rank correlation over families of datasets, with Fisher's 95 % interval (Bonett and Wright "
        "2000), not adjusted for the number of properties. All but the last are known before training.",
        churn_to_expect.correlations,
    ),
)
FACTORS = by_task(
    (
        "factors-variances",
        "What goes with each part of a pipeline",
        "Share of the variance over pipelines and families of datasets, with 95 % intervals over families "
        "(jackknife): an analysis of variance, averaged over all orders in which parts come before pairs of parts "
        "(Lindeman, Merenda and Gold 1980). Estimates are unbiased, so that a share that is truly zero can come out "
        "below 0.",
        factors.variances,
    ),
    (
        "factors-effects",
        "One part changed",
        "Mean difference between pipelines with a part (level) and those that have ERM's in its place and are "
        "otherwise the same, with 95 % intervals over families.",
        factors.effects,
    ),
    (
        "factors-remedies",
        "What a remedy adds",
        "Difference from the same pipeline without the remedy, and from the best plain pipeline of its learner, "
        "whose features and settings the other families choose: the least churn at nearly the best accuracy. 95 % "
        "intervals over families.",
        factors.remedies,
    ),
    (
        "factors-advice",
        "Choosing by the kind of data",
        "Each rule chooses a pipeline for every family from the others alone, among those with a place on them: the "
        "least on average over all of them, over those on the same side of the median of a property, or over the "
        f"{advice.NEAREST} most similar in all properties; in hindsight, the least on the family itself, which nobody "
        "can know. 95 % intervals over families.",
        advice.advice,
    ),
)
TABLES = (
    TableEntry(
        "places",
        "The order of the first page",
        "Methods by mean matched churn over the datasets of the first page, among those that keep accuracy.",
        partial(places.places, "classification"),
    ),
    TableEntry(
        "places-regression",
        "The order of the regressions",
        "Methods by mean 1 − ICC over the regressions of the first page, among those that keep their error.",
        partial(places.places, "regression"),
    ),
    TableEntry(
        "claims",
        "The paper's answers under each sampling",
        "Under paper, members of bagging and of a twin resample the whole training pool; under nested, each retraining "
        "sees the one bootstrap that ERM sees; under halves, two retrainings see the two halves of a random halving.",
        samplings.claims,
    ),
    TableEntry(
        "main",
        "Churn against ERM",
        "Difference in churn between each method and ERM in percentage points, on the same samples, on the ID test; "
        "negative is better. The lowest of each dataset is bold, leaving aside methods with a mark (†, †?, collapsed "
        "or control).",
        per_method(Results.headline, versus(m.CHURN), TRAIN, of_erm(m.CHURN, "ERM churn (%)")),
    ),
    TableEntry(
        "magnitudes",
        "What retraining changes",
        "ERM on the ID test: difference in accuracy between two retrainings, and share of predictions that differ.",
        per_dataset(Results.headline, MAGNITUDES),
    ),
    TableEntry(
        "distributional",
        "Distributional disagreement against ERM",
        "Difference in symmetric KL divergence between retrainings, each method against ERM, in nats, on the same "
        "samples, on the ID test; negative is better.",
        per_method(Results.headline, versus(m.SYM_KL, digits=2), of_erm(m.SYM_KL, "ERM sym-KL (nats)", digits=2)),
    ),
    TableEntry(
        "per-class",
        "Churn by true class",
        "ERM's churn on the ID test examples of each true class. The ratio is the churn of the rarer class divided by "
        "that of the other.",
        per_dataset(
            Results.headline,
            (
                TRAIN,
                TESTED,
                positives(),
                of_erm(m.CHURN),
                of_erm(m.churn_of_class(0)),
                of_erm(m.churn_of_class(1)),
                DatasetColumn("Ratio", class_ratio),
            ),
        ),
    ),
    TableEntry(
        "drift",
        "Drift of aggregate metrics",
        "Difference in five metrics between two retrainings of ERM on the ID test, beside churn.",
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
        "As for the headline datasets. The paper sets these aside because ERM barely passes the filter or the test "
        "set is small; methods are not compared on them.",
        per_dataset(borderline, MAGNITUDES),
    ),
    TableEntry(
        "filter",
        "Which datasets pass the filter",
        "ERM must beat the majority class of the ID test by 5 pp on 60 or more examples; otherwise, churn would say "
        "more about the class balance than about the method.",
        paper_filter.outcomes,
    ),
    TableEntry(
        "splits",
        "Sensitivity to the canonical split",
        "ERM's churn and each method's difference from it in percentage points on each canonical split, with the mean "
        "and range over splits.",
        places.split_by_split,
    ),
    TableEntry(
        "canonical-splits",
        "Matched churn over canonical splits",
        "Mean matched churn (%) over the headline datasets, in the order of the first page, on each split that all "
        "of them have; each family counts once.",
        places.over_canonical_splits,
    ),
    TableEntry(
        "ranks",
        "Mean ranks",
        "Methods by mean rank of churn over the headline datasets; 1 is the lowest churn.",
        places.ranks,
    ),
    *by_task(
        (
            "wide",
            "The order over all families",
            "Methods by mean matched churn (regression: 1 − ICC) over the datasets of the first page. Each family "
            "counts once, or each group of families, whose datasets have most molecules or a target in common; ranks "
            "are those of raw churn, and 1 is the lowest.",
            places.over_families,
        )
    ),
    *SCORECARDS,
    TableEntry(
        "triage",
        "Churn and entropy as predictors of flips",
        "How well scores of ERM's predictions rank flips first: the share of all flips in the first tenth of the ID "
        "test, and the area under the curve of the flip rate among reviewed predictions against their share (AuPC).",
        comparisons.triage,
    ),
    TableEntry(
        "top-k",
        f"Stability of the top {TOP}",
        f"Jaccard overlap between two retrainings of the {TOP} ID test examples with the highest probability of "
        "class 1: ERM's, and each method's difference from it on the same samples; positive is better. The hit rate "
        "is the share of class 1 among them, to be compared with its share of all examples.",
        per_method(
            Results.headline,
            versus(m.TOP_JACCARD),
            *(positives(100, 0), of_erm(m.HIT_RATE), of_erm(m.TOP_JACCARD, "ERM")),
        ),
    ),
    TableEntry(
        "regression",
        "Regression",
        "Mean absolute error and churn, the mean absolute difference between two retrainings, on the ID test of the "
        "paper's regressions in target units; Δ is the difference from ERM on the same samples. The lowest churn of "
        "each dataset is bold, leaving aside methods with a mark.",
        comparisons.regression,
    ),
    *EXPECTED,
    *FACTORS,
    TableEntry(
        "compute",
        "Compute",
        "CPU time of a retraining in multiples of ERM's: mean (datasets with the same molecules count once) and range "
        "over datasets.",
        comparisons.compute_times,
    ),
)


def build(results: Results, kind: IntervalKind = "runs", keys: Collection[str] = ()) -> list[Table]:
    """Return the tables called ``keys``, by default every table, that ``results`` has data for."""
    tables = []
    for entry in TABLES:
        if keys and entry.key not in keys:
            continue
        if (body := entry.builder(results, kind)) and body.rows:
            caption = f"{entry.caption} {described(kind, results.sampling)}" if body.explained else entry.caption
            names = tuple(dataset.name for dataset in body.datasets)
            content = (body.header, body.rows, body.notes, body.over)
            tables.append(Table(entry.key, entry.title, caption, *content, names, kind))
    return tables


def stamp(results: Results, table: Table) -> tuple[str, ...]:
    """Return the provenance of ``table`` as comment lines: version, data, retrainings and kind of interval."""
    datasets = [dataset for dataset in results.datasets if dataset.name in table.datasets]
    known = [_provenance(dataset) for dataset in datasets]
    versions = sorted({version for of in known for version in of.versions})
    retrainings = sum(of.retrainings for of in known)
    lines = [
        f"churn-benchmark {__version__}; cells by {', '.join(versions)}; {retrainings} retrainings",
        f"intervals: {table.kind}",
    ]
    return *lines, *(of.line for of in known)


class _Provenance(NamedTuple):
    versions: set[str]
    retrainings: int
    line: str


@once
def _provenance(dataset: Dataset) -> _Provenance:
    """Return the provenance of a dataset's cells."""
    data = dataset.facts.fingerprints.get("data", "unknown")
    problems = {cell.key.canonical_seed: cell.key.problem for cell in dataset.cells}
    splits = ", ".join(f"split {split}: {problem}" for split, problem in sorted(problems.items()))
    return _Provenance(
        {cell.facts.versions.get("suite", "unknown") for cell in dataset.cells},
        sum(len(cell.key.seeds) for cell in dataset.cells),
        f"{dataset.name}: data {data}; {splits}",
    )
