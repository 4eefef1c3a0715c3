"""Do predictions flip far from the training set? Beyond the paper."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from benchmark.data.neighbours import CLOSE
from benchmark.lab.nearby import HEADS, Nearby
from benchmark.lab.study import Axis, Chart, Lab, Point, Report, Sheet, SheetRow, study

BANDS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.01)
FAR = 0.4
"""Below this similarity to all that was trained on, a molecule is far from it, for the sentence of the answer."""


@study("similarity", title="Flips and similarity to the training set")
@dataclass(frozen=True)
class Similarity(Nearby):
    def report(self, lab: Lab) -> Report:
        rows, curves, answer = list[SheetRow](), {}, []
        for flips in self.flips(lab):
            near = flips.facts["similarity"]
            bands = {f"{a:g} to {min(b, 1):g}": (near >= a) & (near < b) for a, b in pairwise(BANDS)}
            rows += flips.rows(bands)
            points = [Point(float(near[b].mean()), flips.churn(b)) for b in bands.values() if b.sum() >= 10]
            curves[flips.title] = points
            ends = {f"similarity below {FAR:g}": near < FAR, f"from {CLOSE:g} on": near >= CLOSE}
            answer.append(flips.sentence(ends))
        caption = f"{self.method} on the ID test of split {self.canonical_seed}, by the highest similarity to training."
        chart = Chart(
            "bands",
            "Flips and similarity",
            f"{caption} Bands of ten molecules or more.",
            Axis("Highest similarity to the training set"),
            Axis("Churn (%)", 100),
            curves,
        )
        return Report(answer, [Sheet("bands", "Flips and similarity", caption, HEADS, rows)], [chart])
