"""The page on measures says what the published predictions say."""

import re
import runpy

import pytest

from benchmark.files import CHECKOUT
from leaderboard.tables.order import FAMILIES, LIMIT
from leaderboard.tables.summary import LEARNABLE

PAGE = " ".join((CHECKOUT / "docs" / "measures.md").read_text(encoding="utf-8").split())


def test_the_rule_of_the_page_is_that_of_the_board() -> None:
    assert f"above −{100 * LIMIT['classification']:g} percentage point" in PAGE
    assert f"must lie below +{100 * LIMIT['regression']:g} %" in PAGE
    assert FAMILIES == 5
    assert "Fewer than five families" in PAGE
    assert f"AUROC of at least {LEARNABLE}" in PAGE


@pytest.mark.long
def test_the_figures_of_the_page_are_those_of_the_published_predictions() -> None:
    code = runpy.run_path(str(CHECKOUT / "docs" / "_build" / "invariance.py"))
    cuts, noise, levels = code["tables"](code["blocks"]())
    for title, values in zip(code["METHODS"], noise, strict=True):
        cells = [f"{churn:.1f} / {accuracy:.1f}" for churn, accuracy in zip(*[iter(values)] * 2, strict=True)]
        assert f"| {title} | {' | '.join(cells)} |" in PAGE
    for churn, accuracy in levels:
        assert f"{churn:.1f} / {accuracy:.1f}" in PAGE
    churn, corrected, matched, accuracy, _ = cuts["SVM"]
    middle, last = code["CUTS"].index(0.5), code["CUTS"].index(0.65)
    said = re.search(r"from ([\d.]+) to ([\d.]+) %, and its accuracy from ([\d.]+) to ([\d.]+) %", PAGE)
    assert said is not None
    assert said.groups() == tuple(f"{of[at]:.1f}" for of in (churn, accuracy) for at in (middle, last))
    assert f"rises from {corrected[middle]:.1f} to {corrected[last]:.1f} %" in PAGE
    assert f"stays at {matched[middle]:.1f} %" in PAGE
    assert max(matched) - min(matched) < 1e-9
