"""Verification of a submission: its code is rerun on one dataset drawn at random."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmark.data.problem import load_problem
from benchmark.errors import UserError, did_you_mean
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.registry import make_method, refuse_sampling
from benchmark.run import runner
from benchmark.store.cell import Cell
from benchmark.types import Sampling
from leaderboard.stats.intervals import Estimate
from leaderboard.submission.check import STATUS, Submission
from leaderboard.submission.read import open_folder
from leaderboard.tables.columns import estimate

VERIFIED = "verified"


@dataclass(frozen=True)
class Check:
    """A quantity as submitted and as rerun."""

    where: str
    quantity: str
    submitted: Estimate
    rerun: float

    @property
    def agrees(self) -> bool:
        """Whether the rerun lies within the interval, or equals the value if identical retrainings give no interval."""
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
    """Return the folder of a method's last version by name that is not superseded. Raises UserError."""
    versions = sorted(path.parent for path in submissions.glob(f"{method}/*/submission.yml"))
    if not versions:
        raise did_you_mean("submission", method, sorted(path.name for path in submissions.glob("*") if path.is_dir()))
    current = [path for path in versions if open_folder(path).description.superseded_by is None]
    return (current or versions)[-1]


def rerun(submission: Submission, sampling: Sampling, dataset: str = "") -> list[Check]:
    """Retrain a submitted method from its code on all splits of one dataset, and compare the results.

    The suite hands each retraining only the rows that ``sampling`` grants. Raises UserError for a method without code,
    a sampling or dataset that was not submitted, and a failed training.
    """
    names = sorted({cell.key.dataset for cell in submission.cells if cell.key.sampling == sampling})
    if not names:
        given = " or ".join(sorted({cell.key.sampling for cell in submission.cells}))
        raise UserError(f"{submission.method!r} has no results under {sampling}: use --sampling {given}")
    if dataset and dataset not in names:
        raise did_you_mean("dataset", dataset, names)
    chosen = dataset or random.SystemRandom().choice(names)  # unpredictable for the authors
    planned, theirs = [], []
    for cell in submission.cells:
        if (cell.key.dataset, cell.key.sampling) == (chosen, sampling):
            problem = load_problem(chosen, cell.key.canonical_seed)
            method = make_method(submission.method, problem.task, backbone=problem.backbone, sampling=sampling)
            refuse_sampling(method, sampling)
            planned.append(runner.plan(problem, method, cell.key.seeds, sampling=sampling))
            theirs.append(cell)
    ours: dict[int, Cell] = {}
    for plan, outcome in runner.run(planned, fresh=True):
        if isinstance(outcome, runner.Failed):
            raise UserError(f"{plan.command} failed: {outcome.error}")
        if isinstance(outcome, Cell):
            ours[plan.key.canonical_seed] = outcome
    return [check for cell in theirs for check in _compare(cell, ours[cell.key.canonical_seed])]


def mark(submission: Submission, sampling: Sampling, checks: Sequence[Check]) -> list[Cell]:
    """Return the cells of a submission under ``sampling`` marked as verified, with the checks."""
    update = {"status": VERIFIED, "checks": "; ".join(map(str, checks))}
    marked = []
    for cell in submission.cells:
        if cell.key.sampling != sampling:
            continue
        assert cell.facts.submission is not None
        facts = cell.facts.submission.model_copy(update=update)
        title = cell.title.replace(f"({STATUS}", f"({VERIFIED}")
        marked.append(replace(cell, title=title).with_facts(submission=facts))
    return marked


def _compare(submitted: Cell, rerun: Cell) -> list[Check]:
    checks = []
    for evalset, p in submitted.predictions.items():
        for measure in (churn(p.task), QUALITY[p.task]):
            where = f"{submitted.key.dataset}, canonical seed {submitted.key.canonical_seed}, {evalset}"
            ours = estimate(measure, [(rerun.predictions[evalset], None)]).value
            checks.append(Check(where, measure.name, estimate(measure, [(p, None)]), ours))
    return checks
