"""The rule that selects λ: the largest that costs no more accuracy than a tolerance (paper, section Methods,
"Hyperparameter selection", and appendix "Development Pareto curve").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark import metrics
from benchmark.data.spec import load_spec
from benchmark.driver import parse_seeds, parse_splits
from benchmark.study import COMPARED, Axis, Chart, Lab, Measured, Point, Report, Row, Sheet, compared, mean, study
from benchmark.types import Cell, Task

LAMBDAS: Mapping[Task, tuple[float, ...]] = {"classification": (1, 3, 10, 30, 100, 300), "regression": (1, 3)}
TOLERANCES: Mapping[Task, tuple[float, ...]] = {"classification": (0.02, 0.01, 0.005), "regression": (0.04,)}
"""How much accuracy, or MAE, the rule gives away; the first is the paper's."""


def loss(cells: Sequence[Cell]) -> float:
    """1 − accuracy, or the MAE, on the ID test: mean over splits and retrainings."""
    if cells[0].predictions["id"].task == "regression":
        return mean(metrics.mae, cells)
    return 1 - mean(metrics.accuracy, cells)


def select(losses: Mapping[float, float], erm: float, tolerance: float) -> float | None:
    """The largest λ whose loss exceeds ERM's by at most ``tolerance``; None if none does.

    >>> select({1: 0.20, 10: 0.21, 100: 0.25}, erm=0.20, tolerance=0.02)
    10
    """
    return max((lam for lam, value in losses.items() if value - erm <= tolerance + 1e-9), default=None)


def largest(
    lab: Lab, text: str, dataset: str, splits: Sequence[int], seeds: Sequence[int], erm: Sequence[Cell]
) -> tuple[float, Sequence[Cell]] | None:
    """The λ that the rule selects for the method ``text``, which names it as {lam}, with its cells; None if none does.

    λ is lowered until the rule admits it: the smaller ones are never trained.
    """
    task = load_spec(dataset).task
    for lam in sorted(LAMBDAS[task], reverse=True):
        method = text.format(lam=lam)
        cells = lab.cells([method], [dataset], splits, seeds)[dataset, method]
        if select({lam: loss(cells)}, loss(erm), TOLERANCES[task][0]) is not None:
            return lam, cells
    return None


@study("lambda-rule", title="The rule that selects λ")
@dataclass(frozen=True)
class LambdaRule:
    dataset: str = "bace"
    canonical_seed: str = "99"
    seeds: str = "10"
    method: str = "twin"
    """Any method with a hyperparameter ``lam``."""

    def report(self, lab: Lab) -> Report:
        spec = load_spec(self.dataset)
        splits, lambdas = parse_splits(self.canonical_seed), LAMBDAS[spec.task]
        named = {lam: f"{self.method}:lam={lam:g}" for lam in lambdas}
        texts = ["erm", "bagging", *named.values()]
        found = lab.cells(texts, [self.dataset], splits, parse_seeds(self.seeds))
        cells = {text: found[self.dataset, text] for text in texts}

        def chosen(tolerance: float, where: slice) -> float | None:
            losses = {lam: loss(cells[text][where]) for lam, text in named.items()}
            return select(losses, loss(cells["erm"][where]), tolerance)

        def spell(lam: float | None) -> str:
            return "none" if lam is None else f"{lam:g}"

        tolerances = TOLERANCES[spec.task]
        picked = [chosen(tolerances[0], slice(i, i + 1)) for i in range(len(splits))]
        rows: list[Row] = []
        for text, some in cells.items():
            at = [split for split, lam in zip(splits, picked, strict=True) if text == named.get(lam or 0)]
            mark = f"selected on {', '.join(map(str, at))}" if at else ""
            rows.append([some[0].title, *compared(some, cells["erm"]), mark])
        quality, percent = ("accuracy", 100) if spec.task == "classification" else ("mae", 1)

        def point(text: str, label: str = "", chosen: bool = False) -> Point:
            return Point(Measured(quality, cells[text]), Measured("churn", cells[text]), label, chosen)

        series = {
            self.method: [point(text, f"λ={lam:g}", lam in picked) for lam, text in named.items()],
            **{cells[text][0].title: [point(text)] for text in texts[:2]},
        }
        where = f"{spec.title}, {'split' if len(splits) == 1 else 'mean over splits'} {', '.join(map(str, splits))}"
        answer = [
            f"On {spec.title}, split {split}, the rule selects λ = {spell(lam)}."
            for split, lam in zip(splits, picked, strict=True)
        ]
        return Report(
            answer,
            [
                Sheet(
                    "sweep",
                    "λ, accuracy and churn",
                    f"{where}, ID test. Δ is the difference to ERM at equal bootstraps.",
                    ["Method", *COMPARED[spec.task], "Rule"],
                    rows,
                ),
                Sheet(
                    "tolerance",
                    "What the rule selects at other tolerances",
                    "The largest λ that costs at most the tolerance against ERM on the ID test.",
                    ["Tolerance", *(f"Split {split}" for split in splits)],
                    [[f"{t:g}", *(spell(chosen(t, slice(i, i + 1))) for i in range(len(splits)))] for t in tolerances],
                ),
            ],
            [
                Chart(
                    "pareto",
                    "λ between accuracy and churn",
                    f"{where}, ID test; filled large: selected by the rule.",
                    Axis("Accuracy (%)" if percent > 1 else "MAE", percent),
                    Axis("Churn (%)" if percent > 1 else "Churn |f − f′|", percent),
                    series,
                )
            ],
        )
