"""The suite ``pipelines`` is as spread as the table of it says."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from benchmark.data.spec import expand, load_spec
from benchmark.files import CHECKOUT
from tools.evidence import HEAD, line

TEXT = (CHECKOUT / "datasets" / "PIPELINES.md").read_text(encoding="utf-8")
ROWS = [[cell.strip(" `") for cell in text.strip("|").split("|")] for text in TEXT.removeprefix(HEAD).splitlines()]


def test_the_table_has_the_datasets_of_the_suite_with_the_sizes_of_the_reports_on_health() -> None:
    assert TEXT.startswith(HEAD)
    assert [row[0] for row in ROWS] == expand("pipelines")
    health = pd.read_csv(CHECKOUT / "datasets" / "health.csv").set_index("dataset")
    for name, family, collection, task, rows, base_rate, _ in ROWS:
        spec, report = load_spec(name), health.loc[name]
        assert (family, collection, task) == (spec.family, spec.source.partition(":")[0], spec.task)
        assert rows == f"{int(report.train):,}"
        share = report.train_positive
        assert base_rate == ("" if task == "regression" else f"{min(share, 1 - share):.1%}")


@pytest.mark.parametrize(("task", "fewest", "least"), [("classification", 35, 0.65), ("regression", 25, 0.5)])
def test_the_datasets_are_spread_over_families_collections_sizes_and_base_rates(task: str, fewest: int, least: float):
    rows = [row for row in ROWS if row[3] == task]
    assert len(rows) == len({row[1] for row in rows}) >= fewest
    assert max(Counter(row[2] for row in rows).values()) <= len(rows) / 3
    for _, _, _, _, size, base_rate, quality in rows:
        assert 150 <= int(size.replace(",", "")) <= 6000
        assert not base_rate or 1 <= float(base_rate.strip("%")) <= 50
        assert float(quality) >= least


def test_a_row_is_made_again_from_the_data(staged_data: Path) -> None:
    assert line("dili") in TEXT.splitlines()
