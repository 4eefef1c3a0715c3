"""What a cell is kept under, beside the data: the parts behind its predictions."""

import re

import pytest

from benchmark.learners.chemberta import ChemBERTa
from benchmark.registry import discover, make_method
from benchmark.run.revisions import code_of


@pytest.mark.parametrize(
    ("text", "learner"), [("erm", "chemberta"), ("chemberta", ""), ("bagging", "chemberta:lr=1e-4")]
)
def test_other_pretrained_weights_are_another_part(text: str, learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChemBERTa, "requires", ())
    found = []
    for digest in ("0123456789abcdef", "fedcba9876543210"):
        monkeypatch.setattr(ChemBERTa, "weights", lambda self, digest=digest: digest)
        found.append(code_of(make_method(text, "classification", learner=learner)).split())
    (before, after) = ({*parts} for parts in found)
    assert before - after == {"weights@0123456789abcdef"}
    assert after - before == {"weights@fedcba9876543210"}


def test_weights_of_the_datasets_own_learner_are_in_the_fingerprint_of_the_data(monkeypatch):
    monkeypatch.setattr(ChemBERTa, "requires", ())
    own = make_method("erm", "classification", backbone="chemberta")
    assert code_of(own) == "erm@1 chemberta@1 trainer@1 paper@1"


def test_every_part_of_the_suite_has_a_revision() -> None:
    parts, unavailable = discover()
    assert unavailable == {}
    assert [name for name, cls in parts.items() if cls.revision is None] == []


def test_a_new_file_without_a_revision_is_kept_under_its_content_even_in_the_suites_folder(monkeypatch):
    bagging = make_method("bagging", "classification")
    assert code_of(bagging) == "bagging@1 mlp@1 trainer@1 paper@1"
    monkeypatch.setattr(type(bagging.remedy), "revision", None)
    assert re.fullmatch(r"bagging@[0-9a-f]{16} mlp@1 trainer@1 paper@1", code_of(bagging))
