"""One table as HTML, LaTeX, CSV, JSON and Markdown."""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

from leaderboard.tables.table import Value
from leaderboard.write.formats import markdown, to_csv, to_html, to_json, to_markdown


def test_html_is_escaped_and_its_headers_have_scopes(one_table):
    table = ElementTree.fromstring(to_html(one_table))
    assert "".join(table.find("caption").itertext()) == "Churn & <more>. In 95 % of cases"
    above, header = table.find("thead")
    heads = [(cell.tag, cell.get("colspan"), cell.get("scope")) for cell in above]
    assert heads == [("td", "2", None), ("th", "2", "colgroup")]
    assert [cell.get("scope") for cell in header] == ["col"] * 4
    first, second = table.find("tbody")
    assert (first[0].tag, first[0].get("scope"), first[0].text) == ("th", "row", "BACE_x <dev>")
    assert "".join(first[2].itertext()).split() == ["−10.0", "*", "†", "[−20.0,", "−5.0]"]
    assert (first[2].get("class"), float(first[2].get("data-value"))) == ("best", -10)
    assert second[1].get("data-value") is None
    assert first[3].get("class") == "left"


def test_csv_has_six_digits_with_interval_and_flags_where_there_are_any(one_table):
    head, first, second = csv.reader(io.StringIO(to_csv(one_table)))
    twin = "Data-side: Twin λ=300"
    assert head == ["Dataset", "N", twin, f"{twin} low", f"{twin} high", f"{twin} flags", "Data-side: Group"]
    assert first == ["BACE_x <dev>", "968", "-10", "-20", "-5", "* †", "A|B"]
    assert second == ["DILI", "", "0.333333", "", "", "", "A"]


def test_json_has_everything(one_table):
    read = json.loads(to_json(one_table))
    best = {"text": "−10.0 [−20.0, −5.0]", "value": -10.0, "low": -20.0, "high": -5.0, "mark": "best", "flags": "* †"}
    assert read["rows"][0][2] == best
    assert read["rows"][1][1]["value"] is read["rows"][1][2]["low"] is None
    assert (read["key"], read["kind"], read["over"]) == ("main", "runs", [["", 2], ["Data-side", 2]])


def test_markdown_is_aligned_has_the_best_in_bold_and_escapes_bars_and_stars(one_table):
    lines = to_markdown(one_table).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert r"A\|B" in lines[2]
    assert r"**−10.0 [−20.0, −5.0]** \* †" in lines[2]
    assert markdown("* p < 0.05 | x") == r"\* p < 0.05 \| x"
    assert lines[1].split("|")[3].endswith(": ")


def test_a_spreadsheet_takes_no_text_for_a_formula_and_numbers_stay_numbers(one_table):
    written = {"=1+1": "'=1+1", "+1+1": "'+1+1", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "-": "'-", "\t=1": " =1"}
    written |= {"a\r=1": "a =1"} | {text: text for text in ("−1", "-3.5", "+0.3", "a=b")}
    rows = tuple((text, Value("−1", -1.0), "x") for text in written)
    table = replace(one_table, header=("=cmd()", "N", "@x"), rows=rows, over=())
    head, *lines = csv.reader(io.StringIO(to_csv(table)))
    assert head == ["'=cmd()", "N", "'@x"]
    assert [line[0] for line in lines] == [*written.values()]
    assert {line[1] for line in lines} == {"-1"}
