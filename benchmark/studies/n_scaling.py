"""Churn against the number of training rows, in nested pools of one dataset (paper, appendix "N-scaling on BACE")."""

from collections.abc import Sequence

import numpy as np

from benchmark.data.spec import load_spec
from benchmark.measure.basics import mean_over_pairs, pseudo_values
from benchmark.measure.catalogue import ACCURACY, CHURN, SYM_KL
from benchmark.settings import parse_seeds, parse_splits
from benchmark.store.cell import Cell
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sampled, Sheet, SheetRow, head
from benchmark.study.text import over, summary


def slope(sizes: Sequence[int], cells: Sequence[Sequence[Cell]]) -> np.ndarray:
    """Return jackknife pseudo-values (R,) over train seeds of the slope of log sym-KL against log training rows.

    ``cells`` hold the cells of all splits for each size; sym-KL is averaged over splits.
    """
    pairs = np.mean([[SYM_KL.of_runs(c.predictions["id"]) for c in of] for of in cells], axis=1)  # (M, R, R)

    def fitted(keep: np.ndarray) -> float:
        means = [mean_over_pairs(of_size[np.ix_(keep, keep)]) for of_size in pairs]
        return float(np.polyfit(np.log(sizes), np.log(means), 1)[0])

    return pseudo_values(fitted, pairs.shape[1])


@study("n-scaling", title="Churn against the number of training rows")
class NScaling(GridStudy):
    sizes: str = "200-300-400-500-600-700-800-900-968"
    """Training rows in ascending order, separated by dashes; each pool contains the one before it."""

    def __post_init__(self) -> None:
        sizes = self.sizes.split("-")
        if not all(size.isdecimal() for size in sizes) or len(set(sizes)) < 2:
            raise ValueError(f"sizes={self.sizes}: expected at least two numbers of rows, as in 200-400-968")
        if len(parse_seeds(self.seeds)) < 3:
            raise ValueError(f"seeds={self.seeds}: the slope's interval needs at least three retrainings")

    def report(self, context: Context) -> Report:
        classifications([self.dataset])
        sizes, splits = [int(size) for size in self.sizes.split("-")], parse_splits(self.canonical_seed)
        names = [f"{self.dataset}@train={size}" for size in sizes]
        grid = self.cells(context, ["erm"], names)
        cells = [grid[name, "erm"] for name in names]
        rate = Sampled(slope(sizes, cells))
        title = load_spec(self.dataset).title
        where = f"ERM on {title}, ID test, {over(self.canonical_seed)}"
        rows: list[SheetRow] = [
            [str(size), *(Measured(key, of_size) for key in ("accuracy", "sym_kl", "churn"))]
            for size, of_size in zip(sizes, cells, strict=True)
        ]
        series = {
            f"Split {split}": [
                Point(n, Measured("sym_kl", of_size[i : i + 1])) for n, of_size in zip(sizes, cells, strict=True)
            ]
            for i, split in enumerate(splits)
        }
        answer = [
            f"On {title} sym-KL between retrainings scales as the number of training rows to the power of "
            f"{rate.values.mean():.2f}. {sizes[0]} rows: {summary(cells[0])}; {sizes[-1]} rows: {summary(cells[-1])}."
        ]
        about = "sizes", "Training rows and churn", f"{where}."
        caption = f"{where}: slope of log sym-KL against log rows, jackknife over train seeds."
        slopes = Sheet("slope", "Slope", caption, ["Dataset", Head("Slope", digits=2, signed=True)], [[title, rate]])
        x, y = Axis("Training rows", log=True), Axis("Sym-KL (nats)", log=True)
        sheet = Sheet(*about, ["Rows", *map(head, (ACCURACY, SYM_KL, CHURN))], rows)
        return Report(answer, [sheet, slopes], [Chart(*about, x, y, series)])
