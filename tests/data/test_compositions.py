"""Features of formulas: fractions of elements and statistics of their properties."""

import numpy as np
import pytest

from benchmark.errors import UserError

pytest.importorskip("pymatgen.core")

from benchmark.data.compositions import HEAVIEST, PROPERTIES, STATISTICS, WIDTH, composition


def of(formula: str) -> np.ndarray:
    return composition([formula], [2], "mine")[0]


def statistic(row: np.ndarray, name: str, what: str) -> float:
    return row[HEAVIEST + PROPERTIES.index(name) * len(STATISTICS) + STATISTICS.index(what)]


def test_fractions_at_the_atomic_numbers_sum_to_one_and_weigh_the_statistics():
    row = of("Fe2O3")  # atomic numbers 26 and 8
    assert row.shape == (WIDTH,)
    assert (row[25], row[7]) == (pytest.approx(0.4), pytest.approx(0.6))
    assert row[:HEAVIEST].sum() == pytest.approx(1)
    mean = 0.4 * 26 + 0.6 * 8
    assert statistic(row, "Z", "mean") == pytest.approx(mean)
    assert statistic(row, "Z", "deviation") == pytest.approx(np.sqrt(0.4 * (26 - mean) ** 2 + 0.6 * (8 - mean) ** 2))
    assert (statistic(row, "Z", "least"), statistic(row, "Z", "most")) == (8, 26)


def test_equal_compositions_have_equal_features_however_they_are_written():
    np.testing.assert_allclose(of("Fe2O3"), of("Fe4O6"))
    np.testing.assert_allclose(of("Al(NiB)2"), of("AlNi2B2"))


def test_a_property_that_no_element_has_is_missing():
    assert np.isnan(statistic(of("He"), "X", "mean"))  # helium has no electronegativity
    assert np.isfinite(statistic(of("HeH"), "X", "mean"))


@pytest.mark.parametrize("text", ["", "Xx2", "hello", "Fe-2"])
def test_a_text_that_is_no_formula_is_an_error_with_its_line(text):
    with pytest.raises(UserError, match="mine: line 2: expected a formula"):
        of(text)
