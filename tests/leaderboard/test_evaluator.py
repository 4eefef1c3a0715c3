"""Models in a registry: gated by one command, and compared by MLflow's own ``evaluate`` with the evaluator churn."""

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from mlflow.metrics import MetricValue, make_metric
from mlflow.models import infer_signature
from mlflow.models.evaluation import ModelEvaluator
from mlflow.tracking import MlflowClient, fluent
from mlflow.tracking._tracking_service import utils as tracking_service
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner, Result

from benchmark.errors import UserError
from leaderboard.__main__ import app
from leaderboard.evaluator import ChurnEvaluator, _compared, _table
from leaderboard.scoring import readers
from leaderboard.scoring.gate import gate
from leaderboard.scoring.models import cause
from leaderboard.scoring.runs import Runs

WORDS = np.array(["benign", "malignant"])


def broken() -> Any:
    """A model that loads and cannot predict."""

    class Broken(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            raise KeyError("no such assay")

    return Broken()


class Registry:
    """Two versions of each model, ten rows and all rows of new data, and what the versions predict directly."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.uri = folder, f"sqlite:///{folder}/mlflow.db"
        mlflow.set_tracking_uri(self.uri)
        client = MlflowClient()
        self.experiment = client.create_experiment("models", (folder / "artifacts").as_uri())
        mlflow.set_experiment("models")
        cancer = load_breast_cancer(as_frame=True).frame
        x, y = cancer.drop(columns="target"), cancer["target"]
        test = x.sample(150, random_state=0).index
        self.x, self.y = x.loc[test].reset_index(drop=True), y.loc[test].to_numpy()
        self.predicted: dict[str, list[np.ndarray]] = {}
        self.models: list[Any] = []
        for seed in (1, 2):
            rows = x.drop(index=test).sample(100, replace=True, random_state=seed).index
            for name, target in (("numbers", y), ("words", pd.Series(WORDS[y], index=y.index))):
                model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x.loc[rows], target[rows])
                self.add(name, model, "predict", model.predict(self.x))
            self.models.append(model)
        sugar = load_diabetes(as_frame=True).frame
        self.sugar = sugar.sample(100, random_state=0).reset_index(drop=True)
        for seed in (1, 2):
            rows = sugar.sample(80, replace=True, random_state=seed)
            model = Ridge().fit(rows.drop(columns="target"), rows["target"])
            self.add("values", model, "predict", model.predict(self.sugar.drop(columns="target")), sugar)
        about = {"registered_model_name": "broken", "pip_requirements": ["mlflow"]}
        mlflow.pyfunc.log_model(name="m", python_model=broken(), **about)
        truth = WORDS[self.y]
        self.table = self.x.assign(example_id=[f"c{t}" for t in range(len(test))], y_true=truth, label=self.y)
        self.table.to_parquet(folder / "new.parquet")

    def add(self, name: str, model: Any, function: str, predicted: np.ndarray, x: pd.DataFrame | None = None) -> None:
        x = self.x if x is None else x.drop(columns="target")
        about = {"registered_model_name": name, "pyfunc_predict_fn": function, "pip_requirements": ["scikit-learn"]}
        mlflow.sklearn.log_model(model, name="m", signature=infer_signature(x, predicted), **about)
        self.predicted.setdefault(name, []).append(predicted)

    def flips(self, name: str) -> np.ndarray:
        a, b = self.predicted[name]
        return np.asarray(a != b)

    def gate(self, *words: str) -> Result:
        with chdir(self.folder):
            return CliRunner().invoke(app, ["gate", *words, "--tracking-uri", self.uri])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Undo what MLflow remembers in this process, which other tests share."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own
        for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID"):
            patch.setenv(name, "")
            patch.delenv(name)
        patch.setattr(tracking_service, "_tracking_uri", None)
        patch.setattr(fluent, "_active_experiment_id", None)
        yield


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with undisturbed():
        yield Registry(tmp_path_factory.mktemp("registry"))


@pytest.mark.long
def test_a_model_that_gives_probabilities_is_gated_against_predictions_in_a_file(registry: Registry) -> None:
    for model in registry.models:
        registry.add("chances", model, "predict_proba", model.predict_proba(registry.x))
    MlflowClient().set_registered_model_alias("chances", "champion", "2")
    p = registry.predicted["chances"][0]
    old = pd.DataFrame({"example_id": registry.table["example_id"], "p0": p[:, 0], "p1": p[:, 1], "y_true": registry.y})
    old.to_csv(registry.folder / "old.csv", index=False)
    words = ("--data", "new.parquet", "--target", "label", "--max-flips", "100%")
    done = registry.gate("old.csv", "models:/chances@champion", *words)
    assert done.exit_code == 0, done.exception
    assert f"flips  {registry.flips('words').mean():7.2%}" in done.stdout  # the model of words gives the same classes
    assert "models:/chances@champion: read as probabilities; predictions: p0, p1; truth: y_true." in done.stdout
    same = registry.gate("old.csv", "models:/chances/1", "--max-flips", "0", "--by-estimate", *words[:4])
    assert same.exit_code == 0, same.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("broken/1", ["models:/broken/1: it could not be loaded or fa", "no such assay"]),
        pytest.param("words/9", ["models:/words/9: ", "(name=words, version=9) not found"], marks=pytest.mark.long),
        pytest.param("values/1", ["its signature has the columns age, sex", "parquet lacks"], marks=pytest.mark.long),
    ],
    ids=["fails", "is missing", "wants other columns"],
)
def test_a_model_that_fails_is_explained_in_a_few_lines(registry: Registry, model: str, said: list[str]) -> None:
    done = registry.gate(f"models:/{model}", "models:/words/2", "--max-flips", "5%", "--data", "new.parquet")
    assert isinstance(done.exception, UserError)
    assert all(text in str(done.exception) for text in said), done.exception
    assert "Traceback" not in str(done.exception)
    assert len(str(done.exception).splitlines()) <= 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("models:/words/1 models:/words/2", "models:/words/1 is a model: give --data, the rows to predict for"),
        ("a.csv b.csv --data new.csv", "neither of the two is a model: give --data"),
        ("models:/words/1 b.csv --data none.csv", "none.csv: cannot be read"),
        ("models:/words/1 b.csv --data ids.csv", "ids.csv: no input for a model: its columns are example_id"),
        ("models:/words/1 b.csv --data x.csv --target z", "x.csv: no column 'z' (--target)"),
        ("models:/words/1 b.csv --data x.csv", "there is no tracking store at"),
    ],
)
def test_what_a_gate_of_models_lacks_is_named_before_any_model_is_loaded(tmp_path, monkeypatch, line, said):
    (tmp_path / "ids.csv").write_text("example_id,y_true\na,1\n")
    (tmp_path / "x.csv").write_text("example_id,x\na,1\n")
    monkeypatch.chdir(tmp_path)
    words = ["gate", *line.split(), "--max-flips", "5%", "--tracking-uri", f"sqlite:///{tmp_path}/none.db"]
    refused = CliRunner().invoke(app, words).exception
    assert isinstance(refused, UserError)
    assert said in str(refused)
    assert not (tmp_path / "none.db").exists()


def test_the_cause_of_a_failure_is_found_in_what_a_process_said() -> None:
    trace = "Traceback (most recent call last):\n  File x\n"
    said = f"INFO start\n{trace}KeyError: 'a'\n\nDuring handling of it\n{trace}mlflow.MyError: b\n"
    assert cause(said) == "  KeyError: 'a'\n  mlflow.MyError: b"
    shell = f"curl: no host\n{trace}a.ShellCommandException: 1\nCommand: [env]\n"
    assert cause(shell) == "  curl: no host\n  a.ShellCommandException: 1\n  Command: [env]"
    assert cause("Killed\n") == "  Killed"
    assert cause("") == "  no message"


def evaluate(
    registry: Registry, model: Any, data: pd.DataFrame, baseline: str = "", kind: str = "classifier", **given: Any
) -> Any:
    """What MLflow returns and records; with a ``baseline``, of the evaluator churn alone."""
    if baseline:
        given |= {"evaluators": "churn", "evaluator_config": {"baseline": baseline}}
    with mlflow.start_run(experiment_id=registry.experiment) as run:
        result = mlflow.models.evaluate(model, data, model_type=kind, **given)
    return result, MlflowClient().get_run(run.info.run_id)


@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred")  # by MLflow, of a class of its own
def test_mlflow_finds_the_evaluator_by_its_entry_point() -> None:
    (entry,) = (e for e in distribution("churn-benchmark").entry_points if e.group == "mlflow.model_evaluator")
    assert (entry.name, entry.load()) == ("churn", ChurnEvaluator)
    assert "churn" in mlflow.models.list_evaluators()
    assert issubclass(ChurnEvaluator, ModelEvaluator)
    assert not ChurnEvaluator.can_evaluate(model_type="text", evaluator_config={"baseline": "models:/m/1"})


@pytest.mark.slow
def test_its_import_by_mlflow_loads_no_table_and_no_figure() -> None:
    script = (
        "import sys, mlflow.models.evaluation; before = set(sys.modules); import leaderboard.evaluator;"
        "print(sorted({m for m in set(sys.modules) - before if m.startswith(('leaderboard.', 'torch', 'rdkit'))}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "scoring" not in done.stdout
    assert "figures" not in done.stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_evaluate_logs_flips_with_intervals_and_their_list(registry: Registry) -> None:
    data = registry.table.drop(columns="label")
    result, run = evaluate(registry, "models:/words/2", data, "models:/words/1", targets="y_true")
    a, b = registry.predicted["words"]
    expected = gate(*(Runs.of((p == WORDS[1]).astype(int)[None], registry.y) for p in (a, b)), 1.0).estimates
    names = {"flips": "flips", "bad": "bad_flips", "good": "good_flips", "other": "wrong_to_wrong"}
    for name, key in names.items():
        for end in ("value", "low", "high"):
            metric = f"churn/{key}" + ("" if end == "value" else f"_{end}")
            assert run.data.metrics[metric] == result.metrics[metric] == pytest.approx(getattr(expected[name], end))
    ends = {f"churn/{key}{end}" for key in names.values() for end in ("", "_low", "_high")}
    of_two = {"churn/chance_corrected_churn", "churn/churn_rarer"}  # the scorecard's measures of two models of classes
    assert set(run.data.metrics) == ends | of_two
    assert run.data.tags["churn.baseline"] == "models:/words/1"
    assert run.data.tags["churn.read"].startswith("predictions: ")
    folder = Path(MlflowClient().download_artifacts(run.info.run_id, "churn"))
    listed = json.loads((folder / "flips.json").read_text())
    assert listed["columns"] == ["example_id", "baseline", "candidate", "y_true", "flip"]
    assert [row[0] for row in listed["data"]] == data["example_id"][registry.flips("words")].tolist()
    for _, old, new, truth, flip in listed["data"]:
        assert flip == ("bad" if old == truth else "good" if new == truth else "wrong to wrong")
    assert result.artifacts["churn/flips"].content == listed
    assert result.artifacts["churn/flips"].uri.endswith("/churn/flips.json")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_second_evaluation_in_a_run_replaces_the_list_of_the_first(registry: Registry) -> None:
    data = registry.x.assign(label=registry.y)
    with mlflow.start_run(experiment_id=registry.experiment) as run:
        for old in ("models:/numbers/1", "models:/numbers/2"):
            given = {"evaluators": "churn", "evaluator_config": {"baseline": old}}
            mlflow.models.evaluate("models:/numbers/2", data, targets="label", model_type="classifier", **given)
    client = MlflowClient()
    listed = json.loads(Path(client.download_artifacts(run.info.run_id, "churn/flips.json")).read_text())
    assert (client.get_run(run.info.run_id).data.metrics["churn/flips"], listed["data"]) == (0, [])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_regressor_gets_the_mean_absolute_difference(registry: Registry) -> None:
    versions = "models:/values/2", registry.sugar, "models:/values/1"
    result, run = evaluate(registry, *versions, "regressor", targets="target")
    a, b = registry.predicted["values"]
    name = "churn/mean_absolute_difference"
    assert run.data.metrics[name] == pytest.approx(np.abs(a - b).mean())
    assert run.data.metrics[f"{name}_low"] < run.data.metrics[name] < run.data.metrics[f"{name}_high"]
    rank = run.data.metrics["churn/rank_correlation"]
    assert rank == result.metrics["churn/rank_correlation"] == pytest.approx(stats.spearmanr(a, b).statistic)
    columns, rows = (result.artifacts["churn/differences"].content[part] for part in ("columns", "data"))
    assert columns == ["example_id", "baseline", "candidate", "y_true", "difference"]
    assert [int(row[0]) for row in rows] == (np.argsort(-np.abs(a - b), kind="stable") + 1).tolist()
    asked = {"evaluators": "churn", "evaluator_config": {"baseline": versions[2], "kind": "labels"}}
    with pytest.raises(MlflowException, match="'kind' is for a classifier: leave it out for a regressor"):
        evaluate(registry, *versions[:2], kind="regressor", targets="target", **asked)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_target_that_is_missing_is_named_with_its_row(missing: Any) -> None:
    labels = pd.Series(["benign", missing], dtype=object)
    data = SimpleNamespace(labels_data=labels, features_data=pd.DataFrame({"x": [1, 2]}))
    table = _table("m", WORDS, data, None)
    with pytest.raises(UserError, match="m, row 2, column 'y_true': is empty"):
        readers.read([table, replace(table, name="n")])


@pytest.mark.parametrize("values", [np.eye(3, 9), np.eye(3, 9, dtype=int)])
def test_the_members_of_an_ensemble_are_refused_with_the_argument_that_names_one(values: np.ndarray) -> None:
    old, new = Runs.of(values), Runs.of(values[::-1])
    with pytest.raises(UserError, match=r"found 3 runs \(1, 2, 3\).* argument predictions names the column"):
        _compared(old, new, values.dtype == float)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_predictions_that_may_be_read_in_two_ways_are_read_as_the_configuration_says(registry: Registry) -> None:
    chances = [model.predict_proba(registry.x) for model in registry.models]
    for model, p in zip(registry.models, chances, strict=True):
        registry.add("named", model, "predict_proba", p)
    data = registry.x.assign(target=WORDS[registry.y])

    def evaluated(model: str, **config: Any) -> tuple[dict[str, float], str]:
        given = {"evaluators": "churn", "evaluator_config": {"baseline": "models:/named/1", **config}}
        result, run = evaluate(registry, model, data, targets="target", **given)
        return result.metrics, run.data.tags["churn.read"]

    with pytest.raises(MlflowException, match=r"--classes .*evaluator_config has these options as keys"):
        evaluated("models:/named/2")
    with pytest.raises(MlflowException, match=r"'classes': expected a text or a list of texts, found \[0, 1\]"):
        evaluated("models:/named/2", classes=[0, 1])
    flips = float((chances[0].argmax(1) != chances[1].argmax(1)).mean())
    metrics, _ = evaluated("models:/named/2", classes=[*WORDS])
    assert metrics["churn/flips"] == pytest.approx(flips)
    assert "churn/rank_correlation" in metrics
    metrics, read = evaluated("models:/numbers/2", classes=[*WORDS])
    assert metrics["churn/flips"] == pytest.approx(flips)
    assert "churn/rank_correlation" not in metrics, "classes have no ranks"
    assert "is only 0 and 1, so that all are compared as classes" in read


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_it_stands_beside_the_default_evaluator_whose_tables_of_two_runs_are_read_without_options(registry) -> None:
    """They have all features, the true and the predicted classes, and metrics of each row."""

    def right(predictions: Any, targets: Any) -> MetricValue:
        return MetricValue(scores=(predictions == targets).astype(int).tolist())

    data, plain = registry.x.assign(label=registry.y), {"log_model_explainability": False}
    given = {"extra_metrics": [make_metric(eval_fn=right, greater_is_better=True, name="right")], "targets": "label"}
    alone, first = evaluate(registry, "models:/numbers/1", data, **given, evaluator_config=plain)
    assert "accuracy_score" in alone.metrics
    assert not any(name.startswith("churn") for name in alone.metrics), "without a baseline, it stands in no one's way"
    config = {"churn": {"baseline": "models:/numbers/1"}, "default": plain}
    both = {"evaluators": ["default", "churn"], "evaluator_config": config}
    result, second = evaluate(registry, "models:/numbers/2", data, **given, **both)
    (a, b), y = registry.predicted["numbers"], registry.y
    assert result.metrics["churn/flips"] == pytest.approx((a != b).mean())
    assert result.metrics["accuracy_score"] == pytest.approx((b == y).mean())
    tables = (f"runs:/{run.info.run_id}/eval_results_table.json" for run in (first, second))
    done = registry.gate(*tables, "--max-flips", "100%")
    assert done.exit_code == 0, done.exception
    assert f"flips  {(a != b).mean():7.2%}" in done.stdout
    assert f"bad (right to wrong)  {((a == y) & (b != y)).mean():7.2%}" in done.stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_predictions_without_a_model_are_evaluated_and_what_it_cannot_compare_is_explained(registry: Registry) -> None:
    data = registry.x.assign(label=registry.y)
    static = data.assign(said=registry.predicted["numbers"][1])
    result, _ = evaluate(registry, None, static, "models:/numbers/1", targets="label", predictions="said")
    assert result.metrics["churn/flips"] == pytest.approx(registry.flips("numbers").mean())
    with pytest.raises(MlflowException, match=r'"churn" needs the model to compare with: give evaluator_config='):
        evaluate(registry, "models:/numbers/2", data, targets="label", evaluators="churn", evaluator_config={"base": 1})
    with pytest.raises(MlflowException, match=r"the baseline models:/numbers/9 cannot be loaded: .*version=9"):
        evaluate(registry, "models:/numbers/2", data, "models:/numbers/9", targets="label")
    sugar = registry.sugar.assign(target=(registry.sugar["target"] > 150).astype(int))
    with pytest.raises(MlflowException, match="beyond 0 to 1, but the true values are classes"):
        evaluate(registry, "models:/values/2", sugar, "models:/values/1", targets="target")
