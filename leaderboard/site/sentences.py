"""The sentences of the first page, from the same numbers as its table."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from markupsafe import Markup, escape

from benchmark.measure.catalogue import KEPT, ORDER
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.types import REFERENCE, TASKS, Sampling, Task
from leaderboard.read.results import Results, slug
from leaderboard.tables.boards import SUSPICIONS
from leaderboard.tables.builders.churn_to_expect import scale_of
from leaderboard.tables.builders.places import stable
from leaderboard.tables.churn_lines import models, with_method
from leaderboard.tables.order import RULE
from leaderboard.tables.summary import NARROW, Summary, SummaryRow, summaries
from leaderboard.tables.table import Value, spelled


def answer(summary: Summary) -> Markup:
    """Return the main finding: the churn of ERM, the method that comes first, its price, and what churns less."""
    erm = summary.reference
    if erm is None:
        command = f"churn run --method {REFERENCE}"
        return Markup("ERM, the reference, has not been run on these datasets. Run <code>{}</code> on them.").format(
            command
        )
    parts = [_reference(summary, erm)]
    first = next(iter(summary.placed), None)
    if first is None or first is erm:
        parts.append(Markup("No other method that keeps accuracy comes before it."))
    else:
        parts.append(_price(summary, first, "comes first of the methods that keep accuracy"))
        parts += [Markup(_loss(mark, summary.task)) for mark in first.marks]
        unmarked = next((row for row in summary.placed if not row.marks), None)
        if first.marks and unmarked is not None and unmarked is not erm:
            parts.append(_price(summary, unmarked, "is the next method without a mark"))
    if first is not None:
        parts += [_cheap(summary, row) for row in summary.rows if not row.keeps and row.churn < first.churn][:2]
    return Markup(" ").join(parts)


def _cheap(summary: Summary, row: SummaryRow) -> Markup:
    """Say what a method may lose that would come before the first."""
    column = next(one for one in summary.columns if one.key == f"delta_{KEPT[summary.task].key}")
    change, unit = column.show(row.estimates.get(column.key)), "pp" if summary.task == "classification" else "%"
    words = "{} would come before it, but has no place: {} changes by {} {}{}."
    kept = KEPT[summary.task].name
    return Markup(words).format(_link(row), kept, _number(change), unit, _interval(change))


def _loss(mark: str, task: Task) -> str:
    """Say in words what a mark of a summary's row means, such as "† on MOF-thermal"."""
    limit = "accuracy is more than 5 pp below" if task == "classification" else "MAE is more than 5 % above"
    sign, _, where = mark.partition(" ")
    if sign == "†":
        return f"But {escape(where)}, its {limit} ERM's."
    return f"{escape(where[:1].upper() + where[1:])}, these retrainings cannot tell whether its {limit} ERM's."


def elsewhere(summary: Summary, whole: Results, kind: IntervalKind) -> Iterator[tuple[Sampling, Markup]]:
    """Yield each other sampling of the site on which methods of ``summary`` rank in another order, and what differs.

    A method with its default λ is the same method on all boards, whatever that λ is. If another sampling has no wide
    set of datasets, the paper's datasets are compared on both.
    """
    of_sampling = {part.sampling: {one.key: one for one in summaries(part, kind)} for part in whole.by_sampling}
    own = summary.datasets[0].sampling
    for sampling, theirs in of_sampling.items():
        narrow = f"{summary.task}/{NARROW[summary.task]}" if summary.group == "wide" else summary.key
        key = summary.key if summary.key in theirs else narrow
        first = next(iter(theirs[key].placed), None) if key in theirs and key in of_sampling[own] else None
        if first is None or sampling == own:
            continue
        both = of_sampling[own][key], theirs[key]
        here, there = ({row.spelled: row.rank for row in s.rows if row.rank} for s in both)
        pairs = list(combinations([name for name in here if name in there], 2))
        swapped = [p for p in pairs if _order(here, p) * _order(there, p) < 0]
        apart = [p for p in swapped if _separate(here, p) and _separate(there, p)]
        if swapped:
            where = "" if key == summary.key else " on the paper's datasets"
            yield (
                sampling,
                Markup(
                    "<strong>{}</strong> comes first{}. Of the {} pairs of methods that have a mean rank on both "
                    "boards, {} are in reverse order there, {} of them with disjoint rank intervals on both (not "
                    "adjusted for the number of pairs)."
                ).format(first.title, where, len(pairs), len(swapped), len(apart) or "none"),
            )


Ranks = Mapping[str, Estimate]


def _order(ranks: Ranks, pair: tuple[str, str]) -> float:
    return ranks[pair[0]].value - ranks[pair[1]].value


def _separate(ranks: Ranks, pair: tuple[str, str]) -> bool:
    lower, upper = sorted((ranks[name] for name in pair), key=lambda estimate: estimate.value)
    return lower.high < upper.low


MOST_NAMED = 12
"""Number of datasets up to which a note names them."""
BRIEF = 240
"""Characters of a study's answer that are always visible."""


TRAINED_ON: Mapping[Sampling, str] = {
    "halves": "the two halves of the training rows",
    "nested": "bootstraps of the training rows and saw nothing else",
    "paper": "bootstraps of the training rows",
    "update": "the same rows",
}


def to_expect(results: Results) -> Iterator[str]:
    """Yield for each task how much churn a reader with a table of their own can expect; none for too few families."""
    fitted = models(results)
    for task in TASKS:
        method = next((model.method for model in fitted if model.task == task), None)
        if method is None:
            continue
        churns = [scale_of(task)[0] * point.churns[method] for point in with_method(results, task, method)]
        low, middle, high = (f"{value:.2g}" for value in np.quantile(churns, (0, 0.5, 1)))
        if task == "regression":
            unit = "standard deviations of the target"
            range_ = f"predictions differ by {low} to {high} {unit} on average (median {middle})"
        else:
            range_ = f"{low} to {high} % of predictions flip (median {middle} %)"
        yield (
            f"{task.capitalize()}: over {len(churns)} families of datasets, {range_} between two models of {method} "
            f"that were trained on {TRAINED_ON[results.sampling]}."
        )


def in_brief(answer: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split a study's answer into the sentences to show at once and the rest to fold: none, or at least two.

    >>> in_brief(["BACE: 8 %.", "DILI: " + "a long story " * 20, "Pgp: 5 %."])[0]
    ['BACE: 8 %.']
    """
    shown = next((n for n in range(len(answer), 1, -1) if len(" ".join(answer[:n])) <= BRIEF), 1)
    return (answer, ()) if len(answer) - shown < 2 else (answer[:shown], answer[shown:])


def _reference(summary: Summary, erm: SummaryRow) -> Markup:
    several = len(summary.datasets) > 1
    place = f"Over {summary.over}" if several else f"On {summary.datasets[0].title}"
    ordered = ORDER[summary.task].key
    own, churn = erm.estimates.get(ordered), erm.estimates.get("churn")
    if own is None:
        return Markup("{}, ERM has no churn yet: churn needs two retrainings.").format(place)
    share = spelled(100 * own.value)
    if churn is None:
        return Markup("{}, {} % of the variance of {}'s predictions is retraining (1 − ICC).").format(
            place, share, _link(erm)
        )
    return Markup(
        "{}, two retrainings of {} disagree on {} % of the test predictions, and on {} % if both call the training "
        "pool's share of them positive (matched churn)."
    ).format(place, _link(erm), spelled(100 * churn.value), share)


def _price(summary: Summary, row: SummaryRow, praise: str) -> Markup:
    shown = {column.key: column.show(row.estimates.get(column.key)) for column in summary.columns}
    name = Markup("<strong>{}</strong> {}").format(_link(row), praise)
    ordered, kept = ORDER[summary.task], KEPT[summary.task]
    own, change, price = (shown[key] for key in (ordered.key, f"delta_{ordered.key}", f"delta_{kept.key}"))
    unit = "pp" if summary.task == "classification" else "%"
    return Markup("{}: its {} is {} % ({} pp{}); {} changes by {} {}{}, at {} times the compute.").format(
        *(name, ordered.name, _number(own), _number(change), _interval(change)),
        *(kept.name, _number(price), unit, _interval(price), _number(shown["compute"])),
    )


def notes(summary: Summary) -> list[str]:
    """Explain the coverage of the table and the meaning of its ranks."""
    names = ", ".join(dataset.title for dataset in summary.datasets)
    over = names if len(summary.datasets) <= MOST_NAMED else f"{summary.over}, which are listed below"
    lines = [f"ID tests of {over}. 95 % intervals over {summary.interval}. {RULE}", *filter(None, [stable(summary)])]
    if summary.left_out:
        titles = ", ".join(dataset.title for dataset in summary.left_out)
        lines.append(f"Left out until more methods have results: {titles}.")
    if tests := summary.tests():
        lines.append(
            f"Green and red are not adjusted for the number of differences from ERM: {tests} in this table, including "
            "its hidden columns."
        )
    lines += [text for mark, text in SUSPICIONS.items() if any(mark in row.suspicions for row in summary.rows)]
    ranking = summary.ranking
    if ranking is not None and ranking.chi2 == ranking.chi2:
        once = f" ({'; '.join(summary.together)} count once)" if summary.together else ""
        chance = "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.2g}"
        lines.append(
            f"Friedman's test of the mean ranks by raw churn over {ranking.n} datasets{once}, regardless of lost "
            f"accuracy: χ² = {ranking.chi2:.1f}, {chance}. Nemenyi's critical difference of mean ranks is "
            f"{ranking.critical_difference:.1f}."
        )
    return lines


def _interval(value: Value) -> Markup:
    interval = value.text.partition(" ")[2]
    return Markup(' <span class="interval">{}</span>').format(interval) if interval else Markup()


def _number(value: Value) -> str:
    return value.text.partition(" ")[0]


def _link(row: SummaryRow) -> Markup:
    return Markup('<a href="methods/{}.html">{}</a>').format(slug(row.title), row.title)
