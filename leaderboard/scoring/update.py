"""Report on an update of a model: what it changed, which part of it is chance, and which predictions changed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark.errors import number_of
from benchmark.measure.intervals import Estimate, jackknife, over_both, over_examples
from leaderboard.scoring import reports
from leaderboard.scoring.gate import Flipped, flipped, share_of
from leaderboard.scoring.runs import Runs
from leaderboard.tables.table import Table, Value
from leaderboard.write import formats as writers

TITLES = {
    "flips": "Predictions that flip",
    "chance": "Flips by chance (trained again on the same rows)",
    "new_rows": "The difference: flips due to the new rows",
    "good": "Good flips (wrong to right)",
    "bad": "Bad flips (right to wrong)",
    "other": "Flips from wrong to wrong",
    "before": "Accuracy before",
    "after": "Accuracy after",
    "gain": "Gain in accuracy",
}
OF_VALUES = {
    "good": "Good flips (the error decreases)",
    "bad": "Bad flips (the error increases)",
    "before": "MAE before",
    "after": "MAE after",
    "gain": "Decrease in MAE",
}
"""Titles that differ in a regression."""
SHARES = {"flips": "flips in", "by_chance": "by chance in", "good": "good in", "bad": "bad in"}
"""Columns with shares of the runs, and their headers."""
FIRST = 20
"""Number of examples that are shown."""
SIGNED = ("new_rows", "gain")


@dataclass(frozen=True)
class Update:
    """The estimates of an update, and a row for each example, those most likely to change through new rows first."""

    estimates: Mapping[str, Estimate]
    examples: pd.DataFrame
    runs: int
    regression: bool
    tolerance: float

    @property
    def headline(self) -> str:
        return f"The update flips {100 * self.estimates['flips'].value:.1f} % of the predictions"

    @property
    def interval(self) -> str:
        if self.runs == 1:
            return "95 % intervals over examples: the range expected for these models on other examples."
        return "95 % intervals over runs and examples: the range expected for other runs on other examples."


def update(old: Runs, new: Runs, again: Runs | None = None, tolerance: float | None = None) -> Update:
    """Compare an old and a new model, and tell flips by chance from flips by new rows.

    ``again`` are runs of the old model, trained again on the same rows. Without them, several old runs are compared
    with each other; a single one leaves chance unknown. Raises UserError as ``flipped`` does.
    """
    old.check_tolerance(tolerance)
    changes = flipped(old, new, tolerance)
    y, cases, regression = changes.both.y, changes.kinds, changes.both.kind == "values"
    by_chance = None
    if again is not None:
        by_chance = flipped(old, again, changes.tolerance).kinds["flips"]
    elif len(changes.old) > 1:
        others = np.roll(changes.old, 1, axis=0)
        by_chance = np.abs(changes.old - others) > changes.tolerance if regression else changes.old != others
    estimates = {"flips": share_of(cases["flips"])}
    if by_chance is not None:
        estimates |= {"chance": share_of(by_chance), "new_rows": _mean(cases["flips"] - by_chance.astype(float))}
    estimates |= {kind: share_of(cases[kind]) for kind in ("good", "bad", "other") if kind in cases}
    if y is not None:
        before, after = (np.abs(p - y) if regression else p == y for p in (changes.old, changes.new))
        gain = (after.astype(float) - before) * (-1 if regression else 1)
        estimates |= {"before": _mean(before), "after": _mean(after), "gain": _mean(gain)}
    return Update(estimates, _examples(changes, by_chance), len(changes.old), regression, changes.tolerance)


def _mean(cases: np.ndarray) -> Estimate:
    """Return the mean of cases (R, T) with its interval over examples and, if R > 1, over runs."""
    by_example = cases.mean(axis=0, dtype=float)
    if len(cases) == 1:
        return over_examples([by_example])
    by_run = cases.mean(axis=1, dtype=float)
    return over_both([by_run], [by_example]) if np.ptp(by_run) else jackknife([by_example])


def _examples(changes: Flipped, by_chance: np.ndarray | None) -> pd.DataFrame:
    both, regression = changes.both, changes.both.kind == "values"
    classes = np.array(both.classes, dtype=object)
    table = pd.DataFrame({"example_id": both.ids.astype(object)})
    for name, p in (("old", changes.old), ("new", changes.new)):
        votes = [] if regression else [(p == c).sum(axis=0) for c in range(len(classes))]
        table[name] = p.mean(axis=0) if regression else classes[np.argmax(votes, axis=0)]
    if both.y is not None:
        table["y_true"] = both.y if regression else classes[both.y]
    shares = {"flips": changes.kinds["flips"]} | ({} if by_chance is None else {"by_chance": by_chance})
    shares |= {kind: changes.kinds[kind] for kind in ("good", "bad") if kind in changes.kinds}
    for kind, cases in shares.items():
        table[kind] = cases.mean(axis=0)
    order = table["flips"] - table.get("by_chance", 0)
    return table.iloc[np.lexsort((-table["flips"], -order))].reset_index(drop=True)


def table(report: Update) -> Table:
    """Return the estimates as a table."""
    titles = TITLES | (OF_VALUES if report.regression else {})
    rows = []
    for name, estimate in report.estimates.items():
        number = report.regression and name in ("before", "after", "gain")
        unit = "" if number else " (pp)" if name in SIGNED else " (%)"
        value = Value.of(estimate, 1 if number else 100, 3 if number else 1, signed=name in SIGNED)
        rows.append((titles[name] + unit, value))
    moved = f" A value flips if it moves by more than {report.tolerance:.3g}." if report.regression else ""
    caption = f"{number_of(len(report.examples), 'example')}, {number_of(report.runs, 'run')}.{moved} {report.interval}"
    return Table("update", "Update", caption, ("Measure", "Estimate"), tuple(rows), kind="both")


def sentences(report: Update) -> list[str]:
    """Say what the numbers mean."""
    flips, chance = report.estimates["flips"], report.estimates.get("chance")
    if chance is None:
        return [
            "It is unknown how many of these flips are due to chance: to find out, train the old model again on the "
            "same rows with another random seed, and give its predictions as --retrained."
        ]
    new = report.estimates["new_rows"]
    if flips.value == 0:
        return ["No prediction flips."]
    lines = [
        f"{100 * flips.value:.1f} % of predictions flip; {100 * chance.value:.1f} % would be expected to flip if the "
        "old model were only trained again on the same rows."
    ]
    if new.low > 0:
        lines.append(f"The new rows account for the difference, {100 * new.value:.1f} pp: its interval excludes 0.")
    elif not np.isnan(new.low):
        lines.append("The difference is not shown to exceed chance: its interval reaches 0 or below.")
    if chance.value == 0:
        lines.append("The old model predicts the same when it is trained again: its training has no randomness.")
    else:
        lines.append("Averaging several networks, or the old and the new model, reduces flips by chance.")
    return lines


def to_markdown(report: Update) -> str:
    """Return the report in Markdown, as for a comment on a pull request."""
    estimates, changed = table(report), first(report)
    parts = [f"### {report.headline}", writers.to_markdown(estimates), *sentences(report), estimates.caption]
    return "\n\n".join([*parts, f"#### {changed.title}", writers.to_markdown(changed)]) + "\n"


def to_json(report: Update) -> str:
    """Return everything as JSON at full precision: fractions and target units, null for a missing interval."""
    return reports.dump(
        {
            "runs": report.runs,
            "n_examples": len(report.examples),
            "tolerance": report.tolerance if report.regression else None,
            **{name: reports.ends(estimate) for name, estimate in report.estimates.items()},
            "notes": [*sentences(report), report.interval],
            "examples": report.examples.to_dict("records"),
        }
    )


def first(report: Update) -> Table:
    """Return the first examples that flip, with shares of the runs."""
    some = report.examples[report.examples["flips"] > 0].head(FIRST)
    rows = tuple(tuple(_spelled(row[name], str(name)) for name in some.columns) for _, row in some.iterrows())
    header = tuple(SHARES.get(str(name), str(name)) for name in some.columns)
    caption = "Shares are those of the runs in which a prediction flips."
    return Table("changed", f"Predictions that change most ({FIRST})", caption, header, rows)


def _spelled(value: object, name: str) -> str | Value:
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    return Value(f"{100 * number:.0f} %", 100 * number) if name in SHARES else Value(f"{number:.3g}", number)
