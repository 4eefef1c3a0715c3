"""Predictions for new molecules: the recorded retrainings answer again, and each row says how sure its answer is."""

import gzip
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem, DataStructs
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

from benchmark import load_problem
from benchmark.errors import UserError
from benchmark.files import reserved
from leaderboard import my_data, predict, report
from leaderboard.__main__ import app
from leaderboard.read.results import collect
from leaderboard.read.stored import read
from tests.conftest import call

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two methods recorded on a classification in words, and a linear model on numbers."""
    home = tmp_path_factory.mktemp("home")
    pool = load_problem("b3db_measured").train
    table = pd.DataFrame({"SMILES": pool.smiles, "brain": pool.y}).sample(260, random_state=0)
    table["logbb"] = [round(len(smiles) / 20 + y, 2) for smiles, y in zip(table.SMILES, table.brain, strict=True)]
    table["brain"] = table["brain"].map({0: "stays out", 1: "enters"})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("CHURN_HOME", str(home))
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home}/mlflow.db")
        for target in ("brain", "logbb"):
            table[["SMILES", target]].to_csv(f"{target}.csv", index=False)
        assert call("new-dataset", "brain.csv", "--target", "brain", "--positive", "enters") == 0
        assert call("new-dataset", "logbb.csv", "--target", "logbb") == 0
        sampled = ("--sampling", "halves", "--seeds", "10", "--jobs", "1")
        assert call("run", "--method", "erm,svm", "--dataset", "brain", *sampled) == 0
        assert call("run", "--method", "linear", "--dataset", "logbb", *sampled) == 0
    return home


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A file for new molecules."""
    return tmp_path / "new.csv"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A file for answers."""
    return tmp_path / "answers.csv"


@pytest.fixture(autouse=True)
def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CHURN_HOME", str(folder))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")


@pytest.mark.parametrize(("dataset", "method"), [("brain", "erm"), ("brain", "svm"), ("logbb", "linear")])
def test_retrainings_say_about_test_molecules_what_is_recorded(dataset: str, method: str) -> None:
    cell = predict.recorded(read()[0], dataset, method)
    plan = predict.planned(cell)
    for name, p in cell.predictions.items():
        answers = predict.answer(plan, pd.DataFrame({"smiles": plan.problem.evals[name].smiles}), 1)
        np.testing.assert_array_equal(answers.retrained, p.values)


def test_every_row_has_a_class_in_the_users_words_and_how_sure_it_is(new: Path, out: Path, capsys) -> None:
    pool = load_problem("b3db_measured").train.smiles
    known = pd.read_csv("brain.csv")["SMILES"][0]
    pd.DataFrame({"Name": "abcde", "smiles": [*pool[:3].tolist(), known, "no molecule"]}).to_csv(new, index=False)
    assert call("predict", str(new), "--dataset", "brain", "--out", str(out), "--jobs", "1", which=app) == 0
    assert "answers.csv: rows predicted: 4; not, see their reason: 1" in capsys.readouterr().out
    table = pd.read_csv(out)
    assert table["line"].tolist() == [2, 3, 4, 5, 6]
    read_rows = table[:4]
    assert set(read_rows["prediction"]) <= {"stays out", "enters"}
    np.testing.assert_allclose(read_rows["P(stays out)"] + read_rows["P(enters)"], 1, atol=1e-3)
    assert set(read_rows["stability"]) <= {k / 10 for k in range(11)}
    assert (table["nearest"][3], table["similarity"][3], table["outside"][3]) == (known, 1, "no")
    assert table["prediction"].isna().tolist() == [False] * 4 + [True]
    assert "RDKit cannot parse" in table["reason"][4]


def test_the_nearest_molecule_is_that_of_rdkit() -> None:
    smiles = np.array(["CCO", "c1ccccc1CC(N)C", "CC(=O)Oc1ccccc1C(=O)O"])
    spec = predict.load_spec("brain")
    generator = GetMorganGenerator(2, fpSize=2048)
    ours = [generator.GetFingerprint(Chem.MolFromSmiles(s)) for s in predict.load_rows(spec).used["smiles"]]
    expected = [
        max(DataStructs.BulkTanimotoSimilarity(generator.GetFingerprint(Chem.MolFromSmiles(s)), ours)) for s in smiles
    ]
    assert predict.neighbours(spec, smiles)["similarity"].tolist() == pytest.approx(expected, abs=5e-4)


def predicted(file: Path, out: Path, dataset: str = "logbb", method: str = "linear") -> int:
    """The exit code of the command that answers for the molecules of a file."""
    words = ("--dataset", dataset, "--method", method, "--out", str(out), "--jobs", "1")
    return call("predict", str(file), *words, which=app)


def test_numbers_of_a_compressed_table_have_their_spread_and_a_file_that_appears_meanwhile_is_kept(new, out, capsys):
    packed = new.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(b"SMILES\nCCO\nc1ccccc1\n"))
    assert predicted(packed, out) == 0
    table = pd.read_csv(out)
    assert len(table) == 2
    assert (table["spread"] > 0).all()
    assert np.isfinite(table["prediction"]).all()
    out.unlink()
    new.write_text("SMILES\n")
    assert predicted(new, out) == 2
    assert not out.exists(), "the name is free again after an error"
    with reserved(out):
        assert predicted(packed, out) == 2
    assert f"{out} exists" in capsys.readouterr().err
    packed.write_bytes(gzip.compress(b"SMILES\nCCO\n")[:-9])
    assert predicted(packed, out.with_name("other.csv")) == 2
    assert "end-of-stream" in capsys.readouterr().err


RING, CHAIN = ["c1ccccc1C", "c1ccncc1O"], ["CCCO", "CCCN"]


@pytest.mark.parametrize(
    ("columns", "read_as"),
    [
        ({"smiles": RING}, (RING, "")),
        ({"structure": RING, "n": [1, 2]}, (RING, "the SMILES are in 'structure', by its content")),
        ({"SMILES_raw": RING}, (RING, "")),
        ({"smiles": CHAIN, "SMILES": RING}, (RING, "in 'SMILES', as in the table of brain, not in smiles")),
        (
            {"SMILES": RING, "canonical_smiles": CHAIN},
            (RING, "in 'SMILES', as in the table of brain, not in canonical_smiles"),
        ),
        ({"Smiles": CHAIN, "smiles": RING}, "SMILES: Smiles, smiles; rename the one that is meant to 'SMILES'"),
        ({"SMILES_raw": RING, "smiles_clean": CHAIN}, "SMILES_raw, smiles_clean; rename the one that is meant"),
        ({"mol": RING, "product": CHAIN}, "SMILES: mol, product; rename the one that is meant to 'SMILES'"),
        ({"CCO": CHAIN, "1": [1, 2]}, "'CCO' seems to be a molecule: put a header above it"),
        ({"CCO": []}, "'CCO' seems to be a molecule: put a header above it"),
        ({"y": [1, 2]}, "expected a column 'SMILES', as in the table of brain, or SMILES; found 'y'"),
    ],
)
def test_the_smiles_are_found_as_in_a_new_dataset_or_the_remedy_is_named(columns, read_as, new: Path) -> None:
    pd.DataFrame(columns).to_csv(new, index=False)
    spec = predict.load_spec("brain")
    if isinstance(read_as, str):
        with pytest.raises(UserError, match=read_as):
            predict.inputs(spec, new)
        return
    table = predict.inputs(spec, new)
    assert table["smiles"].tolist() == read_as[0]
    assert read_as[1] in "".join(table.attrs["notes"])


def test_of_columns_with_one_name_none_is_taken(new: Path) -> None:
    new.write_text("SMILES,SMILES\nCCO,CCN\n")
    with pytest.raises(UserError, match="several columns are called 'SMILES': rename"):
        predict.inputs(predict.load_spec("brain"), new)


def test_texts_that_are_no_category_of_the_dataset_are_named(new: Path) -> None:
    new.write_text("SMILES,salt\n" + "".join(f"CCO,{salt}\n" for salt in ("HCl", " hcl", "none", "n/a", "", "HCl")))
    spec = predict.load_spec("brain").model_copy(update={"one_hot": (("salt", "HCl", "free"),)})
    (said,) = predict.inputs(spec, new).attrs["notes"]
    assert said.startswith("column 'salt': 2 rows with texts that are no category of brain, 'hcl', 'none': they are")


def test_columns_that_are_empty_or_go_beyond_the_dataset_are_named(new: Path, tmp_path: Path) -> None:
    rows = pd.DataFrame({"name": [f"m{i}" for i in range(30)], "a": range(0, 60, 2), "b": 0.5, "y": ["no", "yes"] * 15})
    rows.assign(b=rows["a"] % 7 + 0.5).to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=",")
    assert call("new-dataset", str(tmp_path / "rows.csv"), "--target", "y", "--to", str(tmp_path)) == 0
    spec = predict.load_spec(str(tmp_path / "rows.toml"))
    for a, b, expected in (
        ("3;29", "0,5;6,5", []),
        ("300;-2", ";", [("are missing", "'b' (2 rows)"), ("beyond", "'a' (2 rows, such as 300; from 0 to 58)")]),
        ("3;NA", "0,5;9", [("are missing", "'a' (1 row)"), ("beyond", "'b' (1 row, such as 9; from 0.5 to 6.5)")]),
        ("3;4", "0,5;6,6", [("beyond", "'b' (1 row, such as 6.6; from 0.5 to 6.5)")]),
        ("x;?", "1;2", []),  # which each row says
    ):
        lines = [f"n;{x};{y}" for x, y in zip(a.split(";"), b.split(";"), strict=True)]
        new.write_text("\n".join(["name;a;b", *lines, ""]))
        said = predict.inputs(spec, new).attrs["notes"]
        for note, (what, columns) in zip(said, expected, strict=True):
            assert what in note
            assert note.endswith(columns)


@pytest.mark.parametrize(("task", "said"), [("regression", ["of 'logbb'"]), ("classification", [])])
def test_predictions_of_logarithms_are_said_to_be_some(task: str, said: list[str], new: Path) -> None:
    new.write_text("SMILES\nCCO\n")
    spec = predict.load_spec("logbb").model_copy(update={"log10": True, "task": task})
    notes = predict.inputs(spec, new).attrs["notes"]
    assert [note.removeprefix("prediction and spread are decimal logarithms ") for note in notes] == said


@pytest.mark.parametrize("name", ["line", "reason", "prediction"])
def test_a_column_of_names_that_is_called_as_one_of_ours_stands_beside_it(name: str, new: Path) -> None:
    new.write_text(f"pore,{name}\n1,A-1\n")
    spec = predict.load_spec("brain").model_copy(update={"id": name, "smiles": ""})
    none = np.empty((0, 2))
    answers = predict.Answers(none, none[None], np.array(["no number"], dtype=object))
    (row,) = pd.read_csv(io.StringIO(predict.to_csv(spec, predict.inputs(spec, new), answers))).to_dict("records")
    assert (row["line"], row["reason"], row[f"{name}.1"]) == (2, "no number", "A-1")


@pytest.mark.parametrize(("dataset", "method"), [("brain", "svm"), ("logbb", "linear")])
def test_a_table_without_a_molecule_that_can_be_read_gets_its_reasons_and_trains_nothing(
    dataset, method, new, out, monkeypatch, capsys
):
    monkeypatch.setattr(predict, "_fitted", None)
    new.write_text("SMILES\nxx\nyy\n")
    assert predicted(new, out, dataset, method) == 0
    assert "rows predicted: 0; not, see their reason: 2" in capsys.readouterr().out
    table = pd.read_csv(out)
    assert table["smiles"].tolist() == ["xx", "yy"]
    assert table["prediction"].isna().all()
    assert table["reason"].str.contains("column 'SMILES': RDKit cannot parse").all()
    out.unlink()
    new.write_text("SMILES\n")
    assert predicted(new, out, dataset, method) == 2
    assert "new.csv: has a header and no rows" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dataset", "brain", "--out", "brain.csv"), "brain.csv exists: choose another file"),
        (("--dataset", "brain", "--out", "none/p.csv"), "--out none/p.csv: there is no folder none"),
        (("--dataset", "brain", "--method", "forest"), "expected one of those that are recorded on brain: erm, svm"),
        (("--dataset", "bace"), "has no results on bace: run churn run --dataset bace first"),
    ],
)
def test_what_cannot_be_answered_says_what_to_do(words: tuple[str, ...], message: str, capsys) -> None:
    assert call("predict", "brain.csv", *words, which=app) == 2
    assert message in capsys.readouterr().err


def test_every_row_is_cross_fitted_by_models_that_did_not_see_it() -> None:
    plan = predict.planned(predict.recorded(read()[0], "brain", "svm"))
    p = predict.cross_fitted(plan, 1)
    assert p.values.shape == (10, len(predict.load_rows(predict.load_spec("brain")).used), 2)
    problem = predict.whole(plan)
    first = predict.fold(problem, 0, predict.FOLDS)
    (held_out,) = first.evals.values()
    model = plan.method.fit(predict.sample_for(first, "halves", plan.key.seeds[3])[0])
    rows = [p.ids.tolist().index(name) for name in held_out.ids.tolist()]
    np.testing.assert_array_equal(p.values[3, rows], model.predict(held_out.inputs).astype(np.float32))
    assert not set(held_out.ids.tolist()) & set(first.train.ids.tolist())


def test_a_report_is_one_small_file_in_the_users_words(capsys) -> None:
    assert call("report", "brain", "--jobs", "1", which=app) == 0
    path = Path(capsys.readouterr().out.strip())
    page = path.read_text()
    assert path.stat().st_size < 2e6
    assert not re.search(r"""(?:src|href)=["'](?!#)""", page), "needs another file"
    for text in ("Use SVM", "stays out", "Balanced accuracy", "rows are used", "retrainings that did not see"):
        assert text in page
    assert "Bars: 95 % interval for other retrainings and other test examples." in page, "as in the table"
    assert "fill: #ffffff" not in page.partition("<svg")[2].partition("</svg>")[0], "drawn in matplotlib's own style"
    (table,) = path.parent.glob("brain-svm-halves-all-rows.csv")
    flips = pd.read_csv(table)
    assert {"smiles", "method", "sampling", "date", "version"} <= set(flips.columns)
    assert len(flips) > len(pd.read_csv(path.parent / "brain-svm-halves-flips.csv"))


def test_a_report_without_a_decision_lists_no_rows_and_says_so(capsys) -> None:
    alone = collect([cell for cell in my_data.of_names(read()[0], ["brain"])[0].cells if cell.key.method == "svm"])
    page = report.write(alone, my_data.of_names(alone, ["brain"])[0], "", 1, lambda total: None)
    assert page.name == "brain-halves-report.html"
    assert "Which predictions flip" not in page.read_text()
    said = capsys.readouterr().err
    assert "Cannot decide yet: train ERM and another method" in said
    assert "So the report lists no rows; --method lists those of one: svm" in said
