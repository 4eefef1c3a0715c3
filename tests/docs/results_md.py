"""The tables of methods in RESULTS.md."""

import pandas as pd

from benchmark.files import CHECKOUT


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def results(sampling: str) -> pd.DataFrame:
    """Return the table of methods under a sampling as it is written, by method."""
    text = (CHECKOUT / "RESULTS.md").read_text(encoding="utf-8")
    part = text.partition(f"## Methods under {sampling}\n")[2].partition("\n## ")[0]
    header, _, *rows = (cells(line) for line in part.splitlines() if line.startswith("|"))
    return pd.DataFrame(rows, columns=header).set_index("Method")
