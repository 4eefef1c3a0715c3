"""Commands that score predictions of any model, part of the leaderboard's command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from benchmark.errors import UserError, did_you_mean, number_of

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.measure.intervals import IntervalKind
    from leaderboard.read.results import Results
    from leaderboard.scoring.roles import Options
    from leaderboard.scoring.runs import Runs
    from leaderboard.scoring.score import Score

TABLE = "Table (CSV, Excel, Parquet, MLflow's JSON) or runs:/RUN_ID/ARTIFACT."


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, show_default=False)


CI = typer.Option(help="Intervals: runs, examples, both or paper.")
Tolerance = Annotated[float | None, _option("Regression: a larger change is a flip.")]
Tracking = Annotated[str, _option("MLflow store.")]
Out = Annotated[Path | None, _option("Write a page to this file.")]
Csv = Annotated[Path | None, _option("Write all examples to this file.")]
Json = Annotated[Path | None, _option("Write all as JSON to this file; - prints it.")]
READING: dict[str, tuple[Any, Any]] = {
    "truth": (Annotated[Path | None, _option("Table of true values, by id.")], None),
    "truth_column": (Annotated[str, _option("Column of true values.")], ""),
    "runs": (Annotated[str, _option("Columns of predictions, each a run: a,b,c.")], ""),
    "probabilities": (Annotated[str, _option("Columns of class probabilities of one run.")], ""),
    "logits": (Annotated[str, _option("Column of a classifier's margins.")], ""),
    "classes": (Annotated[str, _option("Classes in their order: inactive,active.")], ""),
    "task": (Annotated[str, _option("Column of the task, where there are several.", "--task-column")], ""),
    "common": (Annotated[bool, _option("Leave out examples not in all tables.", "--common-rows")], False),
    "kind": (Annotated[str, _option("probabilities, labels or values.")], ""),
}
"""Fields of ``roles.Options`` as options of the commands, with their defaults."""
SHORT, LONG = 5, 20
"""Numbers of the most fragile examples that ``score`` shows."""
LARGE = 2**23
"""Bytes of a file that takes a second or more to read."""


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options in ``READING``, which it gets as its argument ``options``."""
    hints = get_type_hints(command, localns={"Options": object}, include_extras=True)
    own = [p.replace(annotation=hints[p.name]) for p in signature(command).parameters.values() if p.name != "options"]
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in READING.items()
    ]

    @wraps(command)
    def read(**given: Any) -> None:
        from leaderboard.scoring.roles import Options, names_in

        said = {name: given.pop(name) for name in READING}
        for name in ("runs", "probabilities", "logits", "classes"):
            said[name] = names_in(said[name])
        command(**given, options=Options(**said))

    read.__signature__ = Signature([*own, *more])  # type: ignore[attr-defined]
    read.__annotations__ = {p.name: p.annotation for p in (*own, *more)}
    return read


@reading
def score(
    options: Options,
    predictions: Annotated[
        list[str] | None, typer.Argument(help=f"{TABLE} Each of several is one run.", show_default=False)
    ] = None,
    experiment: Annotated[str, _option("Read an MLflow experiment's finished runs.")] = "",
    table: Annotated[str, _option("Artifact of a run that has its predictions.", "--table")] = "",
    query: Annotated[str, _option("Only runs that match, as in search_runs.", "--filter")] = "",
    tracking_uri: Tracking = "",
    ci: Annotated[str, CI] = "runs",
    tolerance: Annotated[float | None, _option("Regression: a change that matters (0.5 SD).")] = None,
    more: Annotated[bool, _option("Print scorecard, classes, published methods.", "--more")] = False,
    html: Out = None,
    json: Json = None,
    csv: Csv = None,
    review: Annotated[Path | None, _option("Of two runs: write what to review here.")] = None,
    share: Annotated[str, typer.Option("--review-share", help="Share to review.", show_default="30%")] = "",
) -> None:
    """Score predictions of any model: churn and related measures, and the most fragile examples."""
    from benchmark.files import save
    from leaderboard.scoring import reports, sources, standing
    from leaderboard.scoring.review import fragile, to_review
    from leaderboard.scoring.score import score

    if share and not review:
        raise UserError(f"--review-share {share} has no effect without --review FILE: add it, or leave the share out")
    if not (part := _share(share or "30%", "--review-share")):
        raise UserError(f"--review-share {share}: expected a share above 0%, e.g. 30%")
    given = predictions or []
    if bool(given) == bool(experiment) or (query and not experiment):
        raise UserError("expected either tables of predictions or --experiment; --filter needs --experiment")
    if table and not experiment and not any(source.startswith("runs:/") for source in given):
        raise UserError(f"--table {table} is the artifact of a run: expected a run (runs:/RUN_ID) or --experiment")
    _check_files(given, options, html=html, json=json, csv=csv, review=review)
    _say_reading(given, f"the experiment {experiment!r}" if experiment else "")
    runs, left_out = sources.read(given, options, tracking_uri, experiment, table, query)
    if left_out:
        typer.echo(f"left out: {number_of(left_out, 'finished run')} without {table or 'a table'}", err=True)
    result = score(runs, kind=interval_kind(ci), tolerance=tolerance)
    printed = json is None or str(json) != "-"
    if printed:
        detail = [reports.scorecard(result), reports.by_class(result)] if more else []
        tables = [reports.facts(result), *detail, reports.triage(result, LONG if more else SHORT)]
        reports.terminal([table for table in tables if table], reports.sentences(result))
    if review:
        reviewed = to_review(result, part)
        save(review, reviewed.to_csv(index=False).encode())
    # After the score, because they take seconds to read; the table of all methods is for readers of more.
    results = standing.published_results(review is None, reference=not (more or html or json))
    where = standing.standing(result, results)
    if html:
        save(html, reports.to_html(result, where, LONG).encode())
    if csv:
        save(csv, fragile(result).to_csv(index=False).encode())
    if not printed:
        typer.echo(reports.to_json(result, where), nl=False)
        return
    if json:
        save(json, reports.to_json(result, where).encode())
    hint = [] if more else ["Add --more for the scorecard, churn by class, more examples and the published methods."]
    reports.terminal([where.table] if more and where.table else [], [*where.sentences, *hint])
    if review:
        _say_review(result, reviewed, part, results, review)


def _say_review(score: Score, table: pd.DataFrame, share: float, results: Results | None, out: Path) -> None:
    """Say which share of the flips the examples to review have, here and in the published results."""
    from leaderboard.scoring import standing

    n, churn = int(table["review"].sum()), score.example_churn[score.ranking]
    typer.echo(f"{n} of {len(table)} examples to review ({n / len(table):.0%}): {out}")
    flips = int((churn > 0).sum())
    regression = score.runs.task == "regression"
    what = "total difference" if regression else number_of(flips, "flip")
    if flips:
        captured = churn[:n].sum() / churn.sum()
        typer.echo(
            f"They contain {captured:.0%} of the {what} between these two runs. This is in-sample: the same "
            "runs ranked the examples, so their flips come first whatever the model."
        )
    else:
        order = "in the order of the table" if score.margin is None else "those with the smallest margin first"
        typer.echo(f"The two runs agree on every example; they are listed {order}.")
    ranked = results is not None and score.margin is not None  # as the published ones are
    shares = list(standing.captured(results, share).values()) if results and ranked else []
    if shares:
        typer.echo(
            f"On {len(shares)} published datasets, the first {share:.0%} as ranked by two runs of ERM "
            f"contain {sum(shares) / len(shares):.0%} of the flips in other runs ({min(shares):.0%} to "
            f"{max(shares):.0%}): expect a similar share."
        )


def power(
    delta: Annotated[
        float | None, typer.Option(help="Difference in churn to resolve, in pp, or a regression's unit.")
    ] = None,
    dataset: Annotated[str, _option("Use only this dataset, of any task.")] = "",
    methods: Annotated[str, typer.Option(help="The two methods, separated by a comma.")] = "erm,twin",
    store: Annotated[str, _option("MLflow store, or a folder of exported results; else yours, or the published.")] = "",
) -> None:
    """Estimate how many retrainings are needed to resolve a difference between two methods, and what ten resolve."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if len(names) != 2:
        raise UserError(f"--methods {methods!r}: expected two methods, e.g. erm,twin")
    own = store or own_store()
    typer.echo(f"reading the results {f'in {own}' if own else 'published with the suite'}", err=True)
    from leaderboard.read.stored import read
    from leaderboard.scoring import reports, standing
    from leaderboard.tables import power

    results = (None if own else standing.published_results(leading="@" not in dataset)) or read(own)[0]
    tables = power.tables(results, delta, (names[0], names[1]), dataset)
    reports.terminal(tables, list(dict.fromkeys(note for table in tables for note in table.notes)))


MODEL = "Or with --data a model: models:/NAME/VERSION, models:/NAME@ALIAS, runs:/RUN_ID/MODEL."


@reading
def gate(
    options: Options,
    baseline: Annotated[str, typer.Argument(help=f"{TABLE} {MODEL}")],
    candidate: Annotated[str, typer.Argument(help="Its replacement: predictions for the same examples, or a model.")],
    max_flips: Annotated[str, typer.Option(help="Limit to the share of flips, e.g. 5%.")],
    max_bad_flips: Annotated[str | None, _option("Limit to flips from right to wrong.")] = None,
    by_estimate: Annotated[bool, _option("Pass though an interval contains a limit.", "--by-estimate")] = False,
    data: Annotated[Path | None, _option("Rows that models predict for: CSV, Excel or Parquet.")] = None,
    target: Annotated[str, _option("Column of --data with the truth (y_true).")] = "",
    env_manager: Annotated[
        Literal["local", "virtualenv", "uv"],
        typer.Option(metavar="NAME", help="Where models predict: local, virtualenv or uv."),
    ] = "local",
    tolerance: Tolerance = None,
    tracking_uri: Tracking = "",
    form: Annotated[
        Literal["text", "markdown", "json", "junit"],
        typer.Option("--format", metavar="NAME", help="text, markdown, json or junit."),
    ] = "text",
) -> None:
    """Decide whether a candidate may replace a model: exit code 0 if so, 1 if not or undecided, 2 for bad input.

    It passes if the intervals of the shares lie within the limits.
    """
    limit = _share(max_flips, "--max-flips")
    bad = None if max_bad_flips is None else _share(max_bad_flips, "--max-bad-flips")
    typer.echo(f"comparing {baseline} with {candidate}", err=True)
    from leaderboard.scoring import models, readers, sources, verdicts
    from leaderboard.scoring.gate import gate

    given = (baseline, candidate)
    _check_files(given, options)
    of_models = [source for source in given if sources.is_model(source)]
    if bool(of_models) != (data is not None):
        found = f"{of_models[0]} is a model" if of_models else "neither of the two is a model"
        raise UserError(f"{found}: give --data, the rows to predict for, if and only if one of the two is a model")
    if data is None and (target or env_manager != "local"):
        raise UserError("--target and --env-manager have no effect without a model and its --data: leave them out")
    rows = models.data_of(data, target) if data else None
    tables = []
    for source in given:
        if rows is None or source not in of_models:
            _say_reading([source])
            tables.append(sources.tables([source], tracking_uri)[0][0][1])
            continue
        typer.echo(f"{source}: predicting for {number_of(rows.n, 'row')} with {models.where(env_manager)}", err=True)
        predicted, differing = models.predict(source, rows, env_manager, tracking_uri)
        tables.append(predicted)
        if differing:
            typer.echo(f"warning: {source} was logged with other versions: {'; '.join(differing)}", err=True)
            typer.echo("  to predict with those versions, add --env-manager virtualenv or uv", err=True)
    read = readers.read(tables, options)
    result = gate(read[0], read[1], limit, bad, by_estimate, tolerance)
    _echo_columns(read, err=form != "text")
    typer.echo(verdicts.FORMATS[form](result, f"{baseline} → {candidate}"), nl=False)
    raise typer.Exit(0 if result.passed else 1)


@reading
def update(
    options: Options,
    old: Annotated[str, typer.Argument(help=f"The old model. {TABLE}", show_default=False)],
    new: Annotated[str, typer.Argument(help="The new model, for the same examples.", show_default=False)],
    retrained: Annotated[str, _option("The old model, trained again on the same rows.")] = "",
    tolerance: Tolerance = None,
    html: Out = None,
    json: Json = None,
    markdown: Annotated[Path | None, _option("Write Markdown to this file; - prints it.")] = None,
    csv: Csv = None,
    tracking_uri: Tracking = "",
) -> None:
    """Report what an update of a model changes, for better or worse, and which part of that is chance.

    To train instead, as rows arrive: update --dataset NAME (python -m benchmark update --help).
    """
    from benchmark.files import save
    from leaderboard.scoring import readers, reports, sources
    from leaderboard.scoring import update as updates

    given = [old, new, *filter(None, [retrained])]
    _check_files(given, options, html=html, json=json, markdown=markdown, csv=csv)
    _say_reading(given)
    read = readers.read([table for _, table in sources.tables(given, tracking_uri)[0]], options)
    result = updates.update(read[0], read[1], read[2] if retrained else None, tolerance)
    if html:
        save(html, reports.page("update.html", report=result, source=f"{old} → {new}", updates=updates).encode())
    if csv:
        save(csv, result.examples.to_csv(index=False).encode())
    for path, text in ((json, updates.to_json(result)), (markdown, updates.to_markdown(result))):
        if path and str(path) != "-":
            save(path, text.encode())
        elif path:
            typer.echo(text, nl=False)
    printed = "-" in (str(json), str(markdown))
    _echo_columns(read, err=printed)
    if not printed:
        reports.terminal([updates.table(result), updates.first(result)], updates.sentences(result))


def own_store() -> str:
    """Return the address of the user's own store; empty if it is a file that does not exist, or an empty one."""
    from benchmark.store.opening import uri

    address = uri()  # its own check of a file takes SQLAlchemy, which is slow to import
    path = Path(address.removeprefix("sqlite:///"))
    return address if not address.startswith("sqlite:///") or (path.is_file() and path.stat().st_size) else ""


def interval_kind(text: str) -> IntervalKind:
    """Return the kind of interval called ``text``. Raises UserError for an unknown one."""
    from benchmark.measure.intervals import INTERVAL_KINDS

    kind = next((kind for kind in INTERVAL_KINDS if kind == text), None)
    if kind is None:
        raise did_you_mean("kind of interval", text, list(INTERVAL_KINDS))
    return kind


def _share(text: str, option: str) -> float:
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 2
    if value > 1:
        raise UserError(f"{option} {text!r}: expected a share from 0% to 100%, e.g. 5% or 0.05")
    if value == 1 and "%" not in text:
        raise UserError(f"{option} {text!r}: may be 1% or all: write 1% or 100%")
    return value


def _echo_columns(tables: Sequence[Runs], err: bool) -> None:
    for runs in tables:
        typer.echo(f"{runs.source}: read as {runs.kind}; {runs.columns}", err=err)


def _say_reading(sources: Sequence[str], said: str = "") -> None:
    """Say what is read if that takes a second or more."""
    large = sum(path.stat().st_size for path in map(Path, sources) if path.is_file())
    if said or large > LARGE or any(source.startswith("runs:/") for source in sources):
        size = f" ({large / 1e6:,.0f} MB)" if large else ""
        typer.echo(f"reading {said or ', '.join(sources[:3])}{', …' if len(sources) > 3 else ''}{size}", err=True)


def _check_files(sources: Sequence[str], options: Options, **outputs: Path | None) -> None:
    """Raise UserError for a source that is given twice, and for a file to write that is read, written twice or in no
    folder."""
    read = [_file(Path(source)) for source in sources]
    if i := next((i for i, file in enumerate(read) if file in read[:i]), 0):
        both = dict.fromkeys([sources[read.index(read[i])], sources[i]])
        named = "is given twice" if len(both) == 1 else "are the same"
        raise UserError(f"{' and '.join(both)} {named}, so they would agree on everything: give the table of each run")
    taken = dict.fromkeys([*read, *([_file(options.truth)] if options.truth else [])], "it is read")
    for name, path in outputs.items():
        if path is None or (path.exists() and not path.is_file()):
            if path and path.is_dir():
                raise UserError(f"--{name} {path}: is a folder: expected the name of a file to write")
            continue  # such as /dev/null
        if not path.parent.is_dir():
            raise UserError(f"--{name} {path}: there is no folder {path.parent}: create it, or choose another")
        if (file := _file(path)) in taken:
            raise UserError(f"--{name} {path}: {taken[file]}: expected a file of its own to write to")
        taken[file] = f"--{name} writes it"


def _file(path: Path) -> object:
    """Return what tells files apart: it is the same for two spellings of a path, and for links."""
    return (path.stat().st_dev, path.stat().st_ino) if path.exists() else path.resolve()
