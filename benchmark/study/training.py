"""The context of ``churn study``: it trains whatever a study needs and the tracking store lacks."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from joblib import Parallel, delayed

from benchmark.data.problem import load_problem
from benchmark.errors import UserError, located, number_of
from benchmark.pipeline import Pipeline
from benchmark.run import driver
from benchmark.run.code import code_of
from benchmark.store import tracking
from benchmark.store.cell import Cell, Grid, Record
from benchmark.study.context import REPORT, Content, Context, Study
from benchmark.study.report import Report


@dataclass(frozen=True)
class LocalTrainer:
    """A ``benchmark.study.context.Trainer`` with worker processes on this machine."""

    code: str
    jobs: int | None

    def map(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> list[Any]:
        pool = Parallel(n_jobs=self.jobs or -1, inner_max_num_threads=1, backend="loky")
        return list(pool(delayed(_located)(function, item) for item in items))


def _located(function: Callable[..., Any], item: tuple[Any, ...]) -> Any:
    """Return ``function(*item)``. Raises RuntimeError with the place of an error, which no other process would know."""
    try:
        return function(*item)
    except (UserError, RuntimeError):
        raise
    except Exception as error:
        raise RuntimeError(located(error)) from error


class TrainingContext(Context):
    """A context that trains what the tracking store lacks, and records it there."""

    def __init__(self, study: Study, jobs: int | None, device: str, report: driver.Report) -> None:
        self.study, self.jobs, self.device, self.note = study, jobs, device, report
        self.store = tracking.Store()

    def stored(self, grid: Grid) -> Iterator[Cell]:
        planned = driver.plan_grid(grid, {}, self.device)
        study = "" if getattr(self.study, "for_boards", False) else self.study.name
        outcome = driver.fill(planned, force=False, jobs=self.jobs, report=self.note, study=study)
        if outcome.trouble:
            raise UserError(outcome.trouble)
        if outcome.failed:
            first = outcome.failed[0]
            raise UserError(
                f"{number_of(len(outcome.failed), 'cell')} of the study failed; the first was {first.planned.title} on "
                f"{first.planned.key.dataset}: {first.error}\n  (traceback in its run)"
            )
        return self.store.cells({cell.key.digest for cell in planned}, {cell.key.dataset for cell in planned})

    def record(self, key: str, dataset: str, canonical_seed: int, make: Callable[..., Content], *given: Any) -> Content:
        problem = load_problem(dataset, canonical_seed)
        methods = [code_of(value) for value in given if isinstance(value, Pipeline)]
        code = self._code(*methods, problem.fingerprint)
        for record in self._records:
            if (record.study, record.key, record.code) == (self.study.name, key, code):
                return record.content
        self.note(f"computing {key}")
        try:
            content = make(LocalTrainer(code, self.jobs), problem, *given)
        except RuntimeError as error:  # of ``retrain``, which holds the traceback, or ``map``
            raise UserError(f"{key}: training failed: {str(error).strip().splitlines()[-1]}") from error
        self._records.append(Record(self.study.name, key, code, content))
        self.store.log_record(self._records[-1])
        return content

    @cached_property
    def _records(self) -> list[Record]:
        """The records of the store, which takes a file for each to read, and those that were added since."""
        return self.store.records()

    def _code(self, *parts: str) -> str:
        """Return 16 hex digits of the revision of the study and of what else a record depends on."""
        revision = f"{self.study.name}@{self.study.revision}"
        return hashlib.sha256(" ".join([revision, *parts]).encode()).hexdigest()[:16]

    def finish(self, report: Report) -> None:
        """Record that the study is finished, so that the leaderboard shows it."""
        settings = asdict(self.study)  # type: ignore[call-overload]
        record = Record(self.study.name, REPORT, self._code(), {"settings": settings})
        if record not in self._records:
            self.store.log_record(record, "\n\n".join(report.answer))
