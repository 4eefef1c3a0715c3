"""The rule that selects λ, over all λ and at other tolerances (paper, appendix "Development Pareto curve")."""

from collections.abc import Mapping, Sequence

from benchmark.data.spec import load_spec
from benchmark.settings import parse_splits
from benchmark.store.cell import Cell
from benchmark.study import selection
from benchmark.study.context import Context, GridStudy, study
from benchmark.study.report import Chart, Point, Report, Sheet, SheetRow, axes, both, compared, heads_compared
from benchmark.study.text import over, summary
from benchmark.types import PAPER, Sampling


@study("lambda-rule", title="The rule that selects λ")
class LambdaRule(GridStudy):
    method: str = "twin"
    """Any method with a hyperparameter ``lam``."""
    sampling: Sampling = PAPER
    """The rule is applied separately under each."""

    def report(self, context: Context) -> Report:
        spec, splits = load_spec(self.dataset), parse_splits(self.canonical_seed)
        named = {lam: f"{self.method}:lam={lam:g}" for lam in selection.LAMBDAS[spec.task]}
        cells = self.cells(context, ["erm", "bagging", *named.values()], [self.dataset], self.sampling)
        others = [cells[self.dataset, text] for text in ("erm", "bagging")]
        swept = {lam: cells[self.dataset, text] for lam, text in named.items()}
        picks = {t: _picks(others[0], swept, t) for t in selection.TOLERANCES[spec.task]}
        picked = next(iter(picks.values()))
        answer = []
        for i, (split, lam) in enumerate(zip(splits, picked, strict=True)):
            chosen = f"λ = {lam:g}: {summary(swept[lam][i : i + 1])}" if lam else "no λ"
            erm = summary(others[0][i : i + 1])
            answer.append(f"On {spec.title}, split {split}, the rule selects {chosen}. ERM: {erm}.")
        sampling = f", sampling {self.sampling}" if self.sampling != PAPER else ""
        where = f"{spec.title}, {over(self.canonical_seed)}{sampling}"
        rows: list[SheetRow] = [[c[0].title, *compared(c, others[0]), ""] for c in others]
        for lam, c in swept.items():
            selected = ", ".join(str(split) for split, pick in zip(splits, picked, strict=True) if pick == lam)
            rows.append([c[0].title, *compared(c, others[0]), f"selected on {selected}" if selected else ""])
        caption = f"{where}, ID test. Δ is the difference to ERM at equal bootstraps."
        sweep = Sheet("sweep", "λ, accuracy and churn", caption, ["Method", *heads_compared(spec.task), "Rule"], rows)
        tolerance = Sheet(
            "tolerance",
            "Selected λ at other tolerances",
            "The largest λ that costs at most the tolerance, relative to ERM on the ID test.",
            ["Tolerance", *(f"Split {split}" for split in splits)],
            [[f"{t:g}", *("none" if lam is None else f"{lam:g}" for lam in lams)] for t, lams in picks.items()],
        )
        series = {self.method: [Point(*both(c), f"λ={lam:g}", lam in picked) for lam, c in swept.items()]}
        series |= {c[0].title: [Point(*both(c))] for c in others}
        caption = f"{where}, ID test; large filled points: selected by the rule."
        chart = Chart("pareto", "λ between accuracy and churn", caption, *axes(spec.task), series)
        return Report(answer, [sweep, tolerance], [chart])


def _picks(erm: Sequence[Cell], swept: Mapping[float, Sequence[Cell]], tolerance: float) -> list[float | None]:
    """Return the λ that the rule selects on each split, from cells by λ, one per split."""
    losses = [{lam: selection.loss(cells[i : i + 1]) for lam, cells in swept.items()} for i in range(len(erm))]
    return [selection.select(each, selection.loss(erm[i : i + 1]), tolerance) for i, each in enumerate(losses)]
