"""A store of its own, and cells to record in it."""

from pathlib import Path

import pytest

from benchmark.registry import make_method
from benchmark.run import runner
from benchmark.run.check import synthetic
from benchmark.store.cell import Cell
from benchmark.store.tracking import Store
from benchmark.types import Task


@pytest.fixture
def store(own_store: Path) -> Store:
    return Store()


def planned(text: str, *seeds: int, task: Task = "classification") -> runner.Planned:
    problem = synthetic(task)
    return runner.plan(problem, make_method(text, problem.task), seeds or (1, 2))


def trained(*plans: runner.Planned) -> list[Cell]:
    return [cell for _, cell in runner.run(plans, jobs=1) if isinstance(cell, Cell)]
