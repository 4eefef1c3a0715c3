"""Commands that score predictions of any model, part of the leaderboard's command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchmark.commands import options
from benchmark.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from benchmark.measure.intervals import IntervalKind
    from leaderboard.read.results import Results
    from leaderboard.scoring.review import Review
    from leaderboard.scoring.runs import Runs

TABLE = (
    "Parquet, CSV or MLflow's JSON of predictions, long (run, example_id, p0… or y_pred) or wide (a column per run), "
    "or a table that a run has logged: runs:/RUN_ID/ARTIFACT."
)
Truth = Annotated[Path | None, typer.Option(help="Table with example_id and y_true.", show_default="the column y_true")]
Kind = Annotated[
    str, typer.Option(help="Kind of predictions: probabilities, labels or values.", show_default="inferred")
]
CI = typer.Option(help="Source of variation in the intervals: runs, examples, both, or paper (too narrow).")
Tolerance = Annotated[
    float | None,
    typer.Option(min=0, help="Regression: a change above this (target's unit) is a flip.", show_default="the old MAE"),
]
Tracking = Annotated[
    str, typer.Option(help="MLflow store.", show_default="MLFLOW_TRACKING_URI, or mlflow.db in this folder")
]
SHORT, LONG = 5, 20
"""Numbers of the most fragile examples that ``score`` shows."""
LARGE = 2**23
"""Bytes of a file that takes a second or more to read."""
Store = Annotated[Path | None, typer.Option(help="Folder of exported results.", show_default="shipped with the suite")]


def score(
    predictions: Annotated[
        list[str] | None,
        typer.Argument(help=f"{TABLE} If you give several tables, each is one run.", show_default=False),
    ] = None,
    experiment: Annotated[str, typer.Option(help="Read the finished runs of this MLflow experiment instead.")] = "",
    table: Annotated[
        str,
        typer.Option(
            "--table", "--metric-table", help="Artifact that holds a run's predictions.", show_default="its only table"
        ),
    ] = "",
    query: Annotated[
        str, typer.Option("--filter", help="Read only runs that match this, in the syntax of mlflow.search_runs.")
    ] = "",
    tracking_uri: Tracking = "",
    truth: Truth = None,
    kind: Kind = "",
    ci: Annotated[str, CI] = "runs",
    tolerance: Annotated[
        float | None,
        typer.Option(help="Regression: a change that matters, in the target's unit.", show_default="0.5 SD"),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of most fragile examples to show.", show_default="5; 20 with --more and on the page"
        ),
    ] = None,
    more: Annotated[
        bool, typer.Option("--more", help="Also print the scorecard, churn by class and the published methods.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write everything to this file as JSON; - prints it.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all examples to this file, most fragile first.")] = None,
    review: Annotated[
        Path | None, typer.Option(help="Of two runs: write to this CSV which examples to review, flips first.")
    ] = None,
    share: Annotated[str, typer.Option("--review-share", help="Share of the examples to review.")] = "30%",
    store: Store = None,
) -> None:
    """Score predictions of any model: churn and related measures, and the most fragile examples."""
    from leaderboard.scoring import reports
    from leaderboard.scoring.score import score

    _check(store)
    part = _share(share, "--review-share")
    sources = predictions or []
    if bool(sources) == bool(experiment) or (query and not experiment):
        raise UserError("expected either tables of predictions or --experiment; --filter needs --experiment")
    if table and not experiment and not any(source.startswith("runs:/") for source in sources):
        raise UserError(f"--table {table} is the artifact of a run: expected a run (runs:/RUN_ID) or --experiment")
    said = f"the experiment {experiment!r}" if experiment else ""
    runs, left_out = _read(sources, kind, truth, tracking_uri, said, experiment=experiment, table=table, query=query)
    if left_out:
        typer.echo(f"left out: {left_out} finished runs without {table or 'a table'}", err=True)
    result = score(runs, kind=interval_kind(ci), tolerance=tolerance)
    printed = json is None or str(json) != "-"
    if printed:
        detail = [reports.scorecard(result), reports.by_class(result)] if more else []
        tables = [reports.facts(result), *detail, reports.triage(result, top or (LONG if more else SHORT))]
        reports.terminal([table for table in tables if table], reports.sentences(result))
    from leaderboard.scoring.review import fragile, select

    selected = select(result, part) if review else None
    if review and selected:
        _write(review, selected.table.to_csv(index=False))
    from leaderboard.scoring import standing  # after the score: the published results take seconds to read

    results = standing.published_results(store, leading=selected is None)
    where = standing.standing(result, results, store)
    if html:
        _write(html, reports.to_html(result, where, top or LONG))
    if csv:
        _write(csv, fragile(result).to_csv(index=False))
    if not printed:
        typer.echo(reports.to_json(result, where), nl=False)
        return
    if json:
        _write(json, reports.to_json(result, where))
    hint = [] if more else ["Add --more for the scorecard, churn by class, more examples and the published methods."]
    reports.terminal([where.table] if more and where.table else [], [*where.sentences, *hint])
    if review and selected:
        _say_review(selected, part, results, review)


def _say_review(result: Review, share: float, results: Results | None, out: Path) -> None:
    """Say which share of the flips the examples in ``out`` have, here and in the published results."""
    import numpy as np

    from leaderboard.scoring import standing

    n = len(result.table)
    typer.echo(f"{result.n} of {n} examples to review ({result.n / n:.0%}): {out}")
    if result.score.runs.task == "regression":
        typer.echo(
            f"They account for {result.captured:.0%} of the total difference between the two runs. This is in-sample: "
            "the same runs ranked them."
        )
        return
    flips = int((result.score.example_churn > 0).sum())
    if not flips:
        typer.echo("The two runs agree on every example; those with the smallest margin come first.")
    else:
        typer.echo(
            f"They contain {result.captured:.0%} of the {flips} flips between these two runs. This is in-sample: the "
            "same runs ranked the examples, so their flips come first whatever the model."
        )
    shares = list(standing.captured(results, share).values()) if results else []
    if shares:
        typer.echo(
            f"On {len(shares)} published datasets, the first {share:.0%} as ranked by two runs of ERM "
            f"contain {np.mean(shares):.0%} of the flips in other runs ({min(shares):.0%} to {max(shares):.0%}): "
            "expect a similar share."
        )
    if result.score.margin is None:
        typer.echo("The published runs break ties by probability; with labels alone, ties keep their input order.")


def power(
    delta: Annotated[
        float | None,
        typer.Option(
            help="Difference in churn to resolve, in pp; for a regression given as --dataset, in its unit.",
            show_default="1 pp",
        ),
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="Use only this dataset.", show_default="all classification datasets")
    ] = "",
    methods: Annotated[str, typer.Option(help="The two methods, separated by a comma.")] = "erm,twin",
    store: Annotated[
        str, typer.Option(help="MLflow store, or a folder of exported results.", show_default="shipped with the suite")
    ] = "",
) -> None:
    """Estimate how many retrainings are needed to resolve a difference between two methods, and what ten resolve."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if len(names) != 2:
        raise UserError(f"--methods {methods!r}: expected two methods, e.g. erm,twin")
    typer.echo(f"reading the results {f'in {store}' if store else 'published with the suite'}", err=True)
    from leaderboard.read.stored import read
    from leaderboard.scoring import reports, standing
    from leaderboard.tables import power

    shipped = None if store else standing.published_results(leading="@" not in dataset)
    results = shipped or read(store)[0]
    tables = power.tables(results, delta, (names[0], names[1]), dataset)
    reports.terminal(tables, list(dict.fromkeys(note for table in tables for note in table.notes)))


MODEL = "or with --data a model in MLflow: models:/NAME/VERSION, models:/NAME@ALIAS or runs:/RUN_ID/MODEL."


def gate(
    baseline: Annotated[str, typer.Argument(help=f"{TABLE[:-1]}, {MODEL}")],
    candidate: Annotated[str, typer.Argument(help="Its replacement: predictions for the same examples, or a model.")],
    max_flips: Annotated[str, typer.Option(help="Fail above this share of flips, e.g. 5%.")],
    max_bad_flips: Annotated[str, typer.Option(help="Fail above this share of flips from right to wrong.")] = "",
    sure: Annotated[bool, typer.Option("--sure", help="Apply the limits to the upper ends of the intervals.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Parquet or CSV of the rows for models to predict; example_id names a row.")
    ] = None,
    target: Annotated[str, typer.Option(help="Column of --data with the true classes.", show_default="y_true")] = "",
    env_manager: Annotated[
        Literal["local", "virtualenv", "uv"],
        typer.Option(help="Where models predict: in this environment, or in one made from each model's requirements."),
    ] = "local",
    tolerance: Tolerance = None,
    tracking_uri: Tracking = "",
    truth: Truth = None,
    kind: Kind = "",
    form: Annotated[
        Literal["text", "markdown", "json", "junit"],
        typer.Option("--format", help="Format of the output: for people, a pull request, a program, or a CI system."),
    ] = "text",
) -> None:
    """Decide whether a candidate may replace a model: exit code 0 if so, 1 for too many flips, 2 for bad input."""
    limit = _share(max_flips, "--max-flips")
    bad = _share(max_bad_flips, "--max-bad-flips") if max_bad_flips else None
    typer.echo(f"comparing {baseline} with {candidate}", err=True)
    from leaderboard.scoring import models, sources, verdicts
    from leaderboard.scoring.gate import gate

    given = (baseline, candidate)
    of_models = [source for source in given if sources.is_model(source)]
    if bool(of_models) != (data is not None):
        found = f"{of_models[0]} is a model" if of_models else "neither of the two is a model"
        raise UserError(f"{found}: give --data, the rows to predict for, if and only if one of the two is a model")
    rows = models.data_of(data, target) if data else None
    read = []
    for source in given:
        if rows is None or source not in of_models:
            read += [_read([source], kind, truth, tracking_uri)[0]]
            continue
        typer.echo(f"{source}: predicting for {rows.n} rows with {models.where(env_manager)}", err=True)
        runs, differing = models.predict(source, rows, env_manager, kind, truth, tracking_uri)
        read += [runs]
        if differing:
            typer.echo(f"warning: {source} was logged with other versions: {'; '.join(differing)}", err=True)
            typer.echo("  to predict with those versions, add --env-manager virtualenv or uv", err=True)
    result = gate(read[0], read[1], limit, bad, sure, tolerance)
    if form == "text":
        _echo_columns(read)
    typer.echo(verdicts.FORMATS[form](result, f"{baseline} → {candidate}"), nl=False)
    raise typer.Exit(0 if result.passed else 1)


TRAINING = {"dataset", "cuts", "start", "method", "canonical_seed", "seeds", "jobs", "device", "offline"}
"""Options of ``update`` that train models, and that go with --dataset alone."""


def update(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help=f"The old model. {TABLE}", show_default=False)] = "",
    new: Annotated[str, typer.Argument(help="The new model, for the same examples.", show_default=False)] = "",
    retrained: Annotated[
        str, typer.Option(help="The old model, trained again on the same rows with another random seed.")
    ] = "",
    tolerance: Tolerance = None,
    top: Annotated[int, typer.Option(min=1, help="Number of examples to show.")] = 20,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write everything to this file as JSON; - prints it.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the report to this file in Markdown; - prints it.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all examples to this file.")] = None,
    tracking_uri: Tracking = "",
    truth: Truth = None,
    kind: Kind = "",
    dataset: Annotated[str, typer.Option(help="Train: datasets or groups, in place of OLD and NEW.")] = "",
    cuts: Annotated[int, typer.Option(help="Train: number of updates.", min=1, max=20)] = 5,
    start: Annotated[str, typer.Option(help="Train: share of the rows that the first model is trained on.")] = "0.5",
    method: Annotated[
        str, typer.Option(help="Train: methods to compare with ERM trained anew.", show_default="a selection")
    ] = "",
    canonical_seed: Annotated[int, typer.Option(help="Train: seed of the train/test split.")] = 99,
    seeds: Annotated[str, typer.Option(help="Train: train seeds, an even number of them.")] = "10",
    jobs: options.Jobs = None,
    device: options.DeviceOption = "auto",
    offline: options.Offline = False,
) -> None:
    """Report what an update of a model changes, for better or worse, and which part of that is chance.

    ``update OLD NEW`` compares predictions of any two models. ``update --dataset NAME`` trains: it retrains as rows
    arrive, and says what each update changes, what would have changed anyway, and what helps.
    """
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    if wrong := sorted(given - TRAINING - {"tolerance"} if dataset else given & TRAINING):
        names = ", ".join(name.upper() if name in ("old", "new") else f"--{name.replace('_', '-')}" for name in wrong)
        raise UserError(f"{names}: {'not with' if dataset else 'only with'} --dataset, which trains models")
    if dataset:
        from benchmark.commands import train

        train.update(dataset, cuts, start, method, tolerance or 0.0, canonical_seed, seeds, jobs, device, offline)
        return
    if not (old and new):
        raise UserError("name the predictions of the old and the new model, or --dataset to train models")
    from leaderboard.scoring import reports
    from leaderboard.scoring import update as updates

    read = [_read([source], kind, truth, tracking_uri)[0] for source in (old, new, *filter(None, [retrained]))]
    result = updates.update(read[0], read[1], read[2] if retrained else None, tolerance)
    source = f"{old} → {new}"
    if html:
        _write(html, updates.to_html(result, source))
    if csv:
        _write(csv, result.examples.to_csv(index=False))
    for path, text in ((json, updates.to_json(result)), (markdown, updates.to_markdown(result, top))):
        if path and str(path) != "-":
            _write(path, text)
        elif path:
            typer.echo(text, nl=False)
    if "-" not in (str(json), str(markdown)):
        _echo_columns(read)
        reports.terminal([updates.table(result), updates.first(result, top)], updates.sentences(result))


def interval_kind(text: str) -> IntervalKind:
    """Return the kind of interval called ``text``. Raises UserError for an unknown one."""
    from benchmark.measure.intervals import INTERVAL_KINDS

    kind = next((kind for kind in INTERVAL_KINDS if kind == text), None)
    if kind is None:
        raise did_you_mean("kind of interval", text, list(INTERVAL_KINDS))
    return kind


def _share(text: str, option: str) -> float:
    try:
        value = float(text.rstrip("% ")) / (100 if text.rstrip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UserError(f"{option} {text!r}: expected a share from 0% to 100%, e.g. 5% or 0.05")
    return value


def _echo_columns(tables: Sequence[Runs]) -> None:
    for runs in tables:
        typer.echo(f"{runs.source}: read as {runs.kind}. {runs.columns}")


def _read(
    sources: Sequence[str], kind: str, truth: Path | None, store: str, said: str = "", **more: str
) -> tuple[Runs, int]:
    """Read tables as ``sources.read`` does; say so first if that takes a second or more."""
    large = sum(path.stat().st_size for path in map(Path, sources) if path.is_file())
    if said or large > LARGE or any(source.startswith("runs:/") for source in sources):
        size = f" ({large / 1e6:,.0f} MB)" if large else ""
        typer.echo(f"reading {said or ', '.join(sources[:3])}{', …' if len(sources) > 3 else ''}{size}", err=True)
    from leaderboard.scoring.sources import is_model, read

    for source in filter(is_model, sources):
        raise UserError(f"{source} is a model: expected a table of predictions; gate compares models")
    return read(sources, kind, truth, store=store, **more)


def _check(store: Path | None) -> None:
    if store and not (store / "manifest.json").is_file():
        raise UserError(f"--store {store}: expected a folder of exported results, found no manifest.json in it")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}") from error
