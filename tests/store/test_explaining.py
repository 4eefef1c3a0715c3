"""Explanations in MLflow: written where something differs, beside a recording that stays as it was."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import count

import pytest

from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.check import synthetic
from benchmark.store import views
from benchmark.store.artifacts import local_folder
from benchmark.store.cell import Cell
from benchmark.store.describe import EXPLAINED, NOTE
from benchmark.store.explaining import BOARD, Explained, Explanation
from benchmark.store.tracking import Store

CODE = "code"
CHART = "mlflow.sharedViewState.cost"


def cell(text: str) -> Cell:
    problem = synthetic("classification")
    plan = runner.plan(problem, make_method(text, problem.task), [1, 2])
    return next(r for _, r in runner.run([plan], jobs=1) if isinstance(r, Cell))


NUMBERS = count(1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("explained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        patch.chdir(folder)  # artifacts go to ./mlruns
        yield Store()


@pytest.fixture
def recorded(store: Store) -> str:
    """The run of a cell that no other test has."""
    return store.log(cell(f"knn:k={next(NUMBERS)}"))


def experiment_of(store: Store, run: str) -> str:
    return str(store.client.get_run(run).info.experiment_id)


def told(note: str = "It is calm.", value: float = 0.5, content: bytes = b"a,b\n") -> Explanation:
    return Explanation("made from this", note, {"id/delta_churn": value}, {"flips.csv": content})


def test_a_run_gets_its_explanation_beside_a_recording_that_stays_as_it_was(store: Store, recorded: str) -> None:
    before, was = next(store.cells()), store.client.get_run(recorded).data  # the newest is first
    assert Explained(store).explain(recorded, told())
    after, run = next(store.cells()), store.client.get_run(recorded)
    assert (after.key, after.facts, after.title) == (before.key, before.facts, before.title)
    assert (after.predictions["id"].values == before.predictions["id"].values).all()
    assert store.unreadable == []
    assert {name for name in was.tags if was.tags[name] != run.data.tags[name]} == {NOTE, EXPLAINED}
    assert run.data.tags[NOTE] == "It is calm."
    assert {**run.data.metrics} == {**was.metrics, "id/delta_churn": 0.5}
    assert (local_folder(run.info.artifact_uri) / "flips.csv").read_bytes() == b"a,b\n"


def test_what_is_already_there_is_not_written_again(store: Store, recorded: str) -> None:
    assert Explained(store).explain(recorded, told())
    before = store.client.get_metric_history(recorded, "id/delta_churn")
    file = local_folder(store.client.get_run(recorded).info.artifact_uri) / "flips.csv"
    written = file.stat().st_mtime_ns
    assert not Explained(store).explain(recorded, told())
    assert Explained(store).explain(recorded, told("It is calmer."))
    assert store.client.get_metric_history(recorded, "id/delta_churn") == before
    assert file.stat().st_mtime_ns == written
    assert Explained(store).explain(recorded, told("It is calmer.", content=b"c\n"))
    assert file.read_bytes() == b"c\n"


@pytest.mark.parametrize("fast", [3600.0, -3600.0])
def test_the_newest_number_counts_whatever_the_clock_of_the_earlier(
    store: Store, recorded: str, monkeypatch: pytest.MonkeyPatch, fast: float
) -> None:
    true = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: true() + fast)
        Explained(store).explain(recorded, told(value=0.9))
    Explained(store).explain(recorded, told(value=0.1))
    assert store.client.get_run(recorded).data.metrics["id/delta_churn"] == 0.1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_description_that_a_reader_edited_stays_and_everything_else_is_written(
    store: Store, recorded: str, when: str
) -> None:
    if when == "after":
        Explained(store).explain(recorded, told())
    mine = f"{store.client.get_run(recorded).data.tags[NOTE]}\n\nWe deploy this one."
    store.client.set_tag(recorded, NOTE, mine)
    experiment = experiment_of(store, recorded)
    note = store.client.get_experiment(experiment).tags[NOTE]
    store.client.set_experiment_tag(experiment, NOTE, "Ask Ada about these.")
    explained = Explained(store)
    explained.explain(recorded, told("It is calmer.", 0.2))
    explained.describe(experiment, "All methods.", {})
    run = store.client.get_run(recorded)
    assert run.data.tags[NOTE] == mine
    assert run.data.metrics["id/delta_churn"] == 0.2
    assert store.client.get_experiment(experiment).tags[NOTE] == "Ask Ada about these."
    store.client.set_experiment_tag(experiment, NOTE, note)


def test_the_descriptions_of_an_earlier_version_are_replaced(store: Store, recorded: str) -> None:
    experiment = experiment_of(store, recorded)
    store.client.delete_tag(recorded, EXPLAINED)
    earlier = (
        "Cross-sample churn on **Synthetic** (…). `id/churn` compares two retrainings: the mean absolute difference."
    )
    store.client.set_experiment_tag(experiment, NOTE, earlier)
    store.client.delete_experiment_tag(experiment, EXPLAINED)
    explained = Explained(store)
    explained.explain(recorded, told())
    explained.describe(experiment, "All methods.", {})
    assert store.client.get_run(recorded).data.tags[NOTE] == "It is calm."
    assert store.client.get_experiment(experiment).tags[NOTE] == "All methods."


def test_a_description_that_is_too_long_for_mlflow_ends_with_a_whole_line(store: Store, recorded: str) -> None:
    explained, experiment = Explained(store), experiment_of(store, recorded)
    explained.explain(recorded, told("a line\n" * 3000))
    explained.describe(experiment, "a line\n" * 3000, {})
    for note in store.client.get_run(recorded).data.tags[NOTE], store.client.get_experiment(experiment).tags[NOTE]:
        assert note.endswith("a line\n\n…")


@pytest.mark.parametrize("text", ["", "null", "[]", "7", "not json", '{"files": 3}', '{"note": []}'])
def test_a_wrong_tag_counts_as_none(store: Store, recorded: str, text: str) -> None:
    store.client.set_tag(recorded, EXPLAINED, text)
    assert Explained(store).explain(recorded, told())
    assert store.client.get_run(recorded).data.metrics["id/delta_churn"] == 0.5


def test_an_experiment_is_pending_until_it_is_finished_and_again_after_each_new_cell(
    store: Store, recorded: str
) -> None:
    experiment = experiment_of(store, recorded)
    assert Explained(store).pending() == Explained(store).pending(CODE) == {experiment}
    Explained(store).finish(experiment, CODE)
    assert not Explained(store).pending()
    assert not Explained(store).pending(CODE)
    assert Explained(store).pending("other code") == {experiment}
    marked = cell(f"knn:k={next(NUMBERS)}").with_facts(study="members")
    store.log(marked)
    assert Explained(store).pending() == {experiment}
    Explained(store).finish(experiment, CODE)
    store.adopt({marked.key.digest})
    assert Explained(store).pending() == {experiment}, "the cell of a study is on the board from now on"


def test_datasets_restrict_what_is_looked_at(store: Store, recorded: str) -> None:
    name = next(store.cells()).key.dataset
    assert recorded in Explained(store, [name]).runs
    assert not Explained(store, ["another"]).runs
    assert next(store.cells(datasets=[name])).run_id == recorded
    assert not list(store.cells(datasets=["another"]))


def test_a_method_keeps_its_run_on_the_board_and_one_that_is_gone_loses_it(store: Store, recorded: str) -> None:
    def board(**methods: float) -> dict[str, tuple[str, float]]:
        explained = Explained(store)
        rows = {title: Explanation(CODE, f"**{title}**", {"rank": rank}, {}) for title, rank in methods.items()}
        experiment = explained.write_board("halves", CODE, "All methods.", {CHART: "{}"}, rows)
        assert store.client.get_experiment(experiment).name == f"{BOARD}/halves"
        assert Explained(store).board_is_current(CODE)
        assert not Explained(store).board_is_current("other code")
        runs = store.client.search_runs([experiment])
        assert {run.info.status for run in runs} == {"FINISHED"}
        return {run.info.run_name: (run.info.run_id, run.data.metrics["rank"]) for run in runs}

    assert not Explained(store).board_is_current(CODE)
    cells, statuses = [one.run_id for one in store.cells()], store.statuses()
    first = board(ERM=2, Twin=1)
    second = board(ERM=1, Bagging=2)
    assert set(second) == {"ERM", "Bagging"}
    assert second["ERM"] == (first["ERM"][0], 1)
    assert [one.run_id for one in store.cells()] == cells, "nothing on the board is taken for a cell"
    assert store.statuses() == statuses
    assert (store.failures(), store.records(), store.unreadable) == ([], [], [])


def test_saved_views_hold_what_the_ui_reads(store: Store, recorded: str) -> None:
    tags = views.of_cells("classification", ["id", "ood"])
    assert set(tags) == {"mlflow.sharedViewState.churn", CHART}
    assert store.client.get_experiment(experiment_of(store, recorded)).tags.items() >= tags.items()
    for text in tags.values():
        envelope = json.loads(text)
        state = json.loads(envelope["state"])
        assert envelope["name"]
        assert state["orderByKey"] == "metrics.`id/churn`"
    kinds = {chart["type"] for chart in state["compareRunCharts"]}
    assert kinds == {"BAR", "SCATTER"}
    sections = {section["uuid"] for section in state["compareRunSections"]}
    assert {chart["metricSectionId"] for chart in state["compareRunCharts"]} <= sections


def test_addresses_lead_to_the_pages_of_models() -> None:
    assert views.address("3", "abc") == "#/experiments/3/runs/abc?workflowType=machine_learning"
    assert views.address("3", view="cost", charts=True).endswith("&viewStateShareKey=cost&compareRunsMode=CHART")
