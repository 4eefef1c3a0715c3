"""A user's table becomes a dataset without code, or an error names the problem and no file is left behind."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import tomllib

import numpy as np
import pandas as pd
import pytest
from rdkit.Chem import MolFromSmiles, MolToSmiles, SDWriter

from benchmark.data import author, downloads
from benchmark.data.author import Changed, columns_of, describe_file, next_version, offers, write_dataset
from benchmark.data.checks.health import Left, Repeat, examine
from benchmark.data.problem import load_problem
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

RINGS = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "c1ccoc1", "C1CCCC1", "c1ccc2ccccc2c1", "C1CCNCC1", "C1CC1")
SMILES = [MolToSmiles(MolFromSmiles(tail + ring)) for ring in RINGS for tail in ("C", "CC", "O", "N")]


def table(texts):
    """Return 36 molecules with these texts in turn as targets."""
    return pd.DataFrame({"SMILES": SMILES, "y": [texts[i % len(texts)] for i in range(len(SMILES))]})


def csv(folder, texts, name="assay.csv"):
    folder.mkdir(parents=True, exist_ok=True)
    table(texts).to_csv(folder / name, index=False)
    return folder / name


def dataset(file, target="y", name="mine", folder=None, **given):
    """Return the spec of a dataset made from ``file``, by default in the same folder."""
    fields = describe_file(file, target=target, **given)
    return load_spec(str(write_dataset(file, name, folder or file.parent, fields)))


def refusal(file, message, **given):
    """Return the error for ``file``, which must match ``message`` and leave nothing behind."""
    with pytest.raises(UserError, match=message) as caught:
        dataset(file, **given)
    assert list(file.parent.iterdir()) == [file]
    return str(caught.value)


def labelled(spec):
    """Return the label of each SMILES as written in the file."""
    problem = load_problem(str(spec.path))
    parts = [problem.train, *problem.evals.values()]
    return {s: y for part in parts for s, y in zip(part.smiles.tolist(), part.y.tolist(), strict=True)}


# A realistic file

TROUBLE = {  # rows by their lines in the file
    3: ("C1CC", "1"),
    4: ("CN(C)(C)(C)C", "0"),
    7: ("CCCCO", ""),
    11: ("not-a-molecule", "1"),
    12: ("CCCCN", " "),
    20: ("C(C", "0"),
    21: ("CCCCS", "NA"),
    30: ("O(CC)CC", "1"),
    31: ("CCOCC", "0"),
    46: ("[Xx]", "1"),
}


def test_a_file_with_windows_line_ends_and_known_troubles_becomes_a_dataset(tmp_path):
    rows = [(smiles, str(i % 2)) for i, smiles in enumerate(SMILES)]
    for line, row in TROUBLE.items():
        rows.insert(line - 2, row)
    file = tmp_path / "messy.csv"
    file.write_bytes("\r\n".join(["SMILES,y", *(f"{s},{y}" for s, y in rows), ""]).encode())

    spec = dataset(file)
    health = examine(spec, 99)
    assert [(left.line, left.reason) for left in health.left_out] == [
        (3, "unparsable"),
        (4, "unparsable"),
        (7, "no_target"),
        (11, "unparsable"),
        (12, "no_target"),
        (20, "unparsable"),
        (21, "no_target"),
        (46, "unparsable"),
    ]
    assert Left(7, "no_target", "CCCCO") in health.left_out
    assert health.left_out[1].text == ("CN(C)(C)(C)C: Explicit valence for atom # 1 N, 5, is greater than permitted")
    assert health.repeats == (Repeat("CCOCC", (30, 31), ("1", "0"), True),)
    assert (health.rows, health.parsable, health.used) == (46, 41, 38)
    assert health.expected_rows == 46

    want = {smiles: i % 2 for i, smiles in enumerate(SMILES)} | {"O(CC)CC": 1, "CCOCC": 0}
    assert labelled(spec) == want


@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_are_those_of_the_file_where_a_field_spans_several(tmp_path, end):
    rows = [f'{smiles},"first\nsecond",{i % 2}' if i == 0 else f"{smiles},,{i % 2}" for i, smiles in enumerate(SMILES)]
    (tmp_path / "notes.csv").write_text("\n".join(["SMILES,note,y", *rows, "C1CC,,1"]) + end)
    (left,) = examine(dataset(tmp_path / "notes.csv"), 99).left_out
    assert (left.line, left.reason) == (len(SMILES) + 3, "unparsable")


# Inference from the target column


@pytest.mark.parametrize(
    ("zero", "one", "positive"),
    [
        ("0", "1", None),
        ("0.0", "1.0", None),
        ("false", "true", None),
        ("FALSE", "True", None),
        ("inactive", "active", "active"),
        ("Inactive", "Active", "Active"),
        ("no", "yes", "yes"),
        ("BBB-", "BBB+", "BBB+"),
        ("-", "+", "+"),
        ("non-toxic", "toxic", "toxic"),
        ("insoluble", "soluble", "soluble"),
        ("blue", "red", "red"),
        ("2", "1", "1"),
        ("-1", "1", "1"),
        ("-1.0", "1.0", "1"),
        ("5", "50", "50"),
    ],
)
def test_two_values_are_classes_and_class_one_is_the_one_that_says_yes(tmp_path, zero, one, positive):
    spec = dataset(csv(tmp_path, [zero, one]))
    assert (spec.task, spec.positive) == ("classification", positive)
    assert labelled(spec) == {smiles: i % 2 for i, smiles in enumerate(SMILES)}


@pytest.mark.parametrize("texts", [["0", "1", "0.0", "1.0"], ["false", "TRUE", "False", "true"]])
def test_two_values_written_in_several_ways_are_two_classes(tmp_path, texts):
    spec = dataset(csv(tmp_path, texts))
    assert spec.task == "classification"
    assert labelled(spec) == {smiles: i % 2 for i, smiles in enumerate(SMILES)}


@pytest.mark.parametrize(
    "texts",
    [[f"{i / 7:.3f}" for i in range(36)], [str(i) for i in range(1, 11)], ["1e-9", "2.5E3", "-4"]],
    ids=["continuous", "ints from 1 to 10", "exponents"],
)
def test_more_than_two_numbers_are_a_regression(tmp_path, texts):
    spec = dataset(csv(tmp_path, texts))
    assert (spec.task, spec.positive) == ("regression", None)
    want = {smiles: float(texts[i % len(texts)]) for i, smiles in enumerate(SMILES)}
    assert labelled(spec) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("given", [{"task": "classification"}, {"positive": ">= median"}])
def test_numbers_are_split_at_their_median_where_classes_are_asked_for(tmp_path, given):
    spec = dataset(csv(tmp_path, [str(i) for i in range(36)]), **given)
    assert (spec.task, spec.positive) == ("classification", ">= median")
    assert labelled(spec) == {smiles: i >= 18 for i, smiles in enumerate(SMILES)}


def test_zeros_and_ones_are_a_regression_where_it_is_asked_for(tmp_path):
    assert dataset(csv(tmp_path, ["0", "1"]), task="regression").task == "regression"


def test_class_one_is_the_text_that_is_given(tmp_path):
    spec = dataset(csv(tmp_path, ["active", "inactive"]), positive="inactive")
    assert labelled(spec) == {smiles: i % 2 for i, smiles in enumerate(SMILES)}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["0.5", "7", ">10"], r"assay\.csv: column 'y', line 4: expected a number.* found '>10'"),
        (
            ["low", "middle", "high", "none"],
            r"assay\.csv: column 'y': expected two classes, found 4: 'low' .*'none' is on line 5",
        ),
        (["", "NA", "nan"], r"assay\.csv: column 'y' is empty"),
        (["active"], r"'y' holds only 'active'"),
        (["1"], "'y'"),
        (["1", "1.0"], "'y'"),
        (["0.7"], "'y'"),
        (["0", "1", "inf"], r"'y', line 4: expected a number, found 'inf'"),
    ],
)
def test_a_column_that_cannot_be_learned_is_an_error_and_no_toml_is_left(tmp_path, texts, message):
    refusal(csv(tmp_path, texts), message)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("3,14", "write it with a decimal point: 3.14"),
        ("-,5", "write it with a decimal point: -.5"),
        ("1,234.5", "write it without commas: 1234.5"),
        ("1,234", r"write it without commas: 1234 \(or, if they are decimal commas, 1.234\)"),
        (">9", "a bound is not a value: remove the row"),
        ("<= 0.5", "a bound is not a value"),
        ("n.d.", "remove the row, clear the field, or enter a number"),
    ],
)
@pytest.mark.parametrize("task", ["", "regression"])
def test_what_is_no_number_is_named_with_its_line_and_how_to_mend_it(tmp_path, text, remedy, task):
    file = tmp_path / "assay.csv"
    table([f"{i / 7:.3f}" for i in range(35)] + [text]).to_csv(file, index=False)
    refusal(file, rf"'y', line 37: expected a number.* found '{re.escape(text)}' .*; {remedy}", task=task)


@pytest.mark.parametrize("given", [{}, {"task": "classification"}, {"positive": "active"}])
def test_a_third_class_is_named_with_its_line_and_how_many_rows_each_has(tmp_path, given):
    rows = table(["inactive", "active"])
    rows.loc[20, "y"] = "unclear"
    rows.to_csv(tmp_path / "assay.csv", index=False)
    counts = r"found 3: 'active' \(18\), 'inactive' \(17\), 'unclear' \(1\); 'unclear' is on line 22"
    refusal(tmp_path / "assay.csv", counts, **given)


def test_three_words_are_classes_if_each_has_ten_rows(tmp_path):
    spec = dataset(csv(tmp_path, ["low", "middle", "high"]))
    assert (spec.task, spec.classes) == ("classification", ("high", "low", "middle"))
    problem = load_problem(str(spec.path))
    assert problem.n_outputs == 3
    assert labelled(spec) == {s: [1, 2, 0][i % 3] for i, s in enumerate(SMILES)}
    found = examine(spec, 99).parts["train"].classes
    assert sum(found.values()) == pytest.approx(1)


def test_repeats_with_other_targets_follow_the_rule_that_is_given(tmp_path):
    rows = table(["1.5", "2.5", "4"])
    rows = pd.concat([rows, rows.head(1).assign(y="3.5"), rows.iloc[1:2]])
    rows.to_csv(tmp_path / "assay.csv", index=False)
    spec = dataset(tmp_path / "assay.csv", merge="mean")
    assert labelled(spec)[SMILES[0]] == 2.5
    assert SMILES[0] not in labelled(dataset(tmp_path / "assay.csv", name="strict", merge="drop"))
    with pytest.raises(UserError, match="unknown --merge 'median': did you mean 'mean'"):
        describe_file(tmp_path / "assay.csv", target="y", merge="median")


def test_names_dates_and_groups_are_noticed(tmp_path):
    rows = table(["0", "1"])
    rows["Compound ID"] = [f"X-{i}" for i in range(len(rows))]
    rows["measured"] = [f"2024-{1 + i % 12:02}-{1 + i // 12:02}" for i in range(len(rows))]
    rows["series"] = ["A", "B", "C"] * 12
    rows["remark"] = [f"text {i}" for i in range(len(rows))]
    rows["dose"] = range(len(rows))
    rows.to_csv(tmp_path / "assay.csv", index=False)
    fields = describe_file(tmp_path / "assay.csv", target="y")
    assert fields["id"] == "Compound ID"
    assert offers(tmp_path / "assay.csv", fields) == [
        "'measured' holds dates: --split time:measured tests on the latest fifth of the rows",
        "'series' has 3 different texts: --split group:series keeps each together; "
        "--one-hot series makes them features",
    ]
    assert len(offers(tmp_path / "assay.csv", fields | {"split": "time:measured"})) == 1
    spec = dataset(tmp_path / "assay.csv", split="time:measured")
    problem = load_problem(str(spec.path))
    days = dict(zip(rows["Compound ID"], rows["measured"], strict=True))
    pool, test = ([days[i] for i in of.ids.tolist()] for of in (problem.train, problem.evals["id"]))
    assert pool == sorted(pool)
    assert max(pool) < min(test)


@pytest.mark.parametrize("smiles", [True, False])
def test_texts_become_features_one_for_each_category(tmp_path, smiles):
    rows = table(["0", "1"]).rename(columns={} if smiles else {"SMILES": "material"})
    rows["series"] = ["B", " A", "", "C"] * 9
    if not smiles:
        rows["dose"] = range(len(rows))
    rows.to_csv(tmp_path / "assay.csv", index=False)
    fields = describe_file(tmp_path / "assay.csv", target="y", one_hot=["series"])
    assert offers(tmp_path / "assay.csv", fields) == []
    spec = load_spec(str(write_dataset(tmp_path / "assay.csv", "mine", tmp_path, fields)))
    assert spec.one_hot == (("series", "A", "B", "C"),)
    loaded = load_rows(spec)
    numbers = 2048 if smiles else 1
    assert loaded.x.shape == (36, numbers + 3)
    np.testing.assert_array_equal(loaded.x[:4, numbers:], [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]])
    assert not loaded.scaled[numbers:].any()


def test_a_column_with_one_text_or_too_many_has_no_categories(tmp_path):
    rows = table(["0", "1"])
    rows["one"] = "A"
    pd.concat([rows] * 3).assign(many=[f"text {i}" for i in range(108)]).to_csv(tmp_path / "assay.csv", index=False)
    for name, found in (("one", 1), ("many", 108)):
        refusal(
            tmp_path / "assay.csv",
            rf"assay\.csv: column '{name}': expected 2 to 100 different texts for --one-hot, found {found}",
            one_hot=[name],
        )


def test_a_new_version_keeps_the_places_of_categories_and_adds_new_ones_at_the_end(tmp_path, monkeypatch):
    monthly(monkeypatch, tmp_path)
    file = tmp_path / "assay.csv"
    rows = table(["0", "1"])
    rows["series"] = ["M", "N"] * 18
    rows.head(30).to_csv(file, index=False)
    write_dataset(file, "", None, describe_file(file, target="y", split="random:0.7", one_hot=["series"]))
    rows.loc[30:, "series"] = "A"
    rows.to_csv(file, index=False)
    path, _, _ = next_version(file, "")
    assert load_spec(str(path)).one_hot == (("series", "M", "N", "A"),)


def test_several_targets_of_a_file_are_told_apart_by_name(tmp_path):
    rows = table(["0", "1"])
    rows["IC50 [nM]"] = np.linspace(1, 9, len(rows))
    rows.to_csv(tmp_path / "assay.csv", index=False)
    assert columns_of(tmp_path / "assay.csv") == ["SMILES", "y", "IC50 [nM]"]
    for target, name in (("y", "assay_y"), ("IC50 [nM]", "assay_ic50_nm")):
        fields = describe_file(tmp_path / "assay.csv", target=target)
        path = write_dataset(tmp_path / "assay.csv", "", tmp_path, fields, one_of_several=True)
        assert load_spec(str(path)).title == name


def test_zero_one_and_a_third_number_are_a_regression_only_where_it_is_asked_for(tmp_path):
    rows = table(["0", "1"])
    rows.loc[20, "y"] = "2"
    rows.to_csv(tmp_path / "assay.csv", index=False)
    refusal(tmp_path / "assay.csv", "expected two classes, found 3: .*'2' is on line 22; .* --task regression")
    assert dataset(tmp_path / "assay.csv", task="regression").task == "regression"


# Formats


def sdf(folder):
    path = folder / "structures.sdf"
    writer = SDWriter(str(path))
    for smiles, y in table(["0", "1"]).to_numpy():
        molecule = MolFromSmiles(smiles)
        molecule.SetProp("y", y)
        writer.write(molecule)
    writer.close()
    return path


def packed(path):
    return gzip.compress(path.read_bytes())


@pytest.mark.parametrize("kind", ["csv.gz", "semicolon", "tsv", "parquet", "sdf", "sdf.gz"])
def test_every_format_of_one_table_gives_the_same_problem(tmp_path, kind):
    reference = csv(tmp_path, ["0", "1"], "reference.csv")
    file = tmp_path / "other" / f"assay.{'csv' if kind == 'semicolon' else kind}"
    file.parent.mkdir()
    if kind == "parquet":
        table([False, True]).to_parquet(file)
    elif kind in ("tsv", "semicolon"):
        table(["0", "1"]).to_csv(file, index=False, sep="\t" if kind == "tsv" else ";")
    else:
        source = reference if kind == "csv.gz" else sdf(tmp_path)
        file.write_bytes(source.read_bytes() if kind == "sdf" else packed(source))
    problems = [load_problem(str(dataset(one, name="mine").path)) for one in (reference, file)]
    for pick in (lambda p: p.train, lambda p: p.evals["id"], lambda p: p.evals["ood"]):
        one, other = map(pick, problems)
        assert np.array_equal(one.x, other.x)
        assert np.array_equal(one.y, other.y)
        assert one.ids.tolist() == other.ids.tolist()
    assert problems[0].train.x.any()


def test_a_record_of_an_sdf_that_cannot_be_read_is_named_by_its_number(tmp_path):
    file = sdf(tmp_path)
    records = file.read_text().split("$$$$\n")
    records[2] = records[2].replace(" C ", " Zq", 1)
    file.write_text("$$$$\n".join(records))
    health = examine(dataset(file), 99)
    assert (3, "unparsable") in {(left.line, left.reason) for left in health.left_out}
    assert {left.line for left in health.left_out} == {3}
    assert health.used == 35


# Size


def with_molecule(folder, smiles):
    """Write 37 molecules, the last of which is ``smiles``, on line 38."""
    rows = pd.concat([table(["0", "1"]), pd.DataFrame({"SMILES": [smiles], "y": ["1"]})])
    rows.to_csv(folder / "assay.csv", index=False)
    return folder / "assay.csv"


@pytest.mark.parametrize(
    ("smiles", "size"), [("C" * 501, "501 atoms"), ("C" * 2_000, "2,000 atoms"), ("C" * 6_000, "6,000 characters")]
)
def test_a_molecule_that_is_too_large_is_refused_by_its_line(tmp_path, smiles, size):
    message = rf"mine: line 38, column 'SMILES': expected a molecule of at most 500 atoms .* found {size}"
    refusal(with_molecule(tmp_path, smiles), message)


def test_the_largest_molecule_is_a_row_like_others(tmp_path):
    assert len(load_rows(dataset(with_molecule(tmp_path, "C" * 500))).used) == 37


def test_scaffolds_are_computed_only_for_a_split_by_scaffold(tmp_path):
    file = csv(tmp_path, ["0", "1"])
    scaffolds = {
        split: set(load_rows(dataset(file, split=split, name=name)).used["scaffold"])
        for name, split in {"one": "scaffold:0.8", "two": "random:0.8"}.items()
    }
    assert len(scaffolds["scaffold:0.8"]) == len(RINGS)
    assert scaffolds["random:0.8"] == {""}


def test_thousands_of_columns_are_converted_together(tmp_path, monkeypatch):
    wide = pd.DataFrame(np.random.default_rng(0).random((30, 3000)).round(3)).add_prefix("f")
    wide.assign(name=[f"m{i}" for i in range(30)], y=["0", "1"] * 15).to_csv(tmp_path / "wide.csv", index=False)
    calls = []
    convert = pd.to_numeric
    monkeypatch.setattr(pd, "to_numeric", lambda *given, **options: calls.append(1) or convert(*given, **options))
    spec = dataset(tmp_path / "wide.csv")
    assert load_problem(str(spec.path)).train.x.shape == (24, 3000)
    assert len(calls) < 50


# Columns


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (["smiles", "y"], "smiles"),
        (["id", "SMILES", "y"], "SMILES"),
        (["y", "canonical_smiles"], "canonical_smiles"),
        (["Ligand SMILES", "y"], "Ligand SMILES"),
        (["smiles_of_salt", "Smiles", "y"], "Smiles"),
    ],
)
def test_the_column_of_the_smiles_is_the_one_that_is_called_so(tmp_path, columns, chosen):
    made_up = {"y": table(["0", "1"])["y"]}
    pd.DataFrame({name: made_up.get(name, pd.Series(SMILES)) for name in columns}).to_csv(
        tmp_path / "assay.csv", index=False
    )
    assert dataset(tmp_path / "assay.csv").smiles == chosen


def test_of_several_columns_that_may_hold_the_smiles_one_must_be_chosen(tmp_path):
    file = tmp_path / "assay.csv"
    table(["0", "1"]).rename(columns={"SMILES": "smiles_raw"}).assign(smiles_clean=SMILES).to_csv(file, index=False)
    with pytest.raises(UserError, match="smiles_raw, smiles_clean; choose one with --smiles"):
        describe_file(file, target="y")
    assert dataset(file, smiles="smiles_clean").smiles == "smiles_clean"


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ({"target": "activty"}, "'activity'"),
        ({"target": "Activity"}, "'activity'"),
        ({"target": "activity", "smiles": "SMILE"}, "'SMILES'"),
        ({"target": "activity", "id_column": "nane"}, "'name'"),
    ],
)
def test_a_misspelt_column_is_answered_with_the_nearest(tmp_path, given, near):
    file = tmp_path / "assay.csv"
    table(["0", "1"]).rename(columns={"y": "activity"}).assign(name=range(36)).to_csv(file, index=False)
    with pytest.raises(UserError, match=rf"unknown column of assay\.csv .*: did you mean {near}"):
        describe_file(file, **given)


def test_a_target_without_a_name_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"unknown column of assay\.csv '': known: SMILES, y"):
        describe_file(csv(tmp_path, ["0", "1"]), target="")


def test_a_column_that_names_the_molecules_gives_the_ids(tmp_path):
    file = tmp_path / "assay.csv"
    table(["0", "1"]).assign(name=[f"m-{i}" for i in range(36)]).to_csv(file, index=False)
    problem = load_problem(str(dataset(file, id_column="name").path))
    ids = {i for part in (problem.train, *problem.evals.values()) for i in part.ids}
    assert ids == {f"m-{i}" for i in range(36)}


def materials(folder):
    """Write a table without molecules: a name, two numbers (one missing), a text and a target."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"material": [f"MOF-{i}" for i in range(30)], "pore": rng.normal(size=30).round(3)})
    rows = rows.assign(density=rng.normal(size=30).round(3), metal=["Zn", "Cu"] * 15, stable=["yes", "no", "no"] * 10)
    rows.loc[3, "pore"] = np.nan
    rows.to_csv(folder / "materials.csv", index=False)
    return folder / "materials.csv"


def test_a_table_without_smiles_is_learned_from_its_numbers(tmp_path):
    spec = dataset(materials(tmp_path), target="stable")
    assert (spec.smiles, spec.id, spec.ignore) == ("", "material", ("metal",))
    assert (spec.features, spec.split, spec.positive) == (("columns",), "random:0.8", "yes")
    problem = load_problem(str(spec.path))
    assert problem.train.x.shape == (24, 2)
    assert list(problem.evals) == ["id"]
    names = [*problem.train.ids, *problem.evals["id"].ids]
    assert sorted(names) == sorted(f"MOF-{i}" for i in range(30))
    values = dict(zip(names, [*problem.train.y, *problem.evals["id"].y], strict=True))
    assert all(values[f"MOF-{i}"] == (i % 3 == 0) for i in range(30))


def test_a_table_without_smiles_and_names_asks_for_one_of_them(tmp_path):
    file = tmp_path / "numbers.csv"
    pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6], "y": [0, 1, 0]}).to_csv(file, index=False)
    with pytest.raises(UserError, match="choose --smiles or --id among a, b, y"):
        describe_file(file, target="y")


def test_a_table_with_nothing_to_learn_from_is_an_error_in_the_words_of_its_columns(tmp_path):
    file = tmp_path / "assay.csv"
    table(["0", "1"]).rename(columns={"SMILES": "structure"}).to_csv(file, index=False)
    assert "(line)" not in refusal(file, r"name it \(--smiles")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pore": (4, "1e308")},
            r"mine: line 6, column 'pore': expected a number from -1e\+100 to 1e\+100, found '1e308'",
        ),
        ({"density": (4, "-1e101")}, r"line 6, column 'density': .* found '-1e101'"),
        ({"pore": (slice(None), "2")}, None),
        ({"pore": (slice(None), "2"), "density": (slice(None), "")}, "no feature is left|the table has no numbers"),
        ({"pore": (slice(None), "2"), "density": (slice(None), "3")}, "mine: no feature is left: all 2 are constant"),
    ],
)
def test_numbers_that_no_model_can_use_are_refused_when_they_are_loaded(tmp_path, change, message):
    rows = pd.read_csv(materials(tmp_path), dtype=object)
    for column, (where, text) in change.items():
        rows.loc[where, column] = text
    rows.to_csv(tmp_path / "materials.csv", index=False)
    if message:
        refusal(tmp_path / "materials.csv", message, target="stable")
    else:
        spec = dataset(tmp_path / "materials.csv", target="stable")
        assert load_problem(str(spec.path)).train.x.shape[1] == 1


def test_a_test_row_beyond_single_precision_is_named_by_line_and_column(tmp_path):
    file = materials(tmp_path)
    rows = pd.read_csv(file, dtype=object).assign(pore=[f"{i}e-30" for i in range(30)])
    rows.to_csv(file, index=False)
    path = dataset(file, target="stable").path
    row = next(i for i in range(30) if f"MOF-{i}" in set(load_problem(str(path)).evals["id"].ids))
    rows.loc[row, "pore"] = "1e10"
    path.unlink()
    rows.to_csv(file, index=False)
    refusal(file, rf"mine: line {row + 2}, column 'pore': 1e\+10 is too far from the numbers", target="stable")


# The TOML


def test_the_toml_holds_what_was_seen_and_nothing_is_guessed_about_the_origin(tmp_path):
    file = csv(tmp_path, ["inactive", "active"], "My assay (2024).csv")
    path = write_dataset(file, "", tmp_path, describe_file(file, target="y"))
    assert path == tmp_path / "my_assay_2024.toml"
    assert tomllib.loads(path.read_text(encoding="utf-8")) == {
        "title": "My assay (2024)",
        "group": "own",
        "source": "file:My assay (2024).csv",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "rows": 36,
        "smiles": "SMILES",
        "target": "y",
        "task": "classification",
        "positive": "active",
        "features": ["morgan:2048:2"],
        "split": "scaffold:0.8",
    }


def test_datasets_of_one_file_are_told_apart_by_their_titles(tmp_path):
    file = csv(tmp_path, ["0", "1"], "My assay.csv")
    named = {name: dataset(file, name=name).title for name in ("my_assay", "other")}
    assert named == {"my_assay": "My assay", "other": "other"}


def test_a_folder_with_table_and_toml_can_be_moved(tmp_path):
    spec = dataset(csv(tmp_path / "here", ["0", "1"]))
    before = load_problem(str(spec.path))
    shutil.move(tmp_path / "here", tmp_path / "there")
    load_rows.cache_clear()
    after = load_problem(str(tmp_path / "there" / "mine.toml"))
    assert after.fingerprint == before.fingerprint


def test_a_toml_in_another_folder_finds_the_table_from_anywhere(tmp_path, monkeypatch):
    file = csv(tmp_path / "tables", ["0", "1"])
    monkeypatch.chdir(file.parent)
    (tmp_path / "tomls").mkdir()
    spec = dataset(file.relative_to(file.parent), folder=tmp_path / "tomls")
    monkeypatch.chdir("/")
    assert spec.path == tmp_path / "tomls" / "mine.toml"
    load_rows.cache_clear()
    assert len(load_rows(load_spec(str(spec.path))).used) == 36


def test_a_table_that_was_changed_afterwards_is_refused_with_both_checksums(tmp_path):
    file = csv(tmp_path, ["0", "1"])
    spec = dataset(file)
    with file.open("a") as more:
        more.write("CCCCCC,1\n")
    load_rows.cache_clear()
    downloads.verified.cache_clear()
    with pytest.raises(UserError) as caught:
        load_problem(str(spec.path))
    for part in (str(file), spec.sha256, hashlib.sha256(file.read_bytes()).hexdigest(), "new-dataset"):
        assert part in str(caught.value)


def test_a_name_that_is_taken_is_refused_and_nothing_is_overwritten(tmp_path):
    file = csv(tmp_path, ["0", "1"])
    (tmp_path / "mine.toml").write_text("the user's own")
    with pytest.raises(UserError, match=r"mine\.toml exists: choose another --name$"):
        dataset(file, name="mine")
    with pytest.raises(UserError, match="the suite has a dataset 'bace': choose another --name"):
        dataset(file, name="bace")
    assert (tmp_path / "mine.toml").read_text() == "the user's own"
    assert not (tmp_path / "bace.toml").exists()


@pytest.mark.parametrize("name", ["My Assay", "../assay", "_assay", "assay.toml"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path, name):
    refusal(csv(tmp_path, ["0", "1"]), "expected lower-case letters", name=name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"split": "scafold:0.8"}, "unknown split 'scafold:0.8'"),
        ({"split": "given:part"}, "'part'"),
        ({"split": "scaffold:1"}, "leaves no row in 'ood'"),
        ({"positive": "active"}, "'active'"),
        ({"task": "clasification"}, "task"),
    ],
)
def test_a_dataset_that_cannot_be_used_leaves_nothing_behind(tmp_path, given, message):
    refusal(csv(tmp_path, ["0", "1"]), message, **given)


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    refusal(csv(tmp_path, ["0", "1"]), "new/folder: no such folder", folder=tmp_path / "new" / "folder")


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(author, "load_problem", interrupt)
    file = csv(tmp_path, ["0", "1"])
    with pytest.raises(KeyboardInterrupt):
        dataset(file)
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(fields):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(author.tomli_w, "dumps", full)
    refusal(csv(tmp_path, ["0", "1"]), r"cannot write .*mine\.toml.* No space left")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read .*assay.csv"),
        (b"", r"assay\.csv: "),
        (b"\x1f\x8b broken", "cannot read .*assay.csv"),
        (b"SMILES,y\nCCO,1\nCC\xb5,0\n", "line 3: byte 0xb5 is not UTF-8"),
        (b"SMILES,y\nCCO,1\nCCC,0,7\n", r"assay\.csv: .*line 3: 3 fields.* that contains ',' .*needs quotes"),
        (b"PK\x03\x04\x14", r"assay\.csv: it is an Excel workbook .*save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1", r"assay\.csv: it is an Excel workbook .*save the sheet as CSV"),
    ],
    ids=["missing", "empty", "broken gz", "not UTF-8", "a field too many", "xlsx", "xls"],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, message):
    file = tmp_path / "assay.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        describe_file(file, target="y")


# Versions


def monthly(monkeypatch, folder):
    monkeypatch.setenv("CHURN_HOME", str(folder))
    return folder / "datasets"


def test_a_second_and_a_third_version_leave_the_earlier_ones_as_they_are(tmp_path, monkeypatch):
    registry = monthly(monkeypatch, tmp_path)
    file = tmp_path / "assay.csv"
    whole = table(["0", "1"])
    whole.head(30).to_csv(file, index=False)
    write_dataset(file, "", None, describe_file(file, target="y", split="random:0.7"))
    first = labelled(load_spec("assay"))

    second = whole.head(33).copy()
    second.loc[0, "y"] = "1"
    second.drop(index=5).to_csv(file, index=False)  # in place of the first
    path, last, changed = next_version(file, "")
    assert (path, last) == (registry / "assay_v2.toml", "assay")
    assert changed == Changed(added=3, removed=1, changed=1, kept=28)
    for cached in (load_rows, downloads.verified):
        cached.cache_clear()
    assert labelled(load_spec("assay")) == first
    spec = load_spec("assay_v2")
    assert (spec.previous, spec.family, spec.split, spec.title) == ("assay", "assay", "random:0.7", "assay_v2")

    whole.to_csv(tmp_path / "new.csv", index=False)
    path, last, changed = next_version(tmp_path / "new.csv", "assay")
    assert (path.stem, last, changed.added) == ("assay_v3", "assay_v2", 4)
    assert len(labelled(load_spec("assay_v2"))) == 32
    assert len(labelled(load_spec("assay_v3"))) == 36


def test_a_version_is_refused_where_nothing_has_changed_or_nothing_is_known(tmp_path, monkeypatch):
    registry = monthly(monkeypatch, tmp_path)
    file = csv(tmp_path, ["0", "1"])
    with pytest.raises(UserError, match=r"assay\.toml: no such dataset to update: describe it first without --update"):
        next_version(file, "")
    write_dataset(file, "", None, describe_file(file, target="y"))
    before = {path: path.read_bytes() for path in registry.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=r"assay\.csv is the table of assay: nothing has changed"):
        next_version(file, "")
    table(["0"]).to_csv(file, index=False)
    with pytest.raises(UserError, match="one class"):
        next_version(file, "")
    kept = {path: path.read_bytes() for path in registry.rglob("*") if path.is_file() and path.suffix != ".toml"}
    assert kept == {path: content for path, content in before.items() if path.suffix != ".toml"}
    assert not (registry / "assay_v2.toml").exists()
    assert labelled(load_spec("assay")), "the table of the first version is read from its copy"
