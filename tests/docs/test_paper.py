"""The page on the paper's claims says what the published results say, where it gives no interval (see test_figures)."""

import re
from collections.abc import Iterator

import pandas as pd
import pytest

from benchmark.measure.catalogue import CHURN

from .places import FROZEN, cells, prose, text

PAGE, RESULTS = text("docs/paper.md"), text("RESULTS.md")
DATASETS = ["DILI", "CYP2D6-Sub", "Pgp", "BACE (dev)", "BBB-Martins", "BBBP", "MOF-thermal", "AMES"]


def table(name: str, index: str = "Dataset") -> pd.DataFrame:
    return pd.read_csv(FROZEN / f"{name}.csv").set_index(index)


def row(start: str) -> list[str]:
    """Return the cells of the row of the page whose claim starts so."""
    (found,) = (line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    return cells(found)


def numbers(text: str) -> list[float]:
    """Return the numbers of a text outside of intervals."""
    return [float(n.replace("−", "-")) for n in re.findall(r"[−+]?\d+(?:\.\d+)?", re.sub(r"\[.*?\]", "", text))]


def ends(values: pd.Series, digits: int = 0) -> list[float]:
    return [round(values.min(), digits), round(values.max(), digits)]


def twin(columns: pd.Index) -> str:
    (found,) = (c for c in columns if re.fullmatch(r"Twin-bootstrap λ=\d+", c))
    return found


def figures(sampling: str) -> Iterator[tuple[str, list[float]]]:
    """Yield claims of the page, by their beginnings, with the first figures that the tables of a sampling have."""
    found = table(f"{sampling}magnitudes")
    assert list(found.index) == DATASETS
    churn, drift = found["Each prediction: Churn (%)"], found["Aggregate accuracy: |Δ accuracy| (pp)"]
    yield "Two retrainings of ERM differ on", ends(churn, 1)
    yield "… while their accuracies differ", ends(drift, 1)
    yield "Churn is 3 to 14 times", ends(churn / drift)
    ratio = table(f"{sampling}per-class")["Ratio"]
    yield "The rarer class churns", [round(ratio[name], 1) for name in ("CYP2D6-Sub", "BBB-Martins", "BBBP")]

    main, kl = table(f"{sampling}main"), table(f"{sampling}distributional")
    gone = -100 * main.select_dtypes("number").div(main["ERM churn (%)"], axis=0)
    coupled = gone[twin(main.columns)]
    yield "Bagging with K=5 reduces churn", ends(gone["Bagging K=5"])
    yield "Twin-bootstrap reduces churn", [round(coupled.median())]
    against = 100 * (1 - (100 - coupled) / (100 - gone["Bagging K=2"]))
    yield "It churns less than bagging with K=2", [round(against.median())]
    erm = kl["ERM sym-KL (nats)"]
    bagging = erm + kl["Bagging K=5"]
    yield "Bagging reduces sym-KL", ends(erm / bagging, 1 if sampling else 0)
    yield "… and twin-bootstrap by another", [round((bagging / (erm + kl[twin(kl.columns)])).median())]

    times = table(f"{sampling}compute", "Method")["Measured: CPU time (× ERM)"]
    titles = (f"Twin-bootstrap λ={100 if sampling else 300}", "Bagging K=2")
    yield "… at equal compute", [round(times[title], 1) for title in titles]
    if sampling:
        yield "Twin-bootstrap raises the overlap", ends(table("halves/top-k")["Twin-bootstrap λ=100"], 2)

    found = pd.read_csv(FROZEN / f"{sampling}regression.csv")
    found["Dataset"] = found["Dataset"].ffill()
    found = found[found["Dataset"].str.startswith(("ESOL", "FreeSolv", "Lipo"))].set_index("Method")
    yield "In regressions, churn is", ends(found["Churn (% of MAE)"]["ERM"])
    less = -found["Δ churn (% of ERM's)"]
    yield "On ESOL, FreeSolv and Lipophilicity", ends(less["Twin-bootstrap λ=3"])
    yield "… more than bagging with K=2", ends(less["Bagging K=2"])
    yield "… and less than bagging with K=5", ends(less["Bagging K=5"])


def test_the_shares_of_values_that_agree_are_those_of_the_comparison() -> None:
    agree, decided, share = re.search(r"^(\d+) of (\d+) decided values agree \((\d+) %\)", RESULTS, re.M).groups()
    said = f"of {decided} published values that our intervals can decide, {agree} agree ({share} %)"
    assert said in prose("docs/paper.md")


@pytest.mark.parametrize(("column", "sampling"), [(1, ""), (2, "halves/")])
def test_figures_without_an_interval_are_those_of_the_tables(column: int, sampling: str) -> None:
    for claim, expected in figures(sampling):
        assert numbers(row(claim)[column])[: len(expected)] == expected, claim


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
