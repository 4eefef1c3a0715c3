"""Models in MLflow get what their signature says, and what they answer is read as what it is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.models import infer_signature
from mlflow.tracking import MlflowClient
from typer.testing import CliRunner

from benchmark.errors import UserError
from leaderboard.__main__ import app
from leaderboard.scoring import readers
from leaderboard.scoring.gate import gate
from leaderboard.scoring.models import data_of, inputs_of, table_of
from leaderboard.scoring.roles import Options
from tests.leaderboard.test_evaluator import undisturbed


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("string", ["001", "01", "1"]),
        ("string", ["1e5", "2E3", "3"]),
        ("string", ["1.50", "1.5", "2"]),
        ("string", ["NA", "nan", None]),
        ("string", ["True", "1", "no"]),
        ("long", [2**60 + 1, 0, -3]),
        ("integer", [7, 8, 9]),
        ("double", [0.1, 1e-300, None]),
        ("double", [1, 2, 3]),
        ("boolean", [True, False, True]),
    ],
)
def test_a_csv_and_parquet_of_the_same_rows_give_a_model_the_same(kind: str, values: list[Any], tmp_path: Path) -> None:
    table = pd.DataFrame({"example_id": list("abc"), "x": pd.Series(values, dtype=object), "y_true": [0, 1, 0]})
    table.to_csv(tmp_path / "new.csv", index=False)
    table.to_parquet(tmp_path / "new.parquet")
    given = [inputs_of("m", data_of(tmp_path / name), {"x": kind})["x"] for name in ("new.csv", "new.parquet")]
    assert given[0] == given[1] == values
    expected = {"string": str, "double": float, "boolean": bool}.get(kind, int)
    assert {type(value) for value in given[0]} <= {expected, type(None)}


@pytest.mark.parametrize(("text", "message"), [("a,a\n1,2\n", "several columns are called 'a'"), ("a,b\n", "no rows")])
def test_a_table_without_rows_or_with_a_heading_twice_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        data_of(tmp_path / "new.csv")


def test_a_csv_may_have_one_column_whose_heading_has_a_blank(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("my smiles\nCCO\nCCN\n")
    assert data_of(tmp_path / "new.csv").inputs == {"my smiles": ["CCO", "CCN"]}


@pytest.mark.parametrize(("kind", "value"), [("long", ""), ("integer", "1.5"), ("boolean", "yes"), ("double", "high")])
def test_a_value_that_is_not_of_its_type_is_named(kind: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(f"x,z\n1,a\n{value},b\n")
    found = repr(value) if value else "nothing"
    message = f"row 2, column 'x': the signature of the model has {kind}, found {found}"
    with pytest.raises(UserError, match=re.escape(message)):
        inputs_of("m", data_of(tmp_path / "new.csv"), {"x": kind})


def test_a_row_without_a_prediction_is_named_with_the_models_reason() -> None:
    output = [{"prediction": 1, "reason": None}, {"prediction": None, "reason": "RDKit cannot parse 'foo'"}]
    with pytest.raises(UserError, match="m: row 2 has no prediction: RDKit cannot parse 'foo': correct the row"):
        table_of("m", output, None, [1, 0], 2)
    words = table_of("m", ["active", None, "inactive"], None, None, 3)
    with pytest.raises(UserError, match="m, row 2, column 'y_pred': is empty"):
        readers.read([words])


OLD, NEW = np.array([0, 0, 1, 1, 0, 1] * 4), np.array([0, 1, 1, 0, 0, 1] * 4)
WORDS = np.array(["inactive", "active"], dtype=object)


@pytest.mark.parametrize(
    ("output", "truth", "said"),
    [
        (lambda c: WORDS[c].tolist(), WORDS, {}),
        (lambda c: (c + 1).tolist(), np.array([1, 2]), {}),
        (lambda c: [{"label": str(WORDS[i])} for i in c], WORDS, {}),
        (lambda c: [{"label": int(i), "score": 0.6 + 0.2 * i} for i in c], np.array([0, 1]), {}),
        (lambda c: [[0.8 - 0.6 * i, 0.2 + 0.6 * i] for i in c.tolist()], np.array([1, 2]), {"classes": ("1", "2")}),
        (lambda c: [[0.8 - 0.6 * i, 0.2 + 0.6 * i] for i in c.tolist()], WORDS, {"classes": ("inactive", "active")}),
        (lambda c: [{"prediction": int(i), "probability": 0.2 + 0.6 * i} for i in c], np.array([0, 1]), {}),
    ],
    ids=["words", "1 and 2", "column label", "label and score", "of 1 and 2", "of words", "class and probability"],
)
def test_what_a_model_answers_is_its_class_however_it_writes_it(output: Any, truth: Any, said: dict[str, Any]) -> None:
    y = truth[OLD].tolist()  # the old model is right
    tables = [table_of(name, output(c), None, y, len(OLD)) for name, c in (("old", OLD), ("new", NEW))]
    if said:
        with pytest.raises(UserError, match="--classes"):
            readers.read(tables)
    estimates = gate(*readers.read(tables, Options(**said)), 1.0).estimates
    assert (estimates["flips"].value, estimates["bad"].value) == (1 / 3, 1 / 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("store")
    with undisturbed():
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.create_experiment("models", (folder / "artifacts").as_uri())
        mlflow.set_experiment("models")
        yield folder


QUIET = {"verbose": False, "allow_writing_files": False}
LIBRARIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "sklearn": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 10}),
    "xgboost": ("xgboost", "XGBClassifier", {"n_estimators": 5, "n_jobs": 1}),
    "lightgbm": ("lightgbm", "LGBMClassifier", {"n_estimators": 5, "n_jobs": 1, "verbose": -1}),
    "catboost": ("catboost", "CatBoostClassifier", {"n_estimators": 5, "thread_count": 1, **QUIET}),
}


def boosted(library: str, seed: int) -> Any:
    """A classifier of a library; the test is skipped where it is not installed."""
    module, name, options = LIBRARIES[library]
    return getattr(pytest.importorskip(module), name)(random_state=seed, **options)


def logged(library: str, seed: int, x: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Train a version of a model, register it as its library does, and return the classes that it predicts."""
    rows = np.random.default_rng(seed).integers(len(x), size=60)
    more = {"name": "m", "registered_model_name": library, "pip_requirements": ["mlflow"]}
    model = boosted(library, seed).fit(x.iloc[rows], y[rows])
    predicted = np.ravel(model.predict(x))
    if library == "sklearn":  # whose default format holds no trees
        more["serialization_format"] = "cloudpickle"
    getattr(mlflow, library).log_model(model, signature=infer_signature(x, predicted), **more)
    return predicted


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
def test_versions_logged_by_each_library_are_gated_as_they_predict(library: str, store: Path) -> None:
    """The journey of docs/tutorials/gate.md with models: passed, failed, and the same from a CSV and from Parquet."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(240, 3)), columns=["a", "b", "c"])
    y = (x["a"] + rng.normal(size=len(x)) > 0).to_numpy().astype(int)
    old, new = (logged(library, seed, x, y) for seed in (1, 2))
    table = x.assign(example_id=[f"m{t}" for t in range(len(x))], y_true=y)
    table.to_csv(store / "new.csv", index=False)
    table.to_parquet(store / "new.parquet")
    MlflowClient().set_registered_model_alias(library, "champion", "1")
    uri = f"sqlite:///{store}/mlflow.db"
    words = ["gate", f"models:/{library}@champion", f"models:/{library}/2", "--tracking-uri", uri]
    files = ["new.csv", "new.parquet"] if library == "sklearn" else ["new.csv"]
    said = {}
    for file in files:
        done = CliRunner().invoke(app, [*words, "--max-flips", "100%", "--data", str(store / file)])
        assert done.exit_code == 0, (done.output, done.exception)
        said[file] = done.stdout
    assert len(set(said.values())) == 1
    assert f"flips  {(old != new).mean():7.2%}" in said["new.csv"]
    assert f"bad (right to wrong)  {((old == y) & (new != y)).mean():7.2%}" in said["new.csv"]
    assert "\npassed: " in said["new.csv"]
