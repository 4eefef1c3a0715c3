"""Contents of MLflow after a run, read back through MLflow."""

import gc
import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.tracking import MlflowClient
from sqlalchemy import event
from sqlalchemy.engine import Engine

from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run import driver, runner
from benchmark.run.check import synthetic
from benchmark.run.runner import Planned
from benchmark.store import artifacts, describe, opening, outbox, tracking
from benchmark.store.cell import Cell, Record, digest
from leaderboard import site
from leaderboard.read.stored import read


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db"


@pytest.fixture
def store(database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tracking.Store:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", database)
    monkeypatch.chdir(tmp_path)  # artifacts go to ./mlruns
    monkeypatch.setenv("CHURN_OUTBOX", str(tmp_path / "outbox"))
    return tracking.Store()


def planned(text: str, seeds: list[int]) -> Planned:
    problem = synthetic("classification")
    return runner.plan(problem, make_method(text, problem.task), seeds)


def cell(text: str, seeds: list[int]) -> Cell:
    return next(r for _, r in runner.run([planned(text, seeds)], jobs=1) if isinstance(r, Cell))


def silent(_: object) -> None: ...


def fill(cells: list[Planned], force: bool = False) -> driver.Tally:
    return driver.fill(cells, force=force, jobs=1, report=silent, trained=silent)


def test_a_cell_comes_back_from_the_store_as_it_went_in(store: tracking.Store) -> None:
    one = cell("erm", [1, 2, 3])
    run_id = store.log(one)
    back = next(c for c in store.cells() if c.run_id == run_id)
    assert (back.key, back.key.digest, back.facts) == (one.key, one.key.digest, one.facts)
    for evalset in ("id", "ood"):
        for name in ("values", "y", "ids"):
            assert np.array_equal(getattr(back.predictions[evalset], name), getattr(one.predictions[evalset], name))


def test_halves_have_an_experiment_of_their_own_and_a_run_is_compared_with_its_other_half(
    store: tracking.Store,
) -> None:
    paper = cell("erm", [1, 2, 3, 4])
    plan = planned("erm", [1, 2, 3, 4])
    plan = replace(plan, key=replace(plan.key, sampling="halves"))
    one = next(r for _, r in runner.run([plan], jobs=1) if isinstance(r, Cell))
    runs = [MlflowClient().get_run(store.log(each)) for each in (paper, one)]
    names = [MlflowClient().get_experiment(run.info.experiment_id).name for run in runs]
    assert names == [f"churn/{paper.key.dataset}", f"churn/{paper.key.dataset}/halves"]
    assert runs[1].data.params["sampling"] == "halves"
    classes = one.predictions["id"].values.argmax(-1)
    apart = [(classes[i] != classes[i + 1]).mean() for i in (0, 2)]
    assert runs[1].data.metrics["id/churn"] == pytest.approx(np.mean(apart))
    nested = MlflowClient().search_runs([runs[1].info.experiment_id], "tags.`churn.kind` = 'seed'")
    churn = {int(run.data.tags["churn.train_seed"]): run.data.metrics["id/churn"] for run in nested}
    assert churn == pytest.approx({1: apart[0], 2: apart[0], 3: apart[1], 4: apart[1]})
    back = next(c for c in store.cells() if c.run_id == runs[1].info.run_id)
    assert (back.key, back.predictions["id"].sampling) == (one.key, "halves")


def test_the_run_of_a_cell_describes_it(store: tracking.Store) -> None:
    store.log(cell("erm", [1, 2]))
    one = cell("twin:lam=30", [1, 2])
    run = MlflowClient().get_run(store.log(one))
    assert run.info.run_name == "Twin-bootstrap λ=30 · split 0"
    assert run.info.status == "FINISHED"
    assert run.data.params["lam"] == "30.0"
    quality = {"id/accuracy", "id/balanced_accuracy", "id/auroc"}
    delta = {"id/delta_churn"}  # of two retrainings, without an interval
    assert set(run.data.metrics) == {"id/churn", *delta, *quality, "fit_seconds", "compute_vs_erm"}
    values = one.predictions["id"].values.argmax(-1)
    assert run.data.metrics["id/churn"] == pytest.approx((values[0] != values[1]).mean())
    tags = run.data.tags
    assert tags["command"].startswith("churn run --method twin:lam=30.0")
    data = run.inputs.dataset_inputs[0].dataset
    assert (data.name, data.digest) == (one.facts.dataset.title or one.key.dataset, one.key.problem)
    assert json.loads(data.profile)["num_rows"] == one.facts.rows["train"]


def test_the_run_of_mlflow_run_has_a_name_and_links_to_its_cells(
    store: tracking.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = store.client.create_run("0", run_name="abundant-ant-1").info.run_id  # as mlflow run does
    monkeypatch.setenv("MLFLOW_RUN_ID", launcher)
    one = cell("knn", [1, 2])
    run = store.client.get_run(store.log(one))
    store.describe_launch("k-NN on synthetic", ["1 cell trained."], [one.key])
    launched = store.client.get_run(launcher)
    assert launched.info.run_name == "k-NN on synthetic"
    path = f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}?workflowType=machine_learning"
    assert f"- [{run.info.run_name}]({path})" in launched.data.tags["mlflow.note.content"]
    assert run.data.tags["churn.launched_by"] == launcher


def test_each_retraining_is_a_nested_run_with_its_metrics_and_predictions(store: tracking.Store) -> None:
    one = cell("erm", [4, 9])
    parent = MlflowClient().get_run(store.log(one))
    query = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
    children = MlflowClient().search_runs([parent.info.experiment_id], query)
    assert sorted(child.info.run_name for child in children) == ["train seed 4", "train seed 9"]
    for child in children:
        folder = Path(child.info.artifact_uri.removeprefix("file://")) / "predictions"
        table = pd.read_parquet(folder / "id.parquet")
        assert table.columns.tolist() == ["example_id", "y_true", "p0", "p1"]
        assert len(table) == 50
        accuracy = (table[["p0", "p1"]].to_numpy().argmax(1) == table["y_true"]).mean()
        assert child.data.metrics["id/accuracy"] == pytest.approx(accuracy)
        assert (folder / "ood.parquet").is_file()
        about = {"method": "erm", "canonical_seed": "0", "sampling": "paper"}
        assert child.data.params == {**about, "train_seed": child.data.tags["churn.train_seed"]}


def test_a_finished_cell_is_skipped_and_force_replaces_it(store: tracking.Store) -> None:
    plan = planned("erm", [1, 5])
    assert len(fill([plan]).trained) == 1
    again = fill([plan])
    assert (len(again.trained), again.skipped, again.exit_code) == (0, 1, 0)
    assert len(fill([plan], force=True).trained) == 1
    assert [c.key.digest for c in store.cells()].count(plan.key.digest) == 1


def test_a_cell_left_half_recorded_is_recorded_once_and_whole(store: tracking.Store) -> None:
    one = cell("swa", [1, 2])
    experiment = store._experiment(one)
    store._start(experiment, describe.tags(one), "interrupted", one.facts.wall_seconds)
    assert store.statuses()[one.key.digest] == "RUNNING"
    store.log(one)
    assert store.statuses()[one.key.digest] == "FINISHED"
    assert len(store._find(experiment, one.key.digest, "cell")) == 1


HOUR = 3600.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of the machine fast by some seconds."""
    true = time.time
    return lambda seconds: monkeypatch.setattr(time, "time", lambda: true() + seconds)


@pytest.mark.parametrize("fast", [HOUR, -HOUR])
def test_a_later_recording_counts_even_if_the_clock_of_the_earlier_was_wrong(
    store: tracking.Store, clock: Callable[[float], None], fast: float
) -> None:
    one = cell("swa", [3, 4])
    clock(fast)
    store.log(one)
    clock(0)
    forced = store.log(one)
    assert [c.run_id for c in store.cells() if c.key.digest == one.key.digest] == [forced]
    older = replace(one, key=replace(one.key, code="0" * 16))
    clock(fast)
    store.log(older)
    clock(0)
    store.log(one)
    codes = [c.key.code for c in store.cells() if c.key == replace(one.key, code=c.key.code)]
    assert codes == [one.key.code, older.key.code]


def test_an_attempt_that_died_on_a_machine_with_a_fast_clock_is_removed(
    store: tracking.Store, clock: Callable[[float], None]
) -> None:
    one = cell("swa", [5, 6])
    experiment = store._experiment(one)
    clock(HOUR)
    store._start(experiment, describe.tags(one), "interrupted")
    clock(0)
    recorded = store.log(one)
    assert [run.info.run_id for run in store._find(experiment, one.key.digest, "cell")] == [recorded]


def test_a_recording_that_an_older_one_removes_is_made_again(
    store: tracking.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cell("swa", [7, 8])
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


def test_a_recording_whose_result_another_driver_removes_is_made_again(
    store: tracking.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cell("swa", [9, 10])
    whole, runs = tracking.Store._log_whole, []

    def removed(self: tracking.Store, experiment: str, run: str, *arguments: Any) -> None:
        whole(self, experiment, run, *arguments)
        runs.append(run)
        if len(runs) == 1:  # as by a driver that saw it in progress and finished before
            self.client.delete_run(run)

    monkeypatch.setattr(tracking.Store, "_log_whole", removed)
    assert store.log(one) == runs[1]
    assert [c.run_id for c in store.cells() if c.key.digest == one.key.digest] == [runs[1]]


def test_a_record_of_a_study_replaces_older_ones_and_what_was_left_of_them_whatever_the_clock(
    store: tracking.Store, clock: Callable[[float], None]
) -> None:
    clock(HOUR)
    store.log_record(Record("clocks", "answer", "0" * 16, {"number": 1}))
    experiment = store.client.get_experiment_by_name(tracking.STUDIES).experiment_id
    store._start(experiment, {"churn.study": "clocks", "churn.key": "answer"}, "interrupted")
    clock(0)
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


def test_a_failed_cell_is_recorded_with_its_traceback_and_tried_again(store: tracking.Store) -> None:
    plan = planned("deep_ensemble:k=2", [1, 2])
    driver._record_failure(store, runner.Failed(plan, "Traceback: the reason"), driver.Tally())
    assert store.statuses()[plan.key.digest] == "FAILED"
    run = store._find(store._experiment(cell("erm", [1, 2])), plan.key.digest)[0]
    assert "the reason" in run.data.tags["mlflow.note.content"]
    assert [f.path for f in MlflowClient().list_artifacts(run.info.run_id)] == ["traceback.txt"]
    assert len(fill([plan]).trained) == 1
    assert store.statuses()[plan.key.digest] == "FINISHED"


def test_a_failure_never_removes_a_finished_result(store: tracking.Store) -> None:
    plan = planned("bagging:k=2", [3, 4])
    assert len(fill([plan]).trained) == 1
    driver._record_failure(store, runner.Failed(plan, "Traceback: later"), driver.Tally())
    assert store.statuses()[plan.key.digest] == "FINISHED"
    assert plan.key.digest in [c.key.digest for c in store.cells()]


def test_a_damaged_run_is_named_and_the_others_are_read(store: tracking.Store) -> None:
    good, bad = cell("erm", [6, 7]), cell("swa", [6, 7])
    store.log(good)
    run = MlflowClient().get_run(store.log(bad))
    child = store._search([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")[0]
    (Path(child.info.artifact_uri.removeprefix("file://")) / "predictions" / "id.parquet").write_bytes(b"rubbish")
    digests = [c.key.digest for c in store.cells()]
    assert good.key.digest in digests
    assert bad.key.digest not in digests
    assert any(run.info.run_id in line for line in store.unreadable)


def test_a_run_whose_predictions_were_deleted_is_named_with_the_remedy(store: tracking.Store) -> None:
    gone = cell("erm", [8, 9])
    run = MlflowClient().get_run(store.log(gone))
    for child in store._search([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run.info.run_id}'"):
        shutil.rmtree(Path(child.info.artifact_uri.removeprefix("file://")) / "predictions")
    assert gone.key.digest not in [c.key.digest for c in store.cells()]
    assert any(run.info.run_id in line and "train the cell again with --force" in line for line in store.unreadable)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[tracking.Store, list[str]]]:
    """A store with two cells, and their run ids."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        store = tracking.Store()
        yield store, [store.log(cell(text, [1, 2])) for text in ("random_forest:trees=2", "random_forest:trees=3")]


def read_again(store: tracking.Store) -> tuple[list[str], list[str]]:
    """Return the run ids of the cells that can be read, and the lines about the others."""
    again = tracking.Store(store.uri)
    return sorted(one.run_id for one in again.cells()), again.unreadable


WRONG = ["", "null", "[]", "{}", "7", '"x"', "not json", "NaN", "[" * 3000, "9" * 5000, "../../../X", "\x00", "é" * 300]


@pytest.mark.parametrize("tag", ["churn.key", "churn.facts", "churn.title", "churn.cell", "churn.kind", "churn.sha256"])
def test_a_wrong_or_missing_tag_leaves_out_its_cell_by_name_and_no_other(
    recorded: tuple[tracking.Store, list[str]], tag: str
) -> None:
    store, (edited, other) = recorded
    tagged = edited
    if tag == "churn.sha256":
        tagged = store._search(["1"], f"tags.`mlflow.parentRunId` = '{edited}'")[0].info.run_id
    before = store.client.get_run(tagged).data.tags[tag]
    wrong = WRONG if tag != "churn.title" else ["", "\x00", "a\nb", "x" * 5000]
    try:
        for text in wrong:
            store.client.set_tag(tagged, tag, text)
            found, lines = read_again(store)
            assert found == [other], text
            assert any(edited in line and "is left out because it cannot be read" in line for line in lines)
            assert store.statuses()
            store.failures()
        store.client.delete_tag(tagged, tag)
        found, lines = read_again(store)
        assert found == ([other] if tag != "churn.sha256" else sorted([edited, other]))
        assert len(lines) == 1
    finally:
        store.client.set_tag(tagged, tag, before)
    assert read_again(store) == (sorted([edited, other]), [])


def test_a_key_edited_to_name_another_place_is_left_out_and_nothing_is_written_there(
    recorded: tuple[tracking.Store, list[str]], tmp_path: Path
) -> None:
    store, (edited, other) = recorded
    before = store.client.get_run(edited).data.tags
    for dataset, reason in (("../../../X", "dataset: String should match"), ("esol", "it was changed: its digest is")):
        key = json.loads(before["churn.key"]) | {"dataset": dataset}
        try:
            store.client.set_tag(edited, "churn.key", json.dumps(key))
            if dataset != "esol":  # the digest, which is no secret, may be edited too
                store.client.set_tag(edited, "churn.cell", digest(key))
            found, (line,) = read_again(store)
            assert found == [other]
            assert reason in line
            results, health = read(store.uri)
            site.write(results, tmp_path / "a" / "b" / "c" / "site", "runs", health)
            assert [path.name for path in tmp_path.iterdir()] == ["a"]
        finally:
            store.client.set_tag(edited, "churn.key", before["churn.key"])
            store.client.set_tag(edited, "churn.cell", before["churn.cell"])


def test_no_flipped_bit_of_a_stored_file_is_read(recorded: tuple[tracking.Store, list[str]]) -> None:
    store, (damaged, other) = recorded
    children = store._search(["1"], f"tags.`mlflow.parentRunId` = '{damaged}'")
    folders = [Path(child.info.artifact_uri.removeprefix("file://")) / "predictions" for child in children]
    files = [path for folder in folders for path in folder.iterdir()]
    assert len(files) == 4
    rng = np.random.default_rng(0)
    for path in files:
        whole = path.read_bytes()
        try:
            for place in rng.choice(len(whole), 8, replace=False):
                flipped = bytearray(whole)
                flipped[place] ^= 1 << int(rng.integers(8))
                path.write_bytes(flipped)
                found, (line,) = read_again(store)
                assert found == [other]
                assert f"predictions/{path.name} was changed after it was written" in line
        finally:
            path.write_bytes(whole)
    assert read_again(store) == (sorted([damaged, other]), [])


def test_runs_without_checksums_are_read_and_counted(recorded: tuple[tracking.Store, list[str]]) -> None:
    store, runs = recorded
    children = store._search(["1"], f"tags.`mlflow.parentRunId` = '{runs[0]}'")
    try:
        for child in children:  # as recorded by an earlier version
            store.client.delete_tag(child.info.run_id, artifacts.SUMS)
        found, (line,) = read_again(store)
        assert found == sorted(runs)
        assert "recorded by an earlier version, without checksums: 1." in line
    finally:
        for child in children:
            store.client.set_tag(child.info.run_id, artifacts.SUMS, child.data.tags[artifacts.SUMS])


def test_a_report_that_was_changed_is_left_out_by_name(store: tracking.Store) -> None:
    run = MlflowClient().get_run(store.log(replace(cell("erm", [1, 7]), reports={"groups.csv": "id,group\na,b\n"})))
    assert store.report(run.info.run_id, "groups.csv") == "id,group\na,b\n"
    (Path(run.info.artifact_uri.removeprefix("file://")) / "groups.csv").write_text("id,group\na,c\n")
    assert store.report(run.info.run_id, "groups.csv") == ""
    assert "groups.csv was changed after it was written" in store.unreadable[-1]


def test_a_cell_waiting_on_disk_is_recorded_without_training(store: tracking.Store, tmp_path: Path) -> None:
    one = cell("bagging:k=3", [1, 2])
    path = outbox.save(one)
    outcome = fill([planned("bagging:k=3", [1, 2])])
    assert (len(outcome.trained), outcome.skipped) == (0, 1)
    assert not path.exists()
    assert store.statuses()[one.key.digest] == "FINISHED"


def test_a_damaged_cell_on_disk_is_named_and_kept(store: tracking.Store) -> None:
    path = outbox.save(cell("erm", [2, 3]))
    (path / "id.parquet").write_bytes(b"not parquet")
    with pytest.raises(UserError, match=str(path)):
        fill([planned("erm", [2, 3])])
    assert path.exists()


@pytest.mark.slow
def test_the_queries_of_a_recording_and_of_a_status_do_not_grow_with_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    store, number = tracking.Store(), []

    def count(*_: object) -> None:
        number.append(1)

    def queries(work: Callable[[], object]) -> int:
        number.clear()
        work()
        return len(number)

    made = [cell(f"knn:k={k}", [1, 2]) for k in range(1, 8)]
    event.listen(Engine, "before_cursor_execute", count)
    try:
        store.log(made[0])
        one = queries(lambda: store.log(made[1])), queries(store.statuses)
        for other in made[2:6]:
            store.log(other)
        assert (queries(lambda: store.log(made[6])), queries(store.statuses)) == one
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert gc.isenabled()
    assert len(store.statuses()) == 7


def test_sqlite_does_not_compare_each_run_with_each_metric_to_sort_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("CHURN_OUTBOX", str(tmp_path / "outbox"))
    fill([planned("knn:k=1", [1, 2])])
    store = tracking.Store()
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:  # a thousand more runs with the same metrics
        for table in ("runs", "latest_metrics"):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            values = ", ".join("run_uuid || i" if column == "run_uuid" else column for column in columns)
            numbers = "WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 400)"
            database.execute(
                f"{numbers} INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table}, numbers"
            )
        database.commit()
    assert len(fill([planned("knn:k=2", [1, 2])]).trained) == 1

    asked: list[tuple[str, Any]] = []

    def keep(_: object, __: object, statement: str, parameters: Any, *rest: object) -> None:
        asked.append((statement, parameters))

    (experiment, *_) = store.client.search_experiments()
    event.listen(Engine, "before_cursor_execute", keep)
    try:
        store.client.search_runs([experiment.experiment_id], max_results=1, order_by=["metrics.`id/churn` ASC"])
    finally:
        event.remove(Engine, "before_cursor_execute", keep)
    ((statement, parameters),) = [one for one in asked if "ORDER BY" in one[0] and "latest_metrics" in one[0]]
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:
        steps = [row[-1] for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    assert any(step.startswith("SEARCH anon_1") for step in steps), steps


@pytest.fixture
def server(mlflow_server: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CHURN_OUTBOX", str(tmp_path / "outbox"))
    return mlflow_server(f"sqlite:///{tmp_path}/server.db")


@pytest.mark.long
@pytest.mark.slow
def test_a_server_that_goes_away_costs_no_prediction(server: Any) -> None:
    plans = [planned("erm", [1, 2]), planned("swa", [1, 2])]
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            server.stop()  # the first cell is recorded; the second finds no server

    outcome = driver.fill(plans, force=False, jobs=1, report=report, trained=silent)
    assert len(outcome.trained) == 2
    assert len(outcome.unrecorded) == 1
    assert outcome.exit_code == 1
    assert outcome.unrecorded[0].is_dir()
    assert "cannot be used" in outcome.trouble

    server.start()
    again = fill(plans)
    assert (len(again.trained), again.skipped, again.exit_code) == (0, 2, 0)
    assert not outbox.pending()
    assert {c.title for c in tracking.Store().cells()} == {"ERM", "SWA"}


def test_erm_on_other_features_is_logged_with_them_and_is_not_the_reference(store: tracking.Store) -> None:
    problem, erm, other = "1" * 16, cell("erm", [2, 8]), cell("swa", [2, 8])
    changed = replace(erm, key=replace(erm.key, problem=problem, features="atom_pairs.64"), fit_seconds=4.0)
    run = MlflowClient().get_run(store.log(changed))
    assert run.data.params["features"] == "atom_pairs.64"
    assert "compute_vs_erm" not in run.data.metrics, "there is no reference yet"
    store.log(replace(erm, key=replace(erm.key, problem=problem), fit_seconds=1.0))
    run = MlflowClient().get_run(store.log(replace(other, key=replace(other.key, problem=problem), fit_seconds=3.0)))
    assert run.data.metrics["compute_vs_erm"] == 3.0
