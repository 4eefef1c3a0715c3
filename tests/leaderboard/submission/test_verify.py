"""Running a submitted method again from code."""

from __future__ import annotations

import pytest

from benchmark.errors import UserError
from benchmark.registry import make_method
from leaderboard.submission import verify
from leaderboard.submission.check import validate

from .conftest import TREES


def test_what_the_code_gives_again_is_verified_and_what_it_does_not_is_not(good, monkeypatch):
    found = validate(verify.newest(good.parents[1], "forest"))
    trees = {"forest": TREES}
    forest = lambda name, task: make_method(f"random_forest:trees={trees[name]}", task)  # noqa: E731
    monkeypatch.setattr(verify, "make_method", forest)
    checks = verify.rerun(found)
    assert [check.agrees for check in checks] == [True] * 4
    assert {(check.quantity, check.rerun) for check in checks} == {(c.quantity, c.submitted.value) for c in checks}
    (cell,) = verify.mark(found, checks)
    assert (cell.title, cell.about["status"]) == ("Forest elsewhere 1.0 (verified)", "verified")
    trees["forest"] = 1
    assert not all(check.agrees for check in verify.rerun(found))


def test_an_unknown_method_or_dataset_is_refused(good):
    with pytest.raises(UserError, match="unknown submission 'forst': did you mean 'forest'"):
        verify.newest(good.parents[1], "forst")
    with pytest.raises(UserError, match="unknown dataset 'bace'"):
        verify.rerun(validate(good), "bace")
    with pytest.raises(UserError, match="unknown method 'forest'"):
        verify.rerun(validate(good))
