"""λ tuned on each dataset by Bayesian optimisation (paper, appendix "Per-dataset Bayesian optimisation", Algorithm 3).

For each train seed, trials of λ minimise the churn between two independent twins on the held-out folds of the training
pool, at no more than a tolerated loss of accuracy against λ = 0; the median over seeds is then trained and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.lab.bayes import search
from benchmark.lab.study import (
    Axis,
    Chart,
    Content,
    Head,
    Lab,
    Measured,
    Point,
    Report,
    Sampled,
    Sheet,
    SheetRow,
    Trainer,
    classifications,
    head,
    retrainings,
    study,
    summary,
)
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.registry import make_method
from benchmark.settings import parse_seeds, parse_splits
from benchmark.types import Method


def tuned(record: Content) -> tuple[np.ndarray, float]:
    """The λ of the best trial of each train seed, and their median, to four digits."""
    best = np.array([max(trials, key=lambda t: t[1])[0] for trials in record["trials"]])
    return best, float(f"{np.median(best):.4g}")


@study("bayes-lambda", title="λ tuned on each dataset")
@dataclass(frozen=True)
class BayesLambda:
    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"
    tuned: str = "3"
    """Train seeds that λ is tuned for; the paper has all ten."""
    trials: int = 50
    folds: int = 3

    def __post_init__(self) -> None:
        if self.trials < 1 or self.folds < 2:
            raise ValueError(f"trials={self.trials}, folds={self.folds}: expected at least 1 trial and 2 folds")

    def report(self, lab: Lab) -> Report:
        (split,) = parse_splits(self.canonical_seed)
        seeds = retrainings(self.seeds)
        rows, curves, answer = list[SheetRow](), {}, []
        for name in classifications(expand(self.dataset)):
            spec = load_spec(name)
            title, made = spec.title, make_method("twin", spec.task)
            key = f"{name}, split {split}, seeds {self.tuned}, {self.trials} trials, {self.folds} folds"
            found = lab.record(key, name, split, tune, made, name, split, self.tuned, self.trials, self.folds)
            best, lam = tuned(found)
            texts = ["erm", "twin", f"twin:lam={lam!r}"]
            cells = [lab.cells(texts, [name], [split], seeds)[name, text] for text in texts]
            evalsets = list(cells[2][0].predictions)
            selected = f"λ = {cells[1][0].key.params['lam']:g}"
            for other, against in ((selected, cells[1]), ("ERM", cells[0])):
                deltas = [Measured(q, cells[2], against, e) for q in ("accuracy", "churn") for e in evalsets]
                rows.append([title, other, Sampled(best), f"{lam:g}", *deltas])
            answer.append(
                f"{title}: median λ = {lam:g} of {len(best)} train seeds ({', '.join(f'{b:.3g}' for b in best)}): "
                f"{summary(cells[2])}. {selected}: {summary(cells[1])}. ERM: {summary(cells[0])}."
            )
            tried = [t for trials in found["trials"] for t in trials if t[0] > 0]
            curves[title] = [Point(t[0], Sampled(np.array([t[2]]))) for t in tried]
        heads = [
            replace(h, text=f"{e.upper()} {h.text}")
            for h in (head(ACCURACY, versus=True), head(CHURN, versus=True))
            for e in evalsets
        ]
        sheet = Sheet(
            "tuned",
            "Tuned λ against the rule's and ERM",
            f"The twin at the tuned λ, less the twin at the rule's λ or ERM, at equal bootstraps; split {split}.",
            ["Dataset", "Against", Head("Mean λ", digits=4), "Median λ", *heads],
            rows,
        )
        chart = Chart(
            "trials",
            "Trials",
            "Churn between two twins on the held-out folds, every trial of every train seed.",
            Axis("λ", log=True),
            Axis("Validation churn (%)", 100),
            curves,
            joined=False,
        )
        return Report(answer, [sheet], [chart])


def tune(
    trainer: Trainer, twin: Method, name: str, split: int, tuned: str, trials: int, folds: int
) -> Mapping[str, list[list[list[float]]]]:
    """All trials of each of the train seeds ``tuned``."""
    pool = load_problem(name, split).without_tests()
    items = [(twin, pool, seed, trials, folds, f"{trainer.code} {seed} {folds}") for seed in parse_seeds(tuned)]
    return {"trials": [[list(t) for t in of_seed] for of_seed in trainer.map(search, items)]}
