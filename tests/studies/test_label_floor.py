"""What churn would be without label noise: which train seeds make a halving."""

import pytest

from benchmark.errors import UserError
from benchmark.registry import build
from benchmark.studies.label_floor import LabelFloor


@pytest.mark.parametrize(("seeds", "alone"), [("3", "3"), ("2,3,4", "2")])
def test_a_half_without_the_other_is_refused_before_training(told, seeds: str, alone: str) -> None:
    with pytest.raises(UserError, match=rf"one halving: {alone} without the other half; use an even count"):
        LabelFloor(dataset="bace", seeds=seeds).report(told(lambda dataset, method: (0, 0)))


def test_no_method_at_all_is_refused() -> None:
    with pytest.raises(UserError, match=r"^label-floor: methods is empty: give a value, or leave it out for erm svm$"):
        build(LabelFloor, "classification", {"methods": " "}, "setting")
