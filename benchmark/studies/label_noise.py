"""Flips at activity cliffs and among conflicting labels. Beyond the paper.

An activity cliff is a test molecule with a training molecule of the other class at a similarity of 0.7 or more.
"""

from dataclasses import dataclass

from benchmark.data.checks.neighbours import CLOSE
from benchmark.data.spec import expand
from benchmark.study.context import Context, study
from benchmark.study.nearby import HEADS, Nearby
from benchmark.study.report import Axis, Chart, Point, Report, Sheet, SheetRow, beside


@study("label-noise", title="Flips at activity cliffs and conflicting labels")
@dataclass(frozen=True)
class LabelNoise(Nearby):
    def report(self, context: Context) -> Report:
        rows, series, answer = list[SheetRow](), dict[str, list[Point]](), []
        n_datasets = len(expand(self.dataset))
        for flips in self.flips(context):
            same, other, conflict = (flips.facts[fact] for fact in ("same", "other", "conflict"))
            groups = {
                "conflicting labels": conflict,
                "activity cliff": other,
                "neighbours of the same class only": same & ~other,
                "no neighbour": ~same & ~other,
            }
            rows += flips.rows(groups)
            answer.append(flips.sentence(groups))
            series[flips.title] = [
                Point(beside(i, len(series), n_datasets), flips.ratio(mask))
                for i, mask in enumerate(groups.values())
                if mask.sum() >= 10
            ]
        title = "Flips at activity cliffs and conflicting labels"
        caption = (
            f"{self.method} on the ID test of split {self.canonical_seed}. Neighbours: training molecules with a "
            f"similarity of at least {CLOSE}. Conflicting: the structure, without stereochemistry, has both labels."
        )
        x = Axis("", names=["conflict", "cliff", "same class", "no neighbour"])
        y = Axis("Churn in multiples of all molecules'")
        chart = Chart("groups", title, f"{caption} Groups of at least ten molecules.", x, y, series, joined=False)
        return Report(answer, [Sheet("groups", title, caption, HEADS, rows)], [chart])
