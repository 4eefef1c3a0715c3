"""Flips far from the training set. Beyond the paper."""

from dataclasses import dataclass
from itertools import pairwise

from benchmark.data.checks.neighbours import CLOSE
from benchmark.study.context import Context, study
from benchmark.study.nearby import HEADS, Nearby
from benchmark.study.report import Axis, Chart, Point, Report, Sheet, SheetRow

BANDS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.01)
FAR = 0.4
"""Below this similarity to all of the training set, the sentence of the answer calls a molecule far from it."""


@study("similarity", title="Flips and similarity to the training set")
@dataclass(frozen=True)
class Similarity(Nearby):
    def report(self, context: Context) -> Report:
        rows, curves, answer = list[SheetRow](), {}, []
        for flips in self.flips(context):
            near = flips.facts["similarity"]
            bands = {f"{a:g} to {min(b, 1):g}": (near >= a) & (near < b) for a, b in pairwise(BANDS)}
            rows += flips.rows(bands)
            curves[flips.title] = [
                Point(float(near[b].mean()), flips.churn(b)) for b in bands.values() if b.sum() >= 10
            ]
            ends = {f"similarity below {FAR:g}": near < FAR, f"at least {CLOSE:g}": near >= CLOSE}
            answer.append(flips.sentence(ends))
        title = "Flips and similarity"
        caption = f"{self.method} on the ID test of split {self.canonical_seed}, by the highest similarity to training."
        x, y = Axis("Highest similarity to the training set"), Axis("Churn (%)", 100)
        chart = Chart("bands", title, f"{caption} Bands of at least ten molecules.", x, y, curves)
        return Report(answer, [Sheet("bands", title, caption, HEADS, rows)], [chart])
