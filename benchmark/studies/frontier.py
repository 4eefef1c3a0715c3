"""Accuracy, churn and cost of every method over families of datasets: which is dominated by which. Beyond the paper.

The unit of replication is the family: methods are compared on each family, and the interval of their mean difference is
Student's over families. One method is shown to dominate another if it churns less or is more accurate, with an interval
that excludes zero, and is not worse in the other of the two on average.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError, number_of
from benchmark.measure.intervals import jackknife
from benchmark.store.cell import Cell
from benchmark.study.context import Cells, Context, GridStudy, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow
from benchmark.study.selection import loss
from benchmark.study.text import mean, over
from benchmark.types import Sampling, Task

METHODS: dict[Task, str] = {
    "classification": (
        "swa mc_dropout deep_ensemble bagging:k=2 bagging twin twin_shared codistillation gradient_boosting linear svm "
        "multi_kernel knn gaussian_process random_forest extra_trees"
    ),
    "regression": (
        "swa mc_dropout deep_ensemble bagging:k=2 bagging twin twin_shared codistillation gradient_boosting linear svm "
        "knn gaussian_process"
    ),
}
"""A forest takes minutes per fit on 2,048 bits and numbers, so regressions leave forests out."""


REMEDIES = (
    "label_smoothing knn_label_smoothing entropy_regularisation confidence_penalty generalised_cross_entropy mixup "
    "logit_penalty co_teaching model_soup swa_gaussian majority_vote knn_averaging blend distilled_bagging "
    "distilled_svm twin_shared_one codistillation_one"
)


@study("frontier", title="Accuracy, churn and cost of every method")
class Frontier(GridStudy):
    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp,mof_thermal,ames,regression,wide"
    """By default the suite wide with the paper's datasets, except TADF, which has to be downloaded by hand."""
    task: Task = "classification"
    seeds: str = "20"
    sampling: Sampling = "halves"
    methods: str = ""
    """Methods beside ERM, separated by spaces; by default those in ``METHODS`` for the task."""

    def report(self, context: Context) -> Report:
        datasets = [d for d in expand(self.dataset) if load_spec(d).task == self.task]
        families = {d: load_spec(d).family for d in datasets}
        n = len(set(families.values()))
        if n < 2:
            raise UserError(
                f"dataset={self.dataset}: {number_of(n, 'family', 'families')} of {self.task}s; "
                "an interval over families takes two or more"
            )
        methods = list(dict.fromkeys(["erm", *(self.methods or METHODS[self.task]).split()]))
        cells = self.cells(context, methods, datasets, self.sampling)
        averages = {m: self._by_family(cells, m, families) for m in methods}
        titles = {m: cells[datasets[0], m][0].title for m in methods}
        methods.sort(key=lambda m: float(averages[m].churn.mean()))
        by = {m: [titles[o] for o in methods if o != m and dominates(averages[o], averages[m])] for m in methods}

        if self.task == "regression":
            heads = [Head("Churn / ERM's", 1, 2), Head("MAE / ERM's", 1, 2)]
            axes = Axis("Fall of MAE, in ERM's MAE"), Axis("Δ churn, in ERM's churn")
        else:
            heads = [Head("Churn (%)", 100, 1), Head("Accuracy (%)", 100, 1)]
            axes = Axis("Δ accuracy (pp)", 100), Axis("Δ churn (pp)", 100)
        heads.append(Head("Cost / ERM's", 1, 1))
        rows = list[SheetRow]()
        series: dict[str, list[Point]] = {"Not shown to be dominated": [], "Dominated": []}
        for m in methods:
            quality = averages[m].loss if self.task == "regression" else 1 - averages[m].loss
            churn, shown, cost = map(Sampled, (averages[m].churn, quality, averages[m].cost))
            rows.append([titles[m], churn, shown, cost, _some(by[m])])
            change = Sampled(averages[m].churn - averages["erm"].churn)
            gain = averages["erm"].loss - averages[m].loss
            if by[m]:
                series["Dominated"].append(Point(float(gain.mean()), change, "ERM" if m == "erm" else ""))
            else:
                series["Not shown to be dominated"].append(Point(Sampled(gain), change, titles[m]))
        where = f"Mean over {n} families, ID test, {over(self.canonical_seed)}, sampling {self.sampling}"
        caption = (
            f"{where}; intervals are for other families. A method is dominated by another that churns less or is more "
            "accurate, with an interval over families that excludes zero, and is not worse in the other on average; "
            "the calmest two of these are named. The intervals are not adjusted for the number of comparisons. Cost: "
            "seconds of a fit."
        )
        front = "; ".join(self._said(titles[m], averages[m]) for m in methods if not by[m])
        answer = f"Of {len(methods)} methods over {n} families, these are not shown to be dominated: {front}."
        title = "Accuracy, churn and cost over families"
        sheet = Sheet("frontier", title, caption, ["Method", *heads, "Dominated by"], rows)
        drawn = {name: points for name, points in series.items() if points}
        about = f"{where}. Differences from ERM, paired by family. Names: those not shown to be dominated, and ERM."
        chart = Chart("frontier", "Accuracy and churn over families", about, *axes, drawn, joined=False)
        return Report([answer], [sheet], [chart])

    def _by_family(self, cells: Cells, method: str, families: dict[str, str]) -> "ByFamily":
        """Average a method's numbers over the datasets of each family."""
        relative = [self.task == "regression", self.task == "regression", True]
        rows: dict[str, list[np.ndarray]] = {}
        for dataset, family in families.items():
            ours, erm = _measured(cells[dataset, method]), _measured(cells[dataset, "erm"])
            rows.setdefault(family, []).append(np.where(relative, ours / erm, ours))
        return ByFamily(*np.array([np.mean(datasets, axis=0) for datasets in rows.values()]).T)

    def _said(self, title: str, averages: "ByFamily") -> str:
        lost, churn, cost = (float(values.mean()) for values in (averages.loss, averages.churn, averages.cost))
        if self.task == "regression":
            return f"{title} (churn {churn:.2f} and MAE {lost:.2f} of ERM's, {cost:.1f} times its cost)"
        return f"{title} (churn {100 * churn:.1f} %, accuracy {100 - 100 * lost:.1f} %, {cost:.1f} times ERM's cost)"


@study("remedies", title="Remedies of the literature")
class Remedies(Frontier):
    """Remedies from the literature beside the board's methods on the paper's datasets, including those that fail."""

    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp,mof_thermal,ames"
    """By default the paper's headline datasets, except TADF, which has to be downloaded by hand."""
    methods: str = f"{METHODS['classification']} {REMEDIES}"
    """Methods beside ERM, separated by spaces."""


class ByFamily(NamedTuple):
    """Loss, churn and cost of a method, (F,) each; the cost, and all of a regression, as multiples of ERM's."""

    loss: np.ndarray
    churn: np.ndarray
    cost: np.ndarray


def _some(titles: Sequence[str]) -> str:
    """Name the first two titles and count the others.

    >>> _some(["SVM", "k-NN", "ERM", "SWA"]), _some(["SVM"]), _some([])
    ('SVM, k-NN and 2 more', 'SVM', '–')
    """
    more = f" and {len(titles) - 2} more" if len(titles) > 2 else ""
    return ", ".join(titles[:2]) + more or "–"


def _measured(cells: Sequence[Cell]) -> np.ndarray:
    """Return loss, churn and seconds of a fit."""
    return np.array([loss(cells), mean("churn", cells), np.mean([cell.fit_seconds for cell in cells])])


def dominates(ours: ByFamily, theirs: ByFamily) -> bool:
    """Say whether we are shown to have a lower churn or loss than they, and have neither higher on average."""
    changes = [jackknife([ours.churn - theirs.churn]), jackknife([ours.loss - theirs.loss])]
    return all(change.value <= 0 for change in changes) and any(change.high < 0 for change in changes)
