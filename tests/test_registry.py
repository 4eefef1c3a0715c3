"""Methods by name: discovery, parsing, corrections, spelling."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark import registry
from benchmark.errors import UserError
from benchmark.files import CHECKOUT
from benchmark.registry import (
    build,
    discover,
    doubtful_lambda,
    load_file,
    make_method,
    method,
    params,
    refuse_backbone,
    spelled,
    title,
)
from benchmark.settings import parse_settings
from benchmark.types import REFERENCE, Task

METHODS, UNAVAILABLE = discover()
TASKS: list[Task] = ["classification", "regression"]


@pytest.fixture
def own_registry(monkeypatch):
    """Discard a test's registrations after it."""
    monkeypatch.setattr(registry, "_methods", dict(registry._methods))


def test_a_folder_of_ones_own_methods_does_not_hide_those_of_the_suite(tmp_path):
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "mine.py").touch()
    found = subprocess.check_output([sys.executable, "-c", "import methods; print(methods.__file__)"], cwd=tmp_path)
    assert Path(found.decode().strip()) == CHECKOUT / "methods" / "__init__.py"


def test_every_file_in_methods_is_a_method_of_that_name_but_the_family_of_scikit_learn():
    files = {path.stem for path in (CHECKOUT / "methods").glob("[a-z]*.py")} - {"sklearn"}
    assert files == set(METHODS) | set(UNAVAILABLE)
    assert REFERENCE in METHODS
    assert not UNAVAILABLE


@pytest.mark.parametrize(("name", "task"), [(name, task) for name in METHODS for task in METHODS[name].tasks])
def test_a_name_alone_gives_the_defaults_and_is_how_they_are_spelled(name, task):
    instance = make_method(name, task)
    defaults = {field.name: field.default for field in fields(METHODS[name])}
    assert params(instance) == defaults | (METHODS[name].regression if task == "regression" else {})
    assert spelled(instance, task) == name


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ("twin:lam=30:members=3", {}, {"lam": 30.0, "members": 3}),
        ("twin:lam=1e-2", {}, {"lam": 0.01, "members": 2}),
        ("twin:lam=30", {"lam": "10", "k": "7"}, {"lam": 30.0, "members": 2}),
        ("twin", {"lam": "10", "k": "7"}, {"lam": 10.0, "members": 2}),
        ("bagging", {"lam": "10", "k": "7"}, {"k": 7}),
        ("erm", {"k": "7"}, {}),
    ],
)
def test_hyperparameters_are_parsed_and_overridden_where_the_method_has_them(text, overrides, expected):
    instance = make_method(text, "classification", overrides)
    assert params(instance) == expected
    assert [type(value) for value in params(instance).values()] == [type(value) for value in expected.values()]


def test_a_task_has_its_own_defaults_which_a_setting_overrules():
    assert params(make_method("twin", "classification"))["lam"] == 300
    assert params(make_method("twin", "regression"))["lam"] == 3
    assert params(make_method("twin:lam=300", "regression"))["lam"] == 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("twins", "unknown method 'twins': did you mean 'twin' or 'twin_shared' or 'twin_shared_one'?"),
        ("???", f"unknown method '???': known: {', '.join(sorted([*METHODS, 'sklearn']))}"),
        ("twin:lamda=3", "unknown hyperparameter of twin: 'lamda': did you mean 'lam'?"),
        ("erm:k=3", "unknown hyperparameter of erm: 'k': known: none"),
        ("bagging:k=five", "bagging: k=five: Input should be a valid integer"),
        ("bagging:k=0", "bagging: k=0: Input should be greater than 0"),
        ("swa:start=1", "swa: start=1: Input should be less than 1"),
        ("twin:lam=-1", "twin: lam=-1: Input should be greater than or equal to 0"),
        ("twin:members=1", "twin: members=1: Input should be greater than or equal to 2"),
        ("mc_dropout:p=1", "mc_dropout: p=1: Input should be less than 1"),
        ("twin:lam", "twin:lam: expected NAME=VALUE, found 'lam'"),
        ("twin:=3", "twin:=3: expected NAME=VALUE, found '=3'"),
        ("twin:lam=1:lam=2", "twin:lam=1:lam=2: lam is given twice"),
        ("twin:lam=", "twin:lam=: expected NAME=VALUE, found 'lam='"),
        ("twin:lam=nan", "twin: lam"),
        ("random_forest:trees=0", "random_forest: trees"),
    ],
)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_is_meant(text, message):
    with pytest.raises(UserError) as caught:
        make_method(text, "classification")
    assert str(caught.value).startswith(message)


def test_settings_are_separated_by_commas_which_lists_have_too_and_given_once():
    assert parse_settings(["lam=30,k=2", "p=0.1"]) == {"lam": "30", "k": "2", "p": "0.1"}
    with pytest.raises(UserError, match="--set: k is given twice"):
        parse_settings(["lam=30,k=2", "k=3"])
    with pytest.raises(UserError, match="expected NAME=VALUE, found 'lam'"):
        parse_settings(["lam"])
    assert parse_settings(["tuned=1,3,trials=9", "knob=a@train=5,b"]) == {
        "tuned": "1,3",
        "trials": "9",
        "knob": "a@train=5,b",
    }
    assert parse_settings(["", "k=2,"]) == {"k": "2"}


@given(
    st.sampled_from(TASKS),
    st.sampled_from(["mlp", "gin", "chemprop"]),
    st.one_of(
        st.builds(
            METHODS["twin"], st.one_of(st.sampled_from([3.0, 10.0, 300.0]), st.floats(0, 1e6)), st.integers(2, 9)
        ),
        st.builds(METHODS["swa"], st.floats(0, 1, exclude_max=True)),
        st.builds(METHODS["mc_dropout"], st.floats(0, 1, exclude_max=True), st.integers(1, 99)),
        st.builds(METHODS["bagging"], st.integers(1, 99)),
        st.builds(METHODS["erm"]),
    ),
)
def test_a_method_is_what_its_spelling_makes(task, backbone, instance):
    assert make_method(spelled(instance, task, backbone), task, backbone=backbone) == instance


@pytest.mark.parametrize(
    ("text", "task", "expected"),
    [
        ("erm", "classification", "ERM"),
        ("twin", "classification", "Twin-bootstrap λ=300"),
        ("twin", "regression", "Twin-bootstrap λ=3"),
        ("twin:lam=0.5:members=3", "classification", "Twin-bootstrap λ=0.5, members=3"),
        ("bagging:k=2", "classification", "Bagging K=2"),
        ("swa:start=0.75", "classification", "SWA, start=0.75"),
        ("mc_dropout:p=0.5:passes=20", "classification", "MC dropout, p=0.5"),
    ],
)
def test_a_title_tells_variants_apart(text, task, expected):
    assert title(make_method(text, task), task) == expected


@pytest.mark.usefixtures("own_registry")
def test_two_files_cannot_register_one_name():
    class Other:
        pass

    with pytest.raises(ValueError, match=r"'erm' is registered by methods\.erm and by .*test_registry"):
        method("erm", title="Other")(Other)


@pytest.mark.usefixtures("own_registry")
def test_a_method_that_is_no_dataclass_is_told_so(own_registry):
    with pytest.raises(TypeError, match="method 'plain': Plain is not a dataclass: put @dataclass"):

        @method("plain", title="Plain")
        class Plain:
            pass


def test_a_copy_of_the_template_anywhere_is_a_method(tmp_path):
    template = (CHECKOUT / "methods" / "_template.py").read_text(encoding="utf-8")
    path = tmp_path / "mine.py"
    path.write_text(template.replace("NAME", "mine").replace("TITLE", "Mine"), encoding="utf-8")
    instance = build(load_file(path), "classification", {"k": "3"})
    assert (instance.name, params(instance), title(instance, "classification")) == ("mine", {"k": 3}, "Mine k=3")


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "no such file"),
        ("import not_installed", "cannot be imported: ModuleNotFoundError: No module named 'not_installed'"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("x = (", "cannot be imported: SyntaxError"),
        ("x = 1", "expected one class with @method(...), found 0"),
    ],
)
def test_a_file_without_a_method_is_an_error_that_names_it(tmp_path, source, message):
    path: Path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.usefixtures("own_registry")
def test_a_hyperparameter_without_default_has_to_be_given():
    @method("demanding", title="Demanding")
    @dataclass(frozen=True)
    class Demanding:
        depth: int

    with pytest.raises(UserError, match=r"demanding: .*'depth'"):
        build(Demanding, "classification", {})
    instance = build(Demanding, "classification", {"depth": "4"})
    assert spelled(instance, "classification") == "demanding:depth=4"


def test_the_default_lambda_is_that_which_was_selected_on_the_backbone():
    assert params(make_method("twin", "classification", backbone="gin"))["lam"] == 10
    assert params(make_method("twin:lam=30", "classification", backbone="gin"))["lam"] == 30
    assert params(make_method("twin", "classification", {"lam": "3"}, backbone="gin"))["lam"] == 3
    assert params(make_method("twin", "classification", backbone="mlp"))["lam"] == 300
    assert params(make_method("erm", "classification", backbone="gin")) == {}


def test_a_lambda_that_nobody_selected_on_the_backbone_is_doubted():
    carried = make_method("twin", "regression", backbone="gin")
    assert "λ=3 was selected for another backbone" in doubtful_lambda(carried, "regression", "gin")
    assert "study lambda-rule --backbone gin" in doubtful_lambda(carried, "regression", "gin")
    for text, task, backbone in [
        ("twin", "regression", "mlp"),
        ("twin:lam=1", "regression", "gin"),
        ("twin", "classification", "gin"),
        ("erm", "regression", "gin"),
    ]:
        assert doubtful_lambda(make_method(text, task, backbone=backbone), task, backbone) == ""


def test_a_method_that_trains_no_networks_has_no_backbone():
    forest = make_method("random_forest", "classification")
    refuse_backbone(forest, "mlp")
    refuse_backbone(make_method("twin_overlap", "classification"), "gin")
    with pytest.raises(UserError, match=r"random_forest does not train with fit_stack, so it cannot have .* gin"):
        refuse_backbone(forest, "gin")
