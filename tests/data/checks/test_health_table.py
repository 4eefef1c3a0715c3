"""The shipped table of the health of datasets has a line for each, as the examination finds it."""

import io
from pathlib import Path

import pandas as pd
import pytest

from benchmark.data.checks import health_table
from benchmark.data.checks.health import examine
from benchmark.data.spec import as_written, dataset_names, load_spec
from benchmark.files import shipped_datasets
from tests.conftest import Churn

SHIPPED = pd.read_csv(shipped_datasets() / "health.csv").set_index("dataset", drop=False)
BEHIND_PACKAGE = ["b3db_measured", "b3db_logbb"]
FROM_FILES = ["bace", "dili", "esol"]


@pytest.mark.parametrize("name", [*BEHIND_PACKAGE, *FROM_FILES])
def test_the_line_of_a_dataset_is_up_to_date(name: str, request: pytest.FixtureRequest) -> None:
    if name in FROM_FILES:
        request.getfixturevalue("staged_data")
    report = examine(load_spec(name), 99, expectation=True)
    found = pd.read_csv(io.StringIO(health_table.to_csv([report]))).set_index("dataset", drop=False)
    pd.testing.assert_series_equal(found.loc[name], SHIPPED.loc[name], rtol=1e-3, check_dtype=False)


def test_every_table_that_can_be_downloaded_has_a_line_that_agrees_with_its_toml() -> None:
    shipped = [name for name in dataset_names() if as_written(name).shipped]
    tables = [name for name in shipped if as_written(name).source.partition(":")[0] not in ("hf", "tadf")]
    assert SHIPPED.index.tolist() == tables
    for spec in map(as_written, tables):
        line = SHIPPED.loc[spec.name]
        assert line["rows"] == spec.rows, spec.name
        assert spec.parsable is None or pd.isna(line["parsable"]) or line["parsable"] == spec.parsable, spec.name
        assert line["train"] + line["id"] + (0 if pd.isna(line["ood"]) else line["ood"]) <= line["used"] <= line["rows"]


def test_a_table_of_several_datasets_is_written(tmp_path: Path, churn: Churn) -> None:
    out = tmp_path / "health.csv"
    assert "with 2 of 2 datasets" in churn("health", *BEHIND_PACKAGE, "--csv", str(out))
    table = pd.read_csv(out)
    assert table.columns.tolist() == list(health_table.COLUMNS)
    assert table["dataset"].tolist() == BEHIND_PACKAGE
