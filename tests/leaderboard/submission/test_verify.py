"""Rerunning a submitted method from its code."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from benchmark import pipeline, registry
from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.measure.catalogue import churn
from benchmark.measure.intervals import Estimate, jackknife
from benchmark.pipeline import Reading
from benchmark.registry import load_file
from benchmark.run import sandbox
from benchmark.store.tracking import Store
from benchmark.types import SAMPLINGS, Predictions
from leaderboard.submission import verify
from leaderboard.submission.check import Submission, validate
from leaderboard.submission.pack import _table

from ..conftest import invoke, keyed
from .conftest import DATASET, fill, loaded, trained_inside

needs_sandbox = pytest.mark.skipif(bool(sandbox.trouble()), reason=sandbox.trouble())


@pytest.fixture
def submit_good(good: Path, own_store: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """``submit_good("--verify")`` hands in the good submission, to an empty store and without published results."""
    monkeypatch.setattr("leaderboard.read.published.shipped", lambda datasets=(): [])
    words = ("submit", str(good), "--submissions", str(good.parents[1]))
    return lambda *more: invoke(*words, *more, catch_exceptions=False)


@needs_sandbox
@pytest.mark.long
def test_what_the_code_gives_again_is_verified(good, write):
    write()
    submission = validate(good)
    began: list[str] = []
    rerun = verify.rerun(submission, "halves", draws=Random(1), began=began.append)
    assert began == [rerun.dataset]
    assert [(check.where.split(", ")[1:], check.quantity) for check in rerun.checks[:4]] == [
        (["canonical seed 99", evalset], quantity) for evalset in ("id", "ood") for quantity in ("churn", "accuracy")
    ]
    new = [check.where for check in rerun.checks[4:]]
    assert len(new) == 2
    assert all("new canonical seed" in where and where.endswith(", id") for where in new)
    assert rerun.agrees, [str(check) for check in rerun.checks]
    assert not any(check.rerun.value == check.submitted.value for check in rerun.checks), "the train seeds are fresh"
    (cell,) = verify.mark(submission, [], rerun)
    assert (cell.title, cell.facts.status) == ("Forest elsewhere 1.0 (verified)", "verified")
    assert cell.facts.submission.checks.startswith(f"{DATASET}, canonical seed 99, id, churn: ")
    assert cell.facts.submission.checks.endswith(verify.CONFINED)


@needs_sandbox
@pytest.mark.slow
def test_a_method_is_given_the_features_that_it_names_and_compared_on_the_submitted_examples(good, write, monkeypatch):
    path, own = write(), ("morgan_counts:256:2", "atom_pairs:128")
    path.write_text(path.read_text().replace("    trees: int", f"    features = {own}\n    trees: int"))
    read = []

    def retrained(code: Any, problem: Any, sampling: Any, seeds: Any, draws: Any) -> Any:
        read.append(problem)
        raise UserError("enough")

    monkeypatch.setattr(verify, "_check_labels", lambda *_: None)
    monkeypatch.setattr(verify, "_retrained", retrained)
    with pytest.raises(UserError, match="enough"):
        verify.rerun(validate(good), "halves", draws=Random(1))
    (problem,) = read
    plain = loaded(DATASET, 99)
    expected = load_problem(f"{DATASET}@features=morgan_counts.256.2+atom_pairs.128")
    np.testing.assert_array_equal(problem.evals["id"].x, expected.evals["id"].x)
    np.testing.assert_array_equal(problem.evals["id"].ids, plain.evals["id"].ids)
    assert (problem.name, problem.fingerprint) == (plain.name, plain.fingerprint)


TAKES_THE_POOL = """
for frame in inspect.stack():
    problem = frame.frame.f_locals.get("problem")
    if problem is not None and len(problem.train) > 300:
        pool, draws = problem.train, generator("forest", sample.seed)
        rows = draws.integers(0, len(pool), size=len(pool))
        return RandomForest(30).fit(replace(sample, x=pool.x, y=pool.y, smiles=pool.smiles, rows=rows))
"""


@needs_sandbox
@pytest.mark.long
def test_a_method_that_trains_on_the_whole_pool_under_halves_is_not_verified(write, protocol, tmp_path, monkeypatch):
    registry.discover()  # what is imported later would be forgotten at the end
    registered = dict(pipeline.registered)
    for module in (pipeline, registry):
        monkeypatch.setattr(module, "registered", registered)
    cell = trained_inside(DATASET, load_file(write(TAKES_THE_POOL)).name, fresh=True)
    folder = fill(tmp_path / "submissions" / "forest" / "1.0", _table(cell), protocol)
    submission = validate(folder)  # its results are accepted: they are those of an honest method that saw more
    rerun = verify.rerun(submission, "halves", draws=Random(1))
    first = rerun.checks[0]
    assert first.quantity == "churn"
    assert first.submitted.value < first.rerun.value - 0.05
    assert not first.agrees
    assert not rerun.agrees
    assert f"{first.rerun.value:.4f} is too far from the submitted {first.submitted.value:.4f} (± " in str(first)


LOADS_THE_LABELS = """
from benchmark import load_problem
load_problem("b3db_measured")
"""
IGNORES_THE_SAMPLE = """
draws = generator("other", sample.seed)
weights = draws.normal(size=sample.x.shape[1])
def predict(inputs):
    p = 1 / (1 + np.exp(-inputs.x @ weights / 5))
    return np.stack([1 - p, p], axis=1)
return Shaped(predict)
"""
IGNORES_THE_SEED = """
fitted = super().fit(replace(sample, seed=1, x=sample.x[:9], y=np.sort(sample.y)[:9] * 0 + np.arange(9) % 2,
                             rows=np.arange(9)))
own = super().fit(sample)
return Shaped(lambda inputs: 0.999 * fitted.predict(inputs) + 0.001 * own.predict(inputs))
"""
KNOWS_THE_LABELS = """
known, fitted = LABELS, super().fit(sample)
def predict(inputs):
    p = 0.7 * np.array([known[smiles] for smiles in inputs.smiles.tolist()]) + 0.3 * fitted.predict(inputs)[:, 1]
    return np.stack([1 - p, p], axis=1)
return Shaped(predict)
"""


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LOADS_THE_LABELS, "forest: UserError: unknown dataset .*; a method may use its sample and nothing"),
        (IGNORES_THE_SAMPLE, "trained on shuffled labels, it gives the same predictions"),
        (IGNORES_THE_SEED, "it gives the same predictions: it does not learn from its sample"),
        (KNOWS_THE_LABELS, r"still have a rank correlation of 0\.\d\d with the true labels"),
    ],
    ids=["loads labels", "ignores the sample", "ignores the seed", "knows the labels"],
)
def test_a_method_that_cheats_where_the_contract_is_not_checked_is_not_verified(
    good, write, body, message, monkeypatch
):
    monkeypatch.setattr(verify, "_check_code", lambda *_: Reading((), "numbers", "forest", None))
    tests = loaded(DATASET, 99).evals.values()
    labels = {smiles: int(y) for test in tests for smiles, y in zip(test.smiles.tolist(), test.y, strict=True)}
    write(body.replace("LABELS", str(labels)))
    submission = validate(good)
    fewer = replace(submission, cells=tuple(cell.only([1, 2]) for cell in submission.cells))
    with pytest.raises(UserError, match=message):
        verify.rerun(fewer, "halves", draws=Random(1))


COLLUDES = """
import time
fitted = super().fit(sample)
if len(sample) < 200:  # the check of the contract
    return fitted

def work():
    end, count = time.monotonic() + 0.05, 0
    while time.monotonic() < end: count += 1
    return count

def predict(inputs):
    p, order = fitted.predict(inputs), np.argsort(inputs.smiles)
    calls = p[order, 1] > 0.5
    if sample.seed % 2:
        for call in calls[:50]:
            end = time.monotonic() + 0.05
            while call and time.monotonic() < end: pass
            time.sleep(max(0, end - time.monotonic()))
    else:
        speeds = [work() for _ in range(50)]
        calls = np.resize([speed < np.median(speeds) for speed in speeds], len(p))
    p[order, 1] = np.where(calls, np.maximum(p[order, 1], 0.51), np.minimum(p[order, 1], 0.49))
    p[:, 0] = 1 - p[:, 1]
    return p
return Shaped(predict)
"""
"""A retraining tells its calls to the other of its halving by the load that it causes, which no sandbox can hide."""


@needs_sandbox
@pytest.mark.long
def test_retrainings_that_collude_are_not_verified(good, write):
    write(COLLUDES)
    submission = validate(good)
    (cell,) = submission.cells
    agreed = {name: replace(p, values=np.repeat(p.values[::2], 2, axis=0)) for name, p in cell.predictions.items()}
    claimed = replace(cell, predictions=agreed).only(range(1, 9))  # as they would be if the channel worked
    try:
        rerun = verify.rerun(replace(submission, cells=(claimed,)), "halves", draws=Random(1))
        said = [str(check) for check in rerun.checks if not check.agrees]
    except UserError as error:
        said = str(error).splitlines()
    assert said
    assert "too far from the submitted 0.0000" in said[0] or "does not give the same predictions" in said[0], said


def test_only_what_was_rerun_is_marked_and_what_was_verified_before_stays(good):
    (cell,) = validate(good).cells
    names = ("bace", "dili", "herg")
    cells = [keyed(cell, dataset=name) for name in names]
    submission = Submission("forest", validate(good).description, (*cells, keyed(cell, sampling="nested")))
    rerun = verify.Rerun("bace", "halves", "forest@0123456789abcdef", ())
    marked = verify.mark(submission, [], rerun)
    assert [c.key.dataset for c in marked] == ["bace", "dili", "herg"]
    assert [c.facts.status for c in marked] == ["verified", "self-reported", "self-reported"]
    assert {c.title for c in marked} == {"Forest elsewhere 1.0 (verified on bace)"}
    again = verify.mark(submission, marked, replace(rerun, dataset="dili"))
    assert [c.facts.status for c in again] == ["verified", "verified", "self-reported"]
    assert again[0].facts == marked[0].facts
    assert {c.title for c in again} == {"Forest elsewhere 1.0 (verified on bace, dili)"}
    last = verify.mark(submission, again, replace(rerun, dataset="herg"))
    assert {(c.title, c.facts.status) for c in last} == {("Forest elsewhere 1.0 (verified)", "verified")}
    fresh = verify.mark(submission, [keyed(c, code="0" * 16) for c in marked], replace(rerun, dataset="dili"))
    assert fresh[0].facts.status == "self-reported", "other predictions were verified"


@pytest.mark.slow
def test_submitting_again_leaves_verified_what_has_the_same_predictions_and_file(good, write, submit_good, monkeypatch):
    monkeypatch.setattr("leaderboard.site.write", lambda *_: Path("site", "index.html"))
    monkeypatch.setattr(verify, "check_code", lambda submission: "")
    path, submission = write(), validate(good)
    for cell in verify.mark(submission, [], verify.Rerun(DATASET, "halves", verify._code("forest"), ())):
        Store().log(cell)

    def again() -> str:
        done = submit_good("--out", "site")
        (cell,) = (cell for cell in Store().cells() if cell.facts.submission)
        assert cell.title in done.output
        return cell.facts.status

    assert again() == "verified"
    path.write_text(f"{path.read_text()}\n# edited")
    assert again() == "self-reported"


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("words", [["--out", "site"], ["--verify"]])
def test_code_that_breaks_the_contract_is_neither_recorded_nor_verified(write, words, submit_good, own_store):
    write("open('/etc/hostname')")
    with pytest.raises(UserError, match=r"^forest breaks the contract of a method:\nclassification: FileNotFound"):
        submit_good(*words)
    assert not [*Store().cells()]
    assert not (own_store / "site" / "index.html").exists()


def test_a_store_that_cannot_be_used_is_refused_before_anything_is_retrained(submit_good, own_store, monkeypatch):
    (own_store / "mlflow.db").write_text("no database")
    monkeypatch.setattr(verify, "rerun", lambda *_: pytest.fail("it was retrained"))
    with pytest.raises(UserError, match="check that it is a database of MLflow"):
        submit_good("--verify")


def test_the_difference_has_to_be_within_its_interval():
    submitted = Estimate(0.20, 0.17, 0.23)
    reruns = [Estimate(value, value - 0.04, value + 0.04) for value in (0.14, 0.16, 0.24, 0.26)]
    checks = [verify.Check("bace", "churn", submitted, rerun) for rerun in reruns]
    assert [check.agrees for check in checks] == [False, True, True, False]
    assert {round(check.margin, 6) for check in checks} == {0.05}


def test_where_retrainings_all_agree_a_rerun_has_to_be_the_same():
    submitted = jackknife([np.zeros((5, 5))])
    same, other = (verify.Check("bace", "churn", submitted, Estimate(value, np.nan, np.nan)) for value in (0.0, 0.01))
    assert (same.agrees, other.agrees) == (True, False)
    assert str(same) == "bace, churn: 0.0000 agrees with the submitted 0.0000 (± 0.0000)"


def test_a_new_test_set_on_which_other_few_molecules_flip_agrees():
    def flipping(*molecules: int) -> Predictions:
        values = np.tile([0.1, 0.9], (4, 40, 1))
        for seed, molecule in enumerate(molecules):
            values[seed, molecule] = [0.9, 0.1]
        ids = np.arange(40).astype(str)
        return Predictions((1, 2, 3, 4), ids, np.ones(40, dtype=int), values.astype(np.float32), "classification")

    tests = [flipping(*molecules) for molecules in ((0, 1, 2), (3,), ())]
    few, one, none = (verify._estimate(churn("classification"), p, 0.99, "both") for p in tests)
    assert few.value > one.value > none.value == 0
    assert verify.Check("", "churn", few, one).agrees
    assert verify.Check("", "churn", one, few).agrees
    assert verify.Check("", "churn", none, one).agrees


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_fresh_train_seeds_are_beyond_those_in_use_and_whole_halvings(sampling):
    seeds = verify._fresh(sampling, 20, Random(1))
    assert len(set(seeds)) == 20
    assert min(seeds) > 10_000
    assert max(seeds) < 2**32
    assert sampling != "halves" or all(seeds[i] % 2 and seeds[i + 1] == seeds[i] + 1 for i in range(0, 20, 2))


@needs_sandbox
def test_a_sampling_or_dataset_that_was_not_submitted_is_refused(good, write):
    with pytest.raises(UserError, match="'forest' has no results under paper: use --sampling halves"):
        verify.rerun(validate(good), "paper")
    with pytest.raises(UserError, match="unknown dataset 'bace'"):
        verify.rerun(validate(good), "halves", "bace")
    with pytest.raises(UserError, match=r"'forest' has no code: expected methods/forest\.py here or in CHURN_HOME"):
        verify.rerun(validate(good), "halves")
