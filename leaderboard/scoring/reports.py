"""A score as text for the terminal, JSON, and an HTML page."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from markupsafe import Markup

from benchmark import __version__
from benchmark.errors import number_of
from benchmark.measure.catalogue import find, tolerance_of
from benchmark.measure.intervals import INTERVAL_KINDS, Estimate
from leaderboard.scoring.review import fragile
from leaderboard.scoring.score import CARD, Score
from leaderboard.scoring.standing import Standing
from leaderboard.tables.columns import absolute
from leaderboard.tables.table import Table, Value
from leaderboard.write import formats as writers
from leaderboard.write.templates import render

TWO = (
    "Two runs show which predictions flipped once: review those first. They cannot tell how much the churn itself "
    "would vary (an interval needs three runs), nor how often an example flips: examples that agree by luck look "
    "stable."
)
HERE = (
    "This is optimistic, because the same runs rank the examples and supply the flips: in new runs the share is lower."
)
LEGEND = {
    "votes": "votes count the runs that predict each class",
    "margin": "margin is the gap between the two highest mean probabilities",
}


def facts(score: Score) -> Table:
    """Return a table of the estimates."""
    rows = [
        (measure.title, absolute(measure).show(estimate))
        for key, estimate in score.estimates.items()
        if (measure := find(key, score.runs.task)) is not None
    ]
    runs, examples = number_of(len(score.runs.names), "run"), number_of(len(score.runs.ids), "example")
    caption = f"{runs}, {examples}, read as {score.runs.kind}."
    return Table("score", "Score", caption, ("Measure", "Estimate"), tuple(rows), kind=score.kind)


def scorecard(score: Score, meanings: bool = False) -> Table | None:
    """Return a table of the scorecard, with or without what each number means; None where nothing is defined."""
    if not score.card:
        return None
    columns = ("Measure", "Estimate", "Meaning")[: 2 + meanings]
    rows = [(m.title, absolute(m).show(value), m.help)[: len(columns)] for m, value in score.card]
    caption = "Measures that decisions depend on besides churn."
    if score.runs.kind == "probabilities":
        caption += f" Class 1 is {score.runs.classes[1]}, against all others."
    if any(m.key == "beyond_tolerance" and m.needs_truth for m, _ in score.card):
        caption += f" The tolerance is {tolerance_of(score.runs.predictions()):.3g}; see --tolerance."
    return Table("scorecard", "Scorecard", caption, columns, tuple(rows), kind=score.kind)


def by_class(score: Score) -> Table | None:
    """Return a table of the churn over the examples of each true class; None without truth."""
    if not score.per_class:
        return None
    rows = tuple((name, Value(str(n), n), Value.of(value, 100, most=1)) for name, (n, value) in score.per_class.items())
    header = ("True class", "Examples", "Churn (%)")
    return Table("per_class", "By true class", "Churn over the examples of each class.", header, rows, kind=score.kind)


def sentences(score: Score) -> list[str]:
    """Return the remarks that belong to the numbers."""
    two = len(score.runs.names) == 2
    lines = [score.runs.columns] if score.runs.columns else []
    if score.kind != "runs" or not two:
        lines.append(INTERVAL_KINDS[score.kind])
    if two:
        lines.append(TWO)
    flips = score.flips
    many = len(score.runs.classes) > 2  # with two classes, one of them is right
    rest = f"; {100 * flips.rest:.1f} % go from one wrong class to another" if flips and many else ""
    if flips and flips.broken is not None and flips.mended is not None:
        lines.append(
            f"From the first run to the second, {100 * flips.broken:.1f} % of the examples turn wrong (bad flips) and "
            f"{100 * flips.mended:.1f} % turn right (good flips){rest}."
        )
    elif flips:
        lines.append(
            f"Between two runs, {100 * flips.changed:.1f} % of the examples change between right and wrong, half in "
            f"each direction because neither run comes first{rest}."
        )
    if score.runs.size > CARD:
        lines.append("There are too many predictions for a scorecard: to get one, score fewer of the runs or examples.")
    if score.example_churn.max() > 0:
        ordered = score.example_churn[score.ranking]
        tenth = math.ceil(len(ordered) / 10)
        lines.append(
            f"The first tenth of the list has {100 * ordered[:tenth].sum() / ordered.sum():.0f} % of the churn. {HERE}"
        )
    return lines


def triage(score: Score, n: int) -> Table:
    """Return a table of the first ``n`` examples of the ranking."""
    frame = fragile(score, n)
    rows = tuple(tuple(_cell(value) for value in row) for row in frame.itertuples(index=False))
    legend = "; ".join(text for name, text in LEGEND.items() if name in frame.columns)
    caption = f"The {len(frame)} most fragile of {len(score.runs.ids)} examples{f': {legend}' if legend else ''}."
    return Table("fragile", "Most fragile examples", caption, tuple(map(str, frame.columns)), rows)


def _cell(value: Any) -> str | Value:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool):
        return "yes" if value else "no"
    return Value.of(float(value), digits=0 if value == round(value) else 3)


def terminal(tables: Sequence[Table], lines: Sequence[str] = ()) -> None:
    """Print ``tables`` and ``lines``, as plain text if the output is not a terminal."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(width=None if Console().is_terminal else 120, emoji=False)
    for table in tables:
        grid = RichTable(title=table.title, title_justify="left", caption=table.caption, caption_justify="left")
        for name, number in zip(table.header, table.numeric(), strict=True):
            grid.add_column(name, justify="right" if number else "left", overflow="fold")
        for row in table.rows:
            grid.add_row(*(Text(cell if isinstance(cell, str) else cell.text) for cell in row))
        console.print(grid)
    for line in lines:
        console.print(Text(line))


def dump(content: Mapping[str, Any]) -> str:
    """Return a report as JSON, with the version of the suite."""
    return json.dumps({"suite": __version__, **content}, ensure_ascii=False, indent=1) + "\n"


def page(template: str, **values: Any) -> str:
    """Return a self-contained page in the style of the leaderboard."""
    style = Markup((files("leaderboard") / "static" / "site.css").read_text(encoding="utf-8"))
    return render(template, style=style, to_html=writers.to_html, **values)


def to_json(score: Score, where: Standing) -> str:
    """Return everything as JSON at full precision: fractions and target units, null for a missing interval."""
    return dump(
        {
            "source": score.runs.source,
            "read_as": score.runs.kind,
            "runs": score.runs.names,
            "classes": score.runs.classes,
            "n_examples": len(score.runs.ids),
            "interval": score.kind,
            **{name: ends(estimate) for name, estimate in score.estimates.items()},
            "scorecard": {measure.key: ends(value) for measure, value in score.card},
            "per_class": {name: {"n": n, "churn": ends(estimate)} for name, (n, estimate) in score.per_class.items()},
            "flips": vars(score.flips) if score.flips else None,
            "notes": sentences(score),
            "standing": list(where.sentences),
            "published": json.loads(writers.to_json(where.table)) if where.table else None,
            "ranking": [
                {"example_id": str(score.runs.ids[t]), "churn": round(float(score.example_churn[t]), 10)}
                for t in score.ranking
            ],
        }
    )


def ends(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate and the ends of its interval, None where they are unknown."""
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: None if math.isnan(x) else x for name, x in ends.items()}


def to_html(score: Score, where: Standing, n: int) -> str:
    """Return a page with all tables, and the first ``n`` examples."""
    tables = [table for table in (facts(score), scorecard(score, meanings=True), by_class(score)) if table]
    return page(
        "score.html", score=score, tables=tables, sentences=sentences(score), where=where, triage=triage(score, n)
    )
