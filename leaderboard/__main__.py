"""The command line: ``python -m leaderboard --help``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.cli import App
from benchmark.errors import UserError, did_you_mean
from leaderboard.own import commands

if TYPE_CHECKING:
    from leaderboard.results import Results

app = App(help="Turn the runs in the tracking store into a leaderboard.")
STORE = typer.Option(help="MLflow store, or a folder of exported results. [default: MLFLOW_TRACKING_URI]")


@app.command()
def build(
    out: Annotated[Path, typer.Option(help="Folder of the pages; it is replaced.")] = Path("site"),
    ci: Annotated[
        str, typer.Option(help="What intervals are over: runs, examples, both, or paper (too narrow).")
    ] = "runs",
    store: Annotated[str, STORE] = "",
) -> None:
    """Write the leaderboard as pages, LaTeX, CSV and JSON."""
    from leaderboard import site
    from leaderboard.stats.intervals import KINDS

    kind = next((kind for kind in KINDS if kind == ci), None)
    if kind is None:
        raise did_you_mean("kind of interval", ci, list(KINDS))
    folder = site.claim(out)
    results, health = read(store)
    for line in results.unreadable:
        typer.echo(f"warning: {line}", err=True)
    page = site.write(results, folder, kind, health)
    entries = sum(len(dataset.entries) for dataset in results.datasets)
    typer.echo(f"{len(results.datasets)} datasets, {entries} rows: {page}")


def read(store: str = "") -> tuple[Results, dict[str, str]]:
    """The results in an MLflow store or a folder of exported ones, and the health reports of their datasets."""
    from leaderboard import published
    from leaderboard.results import collect

    if store and Path(store).is_dir():
        return collect(published.read(Path(store)), store), {}
    if store and "://" not in store and store != "databricks":
        example = "sqlite:///mlflow.db or http://127.0.0.1:5000"
        raise UserError(f"{store}: no such folder; give one of exported results, or an MLflow address as {example}")
    from benchmark.tracking import Store

    found = Store(store)
    cells = list(found.cells())
    results = collect(cells, found.uri, [*found.unreadable, *found.failures()])
    first = {dataset.name: next(iter(dataset.entries[0].cells.values())) for dataset in results.datasets}
    health = {name: found.report(cell.run_id, "health.txt") for name, cell in first.items()}
    return results, health


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="Folder of the results; what was exported there before is replaced.")],
    store: Annotated[str, STORE] = "",
) -> None:
    """Keep the results of a store as files, from which the leaderboard can be built without it."""
    from leaderboard import published

    results, _ = read(store)
    published.write(results, out)
    typer.echo(f"{sum(len(entry.cells) for d in results.datasets for entry in d.entries)} cells: {out.resolve()}")


@app.command()
def compare(
    file: Annotated[Path | None, typer.Argument(help="CSV of published numbers. [default: the paper's]")] = None,
    store: Annotated[str, STORE] = "",
    markdown: Annotated[
        Path | None, typer.Option(help="Write the main tables and a report to this file instead.")
    ] = None,
) -> None:
    """Show our number beside each published one, and whether they agree within our intervals."""
    from leaderboard import compare, report

    paper = Path(str(files("leaderboard"))) / "paper" / "published.csv"
    results, _ = read(store)
    found = compare.compare(results, file or paper)
    if markdown is None:
        typer.echo(report.text(found))
    else:
        markdown.write_text(report.page(results, found), encoding="utf-8")


for command in (commands.score, commands.triage, commands.power, commands.gate):
    app.command()(command)


@app.callback()
def main() -> None: ...


if __name__ == "__main__":
    app()
