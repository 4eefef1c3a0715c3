"""The command line: ``python -m leaderboard --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmark.cli import App

app = App(help="Turn the runs in the tracking store into a leaderboard.")


@app.command()
def build(out: Annotated[Path, typer.Option(help="Folder of the pages; it is replaced.")] = Path("site")) -> None:
    """Write the leaderboard as HTML, LaTeX and CSV."""
    from benchmark.tracking import Store
    from leaderboard.boards import boards
    from leaderboard.filter import outcomes
    from leaderboard.render import write_site
    from leaderboard.results import collect

    store = Store()
    cells = list(store.cells())
    results = collect(cells, store.uri, store.unreadable)
    found = boards(results)
    page = write_site(found, store.uri, out, outcomes(results))
    for line in results.unreadable:
        typer.echo(f"warning: {line}", err=True)
    rows = sum(len(board.rows) for board in found)
    typer.echo(f"{len(found)} tables, {rows} rows: {page.resolve()}")


@app.callback()
def main() -> None: ...


if __name__ == "__main__":
    app()
