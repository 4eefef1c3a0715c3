"""Any scikit-learn estimator by its import path: parsed, spelled and refused like a method of the suite.

``test_baselines`` has what it predicts.
"""

import pickle
import re
from importlib.metadata import version

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmark.errors import UserError
from benchmark.learners.sklearn import wrap
from benchmark.registry import make_method, spelled, title
from benchmark.run import runner
from benchmark.run.check import synthetic
from benchmark.run.code import code_of
from benchmark.run.driver import warnings as warned_of
from benchmark.train import bootstrap, sample_for
from benchmark.types import PAPER, Task

TREE = "sklearn:sklearn.tree.DecisionTreeClassifier"
LOGISTIC = "sklearn:sklearn.linear_model.LogisticRegression"
BAGGING = "sklearn:sklearn.ensemble.BaggingClassifier"  # max_features: 1.0 is all features, 1 is one
KMEANS = "sklearn:sklearn.cluster.KMeans"
VOTING = "sklearn:sklearn.ensemble.VotingClassifier"
RIDGE = "sklearn:sklearn.linear_model.Ridge"
SEEDS = [3, 1]


def test_without_probabilities_the_predicted_class_has_probability_one_and_a_warning_says_so(retrained):
    problem = synthetic("classification")
    method = make_method("sklearn:sklearn.svm.SVC", problem.task, {"C": "10"})
    (warning,) = warned_of([runner.plan(problem, method, seeds, dataset="b3db_measured") for seeds in ([1], [2])])
    assert warning.startswith("sklearn.svm.SVC gives no probabilities (no predict_proba)")
    assert make_method("sklearn:sklearn.svm.SVC:probability=true", problem.task).doubt == ""
    runs = retrained(problem, method, SEEDS).predict(problem.evals["id"].inputs)
    for seed, values in zip(SEEDS, runs, strict=True):
        (rows,) = bootstrap(sample_for(problem, PAPER, seed)[0])
        svc = SVC(C=10).fit(problem.train.x[rows].astype(float), problem.train.y[rows])
        np.testing.assert_array_equal(values, np.eye(2)[svc.predict(problem.evals["id"].x.astype(float))])
    kept = pickle.dumps(method)
    assert pickle.loads(kept) == method
    wrap.cache_clear()  # as in another process, which makes the class itself
    np.testing.assert_array_equal(
        retrained(problem, pickle.loads(kept), SEEDS).predict(problem.evals["id"].inputs), runs
    )


@pytest.mark.parametrize(
    ("text", "task", "spelling", "heading"),
    [
        (LOGISTIC, "classification", LOGISTIC, "LogisticRegression"),
        (LOGISTIC + ":C=10", "classification", LOGISTIC + ":C=10", "LogisticRegression, C=10"),
        (LOGISTIC + ":C=1.0", "classification", LOGISTIC, "LogisticRegression"),
        (LOGISTIC + ":fit_intercept=FALSE", "classification", LOGISTIC + ":fit_intercept=False",
         "LogisticRegression, fit_intercept=False"),
        (LOGISTIC + ":class_weight=balanced:solver=newton-cg", "classification",
         LOGISTIC + ":class_weight=balanced:solver=newton-cg",
         "LogisticRegression, class_weight=balanced, solver=newton-cg"),
        (TREE + ":max_depth=3:max_features=0.5", "classification", TREE + ":max_depth=3:max_features=0.5",
         "DecisionTreeClassifier, max_depth=3, max_features=0.5"),
        (BAGGING + ":max_features=1", "classification", BAGGING + ":max_features=1",
         "BaggingClassifier, max_features=1"),
        (RIDGE + ":alpha=1e-05:max_iter=NONE", "regression", RIDGE + ":alpha=1e-05", "Ridge, alpha=1e-05"),
    ],
)  # fmt: skip
def test_a_spelling_makes_the_method_again(text: str, task: Task, spelling, heading):
    method = make_method(text, task)
    assert spelled(method, task) == spelling
    assert title(method, task) == heading
    assert make_method(spelling, task) == method
    assert repr(make_method(spelling, task).head.params) == repr(method.head.params)
    assert not {"random_state", "n_jobs"} & set(method.head.params)


def test_all_its_parameters_are_part_of_a_cells_name_also_those_left_at_their_defaults():
    method = make_method(TREE + ":max_depth=3", "classification")
    expected = DecisionTreeClassifier(max_depth=3).get_params()
    assert method.head.params == {k: v for k, v in expected.items() if k != "random_state"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sklearn", "method 'sklearn:': expected an estimator's import path, as in sklearn:sklearn.svm.SVC"),
        ("sklearn:SVC", "method 'sklearn:SVC': expected an estimator's import path"),
        ("sklearn:a b.C", "method 'sklearn:a b.C': expected an estimator's import path"),
        ("sklearn:nowhere.C", "sklearn:nowhere.C: nowhere cannot be imported: ModuleNotFoundError: No module named"),
        ("sklearn:sklearn.svm", "sklearn:sklearn.svm: it is a module: name an estimator in it: LinearSVC, Linear"),
        ("sklearn:sklearn.svm.svc", "unknown estimator of sklearn.svm: 'svc': did you mean 'SVC'"),
        ("sklearn:os.system", "unknown estimator of os: 'system': known: none"),
        (KMEANS, f"{KMEANS}: neither a classifier nor a regressor"),
        (VOTING, f"{VOTING}: VotingClassifier.__init__() missing 1 required positional argument: 'estimators': it "
                 "needs parameters that the command line cannot give; write your own method (churn new"),
        (RIDGE, f"{RIDGE} learns regression, not classification: choose another method or dataset"),
        (TREE + ":max_dept=3", f"unknown hyperparameter of {TREE}: 'max_dept': did you mean 'max_depth'"),
        (TREE + ":random_state=3", f"unknown hyperparameter of {TREE}: 'random_state'"),
        (TREE + ":max_depth=deep", f"{TREE}: The 'max_depth' parameter of DecisionTreeClassifier must be"),
        (TREE + ":max_depth=f()", f"{TREE}: max_depth=f(): Value error, expected a number, true, false, none, or a"),
        (LOGISTIC + ":C=inf", f"{LOGISTIC}: C=inf: Value error, expected a number"),
        ("sklern:sklearn.svm.SVC", "unknown method 'sklern': did you mean 'sklearn' or 'blend'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_what_is_wrong_and_what_to_do(text, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        make_method(text, "classification")


OWN = """
from sklearn.base import BaseEstimator, ClassifierMixin

class Zeros(ClassifierMixin, BaseEstimator):
    def __init__(self, name="x", bonus=0.0, inner=None, table={}):
        self.name, self.bonus, self.inner, self.table = name, bonus, inner, table

    def fit(self, x, y):
        return self

    def predict(self, x):
        return [0] * len(x)
"""


def test_an_estimator_of_ones_own_is_trained_anew_when_its_file_changes_or_one_that_it_derives_from(
    tmp_path, monkeypatch
):
    path = tmp_path / "own_zeros.py"
    path.write_text(OWN)
    (tmp_path / "own_child.py").write_text("import own_zeros\n\n\nclass Child(own_zeros.Zeros):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    paths = ("own_zeros.Zeros", "own_child.Child")
    own, child = (make_method(f"sklearn:{name}:bonus=2", "classification") for name in paths)
    assert own.head.params == {"bonus": 2, "inner": None}  # ``name`` is an attribute of methods, ``table`` not plain
    before = code_of(own), code_of(child)
    assert re.fullmatch(r"sklearn:own_zeros.Zeros@[0-9a-f]{16} paper@1", before[0])
    path.write_text(OWN.replace("return self", "return self or None"))
    assert code_of(own) != before[0]
    assert code_of(child) != before[1]


def test_an_estimator_of_another_package_is_keyed_by_the_version_of_the_package():
    pytest.importorskip("lightgbm", reason="the extra [boosting] is not installed")
    method = make_method("sklearn:lightgbm.LGBMClassifier", "classification")
    assert code_of(method) == f"sklearn:lightgbm.LGBMClassifier@{version('lightgbm')} paper@1"


@pytest.mark.parametrize(("text", "task"), [(TREE, "classification"), (RIDGE, "regression")])
def test_the_contract_of_an_estimator_is_tried_on_the_task_that_it_learns(churn, text, task):
    said = churn("check", text, "--trust").replace("\n", "")
    assert said.endswith(f"{text} keeps the contract on {task}.")


def test_settings_are_no_part_of_a_method_to_be_checked(churn):
    said = "error: twin:lam=3: the check uses the defaults: leave out lam=3\n"
    assert churn("check", "twin:lam=3", code=2) == said
