"""What studies answer: sentences whose figures are worked out by hand."""

import numpy as np
import pytest

from benchmark.store.cell import Cell
from benchmark.studies import make_study
from benchmark.studies.bayes_lambda import BayesLambda
from benchmark.studies.bo_loop import BOLoop
from benchmark.studies.distillation import Distillation
from benchmark.studies.members import Members
from benchmark.studies.overlap import Overlap
from benchmark.studies.weight_decay import WeightDecay
from benchmark.study.text import mean
from leaderboard.read.results import collect
from leaderboard.tables.builders.comparisons import curves, estimates
from leaderboard.tables.studies import Reader
from tests.leaderboard.conftest import cell


def test_more_networks_are_said_with_the_lambda_that_the_rule_admits_and_with_bagging(told) -> None:
    def said(dataset: str, method: str) -> tuple[int, int]:
        name, *settings = method.split(":")
        if name == "twin" and "members=8" in settings:
            return 40, 1  # too many are wrong at any λ
        return {"erm": (20, 8), "bagging": (20, 5)}.get(name, (30, 1) if "lam=300" in settings else (22, 2))

    report = Members(seeds="2").report(told(said))
    assert report.answer == [
        "On BACE the reference is ERM: churn 16.0 %, accuracy 80.0 %.",
        *(
            f"Twin of {k} networks: λ = 100 by the rule, churn 4.0 %, accuracy 78.0 %. Bagging of {k}: churn 10.0 %, "
            "accuracy 80.0 %."
            for k in (2, 3, 5)
        ),
        "Twin of 8 networks: no λ is admissible. Bagging of 8: churn 10.0 %, accuracy 80.0 %.",
    ]


def test_rivals_are_said_with_churn_and_accuracy_and_drawn_one_against_the_other(told) -> None:
    figures = {"erm": (20, 8), "bagging": (20, 5), "gradnorm": (21, 3), "twin": (22, 2), "anchor": (21, 4)}
    report = Distillation(seeds="2").report(told(lambda dataset, method: figures[method.partition(":")[0]]))
    assert report.answer[0] == (
        "On BACE: ERM: churn 16.0 %, accuracy 80.0 %; Bagging K=2: churn 10.0 %, accuracy 80.0 %; GradNorm twin "
        "ratio=1: churn 6.0 %, accuracy 79.0 %; Twin-bootstrap λ=300: churn 4.0 %, accuracy 78.0 %; Anchor λ=300: "
        "churn 8.0 %, accuracy 79.0 %."
    )
    (chart,) = report.charts
    assert [len(of) for of in chart.series.values()] == [1] * 5
    assert (chart.x.label, chart.y.label) == ("Accuracy (%)", "Churn (%)")


def test_weight_decay_is_said_as_a_range_with_its_lowest_end(told) -> None:
    moved = {"1e-05": 9, "0.0001": 8, "0.001": 7, "0.01": 6, "0.1": 7}
    report = WeightDecay(dataset="bace", seeds="2").report(told(lambda d, m: (20, moved.get(d.partition("=")[2], 8))))
    assert report.answer == [
        "On BACE the churn of ERM is 12.0 % to 18.0 % at weight decays of 1e-05 to 0.1. It is lowest at 0.01: churn "
        "12.0 %, accuracy 80.0 %. At the recipe's 0.0001: churn 16.0 %, accuracy 80.0 %."
    ]


def test_overlap_is_said_as_a_mean_over_datasets_with_those_that_lose_accuracy(told) -> None:
    def said(dataset: str, method: str) -> tuple[int, int]:
        if method.startswith("twin_overlap"):
            return 20, round(2 + 4 * float(method.partition("=")[2]))
        wrong = 30 if (dataset, method) == ("dili", "codistillation") else 20
        return wrong, {"erm": 10, "codistillation": 9, "twin": 3 if dataset == "bace" else 4, "twin_shared": 5}[method]

    report = Overlap(dataset="bace,dili", seeds="2").report(told(said))
    assert report.answer == [
        "Codistillation 0 % changes the churn of ERM by −2.0 pp on average over 2 datasets; accuracy falls by more "
        "than 5 pp on DILI.",
        "Twin-bootstrap ≈ 40 % changes the churn of ERM by −13.0 pp on average over 2 datasets; accuracy falls by more "
        "than 5 pp on none.",
        "Twin-shared 100 % changes the churn of ERM by −10.0 pp on average over 2 datasets; accuracy falls by more "
        "than 5 pp on none.",
        "BACE: the churn of twins, by the share of draws in common, is 4.0 % at 0, 6.0 % at 0.25, 8.0 % at 0.5, "
        "10.0 % at 0.75, 12.0 % at 1; ERM's is 20.0 %.",
    ]
    flags = [[number.flags for number in row[1:]] for row in report.sheets[0].rows]
    assert flags == [["", "", ""], ["†", "", ""]]


def test_a_tuned_lambda_is_said_beside_the_rules_and_erm_with_an_ood_test_and_without(told) -> None:
    class WithoutOOD(told):
        def cells(self, methods, datasets, *rest):
            found = super().cells(methods, datasets, *rest)
            if datasets == ["dili"]:
                for cells in found.values():
                    del cells[0].predictions["ood"]
            return found

    trials = [[[0.0, -0.1, 0.1, 0.8], [lam, -0.05, 0.05, 0.8]] for lam in (40.0, 100.0, 120.0)]
    records = {f"{dataset}, split 99, seeds 3, 50 trials, 3 folds": {"trials": trials} for dataset in ("dili", "bace")}
    figures = {"erm": (20, 8), "twin": (22, 2), "twin:lam=100.0": (21, 3)}
    context = WithoutOOD(lambda dataset, method: figures[method], records)
    report = BayesLambda(dataset="dili,bace", seeds="2").report(context)
    assert report.answer == [
        f"{title}: median λ = 100 of 3 train seeds (40, 100, 120): churn 6.0 %, accuracy 79.0 %. λ = 300: churn 4.0 %, "
        "accuracy 78.0 %. ERM: churn 16.0 %, accuracy 80.0 %."
        for title in ("DILI", "BACE")
    ]
    (sheet,) = report.sheets
    heads = [head if isinstance(head, str) else head.text for head in sheet.header]
    assert sum(head.startswith(("ID", "OOD")) for head in heads) == 4
    for row in sheet.rows:
        lacking = [head.partition(" ")[0] for head, shown in zip(heads, row, strict=True) if shown == "–"]
        assert lacking == (["OOD", "OOD"] if row[0] == "DILI" else [])


def test_campaigns_are_said_by_the_spread_of_what_they_find_and_drawn_by_method(told) -> None:
    study = BOLoop(dataset="esol", methods="erm bagging", trajectories=2, budget=3)
    settings = "2 trajectories, 50 + 3"
    campaigns = {
        "erm, greedy": ([1.0, 3.0], [[1, 2, 3], [3, 4, 5]]),
        "bagging, greedy": ([3.0, 3.0], [[1, 2, 3], [3, 2, 1]]),
    }
    records = {
        f"esol, split 99, {name}, {settings}": {"final_best": best, "acquired": acquired, "range": 10.0}
        for name, (best, acquired) in campaigns.items()
    }
    report = study.report(told(None, records))
    assert report.answer == [
        "ESOL: over 2 campaigns, the standard deviation of the best target, as a share of the pool's range, is 14.1 % "
        "with ERM (Jaccard 0.20), 0.0 % with Bagging K=5 (Jaccard 1.00); in brackets, "
        "the mean overlap of the molecules that two campaigns acquire."
    ]
    (chart,) = report.charts
    assert chart.x.names == ["ERM", "Bagging K=5"]
    assert [point.x for point in chart.series["ESOL"]] == [0, 1]


# From the predictions of the main grid


@pytest.fixture(scope="module")
def grid() -> list[Cell]:
    """ERM, bagging and a twin on DILI: ever less noise on one truth."""
    rng = np.random.default_rng(3)
    y, latent = rng.integers(2, size=150), rng.normal(size=150)
    cells = []
    for title, name, params, noise in (
        ("ERM", "erm", {}, 0.8),
        ("Bagging K=5", "bagging", {"k": 5}, 0.5),
        ("Twin-bootstrap λ=300", "twin", {"lam": 300.0, "members": 2}, 0.2),
    ):
        p = 1 / (1 + np.exp(-2 * (latent + y - 0.5 + noise * rng.normal(size=(8, 150)))))
        about = {"dataset": "dili", "about": {"title": "DILI"}, "title": title, "params": params}
        cells.append(cell(name, np.stack([1 - p, p], axis=-1), y=y, **about))
    return cells


def answer(name: str, grid: list[Cell]) -> str:
    (sentence,) = make_study(name, {"dataset": "dili", "seeds": "8"}).report(Reader(name, grid, [])).answer
    return sentence


def test_triage_and_entropy_say_the_numbers_of_the_table(grid: list[Cell]) -> None:
    table = estimates([grid[0].predictions["id"]])
    churn, entropy = (100 * table[f"recall of {score}"].value for score in ("churn", "entropy"))
    (dataset,) = collect(grid).datasets
    drawn = curves(dataset)
    assert answer("triage", grid) == (
        f"DILI: ranked by the churn of two retrainings, the top tenth of predictions contains {churn:.1f} % of all "
        f"flips, and the top 30 % contain {100 * drawn.recall(2):.1f} %."
    )
    assert answer("entropy", grid) == (
        f"DILI: the top tenth of predictions contains {churn:.1f} % of all flips if ranked by the churn of two "
        f"retrainings, and {entropy:.1f} % if ranked by entropy."
    )
    assert answer("convergence", grid) == (
        "DILI: ranked by the churn of a few retrainings, the top 30 % of predictions contain "
        f"{100 * drawn.recall(2):.1f} % (2 retrainings), {100 * drawn.recall(3):.1f} % (3 retrainings), "
        f"{100 * drawn.recall(5):.1f} % (5 retrainings) of all flips."
    )


def test_flips_and_the_top_ten_are_counted_by_loops(grid: list[Cell]) -> None:
    classes = [cell.predictions["id"].values.argmax(axis=2) for cell in grid]
    pairs = [(i, j) for i in range(8) for j in range(i)]
    erm, bag, twin = (np.mean([c[i] != c[j] for i, j in pairs], axis=0) for c in classes)
    often = erm >= 0.36
    assert 0 < (often & (twin == 0)).sum() < often.sum()
    assert answer("case-study", grid) == (
        f"DILI: {often.sum()} of 150 test examples flip in at least 36 % of the pairs of ERM's retrainings; "
        f"{(often & (twin == 0)).sum()} of them never flip with Twin-bootstrap λ=300."
    )
    assert answer("heat-map", grid) == (
        f"DILI: the share of test examples that never flip is {100 * np.mean(erm == 0):.1f} % with ERM (churn "
        f"{100 * erm.mean():.1f} %), {100 * np.mean(twin == 0):.1f} % with Twin-bootstrap λ=300 (churn "
        f"{100 * twin.mean():.1f} %)."
    )
    tops = [[set(np.argsort(-run[:, 1])[:10]) for run in cell.predictions["id"].values] for cell in grid]
    a, b, c = (np.mean([len(t[i] & t[j]) / len(t[i] | t[j]) for i, j in pairs]) for t in tops)
    assert answer("top-k", grid) == (
        f"DILI: the Jaccard overlap of two retrainings' ten most probable actives is {a:.2f} with ERM, {b:.2f} with "
        f"Bagging K=5, {c:.2f} with Twin-bootstrap λ=300."
    )
    assert mean("churn", [grid[1]]) == pytest.approx(bag.mean())
