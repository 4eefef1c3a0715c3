"""Tables as LaTeX: complete, within the page and readable."""

import ast
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import leaderboard
from benchmark.measure.intervals import Estimate
from leaderboard.tables.boards import boards, to_table
from leaderboard.tables.entries import build, stamp
from leaderboard.tables.table import Table, Value
from leaderboard.write import cited
from leaderboard.write.formats import to_json
from leaderboard.write.latex import LATEX, latex, to_latex

from ..conftest import compiled

BEST = Value.of(Estimate(-0.1, -0.2, -0.05), 100, 1, signed=True).but("best", "* †")


def test_latex_escapes_special_characters():
    assert latex("50 % & a_b {x} λ=3 Δ −1 ×2 \\ -4.2 a-b 2–4 10⁻⁵") == (
        r"50~\% \& a\_b \{x\} $\lambda$=3 $\Delta$ $-$1 $\times$2 \textbackslash{} $-$4.2 a-b 2--4 10$^{-}$$^{5}$"
    )


def test_a_latex_table_is_complete_and_says_where_it_comes_from(one_table):
    lines = to_latex(one_table, ("churn-benchmark 1", "bace: data x")).splitlines()
    assert lines[:2] == ["% churn-benchmark 1", "% bace: data x"]
    assert sum(line.startswith(r"\begin{longtable}") for line in lines) == lines.count(r"\end{longtable}") == 1
    assert sum(r"\label{tab:main}" in line for line in lines) == 1
    assert r"\cmidrule(lr){3-4}" in lines
    assert any(r"\textbf{$-$10.0 [$-$20.0, $-$5.0]}\rlap{$^{*}$$^\dagger$}" in line for line in lines)


def test_a_mark_with_a_question_mark_is_set_like_a_sign_and_a_word_like_a_word(one_table):
    flagged = replace(one_table, rows=(("BACE", "1", Value("1.0", 1.0).but(flags="* †? collapsed"), "A"),))
    assert r"1.0\rlap{$^{*}$$^\dagger$?} collapsed" in to_latex(flagged)


def test_a_percent_sign_stays_beside_its_number_and_begins_no_line(one_table):
    assert latex("95 % of it, % of 3") == r"95~\% of it, \% of 3"
    comments = [line for line in to_latex(one_table, ("stamp",)).splitlines() if line.lstrip().startswith("%")]
    assert comments == ["% stamp", r"% Needs \usepackage{array,booktabs,longtable}."]


def wide(methods: int, datasets: int = 1) -> Table:
    header = ("Dataset", *(f"Method {i}" for i in range(methods)))
    return Table("wide", "", "", header, tuple((f"BACE {i}", *(BEST,) * methods) for i in range(datasets)))


def test_columns_that_do_not_fit_on_a_line_continue_below_and_each_panel_names_its_rows():
    text = to_latex(wide(9))
    heads = [line.split(" & ") for line in text.splitlines() if line.startswith("Dataset")]
    panels = text.count(r"\begin{longtable}")
    assert panels == text.count("BACE 0") == text.count(r"\addtocounter{table}{-1}") + 1 == len(heads) - 1 > 1
    assert text.count(r"\caption") == text.count(r"\label") == 1
    assert [name.removesuffix(r" \\") for head in heads[1:] for name in head[1:]] == [f"Method {i}" for i in range(9)]


def test_a_table_of_few_rows_and_many_columns_is_turned():
    methods = [f"Method {i}" for i in range(60)]
    rows = [(name, *(Value(f"{name} {i}", i) for i in range(60))) for name in ("BACE", "DILI")]
    text = to_latex(Table("main", "Churn", "", ("Dataset", *methods), tuple(rows)))
    assert text.count(r"\begin{longtable}") == 1
    assert r" & BACE & DILI \\" in text
    assert r"Method 7 & BACE 7 & DILI 7 \\" in text


def test_each_panel_has_the_heads_above_its_columns():
    header, over = ("Dataset", *("mended", "broken") * 9), (("", 1), *((f"Method {i}", 2) for i in range(9)))
    row = ("BACE", *(Value("5.1", 5.1),) * 18)
    lines = to_latex(Table("wide", "", "", header, (row,), over=over)).splitlines()
    for above, below in zip(lines, lines[2:], strict=False):
        if "Method" in above:
            spans = [int(n) for n in re.findall(r"multicolumn\{(\d+)\}", above)]
            assert sum(spans) == len(below.split(" & "))


def published() -> list[Table]:
    """Return the tables shipped with the suite as LaTeX: all but the boards of single datasets."""
    every = (frozen for folder in cited.versions() for frozen in cited.tables(folder))
    tables = [frozen.table for frozen in every if "/datasets/" not in frozen.name]
    assert any(table.key.startswith("study-") for table in tables)
    return tables


@pytest.mark.slow
def test_the_latex_of_every_table_compiles_and_fits_on_its_page(world, one_table, tmp_path: Path):
    tables = [*build(world), *map(to_table, boards(world)), one_table, *published(), wide(30, datasets=60)]
    signs = Table("signs", "", "", ("sign",), tuple((sign,) for sign in LATEX))
    body = "\n".join(to_latex(table, stamp(world, tables[0])) + r"\clearpage" for table in [*tables, signs])
    assert "Overfull" not in compiled(f"{body}\n", tmp_path)


def test_every_sign_that_a_table_can_hold_is_mapped():
    """Pdflatex stops at an unknown sign. Docstrings, figures, refused signs and markers of names are in no table."""
    package = Path(leaderboard.__file__).parent
    files = [*package.rglob("*.py"), *package.parent.glob("benchmark/**/*.py"), *package.parent.glob("methods/*.py")]
    outside = {package / "paper/compare.py", package / "site/names.py", package.parent / "benchmark/settings.py"}
    texts = {
        f"{path}:{node.lineno}": node.value
        for path in files
        if path not in outside and path.parent.name != "figures"
        for node in texts_of(ast.parse(path.read_text(encoding="utf-8")))
    }
    texts |= {str(path): path.read_text(encoding="utf-8") for path in package.parent.glob("datasets/*/*.toml")}
    texts |= {f"table {table.key}": to_json(table) for table in published()}
    unknown = {(place, sign) for place, text in texts.items() for sign in text if sign > "~" and sign not in LATEX}
    assert unknown == set()


def texts_of(tree: ast.AST) -> Iterable[Any]:
    """Return the texts of a module except its docstrings."""
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in words)
    return (node for node in constants if isinstance(node.value, str))


BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x00"]


@pytest.mark.parametrize("mark", BREAKS)
def test_no_text_or_stamp_can_leave_its_line(one_table, mark):
    evil = rf"1.0{mark}\input{{/etc/passwd}}\write18{{id}}"
    header, rows = (evil, *one_table.header[1:]), ((evil, *one_table.rows[0][1:]), *one_table.rows[1:])
    more = {"title": evil, "caption": evil, "notes": (evil,), "over": ((evil, 4),)}
    table = replace(one_table, header=header, rows=rows, **more)
    text = to_latex(table, [evil])
    assert text.splitlines()[0] == r"% 1.0" + " " * len(mark) + r"\input{/etc/passwd}\write18{id}"
    rest = "\n".join(text.splitlines()[1:])
    assert r"\input" not in rest
    assert r"\write" not in rest
    assert r"\textbackslash{}input" in rest
    assert not set("".join(BREAKS)) - {"\n"} & set(text)
    assert "\n\n" not in text
