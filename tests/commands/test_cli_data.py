"""Datasets on the command line: listing, health, and a user's own table from file to result."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import tomli_w
from mlflow.artifacts import download_artifacts
from mlflow.tracking import MlflowClient
from rdkit.Chem import CanonSmiles

from benchmark.data import downloads
from benchmark.data.rows import feature_columns, load_rows
from benchmark.data.spec import dataset_names, expand, fields_of, load_spec
from benchmark.files import shipped_datasets
from tests.conftest import Churn
from tests.data.conftest import SMILES as GOOD
from tests.data.conftest import table

TROUBLE = {3: "C1CC,active", 7: "CCCCO,", 12: "not-a-molecule,inactive", 30: "O(CC)CC,active", 31: "CCOCC,inactive"}
WARNINGS = [
    "messy: 38 of 41 rows are used",
    "  SMILES that RDKit cannot parse: 2 (line 3, 12)",
    "  no target: 1 (line 7)",
    "  duplicates with conflicting targets: 1 (line 30+31)",
    "  test set id has 6 rows: too few to measure churn, which needs about 30",
    "  test set ood has 8 rows: too few to measure churn, which needs about 30",
]


@pytest.fixture(autouse=True)
def only_what_packages_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHURN_DATA_DIR", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder with a space in its name and a messy table saved on Windows."""
    rows = [f"{smiles},{('inactive', 'active')[i % 2]}" for i, smiles in enumerate(GOOD)]
    for line, row in TROUBLE.items():
        rows.insert(line - 2, row)
    folder = tmp_path / "my data"
    folder.mkdir()
    (folder / "messy.csv").write_bytes("\r\n".join(["SMILES,potency", *rows, ""]).encode())
    return folder


@pytest.fixture
def make(folder: Path, churn: Churn) -> Churn:
    """Describes the messy table with the options given, and returns what is printed."""

    def made(*words: str, target: str = "potency", code: int = 0) -> str:
        table = str(folder / "messy.csv")
        return churn("new-dataset", table, "--target", target, "--to", str(folder), *words, code=code)

    return made


# Listing


def test_the_list_counts_the_datasets_of_suites_and_groups(churn: Churn) -> None:
    output = churn("list")
    assert re.search(r"^lite +3 +0 +3 +1 +475–1,058 +1 of 3 *$", output, flags=re.M)
    assert re.search(rf"^wide .* 0 of {len(expand('wide'))} *$", output, flags=re.M)
    assert "churn list --all" in output
    assert "Twin-bootstrap" in output
    assert len(output.splitlines()) < 100


def test_the_list_of_a_suite_has_its_datasets_alone(churn: Churn) -> None:
    output = churn("list", "large", "bace@train=200")
    assert re.findall(r"^(\S+) .* no *$", output, flags=re.M) == [*expand("large"), "bace@train=200"]
    assert "Twin-bootstrap" not in output


def test_the_list_of_everything_names_every_dataset_and_says_what_is_here(churn: Churn) -> None:
    output = churn("list", "--all")
    states = dict(re.findall(r"^(\w+) .* (yes|no) *$", output, flags=re.M))
    assert set(states) == set(dataset_names())
    assert {name for name, here in states.items() if here == "yes"} == {"b3db", "b3db_logbb", "b3db_measured"}
    absent = re.findall(r"^not on this machine: ([\w, ]+): \S", output, flags=re.M)
    assert {name for names in absent for name in names.split(", ")} == {n for n, here in states.items() if here == "no"}
    assert "2,039 of 2,050" in output
    assert "Twin-bootstrap" in output


# Families


def test_families_are_compared_and_a_contradiction_is_named(churn, registry, tmp_path):
    output = churn("health", "--families", "--csv", str(tmp_path / "pairs.csv"))
    assert f"3 of {len(dataset_names())} datasets compared: 3 pairs share at least 20%" in output
    assert "The families and groups of the TOMLs agree." in output
    assert (tmp_path / "pairs.csv").read_text().startswith("first,second,shared,")
    text = tomli_w.dumps(fields_of("b3db_logbb")[1])
    (registry / "brain.toml").write_text(re.sub(r"^family.*\n", "", text, flags=re.M), encoding="utf-8")
    output = churn("health", "--families", code=1)
    assert re.search(r"^b3db_logbb and brain share .* but are of the families bbb_martins and brain ", output, re.M)
    assert "pairs that contradict the TOMLs: 3" in output


# Health


def test_health_reports_on_each_dataset_and_on_what_they_share(churn: Churn) -> None:
    output = churn("health", "b3db_logbb", "b3db_measured")
    titles = [("B3DB logBB", "b3db_logbb"), ("B3DB measured", "b3db_measured")]
    assert re.findall(r"^(\S.*) \((\w+)\), split by seed 99", output, flags=re.M) == titles
    assert "training pool          677 rows, " in output
    assert output.count("  shares molecules with ") == 2
    assert (
        "shares molecules with b3db_logbb (935 of 935; one family with it); b3db (906 of 935, 61% in the same" in output
    )
    reports = json.loads(churn("health", "b3db_logbb,b3db_measured", "--json"))
    assert [report["dataset"] for report in reports] == ["b3db_logbb", "b3db_measured"]
    assert reports[0]["parts"]["train"]["sd"] > 0
    assert [other["dataset"] for other in reports[1]["overlaps"]] == ["b3db_logbb", "b3db"]


# A user's table


DAYS = [f"2024-{1 + i // 4:02}-{1 + i % 4:02}" for i in range(35, -1, -1)]


@pytest.mark.parametrize(
    ("split", "parts", "said"),
    [
        ("time", DAYS, "training rows are of 2024-01-01 to 2024-08-01, and test rows of 2024-08-02 to 2024-09-04"),
        (
            "group",
            [("A", "a", "B", "", "n/a", "C")[i // 2 % 6] for i in range(36)],
            "groups of training rows: 4, of test rows: 2; taken for one group: 6 rows with ''; taken for one group: 6 "
            "rows with 'n/a'; groups that differ from another only in capitals or blanks: 1",
        ),
    ],
)
def test_a_split_by_time_or_groups_says_what_is_for_training_and_test_and_what_may_not_be_meant(
    tmp_path, churn, split, parts, said
):
    rows = [f"{smiles},{i % 2},{part}" for i, (smiles, part) in enumerate(zip(GOOD, parts, strict=True))]
    extra = ["CCCO,1,n/a"] if split == "time" else []
    (tmp_path / "assays.csv").write_text("\n".join(["SMILES,y,part", *rows, *extra]))
    words = ("--target", "y", "--split", f"{split}:part", "--to", str(tmp_path))
    assert f"  by 'part', {said}" in churn("new-dataset", str(tmp_path / "assays.csv"), *words)


def test_of_several_targets_none_is_a_feature_of_another(tmp_path, churn):
    rows = [f"S-{i},{i % 7},{i % 2},{i % 3 + 0.5},{'ab'[i % 2]}" for i in range(36)]
    (tmp_path / "assays.csv").write_text("\n".join(["name,size,stable,gap,kind", *rows]))
    words = ("new-dataset", str(tmp_path / "assays.csv"), "--target", "stable,gap,kind", "--to", str(tmp_path))
    assert "features: size\n" in churn(*words)
    for target in ("stable", "gap", "kind"):
        assert feature_columns(load_spec(str(tmp_path / f"assays_{target}.toml"))) == ["size"]
    assert "--one-hot kind: a target is no feature" in churn(*words, "--one-hot", "kind", code=2)


def test_several_targets_may_have_any_letters_and_share_a_number_to_ignore_that_only_one_holds(tmp_path, churn):
    rows = [f"S-{i},{i % 7},{(0, 1, -1)[i % 3]},{i % 2}" for i in range(36)]
    (tmp_path / "assays.csv").write_text("\n".join(["name,size,Löslichkeit,活性", *rows]), encoding="utf-8")
    words = ("new-dataset", str(tmp_path / "assays.csv"), "--target", "Löslichkeit,活性", "--to", str(tmp_path))
    churn(*words, "--ignore-value", "-1")
    assert [load_spec(str(tmp_path / f"assays_{name}.toml")).target[0] for name in ("loslichkeit", "")] == ["L", "活"]
    assert "--ignore-value '-2': no field holds it" in churn(*words, "--ignore-value", "-2", code=2)


@pytest.mark.parametrize(("option", "said"), [("--id", "name of a row"), ("--smiles", "column of molecules")])
def test_a_target_names_no_row_as_the_names_of_test_rows_are_given_to_those_who_predict_them(make, option, said):
    for target in ("potency", "SMILES,potency"):
        error = make(option, "potency", target=target, code=2)
        assert f"error: {option} potency: a target is no {said}" in error


def test_a_new_dataset_is_explained_and_what_matters_comes_last(folder, make):
    first, *lines = make().splitlines()
    toml = folder / "messy.toml"
    assert first == f"reading {folder / 'messy.csv'}"
    assert lines[:2] == [
        "41 rows; molecules in 'SMILES'; features morgan:2048:2; split scaffold:0.8 (id: a random test set; ood: "
        "other scaffolds)",
        "  'potency': classes inactive, active",
    ]
    assert "messy: 38 of 41 rows are used" in lines
    assert "  left out: no target: 1 (line 7)" in lines
    assert "    lines 30, 31: CCOCC: active, inactive" in lines
    assert f"  the rows that are left out: {folder / 'messy-left-out.csv'}" in lines
    wrote, expected, after = lines[-3:]
    assert wrote == f"  wrote {toml}"
    assert expected.startswith("Expect ")
    assert " of predictions to flip between two halves of the training rows with " in expected
    assert shlex.split(after)[:3] == ["next:", "churn", "run"]
    assert str(toml) in shlex.split(after)
    spec = load_spec(str(toml))
    assert (spec.target, spec.rows, spec.positive, spec.negative) == ("potency", 41, "active", "inactive")
    assert not (shipped_datasets() / "messy.toml").exists()
    again = "--positive inactive --split random:0.7 --ignore-value unclear"
    table = folder / "messy.csv"
    table.write_bytes(table.read_bytes().replace(b"CCCCO,", b"CCCCO,unclear"))
    assert "  'potency': classes active, inactive" in make(*again.split()).splitlines()
    assert load_spec(str(toml)).split == "random:0.7"


def test_several_targets_have_a_line_each(folder: Path, make: Churn) -> None:
    rows = [f"{smiles},{i % 2},{'' if i % 3 else i % 5}" for i, smiles in enumerate(GOOD)]
    (folder / "messy.csv").write_text("\n".join(["SMILES,a,b [h]", *rows]))
    lines = make(target="a,b [h]").splitlines()
    assert [line.partition(";")[0] for line in lines if " rows are used" in line] == [
        "messy_a: 36 of 36 rows are used",
        "messy_b_h: 12 of 36 rows are used",
    ]
    assert sum("no target" in line for line in lines) == 1
    assert "  'b [h]': numbers" in lines, "not taken for markup"
    assert lines[-1].endswith("messy_b_h.toml'")


def test_a_target_or_category_that_is_named_twice_is_taken_once(folder, make):
    rows = [f"{smiles},{i % 2},{i % 2},{'AB'[i % 2]}" for i, smiles in enumerate(GOOD)]
    (folder / "messy.csv").write_text("\n".join(["SMILES,a,b,series", *rows]))
    assert make("--one-hot", "series,series", target="a,b, a").count(" rows are used") == 2
    assert load_spec(str(folder / "messy_a.toml")).one_hot == (("series", "A", "B"),)


@pytest.mark.parametrize(
    ("header", "words", "message"),
    [
        (
            "a,b",
            ["--positive", "yes"],
            r"column 'b': expected two classes.*; --positive is for each target: give those",
        ),
        ("IC50 (nM),IC50 [nM]", [], r"'IC50 \(nM\)' and 'IC50 \[nM\]' would both be called …_ic50_nm: describe"),
    ],
)
def test_what_one_of_several_targets_cannot_take_is_named_before_one_is_written(folder, make, header, words, message):
    rows = [f"{smiles},{('no', 'yes')[i % 2]},{i}" for i, smiles in enumerate(GOOD)]
    (folder / "messy.csv").write_text("\n".join([f"SMILES,{header}", *rows]))
    assert re.search(message, " ".join(make(*words, target=header, code=2).split()))
    assert [file.name for file in folder.iterdir()] == ["messy.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["health", "b3db_mesured"], "did you mean 'b3db_measured'"),
        (["health", "x" * 5000 + ".toml"], "no such file"),
        (["new-dataset", "FOLDER/messy.csv", "--target", "potency", "--name", "x" * 5000], "choose --name"),
        (["health", "bace"], "bace: no data file molnet/bace.csv"),
        (["health", ","], "dataset"),
        (["health", "bace", "--csv", "x.csv", "--json"], "--json has no effect with --csv: leave one of them out"),
        (["new-dataset", "FOLDER/nowhere.csv", "--target", "potency"], "cannot read FOLDER/nowhere.csv"),
        (["new-dataset", "a\udcff.csv", "--target", "potency"], "cannot read a"),
        (["new-dataset", "FOLDER/messy.csv"], "--target"),
        (["new-dataset", "FOLDER/messy.csv", "--target", ","], "--target ',': expected the column to predict"),
        (["new-dataset", "FOLDER/messy.csv", "--target", "SMILES"], "'SMILES'"),
    ],
)
def test_a_mistake_gets_one_message_and_no_file(folder, words, message, churn):
    words = [word.replace("FOLDER", str(folder)) for word in words]
    to = ["--to", str(folder)] if words[0] == "new-dataset" else []
    error = churn(*words, *to, code=2)
    assert error.startswith("error: ")
    assert message.replace("FOLDER", str(folder)) in error
    assert [file.name for file in folder.iterdir()] == ["messy.csv"]


def test_links_in_a_circle_and_names_that_are_no_text_get_one_message(folder, churn):
    loop, odd = folder / "loop.toml", folder / "a\udcff.csv"
    loop.symlink_to(loop)
    odd.write_bytes((folder / "messy.csv").read_bytes())
    assert churn("health", str(loop), code=2) == f"error: Symlink loop from '{loop}': give another path\n"
    error = churn("new-dataset", str(odd), "--target", "potency", "--name", "odd", "--to", str(folder), code=2)
    assert "a\\udcff.csv': the name has a byte that is not UTF-8: rename the file\n" in error
    assert {file.name for file in folder.iterdir()} == {"messy.csv", loop.name, odd.name}


def test_a_working_folder_that_is_gone_gets_one_message(tmp_path, monkeypatch, churn):
    (tmp_path / "gone").mkdir()
    monkeypatch.delenv("CHURN_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert churn("list", "lite", code=2) == "error: the working folder is gone: go to another\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_gets_one_message():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "benchmark", "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "error: no space is left on the disk: free some, or write the output elsewhere\n"


def test_the_next_version_takes_its_columns_from_the_one_before(folder, monkeypatch, churn):
    monkeypatch.setenv("CHURN_HOME", str(folder))
    file = folder / "messy.csv"
    churn("new-dataset", str(file), "--target", "potency")
    file.write_bytes(file.read_bytes() + b"CCCCCCO,active\r\n")
    printed = " ".join(churn("new-dataset", str(file), "--update").split())
    assert "molecules: 1 new, 0 removed, 0 with another target, 37 unchanged" in printed
    error = churn("new-dataset", str(file), "--update", "--target", "potency", code=2)
    assert "--update takes the columns, task and split from the previous version" in error
    assert load_spec("messy_v2").target == "potency"


def test_an_update_reads_the_sheet_that_is_named_and_says_which_rows_are_in_neither_part(tmp_path, registry, churn):
    rows = table([5.0, 6.25, 7.5, 9.0]).assign(day=[f"2026-03-{1 + i % 28:02d}" for i in range(36)])
    rows.head(30).to_csv(tmp_path / "assay.csv", index=False)
    churn("new-dataset", str(tmp_path / "assay.csv"), "--target", "y", "--split", "time:day")
    rows.loc[30:, "day"] = ""
    with pd.ExcelWriter(tmp_path / "assay.xlsx") as book:
        pd.concat([rows, rows.head(2)]).to_excel(book, sheet_name="May", index=False)
        rows.head(30).to_excel(book, sheet_name="April", index=False)
    update = ("new-dataset", str(tmp_path / "assay.xlsx"), "--update")
    assert "May, April: choose one with --sheet" in churn(*update, code=2)
    printed = " ".join(churn(*update, "--sheet", "May").split())
    assert "6 new, 0 removed, 0 with another target, 30 unchanged" in printed
    assert "in neither the training pool nor a test set: 6 rows; molecules on several lines: 2 (0 with" in printed


# From table to result


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder outside the checkout, with an outbox of its own and a tracking store for the module."""
    work = tmp_path / "elsewhere"
    work.mkdir()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path_factory.getbasetemp()}/cli_data.db")
    monkeypatch.setenv("CHURN_OUTBOX", str(work / "outbox"))
    monkeypatch.chdir(work)
    return work


@pytest.mark.slow
def test_a_messy_table_is_trained_on_and_its_report_is_kept_with_the_result(
    folder, make, elsewhere, monkeypatch, churn
):
    make()
    toml = folder / "messy.toml"
    monkeypatch.chdir(folder)
    output = churn("run", "--method", "knn", "--dataset", "messy.toml", "--seeds", "2", "--jobs", "1")
    assert "\n".join(["", *WARNINGS, ""]) in output
    assert "1 cell trained" in output

    client = MlflowClient()
    experiment = client.get_experiment_by_name("churn/messy/halves")
    runs = client.search_runs([experiment.experiment_id])
    (run,) = [run for run in runs if run.data.tags["churn.kind"] == "cell"]
    folder_of_run = Path(download_artifacts(run.info.artifact_uri))
    report = json.loads(next(folder_of_run.rglob("health.json")).read_text(encoding="utf-8"))
    assert [left["line"] for left in report["left_out"]] == [3, 7, 12]
    text = next(folder_of_run.rglob("health.txt")).read_text(encoding="utf-8")
    assert "lines 30, 31: CCOCC: active, inactive" in text

    words = shlex.split(run.data.tags["command"])
    start = words.index("run")
    assert words[words.index("--dataset") + 1] == str(toml)
    monkeypatch.chdir(elsewhere)  # the recorded command works anywhere and finds the same cell
    assert "0 cells trained, 1 already recorded" in churn(*words[start:], "--jobs", "1")
    shutil.copytree(folder, elsewhere / "copy")
    plan = ("plan", "--method", "knn", "--seeds", "2", "--dataset")
    assert "done     messy, split 99: k-NN" in churn(*plan, str(elsewhere / "copy" / "messy.toml"))

    with (folder / "messy.csv").open("a") as more:
        more.write("CCCCCC,active\r\n")
    load_rows.cache_clear()
    downloads.verified.cache_clear()
    printed = churn(*plan, str(toml), code=2)
    assert "messy.csv is not the expected file: its checksum differs" in printed
    words = shlex.split(printed.rpartition(": ")[2])
    churn(*words[1:], "--to", str(folder))  # the command of the message describes the table anew
    assert load_spec(str(toml)).rows == 42


def test_a_clean_dataset_is_trained_on_without_a_warning(folder, make, elsewhere, churn):
    many = ["C" * n + smiles for n in range(8) for smiles in GOOD]
    rows = [f"{smiles},{i % 2}" for i, smiles in enumerate(dict.fromkeys(map(CanonSmiles, many)))]
    (folder / "messy.csv").write_text("\n".join(["SMILES,potency", *rows]))
    features = str(folder / "clean.toml") + "@features=atom_pairs.4096"
    assert "too few" not in make("--name", "clean")
    run = ("run", "--method", "knn", "--dataset", features, "--seeds", "2", "--jobs", "1")
    output = churn(*run).splitlines()
    assert output[0].startswith("1 cell, 2 retrainings; tracking store: ")
    assert output[1].startswith("finished k-NN on clean@features=atom_pairs.4096, split 99: accuracy ")


def test_a_failure_is_said_once_and_one_train_seed_has_no_churn(elsewhere, churn):
    methods = "knn,sklearn:sklearn.neighbors.RadiusNeighborsClassifier:radius=0.01"
    words = ["run", "--method", methods, "--dataset", "b3db_measured@train=60", "--seeds", "1,", "--jobs", "1"]
    output = churn(*words, code=1)
    assert "on b3db_measured@train=60, split 99: ValueError: No neighbors found" in output
    assert output.count("No neighbors found") == 1
    assert "1 cell trained, 0 already recorded, 1 failed.\nThe traceback of a failed cell is in its MLflow" in output
    assert re.search(r"finished k-NN on .*: accuracy 0\.\d+ \(churn needs at least two retrainings", output)
    assert "nan" not in output
    output = churn(*words, code=1)
    assert "0 cells trained, 1 already recorded, 1 failed.\n" in output
    assert "nothing left to train" not in output
