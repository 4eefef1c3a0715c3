"""Reports as tables, figures and pages: numbers checked against the boards, and studies left out."""

import re
from dataclasses import asdict, replace

import numpy as np
import pytest

from benchmark.measure.catalogue import CHURN, SYM_KL
from benchmark.measure.intervals import jackknife, standard_deviation
from benchmark.store.cell import Cell, Record
from benchmark.studies import make_study
from benchmark.study.context import REPORT, Missing
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sampled, Sheet
from leaderboard.figures import build
from leaderboard.figures.contrast import heat_map
from leaderboard.figures.triage import triage
from leaderboard.read.results import collect
from leaderboard.site.pages import Site
from leaderboard.site.sentences import in_brief
from leaderboard.tables.studies import Reader, Rendered, estimate, rendered, table

from ..conftest import cell, flipping, keyed, sure


def finished(name: str, **settings: object) -> Record:
    return Record(name, REPORT, "code", {"settings": {**asdict(make_study(name, {})), **settings}})


def retrained(dataset: str, method: str, flips: float, first_seed: int = 1, **params: object) -> Cell:
    """Return a cell whose five retrainings predict a share ``flips`` of wrong classes."""
    values = sure(flipping(np.random.default_rng(sum(map(ord, dataset + method))), flips, 5, 60))
    return cell(method, values, dataset=dataset, seeds=tuple(range(first_seed, first_seed + 5)), params=params)


def erm_and_twin(dataset: str = "dili") -> list[Cell]:
    coupled = retrained(dataset, "twin", 0.05, lam=300.0, members=2)
    return [retrained(dataset, "erm", 0.3), coupled, retrained(dataset, "bagging", 0.1, k=5)]


def test_a_measured_number_is_that_of_the_boards_and_a_difference_is_paired_at_equal_seeds() -> None:
    ours, theirs = retrained("d", "twin", 0.1), retrained("d", "erm", 0.3, first_seed=3)
    p, q = ours.predictions["id"], theirs.predictions["id"]
    assert estimate(Measured("churn", [ours])) == jackknife([CHURN.of_runs(p)])
    assert estimate(Measured("sym_kl", [ours])) == jackknife([SYM_KL.of_runs(p)])
    difference = CHURN.of_runs(p.only([2, 3, 4])) - CHURN.of_runs(q.only([0, 1, 2]))
    assert estimate(Measured("churn", [ours], [theirs])) == jackknife([difference])


def test_a_sampled_number_is_the_mean_or_the_standard_deviation_of_its_replicates() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert estimate(Sampled(values)) == jackknife([values])
    assert estimate(Sampled(values, "std")) == standard_deviation(values)
    pairs = np.array([[0, 0.2, 0.4], [0.2, 0, 0.6], [0.4, 0.6, 0]])
    assert estimate(Sampled(pairs)) == jackknife([pairs])
    assert estimate(Sampled(pairs)).value == pytest.approx(0.4)


def test_a_sheet_becomes_a_table_with_its_numbers_scaled_and_flagged() -> None:
    erm = retrained("d", "erm", 0.3)
    heads = ["Name", Head("Churn (%)", 100, 1), Head("Δ", signed=True, digits=2)]
    rows = [["one", Measured("churn", [erm], flags="†"), Sampled(np.array([0.5]))], ["two", "–", "–"]]
    one = Rendered(make_study("members", {}), ["dataset=d"], Report(["Yes."]))
    result = table(one, Sheet("key", "Title", "Caption.", heads, rows, ["† a note"]))
    assert result.key == "study-members-dataset-d-key"
    assert (result.header, result.notes, result.datasets) == (("Name", "Churn (%)", "Δ"), ("† a note",), ("d",))
    churn, spread = result.rows[0][1:]
    assert churn.number == pytest.approx(100 * jackknife([CHURN.of_runs(erm.predictions["id"])]).value)
    assert churn.flags == "†"
    assert spread.text == "+0.50"
    assert result.rows[1] == ("two", "–", "–")


@pytest.mark.parametrize("log", [True, False])
def test_a_chart_has_its_labels_and_the_names_of_its_series(log: bool) -> None:
    name = "short" if log else "A dataset with a name that is longer than the figure is wide, " * 2
    points = [Point(x, Sampled(np.array([0.1, 0.2, 0.3]) * x), f"label {x:g}", x == 10) for x in (0.001, 1, 10, 1000)]
    chart = Chart("c", "Title", "Caption.", Axis("Across", log=log), Axis("Up (%)", 100, log), {name: points, "b": []})
    one = Rendered(make_study("members", {}), [], Report(["Yes."], charts=[chart]))
    (figure,) = map(build.draw, build.of_studies([one]))
    assert figure.key == "study-members-c"
    for text in ("Across", "Up (%)", "label 0.001", "label 1000"):
        assert text in figure.svg
    assert f"{name} (0.001, 0.02)" in figure.alt
    assert figure.pdf.startswith(b"%PDF")
    assert [build.draw(drawing) for drawing in build.of_studies([one])] == [figure], "equal reports give equal bytes"


def test_a_study_from_predictions_shows_the_boards_tables_and_figures_on_its_page() -> None:
    shown = {"triage": (1, 2), "convergence": (1, 0), "entropy": (1, 0), "heat-map": (0, 2), "top-k": (1, 0)}
    records = [finished(name, dataset="dili,herg", seeds="5") for name in (*shown, "case-study")]
    results = collect([*erm_and_twin(), *erm_and_twin("herg")], records=records)
    drawn = [build.draw(one) for one in build.of_results(results) if one.draw in (triage, heat_map)]
    pages = dict(Site(results, results, "runs", {}, figures=drawn).study_pages())
    for name, (tables, drawings) in shown.items():
        page = pages[f"studies/{name}-dataset-dili-herg-seeds-5.html"]
        assert page.count("<table") == tables, name
        assert page.count("<svg") == drawings, name
    assert "studies/case-study-dataset-dili-herg-seeds-5.html" in pages


def test_a_long_answer_is_cut_to_its_beginning_with_the_rest_behind_a_click() -> None:
    assert in_brief(["One.", "Two."]) == (["One.", "Two."], ())
    many = [f"{i}: " + "word " * 20 for i in range(6)]
    assert in_brief(many) == (many[:2], many[2:])
    assert in_brief(["x" * 999, "y" * 999]) == (["x" * 999, "y" * 999], ()), "one sentence is not worth a click"
    report = Report(["A: 5 % flip.", *(f"{i}: {'word ' * 20}{i} % <flip>" for i in range(6))])
    results = collect(erm_and_twin())
    page = Site(results, results, "runs", {})
    for name in ("studies.html", "study.html"):
        one = Rendered(make_study("members", {}), [], report)
        text = page.page(name, name, studies=[one], troubles=[], one=one, words="", tables=[], figures=[])
        first, _, rest = text.partition("<details>")
        assert "A: 5\u00a0% flip." in first
        assert [sum(f"{i}\u00a0% &lt;flip&gt;" in part for i in range(6)) for part in (first, rest)] == [2, 4]
        assert "4 more findings" in rest


def test_each_setting_is_a_page_of_its_own_and_the_newest_record_of_it_counts() -> None:
    records = [finished("heat-map", dataset="dili", seeds=seeds) for seeds in ("5", "1-3")]
    records += [replace(records[0], code="older")]
    studies, troubles = rendered(collect(erm_and_twin(), records=records))
    assert troubles == []
    assert [one.slug for one in studies] == ["heat-map-dataset-dili-seeds-1-3", "heat-map-dataset-dili-seeds-5"]
    assert studies[0].title == "Heat maps of predictions (dataset=dili; seeds=1-3)"
    assert studies[0].command == "churn study heat-map --set dataset=dili --set seeds=1-3"


def test_cells_with_further_seeds_are_cut_to_the_requested_ones() -> None:
    erm = retrained("dili", "erm", 0.3)
    reader = Reader("triage", [erm], [])
    ((cut,),) = reader.cells(["erm"], ["dili"], [99], [4, 2]).values()
    assert cut.key.seeds == cut.predictions["id"].seeds == (2, 4)
    assert (cut.predictions["id"].values == erm.predictions["id"].values[[1, 3]]).all()
    with pytest.raises(Missing, match="ERM on dili, split 99"):
        reader.cells(["erm"], ["dili"], [99], [5, 6])


def test_the_newer_of_a_cell_of_a_study_and_one_of_a_run_counts() -> None:
    newer, older = retrained("dili", "erm", 0.3), keyed(retrained("dili", "erm", 0.1), code="older")
    older = older.with_facts(study="lambda-rule")
    assert collect([newer, older]).of_studies == ()
    assert collect([older, newer]).of_studies == (older,)
    fewer = replace(newer.only([1, 2]), facts=newer.facts)
    assert collect([fewer, older]).of_studies == (older,), "it has retrainings that the run lacks"
    assert [e.title for d in collect([older, newer]).datasets for e in d.entries] == ["ERM"]


CAMPAIGNS = "esol, split 99, erm, greedy, 20 trajectories, 50 + 10"


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([finished("top-k", dataset="dili,bace", seeds="5")], "because ERM on bace, split 99 is missing: run it again"),
        ([finished("top-k", forgotten="1")], "unknown setting of top-k"),
        ([replace(finished("top-k"), study="gone")], "unknown study 'gone'"),
        ([replace(finished("decomposition"), content={"settings": None})], ""),
        ([replace(finished("decomposition"), content={"settings": {"seeds": -1}})], ""),
        ([finished("bo-loop"), Record("bo-loop", CAMPAIGNS, "0" * 16, {})], ""),
    ],
)
def test_a_study_that_lacks_cells_or_is_damaged_or_of_another_version_is_left_out_by_name(records, why):
    shown, (line,) = rendered(collect(erm_and_twin(), records=records))
    assert shown == []
    assert re.match(f"study {records[0].study} is left out:? {why}", line)


def test_a_difference_between_cells_of_other_versions_is_marked() -> None:
    ours, theirs = retrained("d", "twin", 0.1), retrained("d", "erm", 0.3)
    for torch, mark in (("2.13", ""), ("2.12", "‡")):
        cells = [ours.with_facts(versions={"torch": torch})], [theirs.with_facts(versions={"torch": "2.13"})]
        sheet = Sheet("k", "Title", "Caption.", ["Method", Head("Δ")], [["twin", Measured("churn", *cells)]])
        made = table(Rendered(make_study("members", {}), (), Report([])), sheet)
        assert made.rows[0][1].flags == mark
        assert any(note.startswith("‡") for note in made.notes) == bool(mark)
