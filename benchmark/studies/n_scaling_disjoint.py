"""Churn between two disjoint samples against their size, extrapolated to that of the pool. Beyond the paper.

The bootstraps of n-scaling overlap, and all of one size come from one pool. Here each halving draws N/4, N/2 and all
of the N rows of the training pool at random and shares them out between two models, as the sampling halves does: N/8,
N/4 and N/2 rows each, none in common. Two disjoint samples of N rows would need 2N rows, so churn at N is extrapolated
by a power law.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.basics import pseudo_values
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method, refuse_sampling, title
from benchmark.run.runner import retrain
from benchmark.settings import parse_splits
from benchmark.study.context import Content, Context, Trainer, classifications, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow, head
from benchmark.study.text import over, percent
from benchmark.train import generator
from benchmark.types import Problem

PARTS = (4, 2, 1)
"""The number of rows of the pool is divided by these before the rows are shared out between two models."""


class Law(NamedTuple):
    """Jackknife pseudo-values (J,) over halvings: fits of churn c against rows n, and what they give at N rows.

    A power law is a line through log c against log n. Where a size has no flips it is nan.
    """

    exponent: np.ndarray
    bend: np.ndarray
    """Exponent between the last two sizes minus that between the first two; 0 for a power law."""
    at_pool: np.ndarray
    """Churn at N by the power law through all sizes."""
    by_last_two: np.ndarray
    """Churn at N by the power law through the last two sizes."""
    by_line: np.ndarray
    """Churn at N by the line through c against log n."""


def law(rows: np.ndarray, pool: float, churn: np.ndarray) -> Law:
    """Fit churn (M, J), of J halvings at M ascending sizes ``rows``, by least squares and extrapolate to ``pool`` rows.

    The mean over halvings is fitted, so halvings without flips do no harm. A halving is left out at all sizes at once:
    its samples of different sizes share rows.
    """
    x = np.log(rows / pool)  # 0 at the pool, where a line is its intercept

    def each(statistic: Callable[[np.ndarray], float]) -> np.ndarray:
        return pseudo_values(lambda keep: float(statistic(churn[:, keep].mean(axis=1))), churn.shape[1])

    def log(c: np.ndarray) -> np.ndarray:
        return np.log(np.where(c > 0, c, np.nan))

    def line(c: np.ndarray, sizes: slice = slice(None)) -> np.ndarray:
        """Return slope and intercept; unlike ``np.polyfit`` it lets nan through."""
        off = x[sizes] - x[sizes].mean()
        slope = off @ c[sizes] / (off @ off)
        return np.array([slope, c[sizes].mean() - slope * x[sizes].mean()])

    first, last = slice(2), slice(-2, None)
    return Law(
        each(lambda c: line(log(c))[0]),
        each(lambda c: line(log(c), last)[0] - line(log(c), first)[0]),
        each(lambda c: np.exp(line(log(c))[1])),
        each(lambda c: np.exp(line(log(c), last)[1])),
        each(lambda c: line(c)[1]),
    )


@study("n-scaling-disjoint", title="Churn between disjoint samples against their size")
class NScalingDisjoint:
    dataset: str = "bace,dili"
    canonical_seed: str = "99"
    methods: str = "erm svm"
    """Methods, separated by spaces."""
    halvings: Annotated[int, Field(ge=3)] = 40

    def report(self, context: Context) -> Report:
        rows, fits, series, answer = list[SheetRow](), list[SheetRow](), dict[str, list[Point]](), []
        for name in classifications(expand(self.dataset)):
            spec = load_spec(name)
            for text in self.methods.split():
                method = make_method(text, spec.task, backbone=spec.backbone, sampling="halves")
                who = [spec.title, title(method, spec.task)]
                sizes, whole, churn, accuracy = self._shared_out(context, name, method)
                pool = float(whole)
                fit = law(sizes, pool, churn)
                at_pool = Sampled(fit.at_pool)
                points = [Point(float(size), Sampled(of_size)) for size, of_size in zip(sizes, churn, strict=True)]
                series[", ".join(who)] = [*points, Point(pool, at_pool, chosen=True)]
                for point, right in zip(points, accuracy, strict=True):
                    rows.append([*who, f"{point.x:.0f}", Sampled(right), point.y])
                rows.append([*who, f"{pool:.0f}, extrapolated", "–", at_pool])
                fits.append([*who, *map(Sampled, fit)])
                answer.append(f"{', '.join(who)}: {_sentence(sizes, pool, churn, fit)}")
        where = (
            f"Two models on disjoint random samples of the training pool, ID test, "
            f"{over(self.canonical_seed)}, {self.halvings} halvings. Intervals leave out one halving at "
            "all sizes; they hold for this training pool and do not cover the variation between pools."
        )
        assumed = (
            "Churn with as many rows as the pool has is extrapolated, which is valid only if the power law holds up to "
            "that size."
        )
        header: list[str | Head] = ["Dataset", "Method", "Rows each", head(ACCURACY), head(CHURN)]
        sheet = Sheet("sizes", "Rows and churn", f"{where} {assumed}", header, rows)
        ways = [replace(head(CHURN), text=f"{way} (%)") for way in ("Power law", "Last two sizes", "Line in log rows")]
        header = ["Dataset", "Method", *(Head(text, digits=2, signed=True) for text in ("Exponent", "Bend")), *ways]
        caption = (
            f"Churn with as many rows as the pool has, by three fits. {where} Bend: exponent between the last two "
            "sizes minus that between the first two, 0 for a power law; an interval with 0 in it does not prove "
            "that one holds up to the whole pool. Churn is bounded and so levels off where samples are very small, "
            "which affects the last two sizes less."
        )
        law_sheet = Sheet("law", "Extrapolated churn", caption, header, fits)
        x, y = Axis("Rows of each sample", log=True), Axis("Churn (%)", 100, log=True)
        caption = f"{where} Large points: extrapolated; lines join points and are not the fit. {assumed}"
        chart = Chart("sizes", "Rows and churn", caption, x, y, series)
        return Report(answer, [sheet, law_sheet], [chart])

    def _shared_out(self, context: Context, name: str, method: Pipeline) -> list[np.ndarray]:
        """Return rows (M,), those of the pool (), churn and accuracy (M, J), each a mean over splits."""
        refuse_sampling(method, "halves")
        records = []
        for split in parse_splits(self.canonical_seed):
            key = f"{name}, split {split}, {method}, {self.halvings} halvings"
            records.append(context.record(key, name, split, share_out, method, self.halvings))
        return [np.mean([record[part] for record in records], axis=0) for part in ("rows", "pool", "churn", "accuracy")]


def _sentence(sizes: np.ndarray, pool: float, churn: np.ndarray, fit: Law) -> str:
    shares = (
        f"two models on disjoint samples disagree on {percent(churn[0].mean(), 1)} of the test with {sizes[0]:.0f} "
        f"rows each, on {percent(churn[-1].mean(), 1)} with {sizes[-1]:.0f}."
    )
    at_pool, by_last_two, by_line = (percent(values.mean(), 1) for values in fit[2:])
    if np.isnan(fit.exponent).any():
        return f"{shares} At least one size has no flips, so no power law can be fitted."
    power = f"{fit.exponent.mean():.2f}".replace("-", "−")
    return (
        f"{shares} A power law with exponent {power} extrapolates to {at_pool} with {pool:.0f} rows each; the last two "
        f"sizes alone give {by_last_two}, and a straight line in log rows gives {by_line}. The table has the intervals."
    )


def share_out(trainer: Trainer, problem: Problem, method: Pipeline, halvings: int) -> Content:
    """Return the ``rows`` (M,) of each sample by size, those of the ``pool``, and ``churn`` and ``accuracy`` (M, J)."""
    n = len(problem.train)
    if n < 2 * max(PARTS):
        raise UserError(
            f"{problem.name}: the training pool has {n} rows; expected at least {2 * max(PARTS)}, so that an "
            "eighth is not empty: choose a larger dataset"
        )
    items = [(problem, method, part, halving) for part in PARTS for halving in range(1, halvings + 1)]
    churn, accuracy = np.reshape(trainer.map(between, items), (len(PARTS), halvings, 2)).transpose(2, 0, 1).tolist()
    return {"rows": [n // part // 2 for part in PARTS], "pool": n, "churn": churn, "accuracy": accuracy}


def between(problem: Problem, method: Pipeline, part: int, halving: int) -> tuple[float, float]:
    """Return churn and accuracy on the ID test of two models, each trained on one half of a ``part``-th of the pool.

    With the whole pool they are the two models of this halving under the sampling ``halves``.
    """
    pool = problem.train
    drawn = np.sort(generator("halving", halving, 1).permutation(len(pool))[: len(pool) // part])
    p = retrain(method, replace(problem, train=pool.take(drawn)), (2 * halving - 1, 2 * halving), "halves")["id"]
    return CHURN.mean(p), ACCURACY.mean(p)
