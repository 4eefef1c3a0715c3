"""Write datasets/PIPELINES.md: the suite ``pipelines`` with rows, base rates and how well ERM ranks.

    python tools/evidence.py

trains ERM on two halvings of each dataset, which takes three to five minutes, and needs the extra ``materials``.
"""

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.files import CHECKOUT
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.types import Problem

SEEDS = (1, 2, 3, 4)
HEAD = """# The datasets of the board of pipelines

The output of `python tools/evidence.py`: the suite `pipelines`. *rows*: the training pool of split 99, of which a model
sees half under `halves`. *base rate*: share of the rarer class in the pool. *ERM*: on the ID test, the mean AUROC of
four halves, or for a regression the mean correlation (Pearson). A classification enters with an AUROC of at least 0.65
and a base rate from 1 to 50 %, a regression with a correlation of at least 0.5; both have 150 to 6,000 training rows,
and at most a third of the datasets of a task come from one collection.

| dataset | family | collection | task | rows | base rate | ERM |
| --- | --- | --- | --- | --- | --- | --- |
"""


def quality(problem: Problem) -> float:
    """Return the mean AUROC or correlation of ERM on the ID test."""
    method = make_method("erm", problem.task, backbone=problem.backbone, sampling="halves")
    p = retrain(method, problem, SEEDS, "halves")["id"]
    if problem.task == "regression":
        return float(np.mean([np.corrcoef(values[:, 0], p.y)[0, 1] for values in p.values]))
    return float(np.mean([roc_auc_score(p.y, values[:, 1]) for values in p.values]))


def line(name: str) -> str:
    """Return the row of a dataset."""
    problem, spec = load_problem(name), load_spec(name)
    share = "" if problem.task == "regression" else f"{min(problem.train.y.mean(), 1 - problem.train.y.mean()):.1%}"
    collection = spec.source.partition(":")[0]
    cells = f"`{name}`", spec.family, collection, problem.task, f"{len(problem.train):,}", share
    return f"| {' | '.join(cells)} | {quality(problem):.2f} |"


if __name__ == "__main__":
    lines = [line(name) for name in expand("pipelines")]
    (CHECKOUT / "datasets" / "PIPELINES.md").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
