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
    from leaderboard.filter import outcomes
    from leaderboard.render import write_site
    from leaderboard.table import boards

    store = Store()
    cells = list(store.cells())
    found = boards(cells)
    page = write_site(found, store.uri, out, outcomes(cells))
    for line in store.unreadable:
        typer.echo(f"warning: {line}", err=True)
    rows = sum(len(board.rows) for board in found)
    typer.echo(f"{len(found)} tables, {rows} rows: {page.resolve()}")


@app.callback()
def main() -> None: ...


if __name__ == "__main__":
    app()
