"""The page on the churn to expect says the range of its figure, which names every point."""

import re

import numpy as np
import pytest

from leaderboard.figures.build import draw
from leaderboard.figures.expected import churn_against, panels
from leaderboard.figures.figure import Drawing
from leaderboard.read.results import Results
from leaderboard.site.sentences import to_expect
from leaderboard.tables.churn_lines import with_method

from ..tables.test_churn_lines import on_a_line


@pytest.fixture(scope="module")
def families() -> Results:
    """Ten families of materials, with names to escape."""
    return on_a_line(families=10)


def test_the_page_says_the_range_over_families(families: Results):
    (said,) = to_expect(families)
    churns = [100 * point.churns["ERM"] for point in with_method(families, "classification", "ERM")]
    assert f"over 10 families of datasets, {min(churns):.0f} to {max(churns):.0f} % of predictions flip" in said
    assert f"(median {np.median(churns):.0f} %)" in said


def test_every_family_of_the_figure_is_named_where_the_pointer_rests(families: Results):
    of = panels(families, "classification")
    assert [panel.of.name for panel in of] == ["rows", "minority", "conflicts", "disagreement", "knn_churn", "quality"]
    figure = draw(Drawing(churn_against, ("classification", of)))
    assert figure is not None
    tips = re.findall(r"<title>(.*?)</title>", figure.svg)
    assert len(tips) == 6 * 10
    assert sum(tip.startswith("Family &lt;7&gt; &amp; co: ") for tip in tips) == 6
    assert 'id="tip' not in figure.svg
    dot = of[4].dots[0]
    assert f"Family &lt;{dot.name[8]}&gt; &amp; co: {dot.x:.3g}, churn {dot.y:.3g}" in tips
    assert {dot.papers for dot in of[0].dots} == {True, False}
