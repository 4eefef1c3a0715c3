"""The page on the paper's claims says what the published results say, where it gives no interval (see test_figures)."""

import re

import pandas as pd
import pytest

from benchmark.measure.catalogue import CHURN

from .places import FROZEN, cells, prose, text

PAGE, RESULTS = text("docs/paper.md"), text("RESULTS.md")
DATASETS = ["DILI", "CYP2D6-Sub", "Pgp", "BACE (dev)", "BBB-Martins", "BBBP", "MOF-thermal", "AMES"]
SAMPLINGS = ("", "halves/")


def table(name: str, index: str = "Dataset") -> pd.DataFrame:
    return pd.read_csv(FROZEN / f"{name}.csv").set_index(index)


def row(start: str) -> list[str]:
    """Return the cells of the row of the page whose claim starts so."""
    (found,) = (line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    return cells(found)


def numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in re.findall(r"[−+]?\d+(?:\.\d+)?", text)]


def twin(columns: pd.Index) -> str:
    (found,) = (c for c in columns if re.fullmatch(r"Twin-bootstrap λ=\d+", c))
    return found


def test_the_shares_of_values_that_agree_are_those_of_the_comparison() -> None:
    agree, decided, share = re.search(r"^(\d+) of (\d+) decided values agree \((\d+) %\)", RESULTS, re.M).groups()
    said = f"of {decided} published values that our intervals can decide, {agree} agree ({share} %)"
    assert said in prose("docs/paper.md")


def test_ranges_of_churn_and_of_differences_in_accuracy_are_those_of_the_datasets() -> None:
    claims = ("Two retrainings of ERM differ on", "… while their accuracies differ", "Churn is 3 to 14 times")
    for column, sampling in enumerate(SAMPLINGS, 1):
        found = table(f"{sampling}magnitudes")
        assert list(found.index) == DATASETS
        churn, drift = found["Each prediction: Churn (%)"], found["Aggregate accuracy: |Δ accuracy| (pp)"]
        for claim, values, digits in zip(claims, (churn, drift, churn / drift), (1, 1, 0), strict=True):
            ends = numbers(re.sub(r"\[.*?\]", "", row(claim)[column]))
            assert ends == [round(values.min(), digits), round(values.max(), digits)], claim


def test_churn_is_largest_for_the_rarer_class() -> None:
    rarer = row("The rarer class churns")
    for column, sampling in enumerate(SAMPLINGS, 1):
        ratio = table(f"{sampling}per-class")["Ratio"]
        assert numbers(rarer[column]) == [round(ratio[name], 1) for name in ("CYP2D6-Sub", "BBB-Martins", "BBBP")]


def test_relative_reductions_are_those_of_the_datasets() -> None:
    for column, sampling in enumerate(SAMPLINGS, 1):
        main, kl = table(f"{sampling}main"), table(f"{sampling}distributional")
        erm, nats = main["ERM churn (%)"], kl["ERM sym-KL (nats)"]
        gone = -100 * main.select_dtypes("number").div(erm, axis=0)
        bagging, coupled = gone["Bagging K=5"], gone[twin(main.columns)]
        assert numbers(row("Bagging with K=5 reduces churn")[column])[:2] == [
            round(bagging.min()),
            round(bagging.max()),
        ]
        assert numbers(row("Twin-bootstrap reduces churn")[column])[0] == round(coupled.median())
        further = 100 * (1 - (100 - coupled) / (100 - gone["Bagging K=2"]))
        assert numbers(row("It churns less than bagging with K=2")[column])[0] == round(further.median())
        fold = nats / (nats + kl["Bagging K=5"])
        ends = numbers(row("Bagging reduces sym-KL")[column])
        assert [fold.min(), fold.max()] == pytest.approx(ends, abs=0.5 if min(ends) > 5 else 0.05)
        coupled_fold = (nats + kl["Bagging K=5"]) / (nats + kl[twin(kl.columns)])
        assert numbers(row("… and twin-bootstrap by another")[column]) == [round(coupled_fold.median())]


def test_the_overlap_of_top_lists_is_that_of_the_datasets() -> None:
    halves = table("halves/top-k")["Twin-bootstrap λ=100"]
    assert numbers(row("Twin-bootstrap raises the overlap")[2]) == [round(halves.min(), 2), round(halves.max(), 2)]


def test_compute_is_as_measured() -> None:
    for column, sampling in enumerate(SAMPLINGS, 1):
        found = table(f"{sampling}compute", "Method")["Measured: CPU time (× ERM)"]
        titles = [
            twin(found.index[[f"λ={300 if not sampling else 100}" in title for title in found.index]]),
            "Bagging K=2",
        ]
        assert numbers(row("… at equal compute")[column]) == [round(found[title], 1) for title in titles]


def test_what_is_said_of_regressions_holds() -> None:
    for column, sampling in enumerate(SAMPLINGS, 1):
        found = pd.read_csv(FROZEN / f"{sampling}regression.csv")
        found["Dataset"] = found["Dataset"].ffill()
        found = found[found["Dataset"].str.startswith(("ESOL", "FreeSolv", "Lipo"))].set_index("Method")
        share = found["Churn (% of MAE)"]["ERM"]
        assert numbers(row("In regressions, churn is")[column]) == [round(share.min()), round(share.max())]
        gone = -found["Δ churn (% of ERM's)"]
        for claim, method in (
            ("On ESOL, FreeSolv and Lipophilicity", "Twin-bootstrap λ=3"),
            ("… more than bagging with K=2", "Bagging K=2"),
            ("… and less than bagging with K=5", "Bagging K=5"),
        ):
            said = row(claim)[column].removeprefix("by ").partition(" %")[0]
            assert numbers(said) == [round(gone[method].min()), round(gone[method].max())], claim


def test_what_is_said_of_review_and_of_single_molecules_holds() -> None:
    reviewed = re.search(r"triage.html`\): BACE: .*?top 30 % contain ([\d.]+) %", RESULTS)[1]
    assert row("With one extra retraining, the 30 %")[1].startswith(f"{reviewed} % on BACE")
    several, never = re.search(r"BACE: (\d+) of 242 test examples flip .*?; (\d+) of them never flip", RESULTS).groups()
    assert row("Molecules that flip in 36 %")[1] == f"{never} of {several} such molecules on BACE"


def test_each_verdict_is_one_of_those_explained() -> None:
    claims = re.sub(r"## The same by matched churn.*?(?=##)", "", PAGE, flags=re.DOTALL)
    rows = [line for line in claims.splitlines() if re.match(r"\| (?!The paper|---)", line)]
    assert len(rows) == 45
    assert f"of {len(rows)} true claims" in PAGE
    verdicts = ("**holds**", "**whole pool only**", "**does not hold**", "**open**")
    assert all(line.strip("|").split("|")[3].strip().startswith(verdicts) for line in rows)


@pytest.mark.long
def test_two_methods_differ_as_the_page_says() -> None:
    from leaderboard.read.published import PUBLISHED, gather
    from leaderboard.tables import pairwise

    results = gather(PUBLISHED)
    datasets = pairwise.datasets_on(results, "headline")
    pairs = pairwise.pairs_in(
        datasets, "Twin-bootstrap λ=300", "Bagging K=5", pairwise.measures_of("classification", [])
    )
    answers = " ".join(map(pairwise.answer, pairs))
    value = re.search(r"Δ churn \(pp\) (\S+ \[.*?\])", answers)[1]
    assert value in prose("docs/paper.md").replace(" pp [", " [")
    assert next(pair for pair in pairs if pair.measure is CHURN).elsewhere.p > 0.05
