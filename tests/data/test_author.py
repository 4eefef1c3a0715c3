"""A user's table becomes a dataset without code, or an error names the problem and no file is left behind."""

import hashlib
import re
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

from benchmark.data import author, downloads
from benchmark.data.author import Changed, next_version, write_dataset
from benchmark.data.checks.health import examine
from benchmark.data.describe.fields import describe_file
from benchmark.data.problem import load_problem
from benchmark.data.rows import feature_columns, load_rows
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.files import own_datasets

from .conftest import SMILES, csv, dataset, labelled, materials, saved, table


def refusal(file, message, **given):
    """Return the error for ``file``, which must match ``message`` and leave nothing behind."""
    with pytest.raises(UserError, match=message) as caught:
        dataset(file, **given)
    assert list(file.parent.iterdir()) == [file]
    return str(caught.value)


# Tables

OF_TEST = 12
"""A row of ``materials`` that the split of seed 99 takes for the test."""


@pytest.mark.parametrize(("kind", "texts"), [("csv.gz", ["0", "1"]), ("parquet", [False, True])])
def test_a_compressed_table_or_one_in_parquet_gives_the_same_problem(tmp_path, kind, texts):
    (tmp_path / "other").mkdir()
    files = csv(tmp_path, ["0", "1"]), saved(table(texts), tmp_path / "other" / f"assay.{kind}")
    one, two = (load_problem(str(dataset(file).path)) for file in files)
    assert one.train.digest == two.train.digest
    assert {name: test.digest for name, test in one.evals.items()} == {n: test.digest for n, test in two.evals.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pore": (4, "1e308")}, r"mine: line 6, column 'pore': .* from -1e\+100 to 1e\+100, found '1e308'"),
        ({"pore": (OF_TEST, "1e99")}, rf"mine: line {OF_TEST + 2}, column 'pore': 1e\+99 is too far from the numbers"),
        ({"pore": (slice(None), "2")}, None),
        ({"pore": (slice(None), "2"), "density": (slice(None), "")}, "no feature is left|the table has no numbers"),
        ({"pore": (slice(None), "2"), "density": (slice(None), "3")}, "mine: no feature is left: all 2 are constant"),
    ],
)
def test_numbers_that_no_model_can_use_are_refused_when_they_are_loaded(tmp_path, change, message):
    rows = materials().astype(object)
    for column, (where, text) in change.items():
        rows.loc[where, column] = text
    rows.to_csv(tmp_path / "materials.csv", index=False)
    if message:
        refusal(tmp_path / "materials.csv", message, target="stable")
    else:
        spec = dataset(tmp_path / "materials.csv", target="stable")
        assert load_problem(str(spec.path)).train.x.shape[1] == 1


# The TOML


def test_the_toml_holds_what_was_seen_and_nothing_is_guessed_about_the_origin(tmp_path):
    file = csv(tmp_path, ["inactive", "active"]).rename(tmp_path / "My assay (2024).csv")
    path = write_dataset(file, "", tmp_path, describe_file(file, target="y"))
    assert path == tmp_path / "my_assay_2024.toml"
    about = {"title": "My assay (2024)", "group": "own", "source": "file:My assay (2024).csv", "rows": 36}
    about |= {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "smiles": "SMILES", "target": "y"}
    about |= {"task": "classification", "positive": "active", "negative": "inactive"}
    about |= {"features": ["morgan:2048:2"], "split": "scaffold:0.8"}
    assert tomllib.loads(path.read_text(encoding="utf-8")) == about


def test_a_toml_in_another_folder_finds_the_table_from_anywhere(tmp_path, monkeypatch):
    file = csv(tmp_path / "tables", ["0", "1"])
    monkeypatch.chdir(file.parent)
    (tmp_path / "tomls").mkdir()
    spec = dataset(file.relative_to(file.parent), folder=tmp_path / "tomls")
    monkeypatch.chdir("/")
    assert spec.path == tmp_path / "tomls" / "mine.toml"
    load_rows.cache_clear()
    assert len(load_rows(load_spec(str(spec.path))).used) == 36


def test_a_name_that_is_taken_is_refused_and_nothing_is_overwritten(tmp_path, monkeypatch):
    monkeypatch.setenv("CHURN_HOME", str(tmp_path / "home"))
    file = csv(tmp_path, ["0", "1"])
    (tmp_path / "mine.toml").write_text("the user's own")
    with pytest.raises(UserError, match=r"mine\.toml exists, and describes another table: choose another --name$"):
        dataset(file, name="mine")
    with pytest.raises(UserError, match="the suite has a dataset 'bace': choose another --name"):
        dataset(file, name="bace")
    own = dataset(file, name="mine_too", folder=own_datasets())
    with pytest.raises(UserError, match=rf"^{re.escape(str(own.path))} describes this table: leave out --to"):
        dataset(file, name="mine_too")
    assert (tmp_path / "mine.toml").read_text() == "the user's own"
    assert not (tmp_path / "bace.toml").exists()


@pytest.mark.parametrize("texts", [["0", "1"], ["0", "1", ""]])
def test_a_file_of_the_users_in_place_of_the_list_of_rows_left_out_is_refused_and_stays(tmp_path, texts):
    file, mine = csv(tmp_path, texts), tmp_path / "mine-left-out.csv"
    mine.write_text("my,notes\n1,2\n")
    with pytest.raises(UserError, match=r"mine-left-out\.csv exists, .*: rename it, or choose another --name"):
        dataset(file)
    assert mine.read_text() == "my,notes\n1,2\n"
    assert {*tmp_path.iterdir()} == {file, mine}


def test_a_list_of_rows_left_out_is_replaced_by_the_next_and_removed_where_none_is(tmp_path):
    file, listed = csv(tmp_path, ["0", "1", ""]), tmp_path / "mine-left-out.csv"
    for _ in range(2):
        dataset(file)
        assert listed.read_text().startswith("line,reason,text,name\n4,no_target,")
    csv(tmp_path, ["0", "1"])
    dataset(file)
    assert not listed.exists()


def test_a_second_description_of_a_table_replaces_the_first_which_is_kept(tmp_path):
    file = csv(tmp_path, ["0", "1"])
    first = dataset(file).path.read_text()
    assert dataset(file, split="random:0.8").split == "random:0.8"
    assert (tmp_path / "mine.toml.old").read_text() == first
    with pytest.raises(UserError, match="unknown split"):
        dataset(file, split="nonsense")
    assert load_spec(str(tmp_path / "mine.toml")).split == "random:0.8"


@pytest.mark.parametrize("described", [True, False])
def test_an_interruption_leaves_all_files_as_before_and_a_kill_the_description_before(tmp_path, monkeypatch, described):
    file, old = csv(tmp_path, ["0", "1", ""]), tmp_path / "mine.toml.old"
    first = dataset(file).path.read_text() if described else ""
    if described:
        old.write_text("one before")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupted(*_):
        assert not described or old.read_text() == first
        raise KeyboardInterrupt

    for step in ("checked", "_list_left_out"):
        monkeypatch.setattr(author, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            dataset(file, split="random:0.8")
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(author.tomli_w, "dumps", Mock(side_effect=OSError(28, "No space left on device")))
    refusal(csv(tmp_path, ["0", "1"]), r"cannot write .*mine\.toml.* No space left")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"split": "given:part"}, "'part'"),
        ({"split": "scaffold:1"}, "leaves no row in 'ood'"),
        ({"positive": "active"}, "'active'"),
        ({"folder": Path("/new/folder")}, "new/folder: no such folder"),
        *(({"name": name}, "100 lower-case letters") for name in ("My Assay", "../assay")),
    ],
)
def test_a_dataset_that_cannot_be_used_leaves_nothing_behind(tmp_path, given, message):
    refusal(csv(tmp_path, ["0", "1"]), message, **given)


# Versions


def registered(file, target="y", **given):
    """Describe a table as a dataset of the user's, and return its TOML."""
    return write_dataset(file, "", None, describe_file(file, target=target, **given))


def refused(file, message):
    """Check that ``file`` is no next version, as ``message`` says, and that none is made of it."""
    with pytest.raises(UserError, match=message):
        next_version(file, "")
    assert not (own_datasets() / "assay_v2.toml").exists()


def test_a_new_version_has_the_features_of_the_one_before(tmp_path, registry):
    file = tmp_path / "assay.csv"
    materials().to_csv(file, index=False)
    registered(file, target="stable", one_hot=["metal"])
    materials(year=2026.5, note="x", metal=["Zn", "Ag", "Cu"] * 10).to_csv(file, index=False)
    path, _, changed = next_version(file, "")
    assert load_spec(str(path)).one_hot == (("metal", "Cu", "Zn", "Ag"),), "a category keeps its place"
    assert changed == Changed(added=0, removed=0, changed=0, kept=30, ignored=("year", "note"))
    assert feature_columns(load_spec(str(path))) == ["pore", "density"]
    for lost in ("density", "metal"):
        materials().drop(columns=lost).to_csv(file, index=False)
        with pytest.raises(UserError, match=f"^assay.csv: has no column '{lost}', which is a feature of assay_v2: add"):
            next_version(file, "")
    materials(density=range(30)).to_csv(file, index=False)  # without the columns that were ignored
    assert feature_columns(load_spec(str(next_version(file, "")[0]))) == ["pore", "density"]


def test_a_second_and_a_third_version_leave_the_earlier_ones_as_they_are(tmp_path, registry):
    file = tmp_path / "assay.csv"
    whole = table(["0", "1"])
    whole.head(30).to_csv(file, index=False)
    registered(file, split="random:0.7")
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


@pytest.mark.parametrize(
    ("before", "after", "given", "changed"),
    [
        (["5.1", "6.25", "7"], ["5.10", "6.25e0", "7"], {}, 0),
        (["5.1", "6.25", "7"], ["5.1", "6.25", "7.5"], {}, 12),
        (["Active", "inactive"], ["active", "Inactive "], {}, 0),
        (["Active", "inactive"], ["active", "active", "inactive", "inactive"], {}, 18),
        (["4", "6", "7"], ["4.0", "6.5", "7"], {"positive": ">= 5"}, 0),
        (["4", "6", "7"], ["4", "6", "7", "7", "8", "9"], {"positive": ">= median"}, 12),  # from 6 on, then from 7 on
    ],
)
def test_a_target_that_is_written_otherwise_has_not_changed(tmp_path, registry, before, after, given, changed):
    file = csv(tmp_path, before)
    registered(file, split="random:0.7", **given)
    assert next_version(csv(tmp_path, after), "")[2] == Changed(added=0, removed=0, changed=changed, kept=36 - changed)


@pytest.mark.parametrize(("factor", "doubted"), [(1, False), (1.1, False), (1000, True), (0.001, True)])
def test_numbers_of_a_new_version_in_another_unit_are_pointed_at(tmp_path, registry, factor, doubted):
    numbers = [5.0, 6.25, 7.5, 9.0]
    registered(csv(tmp_path, numbers))
    doubt = next_version(csv(tmp_path, [factor * number + 0.01 for number in numbers]), "")[2].doubt
    assert doubt.endswith("are they in the same unit?") == doubted


@pytest.mark.parametrize("given", [{}, {"positive": ">= 6"}], ids=["numbers", "a cut"])
@pytest.mark.parametrize(
    ("fresh", "doubted"),
    [([7000.0], True), ([0.007], True), ([9.5], False), ([8.0, 7.0, 0.007], False), ([0.005, 0.007, 0.008], True)],
)
def test_a_few_numbers_in_another_unit_are_pointed_at_on_either_side_of_a_cut(
    tmp_path, registry, fresh, doubted, given
):
    rows, file = table([5.0, 6.25, 7.5, 9.0]), tmp_path / "assay.csv"
    rows.head(30).to_csv(file, index=False)
    registered(file, **given)
    rows.loc[30 : 29 + len(fresh), "y"] = fresh
    rows.head(30 + len(fresh)).to_csv(file, index=False)
    assert next_version(file, "")[2].doubt.endswith("are they in the same unit?") == doubted


FIRST = table([5.0, 6.25, 7.5, 9.0])


@pytest.fixture
def assay(tmp_path, registry):
    """The file of a table whose first 30 rows are the dataset ``assay``."""
    FIRST.head(30).to_csv(tmp_path / "assay.csv", index=False)
    registered(tmp_path / "assay.csv")
    return tmp_path / "assay.csv"


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"y.1": 1.0}, "several columns are called 'y'"), ({"y": "ND"}, "expected a number, found 'ND'")],
)
def test_a_version_that_a_first_description_would_refuse_or_read_otherwise_is_refused(assay, changes, message):
    assay.write_text(FIRST.assign(**changes).to_csv(index=False).replace("y.1", "y", 1))
    refused(assay, message)


def test_bounds_that_come_with_a_later_version_are_refused_and_those_that_were_taken_as_values_stay_so(assay, registry):
    FIRST.head(33).assign(relation="=").to_csv(assay, index=False)
    next_version(assay, "")
    FIRST.assign(relation=[">", "="] * 18).to_csv(assay, index=False)
    with pytest.raises(UserError, match="'relation' says which values are bounds: assay_v2 has no such column"):
        next_version(assay, "")
    for path in registry.glob("assay*"):
        path.unlink()
    toml = registered(assay)
    toml.write_text(re.sub(r"(?m)^(relation|bounds) = .*$", "", toml.read_text()))
    FIRST.assign(relation=[">", "="] * 18).tail(33).to_csv(assay, index=False)
    assert next_version(assay, "")[2].notes == ()


def test_notes_say_how_many_rows_the_last_version_has(tmp_path, registry):
    file = tmp_path / "assay.csv"
    rows = FIRST.assign(y=[f">{y}" if i % 3 else str(y) for i, y in enumerate(FIRST["y"])])
    for n in (30, 33, 36):
        rows.head(n).to_csv(file, index=False)
        path = registered(file) if n == 30 else next_version(file, "")[0]
    (line,) = [line for line in load_spec(str(path)).notes.splitlines() if "bounds" in line]
    assert line.startswith("24 of 36 values are bounds")


def test_a_version_is_described_and_doubted_as_a_first_one(assay):
    FIRST.assign(unit=["nM"] * 30 + ["uM"] * 6, y=[-999.0] * 3 + FIRST["y"].tolist()[3:]).to_csv(assay, index=False)
    path, _, found = next_version(assay, "")
    assert [line.partition(" ")[0] for line in found.notes] == ["-999", "'unit'"]
    assert load_spec(str(path)).notes.splitlines() == [*found.notes]
    path.write_text(path.read_text().replace('notes = "', 'notes = "measured by Ann\\n', 1))
    FIRST.assign(y=[-999.0] * 4 + FIRST["y"].tolist()[4:]).to_csv(assay, index=False)
    assert load_spec(str(next_version(assay, "")[0])).notes.startswith("measured by Ann")


def test_a_molecule_that_is_on_more_lines_with_the_same_target_has_not_changed(assay):
    again = FIRST.head(2).assign(y=[FIRST["y"][0], FIRST["y"][1] + 5])
    pd.concat([FIRST, again]).to_csv(assay, index=False)
    assert next_version(assay, "")[2] == Changed(added=6, removed=0, changed=1, kept=29)


def test_a_version_needs_the_columns_of_the_last_and_its_decimal_mark(assay):
    FIRST.rename(columns={"y": "Y"}).to_csv(assay, index=False)
    refused(assay, r"^unknown column of assay\.csv 'y': did you mean 'Y'\?$")
    FIRST.assign(y=FIRST["y"] + 0.25).to_csv(assay, index=False, sep=";", decimal=",")
    refused(assay, "line 2: '5,25' has a decimal comma, as no number of assay has: write it wit")


def test_versions_without_a_row_in_common_or_with_other_classes_are_doubted(tmp_path, registry):
    file = tmp_path / "assay.csv"
    materials().to_csv(file, index=False)
    registered(file, target="stable")
    materials(stable=materials()["stable"].map({"no": "yes", "yes": "no"})).to_csv(file, index=False)
    assert "are the classes exchanged?" in next_version(file, "")[2].doubt
    rows = materials()
    rows.assign(material=rows["material"] + ".0").to_csv(file, index=False)
    assert "nothing is in both versions" in next_version(file, "")[2].doubt
    for changes, message in (({"pore": ""}, "is empty in the column 'pore'"), ({"pore.1": 1}, "several columns are")):
        file.write_text(materials(**changes).to_csv(index=False).replace("pore.1", "pore", 1))
        with pytest.raises(UserError, match=message):
            next_version(file, "")


def test_a_version_is_refused_where_nothing_has_changed_or_nothing_is_known(tmp_path, registry):
    file = csv(tmp_path, ["0", "1"])
    refused(file, r"assay\.toml: no such dataset to update: describe it first without --update")
    registered(file)
    before = {path: path.read_bytes() for path in registry.rglob("*") if path.is_file()}
    refused(file, r"assay\.csv is the table of assay: nothing has changed")
    table(["0"]).to_csv(file, index=False)
    refused(file, r"holds only '0'.*; --update takes the fields of .*assay\.toml, and no such")
    kept = {path: path.read_bytes() for path in registry.rglob("*") if path.is_file() and path.suffix != ".toml"}
    assert kept == {path: content for path, content in before.items() if path.suffix != ".toml"}
    assert labelled(load_spec("assay")), "the table of the first version is read from its copy"


def test_a_text_for_a_missing_target_stays_a_category_elsewhere(tmp_path, registry):
    file = tmp_path / "kinds.csv"
    kinds = ["unknown", "acid", "base", "acid"] * 10
    lines = [f"r{i},{i},{kind},{'unknown' if i % 8 == 0 else i % 2}" for i, kind in enumerate(kinds)]
    file.write_text("\n".join(["name,size,kind,y", *lines]), encoding="utf-8")
    x = load_rows(dataset(file, split="random:0.7", one_hot=["kind"], ignore_value=["unknown"])).x
    assert x[:, -3:].sum(axis=1).tolist() == [1] * len(x)


@pytest.mark.parametrize("texts", [["71.649", "60.125", "5.5"], ["71.649", "60.125", "58.250"]])
def test_an_update_with_another_decimal_mark_is_refused_and_one_with_numbers_is_read(tmp_path, registry, texts):
    file = tmp_path / "assay.csv"
    table([text.replace(".", ",") for text in ["5.5", *texts]]).to_csv(file, index=False)
    registered(file)
    table(texts).to_csv(file, index=False)
    refused(file, r"^assay\.csv: column 'y', line 2: '71\.649' seems .* have decimal commas")
    table([float(text) for text in texts]).to_parquet(file)
    path, _, _ = next_version(file, "")
    assert labelled(load_spec(str(path)))[SMILES[0]] == pytest.approx(71.649)


def test_an_update_may_have_marks_between_thousands_as_the_version_before(tmp_path, registry):
    file = tmp_path / "assay.csv"
    table(["1.234", "12.345", "999"]).to_csv(file, index=False)
    registered(file, task="regression", decimal=",")
    table(["4.321", "12.345", "999"]).to_csv(file, index=False)
    assert labelled(load_spec(str(next_version(file, "")[0])))[SMILES[0]] == 4321


def test_a_dataset_of_the_user_that_cannot_be_read_stops_the_report_on_no_other(tmp_path, registry):
    toml = registered(csv(tmp_path, ["0", "1"]))
    (registry / "edited.toml").write_text(toml.read_text() + "half = \n")
    assert examine(load_spec("assay"), 99, overlaps=True, through=lambda _: []).not_compared == ("edited",)
