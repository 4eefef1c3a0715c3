"""What a cell is kept under, beside the data: the parts behind its predictions."""

import re
from dataclasses import replace

import pytest

from benchmark.errors import UserError
from benchmark.learners.chemberta import ChemBERTa
from benchmark.pipeline import Pipeline
from benchmark.registry import load_file, make_method
from benchmark.run.code import code_of
from tests.test_registry import own


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


def test_a_new_file_without_a_revision_is_kept_under_its_content_even_in_the_suites_folder(monkeypatch):
    bagging = make_method("bagging", "classification")
    assert code_of(bagging) == "bagging@1 mlp@1 trainer@1 paper@1"
    monkeypatch.setattr(type(bagging.remedy), "revision", None)
    assert re.fullmatch(r"bagging@[0-9a-f]{16} mlp@1 trainer@1 paper@1", code_of(bagging))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("morgan_cnts:4096:2", "unknown features 'morgan_cnts'.*did you mean 'morgan_counts'"),
        ("morgan:9", "expected m"),
    ],
)
def test_features_of_a_learner_that_do_not_exist_are_refused_by_name(name, message):
    with pytest.raises(UserError, match=message):
        code_of(replace(make_method("svm", "classification"), features=(name,)))


@pytest.mark.usefixtures("own_registry")
def test_a_module_beside_a_users_file_that_it_imports_is_part_of_its_content(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "constants_of_mine.py").write_text("import inner_of_mine as inner\nK = inner.K\n", encoding="utf-8")
    file = tmp_path / "mine.py"
    file.write_text(own("K", "from constants_of_mine import K"), encoding="utf-8")
    found = []
    for k in (1, 2, 1):
        (tmp_path / "inner_of_mine.py").write_text(f"K = {k}\n", encoding="utf-8")
        (tmp_path / "unused.py").write_text(f"K = {len(found)}\n", encoding="utf-8")
        found.append(code_of(Pipeline(load_file(file)(), make_method("erm", "classification").learner)))
    assert found[0] == found[2] != found[1]


@pytest.mark.usefixtures("own_registry")
def test_a_module_beside_a_users_file_that_python_cannot_read_is_no_reason_to_stop(tmp_path):
    (tmp_path / "scipy.py").write_text("print 'of another age'", encoding="utf-8")
    (tmp_path / "mine.py").write_text(own("0.5", "import scipy"), encoding="utf-8")
    mine = Pipeline(load_file(tmp_path / "mine.py")(), make_method("erm", "classification").learner)
    assert code_of(mine).startswith("mine@")
