"""Updates of any model: flips by chance and by new rows, against counts by hand and a simulation with known truth."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from benchmark.errors import UserError
from leaderboard.scoring import update as reports
from leaderboard.scoring.gate import gate
from leaderboard.scoring.runs import Runs
from leaderboard.scoring.update import update

from ..conftest import invoke

of = Runs.of


def test_one_run_of_each_is_counted_by_hand() -> None:
    y = np.array([0] * 10 + [1] * 10)
    old, new, again = y.copy(), y.copy(), y.copy()
    old[:4], new[0], new[12:14], again[[4, 0, 1]] = 1, 1, 0, 1
    found = update(of(old[None], y), of(new[None], y), of(again[None], y)).estimates
    counts = {name: round(20 * e.value) for name, e in found.items()}
    changes = {"flips": 5, "good": 3, "bad": 2, "other": 0}  # examples 1, 2, 3 and 12, 13; 0 stays wrong
    because = {"chance": 3, "new_rows": 2}  # 2, 3 and 4 flip when trained again
    assert counts == {**changes, **because, "before": 16, "after": 17, "gain": 1}
    assert np.isnan(found["gain"].low), "five examples differ: too few for an interval"


def test_the_difference_has_students_interval_over_examples() -> None:
    rng = np.random.default_rng(0)
    old, new, again = (rng.integers(0, 3, (1, 300)) for _ in range(3))
    found = update(of(old), of(new), of(again)).estimates
    difference = (old != new)[0].astype(float) - (old != again)[0]
    expected = ttest_1samp(difference, 0).confidence_interval()
    one = found["new_rows"]
    np.testing.assert_allclose((one.value, one.low, one.high), (difference.mean(), expected.low, expected.high))
    assert set(found) == {"flips", "chance", "new_rows"}, "without truth, flips are neither good nor bad"


def test_without_retraining_chance_is_unknown_and_the_report_says_how_to_know_it() -> None:
    values = np.array([[0, 1, 0, 1]])
    found = update(of(values), of(1 - values))
    assert set(found.estimates) == {"flips"}
    assert "give its predictions as --retrained" in reports.sentences(found)[0]


def test_several_old_runs_are_compared_with_each_other() -> None:
    old = np.array([[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    found = update(of(old), of(old)).estimates
    assert (found["flips"].value, found["chance"].value) == (0, pytest.approx(4 / 12))


def test_values_flip_beyond_the_tolerance() -> None:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    old, new = y + np.array([0.1, 0.1, 0.1, 0.5]), y + np.array([0.1, 0.6, 0.0, 0.0])
    found = update(of(old[None], y), of(new[None], y), tolerance=0.45)
    assert [found.estimates[name].value for name in ("flips", "good", "bad")] == [0.5, 0.25, 0.25]
    assert update(of(old[None], y), of(new[None], y)).tolerance == pytest.approx(0.2), "the MAE before"
    with pytest.raises(UserError, match="give --tolerance, the change that counts as a flip"):
        update(of(old[None]), of(new[None]))
    judged = gate(of(old[None], y), of(new[None], y), 0.6, 0.2, True, 0.45)
    assert (judged.passed, judged.reasons) == (False, ("bad flips: 25.00% is above 20.00%",))


def test_an_error_beyond_all_predictions_is_no_default_tolerance() -> None:
    y = np.array([10.0, 200.0, 5000.0, 60000.0])  # nM
    old, new = of(9 - np.log10(y)[None], y), of(8 - np.log10(y)[None], y)
    with pytest.raises(UserError, match=r"would be 1\.63e\+04, .* true values from 10 to 6e\+04, .*--tolerance"):
        gate(old, new, 0.1)
    assert gate(old, new, 0.1, tolerance=0.5).estimates["flips"].value == 1
    constant = of(np.full((1, 4), 5.0), np.full(4, 5.0))
    assert gate(constant, constant, 0.1).estimates["flips"].value == 0


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 120)
    paths = []
    run, example = np.indices((2, 120)).reshape(2, -1)
    ids = [f"m{i}" for i in example]
    for name, share in (("old", 0.1), ("new", 0.3), ("again", 0.15)):
        flips = rng.random(240) < share
        table = pd.DataFrame({"run": run, "example_id": ids, "y_pred": y[example] ^ flips, "y_true": y[example]})
        paths.append(str(tmp_path / f"{name}.csv"))
        table.to_csv(paths[-1], index=False)
    return paths


def test_the_command_writes_page_json_markdown_and_csv(tables: list[str], tmp_path: Path) -> None:
    files = {kind: tmp_path / f"u.{kind}" for kind in ("html", "json", "markdown", "csv")}
    words = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    result = invoke("update", *tables[:2], "--retrained", tables[2], *words)
    assert result.exit_code == 0, result.output
    assert "flip if the old model were only trained again on the same rows" in " ".join(result.output.split())
    content = json.loads(files["json"].read_text())
    assert content["flips"]["value"] - content["chance"]["value"] == pytest.approx(content["new_rows"]["value"])
    rows = pd.read_csv(files["csv"])
    assert rows["flips"].mean() == pytest.approx(content["flips"]["value"])
    assert (rows["flips"] - rows["by_chance"]).is_monotonic_decreasing
    headline = f"The update flips {100 * content['flips']['value']:.1f} % of the predictions"
    assert f"<h1>{headline}</h1>" in files["html"].read_text()
    assert files["markdown"].read_text().startswith(f"### {headline}\n")
