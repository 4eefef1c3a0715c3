"""The commands for one's own predictions, added to the leaderboard's command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from leaderboard.read.results import Results
    from leaderboard.scoring.runs import Runs

TABLE = "Parquet or CSV of predictions, long (run, example_id, p0… or y_pred) or wide (a column for each run)."
Truth = Annotated[Path | None, typer.Option(help="Table with example_id and y_true. [default: the column y_true]")]
Kind = Annotated[str, typer.Option(help="What is in the table: probabilities, labels or values. [default: seen]")]
Store = Annotated[Path | None, typer.Option(help="Folder of exported results. [default: those of the suite]")]


def score(
    predictions: Annotated[Path, typer.Argument(help=TABLE)],
    truth: Truth = None,
    kind: Kind = "",
    ci: Annotated[str, typer.Option(help="What intervals are over: runs, examples, both or paper.")] = "runs",
    top: Annotated[int, typer.Option(min=1, help="How many of the most fragile examples to show.")] = 20,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write everything to this file as JSON; - prints it.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all examples to this file, most fragile first.")] = None,
    store: Store = None,
) -> None:
    """Score predictions of a model that was trained anywhere: churn, what goes with it, and which are fragile."""
    from leaderboard.scoring import readers, reports, review, standing
    from leaderboard.scoring.score import score
    from leaderboard.stats.intervals import INTERVAL_KINDS

    over = next((known for known in INTERVAL_KINDS if known == ci), None)
    if over is None:
        raise did_you_mean("kind of interval", ci, list(INTERVAL_KINDS))
    found = score(readers.read(predictions, kind, truth), kind=over)
    where = standing.standing(found, _known(store), store)
    if html:
        _write(html, reports.to_html(found, where, top))
    if csv:
        _write(csv, review.fragile(found).to_csv(index=False))
    if json and str(json) == "-":
        typer.echo(reports.to_json(found, where), nl=False)
        return
    if json:
        _write(json, reports.to_json(found, where))
    tables = [reports.facts(found), reports.by_class(found), reports.triage(found, top), where.table]
    reports.terminal([table for table in tables if table], [*reports.sentences(found), *where.sentences])


def triage(
    first: Annotated[Path, typer.Argument(metavar="PREDICTIONS_A", help="Table of one run's predictions.")],
    second: Annotated[Path, typer.Argument(metavar="PREDICTIONS_B", help="The same examples after one retraining.")],
    share: Annotated[str, typer.Option("--review", help="Share of the examples to review, as 30%.")] = "30%",
    out: Annotated[Path, typer.Option(help="CSV of the examples, most fragile first.")] = Path("review.csv"),
    kind: Kind = "",
    store: Store = None,
) -> None:
    """Rank what to review by one extra retraining: flips first, then what the two runs were least sure of."""
    import numpy as np

    from leaderboard.scoring import readers, review, standing

    part = _share(share, "--review")
    read = [readers.read(path, kind) for path in (first, second)]
    found = review.review(read[0], read[1], part)
    _write(out, found.table.to_csv(index=False))
    _tell(read)
    n = len(found.table)
    typer.echo(f"{found.n} of {n} examples to review ({found.n / n:.0%}): {out}")
    if found.score.runs.task == "regression":
        what = "the summed difference of the two runs"
        typer.echo(f"They have {found.captured:.0%} of {what}, as they must: these runs ranked them.")
        return
    flips = int((found.score.example_churn > 0).sum())
    if not flips:
        typer.echo("The two runs agree on every example; those they are least sure of come first.")
    else:
        typer.echo(
            f"They have {found.captured:.0%} of the {flips} flips between these two runs. This is in-sample: the runs "
            "that are counted also ranked, so that their flips come first whatever the model."
        )
    results = _known(store)
    if results is None:
        typer.echo(standing.NONE.format(folder=store or "the suite's"))
        return
    known = list(standing.captured(results, part).values())
    if known:
        typer.echo(
            f"Out of sample, two published runs of ERM find {np.mean(known):.0%} of the flips among further runs in "
            f"the first {part:.0%} ({min(known):.0%} to {max(known):.0%} on {len(known)} datasets): expect this."
        )
    if found.score.margin is None:
        typer.echo("Those runs gave probabilities, which break ties; with labels alone ties stay as they were given.")


def power(
    delta: Annotated[float, typer.Option(help="Difference in churn to resolve: pp, or target units.")] = 1.0,
    dataset: Annotated[str, typer.Option(help="One dataset. [default: all]")] = "",
    methods: Annotated[str, typer.Option(help="The two methods, comma-separated.")] = "erm,twin",
    store: Annotated[str, typer.Option(help="MLflow store, or a folder of exported results.")] = "",
) -> None:
    """Say how many retrainings a difference between two methods needs, and what ten can resolve."""
    from leaderboard.read.source import read
    from leaderboard.scoring import reports, standing
    from leaderboard.tables import power

    names = [name.strip() for name in methods.split(",") if name.strip()]
    if len(names) != 2:
        raise UserError(f"--methods {methods!r}: two methods expected, as erm,twin")
    results = (None if store else standing.known()) or read(store)[0]
    table = power.table(results, delta, (names[0], names[1]), dataset)
    reports.terminal([table], table.notes)


def gate(
    baseline: Annotated[Path, typer.Option(help=TABLE)],
    candidate: Annotated[Path, typer.Option(help="The same examples by the model that would replace it.")],
    max_flips: Annotated[str, typer.Option(help="Fail above this share of flips, as 5%.")],
    max_bad_flips: Annotated[str, typer.Option(help="Fail above this share of flips from right to wrong.")] = "",
    sure: Annotated[bool, typer.Option("--sure", help="Fail also if an interval's upper end is above.")] = False,
    truth: Truth = None,
    kind: Kind = "",
) -> None:
    """Decide whether a candidate may replace a model: exit code 0 if so, 1 if too much flips, 2 for bad input."""
    from leaderboard.scoring import readers
    from leaderboard.scoring.gate import gate

    limit = _share(max_flips, "--max-flips")
    bad = _share(max_bad_flips, "--max-bad-flips") if max_bad_flips else None
    read = [readers.read(path, kind, truth) for path in (baseline, candidate)]
    found = gate(read[0], read[1], limit, bad, sure)
    _tell(read)
    titles = {
        "flips": "flips",
        "bad": "bad (right to wrong)",
        "good": "good (wrong to right)",
        "other": "wrong to wrong",
    }
    for name, e in found.estimates.items():
        typer.echo(f"{titles[name]:>22}  {e.value:7.2%}  [{max(0, e.low):.2%}, {min(1, e.high):.2%}]")
    typer.echo(f"{found.n} examples; {found.interval}")
    typer.echo("passed" if found.passed else f"failed: {'; '.join(found.reasons)}")
    raise typer.Exit(0 if found.passed else 1)


def _share(text: str, option: str) -> float:
    """A share as ``5%`` or ``0.05``."""
    try:
        value = float(text.rstrip("% ")) / (100 if text.rstrip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UserError(f"{option} {text!r}: a share from 0% to 100% expected, as 5% or 0.05")
    return value


def _tell(read: Sequence[Runs]) -> None:
    """Say how each table was read, so that a column that was taken for another is seen."""
    for runs in read:
        typer.echo(f"{runs.source}: read as {runs.kind}. {runs.columns}")


def _known(store: Path | None) -> Results | None:
    from leaderboard.scoring import standing

    found = standing.known(store)
    if store and found is None:
        raise UserError(f"--store {store}: no manifest.json of exported results there")
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}") from error
