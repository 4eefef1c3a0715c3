"""What the health report says of the churn to come is what the published line predicts."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmark.data.checks import expected_churn
from benchmark.data.checks.expected_churn import FILE, Model, Properties, link, published, terms, to_json, unlink
from benchmark.data.checks.health import examine
from benchmark.data.checks.health_text import to_expect, to_text
from benchmark.data.spec import load_spec
from benchmark.errors import UserError

KNOWN = Properties("classification", 500, 0.4, None, 0.6, 0.5, 0.0, 0.3, 0.2)
LINE = Model(
    *("halves", "classification", "ERM", True, "knn", (0.1, 0.8)),
    covariance=((0.01, 0.002), (0.002, 0.004)),
    spread=0.2,
    df=18,
    families=20,
)
REGRESSION = replace(KNOWN, task="regression", minority=None, sd=2.0, knn_churn=0.4)


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """A function that makes models the published ones."""
    monkeypatch.setattr(expected_churn, "published_results", lambda: tmp_path)

    def write(*models):
        (tmp_path / FILE).write_text(to_json(models, {"mine": KNOWN, "images": None}), encoding="utf-8")
        published.cache_clear()

    published.cache_clear()
    yield write
    published.cache_clear()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_link_goes_back_and_a_churn_of_zero_has_one(task):
    for churn in (0.01, 0.2, 0.7):
        assert unlink(link(churn, task), task) == pytest.approx(churn)
    assert np.isfinite(link(0.0, task))


def test_terms_are_one_and_what_the_table_tells():
    assert terms(KNOWN, "mean").tolist() == [1]
    assert terms(KNOWN, "table") == pytest.approx([1, np.log(0.3 / 0.7), np.log(500)])
    assert terms(REGRESSION, "knn") == pytest.approx([1, np.log(0.4)])


def test_what_is_published_is_read_again(publish):
    publish(LINE, replace(LINE, method="SVM", reference=False))
    models, known = published()
    assert models == (LINE, replace(LINE, method="SVM", reference=False))
    assert known == {"mine": KNOWN, "images": None}


def test_a_report_says_in_one_line_what_to_expect_of_erm_and_of_the_calmest_method(publish):
    publish(replace(LINE, method="SVM", reference=False, coefficients=(-0.6, 0.9)), LINE)
    assert to_expect(KNOWN) == (
        "Expect 18 to 37 % of predictions to flip between two halves of the training rows with ERM, 8.9 to 20 % with "
        "SVM (95 % prediction intervals, from 20 families of datasets; a k-NN flips 20 %)"
    )
    of_rows = to_expect(replace(KNOWN, scaffolds=None, similarity=None))
    assert "SVM" not in of_rows  # which may read molecules
    assert "with ERM (95 %" in of_rows


def test_a_regressions_churn_is_said_in_the_unit_of_its_target(publish):
    publish(replace(LINE, task="regression", coefficients=(0.0, 1.0), covariance=((0.0, 0.0), (0.0, 0.0)), spread=0.1))
    low, high = (2 * 0.4 * np.exp(sign * stats.t.ppf(0.975, 18) * 0.1) for sign in (-1, 1))
    line = to_expect(REGRESSION, "log units")
    assert line.startswith(f"Expect predictions to differ by {low:.2g} to {high:.2g} log units between two halves")
    assert "; a k-NN differs by 0.8 log units)" in line


def test_where_nothing_narrows_the_range_the_report_says_so_and_where_nothing_is_known_it_says_nothing(publish):
    assert to_expect(KNOWN) == ""
    publish(replace(LINE, sampling="paper"), replace(LINE, task="regression"))
    assert to_expect(KNOWN) == ""
    publish(replace(LINE, predictor="mean", coefficients=(-1.0,), covariance=((0.01,),)))
    assert "; nothing known of this table makes them narrower)" in to_expect(KNOWN)


def test_the_report_on_a_dataset_has_the_line(publish):
    publish(LINE)
    health = examine(load_spec("b3db_measured"), 99, expectation=True)
    assert f"\n  {to_expect(health.properties)}\n" in f"{to_text(health)}\n"
    assert json.loads(health.to_json())["properties"]["rows"] == 677


@pytest.mark.parametrize("content", ["{", "[]", '{"models": [{"task": 1}], "properties": {}}', '{"models": []}'])
def test_a_damaged_file_is_named_with_what_to_do(content, publish, tmp_path):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(UserError, match=r"expected\.json cannot be read: .*restore the file"):
        published()
