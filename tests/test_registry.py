"""Pipelines by name: discovery, parsing, corrections, spelling; and people's own code."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from benchmark import learners
from benchmark.commands.methods import new_method
from benchmark.errors import UserError
from benchmark.files import CHECKOUT
from benchmark.pipeline import Learner, Remedied, Remedy, learner, method, registered
from benchmark.registry import (
    discover,
    doubtful_lambda,
    find,
    learner_of,
    load_file,
    make_method,
    path_of,
    spelled,
    title,
)
from benchmark.run.check import synthetic
from benchmark.run.code import code_of
from benchmark.run.runner import retrain
from benchmark.settings import parse_settings
from benchmark.types import REFERENCE

METHODS, UNAVAILABLE = discover()


def test_a_folder_of_ones_own_methods_does_not_hide_those_of_the_suite(tmp_path):
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "mine.py").touch()
    found = subprocess.check_output([sys.executable, "-c", "import methods; print(methods.__file__)"], cwd=tmp_path)
    assert Path(found.decode().strip()) == CHECKOUT / "methods" / "__init__.py"


@pytest.mark.parametrize("name", ["svm", "twin"])
def test_a_method_of_ones_own_cannot_be_called_like_one_of_the_suite(write_files, name):
    with pytest.raises(UserError, match=f"^the suite has a method '{name}': choose another name"):
        new_method(name)
    write_files({f"{name}.py": "import numpy"})  # a module of one's own, which registers nothing
    assert find(name)[0].name == name
    write_files({f"{name}.py": "from benchmark.pipeline import Remedy"})
    with pytest.raises(UserError, match=rf"{name}\.py: the suite has a method '{name}': rename your file"):
        find(name)


def test_every_file_of_remedies_or_learners_is_one_of_that_name_but_the_family_of_scikit_learn():
    remedies = {path.stem for path in (CHECKOUT / "methods").glob("[a-z]*.py")}
    trained = {path.stem for path in (CHECKOUT / "benchmark" / "learners").glob("[a-z]*.py")} - {"sklearn"}
    assert {name for name, cls in METHODS.items() if issubclass(cls, Remedy)} == remedies
    assert {name for name, cls in METHODS.items() if issubclass(cls, Learner)} == trained
    assert trained == {*learners.names()} - {"sklearn"}
    assert REFERENCE in remedies
    assert not UNAVAILABLE
    assert [name for name, cls in METHODS.items() if cls.revision is None] == []


@pytest.mark.parametrize(("name", "task"), [(name, task) for name in METHODS for task in METHODS[name].tasks])
def test_a_name_alone_gives_the_defaults_and_is_how_they_are_spelled(name, task):
    for module in METHODS[name].requires:
        pytest.importorskip(module)
    instance = make_method(name, task, backbone="none" if name == "mlp" else "mlp")
    cls = METHODS[name]
    defaults = {field.name: field.default for field in fields(cls) if field.name not in cls.later}
    assert instance.head.params == defaults | dict(METHODS[name].regression if task == "regression" else {})
    assert spelled(instance, task) == name


@pytest.mark.parametrize(
    ("text", "overrides", "expected"),
    [
        ("twin:lam=1e-2:members=3", {}, {"lam": 0.01, "members": 3}),
        ("twin:lam=30", {"lam": "10", "k": "7"}, {"lam": 30.0, "members": 2}),
        ("bagging", {"lam": "10", "k": "7"}, {"k": 7}),
    ],
)
def test_hyperparameters_are_parsed_and_overridden_where_the_method_has_them(text, overrides, expected):
    instance = make_method(text, "classification", overrides)
    assert instance.head.params == expected
    assert [type(value) for value in instance.head.params.values()] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("twins", "unknown method 'twins': did you mean 'twin' or 'twin_shared' or 'twin_shared_one'?"),
        ("???", f"unknown method '???': known: {', '.join(sorted([*METHODS, 'sklearn']))}"),
        ("x" * 300, "unknown method 'xxx"),
        ("twin:lamda=3", "unknown hyperparameter of twin: 'lamda': did you mean 'lam'?"),
        ("erm:k=3", "unknown hyperparameter of erm: 'k': known: none"),
        ("bagging:k=five", "bagging: k=five: Input should be a valid integer"),
        ("bagging:k=0", "bagging: k=0: Input should be greater than 0"),
        ("mc_dropout:p=1", "mc_dropout: p=1: Input should be less than 1"),
        ("twin:lam=1:lam=2", "twin:lam=1:lam=2: lam is given twice"),
        ("twin:lam=", "twin:lam=: expected NAME=VALUE, found 'lam='"),
        ("twin:lam=nan", "twin: lam"),
        ("here/mine.py", "here/mine.py: put the file into "),
    ],
)
def test_a_mistake_is_answered_with_what_is_wrong_and_what_is_meant(text, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        make_method(text, "classification")


def test_settings_are_separated_by_commas_which_lists_have_too_and_given_once():
    of_lists = {"tuned": "1,3", "trials": "9", "knob": "a@train=5,b"}
    assert parse_settings(["tuned=1,3,trials=9", "", "knob=a@train=5,b,"]) == of_lists
    with pytest.raises(UserError, match="--set: k is given twice"):
        parse_settings(["lam=30,k=2", "k=3"])


def test_a_learner_alone_is_erm_with_it():
    assert make_method("svm:C=3", "classification") == make_method("erm", "classification", learner="svm:C=3")
    alone = make_method("svm:C=3", "classification", {"C": "9"})
    assert (alone.name, alone.remedy.name, alone.head.params["C"]) == ("svm", "erm", 3)
    assert (spelled(alone, "classification"), learner_of(alone, "classification")) == ("svm:C=3.0", "")
    for text, used in (("svm", ""), ("erm", "svm")):
        made = make_method(text, "classification", {"C": "9"}, learner=used)
        assert made.learner == METHODS["svm"](C=9.0)
    with pytest.raises(UserError, match="svm is a learner itself: name a remedy, as in --method bagging --lea"):
        make_method("svm", "classification", learner="knn")


def test_the_learner_of_the_dataset_named_by_hand_makes_no_difference():
    for name in ("mlp", "gin"):
        assert make_method("bagging", "classification", None, name, learner=name) == make_method(
            "bagging", "classification", None, name
        )
    assert make_method("bagging", "classification", learner="mlp:epochs=3").chosen


def test_a_remedy_can_be_the_learner_of_another():
    bagged = make_method("bagging:k=2", "classification", learner="label_smoothing")
    assert isinstance(bagged.learner, Remedied)
    assert (bagged.learner.remedy, bagged.base) == (METHODS["label_smoothing"](), METHODS["mlp"]())
    spelling = spelled(bagged, "classification"), learner_of(bagged, "classification")
    assert spelling == ("bagging:k=2", "label_smoothing")
    assert title(bagged, "classification").startswith("Bagging K=2 · ")
    assert make_method("erm", "classification", learner="label_smoothing") == make_method(
        "label_smoothing", "classification"
    )


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("twin:lam=0.5:members=3", {}, "Twin-bootstrap λ=0.5, members=3"),
        ("mc_dropout:p=0.5:passes=20", {}, "MC dropout, p=0.5"),
        ("erm", {"learner": "mlp:epochs=3"}, "Perceptron, epochs=3"),
        ("erm", {"features": "atom_pairs.4096+rdkit_descriptors"}, "ERM · atom pairs + RDKit descriptors"),
        ("bagging:k=2", {"learner": "svm:C=3", "features": "minimol"}, "Bagging K=2 · SVM, C=3.0 · MiniMol"),
    ],
)
def test_a_title_tells_variants_learners_and_features_apart(text, given, expected):
    assert title(make_method(text, "classification", **given), "classification") == expected


@pytest.mark.usefixtures("own_registry")
def test_two_files_cannot_register_one_name_nor_one_that_of_a_method_of_the_suite():
    @dataclass(frozen=True)
    class Other(Remedy):
        def fit(self, sample, learner):
            return learner.fit(sample)

    for name in ("erm", "svm"):
        registered.pop(name, None)  # the suite's need not have been imported
        with pytest.raises(ValueError, match=f"'{name}': the suite has one of this name: choose another"):
            method(name, title="Other")(Other)
    method("other", title="Other")(Other)
    with pytest.raises(ValueError, match=r"'other' is registered by .*test_registry and by elsewhere"):
        method("other", title="Other")(type("Other", (Other,), {"__module__": "elsewhere"}))


@pytest.mark.usefixtures("own_registry")
def test_two_classes_of_a_file_cannot_register_one_name_while_an_edited_file_may_register_it_again(tmp_path):
    template = (CHECKOUT / "methods" / "_template.py").read_text(encoding="utf-8")
    one = template.replace("NAME", "mine").replace("TITLE", "Mine")
    other = re.sub(r"\bclass \w+", "class Other", one)
    path = tmp_path / "mine.py"
    for source in (one, one, other):
        path.write_text(source, encoding="utf-8")
        load_file(path)
    path.write_text(one + other, encoding="utf-8")
    with pytest.raises(UserError, match=r"'mine': \w+ and Other of a file register it: rename one"):
        load_file(path)


@pytest.mark.usefixtures("own_registry")
def test_the_fields_of_a_method_are_its_hyperparameters_which_are_checked_and_given_if_they_have_no_default():
    @method("plain", title="Plain")
    class Plain(Remedy):
        depth: int | None
        k: int = 5
        rate: float = 0.1

        def fit(self, sample, learner):
            return learner.fit(sample)

    with pytest.raises(UserError, match=r"^plain: depth: Field required$"):
        make_method("plain", "classification")
    made = make_method("plain:depth=4", "classification")
    assert (made.head.params, spelled(made, "classification")) == ({"depth": 4, "k": 5, "rate": 0.1}, "plain:depth=4")
    made = make_method("plain:depth=none", "classification")
    assert (made.head.params["depth"], spelled(made, "classification")) == (None, "plain:depth=None")
    with pytest.raises(UserError, match=r"plain: k=none: Input should be a valid integer"):
        make_method("plain:depth=4:k=none", "classification")
    with pytest.raises(ValueError, match="valid integer"):
        Plain(depth=1, k="many")
    with pytest.raises(UserError, match=r"plain: rate=nan: Input should be a finite number"):
        make_method("plain:depth=4:rate=nan", "classification")


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("x = (", "cannot be imported: SyntaxError"),
        ("x = 1", "expected one class with @method(...) or @learner(...), found 0"),
    ],
)
def test_a_file_without_a_method_is_an_error_that_names_it(tmp_path, source, message):
    path: Path = tmp_path / "mine.py"
    path.write_text(source, encoding="utf-8")
    with pytest.raises(UserError, match=f"^{re.escape(f'{path}: {message}')}"):
        load_file(path)


def test_the_default_lambda_is_that_which_was_selected_for_the_learner():
    for lam, given in ((300, {}), (10, {"backbone": "gin"}), (10, {"learner": "gin"})):
        assert make_method("twin", "classification", **given).head.params["lam"] == lam
    assert make_method("twin", "classification", backbone="gin", learner="mlp").head.params["lam"] == 300


def test_a_lambda_that_nobody_selected_for_the_learner_is_doubted():
    said = doubtful_lambda(make_method("twin", "regression", learner="gin"), "regression")
    assert "λ=3 was selected for another learner" in said
    assert "study lambda-rule --learner gin" in said
    assert said == doubtful_lambda(make_method("twin", "regression", backbone="gin"), "regression")
    for text, task, backbone in [
        ("twin", "regression", "mlp"),
        ("twin:lam=1", "regression", "gin"),
        ("twin", "classification", "gin"),
        ("erm", "regression", "gin"),
    ]:
        assert doubtful_lambda(make_method(text, task, backbone=backbone), task) == ""


OWN = """
from dataclasses import dataclass

import numpy as np

from benchmark.pipeline import Remedy, method


@method("mine", title="Mine")
@dataclass(frozen=True)
class Mine(Remedy):
    def fit(self, sample, learner):
        return Constant(SHARE)


@dataclass(frozen=True)
class Constant:
    share: float

    def predict(self, inputs):
        return np.full((len(inputs), 2), [1 - self.share, self.share])
"""


def own(share: str, imports: str = "", fields: str = "") -> str:
    """Return the code of a method that predicts a constant probability."""
    code = f"{imports}\n{OWN}".replace("SHARE", share)
    return code.replace("class Mine(Remedy):\n", f"class Mine(Remedy):\n    {fields}\n\n")


@pytest.fixture
def undiscovered() -> Iterator[None]:
    """The methods are looked for in the files of this test, and again in those of the next."""
    discover.cache_clear()
    yield
    discover.cache_clear()


def test_a_method_in_a_file_of_another_name_is_found_and_the_file_says_what_it_lacks(write_files, undiscovered):
    write_files({"copied.py": own("0.25")})
    assert find("mine")[0].name == "mine"
    write_files({"unseen.py": "from benchmark import pipeline\n"})
    for name in ("copied", "unseen"):
        with pytest.raises(UserError, match=rf"{name}\.py: registers no '{name}': expected this name, "):
            find(name)


def predicted(text: str = "mine") -> float:
    """Return the probability that the constant method predicts."""
    problem = synthetic("classification")
    values = retrain(make_method(text, problem.task), problem, [1])["id"].values
    return float(values[0, 0, 1])


@pytest.mark.parametrize("package", [{}, {"__init__.py": ""}], ids=["folder", "package"])
def test_a_file_in_the_users_folder_is_a_method_even_if_that_is_a_package_itself(write_files, package):
    files = {"mine.py": own("0.25"), "notes.py": "raise SystemExit", "_mine.py": own("0.5"), "other.py": ""}
    folder = write_files(package | files | {"mine.v2.py": own("0.75").replace('"mine"', '"mine.v2"')})
    assert (predicted(), predicted("mine.v2")) == (0.25, 0.75)
    before = code_of(make_method("mine", "classification"))
    assert before.split()[0].startswith("mine@")
    (folder / "other.py").write_text("changed = True")
    assert code_of(make_method("mine", "classification")) == before


def test_a_file_with_a_mistake_says_so_when_it_is_asked_for_and_stops_no_other(write_files, undiscovered):
    half = own("0.5").replace("mine", "half") + "\nraise ValueError('half of it')\n"
    write_files({"mine.py": own("0.25"), "broken.py": "from benchmark.pipeline import remedy", "half.py": half})
    early = own("SHARE", "from pathlib import Path\nSHARE = float(Path(__file__).with_name('share.txt').read_text())")
    write_files({"early.py": early.replace("mine", "early"), "share.txt": "0.25"})
    folder = write_files({"typed.py": own("0.25", fields="k: 'Nope' = 2").replace("mine", "typed")})
    (folder / ".#mine.py").symlink_to("me@host.123")  # Emacs, beside a file with unsaved changes
    for name, said in {
        "broken": r"'broken' is not available: .*broken\.py: cannot import name 'remedy'",
        "half": r"'half' is not available: .*half\.py: ValueError: half of it",
        "early": r"early\.py: it reads share\.txt as it is imported: read it in fit, by path_of, and add it to files",
        "typed": r"typed\.py: the type of a hyperparameter of typed: name 'Nope' is not defined",
    }.items():
        with pytest.raises(UserError, match=said):
            make_method(name, "classification")
    assert predicted() == 0.25


IN_A_PACKAGE = {
    "mine/__init__.py": "from mine.method import Mine  # of benchmark.pipeline\n",
    "mine/method.py": own("nets.SHARE", "from . import nets"),
    "mine/nets.py": "SHARE = 0.125\n",
}


@pytest.mark.parametrize("imports", ["from . import nets", "import mine.nets as nets"])
def test_a_file_that_belongs_to_a_package_finds_its_neighbours(write_files, tmp_path, imports):
    files = {"__init__.py": "", "method.py": own("nets.SHARE", imports), "nets.py": "SHARE = 0.75\n"}
    folder = write_files({f"mine/{name}": content for name, content in files.items()}).rename(tmp_path / "elsewhere")
    method = folder / "mine" / "method.py"
    assert load_file(method).name == "mine"
    assert predicted() == 0.75
    method.write_text(own("0.5"))
    load_file(method)
    assert predicted() == 0.5


def test_a_package_that_python_does_not_find_because_of_another_is_named(write_files):
    folder = write_files({"json/__init__.py": "", "json/method.py": own("0.25")})
    with pytest.raises(UserError, match=r"method\.py: .* Python finds another package json, at .*: rename this one"):
        load_file(folder / "json" / "method.py")


WEIGHTS = np.arange(4.0).tobytes()
READS = own(
    "np.frombuffer(path_of(self, 'prior.bin').read_bytes())[1] / 4",
    "from benchmark.registry import path_of",
    "files = FILES",
)


def declaring(**files: bytes) -> str:
    """Return the code of a method that reads ``prior.bin`` and declares files of this content."""
    declared = {f"{name}.bin": hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return READS.replace("FILES", repr(declared))


def test_a_file_is_read_if_it_is_declared_and_intact(write_files):
    folder = write_files({"mine.py": declaring(prior=WEIGHTS), "prior.bin": WEIGHTS})
    assert predicted() == 0.25
    assert path_of(registered["mine"], "prior.bin") == folder / "prior.bin"
    (folder / "prior.bin").write_bytes(WEIGHTS[::-1])
    message = r"prior\.bin: mine declares sha256 [0-9a-f]{64}, found [0-9a-f]{64}: restore"
    with pytest.raises(UserError, match=message):
        code_of(make_method("mine", "classification"))
    (folder / "prior.bin").unlink()
    with pytest.raises(RuntimeError, match=r"prior\.bin: mine declares sha256 [0-9a-f]{64}, found no such file"):
        predicted()
    write_files({"mine.py": declaring(other=WEIGHTS), "prior.bin": WEIGHTS, "other.bin": WEIGHTS})
    load_file(folder / "mine.py")
    with pytest.raises(RuntimeError, match=r"mine reads prior\.bin without declaring it: add it to its files"):
        predicted()


def test_an_edit_of_any_file_of_its_package_is_another_code(write_files):
    folder = write_files(IN_A_PACKAGE | {"mine/more/deep.py": "", "beside.py": ""})
    method = make_method("mine", "classification")
    assert predicted() == 0.125
    before = code_of(method)
    (folder / "beside.py").write_text("changed = True")
    assert code_of(method) == before
    codes = {before}
    for edited in ("mine/method.py", "mine/nets.py", "mine/__init__.py", "mine/more/deep.py"):
        (folder / edited).write_text(f"{(folder / edited).read_text()}\n# changed")
        codes.add(code_of(method))
    assert len(codes) == 5


def test_an_edit_of_its_file_or_of_a_declared_one_is_another_code(write_files):
    folder = write_files({"mine.py": declaring(prior=WEIGHTS), "prior.bin": WEIGHTS})
    first = code_of(make_method("mine", "classification"))
    (folder / "prior.bin").write_bytes(WEIGHTS[::-1])
    (folder / "mine.py").write_text(declaring(prior=WEIGHTS[::-1]))
    load_file(folder / "mine.py")
    second = code_of(make_method("mine", "classification"))
    (folder / "mine.py").write_text(declaring(prior=WEIGHTS[::-1]) + "# changed")
    assert len({first, second, code_of(make_method("mine", "classification"))}) == 3


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("base", "fit", "message"),
    [
        (Learner, lambda self, x, y: None, r"Plain defines fit\(self, x, y\): expected fit\(self, sample\)"),
        (Learner, Learner.fit, r"Plain does not train: define fit\(self, sample\)"),
        (object, Learner.fit, r"derive Plain from benchmark\.pipeline\.Remedy or Learner"),
    ],
)
def test_another_kind_of_class_or_fit_is_refused_as_it_is_registered(base, fit, message):
    with pytest.raises(TypeError, match=rf"^method 'plain': {message}$"):
        method("plain", title="Plain")(type("Plain", (base,), {"fit": fit}))


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("about", "attributes", "message"),
    [
        ({"title": "Plain {}"}, {}, "its title names '', which is none of its hyperparameters"),
        ({"title": " "}, {}, "' ' has 0 characters: expected 1 to 200"),
        ({}, {"files": ["a"]}, r"files = \['a'\]: Input should be a valid (mapping|dictionary)"),
        ({}, {"files": {"a": 3}}, r"files = \{'a': 3\}: Input should be a valid string"),
        ({}, {"requires": "numpy"}, "requires = 'numpy': Input should be a valid tuple"),
        ({}, {"samplings": ()}, r"samplings = \(\): Tuple should have at least 1 item"),
        ({}, {"grid": ("depth",)}, r"grid = \('depth',\): Input should be a valid (mapping|dictionary)"),
        ({"title": None}, {}, "title = None: Input should be a valid string"),
        ({"title": "Pl\u200bain"}, {}, r"'Pl\\u200bain' has the invisible character U\+200B; remove it"),
        ({"regression": {"dept": 3}}, {}, "its regression names 'dept', which"),
        ({}, {"grid": ({"depth": 1}, {"dept": 3})}, "its grid names 'dept', which"),
        ({}, {"grid": [{"depth": d} for d in range(13)]}, r"grid = .*: Value should have at most 12 items"),
        (
            {},
            {"grid": ({"depth": 1}, {"depth": "many"})},
            "in its grid, depth = .many.: Input should be a valid int",
        ),
        ({"regression": {"depth": "a"}}, {}, "in its regression or regression_grid, depth = 'a': Input should be a va"),
        ({}, {"grid": ({"depth": 2}, {"depth": 3})}, "its grid lacks the default: add {} at its place in the order"),
        ({"regression": {"depth": 3}}, {"regression_grid": ({"depth": 1},)}, "its regression_grid lacks the default"),
        ({}, {"swept": "dept"}, "its swept names 'dept', which"),
        ({}, {"offers": {"foo"}}, r"offers = \{'foo'\}: Input should be 'networks', 'modules', "),
        ({"tasks": "regression"}, {}, "tasks = 'regression': 'str' instances are not allowed as a Sequence value"),
        ({}, {"tasks": "regression"}, "tasks = 'regression': 'str' instances are not allowed as a Sequence value"),
        ({}, {"regression": {"dept": 3}}, "its regression names 'dept', which"),
        ({}, {"__annotations__": {"title": str}, "title": "x"}, "a hyperparameter cannot be called 'title', which has"),
    ],
)
def test_a_name_that_an_author_mistypes_is_refused_as_the_method_is_registered(about, attributes, message):
    given = {"__annotations__": {"depth": int}, "depth": 1, "fit": lambda self, sample: None, **attributes}
    with pytest.raises(ValueError, match=rf"^method 'plain': {message}"):
        learner("plain", **{"title": "Plain", **about})(type("Plain", (Learner,), given))


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize("where", ["class", "decorator"])
def test_the_tasks_and_the_defaults_of_regression_may_stand_in_the_class_or_beside_its_name(where):
    about = {"tasks": ("regression",), "regression": {"depth": 2}}
    given = {"__annotations__": {"depth": int}, "depth": 1, "fit": lambda self, sample: None}
    inside, beside = (about, {}) if where == "class" else ({}, about)
    made = learner("plain", title="Plain", **beside)(type("Plain", (Learner,), given | inside))
    assert (made.tasks, make_method("plain", "regression").head.params) == (("regression",), {"depth": 2})


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize("name", ["a,b", "bad:k=2", "", "x" * 65])
def test_a_name_that_no_command_or_store_could_read_is_refused_as_the_method_is_registered(name):
    with pytest.raises(ValueError, match="expected at most 64 letters, digits"):
        learner(name, title="Odd")(type("Odd", (Learner,), {"fit": lambda self, sample: None}))


@pytest.mark.usefixtures("own_registry")
def test_a_hyperparameter_may_be_called_kind_but_not_have_a_default_of_another_type():
    for name, default in (("kind", 3), ("depth", "three")):
        given = {"__annotations__": {name: int}, name: default, "fit": lambda self, sample: None}
        learner(name, title="Plain")(type(name.title(), (Learner,), given))
    assert code_of(make_method("kind", "classification")).startswith("kind@")
    with pytest.raises(UserError, match=r"^depth: depth.*Input should be a valid integer"):
        make_method("depth", "classification")
