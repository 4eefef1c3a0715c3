"""Twins of more than two networks, with λ selected for each number, against bagging. Beyond the paper."""

from benchmark.data.spec import load_spec
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sheet, SheetRow, compared, heads_compared
from benchmark.study.selection import largest
from benchmark.study.text import summary

MEMBERS = (2, 3, 5, 8)


@study("members", title="Twins of more than two networks")
class Members(GridStudy):
    def report(self, context: Context) -> Report:
        classifications([self.dataset])
        spec = load_spec(self.dataset)
        bagging = [f"bagging:k={k}" for k in MEMBERS]
        plain = self.cells(context, ["erm", *bagging], [self.dataset])
        erm = plain[self.dataset, "erm"]
        rows: list[SheetRow] = []
        answer = [f"On {spec.title} the reference is ERM: {summary(erm)}."]
        curves: dict[str, list[Point]] = {"Bagging": [], "Twin, λ by the rule": []}
        for k, bag in zip(MEMBERS, bagging, strict=True):
            bagged, twins = plain[self.dataset, bag], "no λ is admissible"
            curves["Bagging"].append(Point(k, Measured("churn", bagged)))
            rows.append([f"Bagging K={k}", *compared(bagged, erm), str(k)])
            if selected := largest(self, context, f"twin:lam={{lam:g}}:members={k}", erm):
                lam, twin = selected
                twins = f"λ = {lam:g} by the rule, {summary(twin)}"
                curves["Twin, λ by the rule"].append(Point(k, Measured("churn", twin), f"λ={lam:g}"))
                rows.append([f"Twin of {k}, λ={lam:g}", *compared(twin, erm), str(k * k)])
            answer.append(f"Twin of {k} networks: {twins}. Bagging of {k}: {summary(bagged)}.")
        where = f"{spec.title}, ID test, split {self.canonical_seed}"
        caption = f"{where}. Δ is the difference to ERM. Each network of a twin also sees the batches of the others."
        header: list[str | Head] = ["Method", *heads_compared(spec.task), "Forward passes (× ERM)"]
        sheet = Sheet("members", "Twins of more than two networks", caption, header, rows)
        x, y = Axis("Networks per prediction"), Axis("Churn (%)", 100)
        return Report(answer, [sheet], [Chart("members", "Networks and churn", f"{where}.", x, y, curves)])
