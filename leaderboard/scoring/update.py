"""What an update of a model changed, which part of it is chance, and which predictions changed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import pandas as pd
from markupsafe import Markup

from benchmark import __version__
from benchmark.measure.intervals import Estimate, jackknife, over_both, over_examples
from leaderboard.scoring.gate import Flipped, flipped, share_of
from leaderboard.scoring.reports import ends
from leaderboard.scoring.runs import Runs
from leaderboard.tables.table import Table, Value
from leaderboard.write import formats as writers
from leaderboard.write.templates import render

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
    def interval(self) -> str:
        if self.runs == 1:
            return "95 % intervals over examples: the range expected for these models on other examples."
        return "95 % intervals over runs and examples: the range expected for other runs on other examples."


def update(old: Runs, new: Runs, again: Runs | None = None, tolerance: float | None = None) -> Update:
    """Compare an old and a new model, and tell flips by chance from flips by new rows.

    ``again`` are runs of the old model, trained again on the same rows. Without them, several old runs are compared
    with each other; a single one leaves chance unknown. Raises UserError as ``flipped`` does.
    """
    found = flipped(old, new, tolerance)
    cases = dict(found.kinds)
    by_chance = _by_chance(old, again, found)
    estimates = {"flips": share_of(cases["flips"])}
    if by_chance is not None:
        estimates |= {"chance": share_of(by_chance), "new_rows": _mean(cases["flips"] - by_chance.astype(float))}
    estimates |= {kind: share_of(cases[kind]) for kind in ("good", "bad", "other") if kind in cases}
    y = found.both.y
    if y is not None:
        regression = found.both.kind == "values"
        before, after = (np.abs(of - y) if regression else of == y for of in (found.old, found.new))
        gain = (after.astype(float) - before) * (-1 if regression else 1)
        estimates |= {"before": _mean(before), "after": _mean(after), "gain": _mean(gain)}
    return Update(estimates, _examples(found, by_chance), len(found.old), found.both.kind == "values", found.tolerance)


def _by_chance(old: Runs, again: Runs | None, found: Flipped) -> np.ndarray | None:
    """Return which predictions (R, T) flip between the old model and one trained again on its rows."""
    if again is not None:
        return flipped(old, again, found.tolerance).kinds["flips"]
    if len(old.names) < 2:
        return None
    others = np.roll(found.old, 1, axis=0)
    return np.abs(found.old - others) > found.tolerance if found.both.kind == "values" else found.old != others


def _mean(cases: np.ndarray) -> Estimate:
    """Return the mean of cases (R, T) with its interval over examples and, if R > 1, over runs."""
    by_example = cases.mean(axis=0, dtype=float)
    if len(cases) == 1:
        return over_examples([by_example])
    by_run = cases.mean(axis=1, dtype=float)
    return over_both([by_run], [by_example]) if np.ptp(by_run) else jackknife([by_example])


def _examples(found: Flipped, by_chance: np.ndarray | None) -> pd.DataFrame:
    both = found.both
    table = pd.DataFrame({"example_id": both.ids.astype(object)})
    for name, of in (("old", found.old), ("new", found.new)):
        if both.kind == "values":
            table[name] = of.mean(axis=0)
        else:
            counts = np.stack([(of == c).sum(axis=0) for c in range(len(both.classes))], axis=1)
            table[name] = np.array(both.classes, dtype=object)[counts.argmax(axis=1)]
    if both.y is not None:
        table["y_true"] = both.y if both.kind == "values" else np.array(both.classes, dtype=object)[both.y]
    table["flips"] = found.kinds["flips"].mean(axis=0)
    order = table["flips"]
    if by_chance is not None:
        table["by_chance"] = by_chance.mean(axis=0)
        order = table["flips"] - table["by_chance"]
    for kind in ("good", "bad"):
        if kind in found.kinds:
            table[kind] = found.kinds[kind].mean(axis=0)
    return table.iloc[np.lexsort((-table["flips"], -order))].reset_index(drop=True)


def table(of: Update) -> Table:
    """Return the estimates as a table."""
    rows = []
    for name, estimate in of.estimates.items():
        title = OF_VALUES.get(name, TITLES[name]) if of.regression else TITLES[name]
        number = of.regression and name in ("before", "after", "gain")
        unit = "" if number else " (pp)" if name in SIGNED else " (%)"
        value = Value.of(estimate, 1 if number else 100, 3 if number else 1, signed=name in SIGNED)
        rows.append((title + unit, value))
    moved = f" A value flips if it moves by more than {of.tolerance:.3g}." if of.regression else ""
    caption = f"{len(of.examples)} examples, {of.runs} {'run' if of.runs == 1 else 'runs'}.{moved} {of.interval}"
    return Table("update", "Update", caption, ("Measure", "Estimate"), tuple(rows), kind="both")


def sentences(of: Update) -> list[str]:
    """Say what the numbers mean."""
    flips, chance = of.estimates["flips"], of.estimates.get("chance")
    if chance is None:
        return [
            "It is unknown how many of these flips are due to chance: to find out, train the old model again on the "
            "same rows with another random seed, and give its predictions as --retrained."
        ]
    new = of.estimates["new_rows"]
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


def to_markdown(of: Update, n: int = 20) -> str:
    """Return the report in Markdown, as for a comment on a pull request."""
    parts = [f"### {_headline(of)}", writers.to_markdown(table(of)), *sentences(of), table(of).caption]
    return "\n\n".join([*parts, f"#### Predictions that change most ({n})", writers.to_markdown(first(of, n))]) + "\n"


def to_json(of: Update) -> str:
    """Return everything as JSON at full precision: fractions and target units, null for a missing interval."""
    content = {
        "suite": __version__,
        "runs": of.runs,
        "n_examples": len(of.examples),
        "tolerance": of.tolerance if of.regression else None,
        **{name: ends(estimate) for name, estimate in of.estimates.items()},
        "notes": [*sentences(of), of.interval],
        "examples": json.loads(of.examples.to_json(orient="records")),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def to_html(of: Update, source: str, n: int = 50) -> str:
    """Return a self-contained page in the style of the leaderboard."""
    return render(
        "update.html",
        style=Markup((files("leaderboard") / "static" / "site.css").read_text(encoding="utf-8")),
        headline=_headline(of),
        source=source,
        tables=[table(of)],
        sentences=sentences(of),
        changed=first(of, n),
        to_html=writers.to_html,
    )


def _headline(of: Update) -> str:
    return f"The update flips {100 * of.estimates['flips'].value:.1f} % of the predictions"


def first(of: Update, n: int) -> Table:
    """Return the first ``n`` examples that flip, with shares of the runs."""
    some = of.examples[of.examples["flips"] > 0].head(n)
    rows = []
    for _, row in some.iterrows():
        texts = [_spelled(row[name], name) for name in some.columns]
        rows.append(tuple(texts))
    header = tuple(SHARES.get(str(name), str(name)) for name in some.columns)
    caption = "Shares are those of the runs in which a prediction flips."
    return Table("changed", "Predictions that change", caption, header, tuple(rows))


def _spelled(value: object, name: str) -> str | Value:
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    if name in SHARES:
        return Value(f"{100 * number:.0f} %", 100 * number)
    return Value(f"{number:.3g}", number)
