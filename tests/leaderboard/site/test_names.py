"""Names as links, with the look of the figures."""

import re

import pytest

from benchmark.files import CHECKOUT
from benchmark.pipeline import FEATURES
from leaderboard.figures.build import styles_of
from leaderboard.figures.style import HUES, LEARNERS, styles
from leaderboard.read.pipelines import Parts
from leaderboard.read.results import collect
from leaderboard.site.names import SHAPES, Names, look_of_parts

from ..conftest import keyed


@pytest.fixture
def names() -> Names:
    methods = {"ERM": "erm", "Bagging K=5": "bagging-k-5", "Bagging": "bagging", "A & <b>": "a-b"}
    return Names("../", styles(methods, "ERM"), methods, {"BACE": "bace", "BACE, train=200": "bace@train=200"})


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Bagging K=5 †? control", '<a href="../methods/bagging-k-5.html">Bagging K=5</a> †? control'),
        ("A & <b>", '<a href="../methods/a-b.html">A &amp; &lt;b&gt;</a>'),
        ("BACE (dev)", '<a href="../datasets/bace.html">BACE</a> (dev)'),
        ("BACE, train=200", '<a href="../datasets/bace@train=200.html">BACE, train=200</a>'),
        *[(text, text.replace("<", "&lt;")) for text in ("Bagging K=7", "1 < 2", "")],
    ],
)
def test_the_name_of_a_method_or_dataset_in_a_table_is_a_link_whatever_marks_follow(names: Names, text, linked):
    assert names.linked(text).rpartition("</i>")[2] == linked


def test_the_names_in_a_figure_are_links_and_nothing_else_changes(names: Names):
    svg = '<svg role="img"><text x="1">Bagging K=5</text><text>A &amp; &lt;b&gt;</text><text>0.5</text></svg>'
    assert names.in_figure(svg) == (
        '<svg role="group"><a href="../methods/bagging-k-5.html"><text x="1">Bagging K=5</text></a>'
        '<a href="../methods/a-b.html"><text>A &amp; &lt;b&gt;</text></a><text>0.5</text></svg>'
    )
    plain = '<svg role="img"><text>0.5</text></svg>'
    assert names.in_figure(plain) == plain


def test_a_method_looks_the_same_under_all_samplings(make_cell):
    cells = [make_cell("d", method) for method in ("erm", "calm", "odd", "wild")]
    whole = collect([*cells, *(keyed(cell, sampling="halves") for cell in (cells[0], *cells[2:]))])
    shown = {cell.title: styles_of(whole)[cell.title] for cell in cells}
    assert shown.items() <= styles_of(collect(cells)).items()
    assert len(set(shown.values())) == 4


def test_each_common_learner_has_a_colour_of_its_own_and_each_kind_of_features_a_shape():
    looks = [look_of_parts(Parts(learner, "MiniMol", "none", "default")) for learner in LEARNERS]
    assert [look.colour for look in looks] == list(HUES)
    names = [*FEATURES.values(), "Morgan counts + atom pairs", "Morgan counts + atom pairs + MiniMol"]
    assert len({look_of_parts(Parts("SVM", features, "none", "default")).marker for features in names}) == len(names)
    assert look_of_parts(Parts("Mine", "columns", "none", "default")).colour in HUES
    drawn = styles(LEARNERS, "ERM")
    assert [drawn[learner].colour for learner in LEARNERS] == list(HUES)
    script = (CHECKOUT / "leaderboard" / "static" / "plot.js").read_text()
    shapes = script.partition("const SHAPES = {")[2].partition("};")[0]
    assert set(re.findall(r'"(.)": ', shapes)) == set(SHAPES.values())
