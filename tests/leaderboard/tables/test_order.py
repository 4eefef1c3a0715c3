"""The order of the first page: who has a place, on which retrainings, and which methods differ."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from benchmark.measure.catalogue import MATCHED_CHURN
from benchmark.measure.intervals import Estimate, jackknife
from benchmark.store.cell import Cell
from leaderboard.read import published
from leaderboard.read.results import collect
from leaderboard.site import sentences
from leaderboard.stats.ranks import critical_difference
from leaderboard.tables import order
from leaderboard.tables.builders import places
from leaderboard.tables.entries import build
from leaderboard.tables.summary import YOURS, Summary, summaries, summary_of

from ..conftest import cell, flipping, row_of, sure

N = 120


def predictions(seed: int, flips: float, runs: int = 10, wrong: float = 0.0) -> np.ndarray:
    """Probabilities (R, T, 2): each run errs on its own random share of examples, and all on the first ``wrong``."""
    labels = flipping(np.random.default_rng(seed), flips, runs, N)
    labels[:, : int(wrong * N)] = 1 - np.arange(int(wrong * N)) % 2
    return sure(labels)


def churn_of(cell: Cell) -> float:
    return MATCHED_CHURN.mean(cell.predictions["id"])


def grid(rates: dict[str, float], datasets: int, about: Callable[[int], dict[str, str]] = lambda d: {}) -> list[Cell]:
    """Cells of methods, whose runs err at these rates, on so many datasets: d0, d1, …"""
    return [
        cell(m, predictions(10 * d + i, rates[m]), dataset=f"d{d}", about=about(d))
        for d, (i, m) in product(range(datasets), enumerate(rates))
    ]


@pytest.fixture
def cells() -> list[Cell]:
    """Four methods on three headline datasets, two of which are one family."""
    rates = {"erm": 0.2, "wild": 0.25, "calm": 0.1, "middle": 0.15}
    return grid(rates, 3, lambda d: {"family": "f" if d < 2 else "g"})


def on_front(cells: list[Cell]) -> Summary:
    return summary_of(collect(cells), "classification", "headline")


def test_places_go_by_the_mean_matched_churn_over_families(cells: list[Cell]):
    summary = on_front(cells)
    by_hand = {}
    for title in ("ERM", "WILD", "CALM", "MIDDLE"):
        churns = [churn_of(cell) for cell in cells if cell.title == title]
        by_hand[title] = np.mean([np.mean(churns[:2]), churns[2]])
    assert [row.title for row in summary.placed] == sorted(by_hand, key=lambda title: by_hand[title])
    assert [row.place for row in summary.placed] == [1, 2, 3, 4]
    assert {row.title: row.matched for row in summary.rows} == pytest.approx(by_hand)
    assert row_of(summary, "CALM").estimates["matched_churn"].value == pytest.approx(by_hand["CALM"]), "as shown"


def test_a_method_that_loses_accuracy_follows_those_that_keep_it_whatever_its_churn(cells: list[Cell], make_cell):
    about = {"family": "f"}
    losing = [make_cell("cheap", predictions(7 + d, 0.01, wrong=0.4), dataset=f"d{d}", about=about) for d in range(3)]
    summary = on_front([*cells, *losing])
    row = row_of(summary, "CHEAP")
    assert row.matched < summary.placed[0].matched
    assert row.place is None
    assert row.marks == ("† on D0, D1, D2",)
    assert [r.title for r in summary.rows][-1] == "CHEAP"
    assert row.rank is not None, "the paper's mean ranks are not about accuracy"
    assert summary.by_rank[0] is row
    answer = sentences.answer(summary)
    assert "CALM</a></strong> comes first, with " in answer


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ([0.0, -0.005, 0.004, -0.002, 0.001], True),
        ([0.0, -0.03, 0.03, -0.02, 0.02], False),  # no loss on average, but one of 1 pp is not ruled out
        ([-0.06, 0.05, 0.05, 0.05, 0.05], False),
        ([-0.06, *[0.05] * 11], True),  # a single loss over 5 pp removes nothing
        ([-0.02, 0.02], True),  # too few families: only what is shown to lose over 5 pp has no place
        ([-0.1, -0.101], False),
    ],
)
def test_a_place_takes_that_students_interval_over_families_rules_out_a_loss(changes, kept):
    datasets = collect(grid({"erm": 0.1}, len(changes))).headline()
    each = [Estimate(change, change - 0.01, change + 0.01, df=9) for change in changes]
    (mean,) = order.means_of(datasets, {"change": each}).values()
    assert order.keeps(mean, datasets) == kept
    if len(changes) >= 5:
        interval = stats.t.interval(0.95, len(changes) - 1, np.mean(changes), stats.sem(changes))
        assert (mean.low, mean.high) == pytest.approx(interval)
        assert kept == (interval[0] > -0.01)


def test_the_top_five_of_methods_far_apart_is_stable_and_of_equal_ones_is_not():
    block = collect(grid({"erm": 0.1}, 20)).headline()
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=(20, 8))
    assert order.stability(block, np.arange(8) + noise, np.zeros((20, 8))) == (1, 1)
    same, ordered = order.stability(block, noise, np.zeros((20, 8)))
    assert ordered < same < 0.9
    # By hand: of two methods, the first keeps its place in as many resamples as its mean is the lower.
    values = rng.normal(size=(20, 2))
    drawn = rng.integers(20, size=(20_000, 20))
    first = np.sign(np.diff(values.mean(axis=0)))
    expected = np.mean(np.sign(np.diff(values[drawn].mean(axis=1))[:, 0]) == first)
    assert order.stability(block, values, np.zeros((20, 2)), first=1)[0] == pytest.approx(expected, abs=0.03)


def test_a_rehearsal_gives_places_by_the_rule_on_each_two_thirds():
    families = collect(grid({"erm": 0.1}, 21)).headline()
    rng = np.random.default_rng(1)
    values, changes = rng.normal(size=(21, 5)) + np.arange(5) / 2, rng.normal(size=(21, 5)) * 0.02
    changes[:, 1] = 0  # the reference
    changes[:, 2] -= 0.03
    chosen = np.random.default_rng(0).permuted(np.tile(np.arange(21) < 14, (200, 1)), axis=1)
    stays, before, after = [], [], []
    for mask in chosen:
        with np.errstate(invalid="ignore"):
            low = stats.t.interval(0.95, 13, changes[mask].mean(axis=0), stats.sem(changes[mask]))[0]
        placed = [m for m in range(5) if m == 1 or low[m] > -0.01]
        assert 2 not in placed
        first, *others = sorted(placed, key=lambda m: values[mask, m].mean())
        tested = values[~mask].mean(axis=0)
        stays.append(all(tested[first] <= tested[m] for m in placed))
        if others:
            before.append(values[mask, others[0]].mean() - values[mask, first].mean())
            after.append(tested[others[0]] - tested[first])
    assert 0 < len(before) < 200
    expected = np.mean(stays), np.mean(before), np.mean(after)
    assert order.rehearsal(families, values, changes) == pytest.approx(expected)
    changes -= 1
    changes[:, 1] = 0
    assert order.rehearsal(families, values, changes) is None, "only the reference keeps accuracy"


def test_the_first_page_says_how_far_its_first_place_carries_over():
    cells = grid({"erm": 0.3, "calm": 0.05, "middle": 0.15}, 9)
    summary = on_front(cells)
    told = places.stable(summary)
    assert "tested on the others, 100 % have the same first there" in told
    middle, calm = (np.mean([churn_of(c) for c in cells if c.title == title]) for title in ("MIDDLE", "CALM"))
    lead = pytest.approx(middle - calm, abs=0.01)
    assert summary.rehearsed[1:] == (lead, lead)
    assert told in "".join(sentences.notes(summary))
    few = on_front(cells[:21])
    assert (few.rehearsed, places.stable(few)) == (None, ""), "two thirds of seven families have no interval"


def test_a_method_with_three_of_ten_retrainings_has_no_place_and_moves_no_one_elses(cells: list[Cell], make_cell):
    before = on_front(cells)
    lucky = [make_cell("lucky", predictions(d, 0.01, runs=3), dataset=f"d{d}", about={"family": "f"}) for d in range(3)]
    summary = on_front([*cells, *lucky])
    row = row_of(summary, "LUCKY")
    assert (row.place, row.rank, row.unranked) == (None, None, "3 of 10 train seeds on D0, D1, D2")
    assert row.estimates["matched_churn"].value < summary.placed[0].matched
    now, then = ([(r.title, r.place, r.matched, r.rank) for r in of.placed] for of in (summary, before))
    assert now == then


def test_retrainings_beyond_those_that_most_methods_have_do_not_count(cells: list[Cell], make_cell):
    more = [make_cell("more", predictions(d, 0.12, runs=16), dataset=f"d{d}") for d in range(3)]
    summary = on_front([*cells, *more])
    firsts = [churn_of(cell.only(range(1, 11))) for cell in more]
    assert row_of(summary, "MORE").matched == pytest.approx(np.mean([np.mean(firsts[:2]), firsts[2]]))
    assert row_of(summary, "MORE").place is not None


def test_a_method_that_lacks_a_split_that_most_have_has_no_place(cells: list[Cell], make_cell):
    rates = {"erm": 0.2, "calm": 0.1, "late": 0.02}
    both = [
        make_cell(m, predictions(i + s, rates[m]), dataset="e", split=s)
        for (i, m), s in product(enumerate(rates), (7, 99))
        if (m, s) != ("late", 7)
    ]
    (dataset,) = collect(both).datasets
    assert list(order.counted(dataset)) == [7, 99]
    assert order.lacking(dataset, dataset.entry("LATE")) == "1 of 2 splits"
    assert order.lacking(dataset, dataset.entry("CALM")) == ""
    assert row_of(on_front(both), "LATE").unranked == "1 of 2 splits on E"


def test_regressions_are_ordered_by_the_share_of_variance_that_is_retraining(make_cell):
    rng = np.random.default_rng(0)
    y = np.linspace(-1, 1, 400).astype(np.float32)
    sizes = {"erm": 0.5, "calm": 0.25, "shrunk": 0.5}
    made = []
    for (d, unit), (m, size) in product((("a", 1), ("b", 100)), sizes.items()):
        values = (y + size * rng.normal(size=(6, 400)))[..., None] * (0.1 if m == "shrunk" else 1)
        made.append(make_cell(m, unit * values, y=y, dataset=d))
    summary = next(s for s in summaries(collect(made)) if s.task == "regression")
    churns = {row.title: row.matched for row in summary.rows}
    for title, size in (("ERM", 0.5), ("CALM", 0.25), ("SHRUNK", 0.5)):  # variances of noise and, with it, of all
        assert churns[title] == pytest.approx(size**2 / (size**2 + 1 / 3), rel=0.08)
    table = places.places("regression", collect(made), "runs")
    assert {row[0]: row[table.header.index("1 − ICC (%)")].number for row in table.rows} == pytest.approx(
        {title: 100 * churn for title, churn in churns.items()}
    )
    assert places.places("classification", collect(made), "runs") is None


def test_neighbours_differ_as_by_the_jackknife_of_paired_differences_and_holm(cells: list[Cell]):
    results = collect([cell for cell in cells if cell.key.dataset == "d2"])
    summary = on_front([cell for cell in cells if cell.key.dataset == "d2"])
    titles = [row.title for row in summary.placed]
    found = order.resolution(results.headline(), pairwise(titles))
    of = {c.title: MATCHED_CHURN.of_runs(c.predictions["id"]) for c in cells if c.key.dataset == "d2"}
    expected = [jackknife([of[first] - of[second]]).p for first, second in pairwise(titles)]
    assert found.pairs == tuple(pairwise(titles))
    assert found.adjusted == pytest.approx(multipletests(expected, method="holm")[1].tolist())
    (gap,) = order.resolution(collect(cells).headline(), [("CALM", "WILD")]).differences
    calm, wild = ([churn_of(c) for c in cells if c.title == title] for title in ("CALM", "WILD"))
    gaps = np.subtract(calm, wild)
    assert gap == pytest.approx(np.mean([np.mean(gaps[:2]), gaps[2]])), "each family counts once"


def test_several_splits_have_a_mean_a_range_and_students_interval_over_them(make_cell):
    rates = {"erm": 0.2, "calm": 0.1}
    made = [
        make_cell(m, predictions(100 * d + 10 * i + s, rates[m], runs=4), dataset=f"d{d}", split=s)
        for d, (i, m), s in product(range(2), enumerate(rates), (7, 42, 99))
    ]
    results = collect(made)
    body = places.over_canonical_splits(results, "runs")
    assert body.header == ("Method", "Split 7", "Split 42", "Split 99", "Mean", "Range")
    assert [row[0] for row in body.rows] == ["CALM", "ERM"]
    of = {(c.key.dataset, c.title, c.key.canonical_seed): 100 * churn_of(c) for c in made}
    for title, *values in body.rows:
        by_hand = [np.mean([of[d, title, s] for d in ("d0", "d1")]) for s in (7, 42, 99)]
        interval = stats.t.interval(0.95, 2, np.mean(by_hand), stats.sem(by_hand))
        assert [value.number for value in values[:3]] == pytest.approx(by_hand)
        assert (values[3].number, values[3].low, values[3].high) == pytest.approx((np.mean(by_hand), *interval))
        assert values[4].number == pytest.approx(np.ptp(by_hand))
    alone = collect([cell for cell in made if cell.key.canonical_seed == 99])
    assert places.over_canonical_splits(alone, "runs") is None


def test_a_method_that_is_neither_published_nor_submitted_is_the_readers_own(cells: list[Cell], make_cell):
    bagging = [make_cell("bagging", predictions(d, 0.1), dataset=f"d{d}", params={"k": 5}) for d in range(3)]
    mine = [replace(cell, key=replace(cell.key, method="mine"), title="Mine") for cell in bagging]
    summary = on_front([*cells, *bagging, *mine])
    assert ("bagging", repr([("k", 5)])) in published.listed_methods()
    assert [row_of(summary, title).badge for title in ("ERM", "BAGGING", "Mine")] == ["baseline", "baseline", YOURS]


def test_an_estimate_in_another_unit_keeps_its_test():
    made = Estimate(2.0, 1.0, 3.0, 0.01, 9.0).divided(2)
    assert (made, made.df) == (Estimate(1.0, 0.5, 1.5, 0.01), 9)


@pytest.fixture
def wide() -> list[Cell]:
    """Three methods on ten datasets of eight families in seven groups: d0 and d1 are one family, as are d1's and d2's
    molecules, and d3 and d4 share their molecules alone."""
    families = {0: "a", 1: "a", 3: "c", 4: "d"}
    groups = {1: "x", 2: "x", 3: "y", 4: "y"}

    def about(d: int) -> dict[str, str]:
        group = "headline" if d < 4 else "wide"
        return {"group": group, "family": families.get(d, ""), "family_group": groups.get(d, "")}

    return grid({"erm": 0.2, "calm": 0.1, "middle": 0.14}, 10, about)


@pytest.mark.parametrize(
    ("unit", "blocks"),
    [("family", [[0, 1], *([d] for d in range(2, 10))]), ("group", [[0, 1, 2], [3, 4], 5, 6, 7, 8, 9])],
)
def test_methods_differ_elsewhere_as_by_wilcoxons_test_over_families_or_groups(wide: list[Cell], unit, blocks):
    rng = np.random.default_rng(0)
    values = {str(i): rng.normal(size=10) for i in range(6)}
    values |= {"ties": values["0"].round(), "zero": np.r_[values["0"][:4], values["1"][4:]]}
    pairs = [*combinations(values, 2)]
    gaps = [[np.mean((values[first] - values[second])[of]) for of in blocks] for first, second in pairs]
    datasets = sorted(collect(wide).datasets, key=lambda dataset: dataset.name)
    found = order.resolution_elsewhere(datasets, values, [*pairs, ("0", "0")], unit)
    expected = multipletests([*(stats.wilcoxon(of).pvalue for of in gaps), 1.0], method="holm")[1]
    assert found.adjusted == pytest.approx(expected.tolist())
    assert found.differences == pytest.approx([*map(np.mean, gaps), 0])


def test_the_table_of_the_wide_order_counts_families_or_groups_once(wide: list[Cell]):
    results = collect(wide)
    (table,) = build(results, keys=("wide-classification", "wide-regression"))
    churns = {(c.key.dataset, c.title): churn_of(c) for c in wide}
    by_family = {f"d{d}": 1 / 9 / (2 if d < 2 else 1) for d in range(10)}
    by_group = {f"d{d}": 1 / 7 / (3 if d < 3 else 2 if d < 5 else 1) for d in range(10)}
    assert [row[0] for row in table.rows] == ["CALM", "MIDDLE", "ERM"]
    for title, elsewhere, groups, here, one, other, rank, strict, _ in table.rows:
        for value, weights in ((one, by_family), (other, by_group)):
            assert value.number == pytest.approx(100 * sum(w * churns[d, title] for d, w in weights.items()))
        assert elsewhere.number == here.number == rank.number == strict.number, "the methods are far apart"
        assert [place.text for place in (elsewhere, groups, here)] == [f"{rank.number:.0f}"] * 3
    assert "9 families, 3 methods: Friedman χ² = 18.0" in table.notes[0]
    assert "7 groups of families, 3 methods: Friedman χ² = 14.0" in table.notes[1]
    assert f"difference of mean ranks {critical_difference(7, 3):.2f} at 0.05" in table.notes[1]


def test_a_place_is_a_range_where_methods_cannot_be_told_apart(wide: list[Cell], make_cell):
    of_erm = {c.key.dataset: c for c in wide if c.title == "ERM"}
    alike = [
        make_cell("alike", predictions(500 + i, 0.2), dataset=name, about={"family": cell.facts.dataset.family})
        for i, (name, cell) in enumerate(of_erm.items())
    ]
    summary, headline = summaries(collect([*wide, *alike]))  # and all, which are those of wide
    sizes = {s.key: len(s.datasets) for s in (summary, headline)}
    assert [*sizes.items()] == [("classification/wide", 10), ("classification/headline", 4)]
    tests = dict(zip(summary.between.pairs, summary.between.adjusted, strict=True))
    assert [pair for pair, p in tests.items() if p > 0.05] == [tuple(row.title for row in summary.placed[2:])]
    assert [row.shown_place.text for row in summary.placed] == ["1", "2", "3–4", "3–4"]
    assert "Wilcoxon's test over 9 families, Holm's correction for 6 pairs of methods" in summary.place_sentence
    assert "CALM</a></strong> comes first, with " in sentences.answer(summary)
    assert "may be as good" not in sentences.answer(summary)


def test_the_board_of_the_ood_test_is_that_of_its_predictions(cells: list[Cell], make_cell):
    """Each dataset's OOD test here is the ID test of the next, and the last dataset has none."""
    of = {(c.key.dataset, c.title): c for c in cells}
    names, titles = ["d0", "d1", "d2"], ["ERM", "WILD", "CALM", "MIDDLE"]
    shifted = [
        replace(of[name, t], predictions={"id": of[name, t].predictions["id"], "ood": of[other, t].predictions["id"]})
        for name, other in pairwise(names)
        for t in titles
    ]
    results = collect([*shifted, *(of["d2", t] for t in titles)])
    (found,) = (s for s in summaries(results, evalset="ood") if s.group == "headline")
    moved = [replace(cell, predictions={"id": cell.predictions["ood"]}) for cell in shifted]
    expected = on_front(moved)
    assert [d.name for d in found.datasets] == ["d0", "d1"]
    assert [(row.title, row.places) for row in found.rows] == [(row.title, row.places) for row in expected.rows]
    for row in expected.rows:
        assert row_of(found, row.title).matched == pytest.approx(row.matched)
        assert row_of(found, row.title).estimates["matched_churn"] == row.estimates["matched_churn"]
    assert " of the OOD test predictions (" in sentences.answer(found)
    assert sentences.notes(found)[0].startswith("OOD tests of D0, D1. ")


def test_below_six_families_a_range_of_places_is_that_of_these_datasets(cells: list[Cell]):
    summary = on_front(cells)
    found = order.resolution(summary.datasets, combinations([row.title for row in summary.placed], 2))
    assert summary.between == found
    for row in summary.placed:
        tests = zip(found.pairs, found.differences, found.adjusted, strict=True)
        signed = [d if pair[0] == row.title else -d for pair, d, p in tests if row.title in pair and p < 0.05]
        assert row.places == (1 + sum(d > 0 for d in signed), 4 - sum(d < 0 for d in signed))
