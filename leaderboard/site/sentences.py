"""What the first page says in words, from the same numbers as its table."""

from __future__ import annotations

from markupsafe import Markup

from benchmark.registry import REFERENCE
from leaderboard.results import slug
from leaderboard.site.summary import Row, Summary
from leaderboard.table import Value, spelled


def answer(summary: Summary) -> Markup:
    """The one sentence that a reader should leave with."""
    erm, best = summary.reference, summary.best
    if erm is None:
        command = f"python -m benchmark run --method {REFERENCE}"
        return Markup("There is no ERM here to compare with. Run <code>{}</code> on these datasets.").format(command)
    found = [_reference(summary, erm)]
    if best is None or best is erm:
        found.append(Markup("No other method that keeps its accuracy ranks better."))
    else:
        found.append(_best(summary, best))
    return Markup(" ").join(found)


def _reference(summary: Summary, erm: Row) -> Markup:
    n = len(summary.datasets)
    where = f"{n} datasets" if n > 1 else summary.datasets[0].title
    churn = erm.estimates.get("churn")
    if churn is None:
        return Markup("Over {}:").format(where) if n > 1 else Markup("On {}:").format(where)
    return Markup("{} {}, two retrainings of {} disagree on {} % of the test predictions.").format(
        "Over" if n > 1 else "On", where, _link(erm), spelled(100 * churn.value)
    )


def _best(summary: Summary, best: Row) -> Markup:
    shown = {measure.key: measure.show(best.estimates.get(measure.key)) for measure in summary.measures}
    name = Markup("<strong>{}</strong>").format(_link(best))
    compute = Markup("at {} times the compute").format(_number(shown["compute"]))
    if summary.task == "classification":
        return Markup("{} ranks best: its retrainings disagree on {} % ({} pp{}), with accuracy {} pp, {}.").format(
            name,
            _number(shown["churn"]),
            _number(shown["delta_churn"]),
            _interval(shown["delta_churn"]),
            _number(shown["delta_accuracy"]),
            compute,
        )
    return Markup("{} ranks best: its churn differs from ERM's by {} %{}, its error by {} %, {}.").format(
        name,
        _number(shown["delta_churn"]),
        _interval(shown["delta_churn"]),
        _number(shown["delta_mae"]),
        compute,
    )


def notes(summary: Summary) -> list[str]:
    """What the table is over, and what its ranks mean."""
    names = ", ".join(dataset.title for dataset in summary.datasets)
    lines = [f"Ranked by churn on the ID tests of {names}."]
    if summary.left_out:
        left = ", ".join(dataset.title for dataset in summary.left_out)
        lines.append(f"Left out until more methods have run there: {left}.")
    ranking = summary.ranking
    if ranking is not None and ranking.chi2 == ranking.chi2:
        together = [block for block in ranking.blocks if " + " in block]
        once = f" ({'; '.join(together)} count once)" if together else ""
        lines.append(
            f"Friedman's test over {ranking.n} datasets{once}: χ² = {ranking.chi2:.1f}, p = {ranking.p:.2g}. Mean "
            f"ranks closer than {ranking.critical_difference:.2f} do not differ significantly (Nemenyi): those methods "
            "share a letter."
        )
    return lines


def _interval(value: Value) -> Markup:
    interval = value.text.partition(" ")[2]
    return Markup(' <span class="interval">{}</span>').format(interval) if interval else Markup()


def _number(value: Value) -> str:
    return value.text.partition(" ")[0]


def _link(row: Row) -> Markup:
    return Markup('<a href="methods/{}.html">{}</a>').format(slug(row.title), row.title)
