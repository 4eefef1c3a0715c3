"""The plain loop that the harness is timed against."""

from dataclasses import replace

import numpy as np
import pytest
from torch import Tensor
from torch.utils.data import DataLoader

from benchmark.run.check import synthetic
from benchmark.train import sample_for
from benchmark.types import Problem, Sampling
from tools.plain import Plain


class Watched(Plain):
    """A plain loop that notes the rows that its networks are trained on."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.trained: list[list[int]] = []

    def loader(self, rows: list[int]) -> DataLoader[tuple[Tensor, ...]]:
        self.trained.append(rows)
        return super().loader(rows)


@pytest.mark.parametrize("sampling", ["paper", "halves"])
def test_the_plain_loop_trains_the_table_on_what_a_retraining_may_see(sampling: Sampling) -> None:
    whole = synthetic("classification", n=60)
    problem = replace(whole, recipe=whole.recipe.model_copy(update={"epochs": 1, "hidden": 8}))
    plain = Watched(problem)
    erm, twin = plain.table(sampling, 1)
    sample, places = sample_for(problem, sampling, 1)
    assert len(plain.trained) == 17
    assert {len(rows) for rows in plain.trained} == {len(sample.rows)}
    assert set(np.concatenate(plain.trained)) <= set(places[sample.bootstrap_pool])
    assert sorted(plain.trained[0]) == sorted(places[sample.rows])
    assert erm.shape == twin.shape == (len(problem.evals["id"]), 2)
