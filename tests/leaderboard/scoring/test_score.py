"""The score against plain double loops, and its remarks on two runs."""

import json
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from benchmark.errors import UserError
from benchmark.measure.catalogue import MATCHED_CHURN, churn_of_class
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import jackknife
from benchmark.types import Predictions
from leaderboard import churn, score
from leaderboard.read.results import collect
from leaderboard.scoring import reports, standing
from leaderboard.tables.table import Value

from ..conftest import keyed


def random_runs(r: int = 6, t: int = 90, c: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    logit = 2 * rng.normal(size=(t, c)) + rng.normal(size=(r, t, c))
    values = np.exp(logit) / np.exp(logit).sum(axis=-1, keepdims=True)
    return values, rng.integers(c, size=t)


def test_the_numbers_are_those_of_a_plain_double_loop():
    values, y = random_runs()
    result = score(values, y)
    pairs, flips, kl = list(combinations(range(6), 2)), np.zeros(90), 0.0
    of_class = {c: [0, 0] for c in range(3)}
    changed = 0
    for i, j in pairs:
        for t in range(90):
            p, q = values[i, t], values[j, t]
            a, b = int(np.argmax(p)), int(np.argmax(q))
            flips[t] += a != b
            changed += (a == y[t]) != (b == y[t])
            of_class[int(y[t])][0] += a != b
            of_class[int(y[t])][1] += 1
            for c in range(3):
                kl += 0.5 * (p[c] * np.log(p[c] / q[c]) + q[c] * np.log(q[c] / p[c]))
    n = len(pairs) * 90
    assert result.churn.value == pytest.approx(flips.sum() / n)
    assert result.estimates["sym_kl"].value == pytest.approx(kl / n)
    assert result.estimates["accuracy"].value == pytest.approx((values.argmax(-1) == y).mean())
    np.testing.assert_allclose(result.example_churn, flips / len(pairs))
    for c, (flipped, total) in of_class.items():
        assert result.per_class[str(c)][1].value == pytest.approx(flipped / total)
    assert result.flips.changed == pytest.approx(changed / n)
    assert result.flips.changed + result.flips.rest == pytest.approx(result.churn.value)
    matrix = np.array([[(values[i].argmax(-1) != values[j].argmax(-1)).mean() for j in range(6)] for i in range(6)])
    expected = jackknife([matrix])
    assert (result.churn.low, result.churn.high) == pytest.approx((expected.low, expected.high))


def test_the_scorecard_of_a_score_is_scikit_learns_and_scipys_where_they_have_it():
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=60)
    one = 0.7 * rng.random((4, 60)) + 0.3 * y
    result = score(np.stack([1 - one, one], axis=-1), y)
    card = {measure.key: value for measure, value in result.card}
    assert card["auroc"].value == pytest.approx(np.mean([roc_auc_score(y, run) for run in one]))
    rho = [stats.spearmanr(one[i], one[j]).statistic for i, j in combinations(range(4), 2)]
    assert card["rank_correlation"].value == pytest.approx(np.mean(rho))
    classes = (one > 0.5).astype(int)
    assert set(json.loads(reports.to_json(result, standing.Standing(())))["scorecard"]) == set(card)
    table = reports.scorecard(result)
    assert table.caption.endswith("Class 1 is 1, against all others.")
    labels = {measure.key for measure, _ in score(classes, y).card}
    assert labels == {*("chance_corrected_churn", "churn_rarer", "recall_rarer", "balanced_accuracy", "mcc")}
    assert card["matched_churn"].value == pytest.approx(MATCHED_CHURN.mean(result.runs.predictions()))
    assert "auroc" not in {measure.key for measure, _ in score(np.stack([1 - one, one], axis=-1)).card}


def test_a_tolerance_is_in_the_targets_unit_and_only_of_a_regression():
    values = np.array([[0.0, 1.0, 2.0], [0.2, 1.0, 4.0], [0.0, 1.1, 2.0]])
    y = np.array([0.0, 1.0, 2.0])

    def beyond(tolerance):
        return {m.key: value for m, value in score(values, y, tolerance=tolerance).card}["beyond_tolerance"].value

    pairs = list(combinations(values, 2))
    for tolerance in (0.05, 0.15, 1.0):
        assert beyond(tolerance) == pytest.approx(np.mean([(abs(a - b) > tolerance).mean() for a, b in pairs]))
    assert beyond(None) == beyond(0.5 * y.std())
    for wrong in (0, -1, np.inf, np.nan):
        with pytest.raises(UserError, match="expected a positive number in the target's unit"):
            score(values, y, tolerance=wrong)
    with pytest.raises(UserError, match="--tolerance 1, for labels"):
        score(np.array([[0, 1], [1, 1]]), tolerance=1)


def test_large_inputs_have_a_score_without_a_scorecard(monkeypatch):
    monkeypatch.setattr("leaderboard.scoring.score.CARD", 5)
    result = score(np.array([[0.0, 1.0, 2.0], [0.2, 1.0, 4.0]]))
    assert result.card == []
    assert reports.scorecard(result) is None


def test_labels_churn_as_the_probabilities_they_come_from():
    values, y = random_runs()
    from_labels, whole = score(values.argmax(-1), y), score(values, y)
    for name in ("churn", "accuracy"):
        assert from_labels.estimates[name] == whole.estimates[name]
    assert "sym_kl" not in from_labels.estimates
    assert churn(values) == whole.churn


def test_values_of_a_regression_differ_by_their_mean_absolute_difference():
    values = np.random.default_rng(0).normal(size=(4, 30))
    result = score(values, np.zeros(30))
    expected = np.mean([np.abs(values[i] - values[j]).mean() for i, j in combinations(range(4), 2)])
    assert result.churn.value == pytest.approx(expected)
    assert result.estimates["mae"].value == pytest.approx(np.abs(values).mean())


def test_a_target_in_mol_per_litre_is_not_rounded_to_zero():
    rng = np.random.default_rng(0)
    y = 1e-7 * (5 + rng.normal(size=40))
    runs = [y + 1e-8 * rng.normal(size=40) for _ in range(3)]
    found = score(np.array(runs), y)
    tables = [reports.facts(found), reports.scorecard(found), reports.triage(found, 5)]
    texts = [cell.text for table in tables for row in table.rows for cell in row if isinstance(cell, Value)]
    assert not [text for text in texts if "0.000" in text]
    assert "e\u221208 [" in texts[0]


@pytest.mark.parametrize("kind", ["runs", "examples", "both", "paper"])
def test_intervals_by_class_are_over_what_is_asked_for(kind):
    values, y = random_runs()
    result = score(values, y, kind=kind)
    p = Predictions(tuple(range(6)), np.arange(90).astype(str), y, values, "classification")
    for c in range(3):
        expected, (n, interval) = estimate(churn_of_class(c), [(p, None)], kind), result.per_class[str(c)]
        assert n == (y == c).sum()
        for end in ("value", "low", "high"):
            assert getattr(interval, end) == pytest.approx(getattr(expected, end), nan_ok=True)
    table = reports.by_class(result)
    assert table.kind == kind


def test_two_runs_give_a_list_and_no_interval_and_say_what_they_cannot_tell():
    values, y = random_runs(r=2)
    result = score(values, y)
    assert np.isnan(result.churn.low)
    text = " ".join(reports.sentences(result))
    assert "cannot tell" in text
    assert "95 %" not in text
    flips = values[0].argmax(-1) != values[1].argmax(-1)
    n = flips.sum()
    assert flips[result.ranking[:n]].all()
    assert np.all(np.diff(result.margin[result.ranking[:n]]) >= 0)
    right = values.argmax(-1) == y
    assert result.flips.broken == pytest.approx((right[0] & ~right[1]).mean())
    assert result.flips.mended == pytest.approx((~right[0] & right[1]).mean())


@pytest.mark.parametrize(
    ("values", "y", "message"),
    [
        (np.full((1, 3, 2), 0.5), None, "one run"),
        (np.full((2, 3, 2), 0.7), None, "sum to 1"),
        (np.full((2, 3), np.nan), None, "not finite"),
        (np.zeros(3), None, "runs, examples"),
        (np.full((2, 3, 2), 0.5), np.array([0, 1, 2]), "from 0 to 1"),
        (np.full((2, 3, 2), 0.5), np.array([0, 1]), "true value"),
        (
            np.eye(2, 3, dtype=int),
            np.array([[0], [1], [1]]),
            r"one true value for each of 3 examples, got shape \(3, 1",
        ),
        *(
            (np.eye(2, 3, dtype=int), np.array(y), r"the predicted classes \(0, 1\) and the true ones \(.*\) do not")
            for y in ((0, 1, np.nan), (1, 2, 2), ("no", "yes", "yes"))
        ),
        *(
            (np.eye(2, 3), np.array(y), "the true values are two classes, .* classes as integers")
            for y in ((0, 1, 1), (0.0, 1, 1), (False, True, True), (-1, 1, 1), ("no", "yes", "yes"))
        ),
        *(
            (values, np.array(y, dtype=object), "numbers as well as texts, or None: expected all of one type")
            for values, y in ((np.eye(2, 3, dtype=int), ("no", 1, 1)), (np.eye(2, 3), (0.5, None, 1.5)))
        ),
    ],
)
def test_arrays_that_are_no_predictions_are_refused(values, y, message):
    with pytest.raises(UserError, match=message):
        score(values, y)


def test_true_classes_may_be_floats():
    values, y = random_runs()
    assert (score(values, y.astype(float)).runs.y == y).all()


def test_a_score_is_placed_among_the_published_ones(world):
    values, y = random_runs(c=2)
    result = standing.standing(score(values, y), world)
    (erm,) = (row for row in result.table.rows if row[0] == "ERM")
    tests = [d.reference.tests for d in world.of_task("classification")]
    churns = [np.mean([score(p.values).churn.value for p in splits]) for splits in tests]
    assert erm[3].number == pytest.approx(100 * np.median(churns))
    assert erm[-1] == f"{sum(churn < score(values).churn.value for churn in churns)} of 4"


def test_a_score_is_placed_among_results_under_halves_where_there_are_any(world):
    cells = [cell for d in world.datasets for e in d.entries for cell in e.cells.values()]
    (erm,) = (cell for cell in cells if (cell.key.dataset, cell.key.method) == (cells[0].key.dataset, "erm"))
    results = collect([*cells, keyed(erm, sampling="halves")])
    values, y = random_runs(c=2)
    first, second = standing.standing(score(values, y), results).sentences
    assert "on 1 published datasets" in first
    assert "were compared in pairs that saw disjoint halves of the training pool" in second
    regression = standing.standing(score(values[..., 0], values[0, :, 1]), results)
    assert "different bootstraps" in regression.sentences[-1], "of the paper's runs: regressions have no halves here"


def test_what_cannot_be_placed_says_why(world):
    values = np.random.default_rng(0).normal(size=(4, 30))
    assert "provide the true values" in standing.standing(score(values), world).sentences[0]
    assert "No published results" in standing.standing(score(values), None).sentences[0]
    assert standing.standing(score(values, np.zeros(30)), world).table is not None


def test_out_of_sample_capture_counts_flips_of_other_runs_only(make_cell):
    rng = np.random.default_rng(3)
    p = rng.random((4, 50))
    cell = make_cell("erm", np.stack([1 - p, p], axis=-1))
    result = standing.out_of_sample(cell.predictions["id"], 0.3)
    shares = []
    for pair in combinations(range(4), 2):
        rest = [r for r in range(4) if r not in pair]
        flips = (p[rest[0]] > 0.5) != (p[rest[1]] > 0.5)
        a, b = p[list(pair)]
        seen = (a > 0.5) != (b > 0.5)
        order = sorted(range(50), key=lambda t: (-int(seen[t]), abs(a[t] + b[t] - 1)))
        shares.append(flips[order[:15]].sum() / flips.sum())
    assert result == pytest.approx(np.mean(shares))


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(world):
    values, y = random_runs(c=2)
    result = score(values, y, np.array([f"<b>{t}" for t in range(90)]))
    page = reports.to_html(result, standing.standing(result, world), 5)
    assert "<b>" not in page.partition("</style>")[2]
    assert "http" not in page
    assert "of predictions flip between two runs" in page
    assert "Value(" not in page
