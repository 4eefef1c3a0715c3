"""Cheats built from published predictions, handed in as a submitter does; and the suite's own methods, which pass."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import RandomForestClassifier

from benchmark.measure.catalogue import CHURN, CHURN_OF_VALUES, ORDER
from benchmark.store.cell import Cell
from benchmark.types import Predictions
from leaderboard.__main__ import app
from leaderboard.read import published
from leaderboard.submission import audit
from leaderboard.tables.boards import SUSPICIONS, constant
from tests.conftest import call

from .conftest import DATASET, Submit, train_outside, training_rows

pytestmark = pytest.mark.slow
METHODS = ("svm", "random_forest", "gaussian_process")


def of(method: str) -> Cell:
    """A method's published cell on halves of the small dataset."""
    (cell,) = (c for c in shipped_for(DATASET) if c.key.kind[1:3] == (99, method) and c.key.sampling == "halves")
    return cell


def runs(method: str) -> dict[str, np.ndarray]:
    """The probabilities of class 1 in its 20 runs, (20, T) for each test set."""
    return {name: p.values[..., 1].astype(float) for name, p in of(method).predictions.items()}


def table(values: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The rows of a submission with these probabilities of class 1, (20, T) for each test set."""
    parts = []
    for name, p in of("svm").predictions.items():
        seed, example = (a.ravel() for a in np.meshgrid(np.arange(20), np.arange(len(p.ids)), indexing="ij"))
        p1 = values[name].clip(0, 1).ravel()
        rows = {"canonical_seed": 99, "train_seed": seed + 1, "evalset": name, "example_id": p.ids[example]}
        parts.append(pd.DataFrame({**rows, "p0": 1 - p1, "p1": p1}))
    return pd.concat(parts, ignore_index=True)


def noisy(values: Mapping[str, np.ndarray], size: float) -> pd.DataFrame:
    """The same with noise in each run, of ``size`` standard deviations over the examples."""
    rng = np.random.default_rng(0)
    return table({name: v + size * v.std(axis=1).mean() * rng.normal(size=v.shape) for name, v in values.items()})


def one_run() -> dict[str, np.ndarray]:
    return {name: np.repeat(v[:1], 20, axis=0) for name, v in runs("svm").items()}


def labels(share: float) -> dict[str, np.ndarray]:
    """Runs that are the truth to a ``share``."""
    truth = {name: p.y for name, p in of("svm").predictions.items()}
    return {name: (1 - share) * v + share * truth[name] for name, v in runs("svm").items()}


def mixture() -> dict[str, np.ndarray]:
    parts = [runs(method) for method in METHODS]
    weights = np.random.default_rng(1).dirichlet(np.ones(3), size=20).T[:, :, None]
    return {name: sum(weights * np.stack([part[name] for part in parts])) for name in ("id", "ood")}


def shrunken() -> dict[str, np.ndarray]:
    return {name: 0.2 * v + 0.8 * v.mean(axis=0) for name, v in runs("svm").items()}


def warped(rows: pd.DataFrame) -> pd.DataFrame:
    """The same rows after an increasing transformation of the probabilities, which keeps the order of the molecules."""
    p1 = expit(3 * logit(rows["p1"])) * 0.8 + 0.05
    return rows.assign(p1=p1, p0=1 - p1)


def one_list(runs: np.ndarray, share: float) -> np.ndarray:
    """Scores (R, T), changed so that the two runs of each halving have the same ``share`` of molecules at the top."""
    runs, length = runs.copy(), round(runs.shape[1] * share)
    for first, second in zip(runs[::2], runs[1::2], strict=True):
        listed = np.isin(np.arange(len(first)), np.argsort(-first, kind="stable")[:length])
        cut = np.sort(second)[-length]
        inside, outside = np.maximum(second, cut + 1e-3 * second), np.minimum(second, cut - 1e-3 / (2 - second))
        second[:] = np.where(listed, inside, outside)
    return runs.clip(0, 1)


Validate = Callable[[pd.DataFrame], tuple[int, str]]


@pytest.fixture
def validated(submit: Submit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Validate:
    """Validates a submission as its author does; returns the exit code, and what was printed with the comment."""

    def run(rows: pd.DataFrame) -> tuple[int, str]:
        folder, comment = submit(rows), tmp_path / "comment.md"
        words = ("submit", "--check", str(folder), "--submissions", str(folder.parents[1]), "--comment", str(comment))
        code, said = call(*words, which=app), capsys.readouterr()
        return code, said.out + said.err + (comment.read_text() if comment.is_file() else "")

    return run


def test_a_copy_with_hardly_any_noise_is_refused(validated):
    code, said = validated(noisy(runs("svm"), 1e-5))
    assert code == 2
    assert "train seed 1, 'id': the same as train seed 1 of 'svm' apart from noise" in said


CHEATS: Mapping[str, tuple[Callable[[], pd.DataFrame], set[str]]] = {
    "one run": (lambda: noisy(one_run(), 0.1), {"alike", "unrelated"}),
    "labels": (lambda: noisy(labels(1), 0.5), {"unrelated", "implausible"}),
    "runs with labels": (lambda: noisy(labels(0.3), 0.02), {"mixture", "implausible"}),
    "another name": (lambda: noisy(runs("svm"), 0.003), {"copy"}),
    "another name, warped": (lambda: warped(noisy(runs("svm"), 0.001)), {"copy"}),
    "mixtures": (lambda: noisy(mixture(), 0.02), {"mixture"}),
    "mixtures, warped": (lambda: warped(noisy(mixture(), 0.02)), {"mixture"}),
    "runs moved towards their mean": (lambda: noisy(shrunken(), 0.01), {"mixture", "alike"}),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_was_not_trained_on_its_rows_is_marked_and_gets_no_place(validated, cheat):
    rows, marks = CHEATS[cheat]
    code, said = validated(rows())
    assert code == 0, said
    assert {mark for mark, text in SUSPICIONS.items() if text in said} >= marks
    assert "no place, because of its marks" in said


def test_one_model_for_all_seeds_is_marked_however_random_its_training_is(validated, protocol):
    def of_both_files(folder: Path, seed: int) -> RandomForestClassifier:
        first = (seed + 1) // 2 * 2 - 1
        parts = [training_rows(folder, half) for half in (first, first + 1)]
        _, x, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return RandomForestClassifier(10, random_state=seed).fit(x, y)

    code, said = validated(train_outside(protocol, of_both_files))
    assert code == 0, said
    assert SUSPICIONS["unrelated"] in said
    assert "no place, because of its marks" in said


def test_a_forest_trained_on_its_own_rows_gets_a_place_without_a_mark(validated, forest):
    code, said = validated(forest)
    assert code == 0, said
    assert not [mark for mark, text in SUSPICIONS.items() if text in said]
    assert re.search(r"place \d+ of \d+ by matched churn", said)


def test_probabilities_against_all_others_are_of_none_of_them(validated, forest):
    code, said = validated(forest.rename(columns={"p0": "p1", "p1": "p0"}))
    assert code == 0, said
    assert SUSPICIONS["mixture"] not in said


VARIANTS = ({"swa", "swa_gaussian"}, {"twin_shared", "twin_overlap"}, {"gradient_boosting", "lightgbm"}, {"erm", "mlp"})
"""Published methods that are nearly one: SWA-Gaussian averages networks around the mean that SWA deploys, coupled
networks that overlap completely share all of their rows, and scikit-learn's gradient boosting is modelled on LightGBM:
on bits, both make the same trees of some regressions. ERM tuned in each sample often takes the five epochs that are a
pipeline of their own."""


def shipped_for(dataset: str) -> list[Cell]:
    every = published.shipped()  # all have been read, for ``validated``
    return [cell for cell in every if cell.key.dataset == dataset]


def rivals_of(cell: Cell) -> list[Cell]:
    variants = next((names for names in VARIANTS if cell.key.method in names), {cell.key.method})
    others = [other for other in shipped_for(cell.key.dataset) if audit.comparable(cell, other)]
    return [other for other in others if other.key.method not in variants]


def of_suite(cell: Cell) -> bool:
    return not (cell.facts.study or cell.facts.control or "@" in cell.key.dataset)


def agreed_at_half(p: Predictions) -> np.ndarray:
    runs = p.values[..., 1].astype(float)
    runs[1::2] = np.where(runs[::2] > 0.5, np.maximum(runs[1::2], 0.51), np.minimum(runs[1::2], 0.49))
    return runs


EDITS: Mapping[str, Callable[[Predictions], np.ndarray]] = {
    "a threshold of 0.65": lambda p: expit(logit(p.values[..., 1].astype(float).clip(1e-9, 1 - 1e-9)) - logit(0.65)),
    "a warp": lambda p: p.values[..., 1].astype(float) ** 3,
    "agreement at 0.5": agreed_at_half,
    "agreement on the list": lambda p: one_list(p.values[..., 1].astype(float), p.class_shares[1]),
}


def changed(cell: Cell, values: Callable[[Predictions], np.ndarray]) -> Cell:
    return replace(cell, predictions={n: replace(p, values=values(p)) for n, p in cell.predictions.items()})


def place(cell: Cell, others: Sequence[Cell]) -> int:
    """The place of a cell among others by what boards are ordered by."""
    measure = ORDER[cell.predictions["id"].task]
    value = measure.mean(cell.predictions["id"])
    return 1 + sum(measure.mean(other.predictions["id"]) < value - 1e-6 for other in others)


def on(dataset: str) -> list[Cell]:
    """The suite's cells on a dataset under halves."""
    halves = [c for c in shipped_for(dataset) if c.key.sampling == "halves"]
    return [c for c in halves if c.key.canonical_seed == 99 and of_suite(c)]


@pytest.mark.parametrize("dataset", ["dili", "herg", DATASET])
@pytest.mark.parametrize("edit", EDITS)
def test_edited_probabilities_get_no_better_place_without_a_mark(dataset, edit):
    for cell in on(dataset):
        if cell.key.method not in ("erm", *METHODS):
            continue
        edited_cell = changed(cell, lambda p: np.stack([1 - (ones := EDITS[edit](p)), ones], axis=-1))
        rivals = rivals_of(cell)  # without the original, as if it had not been published
        others = [other for other in on(dataset) if other.key.method != cell.key.method]
        better = place(edited_cell, others) < place(cell, others)
        marked = audit.evidence(edited_cell, rivals, "id", ["notch"])["notch"] < audit.LIMITS["notch"]
        assert marked == edit.startswith("agreement"), cell.title
        assert marked or not better, cell.title
        calmer = CHURN.mean(edited_cell.predictions["id"]) < CHURN.mean(cell.predictions["id"])
        assert calmer or not marked, cell.title


@pytest.mark.parametrize("dataset", ["esol", "freesolv"])
def test_regressions_that_are_shrunken_keep_their_place(dataset):
    for cell in on(dataset):
        shrunk = changed(cell, lambda p: 0.5 * p.values + 0.5 * p.values.mean())
        others = [other for other in on(dataset) if other.key.method != cell.key.method]
        assert CHURN_OF_VALUES.mean(shrunk.predictions["id"]) < 0.51 * CHURN_OF_VALUES.mean(cell.predictions["id"])
        assert place(shrunk, others) == place(cell, others), cell.title


def test_every_limit_has_its_mark_and_the_other_way_round():
    assert list(audit.LIMITS) == list(SUSPICIONS)


@pytest.mark.long
@pytest.mark.parametrize("sampling", ["halves", "nested", "paper"])
def test_no_published_method_would_be_marked_by_the_quick_numbers(sampling):
    quick = [mark for mark in audit.LIMITS if mark != "mixture"]
    compared, marked = 0, []
    for cell in filter(of_suite, published.shipped()):
        if cell.key.sampling != sampling:
            continue
        for name, p in cell.predictions.items():
            numbers = {} if constant(p) else audit.evidence(cell, rivals_of(cell), name, quick)
            limits = audit.limits(p.task)
            if cell.key.method in ("codistillation", "twin_shared") and "epochs=5" in cell.title:
                numbers.pop("unrelated", None)  # it depends more on its initialisation than on its rows
            low = {mark: number for mark, number in numbers.items() if number < 1.05 * limits[mark]}
            marked += [f"{cell.title} on {cell.key.dataset}, {name}: {low}"] * bool(low)
            compared += bool(numbers)
    assert not marked
    assert compared > 300


@pytest.mark.parametrize(
    ("dataset", "method", "sampling"),
    [("jdft2d", "twin", "paper"), ("esol", "multi_kernel", "halves"), ("pgp_broccatelli", "multi_kernel", "halves")],
    ids=["a few huge targets", "better features in a regression", "better features in a classification"],
)
def test_honest_methods_that_stand_out_get_no_mark(dataset, method, sampling):
    cells = [c for c in shipped_for(dataset) if c.key.kind[1:3] == (99, method) and c.key.sampling == sampling]
    (cell,) = filter(of_suite, cells)
    assert audit.marks(cell, shipped_for(dataset)) == ()


AVERAGES = ("blend", "knn_averaging")
"""Published methods that are averages of others."""


@pytest.mark.parametrize("dataset", ["skin_reaction", DATASET])
def test_of_the_published_methods_only_averages_of_others_would_be_marked_as_mixtures(dataset):
    for cell in on(dataset):
        few = cell.only(range(1, 7))  # the number is a median over retrainings, and six show it
        number = audit.evidence(few, rivals_of(cell), "id", ["mixture"])["mixture"]
        if cell.key.method in AVERAGES:
            assert number < audit.LIMITS["mixture"] / 2, cell.title
        else:
            assert number > 2 * audit.LIMITS["mixture"], cell.title


def test_published_retrainings_that_see_the_same_rows_are_recognised():
    whole = [cell for cell in published.shipped() if cell.facts.control]
    for cell in whole:
        numbers = audit.evidence(cell, rivals_of(cell), "id", ["unrelated"])
        assert numbers["unrelated"] < audit.LIMITS["unrelated"], cell.title
    assert len(whole) > 10
