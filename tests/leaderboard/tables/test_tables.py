"""Every table of made-up results, checked against the measures of their predictions."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmark.measure.catalogue import CHURN, CHURN_OF_VALUES
from benchmark.measure.intervals import INTERVAL_KINDS, holm
from leaderboard.figures.ranks import critical_difference
from leaderboard.read.results import Results, collect
from leaderboard.site.sentences import answer, notes
from leaderboard.tables.boards import MARKS
from leaderboard.tables.columns import pairs_of, versus
from leaderboard.tables.entries import EXPECTED, FACTORS, TABLES, build, stamp
from leaderboard.tables.summary import summaries
from leaderboard.tables.table import MISSING, Table, Value


@pytest.fixture(scope="module")
def tables(world: Results) -> dict[str, Table]:
    return {table.key: table for table in build(world)}


def row(table: Table, *heads: str) -> dict[str, Value]:
    (cells,) = [row for row in table.rows if row[: len(heads)] == heads]
    return dict(zip(table.header, cells, strict=True))


def churns(world: Results, dataset: str, title: str) -> list[float]:
    return [100 * CHURN.mean(p) for p in world.dataset(dataset).entry(title).tests]


def test_every_table_is_made_where_there_are_data(tables):
    of_several_samplings, of_splits_in_common = {"claims"}, {"canonical-splits"}
    without = of_several_samplings | of_splits_in_common | {"wide-classification", "wide-regression"}
    without |= {entry.key for entry in (*EXPECTED, *FACTORS)}  # these take eight families, or five
    assert list(tables) == [entry.key for entry in TABLES if entry.key not in without]
    assert build(Results(())) == []


def test_without_erm_only_tables_without_comparisons_are_built(world):
    bare = Results(tuple(replace(d, entries=d.entries[1:]) for d in world.datasets))
    cards = [entry.key for entry in TABLES if entry.key.startswith("scorecard")]
    kept = ["ranks", *cards, "regression", "compute"]
    assert [table.key for table in build(bare)] == kept


def test_the_main_table_has_the_mean_difference_over_splits_and_gaps_for_missing_cells(world, tables):
    cells = row(tables["main"], "Twin of small")
    ours, erm = (np.mean(churns(world, "twin_of_small", title)) for title in ("CALM", "ERM"))
    assert cells["CALM"].number == pytest.approx(ours - erm)
    assert cells["CALM"].low < cells["CALM"].number < cells["CALM"].high
    assert row(tables["main"], "Mid")["CALM"] == Value(MISSING)
    assert [cells[0] for cells in tables["main"].rows] == ["Mid", "Small (dev)", "Twin of small"]
    assert "Mean over the canonical splits 7 and 99; 99 on Mid." in tables["main"].notes


def test_significance_is_after_holm_over_the_datasets_of_a_method_and_the_tests_are_counted(world, tables):
    (note,) = [note for note in tables["main"].notes if "Holm" in note]
    assert "Holm's correction over the 2 to 3 datasets of its method; 8 tests of 3 methods in this table" in note
    bagging = [row(tables["main"], name)["BAGGING"] for name in ("Small (dev)", "Mid", "Twin of small")]
    p = []
    for name in ("small", "mid", "twin_of_small"):
        dataset = world.dataset(name)
        p.append(versus(CHURN).value(pairs_of(dataset, dataset.entry("BAGGING"))).p)
    assert ["*" in value.flags for value in bagging] == [bool(adjusted < 0.05) for adjusted in holm(p)]
    calm = row(tables["main"], "Small (dev)")["CALM"]
    assert (calm.mark, calm.flags) == ("best", "*")


def test_a_method_that_loses_accuracy_is_marked_and_never_the_best(tables):
    wrong = row(tables["main"], "Mid")["WRONG"]
    assert "†" in wrong.flags.split()
    assert wrong.mark != "best"
    assert row(tables["main"], "Small (dev)")["CALM"].mark == "best"
    assert row(tables["main"], "Small (dev)")["WRONG"].number < row(tables["main"], "Small (dev)")["CALM"].number
    assert any(note.startswith("† Accuracy more than 5 pp below ERM's") for note in tables["main"].notes)


@pytest.mark.slow
def test_where_an_interval_over_examples_is_undefined_the_notes_say_so(world):
    keys = ("main", "magnitudes", "drift", "top-k")
    over_examples = {table.key: table for table in build(world, "examples", keys)}
    notes = over_examples["magnitudes"].notes
    assert any("|Δ accuracy| (pp)" in note and "over retrainings" in note for note in notes)
    assert any("F1" in note for note in over_examples["drift"].notes)
    assert any("Δ Jaccard" in note for note in over_examples["top-k"].notes)
    remarks = set(over_examples["main"].notes) - set(MARKS.values())
    assert not any("over retrainings" in note for note in remarks)


def test_magnitudes_are_those_of_erm(world, tables):
    cells = row(tables["magnitudes"], "Mid")
    assert (cells["Train"].text, cells["ID test"].text) == ("320", "80")
    assert [cells["Churn (%)"].number] == pytest.approx(churns(world, "mid", "ERM"))
    assert [cells[0] for cells in tables["borderline"].rows] == ["Edge"]
    of_classes = row(tables["per-class"], "Mid")
    assert of_classes["Class 1"].number < 0.5
    ratio = of_classes["Churn, class 1 (%)"].number / of_classes["Churn, class 0 (%)"].number
    assert of_classes["Ratio"].number == pytest.approx(ratio), "the rarer class is compared with the other"


def test_splits_are_shown_one_by_one_with_their_range(world, tables):
    table = tables["splits"]
    (first, second, mean, spread) = [dict(zip(table.header, cells, strict=True)) for cells in table.rows[:4]]
    assert [row["Split"] for row in (first, second, mean, spread)] == ["7", "99", "mean", "range"]
    assert first["Dataset"] == "Small (dev)"
    numbers = churns(world, "small", "ERM")
    assert [cells["ERM, churn (%)"].number for cells in (first, second)] == pytest.approx(numbers)
    over = mean["ERM, churn (%)"]
    student = stats.t.interval(0.95, 1, np.mean(numbers), stats.sem(numbers))
    assert (over.number, over.low, over.high) == pytest.approx((np.mean(numbers), *student))
    assert spread["ERM, churn (%)"].number == pytest.approx(abs(numbers[0] - numbers[1]))
    assert "Mid" not in [cells[0] for cells in table.rows]  # one split has no range


def test_ranks_count_complete_blocks_and_a_family_once_except_in_the_paper(world, tables):
    def ranked(table: Table) -> list[str]:
        return [str(cells[0]) for cells in table.rows]

    assert set(ranked(tables["ranks"])) == {"BAGGING", "ERM", "WRONG"}
    assert any(note.startswith("2 datasets: Mid, Small + Twin of small") for note in tables["ranks"].notes)
    main, paper = build(world, "paper", ("main", "ranks"))
    assert any(note.startswith("3 datasets") for note in paper.notes)
    assert any("not adjusted for the 8 comparisons" in note for note in main.notes)
    assert INTERVAL_KINDS["paper"] in main.caption
    assert any(note.startswith("Left out: CALM (missing on Mid)") for note in tables["ranks"].notes)


def test_a_regression_has_its_churn_as_a_share_of_its_error(world, tables):
    cells = row(tables["regression"], "", "ERM")
    churn = CHURN_OF_VALUES.mean(world.dataset("solubility").reference.tests[0])
    assert cells["Churn"].number == pytest.approx(churn)
    assert cells["Churn (% of MAE)"].number == pytest.approx(100 * churn / cells["MAE"].number)
    assert tables["regression"].rows[0][0] == "Solubility (log mol/l)"
    assert tables["regression"].rows[0][4].mark == "best"


def test_the_stamp_names_version_data_retrainings_and_kind(world, tables):
    lines = stamp(world, tables["regression"])
    assert "18 retrainings" in lines[0]
    assert lines[1] == "intervals: runs"
    assert lines[2:] == ("solubility: data d; split 99: 0123456789abcdef",)


def test_too_few_runs_give_values_without_intervals_and_unequal_rows_no_table(make_cell):
    rng = np.random.default_rng(0)
    cells = [make_cell(method, rng.dirichlet([1, 1], size=(runs, 30))) for method, runs in (("erm", 1), ("calm", 2))]
    tables = {table.key: table for table in build(collect(cells), keys=("magnitudes", "triage"))}
    assert row(tables["magnitudes"], "Made up")["Churn (%)"] == Value(MISSING)
    assert row(tables["triage"], "Made up")["churn"] == Value(MISSING)
    assert "[" not in row(tables["magnitudes"], "Made up")["ERM accuracy"].text
    with pytest.raises(ValueError, match="2 columns"):
        Table("x", "", "", ("a", "b"), (("1",),), over=(("", 3),))


@pytest.mark.parametrize(("runs", "methods"), [(1, "erm a b"), (4, "erm"), (4, "erm a"), (4, "erm a b")])
def test_what_is_undefined_is_said_in_words_in_every_table_and_sentence(make_cell, runs, methods):
    cells = []
    for i in range(6):
        values = np.random.default_rng(i).dirichlet([1, 1], size=(runs, 30))  # the same for all methods: all ranks tie
        about = {"group": "wide" if i % 2 else "headline"}
        cells += [
            make_cell(m, values, y=(values[0, :, 0] < 0.5).astype(int), dataset=f"d{i}", about=about)
            for m in methods.split()
        ]
    results = collect(cells)
    texts = [text for table in build(results) for text in (table.caption, *table.notes)]
    for summary in summaries(results):
        texts += [answer(summary), *notes(summary)]
        assert summary.ranking is None or critical_difference(summary.ranking, {}) is None
    assert not [text for text in texts if re.search(r"\bnan\b", text)]
