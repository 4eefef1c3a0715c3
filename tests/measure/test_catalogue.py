"""Every measure and its building blocks against scikit-learn, SciPy or a double loop, and the contract of all."""

import tracemalloc
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from benchmark.measure import basics, ranking
from benchmark.measure import catalogue as c
from benchmark.measure.measure import Measure
from benchmark.types import Predictions

RUNS, TESTS = range(5), range(40)
PAIRS = list(combinations(RUNS, 2))


def predictions(values: np.ndarray, y: np.ndarray) -> Predictions:
    task = "classification" if values.shape[2] > 1 else "regression"
    ids = np.array([f"m{i:04d}" for i in range(len(y))])
    return Predictions(tuple(range(len(values))), ids, y, values, task)


def example(kind: str) -> Predictions:
    """Five runs on forty examples with two or three classes, or with values."""
    rng = np.random.default_rng(0)
    if kind == "values":
        y = rng.normal(size=40).astype(np.float32)
        return predictions(y[None, :, None] + rng.normal(size=(5, 40, 1)).astype(np.float32), y)
    n = {"two classes": 2, "three classes": 3}[kind]
    y = rng.integers(n, size=40)
    return predictions((0.8 * rng.dirichlet(np.full(n, 0.6), size=(5, 40)) + 0.2 * np.eye(n)[y]), y)


@pytest.fixture(params=["two classes", "three classes"])
def p(request: pytest.FixtureRequest) -> Predictions:
    return example(request.param)


KINDS = {"classification": ("two classes", "three classes"), "regression": ("values",)}
CASES = [(measure, kind) for measure in c.CATALOGUE for kind in KINDS[measure.task]]


@pytest.mark.parametrize(("measure", "kind"), CASES, ids=lambda x: getattr(x, "key", x))
def test_every_measure_keeps_what_boards_and_intervals_rely_on(measure: Measure, kind: str) -> None:
    p = example(kind)
    values = measure.of_runs(p)
    if measure.per_pair is None:
        assert values.shape == (5,)
        np.testing.assert_allclose(measure.of_runs(p.only([3])), values[3:4])
    else:
        assert values.shape == (5, 5)
        np.testing.assert_array_equal(values, values.T)
        np.testing.assert_array_equal(np.diag(values), 0)
        np.testing.assert_allclose(measure.of_runs(p.only([4, 1])), values[np.ix_([4, 1], [4, 1])])
        if measure.better < 0:
            assert measure.mean(p.only([2, 2, 2])) == pytest.approx(0, abs=1e-12), "retrainings that agree"
    if measure.of_examples:
        assert measure.of_examples(p).mean() == pytest.approx(measure.mean(p))
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_allclose(measure.of_runs(p.on(order)), values)
    assert np.isfinite(values).all()
    assert measure.least <= values.min() <= values.max() <= measure.most
    assert c.find(measure.key, measure.task) is measure
    assert measure.title[:1].isupper() or measure.title[:1] in "|1"
    assert measure.shown_delta[0].startswith("Δ ")


def test_keys_are_unique_and_each_task_has_a_quality_and_a_churn() -> None:
    keys = [(measure.task, measure.key) for measure in c.CATALOGUE]
    assert len(set(keys)) == len(keys)
    for task, quality in c.QUALITY.items():
        assert {quality.key, "churn"} <= {measure.key for measure in c.boards(task)}
    assert c.find("mae", "classification") is None


Reference = Callable[[np.ndarray, np.ndarray], float]


@pytest.mark.parametrize(
    ("key", "reference"),
    [
        ("accuracy", lambda y, p: sk.accuracy_score(y, p.argmax(axis=1))),
        ("log_loss", lambda y, p: sk.log_loss(y, p, labels=range(p.shape[1]))),
        ("brier", lambda y, p: sk.brier_score_loss(y, p, labels=range(p.shape[1]))),
        ("precision", lambda y, p: sk.precision_score(y == 1, p.argmax(axis=1) == 1)),
        ("recall", lambda y, p: sk.recall_score(y == 1, p.argmax(axis=1) == 1)),
        ("f1", lambda y, p: sk.f1_score(y == 1, p.argmax(axis=1) == 1)),
        ("average_precision", lambda y, p: sk.average_precision_score(y == 1, p[:, 1])),
        ("auroc", lambda y, p: sk.roc_auc_score(y == 1, p[:, 1])),
        ("balanced_accuracy", lambda y, p: sk.balanced_accuracy_score(y, p.argmax(axis=1))),
        ("mcc", lambda y, p: sk.matthews_corrcoef(y, p.argmax(axis=1))),
        ("positives", lambda y, p: np.mean(p.argmax(axis=1) == 1)),
    ],
)
def test_measures_of_a_run_are_scikit_learns(p: Predictions, key: str, reference: Reference) -> None:
    measure = c.find(key, "classification")
    np.testing.assert_allclose(measure.of_runs(p), [reference(p.y, values) for values in p.values])


def test_mae_and_r2_are_scikit_learns_and_spearman_is_scipys() -> None:
    p = example("values")
    np.testing.assert_allclose(c.MAE.of_runs(p), [sk.mean_absolute_error(p.y, values[:, 0]) for values in p.values])
    np.testing.assert_allclose(c.R2.of_runs(p), [sk.r2_score(p.y, values[:, 0]) for values in p.values], rtol=1e-5)
    expected = [stats.spearmanr(p.y, values[:, 0]).statistic for values in p.values]
    np.testing.assert_allclose(c.SPEARMAN.of_runs(p), expected)


def test_the_auroc_counts_ties_as_half_and_is_nan_without_both_classes() -> None:
    score = np.array([0.2, 0.5, 0.5, 0.9, 0.5])
    p = predictions(np.stack([1 - score, score], -1)[None], np.array([0, 1, 0, 1, 0]))
    assert ranking.auroc(p)[0] == pytest.approx(sk.roc_auc_score(p.y, score))
    assert np.isnan(ranking.auroc(predictions(p.values, np.ones(5, dtype=int)))).all()


@pytest.mark.parametrize("kind", ["two classes", "values"])
def test_the_rank_correlation_of_two_runs_is_scipys(kind: str) -> None:
    p = example(kind)
    score = p.values[..., -1]
    measure = c.find("rank_correlation", p.task)
    for i, j in PAIRS:
        assert measure.of_runs(p)[i, j] == pytest.approx(stats.spearmanr(score[i], score[j]).statistic)


@pytest.mark.parametrize(("share", "k"), [(0.01, 1), (0.05, 2), (0.1, 4)])
def test_the_hit_rate_and_its_spread_are_loops_over_the_first(p: Predictions, share: float, k: int) -> None:
    key = f"hit_rate_{100 * share:.0f}pc"
    rates = []
    for run in p.values:
        first = sorted(TESTS, key=lambda t: (-run[t, 1] / (1 - run[t, 1]), p.ids[t]))[:k]
        rates.append(np.mean([p.y[t] == 1 for t in first]))
    np.testing.assert_allclose(c.find(key, "classification").of_runs(p), rates)
    spread = c.find(f"abs_delta_{key}", "classification")
    assert spread.mean(p) == pytest.approx(np.mean([abs(rates[i] - rates[j]) for i, j in PAIRS]))


@pytest.mark.parametrize("measure", c.scorecard("classification"), ids=lambda m: m.key)
def test_the_scorecard_takes_constants_a_single_class_and_a_single_run(measure: Measure) -> None:
    constant = predictions(np.tile([0.7, 0.3], (3, 20, 1)), np.zeros(20, dtype=int))
    undefined = ["auroc", "average_precision", "rank_correlation", "chance_corrected_churn"]
    undefined += ["churn_rarer", "recall_rarer"]
    assert np.isnan(measure.mean(constant)) == (measure.key in undefined)
    by_chance = ("brier", "ece", "matched", "list")  # ties are drawn at random
    if measure.better < 0 and measure.key not in undefined and not measure.key.startswith(by_chance):
        assert measure.mean(constant) == pytest.approx(0)
    single = measure.mean(example("two classes").only([0]))
    assert np.isnan(single) == (measure.per_pair is not None)


@pytest.mark.parametrize("measure", c.scorecard("regression"), ids=lambda m: m.key)
def test_the_scorecard_of_values_takes_constants(measure: Measure) -> None:
    constant = predictions(np.full((3, 20, 1), 2.0), np.linspace(0, 1, 20))
    assert np.isnan(measure.mean(constant)) == (measure.key in {"spearman", "rank_correlation", "one_minus_icc"})


def test_the_calibration_error_is_a_loop_over_bins(p: Predictions) -> None:
    for run, error in zip(p.values, c.calibration_error(p), strict=True):
        total = 0.0
        for b in range(c.BINS):
            inside = [t for t in TESTS if b / c.BINS < run[t].max() <= (b + 1) / c.BINS]
            if inside:
                accuracy = np.mean([run[t].argmax() == p.y[t] for t in inside])
                total += len(inside) / 40 * abs(accuracy - np.mean([run[t].max() for t in inside]))
        assert error == pytest.approx(total)


Pairwise = Callable[[np.ndarray, np.ndarray], float]
OF_TWO: list[tuple[Measure, Pairwise]] = [
    (c.CHURN, lambda a, b: a.argmax() != b.argmax()),
    *((c.churn_of_class(label), lambda a, b: a.argmax() != b.argmax()) for label in (0, 1)),
    (c.SYM_KL, lambda a, b: (stats.entropy(a, b) + stats.entropy(b, a)) / 2),
    (c.CONFIDENCE_CHURN, lambda a, b: abs(a - b).sum() / 2),
    (c.CHURN_OF_VALUES, lambda a, b: abs(float(a[0]) - float(b[0]))),
    (c.beyond(0.7), lambda a, b: abs(float(a[0]) - float(b[0])) > 0.7),
    (c.beyond(), lambda a, b: abs(float(a[0]) - float(b[0])) > 0.5 * np.std(example("values").y.astype(float))),
]
"""Measures of two runs, and the contribution of an example to them from its outputs (C,) in both."""


@pytest.mark.parametrize(
    ("measure", "kind", "reference"),
    [(m, kind, f) for m, f in OF_TWO for kind in KINDS[m.task]],
    ids=lambda x: getattr(x, "key", x if isinstance(x, str) else ""),
)
def test_measures_of_two_runs_are_double_loops_over_pairs_and_examples(measure, kind, reference) -> None:
    p = example(kind)
    v, label = p.values, measure.key.removeprefix("churn_y")
    tests = [t for t in TESTS if p.y[t] == int(label)] if label.isdecimal() else TESTS
    expected = np.array([[reference(v[i, t], v[j, t]) for t in tests] for i, j in PAIRS])
    assert expected.any(axis=1).all()
    matrix = measure.of_runs(p)
    for rows in (PAIRS, [pair[::-1] for pair in PAIRS]):
        np.testing.assert_allclose([matrix[pair] for pair in rows], expected.mean(axis=1), rtol=1e-6)
    if measure.of_examples:
        np.testing.assert_allclose(measure.of_examples(p), expected.mean(axis=0), rtol=1e-5)


def test_the_lowest_class_wins_a_tie() -> None:
    assert basics.predicted_class(np.array([[[0.5, 0.5], [0.2, 0.8]]])).tolist() == [[0, 1]]


def test_the_mean_over_pairs_counts_each_pair_once_and_is_nan_without_a_pair(p: Predictions) -> None:
    matrix = c.CHURN.of_runs(p)
    pairs = [matrix[pair] for pair in PAIRS]
    assert basics.mean_over_pairs(matrix) == c.CHURN.mean(p) == pytest.approx(np.mean(pairs))
    single = p.only([0])
    assert np.isnan([*c.example_flips(single), *c.example_sym_kl(single), c.CHURN.mean(single)]).all()
    assert np.isnan(basics.mean_over_pairs(matrix[:1, :1]))


def test_entropy_is_scipys(p: Predictions) -> None:
    np.testing.assert_allclose(basics.entropy(p), stats.entropy(p.values, axis=2))


def test_the_gain_in_accuracy_is_the_good_flips_minus_the_bad_flips(p: Predictions) -> None:
    after = predictions(p.values[::-1], p.y)
    gained = basics.good_flips(p, after).mean(axis=1) - basics.bad_flips(p, after).mean(axis=1)
    np.testing.assert_allclose(gained, c.ACCURACY.of_runs(after) - c.ACCURACY.of_runs(p))


def test_drift_is_the_absolute_difference_of_each_pair_of_runs(p: Predictions) -> None:
    of_run = c.F1.of_runs(p)
    assert c.drift(c.F1).mean(p) == pytest.approx(np.mean([abs(of_run[i] - of_run[j]) for i, j in PAIRS]))


def test_a_class_that_is_never_predicted_or_absent_gives_no_warning() -> None:
    never = predictions(np.tile([0.9, 0.1], (3, 4, 1)), np.array([0, 1, 0, 1]))
    assert c.precision(never).tolist() == c.f1(never).tolist() == [0, 0, 0]
    absent = predictions(np.tile([0.4, 0.6], (3, 4, 1)), np.zeros(4, dtype=int))
    assert c.recall(absent).tolist() == [0, 0, 0]
    assert np.isnan(ranking.average_precision(absent)).all()
    assert np.isnan(c.churn_of_class(1).of_runs(absent)).all()


def test_certain_and_wrong_predictions_have_a_finite_loss_and_divergence() -> None:
    p = predictions(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.array([0]))
    assert c.LOG_LOSS.of_runs(p) == pytest.approx([0, -np.log(1e-12)])
    assert c.SYM_KL.of_runs(p)[0, 1] == pytest.approx(-np.log(1e-12))


def test_the_top_overlap_is_that_of_sets_and_ties_go_by_id() -> None:
    scores = np.array([[0.9, 0.8, 0.1, 0.1], [0.1, 0.8, 0.9, 0.1], [0.5, 0.5, 0.5, 0.5]])
    p = predictions(np.stack([1 - scores, scores], axis=-1), np.array([1, 1, 0, 0]))
    jaccard = ranking.top_jaccard(p, k=2)
    assert jaccard[0, 1] == pytest.approx(1 / 3)  # {0, 1} and {1, 2}
    assert jaccard[0, 2] == 1  # the tie takes the first two ids
    assert ranking.hit_rate(p, k=2).tolist() == [1, 0.5, 1]
    assert ranking.top_jaccard(p, k=10)[0, 1] == 1  # fewer than ten examples: all of them
    assert basics.positive_fraction(p) == 0.5


def test_examples_with_a_probability_that_rounds_to_one_keep_their_order() -> None:
    rest = np.array([[1e-9, 1e-12, 1e-10, 0.5], [1e-12, 1e-9, 1e-10, 0.5]], dtype=np.float32)
    p = predictions(np.stack([rest, 1 - rest], axis=-1), np.ones(4, dtype=int))
    assert (p.values[:, :3, 1] == 1).all()
    assert ranking.top_jaccard(p, k=1)[0, 1] == 0


def test_memory_does_not_grow_with_pairs_times_examples() -> None:
    rng = np.random.default_rng(3)
    share = rng.random((100, 1164))
    p = predictions(np.stack([share, 1 - share], axis=-1).astype(np.float32), rng.integers(2, size=1164))
    ranking.average_precision(p)  # imports
    tracemalloc.start()
    measures = c.example_flips, c.example_sym_kl, ranking.top_jaccard, ranking.hit_rate, c.f1, ranking.average_precision
    for of in measures:
        of(p)
    c.churn_of_class(1).of_runs(p)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * share.nbytes  # the pairs of all examples would take 40 times as much
