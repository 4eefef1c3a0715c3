"""Figures: their content, their fitness for pages and papers, and reproducibility to the byte."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from benchmark.files import CHECKOUT
from benchmark.measure.basics import FLIPPING
from benchmark.measure.intervals import Estimate
from benchmark.pipeline import Learner
from benchmark.registry import discover
from benchmark.store.cell import Cell
from leaderboard.figures import pareto, ranks, style
from leaderboard.figures.build import Drawing, Structures, draw, of_results
from leaderboard.figures.cases import _path
from leaderboard.figures.contrast import contrast, heat_map
from leaderboard.figures.figure import Figure
from leaderboard.figures.forest import forest
from leaderboard.figures.parts import MOST, calmest, limits, whiskers
from leaderboard.read import published
from leaderboard.read.results import Dataset, Results, collect
from leaderboard.tables.boards import board
from leaderboard.tables.builders import comparisons

from ..conftest import cell, colour_contrast, keyed

RUNS = 6
SMILES = "CC(=O)Nc1ccc(O)cc1"
METHODS = {"ERM": 1.0, "Bagging K=5": 0.6, "Twin-bootstrap λ=300": 0.3, "SWA <b>&": 0.9}
"""Noise of the logits by title."""


def named(dataset: str, title: str, values: np.ndarray, y: np.ndarray, about: Mapping[str, str]) -> Cell:
    method = "erm" if title == "ERM" else "other"
    return cell(method, values, y=y, dataset=dataset, title=title, params={"title": title}, about=about)


def made_up(n: int = 60, methods: Mapping[str, float] = METHODS) -> list[Cell]:
    """Two classifications and a regression."""
    rng = np.random.default_rng(0)
    cells = []
    for dataset in ("one", "two", "three"):
        truth = rng.normal(0, 1.5, n)
        for title, noise in methods.items():
            latent = truth + noise * rng.normal(size=(RUNS, n))
            p = 1 / (1 + np.exp(-latent))
            values, y, about = np.stack([1 - p, p], axis=-1), (truth > 0).astype(int), {}
            if dataset == "three":
                values, y, about = latent[..., None], truth, {"group": "regression", "unit": "log mol/L"}
            cells.append(named(dataset, title, values, y, about))
    return cells


def build(results: Results, structures: Structures = dict) -> list[Figure]:
    return [figure for drawing in of_results(results, structures) if (figure := draw(drawing))]


def pareto_of(dataset: Dataset) -> Figure:
    looks = style.styles([entry.title for entry in dataset.entries], "ERM")
    figure = draw(Drawing(pareto.pareto, (board(dataset, "id", "runs"), "", looks, "ERM")))
    assert figure
    return figure


def classes_of_erm(cells: list[Cell]) -> np.ndarray:
    return next(one for one in cells if one.title == "ERM").predictions["id"].values.argmax(-1)


def digests(figures: list[Figure]) -> dict[str, str]:
    return {f.key: hashlib.sha256(f.svg.encode() + f.pdf).hexdigest() for f in figures}


@pytest.fixture(scope="module")
def results() -> Results:
    return collect(made_up())


@pytest.fixture(scope="module")
def figures(results: Results) -> list[Figure]:
    return build(results, lambda: {"one": {f"m{i:04}": SMILES for i in range(60)}})


def test_every_figure_is_made_where_the_results_support_it_with_a_caption_that_stands_alone(figures):
    single = {f"{kind}-{name}" for kind in ("triage", "heatmap") for name in ("one", "two")} | {"cases-one"}
    assert {f.key for f in figures if f.dataset} == single
    assert {f.key for f in figures} - single == {"forest", "pareto", "critical-difference", "triage"}
    assert all(f.key.endswith(f.dataset) for f in figures)
    for figure in figures:
        assert "ERM: one plain network. Churn: " in figure.caption, figure.key
        assert "trained on bootstraps of the training rows" in figure.caption, figure.key


def test_under_halves_nothing_is_compared_across_halvings():
    cells = [keyed(one, sampling="halves") for one in made_up() if one.key.dataset == "one"]
    (halves,) = collect(cells).by_sampling
    drawings = {drawing.draw for drawing in of_results(halves)}
    assert drawings == {forest, pareto.overall, ranks.critical_difference, heat_map}, "no triage"
    pair = contrast(halves.datasets[0], board(halves.datasets[0], "id", "runs"))
    classes = classes_of_erm(cells)
    np.testing.assert_allclose(pair.erm_flips, np.mean([classes[i] != classes[i + 1] for i in (0, 2, 4)], axis=0))


def test_no_results_give_no_figures_and_one_method_alone_only_its_triage():
    assert build(collect([])) == []
    alone = [one for one in made_up() if one.title == "ERM"]
    assert {f.key for f in build(collect(alone))} == {"triage", "triage-one", "triage-two"}
    without = [one for one in made_up() if one.title != "ERM" and one.key.dataset == "one"]
    assert build(collect(without)) == []


def test_an_svg_is_an_element_of_a_page_that_takes_its_colour(figures):
    seen: set[str] = set()
    for figure in figures:
        root = ElementTree.fromstring(figure.svg)
        assert figure.svg.startswith("<svg")
        told = root.get("role"), root.get("aria-label"), root.get("font-family")
        assert told == ("img", figure.alt, "sans-serif")
        assert not [e for e in root.iter() if e.tag.endswith(("}style", "}metadata", "}script", "}image"))]
        assert not re.search(f"{style.INK}|#000000|font-family:", figure.svg)
        assert "currentColor" in figure.svg
        ids = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
        assert set(re.findall(r'[("]#([\w-]+)', figure.svg)) == set(ids)
        assert len(set(ids)) == len(ids)
        assert not seen & set(ids), f"{figure.key} shares ids with another figure"
        seen |= set(ids)
        assert len(figure.svg) < 100_000
        assert {url[:18] for url in re.findall(r'https?://[^"]*', figure.svg)} == {"http://www.w3.org/"}


def test_text_stays_text_at_seven_points_or_more_and_is_escaped(figures):
    for figure in figures:
        texts = [e for e in ElementTree.fromstring(figure.svg).iter() if e.tag.endswith("}text")]
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", figure.svg)]
        assert len(sizes) == len(texts) > 0
        assert min(sizes) >= 7
        assert figure.key != "pareto" or "SWA <b>&" in [e.text for e in texts]


@pytest.mark.long
def test_equal_results_give_equal_bytes_in_another_process_with_other_settings(figures, tmp_path):
    script = """
import json, random
import matplotlib
matplotlib.rcParams.update({"font.size": 20, "axes.facecolor": "red", "svg.fonttype": "path"})
from tests.leaderboard.figures import test_figures as figures
cells = figures.made_up()
figures.style.RC["pdf.fonttype"] = 3
random.Random(1).shuffle(cells)
smiles = {"one": {f"m{i:04}": figures.SMILES for i in range(60)}}
print(json.dumps(figures.digests(figures.build(figures.collect(cells), lambda: smiles))))
"""
    environment = {**os.environ, "PYTHONHASHSEED": "7", "MPLCONFIGDIR": str(tmp_path)}
    printed = subprocess.check_output([sys.executable, "-c", script], cwd=CHECKOUT, env=environment)
    assert json.loads(printed) == digests(figures)


WORDY = {"ERM": 1.0, **{f"Distilled bagging of the best network λ={i}, one deployed": 0.2 + 0.1 * i for i in range(20)}}


def test_no_text_is_cut_and_pages_are_as_wide_as_a_column_of_the_paper(figures, monkeypatch):
    """Each text is compared with the page on which it is saved; only names that fit on no page widen it."""
    from matplotlib.figure import Figure as Whole
    from matplotlib.legend import Legend

    saved, save = [], Whole.savefig

    def record(on: Whole, *given, bbox_inches, **options) -> None:
        on.draw_without_rendering()
        page = bbox_inches.padded(0.01)
        shown = [*on.texts, *(text for legend in on.findobj(Legend) for text in legend.get_texts())]
        shown += [text for ax in on.axes for text in (*ax.texts, ax.title, ax._left_title, ax._right_title)]
        drawn_axes = [axis for ax in on.axes if ax.axison for axis in (ax.xaxis, ax.yaxis)]
        shown += [axis.label for axis in drawn_axes]
        for axis in drawn_axes:
            low, high = sorted(axis.get_view_interval())
            shown += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        for text in (text for text in shown if text.get_text()):
            box = text.get_window_extent().transformed(on.dpi_scale_trans.inverted())
            assert page.contains(box.x0, box.y0), (text.get_text(), page)
            assert page.contains(box.x1, box.y1), (text.get_text(), page)
        saved.append(bbox_inches.width)
        save(on, *given, bbox_inches=bbox_inches, **options)

    monkeypatch.setattr(Whole, "savefig", record)
    long = made_up(30, WORDY)
    build(collect([one.with_facts(dataset=one.facts.dataset.model_copy(update={"title": "W" * 60})) for one in long]))
    assert len(saved) > 8
    assert widths(figures) == {style.COLUMN, style.PAGE}


def widths(figures: list[Figure]) -> set[float]:
    """Return the widths of the pages in inches."""
    return {round(float(re.search(r' width="([\d.]+)pt"', figure.svg)[1]) / 72, 2) for figure in figures}


@pytest.mark.slow
def test_no_published_name_widens_a_page():
    """The datasets have the longest titles, and the front has all methods."""
    named = ("bace", "mof_thermal", "simpd_chembl4005_1_active", "ace_chembl4792_ki")
    front = collect(published.read(published.PUBLISHED, datasets=named)).front
    assert widths(build(front)) == {style.COLUMN, style.PAGE}


def test_a_pdf_has_no_date_and_embeds_its_font(figures, results, monkeypatch):
    assert not any(figure.pdf for figure in figures if figure.dataset), "its page saves what it shows"
    monkeypatch.setitem(style.RC, "pdf.fonttype", 42)  # the suite's own, which takes longer than all else
    pdf = next(draw(drawing) for drawing in of_results(results) if drawing.draw is forest).pdf
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert b"/FontFile2" in pdf


def test_building_leaves_no_figure_and_no_setting_behind(results):
    from matplotlib import _pylab_helpers

    before = dict(matplotlib.rcParams)
    build(Results(results.datasets[2:]))
    assert (dict(matplotlib.rcParams), _pylab_helpers.Gcf.get_num_fig_managers()) == (before, 0)


def test_alternative_texts_have_the_numbers_of_the_board(figures, results):
    rows = {row.title: row.estimates for row in board(results.dataset("one"), "id", "runs").rows}
    alt = pareto_of(results.dataset("one")).alt
    for title in ("ERM", "Twin-bootstrap λ=300"):
        accuracy, churn = rows[title]["matched_accuracy"], rows[title]["matched_churn"]
        assert f"{title} ({accuracy.value * 100:.3g}, {churn.value * 100:.3g})" in alt
    heat = next(f.alt for f in figures if f.key == "heatmap-one")
    assert f"{rows['ERM']['churn'].value * 100:.1f} % with ERM" in heat


def test_more_methods_than_colours_can_tell_apart_are_cut_to_the_calmest_and_the_caption_says_so():
    noise = {"ERM": 1.0, **{f"method {i:02}": 0.2 + 0.1 * i for i in range(15)}}
    results = collect(made_up(40, noise))
    one = results.dataset("one")
    kept, note = calmest(results.methods()[1:], [board(one, "id", "runs")])
    assert set(kept) == set([row.title for row in board(one, "id", "runs").rows if row.title != "ERM"][: MOST - 1])
    assert f"of 15 methods beside ERM, the {MOST - 1} that churn least" in note
    assert calmest(["a", "b"], [board(one, "id", "runs")]) == (["a", "b"], "")
    figure = pareto_of(one)
    assert note in figure.caption
    assert all((f">{title}<" in figure.svg) == (title in (*kept, "ERM")) for title in noise)
    figure = next(draw(drawing) for drawing in of_results(results) if drawing.draw is forest)
    assert len(set(re.findall(r">(method \d\d)<", figure.svg))) == 8
    assert "of 15 methods beside ERM, the 8 that churn least" in figure.caption


def test_the_front_holds_the_unmarked_methods_that_no_other_equals_or_beats_in_both():
    rng = np.random.default_rng(1)
    for better in (+1, -1):
        for _ in range(50):
            quality, churn = rng.integers(0, 6, (2, 8))
            points = [
                pareto.Point(str(i), Estimate(q, q, q), Estimate(c, c, c), bool(marked))
                for i, (q, c, marked) in enumerate(zip(quality, churn, rng.random(8) < 0.2, strict=True))
            ]
            open_ones = [p for p in points if not p.marked]
            values = {(better * p.quality.value, -p.churn.value) for p in open_ones}
            best = {v for v in values if not any(o != v and o[0] >= v[0] and o[1] >= v[1] for o in values)}
            on_front = [(better * p.quality.value, -p.churn.value) for p in pareto.front(points, better)]
            assert sorted(on_front) == sorted(best)
            assert not any(p.marked for p in pareto.front(points, better))


def test_a_marker_stands_at_its_estimate_and_its_lines_end_with_the_intervals():
    with style.look():
        ax = style.axes(style.sheet(3, 3), 0.1, 0.1, 0.1, 0.1)
        whiskers(ax, Estimate(10, 5, 20), Estimate(30, 20, 50), style.Style(style.INK, "o"), hollow=True)
        across, upright, marker = [np.array(line.get_data(), dtype=float) for line in ax.lines]
        np.testing.assert_allclose(across, [[5, 20], [30, 30]])
        np.testing.assert_allclose(upright, [[10, 10], [20, 50]])
        np.testing.assert_allclose(marker, [[10], [30]])
        assert ax.lines[2].get_markerfacecolor() == "none"


def test_an_axis_shows_every_value_and_no_interval_that_would_hide_them():
    low, high = limits([Estimate(10, 5, 15), Estimate(20, -900, 900), Estimate(15, np.nan, np.nan)])
    assert low < 5
    assert 20 < high < 50
    low, high = limits([Estimate(0.0, np.nan, np.nan)])
    assert low < 0 < high


def rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def test_colours_stand_out_on_light_and_dark_pages():
    from leaderboard.figures.molecules import ELEMENTS

    for colour in (*style.COLOURS, *style.HUES[1:], style.MUTED, *ELEMENTS.values()):
        for background in ("#ffffff", "#16181d"):
            assert colour_contrast(rgb(colour), rgb(background)) >= 3, f"{colour} on {background}"


def test_colours_differ_for_readers_who_see_no_red_or_no_green():
    # Machado, Oliveira and Fernandes (2009), severity 1.0: protanopia and deuteranopia, on linear RGB.
    protan = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    deutan = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    values = np.array(list(map(rgb, style.COLOURS))) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

    def lab(colours: np.ndarray) -> np.ndarray:
        xyz = np.clip(colours, 0, 1) @ to_xyz.T / [0.9505, 1, 1.089]
        f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)

    for seen in (np.eye(3), np.array(protan), np.array(deutan)):
        points = lab(linear @ seen.T)
        nearest = min(np.linalg.norm(a - b) for a, b in combinations(points, 2))
        assert nearest > 24, seen


def test_a_method_keeps_its_colour_when_others_join_and_no_two_look_the_same():
    few = style.styles(["ERM", "SWA", "Bagging K=5"], "ERM")
    many = style.styles(["ERM", *(f"method {i}" for i in range(40)), "SWA", "Bagging K=5"], "ERM")
    assert few.items() <= many.items()
    assert len(set(many.values())) == len(many)
    assert few["ERM"].colour == style.INK
    assert style.styles(["SVM · atom pairs"], "ERM")["SVM · atom pairs"].colour == many["SVM"].colour


def test_every_learner_has_the_same_colour_and_shape_on_every_site():
    ours = [part for part in discover()[0].values() if part.__module__.startswith("benchmark")]
    assert {part.title.format(k=32) for part in ours if issubclass(part, Learner)} <= set(style.FIXED)


def test_erm_is_contrasted_with_the_unmarked_method_of_the_lowest_churn():
    cells = [one for one in made_up() if one.key.dataset == "one"]
    constant = np.zeros((RUNS, 60, 2))
    constant[..., 0] = 1
    cells.append(named("one", "Constant", constant, cells[0].predictions["id"].y, {}))
    results = collect(cells)
    pair = contrast(results.datasets[0], board(results.datasets[0], "id", "runs"))
    assert pair.method == "Twin-bootstrap λ=300"
    pairs = combinations(classes_of_erm(cells), 2)
    np.testing.assert_allclose(pair.erm_flips, np.mean([a != b for a, b in pairs], axis=0))


def test_the_case_study_has_only_molecules_that_flip_often_with_erm_and_never_with_the_other(figures, results):
    pair = contrast(results.dataset("one"), board(results.dataset("one"), "id", "runs"))
    eligible = int(((pair.erm_flips >= FLIPPING) & (pair.other_flips == 0)).sum())
    assert eligible > 1
    alt = next(f.alt for f in figures if f.key == "cases-one")
    assert alt.startswith(f"Drawings of {min(eligible, 6)} test molecules")


def test_an_svg_path_becomes_the_same_path_for_matplotlib():
    path = _path("M0,1L2,-3.5Q4,5 6,7C1,1 2,2 3,3Z")
    assert path.codes.tolist() == [1, 2, 3, 3, 4, 4, 4, 79]
    assert path.vertices[:4].tolist() == [[0, 1], [2, -3.5], [4, 5], [6, 7]]


def test_triage_curves_are_means_over_splits():
    one, two, _ = (cell for cell in made_up() if cell.title == "ERM")
    splits = one, keyed(two, dataset="one", canonical_seed=7)
    both, *alone = (comparisons.curves(collect(cells).datasets[0]) for cells in (splits, splits[:1], splits[1:]))
    assert set(both.churn) == {2, 3, 5}
    assert both.seen == {5}
    np.testing.assert_allclose(both.churn[2], np.mean([curves.churn[2] for curves in alone], axis=0))
    np.testing.assert_allclose(both.entropy, np.mean([curves.entropy for curves in alone], axis=0))
