"""Raw bytes become rows of text with their line numbers."""

import gzip
import io
import re
import zipfile
from datetime import datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest
from rdkit import Chem

from benchmark.data import readers
from benchmark.data.downloads import locate, obtain
from benchmark.data.problem import load_problem
from benchmark.data.readers import LINE, REPEATED, clean, read
from benchmark.data.rows import load_rows
from benchmark.data.spec import dataset_names, load_spec
from benchmark.errors import UserError

from .conftest import workbook

BOM = b"\xef\xbb\xbf"
BBB = load_spec("bbb_martins")
TADF = load_spec("tadf")


def lines(content: bytes) -> dict[int, list[str]]:
    """Return the cells of each row by its line."""
    table = read(content, "table.csv")
    return dict(zip(table[LINE].tolist(), table.drop(columns=LINE).to_numpy().tolist(), strict=True))


def archive(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("a.txt", content)
    return packed.getvalue()


# Texts


SAID = ["007", "1.50", "1e3", "True", "NULL", " x ", "1,5", 'say "x"']
BLANKS = [b"a,b", b"", b"1,2", b"", b"", b",", b"3,4", b"", b""]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b'a;b;c;d;e;f;g;h\n007;1.50;1e3;True;NULL; x ;1,5;"say ""x"""\n', {2: SAID}),
        (b"a\tb\nNA\tnan\n1\t", {2: ["NA", "nan"], 3: ["1", ""]}),
        *((end.join(BLANKS), {3: ["1", "2"], 7: ["3", "4"]}) for end in (b"\n", b"\r\n")),
        (b"a,b,c\n1\n1,2\n1,2,3\n", {2: ["1", "", ""], 3: ["1", "2", ""], 4: ["1", "2", "3"]}),  # short rows
        (b"# of May\n#\n#,b\n1,2\n", {4: ["1", "2"]}),  # the comments have the separator too
        # Excel's line for the separator
        *((first + b"\r\na;b\r\n1,5;2\r\n", {3: ["1,5", "2"]}) for first in (b"sep=;", b'"sep=;"', b"SEP=;;;")),
        (b"sep=|\na|b\n1|2\n", {3: ["1", "2"]}),
        (b'SMILES\nCC\n""\n\nCO\n', {2: ["CC"], 3: [""], 5: ["CO"]}),  # a quoted nothing is a row
    ],
)
def test_cells_stay_as_written_with_the_numbers_of_their_lines(content, rows):
    assert lines(content) == rows


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_text_without_quotes_is_read_as_python_reads_it(columns, monkeypatch):
    divided, unquoted = [], readers._unquoted

    def noted(text, separator):
        divided.append(unquoted(text, separator))
        return divided[-1]

    monkeypatch.setattr(readers, "_unquoted", noted)
    draw = np.random.default_rng(columns)
    pieces = np.array(["", "", " ", "x", "1.5", "é", "\u2028", "\x0b", "'", "\r\n", "\n", "\r", "\n\n", ","])
    for n in range(300):  # the more kinds of pieces, the rarer is a text with as many fields in each line
        fields = draw.choice(pieces[: 3 + n % (len(pieces) - 2)], size=(5, columns))
        body = [b",".join(text.encode() for text in row.tolist()) for row in fields]
        head = [f"n{i}".encode() for i in range(columns)]
        quoted, plain = ([b",".join([first, *head[1:]]), *body] for first in (b'"n0"', b"n0"))
        for end in (b"\n", b"\r\n"):
            assert_alike(end.join(quoted), end.join(plain))
    assert sum(every is not None for every in divided) > 100


def assert_alike(*contents: bytes) -> None:
    found = []
    for content in contents:
        try:
            found.append((lines(content), [*read(content, "table.csv")]))
        except UserError as error:
            found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ('"SMILES","y","a;b;c;d"\n"CCO","1","2"\n', ["SMILES", "y", "a;b;c;d"]),
        ("SMILES;pIC50 (25 °C, pH 7,4)\nCCO;5,1\nCC;6\nC;7,25\n", ["SMILES", "pIC50 (25 °C, pH 7,4)"]),
        ("SMILES;IC50, nM;name\nCCO;5,1;a\nCC;6,2;b\n", ["SMILES", "IC50, nM", "name"]),
        ("SMILES\tlog P, calc, v2\nCCO\t5.1\n", ["SMILES", "log P, calc, v2"]),
        ("SMILES\tIC50, nM\nCCO\t5,1\n", ["SMILES", "IC50, nM"]),
        ("\nSMILES,y,a|b\nCCO,1,2\nCC,1\nC,1,3\n", ["SMILES", "y", "a|b"]),
        ("a,b;c,d\n", ["a", "b;c", "d"]),
        ("\ufeff\ufeffa,b\n1,2\n", ["a", "b"]),  # a second mark of UTF-8
    ],
)
def test_fields_are_separated_by_the_mark_that_divides_header_and_rows_alike(content, columns):
    assert read(content.encode(), "table.csv").columns.tolist() == [*columns, LINE]


def test_marks_that_divide_header_and_rows_alike_are_asked_about():
    content = b"SMILES;IC50, nM\nCCO;5,1\nCC;6,2\n"
    with pytest.raises(UserError, match=r"',' or ';' may separate its fields: .* in a first line such as sep=,"):
        read(content, "table.csv")
    assert lines(b"sep=;\n" + content) == {3: ["CCO", "5,1"], 4: ["CC", "6,2"]}


def test_names_that_repeat_are_numbered_and_none_is_taken_for_one_of_ours():
    table = read(b'a,a,a.1,(line),(repeated),"IC50\n(nM)"\n1,2,3,4,5,6\n', "table.csv")
    assert table.columns.tolist() == ["a", "a.2", "a.1", "(line).1", "(repeated).1", "IC50 (nM)", LINE]
    assert table.to_numpy().tolist() == [["1", "2", "3", "4", "5", "6", 3]]
    assert read(b'"IC50\n(nM)",b,IC50 (nM)\n1,2,3\n', "table.csv").attrs["repeated"] == ["IC50 (nM)"]


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (b"a\n" + b"1\n" * 11, "11 rows or more, 1 column"),
        (b"a,b,c\n" + b"\n\n1\n" * 7, "7 rows or more, 3 columns"),
    ],
)
def test_a_table_with_too_many_rows_or_cells_is_refused(content, size, monkeypatch):
    monkeypatch.setattr(readers, "MOST_ROWS", 10)
    monkeypatch.setattr(readers, "MOST_CELLS", 20)
    with pytest.raises(UserError, match=rf"table\.csv: .*too large: {size}; at most 10 rows and 20 cells"):
        read(content, "table.csv")


@pytest.mark.parametrize("last", [b"\n", b"\n\n", b""], ids=["ended", "blank line", "not ended"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_row_that_spans_lines_stands_in_its_first(end, last):
    content = b'a,b\n"one\ntwo",x\n3,y\n\n"four\n\n\nfive","6\n7"\n8,z' + last
    rows = lines(content.replace(b"\n", end))
    assert list(rows) == [2, 4, 6, 11]
    said = [" ".join(" ".join(cells).split()) for cells in rows.values()]
    assert said == ["one two x", "3 y", "four five 6 7", "8 z"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_text_in_common_encodings_is_read_and_a_guess_is_said(encoding, end):
    text = end.join(["name\tmol\ty [µM]", *["Müller-1\tCCO\t0.5"] * 40, ""])
    table = read(text.encode(encoding), "table.txt")
    assert table.columns.tolist() == ["name", "mol", "y [µM]", LINE]
    assert table.iloc[-1].tolist() == ["Müller-1", "CCO", "0.5", 41]
    said = ["text read as Windows-1252, as in 'µM': else save as UTF-8"]
    assert table.attrs["notes"] == (said if encoding == "cp1252" else [])


NO_TEXT = "line 3: byte {} is not UTF-8"
OTHER = "it is .*: save the table as CSV, Excel workbook"
WEB = "cannot be .*: it begins with .*, as JSON, a web page or"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b'a,b\n"1,2\n3,4\n', "line 2: a quote is never closed, and takes in 1 line below"),
        (b'a\tb\n1\t2\n3\t"N-oxide 4\n5\t6\n7\t"N-oxide 8\n', "line 3: a quote is never closed, and takes in 2 lines"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "byte 0x00 is not UTF-8"),
        (b"PK\x03\x04\x14\x00\x06\x00\x08\x00\xfe\xff", "cannot be read as a table"),
        (archive(b"no workbook"), "a damaged Excel workbook, or another archive"),
        (b"PAR1 and no more", "cannot be read as a table"),
        *(
            (start + bytes(range(200)), OTHER)
            for start in (
                *(b"BZh91AY&SY", b"\xfd7zXZ\0", b"ARROW1\0\0", b"\x80\x04\x95", b"\xd0\xcf\x11\xe0", b"%PDF-1.7\n"),
                *(gzip.compress(b"a,b\n"), b"(\xb5/\xfd\x04", b"\x89HDF\r\n\x1a\n", b"SQLite format 3\0"),
            )
        ),
        *(
            (start, WEB)
            for start in (b'[{"SMILES": 1}]', b'\n{"a": 1}', b"<!DOCTYPE html>", b"<?xml ?>", b"<table a=1>")
        ),
        ("a,b\n1,2\n".encode("utf-32-le"), "NUL characters, as UTF-32 without a mark has: save as UTF-8"),
        (BOM + b"a,b\nC,1\nCC,M\xfcller\n", NO_TEXT.format("0xfc")),
        ("a,b\nC,µ\n".encode() + b"\xe9thanol,1\n", NO_TEXT.format("0xe9")),  # beside a letter in UTF-8
        (b"a,b\r\n\r\nC,10 \x81\r\n", NO_TEXT.format("0x81")),
        (b"a,b\n1,2\n3,4\0\n", NO_TEXT.format("0x00")),
        (b"a,b\n1,2,\n4,5,\n", "line 2: 3 fields, but the header on line 1 has 2"),
        (b"a,b\r\n1,2\r\n4,5,6\r\n", "line 3: 3 fields"),
        (b"a,b\n\n\n4,5,6\n", "line 4: 3 fields"),
        (b'a,b\n"1\n1",2\n4,5,6\n', "line 4: 3 fields"),
        (b"Report of May\na,b\n1,2\n", "line 2: 2 fields, .* line 1 has 1: remove what .*name each .* value with ','"),
    ],
)
def test_what_is_no_table_is_named_with_its_line_and_what_to_do(content, message):
    with pytest.raises(UserError, match=rf"^table\.csv: .*{message}"):
        read(content, "table.csv")


# Workbooks and SDF


def test_a_workbook_is_read_as_text_with_the_numbers_of_its_rows():
    rows = [["mol", "y", "when", None], [], ["C", 1, datetime(2024, 1, 3)], ["CC", 0.5, True], ["O", "7,5"]]
    table = read(workbook(page=rows), "table.xlsx")
    assert table.columns.tolist() == ["mol", "y", "when", LINE]
    assert table.to_numpy().tolist() == [["C", "1", "2024-01-03", 3], ["CC", "0.5", "True", 4], ["O", "7,5", "", 5]]


def test_formulas_whose_results_are_not_stored_are_named_by_their_cells():
    rows = [["mol", "y"], *(["C" * i, f"=9-LOG10({i})" if i > 1 else i] for i in range(1, 9))]
    with pytest.raises(UserError, match=r"sheet 'page': the results .* in B3, B4, B5, B6, B7 and 2 more: open"):
        read(workbook(page=rows, notes=[["=1"]]), "table.xlsx")


@pytest.mark.parametrize(("kind", "stored", "read_as"), [("", "<v>7.5</v>", "7.5"), (' t="str"', "<v></v>", "")])
def test_the_stored_results_of_formulas_are_read_also_an_empty_text(kind, stored, read_as):
    content = workbook(page=[["mol", "y"], ["C", "=A2"], ["CC", 1]], notes=[["=1"]])
    packed, source = io.BytesIO(), zipfile.ZipFile(io.BytesIO(content))
    with zipfile.ZipFile(packed, "w") as archive:
        for name in source.namelist():
            formula = rb'(<c r="B2")[^>]*>(<f>.*?</f>)<v ?(?:/>|></v>)'
            archive.writestr(name, re.sub(formula, rf"\1{kind}>\2{stored}".encode(), source.read(name)))
    assert read(packed.getvalue(), "table.xlsx")["y"].tolist() == [read_as, "1"]


def test_merged_cells_and_hidden_rows_of_a_workbook_are_named():
    book = openpyxl.Workbook()
    page = book.active
    page.append(["a title"])
    page.append(["smiles", "y"])
    for i in range(6):
        page.append(["C" * (i + 1), i])
    page.merge_cells("A1:B1")
    page.merge_cells("B3:B5")
    page.row_dimensions[7].hidden = True
    written = io.BytesIO()
    book.save(written)
    table = readers.read(written.getvalue(), "t.xlsx")
    assert table["y"].tolist() == ["0", "", "", "3", "4", "5"]
    assert table.attrs["notes"][1:] == [
        "of merged cells, only the first has a value: B3:B5",
        "read like the others: 1 hidden row",
    ]


@pytest.mark.parametrize(
    ("kind", "text", "note"),
    [
        *((kind, ">12.5", "") for kind in ('">"0.0', "\\>0.00", ">0.0", '[Red]"> "0.0;-0.0')),
        ('"\u2264"#,##0', "\u226412.5", ""),
        *((kind, "12.5", "in percent by the format") for kind in ("0%", "0.00%", "0.0 %")),
        *(
            (kind, "12.5", "with 'nM' by the format")
            for kind in ('0.0" nM"', '_-* #,##0" nM"_-;-* #,##0_-', "0\\ \\n\\M")
        ),
        ('[>100]">100";0.0', "12.5", "with '>100' by the format"),
        *((kind, "12.5", "") for kind in ("0.00E+00", "#\\ ##0.0", "#,##0.00_);[Red](#,##0.00)", "General", "# ?/?")),
    ],
)
def test_what_a_workbook_shows_beside_a_number_is_read_or_named(kind, text, note):
    book, written = openpyxl.Workbook(), io.BytesIO()
    for row in (["mol", "y"], ["C", 12.5], ["CC", 3.5]):
        book.active.append(row)
    book.active["B2"].number_format = kind
    book.save(written)
    table = readers.read(written.getvalue(), "t.xlsx")
    assert table["y"].tolist() == [text, "3.5"]
    assert table.attrs["notes"] == [] if not note else note in table.attrs["notes"][0]


def test_a_damaged_workbook_is_read_or_refused():
    content = workbook(page=[["mol", "y"], *(["C" * n, n] for n in range(60))])
    rng, refused = np.random.default_rng(0), 0
    for _ in range(150):
        spoilt = bytearray(content)
        for place in rng.integers(len(spoilt), size=3):
            spoilt[place] = int(rng.integers(256))
        try:
            read(bytes(spoilt), "table.xlsx")
        except UserError:
            refused += 1
    assert 0 < refused < 150


def test_a_workbook_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(readers, "MOST_BYTES", 2000)
    with pytest.raises(UserError, match="too large: at most 2,000 bytes"):
        read(workbook(page=[["a", "b"], [1, 2]]), "table.xlsx")


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        (pd.Index(["CCO", "CC"], name="SMILES"), {"SMILES": ["CCO", "CC"]}),
        (pd.Index([7, 5], name="id"), {"id": ["7", "5"]}),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["batch", "n"]), {"batch": ["a", "b"], "n": ["1", "2"]}),
        (pd.Index(["CCO", "CC"]), {"index": ["CCO", "CC"]}),
        (pd.Index([7, 5]), {}),
        (pd.RangeIndex(2, name="n"), {}),
    ],
)
def test_the_index_of_a_parquet_file_is_read_unless_it_only_counts_the_rows(index, columns):
    content = io.BytesIO()
    pd.DataFrame({"y": [1, 0]}, index=index).to_parquet(content)
    table = read(content.getvalue(), "table.parquet").drop(columns=LINE)
    assert table.to_dict("list") == columns | {"y": ["1", "0"]}


MOLECULES = ("CCO", "c1ccccc1", "CC(=O)[O-].[Na+]")


def sdf(**more: str) -> str:
    out = io.StringIO()
    with Chem.SDWriter(out) as writer:
        for number, text in enumerate(MOLECULES):
            molecule = Chem.MolFromSmiles(text)
            molecule.SetProp("y", f"0{number}")
            for name, value in more.items() if number == 1 else ():
                molecule.SetProp(name, value)
            writer.write(molecule)
    return out.getvalue()


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_an_sdf_is_read_with_its_structures_as_smiles_and_its_fields_as_text(end):
    result = read(sdf(remark="2 µM").replace("\n", end).encode(), "table.sdf")
    assert result["SMILES"].tolist() == [Chem.CanonSmiles(text) for text in MOLECULES]
    assert result["y"].tolist() == ["00", "01", "02"]
    assert result["remark"].tolist() == ["", "2 µM", ""]
    assert result[LINE].tolist() == [1, 2, 3]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["M  END\n", "M  END"], ids=["ended", "not ended"])
@pytest.mark.parametrize("form", [Chem.MolToMolBlock, Chem.MolToV3KMolBlock], ids=["V2000", "V3000"])
def test_a_table_with_molfiles_in_quotes_is_no_sdf(form, end, separator):
    blocks = [form(Chem.MolFromSmiles(text)).replace("M  END\n", end) for text in MOLECULES]
    rows = pd.DataFrame({"mol": blocks, "SMILES": MOLECULES, "y": "1"})
    result = read(rows.to_csv(index=False, sep=separator).encode(), "table.csv")
    assert result.drop(columns=LINE).to_numpy().tolist() == rows.to_numpy().tolist()


def test_a_quote_in_the_title_of_an_sdf_makes_it_no_table():
    assert read(f'2"-O-methyl{sdf()}'.encode(), "table.sdf")["Name"][0] == '2"-O-methyl'


@pytest.mark.parametrize(
    "damage",
    [("  6  6  0", "  x  6  0"), (" C   0", " Qq  0"), ("  1  2  ", "  1 99  ")],
    ids=["counts that are no numbers", "an element that there is not", "a bond to nowhere"],
)
def test_a_broken_record_stays_in_its_place_with_its_title_and_the_others_are_read(damage):
    first, second, third = (f"M-{i}{record}" for i, record in enumerate(sdf(remark="µM").split("$$$$\n")[:3]))
    assert damage[0] in second
    result = read("$$$$\n".join([first, second.replace(*damage), third, ""]).encode("cp1252"), "table.sdf")
    assert result[LINE].tolist() == [1, 2, 3]
    assert result["Name"].tolist() == ["M-0", "M-1", "M-2"]
    assert result["SMILES"].tolist()[::2] == [Chem.CanonSmiles(text) for text in MOLECULES[::2]]
    assert Chem.MolFromSmiles(result["SMILES"][1]) is None
    assert result["SMILES"][1] == "(a structure that RDKit cannot read)"
    assert result["y"].tolist()[::2] == ["00", "02"]


# Processing of the published loaders


@pytest.mark.parametrize("name", [name for name in dataset_names() if load_spec(name).source.startswith("tdc:")])
def test_rows_that_repeat_as_a_whole_are_marked_as_pandas_finds_them_for_pytdc(name):
    spec = load_spec(name)
    if locate(spec) is None:
        pytest.skip(f"{spec.source} is not here")
    path, content = obtain(spec)
    table = clean(read(content, str(path)), spec)
    pytdcs = pd.read_csv(io.BytesIO(content), sep="\t").drop_duplicates()
    assert table.index[~table[REPEATED]].tolist() == pytdcs.index.tolist()
    assert table.loc[~table[REPEATED], "Drug"].tolist() == pytdcs["Drug"].tolist()


def test_a_molecule_that_repeats_with_another_name_or_label_is_no_repetition():
    content = b"Drug_ID\tDrug\tY\na\tCCO\t1\nb\tCCO\t1\na\tCCO\t0\na\tCCO\t1\n"
    table = clean(read(content, "table.tab"), BBB)
    assert table[REPEATED].tolist() == [False, False, False, True]


@pytest.fixture
def tadf(tmp_path, monkeypatch):
    """The emission wavelengths of molecules, and the file in the layout of Huang and Cole that holds them."""
    spread = [*range(400, 445, 3), *[450] * 10, *range(455, 500, 3)]  # ten at the median
    first = {"C" * (i + 1): float(spread[i * 7 % 40]) for i in range(40)}
    texts = [f"[{value}, {value + 300}]" if value % 3 == 0 else f"['{value}']" for value in first.values()]
    table = pd.DataFrame({"compound.SMILES": [*first], "standard_value": texts, "model_name": "EmissionWavelength"})
    others = table.assign(model_name="PhotoluminescenceQuantumYield", standard_value="['0.9']")
    mixed = pd.concat([others.head(10), table, others.tail(5), table.assign(model_name="Delayed")])
    path = tmp_path / "tadf" / "subsidary.csv"
    path.parent.mkdir()
    mixed.sample(frac=1, random_state=0).to_csv(path, index=False)
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    load_rows.cache_clear()
    return first, path


def test_tadf_is_the_upper_half_of_the_emission_wavelengths(tadf):
    problem = load_problem("tadf")
    (test,) = problem.evals.values()
    assert (len(problem.train), len(test)) == (32, 8)
    labels = {text: y for part in (problem.train, test) for text, y in zip(part.smiles, part.y, strict=True)}
    assert labels == {text: wavelength >= 450 for text, wavelength in tadf[0].items()}
    assert sum(labels.values()) == 25


def test_the_wavelength_is_the_first_number_of_the_list():
    wavelengths = {"['520.0']": "520.0", "[520.0, 530.0]": "520.0", "520": "520", "": "", "['n/a']": ""}
    lines = "".join(f'EmissionWavelength,CCO,"{text}"\n' for text in wavelengths)
    table = read(f"model_name,compound.SMILES,standard_value\n{lines}".encode(), "subsidary.csv")
    assert clean(table, TADF)["standard_value"].tolist() == [*wavelengths.values()]


@pytest.mark.parametrize("column", ["model_name", "compound.SMILES", "standard_value"])
def test_another_table_in_place_of_tadfs_is_named_by_the_column_it_lacks(tadf, column):
    pd.read_csv(tadf[1]).drop(columns=column).to_csv(tadf[1], index=False)
    with pytest.raises(UserError, match=rf"column.* '{column}'"):
        load_problem("tadf")
