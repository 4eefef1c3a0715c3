"""What a run says and leaves out before it trains."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.commands import options, train
from benchmark.data.problem import load_problem
from tests.conftest import call


@pytest.fixture
def own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """Describes an own table with that many rows, half of them of each class, and returns the name of its dataset."""
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))

    def describe(rows: int) -> str:
        path = tmp_path / f"assays{rows}.csv"
        lines = [f"sample {i},{i * i % 97},{['lets go', 'stays'][i % 2]}" for i in range(rows)]
        path.write_text("\n".join(["name,weight,outcome", *lines]), encoding="utf-8")
        assert call("new-dataset", str(path), "--target", "outcome") == 0
        return f"assays{rows}"

    return describe


def chosen(name: str) -> list[str]:
    return [method for grid in train._grids("", name, "99", "", "", "", "", "none") for method in grid.methods]


def test_methods_that_choose_their_settings_are_left_out_where_nothing_can_be_decided(own_table, capsys) -> None:
    few = own_table(40)
    assert chosen(few) == [*options.OWN_METHODS]
    assert "left out, as they take most of the time and decide nothing" in capsys.readouterr().out
    line = train._undecided(few, load_problem(few), "halves", 20)
    assert line.startswith(f"{few}: cannot decide yet, whatever is trained: the ID test has 8 rows, and a decision ")
    many = own_table(300)
    assert chosen(many) == [*options.OWN_METHODS, *options.OWN_TUNED]
    assert train._undecided(many, load_problem(many), "halves", 20) == ""
    line = train._undecided(many, load_problem(many), "halves", 4)
    assert line.endswith("a decision needs 10 retrainings, and has 4: --seeds 10")


@pytest.mark.parametrize("words", [["--sampling", "halves"], ["--set", "sampling=halves"]])
def test_a_study_has_the_seeds_of_its_sampling_however_that_is_given(monkeypatch, words) -> None:
    given: list[dict[str, str]] = []
    monkeypatch.setattr(train, "_study", lambda name, settings, jobs, device: given.append(settings))
    monkeypatch.setattr(train, "_leaderboard", lambda *words: 0)
    assert call("study", "lambda-rule", *words) == 0
    assert given == [{"sampling": "halves", "seeds": "20"}]


def test_the_learner_of_a_study_is_that_of_all_of_its_datasets(monkeypatch) -> None:
    given: list[dict[str, str]] = []
    monkeypatch.setattr(train, "_study", lambda name, settings, jobs, device: given.append(settings))
    monkeypatch.setattr(train, "_leaderboard", lambda *words: 0)
    assert call("study", "overlap", "--dataset", "bace,dili", "--learner", "gin") == 0
    assert given == [{"dataset": "bace@backbone=gin,dili@backbone=gin", "knob": "bace@backbone=gin"}]
