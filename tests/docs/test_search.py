"""What the page on studies says of the search is what the published predictions of the untouched families give."""

import numpy as np
import pytest
from scipy import stats

from benchmark.data.spec import expand, load_spec
from benchmark.measure.catalogue import MAE, MATCHED_ACCURACY, ORDER
from benchmark.measure.measure import Measure
from benchmark.types import Task
from leaderboard.read import published

from .places import prose

PAGE = prose("docs/studies.md")
RICH = " · Morgan counts + atom pairs + RDKit descriptors"
CANDIDATE, BEST = f"Kernel ridge{RICH} + MiniMol", "Multi-kernel SVM"


def untouched(task: Task) -> dict[str, list[str]]:
    """The names of the datasets of each family in the draw."""
    specs = [spec for spec in map(load_spec, expand("pipelines")) if spec.smiles and spec.task == task]
    families = sorted({spec.family for spec in specs})
    drawn = np.random.default_rng(2026).permutation(families)[: len(families) // 3]
    return {family: [spec.name for spec in specs if spec.family == family] for family in sorted(drawn)}


def over_families(task: Task, measure: Measure, title: str) -> np.ndarray:
    """A measure (F,) of a pipeline on the ID tests of these families, at ten train seeds."""
    families = untouched(task).values()
    every = [name for names in families for name in names]
    of = {
        cell.key.dataset: cell.only(range(1, 11)).predictions["id"]
        for cell in published.shipped(datasets=every)
        if (cell.title, cell.key.sampling, cell.key.canonical_seed, cell.facts.study) == (title, "halves", 99, "")
    }
    return np.array([np.mean([measure.mean(of[name]) for name in names]) for names in families])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_in_the_draw_on_the_page_the_candidate_differs_from_the_best_pipeline_as_it_says(task: Task) -> None:
    assert " ".join(untouched(task)) in PAGE
    mine, best = (100 * over_families(task, ORDER[task], title) for title in (CANDIDATE, BEST))
    gaps = mine - best
    low, high = stats.t.interval(0.95, len(gaps) - 1, gaps.mean(), stats.sem(gaps))
    interval = f"{gaps.mean():+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")
    row = f"{mine.mean():.1f} | {best.mean():.1f}, multi-kernel SVM | {interval} | {(gaps < 0).sum()} |"
    assert f"| {len(gaps)} of {task}s: " in PAGE
    assert row in PAGE


def test_the_most_accurate_pipelines_lose_less_as_the_page_says() -> None:
    right = [over_families("classification", MATCHED_ACCURACY, title) for title in (CANDIDATE, "SVM · MiniMol")]
    mine, svm = (100 * of.mean() for of in right)
    assert f"({svm:.1f} against {mine:.1f} %)" in PAGE
    errors = {title: over_families("regression", MAE, title) for title in ("ERM", f"ERM{RICH}", CANDIDATE)}
    rich, candidate = (100 * (errors[title] / errors["ERM"]).mean() for title in (f"ERM{RICH}", CANDIDATE))
    assert f"MAE of {rich:.0f} % of plain ERM's, where the candidate has {candidate:.0f} %" in PAGE


@pytest.mark.parametrize(
    ("words", "task", "measure"),
    [
        ("matched churn (%)", "classification", ORDER["classification"]),
        ("matched accuracy (%)", "classification", MATCHED_ACCURACY),
        ("1 − ICC (%)", "regression", ORDER["regression"]),
        ("MAE (% of ERM's)", "regression", MAE),
    ],
)
def test_a_transferred_penalty_differs_from_the_default_as_the_page_says(
    words: str, task: Task, measure: Measure
) -> None:
    unit = over_families(task, MAE, "ERM") if measure is MAE else 1
    mine, other = (100 * over_families(task, measure, f"{CANDIDATE}{end}") / unit for end in ("", " · transferred"))
    low, high = stats.t.interval(0.95, len(mine) - 1, (other - mine).mean(), stats.sem(other - mine))
    gap = f"{(other - mine).mean():+.1f} [{low:+.1f}, {high:+.1f}]".replace("-", "−")
    assert f"| {words} | {mine.mean():.1f} | {other.mean():.1f} | {gap} |" in PAGE
