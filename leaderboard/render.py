"""Boards as HTML, LaTeX and CSV: the same cells of text in each."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmark import __version__
from benchmark.errors import UserError
from leaderboard import filter
from leaderboard.boards import EVALSETS, Board, Row
from leaderboard.columns import Column
from leaderboard.filter import Outcome
from leaderboard.writers import latex


def best(board: Board, column: Column) -> float | None:
    """The best value in a column, among methods that carry no mark; None if there is nothing to compare."""
    if column.versus or column.quantity is None:
        return None
    values = [e.value for row in board.rows if not row.marks and (e := row.estimates[column.key]) is not None]
    return (max if column.better > 0 else min)(values) if len(values) > 1 else None


def is_best(board: Board, column: Column, row: Row) -> bool:
    estimate = row.estimates[column.key]
    return estimate is not None and not row.marks and estimate.value == best(board, column)


def texts(board: Board) -> list[list[str]]:
    """The table as text: a header, then a row per method."""
    header = ["Method", *[column.title for column in board.columns], "Splits", "Retrainings"]
    body = [
        [
            " ".join([row.title, *row.marks]),
            *[column.show(row.estimates[column.key]).text for column in board.columns],
            ", ".join(map(str, row.splits)),
            str(row.n_seeds[0]) if row.n_seeds[0] == row.n_seeds[1] else f"{row.n_seeds[0]}–{row.n_seeds[1]}",
        ]
        for row in board.rows
    ]
    return [header, *body]


def to_csv(board: Board) -> str:
    """The board as numbers (fractions, not percent), with ``_low`` and ``_high`` for each interval."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [f"{column.key}{end}" for column in board.columns for end in ("", "_low", "_high")]
    writer.writerow(["dataset", "evalset", "method", "title", "marks", "splits", "retrainings", *names])
    for row in board.rows:
        numbers: list[object] = []
        for column in board.columns:
            estimate = row.estimates[column.key]
            ends = (estimate.value, estimate.low, estimate.high) if estimate else (float("nan"),) * 3
            numbers += ["" if end != end else repr(round(end, 10)) for end in ends]
        head = [board.dataset, board.evalset, row.method, row.title, " ".join(row.marks)]
        writer.writerow([*head, " ".join(map(str, row.splits)), row.n_seeds[0], *numbers])
    return out.getvalue()


def environment() -> Environment:
    """Templates with everything escaped for HTML, and LaTeX's own brackets for the .tex ones."""
    html = Environment(
        loader=PackageLoader("leaderboard"),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    html.filters["latex"] = latex
    html.globals.update(version=__version__, evalsets=EVALSETS, texts=texts, is_best=is_best)
    return html


def write_site(boards: Sequence[Board], store: str, out: Path, filtered: Sequence[Outcome] = ()) -> Path:
    """Write ``index.html`` and, for each board, ``tables/DATASET-EVALSET.tex`` and ``.csv`` to the folder ``out``.

    ``filtered`` are the outcomes of the paper's filter, shown below the boards and in ``tables/filter.csv``.

    The folder appears whole or not at all. Raises UserError if ``out`` is a file or a folder of something else.
    """
    out, marker = out.resolve(), ".churn-leaderboard"
    if out.exists() and not ((out / marker).is_file() or (out.is_dir() and not any(out.iterdir()))):
        raise UserError(f"{out} exists and is not a leaderboard of ours: choose another --out")
    temporary, old = out.with_name(f".{out.name}.{os.getpid()}"), out.with_name(f".{out.name}.old.{os.getpid()}")
    templates = environment()
    try:
        (temporary / "tables").mkdir(parents=True)
        (temporary / marker).write_text(f"{__version__}\n", encoding="utf-8")
        for board in boards:
            stem = temporary / "tables" / f"{board.dataset}-{board.evalset}"
            tex = templates.get_template("table.tex").render(board=board)
            stem.with_suffix(".tex").write_text(tex, encoding="utf-8")
            stem.with_suffix(".csv").write_text(to_csv(board), encoding="utf-8")
        (temporary / "tables" / "filter.csv").write_text(filter.to_csv(filtered), encoding="utf-8")
        page = templates.get_template("index.html").render(boards=boards, store=store, filtered=filtered)
        (temporary / "index.html").write_text(page, encoding="utf-8")
        if out.exists():
            out.rename(old)
        temporary.rename(out)
    except OSError as error:
        raise UserError(f"cannot write the leaderboard to {out}: {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    return out / "index.html"
