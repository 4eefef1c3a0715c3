"""Does the code give what was submitted? One dataset, drawn at random, is run again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmark.data.problem import load_problem
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.store.cell import Cell
from leaderboard.stats.intervals import Estimate
from leaderboard.submission.check import STATUS, Submission
from leaderboard.submission.read import open_folder
from leaderboard.tables.columns import estimate

VERIFIED = "verified"


@dataclass(frozen=True)
class Check:
    """A quantity as submitted, and as the code gives it."""

    where: str
    quantity: str
    submitted: Estimate
    rerun: float

    @property
    def agrees(self) -> bool:
        """Whether the rerun lies within the interval, or where retrainings all agree and there is none, is the same."""
        slack = 1e-6 * max(1.0, abs(self.rerun))
        low, high = self._ends
        return low - slack <= self.rerun <= high + slack

    @property
    def _ends(self) -> tuple[float, float]:
        s = self.submitted
        return (s.value, s.value) if np.isnan(s.low) else (s.low, s.high)

    def __str__(self) -> str:
        low, high = self._ends
        verdict = "within" if self.agrees else "outside"
        return (
            f"{self.where}, {self.quantity}: {self.rerun:.4f}, {verdict} the submitted "
            f"{self.submitted.value:.4f} [{low:.4f}, {high:.4f}]"
        )


def newest(submissions: Path, method: str) -> Path:
    """The version of a method that no other supersedes, the last in order of name. Raises UserError."""
    versions = sorted(path.parent for path in submissions.glob(f"{method}/*/submission.yml"))
    if not versions:
        raise did_you_mean("submission", method, sorted(path.name for path in submissions.glob("*") if path.is_dir()))
    current = [path for path in versions if open_folder(path).description.superseded_by is None]
    return (current or versions)[-1]


def rerun(submission: Submission, dataset: str = "") -> list[Check]:
    """Train the method of that name from code on one dataset of ``submission``, on all its splits.

    Raises UserError for a method without code, a dataset that was not submitted, and a training that fails.
    """
    names = sorted({cell.key.dataset for cell in submission.cells})
    if dataset and dataset not in names:
        raise did_you_mean("dataset", dataset, names)
    chosen = dataset or random.SystemRandom().choice(names)  # so that nobody can prepare for it
    planned, theirs = [], []
    for cell in submission.cells:
        if cell.key.dataset == chosen:
            problem = load_problem(chosen, cell.key.canonical_seed)
            made = make_method(submission.method, problem.task, backbone=problem.backbone)
            planned.append(runner.plan(problem, made, cell.key.seeds))
            theirs.append(cell)
    ours: dict[int, Cell] = {}
    for plan, outcome in runner.run(planned, fresh=True):
        if isinstance(outcome, runner.Failed):
            raise UserError(f"{plan.command} failed: {outcome.error}")
        if isinstance(outcome, Cell):
            ours[plan.key.canonical_seed] = outcome
    return [check for cell in theirs for check in _compare(cell, ours[cell.key.canonical_seed])]


def mark(submission: Submission, checks: Sequence[Check]) -> list[Cell]:
    """The cells of a submission as verified, with what was found."""
    found = {"status": VERIFIED, "checks": "; ".join(map(str, checks))}
    marked = []
    for cell in submission.cells:
        assert cell.facts.submission is not None
        said = cell.facts.submission.model_copy(update=found)
        title = cell.title.replace(f"({STATUS})", f"({VERIFIED})")
        marked.append(replace(cell, title=title).with_facts(submission=said))
    return marked


def _compare(submitted: Cell, rerun: Cell) -> list[Check]:
    found = []
    for evalset, p in submitted.predictions.items():
        for measure in (churn(p.task), QUALITY[p.task]):
            where = f"{submitted.key.dataset}, canonical seed {submitted.key.canonical_seed}, {evalset}"
            ours = estimate(measure, [(rerun.predictions[evalset], None)]).value
            found.append(Check(where, measure.name, estimate(measure, [(p, None)]), ours))
    return found
