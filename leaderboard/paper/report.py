"""What a comparison with published numbers comes to: as text with every value, and as Markdown with what disagrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from benchmark import __version__
from leaderboard.paper.compare import RULE, Comparison
from leaderboard.read.results import Results
from leaderboard.stats.intervals import Estimate
from leaderboard.tables import studies
from leaderboard.tables.catalogue import build
from leaderboard.tables.table import MISSING, Table, Value, spelled
from leaderboard.write.formats import markdown as plain
from leaderboard.write.formats import to_markdown

VERDICTS = {True: "agrees", False: "disagrees", None: "not compared"}
EXPLANATIONS = {
    "final_best": "Campaigns: the paper does not say which 50 molecules they start from, and the intervals are over "
    "campaigns from one start. Five of ERM from each of four other starts find a best of 1.7 to 3.1 in the mean on "
    "FreeSolv and of 0.8 to 1.4 on ESOL; two of them overlap by 0.38 to 0.86 and 0.31 to 0.82.",
    "abs_delta_f1": "F1: on balanced datasets the published drift of F1 equals that of accuracy to the last digit, as "
    "that of a macro-average would; ours is of class 1.",
    "top10_jaccard": "Top 10: where many test examples have a probability of 1 in float32, the published overlap is "
    "near what a random order of these ties gives. Ours orders them by their odds.",
    "n_train": "Training rows: the published counts of MOF-thermal, MOF-solvent and TADF are not those of the 80/20 "
    "split that the paper describes.",
}
"""By metric that disagrees: what explains it, found by computing the alternatives."""


INTRODUCTION = (
    "Made by `python -m leaderboard compare --store leaderboard/published/"
    f"{__version__} --markdown RESULTS.md` from the predictions in that folder: every number of a table is computed. "
    "What explains the disagreements with the paper, at the end, was found once and is typed. "
    "`python -m leaderboard build --store leaderboard/published/"
    f"{__version__}` makes the pages from them."
)


def text(comparisons: Sequence[Comparison]) -> str:
    """Every published value with ours beside it, then the counts."""
    rows = [(*_row(c), c.why or VERDICTS[c.agrees]) for c in comparisons]
    whole = Table("compare", "", "", (*HEADER, "verdict"), tuple(rows))
    return "\n".join([to_markdown(whole), _headline(comparisons), "", RULE, ""])


def markdown(comparisons: Sequence[Comparison]) -> str:
    """The counts of each table and metric, each value that disagrees, and what could not be compared and why."""
    parts = [_headline(comparisons), RULE, to_markdown(_counts(comparisons))]
    apart = [c for c in comparisons if c.agrees is False]
    if apart:
        rows = [(*_row(c), {True: "yes", False: "no", None: MISSING}[c.agrees_wider]) for c in apart]
        header = (*HEADER, "agrees if test examples differ")
        parts += ["### Disagreements", to_markdown(Table("disagreements", "", "", header, tuple(rows)))]
        metrics = {c.published.metric for c in apart}
        parts += [f"- {sentence}" for metric, sentence in EXPLANATIONS.items() if metric in metrics]
    left = [c for c in comparisons if c.agrees is None]
    if left:
        parts += ["### Not compared", "\n".join(_reasons(left))]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


SHOWN = ("main", "magnitudes", "ranks", "borderline", "filter", "regression", "compute")


def page(results: Results, comparisons: Sequence[Comparison]) -> str:
    """The main tables of ``results`` and their comparison with what was published, as a page of Markdown."""
    parts = [f"# Results of churn-benchmark {__version__}", INTRODUCTION]
    found = {table.key: table for table in build(results)}
    for made in (found[key] for key in SHOWN if key in found):
        notes = "\n".join(f"- {plain(note)}" for note in made.notes)
        parts += [f"## {made.title}", made.caption, to_markdown(made), *([notes] if notes else [])]
    for one in studies.told(results)[0]:
        parts += [f"## Study: {one.title}", *one.report.answer]
        for sheet in (studies.table(one, sheet) for sheet in one.report.sheets):
            parts += [
                f"### {sheet.title}",
                sheet.caption,
                to_markdown(sheet),
                *(f"- {plain(note)}" for note in sheet.notes),
            ]
    parts += ["## Beside the paper's numbers", markdown(comparisons)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


HEADER = ("table", "dataset", "method", "split", "metric", "published", "ours")


def _row(c: Comparison) -> tuple[str | Value, ...]:
    p = c.published
    digits = round(-np.log10(p.last_place))
    signed = p.metric.startswith("delta")
    published = Value.of(Estimate(p.value, p.low, p.high), digits=digits, signed=signed)
    ours = Value.of(c.ours, digits=digits, signed=signed)
    if c.ours is not None and c.ours.low == c.ours.high:  # a count, not an estimate
        ours = Value(spelled(c.ours.value, digits), c.ours.value)
    return (p.table, p.dataset, p.method, str(p.canonical_seed), _metric(c), published, ours)


def _metric(c: Comparison) -> str:
    return f"{c.published.metric} ({c.published.unit})" if c.published.unit else c.published.metric


def _headline(comparisons: Sequence[Comparison]) -> str:
    """The counts of published numbers: one that several tables list counts once, and agrees if it does in all."""
    numbers = [some for _, some in _grouped(comparisons, _number)]
    verdicts = [_verdict(some) for some in numbers]
    compared = len(verdicts) - verdicts.count(None)
    share = f" ({100 * verdicts.count(True) / compared:.0f} %)" if compared else ""
    judged = sum(c.agrees is not None and c.ours is not None and c.ours.low < c.ours.high for c, *_ in numbers)
    repeated = len(comparisons) - len(numbers)
    return (
        f"{verdicts.count(True)} of {compared} compared values agree{share}; {verdicts.count(False)} disagree; "
        f"{verdicts.count(None)} of {len(verdicts)} published values were not compared. Of those compared "
        f"{judged} have an interval to be judged by, {compared - judged} must be equal."
        + (f" Values that several tables list count once here: {repeated} are listed again." if repeated else "")
    )


def _number(c: Comparison) -> tuple[object, ...]:
    """What a published number is of, in whichever table."""
    p = c.published
    return p.dataset, p.method, p.canonical_seed, p.metric, p.unit


def _verdict(some: Sequence[Comparison]) -> bool | None:
    known = [c.agrees for c in some if c.agrees is not None]
    return all(known) if known else None


def _counts(comparisons: Sequence[Comparison]) -> Table:
    rows: list[tuple[str | Value, ...]] = []
    for (table, metric), some in _grouped(comparisons, lambda c: (c.published.table, _metric(c))):
        compared = [c for c in some if c.agrees is not None]
        agree = sum(c.agrees is True for c in compared)
        gaps = [c.ours.value - c.published.value for c in compared if c.ours is not None]
        difference = (
            Value(MISSING) if not gaps else Value.of(Estimate(float(np.mean(gaps)), np.nan, np.nan), 1, 3, True)
        )
        counts = [Value(str(n), n) for n in (len(compared), agree, len(some) - len(compared))]
        rows.append((table, metric, *counts, difference))
    header = ("table", "metric", "compared", "agree", "not compared", "mean difference, ours − published")
    return Table("counts", "", "", header, tuple(rows))


def _reasons(left: Sequence[Comparison]) -> list[str]:
    lines = []
    for table, some in _grouped(left, lambda c: c.published.table):
        reasons = [f"{why} ({len(those)})" for why, those in _grouped(some, lambda c: c.why)]
        more = f"; and {len(reasons) - 4} more reasons" if len(reasons) > 4 else ""
        lines.append(f"- {table}: {len(some)} value{'s' * (len(some) > 1)}. {'; '.join(reasons[:4])}{more}.")
    return lines


K = TypeVar("K")


def _grouped(comparisons: Iterable[Comparison], key: Callable[[Comparison], K]) -> list[tuple[K, list[Comparison]]]:
    """Those with an equal ``key`` together, in the order of their first."""
    groups: dict[K, list[Comparison]] = {}
    for comparison in comparisons:
        groups.setdefault(key(comparison), []).append(comparison)
    return list(groups.items())
