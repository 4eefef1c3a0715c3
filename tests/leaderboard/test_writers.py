"""One table as HTML, LaTeX, CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from leaderboard.boards import boards, to_table
from leaderboard.stats.intervals import Estimate
from leaderboard.table import Table, Value
from leaderboard.tables import build, stamp
from leaderboard.writers import latex, markdown, to_csv, to_html, to_json, to_latex, to_markdown

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
        r"50 \% \& a\_b \{x\} $\lambda$=3 $\Delta$ $-$1 $\times$2 \textbackslash{} $-$4.2 a-b 10$^{-}$$^{5}$"
    )


def test_a_latex_table_is_complete_and_says_where_it_comes_from():
    lines = to_latex(TABLE, ("churn-benchmark 1", "bace: data x")).splitlines()
    assert lines[:2] == ["% churn-benchmark 1", "% bace: data x"]
    assert lines.count(r"\begin{table}[t]") == lines.count(r"\end{table}") == 1
    assert r"\label{tab:main}" in lines
    assert r"\cmidrule(lr){3-4}" in lines
    assert any(r"\textbf{$-$10.0 [$-$20.0, $-$5.0]}\rlap{$^{*}$$^\dagger$}" in line for line in lines)


def test_a_wide_table_has_its_intervals_below_the_numbers():
    wide = Table("wide", "", "", ("Dataset", *("Method",) * 8), (("BACE", *(BEST,) * 8),))
    lines = to_latex(wide).splitlines()
    (numbers,) = [line for line in lines if line.startswith("BACE")]
    below = lines[lines.index(numbers) + 1]
    assert "[" not in numbers
    assert below.count(r"{\tiny [$-$20.0, $-$5.0]}") == 8


def test_the_latex_of_every_table_compiles(world, tmp_path: Path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex (Debian: texlive-latex-recommended)")
    made = [*build(world), *map(to_table, boards(world)), TABLE]
    signs = Table("signs", "", "", ("sign",), tuple((sign,) for sign in "&%$#_{}~^\\<>|*λΔχ×−′≥≤→∣–…†·⁻⁰¹²³⁹"))
    body = "\n".join(to_latex(table, stamp(world, table)) for table in [*made, signs])
    document = "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n"
    (tmp_path / "all.tex").write_text(f"{document}{body}\\end{{document}}\n", encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"], cwd=tmp_path, capture_output=True
    )
    log = run.stdout.decode(errors="replace")
    assert run.returncode == 0, log[-2000:]
    assert "Overfull" not in log


def test_a_value_without_a_number_is_a_dash():
    assert Value.of(Estimate(np.nan, np.nan, np.nan)) == Value.of(None) == Value("–")
