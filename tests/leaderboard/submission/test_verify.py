"""Rerunning a submitted method from its code."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.registry import make_method
from leaderboard.stats.intervals import Estimate, jackknife
from leaderboard.submission import verify
from leaderboard.submission.check import validate

from .conftest import TREES


@pytest.mark.slow
def test_what_the_code_gives_again_is_verified(good, monkeypatch):
    submission = validate(verify.newest(good.parents[1], "forest"))
    code = {"forest": f"random_forest:trees={TREES}"}
    monkeypatch.setattr(verify, "make_method", lambda name, task, **_: make_method(code[name], task))
    checks = verify.rerun(submission, "halves")
    assert [check.agrees for check in checks] == [True] * 4
    assert {(check.quantity, check.rerun) for check in checks} == {(c.quantity, c.submitted.value) for c in checks}
    (cell,) = verify.mark(submission, "halves", checks)
    assert (cell.title, cell.facts.status) == ("Forest elsewhere 1.0 (verified)", "verified")


def test_what_lies_outside_the_interval_does_not_agree():
    submitted = Estimate(0.20, 0.18, 0.22)
    agree = [verify.Check("bace", "churn", submitted, rerun).agrees for rerun in (0.17, 0.18, 0.22, 0.23)]
    assert agree == [False, True, True, False]


def test_where_retrainings_all_agree_a_rerun_has_to_be_the_same():
    submitted = jackknife([np.zeros((5, 5))])
    same, other = (verify.Check("bace", "churn", submitted, rerun) for rerun in (0.0, 0.01))
    assert same.agrees
    assert not other.agrees
    assert str(same) == "bace, churn: 0.0000, within the submitted 0.0000 [0.0000, 0.0000]"


def test_an_unknown_method_or_dataset_is_refused(good):
    with pytest.raises(UserError, match="unknown submission 'forst': did you mean 'forest'"):
        verify.newest(good.parents[1], "forst")
    with pytest.raises(UserError, match="'forest' has no results under paper: use --sampling halves"):
        verify.rerun(validate(good), "paper")
    with pytest.raises(UserError, match="unknown dataset 'bace'"):
        verify.rerun(validate(good), "halves", "bace")
    with pytest.raises(UserError, match="unknown method 'forest'"):
        verify.rerun(validate(good), "halves")
