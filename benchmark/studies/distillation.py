"""Rivals of the twin: distillation from an incumbent, and a twin whose λ balances gradients (see ``methods/anchor.py``
and ``methods/gradnorm.py``). The paper's rule selects the λ of twin and anchor on the dataset itself.
"""

from benchmark.data.spec import load_spec
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Chart, Point, Report, Sheet, axes, both, compared, heads_compared
from benchmark.study.selection import largest
from benchmark.study.text import summary


@study("distillation", title="Distillation from an incumbent, and balanced gradients")
class Distillation(GridStudy):
    def report(self, context: Context) -> Report:
        classifications([self.dataset])
        spec = load_spec(self.dataset)
        plain = self.cells(context, ["erm", "bagging:k=2", "gradnorm"], [self.dataset])
        erm = plain[self.dataset, "erm"]
        contenders = list(plain.values())
        for method in ("twin", "anchor"):
            if selected := largest(self, context, f"{method}:lam={{lam:g}}", erm):
                contenders.append(selected[1])
        where = f"{spec.title}, ID test, split {self.canonical_seed}"
        answer = [
            f"On {spec.title}: {'; '.join(f'{cells[0].title}: {summary(cells)}' for cells in contenders)}.",
            "An anchored retraining is pulled to one incumbent, and part of its agreement with other retrainings is "
            "agreement with that incumbent: its churn does not show what a new incumbent would change.",
        ]
        caption, heads = f"{where}. Δ is the difference to ERM at equal bootstraps.", heads_compared(spec.task)
        rows = [[cells[0].title, *compared(cells, erm)] for cells in contenders]
        sheet = Sheet("rivals", "Distillation and balanced gradients", caption, ["Method", *heads], rows)
        series = {cells[0].title: [Point(*both(cells))] for cells in contenders}
        chart = Chart("rivals", "Accuracy and churn", f"{where}.", *axes(spec.task), series)
        return Report(answer, [sheet], [chart])
