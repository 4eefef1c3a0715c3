"""Lines through made-up families of known truth, and through the published ones."""

import json
from functools import cache

import numpy as np
import pytest
from scipy import stats

from benchmark.data.checks.expected_churn import FILE, Properties, link, unlink
from benchmark.files import published_results
from benchmark.measure.catalogue import CHURN
from leaderboard.read.results import Results, collect
from leaderboard.read.stored import read
from leaderboard.tables.builders.churn_to_expect import correlation
from leaderboard.tables.churn_lines import best, check, content, models, points, with_method
from leaderboard.tables.entries import EXPECTED, build

from ..conftest import cell, sure

FAMILIES = 12
SLOPE, START = 0.8, -0.2
METHODS = ("erm", "calm", "second", "third")


def flipping(rng: np.random.Generator, share: float) -> np.ndarray:
    """Probabilities (6, 400, 2) of runs of which two differ on ``share`` of examples, exactly: each flips its own."""
    wrong = round(400 * share / 2)
    order = rng.permutation(400)
    classes = np.tile(np.arange(400) % 2, (6, 1))
    for run in range(6):
        own = order[(run * wrong + np.arange(wrong)) % 400]
        classes[run, own] = 1 - classes[run, own]
    return sure(classes)


@cache
def on_a_line(noise: float = 0.05, blind: bool = False, families: int = FAMILIES) -> Results:
    """Families whose churn is a line in that of a k-NN, on the logit scale; the last family has two datasets, and
    families go in pairs into groups. With ``blind``, the k-NN's churn says nothing."""
    rng = np.random.default_rng(3)
    cells, known = [], {}
    for f in range(families):
        for part in ("", "b") if f == families - 1 else ("",):
            name = f"f{f}{part}"
            knn = 0.05 + 0.025 * f
            seen = (0.1, 0.3)[f % 2] if blind else knn
            known[name] = Properties("classification", 300 + 50 * f, 0.4, None, None, None, 0.0, 0.3, seen)
            churn = unlink(START + SLOPE * link(knn, "classification") + noise * rng.normal(), "classification")
            group = "headline" if f % 2 else "wide"
            about = {"title": f"Family <{f}> & co", "group": group, "family": f"f{f}", "family_group": f"g{f // 2}"}
            for number, method in enumerate(METHODS):
                values = flipping(rng, churn * (1.0, 0.5, 0.7, 0.8)[number])
                cells.append(cell(method, values, dataset=name, about=about))
    results = collect(cells)
    for dataset in results.datasets:
        dataset.computed["properties"] = known[dataset.name]
    return results


def test_a_family_is_one_point_the_mean_of_its_datasets_on_the_scale_of_the_line():
    results = on_a_line()
    found = points(results, "classification")
    assert len(found) == FAMILIES
    pair = next(point for point in found if point.family == f"f{FAMILIES - 1}")
    churns = [CHURN.mean(p) for dataset in pair.datasets for p in dataset.entry("ERM").tests]
    assert len(churns) == 2
    logit = np.mean([np.log(c / (1 - c)) for c in churns])
    assert pair.churns["ERM"] == pytest.approx(1 / (1 + np.exp(-logit)))
    assert pair.papers == (FAMILIES % 2 == 0)


def test_the_line_that_families_were_made_with_is_found():
    (erm, calm) = models(on_a_line(noise=0.02))
    assert (erm.method, erm.reference, erm.predictor, erm.families) == ("ERM", True, "knn", FAMILIES)
    assert (calm.method, calm.reference) == ("CALM", False)
    for coefficient, truth, row in zip(erm.coefficients, (START, SLOPE), range(2), strict=True):
        error = erm.covariance[row][row] ** 0.5
        assert abs(coefficient - truth) < stats.t.ppf(0.999, erm.df) * error
        assert error < 0.1


@pytest.mark.parametrize(("unit", "left"), [("family", 1), ("group", 2)])
def test_a_family_is_predicted_without_itself_and_without_its_group(unit, left: int):
    of = with_method(on_a_line(), "classification", "ERM")
    found = check(of, "ERM", "knn", unit)
    for point, expected in zip(of, found.expected, strict=True):
        others = [o for o in of if (o.family != point.family if unit == "family" else o.group != point.group)]
        assert len(others) == len(of) - left
        x = [np.mean([link(p.knn_churn, "classification") for p in o.properties]) for o in others]
        y = [link(o.churns["ERM"], "classification") for o in others]
        slope, start = np.polyfit(x, y, 1)
        mine = np.mean([link(p.knn_churn, "classification") for p in point.properties])
        assert link(expected.value, "classification") == pytest.approx(start + slope * mine)
        assert expected.low < expected.value < expected.high


def test_errors_coverage_and_gain_are_those_of_a_loop():
    of = with_method(on_a_line(), "classification", "ERM")
    found, mean = (check(of, "ERM", one) for one in ("knn", "mean"))
    errors = [abs(e.value - p.churns["ERM"]) for e, p in zip(found.expected, of, strict=True)]
    assert found.errors == pytest.approx(errors)
    covered = sum(e.low <= p.churns["ERM"] <= e.high for e, p in zip(found.expected, of, strict=True))
    tables = {table.key: table for table in build(on_a_line(), "runs", [entry.key for entry in EXPECTED])}
    assert set(tables) == {f"expected-{key}-classification" for key in ("readings", "check", "correlations")}
    rows = {row[0]: row for row in tables["expected-check-classification"].rows}
    assert rows["ERM: churn of a k-NN between two halves"][3].text == f"{covered} of {FAMILIES}"
    gains = found.errors - mean.errors
    half = stats.t.ppf(0.975, len(of) - 1) * gains.std(ddof=1) / len(of) ** 0.5
    gain = found.gain(mean)
    assert (gain.value, gain.low, gain.high) == pytest.approx((gains.mean(), gains.mean() - half, gains.mean() + half))
    assert gain.high < 0, "the k-NN is better than the mean, as it was made"


def test_a_k_nn_that_says_nothing_is_not_gone_by_and_too_few_families_have_no_line_and_no_table():
    assert best(on_a_line(), "classification") == "knn"
    assert best(on_a_line(blind=True), "classification") == "mean"
    few = on_a_line(families=7)
    assert len(points(few, "classification")) == 7
    assert (models(few), best(few, "classification")) == ([], None)
    assert build(few, "runs", [entry.key for entry in EXPECTED]) == []


def test_a_correlation_is_over_families():
    of = with_method(on_a_line(), "classification", "ERM")
    x = [np.mean([p.knn_churn for p in point.properties]) for point in of]
    expected = stats.spearmanr(x, [point.churns["ERM"] for point in of]).statistic
    assert correlation(of, "knn_churn", "ERM").value == pytest.approx(expected)
    assert np.isnan(correlation(of, "similarity", "ERM").value), "these are no molecules"


@pytest.mark.long
@pytest.mark.usefixtures("staged_data")
def test_the_published_file_is_what_the_published_predictions_give(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pymatgen.core")  # some datasets have formulas
    monkeypatch.setattr("leaderboard.read.properties.published", lambda: ((), {}))  # computed again from the data
    folder = published_results()
    written = json.loads((folder / FILE).read_text(encoding="utf-8"))
    results, _ = read(str(folder))
    again = json.loads(content(results))
    assert again["properties"].keys() == written["properties"].keys()
    models = [[m for m in of["models"] if m["reference"]] for of in (again, written)]  # 0.1.0 chose others by raw churn
    assert len(models[0]) == len(models[1]) > 0
    ours = [*models[0], *(again["properties"][name] or {} for name in written["properties"])]
    theirs = [*models[1], *(known or {} for known in written["properties"].values())]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for field, value in other.items():
            numbers = isinstance(value, float | list)
            assert mine[field] == value or (numbers and np.array(mine[field]) == pytest.approx(np.array(value), 1e-4))
