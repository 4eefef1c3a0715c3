"""What a grid refuses before anything is trained, and the warnings about its methods."""

from __future__ import annotations

import pytest

from benchmark.errors import UserError
from benchmark.run.driver import plan_grid, warnings
from benchmark.store.cell import Grid

DATASET = "b3db_measured"


def test_halves_take_whole_halvings():
    with pytest.raises(UserError, match=r"3, 6 without the other half; use an even count, as in --seeds 20"):
        plan_grid(Grid(["erm"], [DATASET], [99], [1, 2, 3, 6], "halves"), {})
    (cell,) = plan_grid(Grid(["erm"], [DATASET], [99], [1, 2, 5, 6], "halves"), {})
    assert cell.key.sampling == "halves"
    assert cell.command.endswith("--seeds 1,2,5,6 --sampling halves")


@pytest.mark.parametrize("method", ["anchor", "erm_fixed:data=7", "erm_whole"])
@pytest.mark.parametrize("sampling", ["nested", "halves"])
def test_a_method_that_needs_another_sample_is_no_entry_where_it_is_hidden(method, sampling):
    said = f"needs more of the training pool than a retraining sees under --sampling {sampling}: .* --sampling paper"
    with pytest.raises(UserError, match=said):
        plan_grid(Grid(["erm", method], [DATASET], [99], [1, 2], sampling), {})


def test_samplings_are_cells_of_their_own_and_erm_is_the_same_code_in_all():
    cells = [plan_grid(Grid(["erm"], [DATASET], [99], [1, 2], s), {})[0] for s in ("paper", "nested", "halves")]
    assert len({cell.key.digest for cell in cells}) == 3
    assert len({cell.key.code for cell in cells}) == 1


def test_lambda_is_the_one_selected_under_the_sampling_and_where_none_was_a_warning_says_so():
    (halves,) = plan_grid(Grid(["twin"], [DATASET], [99], [1, 2], "halves"), {})
    assert halves.key.params["lam"] == 100
    assert halves.command.startswith("python -m benchmark run --method twin --dataset")
    assert not any("λ" in line for line in warnings([halves]))
    (regression,) = plan_grid(Grid(["twin"], ["b3db_logbb"], [99], [1, 2], "halves"), {})
    (line,) = (line for line in warnings([regression]) if "λ" in line)
    assert "python -m benchmark study lambda-rule --sampling halves" in line
