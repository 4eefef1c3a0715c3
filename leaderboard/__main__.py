"""The command line: ``python -m leaderboard --help``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.commands.app import App
from benchmark.errors import UserError, did_you_mean
from leaderboard.scoring import commands

if TYPE_CHECKING:
    pass

app = App(help="Turn the runs in the tracking store into a leaderboard.")
STORE = typer.Option(help="MLflow store, or a folder of exported results. [default: MLFLOW_TRACKING_URI]")


@app.command()
def build(
    out: Annotated[Path, typer.Option(help="Folder of the pages; it is replaced.")] = Path("site"),
    ci: Annotated[
        str, typer.Option(help="What intervals are over: runs, examples, both, or paper (too narrow).")
    ] = "runs",
    store: Annotated[str, STORE] = "",
    published: Annotated[
        bool, typer.Option("--published", help="Add what the suite has published on the same datasets.")
    ] = False,
) -> None:
    """Write the leaderboard as pages, LaTeX, CSV and JSON."""
    from leaderboard import site
    from leaderboard.read.source import read
    from leaderboard.stats.intervals import INTERVAL_KINDS

    kind = next((kind for kind in INTERVAL_KINDS if kind == ci), None)
    if kind is None:
        raise did_you_mean("kind of interval", ci, list(INTERVAL_KINDS))
    folder = site.claim(out)
    results, health = read(store, among_published=published)
    for line in results.unreadable:
        typer.echo(f"warning: {line}", err=True)
    if not (results.datasets or results.records):
        raise UserError(f"{results.source} holds no finished cell: fill it with python -m benchmark run")
    page = site.write(results, folder, kind, health)
    entries = sum(len(dataset.entries) for dataset in results.datasets)
    typer.echo(f"{len(results.datasets)} datasets, {entries} rows: {page}")


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="Folder of the results; what was exported there before is replaced.")],
    store: Annotated[str, STORE] = "",
) -> None:
    """Keep the results of a store as files, from which the leaderboard can be built without it."""
    from leaderboard.read.source import read
    from leaderboard.write import published

    results, _ = read(store)
    published.write(results, out)
    typer.echo(f"{sum(len(entry.cells) for d in results.datasets for entry in d.entries)} cells: {out.resolve()}")


@app.command()
def study(
    name: Annotated[str, typer.Argument(help="The study.")],
    store: Annotated[str, STORE] = "",
) -> None:
    """Show what a study found, as pages do."""
    from benchmark.lab.study import make_study
    from leaderboard.read.source import read
    from leaderboard.tables import studies
    from leaderboard.write import formats as writers

    results, _ = read(store)
    found, troubles = studies.told(results, name)
    for line in (*results.unreadable, *troubles):
        typer.echo(f"warning: {line}", err=True)
    if not found:
        make_study(name, {})  # is there such a study?
        raise UserError(f"study {name!r} is not finished here: run it with python -m benchmark study {name}")
    for one in found:
        tables = [studies.table(one, sheet) for sheet in one.report.sheets]
        typer.echo("\n\n".join([one.title, *one.report.answer, *map(writers.to_markdown, tables)]))


@app.command()
def compare(
    file: Annotated[Path | None, typer.Argument(help="CSV of published numbers. [default: the paper's]")] = None,
    store: Annotated[str, STORE] = "",
    markdown: Annotated[
        Path | None, typer.Option(help="Write the main tables and a report to this file instead.")
    ] = None,
) -> None:
    """Show our number beside each published one, and whether they agree within our intervals."""
    from leaderboard.paper import report
    from leaderboard.paper.compare import compare
    from leaderboard.read.source import read

    paper = Path(str(files("leaderboard"))) / "paper" / "published.csv"
    results, _ = read(store)
    found = compare(results, file or paper)
    if markdown is None:
        typer.echo(report.text(found))
    else:
        markdown.write_text(report.page(results, found), encoding="utf-8")


SUBMISSIONS = typer.Option(help="Folder of all submissions, METHOD/VERSION, with which copies are looked for.")
SUBMISSION = typer.Argument(help="Folder METHOD/VERSION of the submission.")


@app.command()
def schema() -> None:
    """Print the JSON Schema of submission.yml."""
    import json

    from leaderboard.submission.spec import schema

    typer.echo(json.dumps(schema(), indent=2))


@app.command()
def manifest(
    folder: Annotated[Path, SUBMISSION],
    protocol: Annotated[list[Path], typer.Option(help="Folder that export-protocol wrote; one for each dataset.")],
) -> None:
    """Write a submission's manifest.json: hashes, rows, and the fingerprints of its protocols."""
    from leaderboard.submission import manifest

    typer.echo(f"wrote {manifest.write(folder, manifest.protocols(protocol))}")


@app.command()
def pack(
    method: Annotated[str, typer.Argument(help="A method that ran with train seeds 1 to 10, by name or title.")],
    version: Annotated[str, typer.Option(help="Its version, a name for a folder.")] = "1.0",
    submissions: Annotated[Path, typer.Option(help="Folder of all submissions.")] = Path("submissions"),
    store: Annotated[str, STORE] = "",
) -> None:
    """Make a submission of what a store has of a method: all files but the words of submission.yml."""
    from leaderboard.read import published
    from leaderboard.read.source import read
    from leaderboard.submission.pack import pack

    folder = pack(read(store)[0], method, version, submissions, published.shipped())
    names = ", ".join(sorted(path.stem for path in (folder / "predictions").iterdir()))
    typer.echo(f"wrote {folder} ({names})")
    typer.echo(f"next: authors and description in {folder / 'submission.yml'}, then")
    typer.echo(f"  python -m leaderboard submit {folder}")


@app.command()
def validate(
    folder: Annotated[Path, SUBMISSION],
    submissions: Annotated[Path, SUBMISSIONS] = Path("submissions"),
    comment: Annotated[
        Path | None, typer.Option(help="Write its place among the published results to this file, as Markdown.")
    ] = None,
) -> None:
    """Check whether a submission keeps all rules; nothing is recorded."""
    from leaderboard.read import published
    from leaderboard.submission.check import validate

    known = published.shipped()
    found = validate(folder, submissions, known)
    typer.echo(f"{folder}: {len(found.cells)} cells keep all rules")
    if comment is not None:
        from leaderboard.read.results import collect
        from leaderboard.submission.place import places, to_comment

        tables = places(collect([*found.cells, *known]), found.cells)
        comment.write_text("\n\n".join(map(to_comment, tables)) + "\n", encoding="utf-8")


@app.command()
def submit(
    folder: Annotated[Path, SUBMISSION],
    submissions: Annotated[Path, SUBMISSIONS] = Path("submissions"),
    out: Annotated[Path, typer.Option(help="Folder of the pages; it is replaced.")] = Path("site"),
) -> None:
    """Check a submission, record it in MLflow as self-reported, rebuild the pages and show its place.

    Pages and place are made of the store's results and of the published ones on the same datasets.
    """
    from benchmark.store.tracking import Store
    from leaderboard import site
    from leaderboard.read import published
    from leaderboard.read.source import read
    from leaderboard.submission.check import validate
    from leaderboard.submission.place import places
    from leaderboard.write.formats import to_markdown

    pages = site.claim(out)
    found = validate(folder, submissions, published.shipped())
    store = Store()
    for cell in found.cells:
        store.log(cell)
    results, health = read(among_published=True)
    page = site.write(results, pages, "runs", health)
    for table in places(results, found.cells):
        typer.echo(f"{table.title}\n{to_markdown(table)}")
    typer.echo(f"{len(found.cells)} cells recorded in {store.uri}: {page}")


@app.command()
def verify(
    method: Annotated[str, typer.Argument(help="A submitted method whose code is in methods/.")],
    submissions: Annotated[Path, SUBMISSIONS] = Path("submissions"),
    dataset: Annotated[str, typer.Option(help="The dataset to run; by default one at random.")] = "",
) -> None:
    """Run a submitted method again on one random dataset; mark it as verified if it comes out the same."""
    from benchmark.store.tracking import Store
    from leaderboard.submission import verify
    from leaderboard.submission.check import validate

    found = validate(verify.newest(submissions, method))
    checks = verify.rerun(found, dataset)
    for check in checks:
        typer.echo(str(check))
    if not all(check.agrees for check in checks):
        typer.echo(f"{method} stays self-reported", err=True)
        raise typer.Exit(1)
    store = Store()
    for cell in verify.mark(found, checks):
        store.log(cell)
    typer.echo(f"{method} is verified")


for command in (commands.score, commands.triage, commands.power, commands.gate):
    app.command()(command)


@app.callback()
def main() -> None: ...


def churn() -> None:
    """The console script: the verbs of both packages. What a study found is ``churn show-study``."""
    from benchmark.__main__ import app as both

    for command in app.registered_commands:
        command.name = "show-study" if command.callback is study else command.name
        both.registered_commands.append(command)
    both()


if __name__ == "__main__":
    app()
