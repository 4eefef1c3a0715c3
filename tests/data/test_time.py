"""Splits in the order of time, and pools that grow: no row of the future reaches an earlier model."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.data.problem import load_problem
from benchmark.data.splits import make_split, moments
from benchmark.errors import UserError
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.train import before_update, sample_for
from benchmark.types import Model, Problem, Sample

from .conftest import described


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["2015", "2016.5", ""], [2015, 2016.5, np.nan]),
        (["E-0000007", "E-0000123"], [7, 123]),
        (["1970-01-03", "1970-01-02T12:00:00Z"], [2, 1.5]),
        (["03-JAN-70", "1-Feb-1970", "5. März 1970", "1970-01-02"], [2, 31, 63, 1]),
        (["January 3, 1970", "3rd Feb 1970", "Feb 1970", "1970/01/02 12:00"], [2, 33, 31, 1.5]),
        (["31.01.70", "01.02.70", "02-JAN-70"], [30, 31, 1]),
        (["31.01.1970", "01.02.1970"], [30, 31]),
        (["1/31/1970, 10:23:00 AM", "2/1/1970, 9:05:11 PM"], [30, 31]),
        (["31.1.1970, 10:23:00", "Feb 1, 1970, 10:23 AM"], [30, 31]),
        (["31-JAN-70 10.23.00.000000 AM", "01-FEB-70 09.05.11.000000 PM"], [30, 31]),
        (["1970-01-03", "n.d.", "Unknown"], [2, np.nan, np.nan]),
        (["31/01/1970", "1/2/1970"], [30, 31]),
        (["01/31/1970", "2/1/1970"], [30, 31]),
        (["", ""], [np.nan, np.nan]),
        (["1970-01-03", "n/a", "NULL"], [2, np.nan, np.nan]),
        (["Fri, 02 Jan 1970", "Sun, 04 Jan 1970"], [1, 3]),
        (["1970Q1", "1970-Q2"], [0, 90]),
        (["02/1970", "01-1970"], [31, 0]),
        (["03JAN1970", "01feb70"], [2, 31]),
        (["20201231", "20210101"], [20201231, 20210101]),
        (["200911", "201003"], [200911, 201003]),
        (["2021.03", "2021.10"], [2021.03, 2021.1]),
        (["2016.5", "2016.25"], [2016.5, 2016.25]),
        (["43831", "44196"], [43831, 44196]),
        (["12001", "12002"], [12001, 12002]),
    ],
)
def test_dates_are_read_as_people_write_them(texts: list[str], days: list[float]) -> None:
    np.testing.assert_array_equal(moments(texts), days)


@pytest.mark.parametrize("column", ["candidate", "days_since_update", "pyrolysis_run", "years_old", "Date of batch"])
def test_small_numbers_under_a_name_that_contains_a_date_are_numbers(column: str) -> None:
    assert moments(["60", "1"], column).tolist() == [60, 1]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["2024-01-31", "soon"], "'soon' is not a date: write dates as in 2024-03-31, or as numbers such as years"),
        (["2024-02-31", "2024-03-01"], "'2024-02-31' is not a date"),
        (["03/04/2024", "05/06/2024"], "'03/04/2024' could be 2024-04-03 or 2024-03-04: write dates as in 2024-03-31"),
        (["19-12-30", "20-06-15", "21-01-05"], "'19-12-30' could be 2030-12-19 or 2019-12-30"),
        (["A-1", "B-2"], "'A-1' is not a date"),
        (["2024-01-31", "9999-12-31"], "'9999-12-31' is not a date"),
        (["-1,27", "-0,5"], "'-1,27' is not a date"),
        (["03.2021", "11.2020"], "'03.2021' may be a number or the date 2021-03-01, which differ in the order"),
        (["2021.10", "2021.3"], "'2021.10' may be a number or the date 2021-10-01"),
        (["31122020", "1012021"], "'31122020' may be a number or the date 2020-12-31"),
        (["12312020.0", "01012021.0"], "'12312020.0' may be a number or the date 2020-12-31"),
        (["122020", "12021"], "'122020' may be a number or the date 2020-12-01"),
        (["311220", "010121"], "'311220' may be a number or the date 2020-12-31"),
        (["03-JAN-22", "03/04/22"], "'03/04/22' could be 2022-04-03 or 2022-03-04"),
    ],
)
def test_a_text_that_is_no_date_is_named(texts: list[str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        moments(texts)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("merge", ["", "mean"])
@pytest.mark.parametrize("text", ["soon", "9999-12-31", "44000"])
def test_a_text_that_is_no_date_is_found_by_dataset_column_and_line(tmp_path: Path, text, merge) -> None:
    table = table_of(MOLECULES)
    table.loc[5, "day"] = text
    with pytest.raises(UserError, match=f"^mine: column 'day', line 7: '{text}' is not a date: .* leave the field"):
        load_problem(described(tmp_path, table, task="regression", split="time:day", merge=merge))


def test_the_pool_is_in_the_order_of_time_and_the_test_is_later() -> None:
    days = ["2024-03-03", "2024-01-01", "", "2024-02-02", "2024-03-03", "2024-01-01", "2024-03-04"]
    split = make_split("time:day:0.5", 99, [""] * 7, days, range(7))
    assert (split.train.tolist(), split.tests["id"].tolist()) == ([1, 5, 3], [0, 4, 6]), "row 2 has no date"
    split = make_split("time:year", 1, [""] * 10, ["2001"] * 3 + ["2002"] * 6 + ["2003"], range(10))
    assert len(split.train) == 9, "rows of one date stay together, and 9 is nearer to 8 than 3"
    with pytest.raises(UserError, match="leaves no row in 'id'"):
        make_split("time:year", 1, [""] * 3, ["2001"] * 3, range(3))


MOLECULES = ["C" * n + end for n in range(1, 21) for end in ("O", "N", "Cl", "F")]


def table_of(molecules: list[str]) -> pd.DataFrame:
    days = pd.date_range("2024-01-01", periods=len(molecules)).strftime("%Y-%m-%d")
    return pd.DataFrame({"smiles": molecules, "y": np.arange(len(molecules)) % 7 + 0.5, "day": days})


def test_a_later_measurement_does_not_change_an_earlier_target(tmp_path: Path) -> None:
    table = table_of(MOLECULES)
    again = table.iloc[:4].assign(y=100.0, day="2024-12-31")
    same_day = table.iloc[:1].assign(y=2.5)
    both = pd.concat([table, again, same_day])
    problem = load_problem(described(tmp_path, both, task="regression", split="time:day", merge="mean"))
    assert len(problem.train) + len(problem.evals["id"]) == len(table)
    assert problem.train.y[:4].tolist() == [1.5, 1.5, 2.5, 3.5], "the mean of one day, and no value of December"


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> tuple[Problem, Problem, Problem]:
    """The old pool, the new one, and the new one after everything later than the old pool was changed."""
    table = table_of(MOLECULES)
    poisoned = table.copy()
    poisoned.loc[40:, "y"] = -50.0 - np.arange(len(table) - 40)
    poisoned.loc[40:, "smiles"] = ["Br" + "C" * (n + 1) + "Br" for n in range(len(table) - 40)]
    about = {"task": "regression", "split": "time:day", "features": ["morgan:64:2", "rdkit_descriptors"]}
    tomls = [described(tmp_path_factory.mktemp("time"), part, **about) for part in (table, poisoned)]
    settings = "@epochs=3@hidden=16"
    whole, changed = (load_problem(f"{toml}{settings}@train=60@new=20") for toml in tomls)
    return load_problem(f"{tomls[0]}{settings}@train=40"), whole, changed


def incumbent(sample: Sample) -> Model:
    """Return the model that remedies take for the one before an update: ERM on what was known then."""
    return make_method("erm", sample.task).learner.fit(before_update(sample))


def test_the_earlier_model_of_an_update_is_the_one_that_was_trained_then(problems) -> None:
    old, new, _ = problems
    sample = sample_for(new, "update", 1)[0]
    np.testing.assert_array_equal(before_update(sample).x, old.train.x)
    trained = retrain(make_method("erm", "regression"), old, (2,), "update")["id"].values[0]
    np.testing.assert_array_equal(incumbent(sample).predict(old.evals["id"].inputs), trained)


def test_no_row_of_the_future_and_no_test_row_reaches_an_earlier_model(problems) -> None:
    _, new, poisoned = problems
    assert not np.array_equal(new.train.y, poisoned.train.y)
    assert not np.array_equal(new.evals["id"].y, poisoned.evals["id"].y)
    ours, theirs = (incumbent(sample_for(of, "update", 1)[0]) for of in (new, poisoned))
    np.testing.assert_array_equal(ours.predict(new.train.inputs), theirs.predict(new.train.inputs))
    erm = make_method("erm", "regression")
    fresh, changed = (retrain(erm, of, (1,), "update")["id"].values for of in (new, poisoned))
    assert not np.array_equal(fresh, changed), "the new model does see them"


def test_random_pools_grow_by_their_new_rows() -> None:
    old, new = load_problem("b3db_measured@train=100"), load_problem("b3db_measured@train=150@new=50")
    np.testing.assert_array_equal(new.train.ids[new.earlier_rows], old.train.ids)
    assert load_problem("b3db_measured@train=150").earlier_rows is None
    with pytest.raises(UserError, match="new=149 is too many"):
        load_problem("b3db_measured@train=150@new=149")


def test_without_an_earlier_model_the_error_says_how_to_have_one() -> None:
    sample = sample_for(load_problem("b3db_measured@train=100"), "update", 1)[0]
    with pytest.raises(UserError, match="there is no earlier model: the method needs --sampling update and a variant"):
        before_update(sample)
