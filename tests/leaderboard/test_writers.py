"""One table as HTML, LaTeX, CSV, JSON and Markdown."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import leaderboard
from leaderboard.boards import boards, to_table
from leaderboard.stats.intervals import Estimate
from leaderboard.table import Table, Value
from leaderboard.tables import build, stamp
from leaderboard.writers import LATEX, latex, markdown, to_csv, to_html, to_json, to_latex, to_markdown

BEST = Value.of(Estimate(-0.1, -0.2, -0.05), 100, 1, signed=True).but("best", "* †")
TABLE = Table(
    key="main",
    title="Churn & <more>",
    caption="In 95 % of cases",
    header=("Dataset", "N", "Twin λ=300", "Group"),
    rows=(("BACE_x <dev>", Value("968", 968), BEST, "A|B"), ("DILI", Value("–"), Value("+0.3", 1 / 3), "A")),
    notes=("* is p < 0.05.",),
    over=(("", 2), ("Data-side", 2)),
)


def test_html_is_escaped_and_says_what_each_header_is_for():
    table = ElementTree.fromstring(to_html(TABLE))
    assert "".join(table.find("caption").itertext()) == "Churn & <more>. In 95 % of cases"
    above, header = table.find("thead")
    assert [(cell.tag, cell.get("colspan"), cell.get("scope")) for cell in above] == [
        ("td", "2", None),
        ("th", "2", "colgroup"),
    ]
    assert [cell.get("scope") for cell in header] == ["col"] * 4
    first, second = table.find("tbody")
    assert (first[0].tag, first[0].get("scope"), first[0].text) == ("th", "row", "BACE_x <dev>")
    assert "".join(first[2].itertext()).split() == ["−10.0", "*", "†", "[−20.0,", "−5.0]"]
    assert (first[2].get("class"), float(first[2].get("data-value"))) == ("best", -10)
    assert second[1].get("data-value") is None
    assert first[3].get("class") == "left"


def test_csv_has_full_precision_with_interval_and_flags_where_there_are_any():
    head, first, second = csv.reader(io.StringIO(to_csv(TABLE)))
    twin = "Data-side: Twin λ=300"
    assert head == ["Dataset", "N", twin, f"{twin} low", f"{twin} high", f"{twin} flags", "Data-side: Group"]
    assert first == ["BACE_x <dev>", "968", "-10.0", "-20.0", "-5.0", "* †", "A|B"]
    assert second == ["DILI", "", "0.3333333333", "", "", "", "A"]


def test_json_has_everything():
    read = json.loads(to_json(TABLE))
    assert read["rows"][0][2] == {
        "text": "−10.0 [−20.0, −5.0]",
        "value": -10.0,
        "low": -20.0,
        "high": -5.0,
        "mark": "best",
        "flags": "* †",
    }
    assert read["rows"][1][1]["value"] is None
    assert (read["key"], read["kind"], read["over"]) == ("main", "runs", [["", 2], ["Data-side", 2]])


def test_markdown_is_aligned_has_the_best_in_bold_and_escapes_bars_and_stars():
    lines = to_markdown(TABLE).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert r"A\|B" in lines[2]
    assert r"**−10.0 [−20.0, −5.0]** \* †" in lines[2]
    assert markdown("* p < 0.05 | x") == r"\* p < 0.05 \| x"
    assert lines[1].split("|")[3].endswith(": ")


def test_latex_escapes_what_latex_would_misread():
    assert latex("50 % & a_b {x} λ=3 Δ −1 ×2 \\ -4.2 a-b 10⁻⁵") == (
        r"50~\% \& a\_b \{x\} $\lambda$=3 $\Delta$ $-$1 $\times$2 \textbackslash{} $-$4.2 a-b 10$^{-}$$^{5}$"
    )


def test_a_latex_table_is_complete_and_says_where_it_comes_from():
    lines = to_latex(TABLE, ("churn-benchmark 1", "bace: data x")).splitlines()
    assert lines[:2] == ["% churn-benchmark 1", "% bace: data x"]
    assert lines.count(r"\begin{table}[tp]") == lines.count(r"\end{table}") == 1
    assert r"\label{tab:main}" in lines
    assert r"\cmidrule(lr){3-4}" in lines
    assert any(r"\textbf{$-$10.0 [$-$20.0, $-$5.0]}\rlap{$^{*}$$^\dagger$}" in line for line in lines)


def test_a_percent_sign_stays_beside_its_number_and_begins_no_line():
    assert latex("95 % of it, % of 3") == r"95~\% of it, \% of 3"
    comments = [line for line in to_latex(TABLE, ("stamp",)).splitlines() if line.lstrip().startswith("%")]
    assert comments == ["% stamp", r"% Needs \usepackage{booktabs,graphicx}."]


def wide(methods: int, datasets: int = 1) -> Table:
    header = ("Dataset", *(f"Method {i}" for i in range(methods)))
    return Table("wide", "", "", header, tuple((f"BACE {i}", *(BEST,) * methods) for i in range(datasets)))


def test_a_wide_table_has_its_intervals_below_the_numbers_at_the_same_size():
    lines = to_latex(wide(5)).splitlines()
    (numbers,) = [line for line in lines if line.startswith("BACE")]
    below = lines[lines.index(numbers) + 1]
    assert "[" not in numbers
    assert below.count("[$-$20.0, $-$5.0]") == 5
    assert not any("tiny" in line for line in lines)


def test_columns_that_do_not_fit_on_a_line_go_on_below_and_each_panel_names_its_rows():
    text = to_latex(wide(13))
    assert text.count(r"\begin{table}") == 1
    assert text.count(r"\begin{tabular}") == text.count("BACE 0") == 3
    heads = [line.split(" & ") for line in text.splitlines() if line.startswith("Dataset")]
    assert [len(head) - 1 for head in heads] == [5, 5, 3]
    assert [name.removesuffix(r" \\") for head in heads for name in head[1:]] == [f"Method {i}" for i in range(13)]


def test_columns_below_one_head_are_not_parted():
    header, over = ("Dataset", *("mended", "broken") * 9), (("", 1), *((f"Method {i}", 2) for i in range(9)))
    row = ("BACE", *(Value("5.1", 5.1),) * 18)
    lines = to_latex(Table("wide", "", "", header, (row,), over=over)).splitlines()
    heads = [line for line in lines if "Method" in line]
    assert [line.count("multicolumn{2}") for line in heads] == [5, 4]
    assert [line.count("mended") for line in lines if line.startswith("Dataset")] == [5, 4]


def test_what_does_not_fit_on_a_page_goes_on_in_another_table():
    text = to_latex(wide(8, datasets=40))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 4
    assert text.count(r"\caption") == text.count(r"\label") == 1
    assert text.count(r"\tablename~\ref{tab:wide}, continued.") == 3
    assert [text.count(f"BACE {i} ") for i in range(40)] == [2] * 40


def test_rows_of_one_first_text_are_a_panel_that_it_heads():
    rows = (("ESOL", "ERM", BEST), ("", "Twin", BEST), ("Lipo", "ERM", BEST))
    text = to_latex(Table("t", "", "", ("Dataset", "Method", "Churn"), rows))
    assert [text.count(name) for name in ("ESOL", "Lipo", "Dataset", "Method", "ERM", "Twin")] == [1, 1, 0, 2, 2, 1]
    assert r"\multicolumn{2}{c}{ESOL}" in text


TEXTWIDTH = 345
"""Of LaTeX's article, in pt."""


def compiled(tables: Iterable[Table], folder: Path, stamps: Sequence[str] = (), preamble: str = "") -> str:
    """The log of pdflatex on a document of ``tables``."""
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex (Debian: texlive-latex-recommended)")
    body = "\n".join(to_latex(table, stamps) + r"\clearpage" for table in tables)
    document = f"\\documentclass{{article}}\n\\usepackage{{booktabs,graphicx}}\n{preamble}\\begin{{document}}\n"
    (folder / "all.tex").write_text(f"{document}{body}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True)
    log = run.stdout.decode(errors="replace")
    assert run.returncode == 0, log[-2000:]
    return log


def published() -> list[Table]:
    """The tables that come with the suite, those of studies too."""

    def number(value: float | None) -> float:
        return float("nan") if value is None else value

    def cell(of: str | dict[str, Any]) -> str | Value:
        if isinstance(of, str):
            return of
        return Value(of["text"], *(number(of[key]) for key in ("value", "low", "high")), of["mark"], of["flags"])

    made = []
    for path in sorted(Path(leaderboard.__file__).parent.glob("published/*/tables/*.json")):
        read = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(tuple(map(cell, row)) for row in read.pop("rows"))
        texts = {key: tuple(read.pop(key)) for key in ("header", "notes", "datasets")}
        made.append(Table(rows=rows, over=tuple(map(tuple, read.pop("over"))), **texts, **read))
    assert any(table.key.startswith("study-") for table in made)
    return made


def test_the_latex_of_every_table_compiles_and_fits_on_its_page(world, tmp_path: Path):
    made = [*build(world), *map(to_table, boards(world)), TABLE, *published(), wide(30, datasets=60)]
    signs = Table("signs", "", "", ("sign",), tuple((sign,) for sign in LATEX))
    log = compiled([*made, signs], tmp_path, stamp(world, made[0]))
    assert "Overfull" not in log
    assert "Float too large" not in log


def test_no_number_is_smaller_than_six_points(tmp_path: Path):
    measure = "\\renewcommand{\\resizebox}[3]{\\sbox0{#3}\\typeout{WIDTH \\the\\wd0}\\usebox0}\n"
    made = [*published(), wide(30)]
    log = compiled(made, tmp_path, preamble=measure)
    widths = [float(width) for width in re.findall(r"WIDTH ([\d.]+)pt", log)]
    assert len(widths) == sum(to_latex(table).count(r"\resizebox") for table in made)
    assert max(widths) <= TEXTWIDTH * 7 / 6


def test_every_sign_that_a_table_can_hold_is_mapped():
    """pdflatex stops at a sign it does not know. Docstrings and figures are in no table."""
    package = Path(leaderboard.__file__).parent
    files = [*package.rglob("*.py"), *package.parent.glob("benchmark/**/*.py"), *package.parent.glob("methods/*.py")]
    outside = {package / "compare.py", package.parent / "benchmark" / "cli.py"}
    texts = {
        f"{path}:{node.lineno}": node.value
        for path in files
        if path not in outside and path.parent.name != "figures"
        for node in texts_of(ast.parse(path.read_text(encoding="utf-8")))
    }
    texts |= {str(path): path.read_text(encoding="utf-8") for path in package.parent.glob("datasets/*.toml")}
    texts |= {f"table {table.key}": to_json(table) for table in published()}
    unknown = {(place, sign) for place, text in texts.items() for sign in text if sign > "~" and sign not in LATEX}
    assert unknown == set()


def texts_of(tree: ast.AST) -> Iterable[Any]:
    """The texts in a module that are no docstrings."""
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words
    )


def test_a_value_without_a_number_is_a_dash():
    assert Value.of(Estimate(np.nan, np.nan, np.nan)) == Value.of(None) == Value("–")
