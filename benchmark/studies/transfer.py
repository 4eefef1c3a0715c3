"""One setting of a grid for all datasets: the least churn at nearly the best accuracy, tested on families left out.
Beyond the paper.
"""

from collections.abc import Sequence

import numpy as np

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.registry import find, settings_of
from benchmark.study.context import Context, GridStudy, study
from benchmark.study.report import Head, Report, Sheet, SheetRow
from benchmark.study.text import mean, percent
from benchmark.tuning import grid_of
from benchmark.types import TASKS, Sampling, Task

KEYS = {"classification": ("matched_churn", "matched_accuracy"), "regression": ("one_minus_icc", "mae")}
TOLERANCE = {"classification": 0.005, "regression": 0.01}
"""Admitted loss: of accuracy, or of the MAE as a share of that of the default."""


@study("transfer", title="One setting for all datasets")
class Transfer(GridStudy):
    dataset: str = "pipelines"
    seeds: str = "10"
    sampling: Sampling = "halves"
    method: str = "svm"
    """A learner or a remedy with a grid."""

    def report(self, context: Context) -> Report:
        by_task = {task: [d for d in expand(self.dataset) if load_spec(d).task == task] for task in TASKS}
        parts = {task: self._answer(context, task, names) for task, names in by_task.items() if names}
        return Report([line for line, _ in parts.values()], [sheet for _, sheet in parts.values()])

    def _answer(self, context: Context, task: Task, datasets: Sequence[str]) -> tuple[str, Sheet]:
        texts, grid = settings_of(self.method, task, self.sampling), grid_of(find(self.method)[0], task)
        if ":" in self.method:
            raise UserError(f"method={self.method}: its grid has the settings that are tried: name it without any")
        cells = self.cells(context, texts, datasets, self.sampling)
        churns, losses = np.empty((2, len(datasets), len(grid)))
        for i, dataset in enumerate(datasets):
            for j, text in enumerate(texts):
                churns[i, j], quality = (mean(key, cells[dataset, text]) for key in KEYS[task])
                losses[i, j] = quality if task == "regression" else 1 - quality
        if task == "regression":
            losses /= losses[:, [texts.index(self.method)]]
        families = np.array([load_spec(dataset).family for dataset in datasets])
        choice, elsewhere = setting_for(churns, losses, TOLERANCE[task], families)
        rows: list[SheetRow] = [
            [text, f"{100 * churns[:, j].mean():.2f}", f"{100 * losses[:, j].mean():.2f}", "chosen" * (j == choice)]
            for j, text in enumerate(texts)
        ]
        left = np.arange(len(datasets)), elsewhere
        rows.append(["left out", f"{100 * churns[left].mean():.2f}", f"{100 * losses[left].mean():.2f}", ""])
        others = sorted({texts[j] for j in elsewhere} - {texts[choice]})
        differ = {family: texts[j] for family, j in zip(families, elsewhere, strict=True) if j != choice}
        rows += [[f"without {family}", "", "", text] for family, text in sorted(differ.items())]
        line = (
            f"{task}, {len(set(families))} families: {texts[choice]}, the setting {dict(grid[choice])}. Without "
            f"its own family, {percent(float(np.mean(elsewhere == choice)))} of the datasets get the same"
            + (f", the others {', '.join(others)}." if others else ".")
        )
        churn, loss = (f"{key.replace('_', ' ')} (%)" for key in KEYS[task])
        header: list[str | Head] = ["Setting", churn, loss if task == "regression" else "Matched error (%)", "Choice"]
        caption = (
            f"ID test, split {self.canonical_seed}, sampling {self.sampling}, mean over datasets"
            + ("; the MAE is a share of that of the default" if task == "regression" else "")
            + ". Left out: each family with the setting chosen on the others."
        )
        return line, Sheet(task, f"Settings for a {task}", caption, header, rows)


def setting_for(
    churns: np.ndarray, losses: np.ndarray, tolerance: float, families: np.ndarray
) -> tuple[int, np.ndarray]:
    """Return the setting with the least mean churn among those within ``tolerance`` of the smallest mean loss, and
    that (D,) which the other families choose for each dataset.

    ``churns`` and ``losses`` are (D, G) of D datasets with their ``families`` (D,) and G settings.

    >>> setting_for(np.array([[1.0, 2.0, 3.0]]), np.array([[0.3, 0.201, 0.2]]), 0.005, np.array(["a"]))[0]
    1
    """

    def best(rows: np.ndarray) -> int:
        loss, churn = losses[rows].mean(axis=0), churns[rows].mean(axis=0)
        return int(np.where(loss <= loss.min() + tolerance + 1e-12, churn, np.inf).argmin())

    single = len(set(families)) == 1
    return best(families == families), np.array([best((families != own) | single) for own in families])
