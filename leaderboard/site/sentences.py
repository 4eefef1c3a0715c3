"""The sentences of the first page, from the same numbers as its table."""

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from benchmark.measure.catalogue import ORDER
from benchmark.measure.intervals import IntervalKind
from benchmark.types import REFERENCE, TASKS, Sampling
from leaderboard.figures.build import TRAINED_ON
from leaderboard.read.results import Results, slug
from leaderboard.tables.boards import EVALSETS, SUSPICIONS
from leaderboard.tables.builders.churn_to_expect import scale_of
from leaderboard.tables.builders.places import stable
from leaderboard.tables.churn_lines import models, with_method
from leaderboard.tables.order import RULE
from leaderboard.tables.summary import NARROW, Summary, SummaryRow, summaries
from leaderboard.tables.table import spelled, spelled_p


def answer(summary: Summary) -> Markup:
    """Return the main finding in a sentence: the churn of ERM, and which method comes first."""
    erm, first = summary.reference, next(iter(summary.placed), None)
    if erm is None:
        command = f"churn run --method {REFERENCE}"
        return Markup("ERM, the reference, has not been run on these datasets. Run <code>{}</code> on them.").format(
            command
        )
    ordered = ORDER[summary.task]
    column = next(known for known in summary.columns if known.key == ordered.key)
    own, flips = erm.estimates.get(ordered.key), erm.estimates.get("churn")
    place = f"Over {summary.over}" if len(summary.datasets) > 1 else f"On {summary.datasets[0].title}"
    if own is None or np.isnan(own.value):
        undefined = Markup("{}, the {} of {} is undefined, which takes two retrainings that are not constant.")
        return undefined.format(place, ordered.name, _link(erm))
    if flips is None:
        share = Markup("{}, {} % of the variance of {}'s predictions comes from retraining (1 − ICC)")
        usual = share.format(place, spelled(100 * own.value), _link(erm))
    else:
        test = "test" if summary.evalset == "id" else EVALSETS[summary.evalset]
        usual = Markup("{}, two retrainings of {} disagree on {} % of the {} predictions ({} {} %)").format(
            place, _link(erm), spelled(100 * flips.value), test, ordered.name, spelled(100 * own.value)
        )
    if first is None or first is erm:
        return Markup("{}; no other method that keeps accuracy comes before it.").format(usual)
    value = column.show(first.estimates.get(ordered.key)).text.partition(" ")[0]
    tied, others = (first.places or (1, 1))[1] - 1, ""
    if tied and summary.between is not None:
        others = f", and {tied} other{'s' * (tied > 1)} may be as good {summary.between.where}"
    return Markup("{}; of the methods that keep accuracy, <strong>{}</strong> comes first, with {} %{}.").format(
        usual, _link(first), value, others
    )


def elsewhere(summary: Summary, whole: Results, kind: IntervalKind) -> Iterator[tuple[Sampling, str, int]]:
    """Yield each other sampling of the site under which another method comes first, that method, and among how many.

    If another sampling has no wide set of datasets, the paper's datasets are compared.
    """
    for part in whole.by_sampling:
        theirs = {known.key: known for known in summaries(part, kind, summary.evalset)}
        same = theirs.get(summary.key) or theirs.get(f"{summary.task}/{NARROW[summary.task]}")
        if part.sampling != summary.datasets[0].sampling and same is not None and same.placed and summary.placed:
            first = same.placed[0]
            if first.spelled != summary.placed[0].spelled:
                yield part.sampling, first.title, len(same.placed)


MOST_NAMED = 12
"""Number of datasets up to which a note names them."""
BRIEF = 240
"""Characters of a study's answer that are always visible."""


def to_expect(results: Results) -> Iterator[str]:
    """Yield for each task how much churn a reader with a table of their own can expect; none for too few families."""
    fitted = models(results)
    for task in TASKS:
        method = next((model.method for model in fitted if model.task == task), None)
        if method is None:
            continue
        churns = [scale_of(task)[0] * point.churns[method] for point in with_method(results, task, method)]
        digits = 2 if task == "regression" else 0
        low, middle, high = (spelled(value, digits) for value in np.quantile(churns, (0, 0.5, 1)))
        if task == "regression":
            unit = "standard deviations of the target"
            range_ = f"predictions differ by {low} to {high} {unit} on average (median {middle})"
        else:
            range_ = f"{low} to {high} % of predictions flip (median {middle} %)"
        yield (
            f"{task.capitalize()}: over {len(churns)} families of datasets, {range_} between two {method} models "
            f"that were trained on {TRAINED_ON[results.sampling]}."
        )


def in_brief(answer: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split a study's answer into the sentences to show at once and the rest to fold: none, or at least two.

    >>> in_brief(["BACE: 8 %.", "DILI: " + "a long story " * 20, "Pgp: 5 %."])[0]
    ['BACE: 8 %.']
    """
    shown = next((n for n in range(len(answer), 1, -1) if len(" ".join(answer[:n])) <= BRIEF), 1)
    return (answer, ()) if len(answer) - shown < 2 else (answer[:shown], answer[shown:])


def notes(summary: Summary) -> list[str]:
    """Explain the coverage of the table and the meaning of its ranks."""
    names = ", ".join(dataset.title for dataset in summary.datasets)
    over = names if len(summary.datasets) <= MOST_NAMED else summary.over
    tests = f"{EVALSETS[summary.evalset]}s of {over}. 95 % intervals over {summary.interval}."
    lines = [f"{tests} {RULE}", *filter(None, [stable(summary)])]
    if summary.left_out:
        titles = ", ".join(dataset.title for dataset in summary.left_out)
        lines.append(f"Left out until more methods have results: {titles}.")
    if differences := summary.tests():
        lines.append(
            f"Green and red are not adjusted for the number of differences from ERM: {differences} in this table, "
            "including its hidden columns."
        )
    lines += [text for mark, text in SUSPICIONS.items() if any(mark in row.suspicions for row in summary.rows)]
    ranking = summary.ranking
    if ranking is not None and ranking.chi2 == ranking.chi2:
        once = f" ({'; '.join(summary.together)} count once)" if summary.together else ""
        lines.append(
            f"Friedman's test of the mean ranks by raw churn over {ranking.n} {'families' if once else 'datasets'}"
            f"{once}, regardless of lost accuracy: χ² = {ranking.chi2:.1f}, {spelled_p(ranking.p)}. Nemenyi's critical "
            f"difference of mean ranks is {ranking.critical_difference:.1f}."
        )
    return lines


def _link(row: SummaryRow) -> Markup:
    return Markup('<a href="methods/{}.html">{}</a>').format(slug(row.title), row.title)
