"""Verification of a submission: its code is retrained in isolation on one dataset, with fresh seeds.

The method runs in sandboxes that have its sample and nothing else (``benchmark.run.isolation``), on the canonical seeds
that were submitted and on one that nobody knew beforehand, always at train seeds that nobody knew. Nothing that it
returns is trusted: the harness checks and scores its predictions. Some retrainings are repeated alone, and must then
give the same: otherwise, they depend on what else was running.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from benchmark.data.problem import load_problem, read_with
from benchmark.data.spec import load_spec
from benchmark.errors import UserError, did_you_mean
from benchmark.files import hash_of
from benchmark.measure.catalogue import QUALITY, churn
from benchmark.measure.intervals import Estimate, IntervalKind, jackknife, over_both
from benchmark.measure.measure import Measure
from benchmark.pipeline import Reading
from benchmark.run import sandbox
from benchmark.run.check import SAME, apart
from benchmark.run.isolation import SENTENCE, Isolation, isolated, method_file
from benchmark.store.cell import Cell
from benchmark.train import sample_for
from benchmark.types import MLP, Inputs, Predictions, Problem, Sample, Sampling
from leaderboard.submission.check import STATUS, Submission, by_test, check_retrainings

VERIFIED = "verified"
FALSE_ALARM = 0.05
"""Chance that a method is refused although the submitted results are its own, all comparisons together."""
CONTROLS = 4
"""Retrainings on shuffled labels."""
CONFINED = "each retraining in a sandbox of its own (bubblewrap), a tenth repeated alone with the same predictions"
KNOWS = 0.5
"""Rank correlation with the truth that no method has after training on shuffled labels."""


@dataclass(frozen=True)
class Check:
    """A quantity as submitted and as rerun, which are independent of each other."""

    where: str
    quantity: str
    submitted: Estimate
    rerun: Estimate

    @property
    def agrees(self) -> bool:
        """Tell whether the difference is within its interval; without any interval, whether the values are equal."""
        return abs(self.rerun.value - self.submitted.value) <= self.margin + 1e-6 * max(1.0, abs(self.rerun.value))

    @property
    def margin(self) -> float:
        """Half-width of the interval of the difference: retrainings that are all the same add nothing to it."""
        return float(np.hypot(*(np.nan_to_num(e.high - e.value) for e in (self.submitted, self.rerun))))

    def __str__(self) -> str:
        verdict = "agrees with" if self.agrees else "is too far from"
        return (
            f"{self.where}, {self.quantity}: {self.rerun.value:.4f} {verdict} the submitted "
            f"{self.submitted.value:.4f} (± {self.margin:.4f})"
        )


@dataclass(frozen=True)
class Rerun:
    """The comparisons on one dataset, of the method's file that ``code`` names."""

    dataset: str
    sampling: Sampling
    code: str
    checks: tuple[Check, ...]

    @property
    def agrees(self) -> bool:
        return all(check.agrees for check in self.checks)


def check_code(submission: Submission) -> str:
    """Check the contract of a submitted method if its code is in ``methods/``; return why that was not possible.

    Raises UserError if the method breaks it.
    """
    if method_file(submission.method) is None:
        return ""
    if trouble := sandbox.trouble():
        return f"the code of {submission.method!r} was not checked: {trouble}"
    with isolated(submission.method) as code:
        _check_code(code, submission.cells)
    return ""


def _check_code(code: Isolation, cells: Iterable[Cell]) -> Reading:
    """Check the contract, and return how the method reads a dataset."""
    checked = code.check({cell.predictions["id"].task for cell in cells})
    if checked.failures:
        lines = [f"{code.method} breaks the contract of a method:", *checked.failures]
        raise UserError("\n".join([*lines, f"Repair it, then run churn check on it: {SENTENCE}."]))
    return checked.reading


def rerun(
    submission: Submission,
    sampling: Sampling,
    dataset: str = "",
    draws: random.Random | None = None,
    began: Callable[[str], None] = lambda dataset: None,
) -> Rerun:
    """Retrain a submitted method from its code on one dataset, and compare the results.

    It is retrained as often as submitted, at train seeds from ``draws`` (by default unpredictable), on each canonical
    seed that was submitted and a new one. ``began`` is called with the name of the dataset. Raises UserError without a
    sandbox, for a method without code, one that breaks the contract, a sampling or dataset that was not submitted, a
    failed training, retrainings that are all alike or not the same when they are repeated alone, and predictions that
    do not come from the labels of the sample.
    """
    draws = draws or random.SystemRandom()
    if trouble := sandbox.trouble():
        raise UserError(f"{trouble}. Without it, nothing is marked as verified")
    names = sorted({cell.key.dataset for cell in submission.cells if cell.key.sampling == sampling})
    if not names:
        given = " or ".join(sorted({cell.key.sampling for cell in submission.cells}))
        raise UserError(f"{submission.method!r} has no results under {sampling}: use --sampling {given}")
    if dataset and dataset not in names:
        raise did_you_mean("dataset", dataset, names)
    if method_file(submission.method) is None:
        raise UserError(
            f"{submission.method!r} has no code: expected methods/{submission.method}.py here or in CHURN_HOME; "
            "results without code stay self-reported"
        )
    chosen = dataset or draws.choice(names)
    began(chosen)
    cells = [cell for cell in submission.cells if (cell.key.dataset, cell.key.sampling) == (chosen, sampling)]
    collapsed = chosen in submission.description.collapsed
    named = _code(submission.method)  # before its copy is made, as it may be edited while that is retrained
    with isolated(submission.method) as code:
        reading = _check_code(code, cells)
        if code.files != submission.description.files:
            raise UserError(
                f"{submission.method}: its code reads {code.files}, but submission.yml has the files "
                f"{submission.description.files}: name the same with their sha256, so that its card is complete"
            )
        checks: list[Check] = []
        level = 1 - FALSE_ALARM / (2 + 2 * sum(len(cell.predictions) for cell in cells))
        for cell in [*cells, None]:
            theirs = cell or cells[0]
            problem = load_problem(chosen, cell.key.canonical_seed if cell else draws.randrange(10**4, 2**31))
            if reading.learner != MLP:  # a remedy is given the dataset's own learner
                problem = read_with(reading, problem, chosen)
            seeds = _fresh(sampling, len(theirs.key.seeds), draws)
            if cell is cells[0] and not collapsed:
                _check_labels(code, problem, sampling, seeds[:CONTROLS])
            ours = _retrained(code, problem, sampling, seeds, draws)
            check_retrainings(f"{code.method} on {chosen}", ours, sampling, collapsed)
            checks += _compare(theirs, ours, problem, level, known=cell is not None)
            if not all(check.agrees for check in checks):
                break
    return Rerun(chosen, sampling, named, tuple(checks))


def mark(submission: Submission, before: Iterable[Cell], rerun: Rerun | None = None) -> list[Cell]:
    """Return the cells of a submission, as verified where they were rerun now, or earlier, as ``before`` tells.

    What was verified earlier stays so while the predictions and the method's file are the same. After a rerun, only
    cells under its sampling are returned. Under each sampling, the title of all names the datasets, as one method has
    one row in a summary.
    """
    code = rerun.code if rerun else _code(submission.method)
    checks = {
        cell.key.digest: facts.checks
        for cell in before
        if (facts := cell.facts.submission) and facts.status == VERIFIED and code and code in facts.checks.split("; ")
    }
    cells = [cell for cell in submission.cells if rerun is None or cell.key.sampling == rerun.sampling]
    if rerun:
        now = "; ".join([*map(str, rerun.checks), rerun.code, CONFINED])
        checks |= {cell.key.digest: now for cell in cells if cell.key.dataset == rerun.dataset}
    marked = []
    for cell in cells:
        row = [other.key for other in cells if other.key.sampling == cell.key.sampling]
        known = [key.dataset for key in row if key.digest in checks]
        some = f"{VERIFIED} on {', '.join(sorted({*known}))}" if known else STATUS
        status = VERIFIED if len(known) == len(row) else some
        if cell.key.digest in checks and (facts := cell.facts.submission):
            proof = {"status": VERIFIED, "checks": checks[cell.key.digest]}
            cell = cell.with_facts(submission=facts.model_copy(update=proof))
        marked.append(replace(cell, title=cell.title.replace(f"({STATUS}", f"({status}")))
    return marked


def _code(method: str) -> str:
    """Name a method's file by its content; empty if it is not on this machine."""
    path = method_file(method)
    return f"{method}@{hash_of([path])}" if path else ""


def _fresh(sampling: Sampling, count: int, draws: random.Random) -> tuple[int, ...]:
    """Draw ``count`` train seeds beyond those that anybody uses; under ``halves``, both of each halving."""
    if sampling == "halves":
        halvings = draws.sample(range(10**4, 2**31), count // 2)
        return tuple(seed for j in sorted(halvings) for seed in (2 * j - 1, 2 * j))
    return tuple(sorted(draws.sample(range(10**4, 2**32), count)))


def _retrained(
    code: Isolation, problem: Problem, sampling: Sampling, seeds: Sequence[int], draws: random.Random
) -> dict[str, Predictions]:
    """Retrain at each of ``seeds`` in a sandbox of its own, and a tenth of them once more, alone.

    Under ``halves``, both retrainings of a halving are repeated. Raises UserError unless they give the same.
    """
    samples = [sample_for(problem, sampling, seed)[0] for seed in draws.sample(seeds, len(seeds))]
    trained = dict(zip((sample.seed for sample in samples), _in_parallel(code, problem, samples), strict=True))
    group = 2 if sampling == "halves" else 1
    first = draws.sample(range(0, len(seeds), group), ceil(len(seeds) / group / 10))
    for sample in (sample for i in first for sample in samples if sample.seed in seeds[i : i + group]):
        (again,) = _in_parallel(code, problem, [sample])
        if again.tobytes() != trained[sample.seed].tobytes():
            raise UserError(
                f"{code.method} on {problem.name}: train seed {sample.seed} does not give the same predictions when it "
                "is trained again alone: a retraining may depend on its sample, and on nothing else that runs"
            )
    values = np.stack([trained[seed] for seed in seeds])
    return by_test(f"{code.method} on {problem.name}", problem, tuple(seeds), values, sampling)


def _in_parallel(code: Isolation, problem: Problem, samples: Sequence[Sample]) -> list[np.ndarray]:
    """Return what a retraining on each sample predicts for all test molecules, in the order of the test sets."""
    x, smiles = (np.concatenate([getattr(test, name) for test in problem.evals.values()]) for name in ("x", "smiles"))
    inputs, learner = Inputs(x, smiles), load_spec(problem.name).backbone
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(code.retrain, sample, inputs, learner) for sample in samples]
        try:
            return [future.result() for future in running]
        finally:
            pool.shutdown(cancel_futures=True)


def _check_labels(code: Isolation, problem: Problem, sampling: Sampling, seeds: Sequence[int]) -> None:
    """Retrain on shuffled labels: predictions must change, and know nothing of the truth. Raises UserError."""
    samples = [sample_for(problem, sampling, seed)[0] for seed in seeds]
    shuffled = [replace(sample, y=np.random.default_rng(sample.seed).permutation(sample.y)) for sample in samples]
    trained = _in_parallel(code, problem, [samples[0], *shuffled])
    if apart(trained[0], trained[1]) <= SAME:
        raise UserError(
            f"{code.method} on {problem.name}: trained on shuffled labels, it gives the same predictions: it does not "
            "learn from its sample; fit on sample.x and sample.y"
        )
    from scipy.stats import spearmanr  # takes a second to import

    truth = np.concatenate([test.y for test in problem.evals.values()])
    scores = [values[:, -1] for values in trained[1:]]
    known = float(np.mean([spearmanr(score, truth).statistic if np.ptp(score) else 0.0 for score in scores]))
    if known > KNOWS:
        raise UserError(
            f"{code.method} on {problem.name}: trained on shuffled labels, its predictions for test molecules still "
            f"have a rank correlation of {known:.2f} with the true labels, expected about 0 (at most {KNOWS}): it "
            "knows labels that its sample does not have"
        )


def _compare(
    submitted: Cell, ours: dict[str, Predictions], problem: Problem, level: float, *, known: bool
) -> Iterator[Check]:
    """Compare churn and quality: on the submitted split, or for the ID test of a new one, which has other molecules."""
    for evalset, theirs in submitted.predictions.items():
        if not (known or evalset == "id"):  # the molecules of a scaffold are not independent, so OOD tests differ more
            continue
        where = f"{problem.name}, {'' if known else 'new '}canonical seed {problem.canonical_seed}, {evalset}"
        for measure in (churn(theirs.task), QUALITY[theirs.task]):
            of = [_estimate(measure, p, level, "runs" if known else "both") for p in (theirs, ours[evalset])]
            yield Check(where, measure.name, *of)


def _estimate(measure: Measure, p: Predictions, level: float, kind: IntervalKind) -> Estimate:
    runs = [measure.of_runs(p)]
    if kind == "runs" or measure.of_examples is None:
        return jackknife(runs, level)
    return over_both(runs, [measure.of_examples(p)], level, fewest=1)  # without an interval, nothing else would agree
