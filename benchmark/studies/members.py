"""More than two coupled networks: λ re-selected by the rule for each number, against bagging. Ours."""

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
    SheetRow,
    classifications,
    compared,
    heads_compared,
    retrainings,
    study,
    summary,
)
from benchmark.settings import parse_splits

MEMBERS = (2, 3, 5, 8)


@study("members", title="Twins of more than two networks")
@dataclass(frozen=True)
class Members:
    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"

    def report(self, lab: Lab) -> Report:
        classifications([self.dataset])
        spec = load_spec(self.dataset)
        splits, seeds = parse_splits(self.canonical_seed), retrainings(self.seeds)
        bagging = [f"bagging:k={k}" for k in MEMBERS]
        plain = lab.cells(["erm", *bagging], [self.dataset], splits, seeds)
        erm = plain[self.dataset, "erm"]
        rows: list[SheetRow] = []
        answer = [f"On {spec.title} ERM has: {summary(erm)}."]
        curves: dict[str, list[Point]] = {"Bagging": [], "Twin, λ by the rule": []}
        for k, bag in zip(MEMBERS, bagging, strict=True):
            chosen = plain[self.dataset, bag]
            curves["Bagging"].append(Point(k, Measured("churn", chosen)))
            options = [(f"Bagging K={k}", chosen, k)]
            twins = "no λ is admitted"
            text = f"twin:lam={{lam:g}}:members={k}"
            if selected := largest(lab, text, self.dataset, splits, seeds, erm):
                lam, twin = selected
                twins = f"λ = {lam:g} by the rule, {summary(twin)}"
                options.append((f"Twin of {k}, λ={lam:g}", twin, k * k))
                curves["Twin, λ by the rule"].append(Point(k, Measured("churn", twin), f"λ={lam:g}"))
            answer.append(f"Twin of {k} networks: {twins}. Bagging of {k}: {summary(chosen)}.")
            for name, cells, passes in options:
                rows.append([name, *compared(cells, erm), str(passes)])
        where = f"{spec.title}, ID test, split {self.canonical_seed}"
        return Report(
            answer,
            [
                Sheet(
                    "members",
                    "Twins of more than two networks",
                    f"{where}. Δ is the difference to ERM. A network of a twin sees the batches of all.",
                    ["Method", *heads_compared(spec.task), "Forward passes (× ERM)"],
                    rows,
                )
            ],
            [
                Chart(
                    "members",
                    "Networks and churn",
                    f"{where}.",
                    Axis("Networks of a prediction"),
                    Axis("Churn (%)", 100),
                    curves,
                )
            ],
        )
