"""A table becomes a dataset with what is left out listed; one that is not understood is refused with a remedy."""

import pandas as pd
import pytest
from rdkit.Chem import MolFromSmiles, MolToMolBlock

from benchmark.data.checks.health import examine
from benchmark.data.checks.health_text import to_text
from benchmark.data.describe.fields import describe_file
from benchmark.data.describe.given import columns_of
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from tests.data.conftest import SMILES, csv, dataset, fields_of, labelled, saved, table, workbook

ROWS = [["SMILES", "y"], *([s, i % 2] for i, s in enumerate(SMILES))]


def test_a_workbook_is_read_from_its_only_table_or_the_sheet_that_is_named(tmp_path):
    file = tmp_path / "book.xlsx"
    file.write_bytes(workbook(notes=[["Assay of May"]], data=[["Results"], [], *ROWS]))
    spec = dataset(file)
    assert "sheet 'data', whose header is in row 3" in spec.notes
    assert labelled(spec) == {smiles: i % 2 for i, smiles in enumerate(SMILES)}
    file.write_bytes(workbook(May=ROWS, June=ROWS[:30]))
    with pytest.raises(UserError, match="several sheets hold tables, May, June: choose one with --sheet"):
        describe_file(file, target="y")
    assert len(load_rows(dataset(file, sheet="June")).used) == 29
    with pytest.raises(UserError, match=r"unknown sheet of .* 'Jun': did you mean 'June'"):
        describe_file(file, target="y", sheet="Jun")


TABLE = "".join(f"{smiles},{i % 2}\n" for i, smiles in enumerate(SMILES))
NUMBERS = "".join(f"M-{i},{i / 7},{i % 2}\n" for i in range(30))
DEPTHS = "".join(f"M-{i},<{i},{i % 2}\n" for i in range(30))


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("id,SMILES,y\n", {}, r"assay\.csv: has a header and no rows: expected"),
        ("smiles y\nCCO 1\n", {}, r"no column 'y', but it stands in the only one, 'smiles y': name .*, as in sep="),
        ("smiles\nCCO\n", {}, r"unknown column of assay\.csv 'y': .*smiles"),
        (f"Assay 7,\n,\nSMILES,y\n{TABLE}", {}, r"no column 'y', but it stands on line 3: if the names of the columns"),
        (f"SMILES,activity\n{TABLE}", {"target": "activty"}, r"unknown column of assay\.csv .*: did you mean 'activi"),
        (f",y\n{TABLE}", {}, "the column of SMILES has no name: write SMILES above it"),  # as R's write.csv names it
        (f",a,y\n{NUMBERS}", {}, "the column that names the rows has no name: write one above it, such as id"),
        (f"name,a,y\n{NUMBERS}", {"desalt": True}, "--desalt is for molecules, and no column holds SMILES"),
        ("SMILES,y,y\n" + TABLE.replace("\n", ",1\n"), {}, "several columns are called 'y': rename"),
        ("SMILES,y,y\u200b\n" + TABLE.replace("\n", ",1\n"), {}, "several columns are called 'y': rename"),
        (TABLE, {"target": "0"}, "but 'Cc1ccccc1' seems to be a molecule: put a header above it"),
        (f"SMILES,BBB\n{TABLE}", {"target": "bbb"}, r"unknown column of assay\.csv 'bbb': did you mean 'BBB'"),
        (f"name,a,y\n{DEPTHS}", {}, r"no column of numbers is left as a feature; .* 'a' \(line 2: '<0'\)"),
        *((TABLE.replace(",", mark), {}, "but 'Cc1ccccc1.*' seems .*: put a header above it") for mark in ("\t", " ")),
        *(
            (f"SMILES,y\n{TABLE}", given, message)
            for given, message in (
                ({"task": "regression", "classes": ["0", "1"]}, "--task regression has no classes"),
                ({"classes": ["0", "1"], "positive": "0"}, "--classes and --positive both name class 1"),
                ({"task": "clasification"}, "unknown task 'clasification': did you mean"),
                ({"merge": "median"}, "unknown (--)?merge 'median': did you mean"),
                ({"sample": "many"}, "--sample 'many': expected a number of rows, or all"),
                ({"sheet": "June"}, "it is no Excel workbook .*, and has no sheet 'June': leave out the sheet"),
                ({"smiles": "SMILE"}, r"unknown column of assay\.csv 'SMILE': did you mean 'SMILES'"),
                ({"id_column": "SMLIES"}, r"unknown column of assay\.csv 'SMLIES': did you mean 'SMILES'"),
            )
        ),
    ],
)
def test_a_table_or_an_option_that_is_not_understood_is_refused_with_what_to_do(tmp_path, content, given, message):
    (tmp_path / "assay.csv").write_text(content)
    with pytest.raises(UserError, match=message):
        describe_file(tmp_path / "assay.csv", **({"target": "y"} | given))


@pytest.mark.parametrize("names", [("IC50 (µM)", "IC50 (μM)"), ("gelo\u0308st", "gelöst")])
def test_a_column_is_found_by_a_name_that_looks_the_same(tmp_path, names):
    unseen = table(["0", "1"]).rename(columns={"y": "y\u200b"})
    assert fields_of(tmp_path, unseen, "y")["target"] == fields_of(tmp_path, unseen, "y\u200b")["target"] == "y"
    for written, typed in (names, names[::-1]):
        rows = table(["0", "1"]).rename(columns={"y": written})
        assert fields_of(tmp_path, rows, typed)["target"] == written
        assert fields_of(tmp_path, rows.assign(**{typed: "0"}), written)["target"] == written


def test_a_field_that_a_record_of_an_sdf_has_twice_is_refused_as_the_target(tmp_path):
    records = [f"{MolToMolBlock(MolFromSmiles(s))}>  <y>\n{i}\n\n>  <n>\n1\n\n" for i, s in enumerate(SMILES)]
    records[7] += ">  <y>  (8)\n99\n\n"
    (tmp_path / "a.sdf").write_text("$$$$\n".join([*records, ""]))
    with pytest.raises(UserError, match=r"several columns are called 'y': .* in an SDF, they are fields of one record"):
        describe_file(tmp_path / "a.sdf", target="y")
    assert columns_of(tmp_path / "a.sdf") == ["SMILES", "y", "n"]


def test_of_many_rows_a_random_sample_is_compared_and_a_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark.data.describe.fields.MANY_ROWS", 30)
    monkeypatch.setattr("benchmark.data.describe.fields.SAMPLED", 20)
    whole = load_rows(dataset(csv(tmp_path, ["0", "1"]), sample="all"))
    assert len(whole.used) == 36
    spec = dataset(tmp_path / "assay.csv")
    assert "methods are compared on a random sample of 20 of 36 rows" in spec.notes
    rows = load_rows(spec)
    assert (len(rows.used), rows.table["not_sampled"].sum(), len(rows.x)) == (20, 16, 20)
    scaffolds = dict(zip(whole.used["smiles"], whole.used["scaffold"], strict=True))
    assert rows.used["scaffold"].tolist() == [scaffolds[smiles] for smiles in rows.used["smiles"]]
    assert examine(spec, 99).left_out == ()
    assert len(load_rows(dataset(tmp_path / "assay.csv", sample="12")).used) == 12


def test_one_bad_molecule_does_not_stop_a_file_and_is_written_to_a_list(tmp_path):
    smiles = [*SMILES, "C" * 501, "C" * 6000, "C1CC", "CC>>CO"]
    rows = pd.DataFrame({"Compound ID": [f"X-{i}" for i in range(40)], "SMILES": smiles, "y": ["0", "1"] * 20})
    spec = dataset(saved(rows, tmp_path / "assay.csv"))
    left = pd.read_csv(tmp_path / "mine-left-out.csv")
    assert left["line"].tolist() == [38, 39, 40, 41]
    assert left["reason"].tolist() == ["too_large", "too_large", "unparsable", "unparsable"]
    assert left["name"].tolist() == ["X-36", "X-37", "X-38", "X-39"]
    assert "a reaction, which is not supported" in left["text"][3]
    assert len(load_rows(spec).used) == 36


def test_molecules_that_features_cannot_tell_apart_are_counted_with_features_that_can(tmp_path):
    tails = [a + b for a in ("C", "O", "N", "S", "CC") for b in ("c1ccccc1", "C1CCC1", "C#N", "CBr", "CCl")]
    enantiomers = [(f"F[C@{at}H](C{tail})C(N)=O", str(int(at == ""))) for tail in tails for at in ("", "@")]
    file = saved(pd.DataFrame(enantiomers, columns=["SMILES", "y"]), tmp_path / "assay.csv")
    health = examine(dataset(file, split="random:0.5"), 99)
    assert (health.alike.molecules, health.alike.conflicting) == (50, 50)
    assert health.alike.telling["morgan_chiral:2048:2"] == 1
    assert health.alike.telling["morgan_counts:4096:2"] == 0
    text = to_text(health)
    assert "50 molecules cannot be told apart by these features (morgan:2048:2), 50 of them beside one" in text
    assert "--features morgan_chiral.2048.2 of run tells 100% of them apart" in text
    name = f"{tmp_path / 'mine.toml'}@features=morgan_chiral.2048.2"
    assert examine(load_spec(name), 99).alike.molecules == 0


def test_salts_are_counted_and_reduced_to_their_parents_where_asked(tmp_path):
    rows = [(s, str(i % 2)) for i, s in enumerate(SMILES)]
    rows += [("CC(=O)[O-].[Na+]", "1"), ("CC(O)=O", "0"), ("CCN.Cl", "1"), ("CCN", "1"), ("NCCCO.OC(=O)C(O)=O", "0")]
    file = saved(pd.DataFrame(rows, columns=["SMILES", "y"]), tmp_path / "assay.csv")
    health = examine(dataset(file), 99)
    assert (health.salts.rows, health.salts.conflicting, health.salts.lines) == (3, 1, (38,))
    assert "salts or mixtures of several parts: 3; 1 of them have another target" in to_text(health)
    spec = dataset(file, desalt=True)
    used = load_rows(spec).used
    assert used["smiles"].tolist()[36:] == ["CC(=O)O", "CC(=O)O", "CCN", "CCN", "NCCCO"]
    assert [repeat.conflict for repeat in examine(spec, 99).repeats] == [True, False]
    assert len(load_rows(dataset(file, desalt=True, merge="drop")).used) == 38
