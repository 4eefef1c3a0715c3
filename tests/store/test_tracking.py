"""Contents of MLflow after a run, read back through MLflow."""

import hashlib
import json
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from benchmark.errors import UserError
from benchmark.run import driver, runner
from benchmark.run.runner import Planned
from benchmark.store import describe, folder, opening, outbox, tracking
from benchmark.store.cell import Cell, Record, digest, encode
from benchmark.store.tables import to_table
from leaderboard import site
from leaderboard.read.stored import read
from tests.conftest import free_port

from .conftest import planned, trained


def cell(text: str, *seeds: int) -> Cell:
    return trained(planned(text, *seeds))[0]


def fill(cells: list[Planned], force: bool = False, report: driver.Report = lambda line: None) -> driver.Tally:
    return driver.fill(cells, force=force, jobs=1, report=report)


def test_halves_have_an_experiment_of_their_own_and_a_run_is_compared_with_its_other_half(store):
    plan = planned("erm", 1, 2, 3, 4)
    (one,) = trained(replace(plan, key=replace(plan.key, sampling="halves")))
    run = MlflowClient().get_run(store.log(one))
    assert MlflowClient().get_experiment(run.info.experiment_id).name == f"churn/{one.key.dataset}/halves"
    assert run.data.params["sampling"] == "halves"
    classes = one.predictions["id"].values.argmax(-1)
    apart = [(classes[i] != classes[i + 1]).mean() for i in (0, 2)]
    assert run.data.metrics["id/churn"] == pytest.approx(np.mean(apart))
    nested = MlflowClient().search_runs([run.info.experiment_id], "tags.`churn.kind` = 'seed'")
    churn = {int(run.data.tags["churn.train_seed"]): run.data.metrics["id/churn"] for run in nested}
    assert churn == pytest.approx({1: apart[0], 2: apart[0], 3: apart[1], 4: apart[1]})
    (back,) = store.cells()
    assert (back.key, back.predictions["id"].sampling) == (one.key, "halves")


def test_the_run_of_a_cell_describes_it_and_gives_it_back_as_it_went_in(store: tracking.Store) -> None:
    store.log(cell("erm"))
    one = cell("twin:lam=30")
    run = MlflowClient().get_run(store.log(one))
    assert (run.info.run_name, run.info.status) == ("Twin-bootstrap λ=30 · split 0", "FINISHED")
    assert MlflowClient().get_experiment(run.info.experiment_id).name == f"churn/{one.key.dataset}"
    assert run.data.params["lam"] == "30.0"
    quality = {"id/accuracy", "id/balanced_accuracy", "id/auroc"}
    delta = {"id/matched_churn", "id/delta_matched_churn"}  # of two retrainings, without an interval
    assert set(run.data.metrics) == {"id/churn", *delta, *quality, "fit_seconds", "compute_vs_erm"}
    values = one.predictions["id"].values.argmax(-1)
    assert run.data.metrics["id/churn"] == pytest.approx((values[0] != values[1]).mean())
    tags = run.data.tags
    assert tags["command"].startswith("churn run --method twin:lam=30.0")
    data = run.inputs.dataset_inputs[0].dataset
    assert (data.name, data.digest) == (one.facts.dataset.title or one.key.dataset, one.key.problem)
    assert json.loads(data.profile)["num_rows"] == one.facts.rows["train"]
    back, _ = store.cells()
    assert (back.key, back.key.digest, back.facts) == (one.key, one.key.digest, one.facts)
    for evalset in ("id", "ood"):
        for name in ("values", "y", "ids"):
            assert np.array_equal(getattr(back.predictions[evalset], name), getattr(one.predictions[evalset], name))


def test_the_run_of_mlflow_run_has_a_name_and_links_to_its_cells(store, monkeypatch):
    launcher = store.client.create_run("0", run_name="abundant-ant-1").info.run_id  # as mlflow run does
    monkeypatch.setenv("MLFLOW_RUN_ID", launcher)
    one = cell("knn")
    run = store.client.get_run(store.log(one))
    store.describe_launch("k-NN on synthetic", ["1 cell trained."], [one.key])
    launched = store.client.get_run(launcher)
    assert launched.info.run_name == "k-NN on synthetic"
    path = f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}?workflowType=machine_learning"
    assert f"- [{run.info.run_name}]({path})" in launched.data.tags["mlflow.note.content"]
    assert run.data.tags["churn.launched_by"] == launcher
    monkeypatch.setenv("MLFLOW_RUN_ID", "0123")  # a run of another store, as in a notebook
    store.describe_launch("k-NN on synthetic", ["1 cell trained."], [one.key])


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true"])
def test_a_store_in_memory_is_refused_before_anything_is_trained(address):
    with pytest.raises(opening.TrackingError, match="is in memory, and lost at the end: give a file"):
        opening.prepare(address)


def test_a_device_is_no_store_that_is_yet_to_be_made_and_a_port_is_a_number():
    assert not opening.nothing_at("sqlite:////dev/null")
    for address in ("http://[::1", "postgresql://me:secret@host:port/db"):
        with pytest.raises(opening.TrackingError, match="has no port that is a number") as refused:
            opening.nothing_at(address)
        assert "secret" not in str(refused.value)


def test_a_database_of_another_program_stays_as_it_is(own_store):
    with closing(sqlite3.connect(own_store / "mlflow.db")) as database:
        database.execute("create table metrics (a int)")
        database.commit()
    before = (own_store / "mlflow.db").read_bytes()
    with pytest.raises(opening.TrackingError, match="of another program, with the tables metrics: give another file"):
        tracking.Store()
    assert (own_store / "mlflow.db").read_bytes() == before


def test_a_store_is_made_in_a_folder_of_any_letters_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("CHURN_HOME", str(tmp_path / "ü" / "h é"))
    assert tracking.Store().statuses() == {}
    for name in ("a%2541.db", "b%3Fc.db"):
        opening.prepare(f"sqlite:///{tmp_path}/ü/{name}")
    assert {"a%41.db", "b?c.db"} < {path.name for path in (tmp_path / "ü").iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["ü"]
    assert (tmp_path / "ü" / "h é" / "mlflow.db").exists()


def test_no_password_of_a_store_is_shown(monkeypatch):
    for password in ("p[w", "p/w", "p#w", "p?w", "p@w"):
        assert opening.without_password(f"postgresql+psycopg://me:{password}@host/db") == "postgresql+psycopg://host/db"
        assert password not in opening.without_password(f"postgresql://host/db?user=me&password={password}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(opening.TrackingError) as raised:
        tracking.Store(f"http://me:secret@127.0.0.1:{free_port()}")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("folder", ["a%20b", "what?", "b\udcffd"])
def test_a_folder_that_means_another_in_an_address_is_refused(tmp_path, monkeypatch, folder):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("CHURN_HOME", str(tmp_path / folder))
    with pytest.raises(UserError, match=r"'([%?]|\\udcff)' means something else in an address: set CHURN_HOME"):
        opening.uri()


def test_each_retraining_is_a_nested_run_with_its_metrics_and_the_cell_is_a_folder_of_its_run(store):
    one = cell("erm", 4, 9)
    parent = MlflowClient().get_run(store.log(one))
    query = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
    children = MlflowClient().search_runs([parent.info.experiment_id], query)
    assert sorted(child.info.run_name for child in children) == ["train seed 4", "train seed 9"]
    folder = Path(parent.info.artifact_uri.removeprefix("file://")) / "cell"
    assert {"id.parquet", "ood.parquet", "cell.json"} < {path.name for path in folder.iterdir()}
    table = pd.read_parquet(folder / "id.parquet")
    assert table.columns.tolist() == ["train_seed", "example_id", "y_true", "p0", "p1"]
    right = table[["p0", "p1"]].to_numpy().argmax(1) == table["y_true"]
    accuracy = right.groupby(table["train_seed"]).mean()
    for child in children:
        seed = child.data.params["train_seed"]
        assert child.data.metrics["id/accuracy"] == pytest.approx(accuracy[int(seed)])
        assert child.data.params == {"method": "erm", "canonical_seed": "0", "sampling": "paper", "train_seed": seed}


def test_a_finished_cell_is_skipped_and_force_replaces_it(own_store: Path) -> None:
    plan = planned("erm", 1, 5)
    assert len(fill([plan]).trained) == 1
    again = fill([plan])
    assert (len(again.trained), again.skipped, again.exit_code) == (0, 1, 0)
    (first,) = tracking.Store().cells()
    assert len(fill([plan], force=True).trained) == 1
    (second,) = tracking.Store().cells()
    assert (first.key, first.run_id) != (second.key, second.run_id)


def test_a_cell_left_half_recorded_is_recorded_once_and_whole_and_beside_that_of_earlier_code(store):
    one = cell("swa")
    experiment = store._experiment(one)
    store._create(experiment, describe.tags(one), "interrupted", one.facts.wall_seconds)
    assert store.statuses()[one.key.digest] == "RUNNING"
    older = replace(one, key=replace(one.key, code="0" * 16))
    store.log(older)
    store.log(one)
    assert store.statuses()[one.key.digest] == "FINISHED"
    assert len(store._find(experiment, one.key.digest)) == 3
    assert [c.key.code for c in store.cells()] == [one.key.code, older.key.code], "newest first"


def test_a_recording_that_an_older_one_removes_is_made_again(store, monkeypatch):
    one = cell("swa", 7, 8)
    earlier, experiment = store.log(one), store._experiment(one)
    whole, removed = tracking.Store._log_whole, []

    def overtaken(self: tracking.Store, *arguments: Any) -> None:
        if not removed:  # the driver of the earlier recording cleans up late
            removed.append(store._one_remains(experiment, one))
        whole(self, *arguments)

    monkeypatch.setattr(tracking.Store, "_log_whole", overtaken)
    forced = store.log(one)
    assert removed[0].info.run_id == earlier != forced
    assert [c.run_id for c in store.cells() if c.key.digest == one.key.digest] == [forced]
    assert len(store._find(experiment, one.key.digest)) == 3


def test_a_record_of_a_study_replaces_older_ones_and_what_was_left_of_them(store: tracking.Store) -> None:
    store.log_record(Record("clocks", "answer", "0" * 16, {"number": 1}))
    experiment = store.client.get_experiment_by_name(tracking.STUDIES).experiment_id
    store._create(experiment, {"churn.study": "clocks", "churn.key": "answer"}, "interrupted")
    store.log_record(Record("clocks", "answer", "1" * 16, {"number": 2}))
    assert [record.content["number"] for record in store.records() if record.study == "clocks"] == [2, 1]
    assert {run.info.status for run in store._search([experiment], "tags.`churn.study` = 'clocks'")} == {"FINISHED"}


DEAD = {
    "rubbish": ("{folder}/rubbish.db", "file is not a database"),
    "folder": ("{folder}", "unable to open database file"),
    "below a file": ("{folder}/rubbish.db/mlflow.db", "rubbish.db"),
    "missing and read only": ("file:{folder}/none.db?mode=ro&uri=true", "unable to open database file"),
}


@pytest.mark.parametrize(("path", "reason"), DEAD.values(), ids=DEAD)
def test_a_database_that_cannot_be_used_is_reported_in_seconds(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "rubbish.db").write_bytes(bytes(range(256)) * 40)
    address = f"sqlite:///{path.format(folder=tmp_path)}"
    began = time.monotonic()
    with pytest.raises(opening.TrackingError) as raised:
        tracking.Store(address)
    assert time.monotonic() - began < 50  # MLflow alone takes 100 seconds
    assert f"the tracking store {address} cannot be used: " in str(raised.value)
    assert reason in str(raised.value).splitlines()[0]
    assert "check that it is a database of MLflow that you may read and write" in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["rubbish.db"]


def test_a_database_server_that_does_not_answer_is_reported_in_seconds() -> None:
    pytest.importorskip("psycopg")
    began = time.monotonic()
    with pytest.raises(opening.TrackingError, match=r"(?s)connection failed.*start its server"):
        tracking.Store("postgresql+psycopg://localhost:1/churn")
    assert time.monotonic() - began < 50


def test_a_failed_cell_is_recorded_with_its_traceback_and_tried_again_and_never_removes_a_finished_one(store):
    plan = planned("deep_ensemble:k=2")
    driver._record_failure(store, runner.Failed(plan, "Traceback: the reason"), driver.Tally())
    assert store.statuses()[plan.key.digest] == "FAILED"
    (run,) = store._find(store._experiment(cell("erm")), plan.key.digest)
    assert "the reason" in run.data.tags["mlflow.note.content"]
    assert [f.path for f in MlflowClient().list_artifacts(run.info.run_id)] == ["traceback.txt"]
    assert any("failed. Run it again: churn run" in line for line in store.failures())
    assert len(fill([plan]).trained) == 1
    driver._record_failure(store, runner.Failed(plan, "Traceback: later"), driver.Tally())
    assert store.statuses()[plan.key.digest] == "FINISHED"
    assert plan.key.digest in [c.key.digest for c in store.cells()]


def cell_folder(store: tracking.Store, run_id: str) -> Path:
    return Path(store.client.get_run(run_id).info.artifact_uri.removeprefix("file://")) / "cell"


@pytest.mark.parametrize("lost", ["its files are gone", "id.parquet: no such file"])
def test_a_cell_whose_files_are_gone_is_named_and_trained_again(store: tracking.Store, lost: str) -> None:
    plan, lines = planned("erm", 8, 9), []
    (gone,) = fill([plan]).trained
    (run,) = store._runs("cell")
    path = cell_folder(store, run.info.run_id)
    (path / "id.parquet").unlink() if lost.startswith("id") else shutil.rmtree(path)
    assert gone.key.digest not in [c.key.digest for c in store.cells()]
    (line,) = (line for line in store.unreadable if run.info.run_id in line)
    assert lost in line
    assert line.endswith(f"Train it again: {gone.facts.command} --force")
    outcome = fill([plan], report=lines.append)
    assert (len(outcome.trained), outcome.skipped) == (1, 0)
    name = f"ERM on {gone.key.dataset}, split 0"
    assert lines[0] == f"missing  {name}: its predictions are gone from the store, so it is trained again"
    assert gone.key.digest in [c.key.digest for c in store.cells()]


def read_again(store: tracking.Store) -> tuple[list[str], str]:
    """Return the run ids of the cells that can be read, and the line about the other."""
    again = tracking.Store(store.uri)
    found = [one.run_id for one in again.cells()]
    (line,) = again.unreadable
    return found, line


def test_what_names_another_cell_or_place_is_left_out_by_name_and_nothing_is_written_there(store, tmp_path):
    edited, other = (store.log(cell(text)) for text in ("random_forest:trees=2", "random_forest:trees=3"))
    for text in ("0", "../../../X", "\x00", "9" * 5000):
        store.client.set_tag(edited, "churn.cell", text)
        found, line = read_again(store)
        assert found == [other], text
        assert "is left out because it cannot be read: key: it was changed: its digest is" in line
    files = cell_folder(store, edited)
    before = (files / folder.HEAD).read_bytes()
    head = json.loads(before)
    head["key"]["dataset"] = "../../../X"
    changed = json.dumps(head).encode()
    sums = (hashlib.sha256(content).hexdigest() for content in (before, changed))  # no secret, and no more the digest
    (files / folder.HEAD).write_bytes(changed)
    (files / folder.SUMS).write_text((files / folder.SUMS).read_text().replace(*sums))
    store.client.set_tag(edited, "churn.cell", digest(head["key"]))
    found, line = read_again(store)
    assert found == [other]
    assert "dataset: String should match" in line
    results, health = read(store.uri)
    there = {path.name for path in tmp_path.iterdir()}
    site.write(results, tmp_path / "a" / "b" / "c" / "site", "runs", health)
    assert {path.name for path in tmp_path.iterdir()} == there | {"a"}


@pytest.fixture
def of_010(store: tracking.Store, tmp_path: Path) -> tuple[Cell, str, list[str]]:
    """A cell in the store as version 0.1.0 recorded it, with the ids of its run and of the nested ones."""
    one, client = cell("random_forest:trees=2", 3, 4), store.client
    experiment, head = store._experiment(one), encode(one)
    tags = {"churn.kind": "cell", "churn.cell": one.key.digest, "churn.title": one.title}
    tags |= {f"churn.{name}": json.dumps(head[name]) for name in ("key", "facts")}
    run = client.create_run(experiment, tags=tags).info.run_id
    client.log_metric(run, "fit_seconds", one.fit_seconds)
    client.log_text(run, "no problems", "health.txt")
    nested = []
    for i, seed in enumerate(one.key.seeds):
        tags = {"mlflow.parentRunId": run, "churn.kind": "seed", "churn.train_seed": str(seed)}
        nested.append(client.create_run(experiment, tags=tags).info.run_id)
        sums = {}
        for name, p in one.predictions.items():
            path = tmp_path / f"{name}.parquet"
            to_table(p.only([i])).drop(columns="train_seed").to_parquet(path)
            sums[f"predictions/{name}.parquet"] = hashlib.sha256(path.read_bytes()).hexdigest()
            client.log_artifact(nested[-1], str(path), "predictions")
        client.set_tag(nested[-1], "churn.sha256", json.dumps(sums))
    client.set_terminated(run, "FINISHED")
    return one, run, nested


def test_a_cell_recorded_by_version_010_is_read_and_checked(store, of_010):
    one, run, nested = of_010
    (back,) = store.cells({one.key.digest})
    assert (back.key, back.title, back.facts, back.run_id) == (one.key, one.title, one.facts, run)
    assert back.reports == {"health.txt": "no problems"}
    for test, p in one.predictions.items():
        np.testing.assert_array_equal(back.predictions[test].values, p.values)
        np.testing.assert_array_equal(back.predictions[test].ids, p.ids)
    assert store.statuses([one.key])[one.key.digest] == "FINISHED"
    store.client.set_tag(nested[1], "churn.sha256", json.dumps({"predictions/id.parquet": "0" * 64}))
    assert list(store.cells({one.key.digest})) == []
    assert "id.parquet was changed after it was written" in store.unreadable[-1]
    store.client.delete_run(nested[1])
    assert list(store.cells({one.key.digest})) == []
    assert "'4' is missing" in store.unreadable[-1]


def test_a_cell_on_disk_that_is_damaged_or_refused_is_named_and_kept_and_stops_no_other(store: tracking.Store) -> None:
    damaged, refused = outbox.save(cell("erm", 2, 3)), cell("knn:k=2", 2, 3)
    (damaged / "id.parquet").write_bytes(b"not parquet")
    refused = replace(refused, key=replace(refused.key, params={"k%": 2}))  # a name that MLflow does not take
    kept, lines = outbox.save(refused), []
    outcome = fill([planned("erm", 2, 3)], report=lines.append)
    assert [c.title for c in outcome.trained] == ["ERM"]
    assert (outcome.unrecorded, outcome.exit_code, outcome.trouble) == ([kept], 1, "")
    assert outbox.pending() == [kept]
    said = sorted(lines)
    assert said[0].startswith(f"DAMAGED  {damaged} is not a finished cell (id.parquet: sha256 ")
    assert [path.name for path in Path(said[0].rpartition(" ")[2]).iterdir()] == [p.name for p in kept.iterdir()]
    assert said[1].startswith(f"REFUSED  {kept}, which stays there: the tracking store {store.uri} refuses it: ")
    assert {store.statuses()[c.key.digest] for c in outcome.trained} == {"FINISHED"}
    assert store.statuses()[refused.key.digest] == "KILLED"


def test_a_cell_that_cannot_be_read_after_its_training_has_failed(own_store, monkeypatch) -> None:
    save, lines = outbox.save, []

    def cut(cell: Cell) -> Path:
        path = save(cell)
        (path / "id.parquet").write_bytes(b"not parquet")
        return path

    monkeypatch.setattr(outbox, "save", cut)
    outcome = fill([planned("knn:k=1")], report=lines.append)
    assert (outcome.trained, len(outcome.failed), outcome.exit_code) == ([], 1, 1)
    assert [line.split()[0] for line in lines] == ["DAMAGED"]


def test_what_sqlite_sorts_runs_by_is_counted_after_a_run(own_store):
    fill([planned("knn:k=1")])
    with closing(sqlite3.connect(own_store / "mlflow.db")) as database:
        counted = {name for (name,) in database.execute("SELECT tbl FROM sqlite_stat1")}
    assert {"runs", "latest_metrics", "tags"} <= counted


def test_cells_are_found_on_all_pages_of_the_answers_of_mlflow(store, monkeypatch):
    cells = trained(planned("erm"), planned("svm"), planned("knn"))
    for cell in cells:
        store.log(cell)
        store.client.create_experiment(f"churn/{cell.key.digest}")
    monkeypatch.setattr(opening, "PAGE", 1)
    assert {cell.key.digest for cell in store.cells()} == {cell.key.digest for cell in cells}


@pytest.mark.long
def test_a_server_that_goes_away_costs_no_prediction_and_mlflow_prints_nothing(own_store, mlflow_server, capfd):
    server = mlflow_server(f"sqlite:///{own_store}/server.db")
    plans = [planned("erm"), planned("swa")]
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            server.stop()  # the first cell is recorded; the second finds no server

    outcome = fill(plans, report=report)
    assert len(outcome.trained) == 2
    assert len(outcome.unrecorded) == 1
    assert outcome.exit_code == 1
    assert outcome.unrecorded[0].is_dir()
    assert "cannot be used" in outcome.trouble

    server.start()
    again = fill(plans)
    assert (len(again.trained), again.skipped, again.exit_code) == (0, 2, 0)
    assert not outbox.pending()
    cells = {c.title: c for c in tracking.Store().cells()}
    assert cells.keys() == {"ERM", "SWA"}
    (gone,) = server.folder.glob(f"artifacts/*/{cells['SWA'].run_id}/artifacts/cell")
    shutil.rmtree(gone)
    again = fill(plans)
    assert ([c.title for c in again.trained], again.skipped) == (["SWA"], 1)
    assert "".join(capfd.readouterr()) == ""
