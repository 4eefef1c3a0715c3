"""Rivals of the twin: distillation from an incumbent, and a twin whose λ balances gradients (see ``methods/anchor.py``
and ``methods/gradnorm.py``). λ of twin and anchor is selected by the rule on the dataset itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.data.spec import load_spec
from benchmark.lab.selection import largest
from benchmark.lab.study import (
    Axis,
    Chart,
    Lab,
    Measured,
    Point,
    Report,
    Sheet,
    classifications,
    compared,
    heads_compared,
    retrainings,
    study,
    summary,
)
from benchmark.settings import parse_splits


@study("distillation", title="Distillation from an incumbent, and balanced gradients")
@dataclass(frozen=True)
class Distillation:
    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"

    def report(self, lab: Lab) -> Report:
        classifications([self.dataset])
        spec = load_spec(self.dataset)
        splits, seeds = parse_splits(self.canonical_seed), retrainings(self.seeds)
        plain = lab.cells(["erm", "bagging:k=2", "gradnorm"], [self.dataset], splits, seeds)
        erm = plain[self.dataset, "erm"]
        found = list(plain.values())
        for method in ("twin", "anchor"):
            if selected := largest(lab, f"{method}:lam={{lam:g}}", self.dataset, splits, seeds, erm):
                found.append(selected[1])
        where = f"{spec.title}, ID test, split {self.canonical_seed}"
        return Report(
            [
                f"On {spec.title}: {'; '.join(f'{cells[0].title}: {summary(cells)}' for cells in found)}.",
                "An anchored retraining is pulled to one incumbent: part of its agreement with others is agreement "
                "with that: its churn says nothing of what a new incumbent would change.",
            ],
            [
                Sheet(
                    "rivals",
                    "Distillation and balanced gradients",
                    f"{where}. Δ: to ERM at equal bootstraps.",
                    ["Method", *heads_compared(spec.task)],
                    [[cells[0].title, *compared(cells, erm)] for cells in found],
                )
            ],
            [
                Chart(
                    "rivals",
                    "Accuracy and churn",
                    f"{where}.",
                    Axis("Accuracy (%)", 100),
                    Axis("Churn (%)", 100),
                    {cells[0].title: [Point(Measured("accuracy", cells), Measured("churn", cells))] for cells in found},
                )
            ],
        )
