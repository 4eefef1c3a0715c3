"""What a run shows in MLflow beyond its recording: written once, and again where what it was made from has changed."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlflow.entities import Experiment, Metric, Run, RunTag
from pydantic_core import from_json

from benchmark.store import views
from benchmark.store.artifacts import upload
from benchmark.store.describe import EXPLAINED, KIND, MODELS, NOTE, STUDY, digest
from benchmark.store.opening import TrackingError, translated_errors
from benchmark.types import PAPER, Sampling

if TYPE_CHECKING:
    from benchmark.store.tracking import Store

BOARD = "churn-board"
"""Experiment with a run for each method; ``churn/board`` would be that of a dataset with this name."""
LONGEST, LONGEST_OF_ALL = 7_900, 19_900
"""Characters of the description of a run and of an experiment; MLflow refuses tags of more than 8,000 and 20,000."""


@dataclass(frozen=True)
class Explanation:
    """What a run shows: a description in Markdown, metrics, and files by path; ``source`` is what it was made from."""

    source: str
    note: str
    metrics: Mapping[str, float]
    files: Mapping[str, bytes]


class Explained:
    """The finished runs of cells with their experiments, and what is written of their explanations.

    ``datasets`` restricts them to those of these names; the default is all. ``code`` is the fingerprint of what makes
    explanations. Methods raise TrackingError if the store fails. Nothing that a cell is read from is changed:
    predictions, checksums, key, facts.
    """

    def __init__(self, store: "Store", datasets: Collection[str] = ()) -> None:
        self.store = store
        with translated_errors(store.uri):
            self.experiments = {e.experiment_id: e for e in store._experiments(datasets)}
            query = "tags.`churn.kind` = 'cell' AND attributes.status = 'FINISHED'"
            found = store._search([*self.experiments], query) if self.experiments else []
        self.runs = {run.info.run_id: run for run in found}
        self.launchers = {"": ""}
        self.states: dict[str, list[list[str]]] = {}
        for run in found:
            of = run.info.run_id, run.data.tags.get(STUDY, "")
            self.states.setdefault(run.info.experiment_id, []).append([*of])

    def source(self, experiment: str, code: str = "") -> str:
        """Return a digest that changes with any finished cell of an experiment, and with ``code``."""
        return digest(json.dumps([code, sorted(self.states[experiment])]).encode())

    def board_source(self, code: str) -> str:
        """Return a digest that changes with any finished cell and with ``code``."""
        return digest(json.dumps([code, sorted(self.source(experiment) for experiment in self.states)]).encode())

    def pending(self, code: str = "") -> set[str]:
        """Return the experiments whose cells, or ``code`` if given, have changed since they were explained."""
        key = "code" if code else "cells"
        known = {experiment: _known(self.experiments[experiment].tags) for experiment in self.states}
        return {experiment for experiment in known if known[experiment].get(key) != self.source(experiment, code)}

    def board_is_current(self, code: str) -> bool:
        """Tell whether the boards were written from these cells by this ``code``."""
        with translated_errors(self.store.uri):
            found = [e for e in self.store.client.search_experiments() if "churn.board" in e.tags]
        return bool(found) and all(_known(e.tags).get("code") == self.board_source(code) for e in found)

    def address(self, run_id: str) -> str:
        """Return the address of a cell's run in the UI; empty if it is not among these."""
        run = self.runs.get(run_id)
        return views.address(run.info.experiment_id, run_id) if run else ""

    def launched_by(self, run_id: str) -> str:
        """Return the address in the UI of the run of ``mlflow run`` that recorded a cell; empty without one."""
        launcher = self.runs[run_id].data.tags.get("churn.launched_by", "")
        if launcher not in self.launchers:
            try:
                with translated_errors(self.store.uri):
                    experiment = self.store.client.get_run(launcher).info.experiment_id
                self.launchers[launcher] = views.address(experiment, launcher)
            except TrackingError:  # it was removed
                self.launchers[launcher] = ""
        return self.launchers[launcher]

    def explain(self, run_id: str, explanation: Explanation) -> bool:
        """Give a cell's run its explanation, and tell whether anything had to be written."""
        with translated_errors(self.store.uri):
            return _write(self.store, self.runs[run_id], explanation)

    def describe(self, experiment: str, note: str, tags: Mapping[str, str]) -> None:
        """Describe an experiment and give it ``tags``, such as views."""
        with translated_errors(self.store.uri):
            _describe(self.store, self.experiments[experiment], note, tags)

    def finish(self, experiment: str, code: str) -> None:
        """Note that all of an experiment is explained."""
        with translated_errors(self.store.uri):
            made_from = {"cells": self.source(experiment), "code": self.source(experiment, code)}
            _finish(self.store, experiment, made_from)

    def write_board(
        self, sampling: Sampling, code: str, note: str, tags: Mapping[str, str], methods: Mapping[str, Explanation]
    ) -> str:
        """Write the board of a sampling, one run for each of ``methods`` by title, and return its experiment's id.

        A method keeps its run, and the runs of methods that are no longer there are removed.
        """
        store, suffix = self.store, "" if sampling == PAPER else f"/{sampling}"
        with translated_errors(store.uri):
            folder = BOARD.partition("-")[2] + suffix.replace("/", "-")
            experiment = store._ensure_experiment(BOARD + suffix, folder, {"churn.board": sampling, KIND: MODELS})
            known: dict[str, Run] = {}
            runs = store._search([experiment], "tags.`churn.kind` = 'board'")
            for run in sorted(runs, key=lambda run: (run.info.start_time, run.info.run_id)):
                title = run.data.tags.get("churn.title", "")
                if title not in methods or title in known:  # gone, or made by two drivers at the same time
                    store.client.delete_run(run.info.run_id)
                else:
                    known[title] = run
            for title, explanation in methods.items():
                kind = {"churn.kind": "board", "churn.title": title, "churn.sampling": sampling}
                run = known.get(title) or store._create(experiment, kind, title)
                _write(store, run, explanation)
                if run.info.status != "FINISHED":
                    store.client.set_terminated(run.info.run_id, "FINISHED")
            _describe(store, store.client.get_experiment(experiment), note, tags)
            _finish(store, experiment, {"code": self.board_source(code)})
        return experiment


def _write(store: "Store", run: Run, explanation: Explanation) -> bool:
    """Write what differs from that which a run has, files first, and the tag that says so with the last request."""
    tags, known = run.data.tags, _known(run.data.tags)
    sums = {path: digest(content) for path, content in explanation.files.items()}
    old = known.get("files", {})
    changed = {path: content for path, content in explanation.files.items() if old.get(path) != sums[path]}
    now = int(time.time() * 1000)
    # A clock that was fast must not make an older value the current one.
    times = {metric.key: max(now, metric.timestamp + 1) for metric in run.data._metric_objs}
    values = {name: value for name, value in explanation.metrics.items() if run.data.metrics.get(name) != value}
    texts = {}
    if _ours(tags, known):
        texts = {NOTE: _cut(explanation.note, LONGEST)}
        known = known | {"note": digest(texts[NOTE].encode())}
    texts[EXPLAINED] = json.dumps({**known, "source": explanation.source, "files": {**old, **sums}})
    texts = {name: text for name, text in texts.items() if tags.get(name) != text}
    if not (changed or values or texts):
        return False
    with store._removed_by_another(run):
        upload(run.info, changed, store.uri)
        metrics = [Metric(name, value, times.get(name, now), 0) for name, value in values.items()]
        store.client.log_batch(run.info.run_id, metrics, [], [RunTag(name, text) for name, text in texts.items()])
    return True


def _describe(store: "Store", experiment: Experiment, note: str, tags: Mapping[str, str]) -> None:
    known = _known(experiment.tags)
    texts = dict(tags)
    if _ours(experiment.tags, known):
        note = _cut(note, LONGEST_OF_ALL)
        texts |= {NOTE: note, EXPLAINED: json.dumps({**known, "note": digest(note.encode())})}
    for name, text in texts.items():
        if experiment.tags.get(name) != text:
            store.client.set_experiment_tag(experiment.experiment_id, name, text)


def _finish(store: "Store", experiment: str, made_from: Mapping[str, str]) -> None:
    known = _known(store.client.get_experiment(experiment).tags)
    store.client.set_experiment_tag(experiment, EXPLAINED, json.dumps({**known, **made_from}))


def _cut(note: str, most: int) -> str:
    """Return the first lines of a description that is too long."""
    return note if len(note) <= most else f"{note[: most - 3].rpartition(chr(10))[0]}\n\n…"


def _ours(tags: Mapping[str, str], known: Mapping[str, Any]) -> bool:
    """Tell whether a description is still as the suite wrote it; an edited one is its editor's."""
    note = tags.get(NOTE, "")
    if "note" in known:
        return bool(known["note"] == digest(note.encode()))
    cell = note.startswith("**") and note.endswith(f"`{tags.get('command')}`")  # written by an earlier version
    return not note or cell or (note.startswith("Cross-sample churn on **") and note.endswith("absolute difference."))


def _known(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of the tag ``EXPLAINED``; nothing if it is missing or was edited to something else."""
    try:
        known = from_json(tags.get(EXPLAINED, "{}"))
    except ValueError:
        return {}
    return known if isinstance(known, dict) and isinstance(known.get("files", {}), dict) else {}
