"""Predictions that runs have logged in MLflow, read from a real store as a user's own runs leave them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from benchmark.errors import UserError
from leaderboard.scoring import sources
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.score import score

from ..conftest import invoke as run

pytestmark = pytest.mark.filterwarnings("ignore:For backward compatibility, 'str' dtypes")  # log_table with pandas 3
T = 40
RNG = np.random.default_rng(3)
Y = RNG.integers(2, size=T)
P = 1 / (1 + np.exp(-(1.5 * (2 * Y - 1) + RNG.normal(size=T) + 0.8 * RNG.normal(size=(4, T)))))
IDS = [f"m{t}" for t in range(T)]


class Tracking:
    """A SQLite store, with short ways to log what a user's training logs."""

    def __init__(self, folder: Path) -> None:
        from benchmark.store.opening import prepare

        self.uri = f"sqlite:///{folder}/mlflow.db"
        prepare(self.uri)
        self.client, self.folder = MlflowClient(self.uri), folder

    def experiment(self, name: str) -> str:
        return str(self.client.create_experiment(name, (self.folder / "artifacts" / name).as_uri()))

    def run(self, experiment: str, files: Mapping[str, pd.DataFrame], status: str = "FINISHED", seed: int = 0) -> str:
        """Log tables as a run does: JSON and names that start with ``table`` by ``log_table``, others as files."""
        run_id: str = self.client.create_run(experiment).info.run_id
        self.client.log_param(run_id, "seed", seed)
        for name, table in files.items():
            path = self.folder / Path(name).name
            if name.endswith(".json"):
                self.client.log_table(run_id, table, name)
                continue
            table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
            self.client.log_artifact(run_id, str(path), name.rpartition("/")[0] or None)
        self.client.set_terminated(run_id, status)
        return run_id

    def four(self, name: str, file: str, table: Callable[[int], pd.DataFrame]) -> list[str]:
        """Log four runs with a table each in a new experiment."""
        experiment = self.experiment(name)
        return [self.run(experiment, {file: table(r)}, seed=r) for r in range(4)]


def long(r: int) -> pd.DataFrame:
    return pd.DataFrame({"example_id": IDS, "p0": 1 - P[r], "p1": P[r], "y_true": Y})


def bare(r: int) -> pd.DataFrame:
    """The predicted and the true class, without ids, under the names that are usual in MLflow."""
    return pd.DataFrame({"prediction": (P[r] > 0.5).astype(int), "target": Y})


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A score is compared with no published results, which takes longer than all else."""
    monkeypatch.setattr("leaderboard.scoring.standing.published_results", lambda *_, **__: None)


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Tracking:
    return Tracking(tmp_path_factory.mktemp("tracking"))


def scored(tracking: Tracking, *words: str) -> dict[str, Any]:
    result = run("score", *words, "--json", "-", "--tracking-uri", tracking.uri)
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


EXPECTED = score(Runs.of(np.stack([1 - P, P], axis=-1), Y))


@pytest.mark.parametrize("file", ["predictions.json", "out/predictions.parquet", "predictions.csv"])
def test_the_finished_runs_of_an_experiment_are_retrainings(tracking, file):
    name = f"whole {Path(file).suffix}"
    ids = tracking.four(name, file, long)
    content = scored(tracking, "--experiment", name, "--table", file)
    assert content["runs"] == ids
    assert content["churn"]["value"] == pytest.approx(EXPECTED.churn.value)
    assert content["churn"]["low"] == pytest.approx(EXPECTED.churn.low)
    assert content["accuracy"]["value"] == pytest.approx(EXPECTED.estimates["accuracy"].value)
    assert content["n_examples"] == T
    assert content["source"] == f"the experiment {name!r}"
    found, _ = sources.read([], experiment=name, store=tracking.uri)  # the only table of each
    assert found.values[..., 1] == pytest.approx(P, abs=1e-6)


def test_unfinished_runs_and_those_without_the_table_are_left_out_and_counted(tracking):
    ids = tracking.four("mixed", "predictions.json", long)
    experiment = tracking.client.get_experiment_by_name("mixed").experiment_id
    tracking.run(experiment, {"predictions.json": long(0)}, status="FAILED")
    tracking.run(experiment, {}, seed=9)
    result = run("score", "--experiment", "mixed", "--json", "-", "--tracking-uri", tracking.uri)
    assert json.loads(result.stdout)["runs"] == ids
    assert "left out: 1 finished run without a table" in result.stderr
    found, left_out = sources.read([], experiment="mixed", query="params.seed != '0'", store=tracking.uri)
    assert (found.names, left_out) == (tuple(ids[1:]), 1)


def test_runs_are_named_one_by_one_and_their_rows_are_examples_where_they_have_no_ids(tracking):
    ids = tracking.four("bare", "eval/predictions.json", bare)
    content = scored(tracking, f"runs:/{ids[2]}", f"runs:/{ids[0]}/eval/predictions.json")
    assert content["runs"] == [ids[2], ids[0]]
    flips = (P[2] > 0.5) != (P[0] > 0.5)
    assert content["churn"]["value"] == pytest.approx(flips.mean())
    assert content["read_as"] == "labels"
    assert "examples by the order of the rows; predictions: prediction; truth: target." in content["notes"]
    first = [row["example_id"] for row in content["ranking"][: flips.sum()]]
    assert sorted(map(int, first)) == (np.flatnonzero(flips) + 1).tolist()


def test_runs_and_files_mix_examples_are_matched_by_id_and_values_have_full_precision(tracking, tmp_path):
    values = 1 + RNG.normal(size=(2, T)) * 1e-6
    old, new = (pd.DataFrame({"example_id": IDS, "predictions": v, "target": P[0]}) for v in values)
    run_id = tracking.run(tracking.experiment("regression"), {"predictions.parquet": old})
    new.sample(frac=1, random_state=0).to_parquet(tmp_path / "new.parquet")
    found, _ = sources.read([f"runs:/{run_id}", str(tmp_path / "new.parquet")], store=tracking.uri)
    assert (found.kind, found.names) == ("values", (run_id, str(tmp_path / "new.parquet")))
    assert (found.values == values).all()
    assert (found.y == P[0]).all()


def test_what_is_unclear_or_missing_is_named(tracking):
    experiment = tracking.experiment("wrong")
    labels = bare(0)
    two = tracking.run(experiment, {"a.json": labels, "b.csv": labels})
    none = tracking.run(experiment, {})
    unclear = tracking.run(experiment, {"a.json": labels.assign(outputs=labels["prediction"])})
    shorter = tracking.run(experiment, {"a.json": labels.head(10)})
    good = tracking.run(experiment, {"a.json": labels})
    several = tracking.run(experiment, {"a.parquet": pd.concat([long(r).assign(run=r) for r in range(2)])})
    ids = tracking.run(experiment, {"a.parquet": long(0)})
    for words, message in [
        ([f"runs:/{two}"], f"runs:/{two}: several of its artifacts may be its predictions (a.json, b.csv): name one"),
        ([f"runs:/{none}"], "the run has no table of predictions; its artifacts: none"),
        ([f"runs:/{two}/c.json"], "the run has no artifact 'c.json'; its artifacts: a.json, b.csv"),
        ([f"runs:/{two}/../../x.csv"], "the run has no artifact '../../x.csv'"),
        (["runs:/0123456789abcdef0123456789abcdef"], "has no run '0123456789abcdef0123456789abcdef'"),
        ([f"runs:/{unclear}"], "'prediction', 'outputs': each may be the predictions; say which with --runs"),
        ([f"runs:/{good}", f"runs:/{shorter}"], "40 and 10 examples; expected the same ones, but '11' is in"),
        ([f"runs:/{ids}", f"runs:/{several}"], f"runs:/{several}/a.parquet: found 2 runs (0, 1, …)"),
        ([f"runs:/{good}", f"runs:/{good}"], f"{good} is given twice"),
        (["--experiment", "wrnog"], "unknown experiment 'wrnog': did you mean 'wrong'?"),
        (["--experiment", "wrong", "--table", "z.csv"], "no finished run has logged z.csv (7 looked at)"),
        (["--experiment", "wrong", "--filter", "seed = 1"], "--filter 'seed = 1': Invalid"),
        (["models:/m/3"], "models:/m/3 is a model: expected a table of predictions; gate compares models"),
        (["a.csv", "--table", "a.json"], "--table a.json is the artifact of a run"),
        ([], "expected either tables of predictions or --experiment"),
    ]:
        result = run("score", *words, "--tracking-uri", tracking.uri)
        assert isinstance(result.exception, UserError), (words, result.output, result.exception)
        assert message in str(result.exception), words


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "expected a table as mlflow.log_table or"),
        ("{", "expected a table as mlflow.log_table or"),
        ('{"columns": ["y_pred"], "data": [[1], [1, 2]]}', "row 2 does not have a value for each of 1 columns"),
        ('{"columns": ["id", "y_pred"], "data": [["a", "x"], ["b", 1]]}', "the column 'y_pred' mixes text, numbers"),
        ('{"columns": ["id", "y_pred"], "data": []}', "no rows: expected predictions"),
        ("[" * 100_000, "expected a table as mlflow.log_table or"),
    ],
)
def test_json_that_is_no_table_is_refused(tmp_path, content, message):
    (tmp_path / "table.json").write_text(content)
    with pytest.raises(UserError, match=r"table\.json") as raised:
        sources.read([str(tmp_path / "table.json")])
    assert message in str(raised.value)


def test_a_store_that_does_not_exist_is_not_created(tmp_path):
    for words in (["--experiment", "mine"], ["runs:/abc"]):
        result = run("score", *words, "--tracking-uri", f"sqlite:///{tmp_path}/none.db")
        assert f"there is no tracking store at {tmp_path}/none.db: give" in str(result.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_tables_on_a_server_are_downloaded_and_removed_again(mlflow_server, tmp_path, monkeypatch):
    server = mlflow_server(f"sqlite:///{tmp_path}/mlflow.db")
    client = MlflowClient(server.uri)
    experiment = client.create_experiment("remote")
    ids = [client.create_run(experiment).info.run_id for _ in range(2)]
    for r, run_id in enumerate(ids):
        client.log_table(run_id, long(r), "out/predictions.json")
        client.set_terminated(run_id)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    found, left_out = sources.read([], experiment="remote", store=server.uri)
    assert (found.names, left_out) == (tuple(ids), 0)
    assert found.values[:, :, 1] == pytest.approx(P[:2], abs=1e-6)
    assert not list(scratch.iterdir())
