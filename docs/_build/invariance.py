"""Draw and tabulate, from published predictions, what a threshold and noise buy: ``python docs/_build/invariance.py``.

It writes docs/assets/invariance.svg and prints the tables of docs/measures.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from benchmark.files import CHECKOUT
from benchmark.measure.catalogue import ACCURACY, CHANCE_CORRECTED, CHURN, MATCHED_ACCURACY, MATCHED_CHURN
from benchmark.measure.measure import Measure
from benchmark.measure.ranking import log_odds
from benchmark.types import Predictions
from leaderboard.read.published import PUBLISHED, gather
from leaderboard.read.results import Dataset, unit_weights
from leaderboard.tables.summary import summary_of

CUTS = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
NOISE = (0.0, 0.25, 0.5, 0.75)
LEVELS = (16, 8, 4, 2)
METHODS = ("SVM", "Multi-kernel SVM", "ERM")
MEASURES = (CHURN, CHANCE_CORRECTED, MATCHED_CHURN, ACCURACY, MATCHED_ACCURACY)
RARE = 1 / 3
"""Share of the rarer class below which datasets are drawn."""
FIGURE = CHECKOUT / "docs" / "assets" / "invariance.svg"
Change = Callable[[Predictions], np.ndarray]
"""From predictions to probabilities of class 1, (R, T)."""


def at_cut(cut: float) -> Change:
    """Return the change that makes ``cut`` the threshold of the rarer class: it shifts all log-odds."""
    return lambda p: expit(log_odds(p) - logit(cut) * (1 if np.argmin(p.class_shares) else -1))


def with_noise(size: float) -> Change:
    """Return the change that adds ``size`` times one noise for each molecule to standardised log-odds."""

    def change(p: Predictions) -> np.ndarray:
        scores = log_odds(p)
        scores = (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
        return expit(scores + size * np.random.default_rng(0).normal(size=len(p.ids)))

    return change


def in_levels(n: int) -> Change:
    """Return the change that rounds probabilities down to ``n`` levels."""
    return lambda p: (np.minimum(np.floor(p.values[..., 1] * n), n - 1) + 0.5) / n


def mean(datasets: Sequence[Dataset], title: str, measure: Measure, change: Change) -> float:
    """Return the mean over families of a measure, in %, of the changed predictions of a method on the ID tests."""
    values = []
    for dataset in datasets:
        entry = dataset.entry(title)
        assert entry is not None
        tests = [cell.predictions["id"] for cell in entry.cells.values()]
        ones = [change(p) for p in tests]
        changed = [replace(p, values=np.stack([1 - one, one], -1)) for p, one in zip(tests, ones, strict=True)]
        with np.errstate(invalid="ignore"):
            values.append(np.mean([measure.mean(p) for p in changed]))
    known = ~np.isnan(values)
    weights = unit_weights([dataset for dataset, there in zip(datasets, known, strict=True) if there])
    return 100 * float(weights @ np.array(values)[known])


def tables(datasets: Sequence[Dataset]) -> tuple[dict[str, list[list[float]]], list[list[float]], list[list[float]]]:
    """Return the measures at each cut, by method; and matched churn and accuracy with noise, and in levels."""
    rare = [dataset for dataset in datasets if rarer(dataset) < RARE]
    cuts = {t: [[mean(rare, t, m, at_cut(cut)) for cut in CUTS] for m in MEASURES] for t in ("ERM", "SVM")}
    both = (MATCHED_CHURN, MATCHED_ACCURACY)
    noise = [[mean(datasets, t, m, with_noise(size)) for size in NOISE for m in both] for t in METHODS]
    return cuts, noise, [[mean(datasets, "SVM", m, in_levels(n)) for m in both] for n in LEVELS]


def rarer(dataset: Dataset) -> float:
    """Return the share of the rarer class in a training pool."""
    return min(min(cell.predictions["id"].class_shares) for cell in dataset.entries[0].cells.values())


def blocks() -> list[Dataset]:
    """Return the datasets of the first page that have the three methods."""
    summary = summary_of(gather(PUBLISHED).front, "classification")
    assert summary is not None
    return [dataset for dataset in summary.datasets if all(dataset.entry(title) for title in METHODS)]


def main() -> None:
    """Write the figure and print the tables."""
    import matplotlib.pyplot as plt

    datasets = blocks()
    cuts, noise, levels = tables(datasets)
    figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.5), sharex=True, layout="constrained")
    for ax, measure, row in zip(axes, MEASURES, range(3), strict=False):
        for title, of in cuts.items():
            ax.plot(CUTS, of[row], marker="o", markersize=3, label=title)
        ax.set_title(measure.title, fontsize=9, loc="left")
        ax.set_ylim(0)
        ax.set_xlabel("threshold of the rarer class", fontsize=8)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(FIGURE, metadata={"Date": None})
    for part in (datasets, [dataset for dataset in datasets if rarer(dataset) < RARE]):
        print(f"{len(part)} datasets, {len({dataset.family for dataset in part})} families")
    for title, of in cuts.items():
        for measure, values in zip(MEASURES, of, strict=True):
            print(f"| {title}, {measure.name} |", " | ".join(f"{value:.1f}" for value in values), "|")
    for title, values in zip(METHODS, noise, strict=True):
        print(f"| {title} |", " | ".join(f"{a:.1f} / {b:.1f}" for a, b in zip(*[iter(values)] * 2, strict=True)), "|")
    print("| levels |", " | ".join(f"{a:.1f} / {b:.1f}" for a, b in levels), "|")


if __name__ == "__main__":
    main()
