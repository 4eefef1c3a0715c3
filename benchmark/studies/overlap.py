"""Overlap between the training data of two coupled networks (paper, appendix "Overlap spectrum").

Codistillation divides one bootstrap between them (0 %), twin-bootstrap gives each its own (about 40 % of the pool is in
both), and twin-shared gives both the same (100 %). Beyond the paper: ``twin_overlap``, which sweeps the overlap.
"""

from collections.abc import Sequence
from dataclasses import replace

from benchmark.data.spec import expand, load_spec
from benchmark.measure.basics import LOST
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.store.cell import Cell
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sheet, SheetRow, head
from benchmark.study.text import mean, percent, points

POINTS = {"codistillation": "Codistillation 0 %", "twin": "Twin-bootstrap ≈ 40 %", "twin_shared": "Twin-shared 100 %"}
SHARES = (0, 0.25, 0.5, 0.75, 1)
DAGGER = "† accuracy measured more than 5 pp below ERM's, whatever its interval."


def loses(cells: Sequence[Cell], erm: Sequence[Cell]) -> bool:
    """Tell whether the accuracy is more than 5 pp below ERM's."""
    return mean("accuracy", cells) < mean("accuracy", erm) - LOST


def delta(cells: Sequence[Cell], erm: Sequence[Cell]) -> Measured:
    """Return the difference of churn to ERM's, flagged if accuracy is lost."""
    return Measured("churn", cells, erm, flags="†" if loses(cells, erm) else "")


@study("overlap", title="Overlap of the networks' training data")
class Overlap(GridStudy):
    dataset: str = "skin_reaction,dili,hia_hou,herg,pgp_broccatelli,bace,mof_thermal,bbb_martins,bbbp"
    knob: str = "bace"
    """Datasets for the sweep of the overlap."""

    def report(self, context: Context) -> Report:
        datasets, turned = classifications(expand(self.dataset)), classifications(expand(self.knob))
        answer, spectrum = self._spectrum(context, datasets)
        more, knob, chart = self._knob(context, turned)
        return Report([*answer, *more], [spectrum, knob], [chart])

    def _spectrum(self, context: Context, datasets: Sequence[str]) -> tuple[list[str], Sheet]:
        """Report the paper's three points, on all datasets."""
        cells = self.cells(context, ["erm", *POINTS], datasets)
        titles = {d: load_spec(d).title for d in datasets}
        rows: list[SheetRow] = []
        for d in datasets:
            rows.append([titles[d], *(delta(cells[d, text], cells[d, "erm"]) for text in POINTS)])
        answer = []
        for text, name in POINTS.items():
            total = sum(mean("churn", cells[d, text]) - mean("churn", cells[d, "erm"]) for d in datasets)
            lost = [titles[d] for d in datasets if loses(cells[d, text], cells[d, "erm"])]
            answer.append(
                f"{name} changes the churn of ERM by {points(total / len(datasets))} on average over {len(datasets)} "
                f"datasets; accuracy falls by more than 5 pp on {', '.join(lost) or 'none'}."
            )
        caption = f"Difference of churn to ERM's in percentage points at equal bootstraps, {self._where}."
        heads = [replace(head(CHURN, versus=True), text=name) for name in POINTS.values()]
        return answer, Sheet("points", "Three points of overlap", caption, ["Dataset", *heads], rows, [DAGGER])

    def _knob(self, context: Context, datasets: Sequence[str]) -> tuple[list[str], Sheet, Chart]:
        """Report the sweep of the overlap, on the datasets of the knob."""
        texts = {share: f"twin_overlap:share={share:g}" for share in SHARES}
        grid = self.cells(context, ["erm", *texts.values()], datasets)
        answer, rows, series = [], list[SheetRow](), {}
        for dataset in datasets:
            title, erm = load_spec(dataset).title, grid[dataset, "erm"]
            twins = {share: grid[dataset, text] for share, text in texts.items()}
            for share, cells in twins.items():
                rows.append([title, f"{share:g}", Measured("accuracy", cells, erm), delta(cells, erm)])
            series[title] = [Point(share, delta(cells, erm)) for share, cells in twins.items()]
            churn = ", ".join(f"{percent(mean('churn', cells), 1)} at {share:g}" for share, cells in twins.items())
            answer.append(
                f"{title}: the churn of twins, by the share of draws in common, is {churn}; ERM's is "
                f"{percent(mean('churn', erm), 1)}."
            )
        header: list[str | Head] = ["Dataset", "Share", head(ACCURACY, versus=True), head(CHURN, versus=True)]
        caption = f"Share: draws that both networks have in common. Δ is the difference to ERM. {self._where}."
        sheet = Sheet("knob", "Overlap as a knob", caption, header, rows, [DAGGER])
        caption = f"Difference of churn to ERM's, {self._where}."
        x, y = Axis("Share of draws in common"), Axis("Δ churn (pp)", 100)
        return answer, sheet, Chart("knob", "Overlap as a knob", caption, x, y, series)

    @property
    def _where(self) -> str:
        return f"ID test, split {self.canonical_seed}"
