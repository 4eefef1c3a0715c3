"""How much the training data of the two coupled networks should overlap (paper, appendix "Overlap spectrum").

Codistillation divides one bootstrap between them (0 %), twin-bootstrap gives each its own (about 40 % of the pool in
both), twin-shared gives both the same (100 %). Beyond the paper: a knob that goes through all overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmark.data.spec import expand, load_spec
from benchmark.lab.study import (
    Axis,
    Chart,
    Head,
    Lab,
    Measured,
    Point,
    Report,
    Sheet,
    SheetRow,
    classifications,
    head,
    mean,
    percent,
    points,
    retrainings,
    study,
)
from benchmark.measure.basics import LOST
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.settings import parse_splits
from benchmark.store.cell import Cell

POINTS = {"codistillation": "Codistillation 0 %", "twin": "Twin-bootstrap ≈ 40 %", "twin_shared": "Twin-shared 100 %"}
SHARES = (0, 0.25, 0.5, 0.75, 1)
DAGGER = "† accuracy more than 5 pp below ERM's."


def loses(cells: Sequence[Cell], erm: Sequence[Cell]) -> bool:
    return mean("accuracy", cells) < mean("accuracy", erm) - LOST


def delta(cells: Sequence[Cell], erm: Sequence[Cell]) -> Measured:
    """The difference of churn to ERM's, marked if accuracy is lost."""
    return Measured("churn", cells, erm, flags="†" if loses(cells, erm) else "")


@study("overlap", title="Overlap of the networks' training data")
@dataclass(frozen=True)
class Overlap:
    dataset: str = "skin_reaction,dili,hia_hou,herg,pgp_broccatelli,bace,mof_thermal,bbb_martins,bbbp"
    canonical_seed: str = "99"
    seeds: str = "10"
    knob: str = "bace"
    """The datasets on which the knob is turned."""

    def report(self, lab: Lab) -> Report:
        datasets, turned = classifications(expand(self.dataset)), classifications(expand(self.knob))
        answer, spectrum = self._spectrum(lab, datasets)
        more, knob, chart = self._knob(lab, turned)
        return Report([*answer, *more], [spectrum, knob], [chart])

    def _spectrum(self, lab: Lab, datasets: Sequence[str]) -> tuple[list[str], Sheet]:
        """The paper's three points, on all datasets."""
        splits, seeds = parse_splits(self.canonical_seed), retrainings(self.seeds)
        found = lab.cells(["erm", *POINTS], datasets, splits, seeds)
        rows: list[SheetRow] = [
            [load_spec(d).title, *(delta(found[d, text], found[d, "erm"]) for text in POINTS)] for d in datasets
        ]
        answer = []
        for text, name in POINTS.items():
            change = sum(mean("churn", found[d, text]) - mean("churn", found[d, "erm"]) for d in datasets) / len(
                datasets
            )
            lost = [load_spec(d).title for d in datasets if loses(found[d, text], found[d, "erm"])]
            answer.append(
                f"{name} changes the churn of ERM by {points(change)}, mean over {len(datasets)} datasets; "
                f"accuracy falls by more than 5 pp on {', '.join(lost) or 'none'}."
            )
        caption = f"Difference of churn to ERM's in percentage points at equal bootstraps, {self._where}."
        header: list[str | Head] = [
            "Dataset",
            *(replace(head(CHURN, versus=True), text=name) for name in POINTS.values()),
        ]
        return answer, Sheet("points", "Three points of overlap", caption, header, rows, [DAGGER])

    def _knob(self, lab: Lab, datasets: Sequence[str]) -> tuple[list[str], Sheet, Chart]:
        """All overlaps, on the datasets of the knob."""
        splits, seeds = parse_splits(self.canonical_seed), retrainings(self.seeds)
        texts = {share: f"twin_overlap:share={share:g}" for share in SHARES}
        found = lab.cells(["erm", *texts.values()], datasets, splits, seeds)
        answer, rows, series = [], list[SheetRow](), {}
        for dataset in datasets:
            title, erm = load_spec(dataset).title, found[dataset, "erm"]
            twins = {share: found[dataset, text] for share, text in texts.items()}
            for share, cells in twins.items():
                rows.append([title, f"{share:g}", Measured("accuracy", cells, erm), delta(cells, erm)])
            series[title] = [Point(share, delta(cells, erm)) for share, cells in twins.items()]
            churn = ", ".join(f"{percent(mean('churn', cells), 1)} at {share:g}" for share, cells in twins.items())
            answer.append(
                f"{title}: the churn of twins by the share of draws in common is {churn}; ERM's is "
                f"{percent(mean('churn', erm), 1)}."
            )
        sheet = Sheet(
            "knob",
            "Overlap as a knob",
            f"Share of draws that both networks have in common; differences to ERM, {self._where}.",
            ["Dataset", "Share", head(ACCURACY, versus=True), head(CHURN, versus=True)],
            rows,
            [DAGGER],
        )
        caption = f"Difference of churn to ERM's, {self._where}."
        x, y = Axis("Share of draws in common"), Axis("Δ churn (pp)", 100)
        return answer, sheet, Chart("knob", "Overlap as a knob", caption, x, y, series)

    @property
    def _where(self) -> str:
        return f"ID test, split {self.canonical_seed}"
