"""The scorecard: each number is a mean over families of a measure of the predictions."""

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from leaderboard.read.results import Results
from leaderboard.tables.builders.scorecard import of_dataset, over_datasets


def test_the_auroc_is_the_mean_over_families_of_scikit_learns(world: Results):
    body = over_datasets("classification", "ranking", world, "runs")
    column = body.header.index("AUROC")
    for row in body.rows:
        families: dict[str, list[float]] = {}
        for dataset in body.datasets:
            cells = dataset.entry(row[0]).cells.values()
            tests = [cell.predictions["id"] for cell in cells]
            of_splits = [np.mean([roc_auc_score(p.y, values[:, 1]) for values in p.values]) for p in tests]
            families.setdefault(dataset.family, []).append(float(np.mean(of_splits)))
        expected = np.mean([np.mean(values) for values in families.values()])
        assert row[column].number == pytest.approx(expected)


def test_a_regression_shows_measures_without_a_unit(world: Results):
    body = over_datasets("regression", "values", world, "runs")
    assert body.header[:3] == ("Method", "1 − ICC (%)", "R²")
    (dataset,) = body.datasets
    for title, _, first, *_ in body.rows:
        p = dataset.entry(title).cells[99].predictions["id"]
        assert first.number == pytest.approx(np.mean([r2_score(p.y, values[:, 0]) for values in p.values]), rel=1e-5)


def test_without_results_there_is_no_scorecard(world: Results):
    assert over_datasets("regression", "values", Results((), "nothing"), "runs") is None
    assert over_datasets("classification", "decisions", Results((), "nothing"), "runs") is None


def test_good_and_bad_flips_are_counted_against_erm_at_equal_train_seeds(world: Results):
    body = over_datasets("classification", "decisions", world, "runs")
    (row,) = (row for row in body.rows if row[0] == "BAGGING")
    counted: dict[str, dict[str, list[float]]] = {"Good flips (%)": {}, "Bad flips (%)": {}}
    for dataset in body.datasets:
        for split, cell in dataset.entry("BAGGING").cells.items():
            before, after = (
                p.values.argmax(2) == p.y
                for p in (dataset.reference.cells[split].predictions["id"], cell.predictions["id"])
            )
            good = sum(not a and b for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True))
            bad = sum(a and not b for x, y in zip(before, after, strict=True) for a, b in zip(x, y, strict=True))
            counted["Good flips (%)"].setdefault(dataset.name, []).append(100 * good / before.size)
            counted["Bad flips (%)"].setdefault(dataset.name, []).append(100 * bad / before.size)
    families = {dataset.name: dataset.family for dataset in body.datasets}
    for header, of_datasets in counted.items():
        of_families: dict[str, list[float]] = {}
        for name, values in of_datasets.items():
            of_families.setdefault(families[name], []).append(float(np.mean(values)))
        expected = np.mean([np.mean(values) for values in of_families.values()])
        assert row[body.header.index(header)].number == pytest.approx(expected)


def test_the_scorecard_of_a_dataset_has_its_units_and_all_methods(world: Results):
    (solubility,) = world.of_task("regression")
    values, ranking = of_dataset(solubility)
    assert values.header[:5] == ("Method", "1 − ICC (%)", "Churn |f − f′|", "MAE", "R²")
    tolerance = 0.5 * solubility.entry("ERM").cells[99].predictions["id"].y.std()
    assert f"MAE and churn are in log mol/l. The tolerance is {tolerance:.3g} log mol/l." in values.caption
    assert [row[0] for row in ranking.rows] == [entry.title for entry in solubility.entries]
