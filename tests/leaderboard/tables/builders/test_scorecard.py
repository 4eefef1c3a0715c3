"""The scorecard: each number is a mean over families of a measure of the predictions."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from benchmark.measure.catalogue import AUROC
from leaderboard.read.results import Dataset, Results
from leaderboard.tables.builders.scorecard import of_dataset, over_datasets

from ...conftest import of_families


def test_a_measure_is_averaged_over_families(world: Results):
    body = over_datasets("classification", "ranking", world, "runs")
    for row in body.rows:
        of = of_families(body.datasets, lambda d, title=row[0]: np.mean([AUROC.mean(p) for p in d.entry(title).tests]))
        assert row[body.header.index("AUROC")].number == pytest.approx(np.mean(of))


def test_a_regression_shows_measures_without_a_unit(world: Results):
    body = over_datasets("regression", "values", world, "runs")
    assert body.header[:3] == ("Method", "1 − ICC (%)", "R²")
    (dataset,) = body.datasets
    for title, _, first, *_ in body.rows:
        (p,) = dataset.entry(title).tests
        assert first.number == pytest.approx(np.mean([r2_score(p.y, values[:, 0]) for values in p.values]), rel=1e-5)


def test_without_results_there_is_no_scorecard():
    for task, part in (("regression", "values"), ("classification", "decisions")):
        assert over_datasets(task, part, Results((), "nothing"), "runs") is None


def test_good_and_bad_flips_are_counted_against_erm_at_equal_train_seeds(world: Results):
    body = over_datasets("classification", "decisions", world, "runs")
    (row,) = (row for row in body.rows if row[0] == "BAGGING")
    for header, flip in {"Good flips (%)": (False, True), "Bad flips (%)": (True, False)}.items():

        def share(dataset: Dataset, flip: tuple[bool, bool] = flip) -> float:
            right = [[p.values.argmax(2) == p.y for p in dataset.entry(title).tests] for title in ("ERM", "BAGGING")]
            splits = [zip(before.flat, after.flat, strict=True) for before, after in zip(*right, strict=True)]
            return 100 * np.mean([np.mean([pair == flip for pair in pairs]) for pairs in splits])

        assert row[body.header.index(header)].number == pytest.approx(np.mean(of_families(body.datasets, share)))


def test_the_scorecard_of_a_dataset_has_its_units_and_all_methods(world: Results):
    (solubility,) = world.of_task("regression")
    values, ranking = of_dataset(solubility)
    assert values.header[:5] == ("Method", "1 − ICC (%)", "Churn |f − f′|", "MAE", "R²")
    tolerance = 0.5 * solubility.entry("ERM").cells[99].predictions["id"].y.std()
    assert f"MAE and churn are in log mol/l. The tolerance is {tolerance:.3g} log mol/l." in values.caption
    assert [row[0] for row in ranking.rows] == [entry.title for entry in solubility.entries]
