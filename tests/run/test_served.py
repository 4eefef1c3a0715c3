"""Answers of a deployed model."""

import io
import json
import re
import runpy
from contextlib import redirect_stdout
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from mlflow.pyfunc.scoring_server import predictions_to_json

from benchmark.files import CHECKOUT
from benchmark.run import served
from benchmark.run.served import Served
from benchmark.types import Inputs

TABLE = pd.DataFrame({"n": [0, 1, 2, -1, 3]}, index=list("abcde"))


def by_row(table):
    """Features of a table with a column of row numbers; a negative one cannot be read."""
    good = table["n"].to_numpy() >= 0
    numbers = table["n"].to_numpy()[good]
    return Inputs(numbers[:, None], numbers.astype(str)), np.where(good, "", "negative").astype(object)


@dataclass
class Known:
    """Answers with known values (T, C)."""

    values: np.ndarray

    def predict(self, inputs):
        return self.values[inputs.x[:, 0]]


def model(task, *values):
    return Served(task, by_row, [Known(np.asarray(of)) for of in values])


def probabilities(*of_class_1):
    return np.stack([1 - np.array(of_class_1), np.array(of_class_1)], axis=1)


THREE = (probabilities(0.9, 0.4, 0.6, 0.1), probabilities(0.8, 0.7, 0.2, 0.3), probabilities(0.7, 0.1, 0.3, 0.2))


def test_of_three_classes_the_probability_is_that_of_the_predicted_one():
    values = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    answer = model("classification", values, values).predict(TABLE[:2])
    assert answer["prediction"].tolist() == [0, 2]
    assert answer["probability"].tolist() == pytest.approx([0.5, 0.7])


def test_the_first_retraining_answers_and_stability_is_the_share_of_the_others_that_agree():
    answer = model("classification", *THREE).predict(TABLE.drop(index="d"))
    assert answer["prediction"].tolist() == [1, 0, 1, 0]
    assert answer["probability"].tolist() == pytest.approx([0.9, 0.4, 0.6, 0.1])
    assert answer["stability"].tolist() == [1, 0.5, 0, 1]
    assert answer["reason"].tolist() == [None] * 4
    assert (answer["prediction"].dtype, answer["stability"].dtype) == (np.int64, np.float64)
    assert answer.index.tolist() == list("abce")


def test_the_spread_of_a_regression_is_the_standard_deviation_of_all_retrainings():
    answer = model("regression", [[1.0], [2.0]], [[2.0], [2.0]], [[6.0], [2.0]]).predict(TABLE.iloc[:2])
    assert answer["prediction"].tolist() == [1, 2]
    assert answer["spread"].tolist() == pytest.approx([7**0.5, 0])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_row_that_cannot_be_read_has_a_reason_and_no_numbers(task):
    values = THREE if task == "classification" else [of[:, 1:] for of in THREE]
    answer = model(task, *values).predict(TABLE)
    whole = model(task, *values).predict(TABLE.drop(index="d"))
    names = list(served.OUTPUTS[task])
    assert answer.columns.tolist() == [*names, "reason"]
    assert answer.loc["d"].tolist() == [*[None] * len(names), "negative"]
    predictions_to_json(answer, written := io.StringIO())
    rows = json.loads(written.getvalue(), parse_constant=pytest.fail)["predictions"]  # strict JSON, without NaN
    assert rows[3] == dict.fromkeys(names) | {"reason": "negative"}
    assert answer.drop(index="d").astype(whole.dtypes).equals(whole)
    assert model(task, *values).predict(TABLE.loc[["d"]]).loc["d", "reason"] == "negative"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_single_retraining_says_nothing_of_stability(task):
    answer = model(task, THREE[0] if task == "classification" else THREE[0][:, 1:]).predict(TABLE.iloc[:2])
    assert answer[list(served.OUTPUTS[task])[-1]].tolist() == [None, None]


def test_no_rows_give_no_answers():
    assert len(model("classification", *THREE).predict(TABLE.iloc[:0])) == 0


@pytest.mark.slow
def test_the_table_on_stability_is_what_the_published_retrainings_give():
    text = (CHECKOUT / "docs" / "deploy.md").read_text(encoding="utf-8")
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(CHECKOUT / "docs" / "_build" / "stability.py"))
    lines = printed.getvalue().splitlines()
    assert len(lines) == 6
    assert [line for line in text.splitlines() if re.match(r"\| (erm|twin) \|", line)] == lines
