"""Every study by its command, on a hundred molecules: what it trains and keeps, and what its pages say."""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmark.__main__ import app as benchmark_app
from benchmark.commands import train as commands
from benchmark.data.spec import load_spec
from benchmark.errors import UserError
from benchmark.learners.knn import KNN
from benchmark.pipeline import Learner, Pipeline, Remedy, describe
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.store import artifacts, tracking
from benchmark.studies import discover, knobs, make_study, members, overlap, weight_decay
from benchmark.study import selection
from benchmark.study.context import REPORT
from benchmark.study.report import Report
from benchmark.study.training import LocalTrainer, TrainingContext
from benchmark.train.device import CPU
from benchmark.types import Model, Problem, Sample
from leaderboard.__main__ import app as leaderboard_app
from leaderboard.figures import charts
from leaderboard.read import published
from leaderboard.read.results import Results
from leaderboard.read.stored import read
from leaderboard.tables import studies
from leaderboard.write.formats import to_csv
from leaderboard.write.published import write as write_published

pytestmark = pytest.mark.slow

SMALL = "b3db_measured@batch_size=16@epochs=1@hidden=16@lr=0.01"
TINY = f"{SMALL}@train=100"
USUAL = {"dataset": TINY, "seeds": "3"}
OTHER = TINY.replace("b3db_measured", "dili")
FAMILIES = {"dataset": f"{TINY},{OTHER}", "seeds": "4", "sampling": "paper", "methods": "knn"}
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "bayes-lambda": {**USUAL, "tuned": "1,3", "trials": "6", "folds": "2"},
    "bo-loop": {"dataset": "esol", "methods": "erm bagging:k=2", "trajectories": "3", "initial": "10", "budget": "2"},
    "access": {**USUAL, "methods": "bagging:k=2 twin:lam=300"},
    "decomposition": {**USUAL, "levels": "1"},
    "flip-rows": {"dataset": TINY, "halvings": "8"},
    "frontier": FAMILIES,
    "knobs": {"dataset": TINY, "seeds": "4"},
    "label-floor": {"dataset": TINY, "seeds": "4"},
    "updates": {"dataset": SMALL, "seeds": "4", "cuts": "1", "methods": "average_incumbent knn"},
    "n-scaling": {"dataset": SMALL, "seeds": "3", "sizes": "50-100"},
    "n-scaling-disjoint": {"dataset": TINY, "methods": "erm", "halvings": "3"},
    "overlap": {**USUAL, "knob": TINY},
    "remedies": FAMILIES,
    "representations": {"dataset": TINY, "seeds": "4", "methods": "knn", "representations": "atom_pairs.64"},
    "transfer": {**USUAL, "sampling": "paper", "method": "knn"},
}


def settings_of(name: str) -> Mapping[str, str]:
    return SETTINGS.get(name, USUAL)


def run(*words: str, app: Any = benchmark_app) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit) as stop:
        app(list(words))
    return int(stop.value.code or 0), printed.getvalue()


def later(words: list[str], check: bool) -> SimpleNamespace:
    """In the place of ``subprocess.run``: what the leaderboard says of all studies is asked at the end, at once."""
    assert words[:4] == [sys.executable, "-m", "leaderboard", "study"]
    return SimpleNamespace(returncode=0)


def study(name: str, settings: Mapping[str, str]) -> tuple[int, str]:
    """``churn study``."""
    options = [word for setting in settings.items() for word in ("--set", "=".join(setting))]
    return run("study", name, *options, "--jobs", "1")


@dataclass(frozen=True)
class Ran:
    """All studies that were run, what the leaderboard says of each, its site, and what the store then held."""

    names: list[str]
    printed: Mapping[str, str]
    site: Path
    results: Results

    def rendered(self, name: str) -> studies.Rendered:
        if name not in self.names:
            pytest.skip("no folder of raw data: set CHURN_DATA_DIR to run this study")
        (one,) = studies.rendered(self.results, name)[0]
        return one


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """All studies, in a store of their own, and the site of it."""
    folder = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
        patch.setenv("CHURN_OUTBOX", str(folder / "outbox"))
        patch.setenv("COLUMNS", "200")
        patch.chdir(folder)  # artifacts go to ./mlruns
        patch.setattr(commands, "subprocess", SimpleNamespace(run=later))
        patch.setattr(KNN, "grid", KNN.grid[4:8])
        patch.setattr(knobs, "KNOBS", (("knn", "k", (1, 5)),))
        patch.setattr(knobs, "LAMBDAS", {"classification": (3, 300)})
        patch.setattr(knobs, "COUPLED", ("twin",))
        patch.setattr(members, "MEMBERS", (3,))
        patch.setattr(selection, "LAMBDAS", {"classification": (10, 300)})
        patch.setattr(weight_decay, "DECAYS", (1e-5, 1e-1))
        patch.setattr(overlap, "SHARES", (0, 1))
        names = [
            name
            for name in discover()
            if name not in ("bo-loop", "frontier", "remedies") or "CHURN_DATA_DIR" in os.environ
        ]
        for name in names:
            code, said = study(name, settings_of(name))
            assert code == 0, said
        code, said = run("run", "--method", "erm", "--dataset", TINY, "--seeds", "4", "--jobs", "1")
        assert code == 0, said  # further retrainings of a cell that studies have: their reports must not change
        found = read()
        with pytest.MonkeyPatch.context() as once:
            once.setattr("leaderboard.read.stored.read", lambda store, among_published=False: found)
            printed = {name: run("study", name, app=leaderboard_app)[1] for name in names}
            code, said = run("build", "--out", "site", app=leaderboard_app)
            assert code == 0, said
        yield Ran(names, printed, folder / "site", found[0])


def context_of(name: str, said: list[str], jobs: int = 1) -> TrainingContext:
    return TrainingContext(make_study(name, settings_of(name)), jobs, CPU, said.append)


def shown(one: studies.Rendered, report: Report) -> list[str]:
    """The answer, all tables and the points of all charts of a report."""
    tables = (to_csv(studies.table(one, sheet)) for sheet in report.sheets)
    return [*report.answer, *tables, *(repr(charts.drawing(chart.key, chart).given) for chart in report.charts)]


@pytest.mark.parametrize("name", discover())
def test_a_study_answers_and_its_page_and_files_exist(ran: Ran, name: str) -> None:
    one = ran.rendered(name)
    page = (ran.site / "studies" / f"{one.slug}.html").read_text(encoding="utf-8")
    index = (ran.site / "studies.html").read_text(encoding="utf-8")
    assert f"studies/{one.slug}.html" in index
    assert "studies.html" in (ran.site / "index.html").read_text(encoding="utf-8")
    for line in one.report.answer:
        assert line in ran.printed[name]
        assert line in unescape(page).replace("\u00a0", " ")
    for sheet in one.report.sheets:
        assert sheet.title.replace("'", "&#39;") in page
        for suffix in ("csv", "tex", "json"):
            text = (ran.site / "tables" / f"study-{one.slug}-{sheet.key}.{suffix}").read_text(encoding="utf-8")
            assert len(text.splitlines()) > 1
        shown = ran.printed[name]
        assert all(str(row[0]) in shown for row in sheet.rows)
    for chart in one.report.charts:
        for suffix in ("svg", "pdf"):
            assert (ran.site / "figures" / f"study-{one.slug}-{chart.key}.{suffix}").stat().st_size > 1000
    assert page.count("<svg") >= len(one.report.charts)


@pytest.mark.parametrize("name", discover())
def test_asked_again_a_study_trains_nothing_and_both_contexts_give_one_report(ran: Ran, name: str) -> None:
    one, said = ran.rendered(name), []
    trainer = context_of(name, said)
    report = trainer.study.report(trainer)
    trainer.finish(report)
    assert said == [], "what is trained, or computed for a record, is said"
    assert [(record.study, record.key) for record in trainer.store.records()].count((name, REPORT)) == 1
    assert shown(one, one.report) == shown(one, report)


@pytest.mark.parametrize("name", discover())
def test_the_command_on_a_studys_page_is_the_one_that_made_it(ran: Ran, name: str) -> None:
    words = shlex.split(ran.rendered(name).command)
    assert words[:3] == ["churn", "study", name]
    asked = []

    def stop(made: Any, *_: Any) -> TrainingContext:
        asked.append(made)
        raise UserError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmark.study.training.TrainingContext", stop)
        assert run(*words[1:])[0] == 2
    assert asked == [make_study(name, settings_of(name))]


def test_every_run_of_a_study_is_listed_by_its_command(ran: Ran) -> None:
    code, said = run("study")
    assert code == 0
    for name, cls in discover().items():
        assert name in said
        assert cls.title.split()[0] in said


# What belongs to a study, and what to the boards


def test_cells_of_a_study_are_on_no_board_until_a_run_asks_for_them(ran: Ran) -> None:
    name = load_spec(TINY).name

    title = "Twin-bootstrap λ=10"
    assert title not in {entry.title for entry in ran.results.dataset(name).entries}
    assert title in {cell.title for cell in ran.results.of_studies if cell.key.dataset == name}
    assert title not in (ran.site / "datasets" / f"{name}.html").read_text(encoding="utf-8")
    code, said = run("run", "--method", "twin:lam=10", "--dataset", TINY, "--seeds", "3", "--jobs", "1")
    assert code == 0
    assert "0 cells trained, 1 already recorded" in said
    found, _ = read()
    assert title in {entry.title for entry in found.dataset(name).entries}
    assert title not in {cell.title for cell in found.of_studies if cell.key.dataset == name}
    again, one = studies.rendered(found, "lambda-rule")[0][0], ran.rendered("lambda-rule")
    assert shown(again, again.report) == shown(one, one.report)


def test_studies_from_predictions_put_their_cells_on_the_boards(ran: Ran) -> None:
    dataset = ran.results.dataset(load_spec(TINY).name)
    assert dataset is not None
    assert {"ERM", "Bagging K=5", "Twin-bootstrap λ=300"} <= {entry.title for entry in dataset.entries}


def test_what_is_exported_and_gathered_again_gives_the_same_reports_and_the_same_boards(ran, tmp_path):
    before = ran.results
    write_published(before, tmp_path / "kept")
    after = published.gather(tmp_path / "kept")
    assert sorted(map(repr, after.records)) == sorted(map(repr, before.records))
    assert {(c.key.dataset, c.title) for c in after.of_studies} == {(c.key.dataset, c.title) for c in before.of_studies}
    assert all(cell.facts.study in ran.names for cell in after.of_studies)
    for one, other in zip(before.datasets, after.datasets, strict=True):
        assert (one.name, [e.title for e in one.entries]) == (other.name, [e.title for e in other.entries])
    read_again, troubles = studies.rendered(after)
    assert troubles == []
    for one, other in zip(studies.rendered(before)[0], read_again, strict=True):
        assert one.title == other.title
        for a, b in zip(one.report.sheets, other.report.sheets, strict=True):
            csv, again = (to_csv(studies.table(x, s)) for x, s in ((one, a), (other, b)))
            assert [line.split(",")[:2] for line in csv.splitlines()] == [
                line.split(",")[:2] for line in again.splitlines()
            ]
    code, said = run("study", "decomposition", "--store", str(tmp_path / "kept"), app=leaderboard_app)
    assert code == 0
    assert "batch order" in said


def record_file(ran: Ran, key: str) -> Path:
    store = tracking.Store()
    experiment = store.client.get_experiment_by_name(tracking.STUDIES)
    found = store._search([experiment.experiment_id], f"tags.`churn.key` = '{key}'")
    (run_,) = [run_ for run_ in found if run_.data.tags["churn.study"] == "similarity"]
    with artifacts.local_folder(run_.info.artifact_uri) as folder:
        return folder / "record.json"


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_a_damaged_record_is_named_and_its_study_left_out_while_the_others_are_shown(ran: Ran, harm: str) -> None:
    file = record_file(ran, f"{TINY}, split 99")
    whole = file.read_bytes()
    try:
        if harm == "gone":
            file.unlink()
        else:
            file.write_bytes(whole[: len(whole) // 2])
        found, _ = read()
        assert any("similarity" in line and "cannot be read" in line for line in found.unreadable)
        others, troubles = studies.rendered(found)
        assert [one.study.name for one in others] == [name for name in ran.names if name != "similarity"]
        missing = f"the record '{TINY}, split 99' is missing"
        assert troubles == [f"study similarity is left out because {missing}: run it again"]
        with pytest.MonkeyPatch.context() as once:
            once.setattr("leaderboard.read.stored.read", lambda store, among_published=False: (found, {}))
            code, said = run("study", "similarity", app=leaderboard_app)
        assert code == 2
        assert "cannot be read" in said
        assert "churn study similarity" in said
    finally:
        file.write_bytes(whole)


# Mistakes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lambda-rul"], "unknown study 'lambda-rul': did you mean 'lambda-rule'"),
        (["lambda-rule", "--set", "datset=bace"], "unknown setting of lambda-rule: 'datset': did you mean 'dataset'?"),
        (["bo-loop", "--dataset", TINY], "use a regression such as esol"),
        (["bo-loop", "--dataset", "esol", "--set", "budget=0"], "budget=0: Input should be greater than 0"),
        (["bo-loop", "--dataset", "esol", "--set", "initial=5000"], "initial + budget must not exceed that"),
        (["overlap", "--dataset", TINY, "--set", "knob=esol"], "use a classification such as bace"),
        (["similarity", "--dataset", "esol"], "needs SMILES and classes"),
        (["triage", "--seeds", "1"], "seeds=1: churn needs at least two retrainings"),
    ],
)
def test_a_mistake_gets_one_message_with_the_remedy_and_nothing_is_trained(own_store, words, said):
    if "esol" in words and "CHURN_DATA_DIR" not in os.environ:
        pytest.skip("no folder of raw data: set CHURN_DATA_DIR to run this test")
    code, printed = run("study", *words, "--jobs", "1")
    assert code == 2
    assert "error: " in printed
    assert said in printed
    assert "Traceback" not in printed
    assert not tracking.Store().statuses()


def test_the_leaderboard_names_a_study_that_is_not_finished_and_one_that_does_not_exist(tmp_path: Path) -> None:
    write_published(Results(()), tmp_path / "none")
    code, said = run("study", "triage", "--store", str(tmp_path / "none"), app=leaderboard_app)
    assert (code, "churn study triage" in said) == (2, True)
    code, said = run("study", "triag", "--store", str(tmp_path / "none"), app=leaderboard_app)
    assert (code, "did you mean 'triage'" in said) == (2, True)


# What records depend on


def noted(trainer: LocalTrainer, problem: Problem, made: list[Pipeline], method: Pipeline) -> dict[str, str]:
    made.append(method)
    return {}


def test_a_record_is_made_again_for_another_method_other_data_or_another_revision_of_the_study(ran, monkeypatch):
    made: list[Pipeline] = []

    def asked(dataset: str, method: str) -> int:
        """Return how many records were made until this one was there."""
        pipeline = make_method(method, "regression")
        context_of("bo-loop", []).record("a key", dataset, 99, noted, made, pipeline)
        return len(made)

    assert asked("b3db_logbb", "bagging") == asked("b3db_logbb", "bagging") == 1
    assert asked("b3db_logbb", "twin") == 2
    assert asked("b3db_logbb@train=200", "twin") == 3
    monkeypatch.setattr(type(context_of("bo-loop", []).study), "revision", 2)
    assert asked("b3db_logbb@train=200", "twin") == 4


def trained(trainer: LocalTrainer, problem: Problem, method: Pipeline) -> dict[str, str]:
    return {"churn": str(trainer.map(retrain, [(method, problem, (1, 2))]))}


def test_a_method_that_fails_is_named_with_its_error_in_a_line(own_store: Path) -> None:
    @dataclass(frozen=True)
    class Broken(Remedy):
        def fit(self, sample: Sample, learner: Learner) -> Model:
            raise ValueError("too few rows")

    broken = replace(make_method("erm", "classification"), remedy=describe(Broken, "broken", title="Broken")())
    with pytest.raises(UserError) as caught:
        context_of("label-floor", []).record("tiny, broken", "b3db_measured@train=24", 99, trained, broken)
    assert str(caught.value) == "tiny, broken: training failed: ValueError: too few rows"
    with pytest.raises(UserError, match=r"^esol: training failed: ValueError: no .* \(.*test_training\.py:\d+\)$"):
        context_of("bo-loop", []).record("esol", "b3db_measured@train=24", 99, mapped, "esol")


def mapped(trainer: LocalTrainer, problem: Problem, text: str) -> list[float]:
    return trainer.map(fitted, [(text,)])


def fitted(text: str) -> float:
    raise ValueError(f"no fit to {text}")
