"""The rule that selects λ, for all λ and at other tolerances (paper, appendix "Development Pareto curve")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark.data.spec import load_spec
from benchmark.lab import selection
from benchmark.lab.study import (
    Axis,
    Chart,
    Lab,
    Measured,
    Point,
    Report,
    Sheet,
    SheetRow,
    compared,
    heads_compared,
    over,
    retrainings,
    study,
    summary,
)
from benchmark.settings import parse_splits
from benchmark.store.cell import Cell

Swept = Mapping[float, Sequence[Cell]]
"""Cells by λ, one for each split."""


@study("lambda-rule", title="The rule that selects λ")
@dataclass(frozen=True)
class LambdaRule:
    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"
    method: str = "twin"
    """Any method with a hyperparameter ``lam``."""

    def report(self, lab: Lab) -> Report:
        spec, splits = load_spec(self.dataset), parse_splits(self.canonical_seed)
        named = {lam: f"{self.method}:lam={lam:g}" for lam in selection.LAMBDAS[spec.task]}
        found = lab.cells(["erm", "bagging", *named.values()], [self.dataset], splits, retrainings(self.seeds))
        others = [found[self.dataset, text] for text in ("erm", "bagging")]
        swept = {lam: found[self.dataset, text] for lam, text in named.items()}
        picks = {t: _picks(others[0], swept, t) for t in selection.TOLERANCES[spec.task]}
        picked = next(iter(picks.values()))
        answer = []
        for i, (split, lam) in enumerate(zip(splits, picked, strict=True)):
            chosen = f"λ = {lam:g}: {summary(swept[lam][i : i + 1])}" if lam else "no λ"
            erm = summary(others[0][i : i + 1])
            answer.append(f"On {spec.title}, split {split}, the rule selects {chosen}. ERM: {erm}.")
        where = f"{spec.title}, {over(splits)}"
        selected = {lam: [split for split, of in zip(splits, picked, strict=True) if of == lam] for lam in swept}
        rows: list[SheetRow] = [[some[0].title, *compared(some, others[0]), ""] for some in others]
        for lam, some in swept.items():
            mark = f"selected on {', '.join(map(str, selected[lam]))}" if selected[lam] else ""
            rows.append([some[0].title, *compared(some, others[0]), mark])
        sweep = Sheet(
            "sweep",
            "λ, accuracy and churn",
            f"{where}, ID test. Δ is the difference to ERM at equal bootstraps.",
            ["Method", *heads_compared(spec.task), "Rule"],
            rows,
        )
        tolerance = Sheet(
            "tolerance",
            "What the rule selects at other tolerances",
            "The largest λ that costs at most the tolerance against ERM on the ID test.",
            ["Tolerance", *(f"Split {split}" for split in splits)],
            [[f"{t:g}", *("none" if lam is None else f"{lam:g}" for lam in of)] for t, of in picks.items()],
        )
        return Report(answer, [sweep, tolerance], [self._pareto(where, others, swept, picked)])

    def _pareto(
        self, where: str, others: Sequence[Sequence[Cell]], swept: Swept, picked: Sequence[float | None]
    ) -> Chart:
        regression = load_spec(self.dataset).task == "regression"

        def point(some: Sequence[Cell], label: str = "", chosen: bool = False) -> Point:
            return Point(Measured("mae" if regression else "accuracy", some), Measured("churn", some), label, chosen)

        return Chart(
            "pareto",
            "λ between accuracy and churn",
            f"{where}, ID test; filled large: selected by the rule.",
            Axis("MAE") if regression else Axis("Accuracy (%)", 100),
            Axis("Churn |f − f′|") if regression else Axis("Churn (%)", 100),
            {
                self.method: [point(some, f"λ={lam:g}", lam in picked) for lam, some in swept.items()],
                **{some[0].title: [point(some)] for some in others},
            },
        )


def _picks(erm: Sequence[Cell], swept: Swept, tolerance: float) -> list[float | None]:
    """The λ that the rule selects on each split."""
    losses = [{lam: selection.loss(cells[i : i + 1]) for lam, cells in swept.items()} for i in range(len(erm))]
    return [selection.select(of, selection.loss(erm[i : i + 1]), tolerance) for i, of in enumerate(losses)]
