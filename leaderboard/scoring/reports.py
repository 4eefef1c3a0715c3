"""A score as text for the terminal, JSON, and a page of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import pandas as pd
from markupsafe import Markup

from benchmark import __version__
from benchmark.measure.catalogue import find
from leaderboard.scoring.review import fragile
from leaderboard.scoring.score import Score
from leaderboard.scoring.standing import Standing
from leaderboard.stats.intervals import INTERVAL_KINDS, Estimate
from leaderboard.tables.columns import absolute
from leaderboard.tables.table import Table, Value
from leaderboard.write import formats as writers
from leaderboard.write.templates import render

TWO = (
    "Two runs say which predictions flipped once, and that is what to review first. They cannot tell how much the "
    "churn itself would vary (its interval needs three runs), nor how often an example flips: those that agreed "
    "by luck look stable."
)
HERE = "The same runs rank the examples and count their flips: of further runs, fewer flips lie at the top."


def facts(score: Score) -> Table:
    """The estimates in one table."""
    rows = [
        (measure.title, absolute(measure).show(estimate))
        for key, estimate in score.estimates.items()
        if (measure := find(key, score.runs.task)) is not None
    ]
    caption = f"{len(score.runs.names)} runs, {len(score.runs.ids)} examples, read as {score.runs.kind}."
    return Table("score", "Score", caption, ("Measure", "Estimate"), tuple(rows), kind=score.kind)


def by_class(score: Score) -> Table | None:
    """Churn over the examples of each true class; None without truth."""
    rows = [(name, Value(str(n), n), Value.of(found, 100, most=1)) for name, (n, found) in score.per_class.items()]
    header = ("True class", "Examples", "Churn (%)")
    return (
        Table("per_class", "By true class", "Churn over its examples.", header, tuple(rows), kind=score.kind)
        if rows
        else None
    )


def sentences(score: Score) -> list[str]:
    """What to know beside the numbers."""
    found = [] if len(score.runs.names) > 2 else [TWO]
    if score.kind != "runs" or len(score.runs.names) > 2:
        found.insert(0, INTERVAL_KINDS[score.kind])
    if score.runs.columns:
        found.insert(0, score.runs.columns)
    flips = score.flips
    many = len(score.runs.classes) > 2  # of two classes one is right
    rest = f"; {100 * flips.rest:.1f} % go from one wrong class to another" if flips and many else ""
    if flips and flips.broken is not None and flips.mended is not None:
        found.append(
            f"From the first run to the second {100 * flips.broken:.1f} % of the examples turn wrong (bad flips) and "
            f"{100 * flips.mended:.1f} % right (good flips){rest}."
        )
    elif flips:
        found.append(
            f"Between two runs {100 * flips.changed:.1f} % of the examples change between right and wrong, half of "
            f"them either way because neither run comes first{rest}."
        )
    if score.example_churn.max() > 0:
        ordered = score.example_churn[score.ranking]
        tenth = math.ceil(len(ordered) / 10)
        found.append(
            f"The first tenth of the list has {100 * ordered[:tenth].sum() / ordered.sum():.0f} % of the churn. {HERE}"
        )
    return found


def triage(score: Score, n: int) -> Table:
    """The first ``n`` examples of the ranking."""
    frame = fragile(score, n)
    rows = tuple(tuple(_cell(value) for value in row) for row in frame.itertuples(index=False))
    meaning = {
        "votes": "votes are how many runs predict each class",
        "margin": "margin is how far the mean probability of the first class is above that of the second",
    }
    said = "; ".join(text for name, text in meaning.items() if name in frame.columns)
    caption = f"The {len(frame)} most fragile of {len(score.runs.ids)} examples{f': {said}' if said else ''}."
    return Table("fragile", "Most fragile examples", caption, tuple(map(str, frame.columns)), rows)


def _cell(value: Any) -> str | Value:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not pd.api.types.is_number(value):
        return "yes" if value else "no"
    number = float(str(value))
    return Value(f"{number:.0f}" if number == round(number) else f"{number:.3f}", number)


def terminal(tables: Sequence[Table], lines: Sequence[str] = ()) -> None:
    """Print ``tables`` and ``lines``; plain text where the output is no terminal."""
    from rich.console import Console
    from rich.table import Table as Shown
    from rich.text import Text

    console = Console(width=None if Console().is_terminal else 120)
    for table in tables:
        shown = Shown(title=table.title, title_justify="left", caption=table.caption, caption_justify="left")
        for name, number in zip(table.header, table.numeric(), strict=True):
            shown.add_column(name, justify="right" if number else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*(Text(cell if isinstance(cell, str) else cell.text) for cell in row))
        console.print(shown)
    for line in lines:
        console.print(Text(line))


def to_json(score: Score, where: Standing) -> str:
    """Everything, at full precision: fractions and target units; null where there is no interval."""
    made = {
        "suite": __version__,
        "source": score.runs.source,
        "read_as": score.runs.kind,
        "runs": score.runs.names,
        "classes": score.runs.classes,
        "n_examples": len(score.runs.ids),
        "interval": score.kind,
        **{name: _ends(estimate) for name, estimate in score.estimates.items()},
        "per_class": {name: {"n": n, "churn": _ends(found)} for name, (n, found) in score.per_class.items()},
        "flips": vars(score.flips) if score.flips else None,
        "notes": sentences(score),
        "standing": list(where.sentences),
        "published": json.loads(writers.to_json(where.table)) if where.table else None,
        "ranking": [
            {"example_id": str(score.runs.ids[t]), "churn": round(float(score.example_churn[t]), 10)}
            for t in score.ranking
        ],
    }
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def _ends(estimate: Estimate) -> dict[str, float | None]:
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: None if math.isnan(x) else x for name, x in ends.items()}


def to_html(score: Score, where: Standing, n: int) -> str:
    """One page that needs nothing else, in the style of the leaderboard."""
    tables = [table for table in (facts(score), by_class(score)) if table]
    return render(
        "score.html",
        style=Markup((files("leaderboard") / "static" / "site.css").read_text(encoding="utf-8")),
        score=score,
        tables=tables,
        sentences=sentences(score),
        where=where,
        triage=triage(score, n),
        to_html=writers.to_html,
    )
