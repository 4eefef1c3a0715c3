"""Remedies from the literature, compared with the board's methods on the paper's datasets, including those that fail.
Beyond the paper.

The comparison is that of the study ``frontier``: families are the unit of replication.
"""

from dataclasses import dataclass

from benchmark.studies.frontier import METHODS, Frontier
from benchmark.study.context import study

REMEDIES = (
    "label_smoothing knn_label_smoothing entropy_regularisation confidence_penalty generalised_cross_entropy mixup "
    "logit_penalty co_teaching model_soup swa_gaussian majority_vote knn_averaging blend distilled_bagging "
    "distilled_svm twin_shared_one codistillation_one"
)


@study("remedies", title="Remedies of the literature")
@dataclass(frozen=True)
class Remedies(Frontier):
    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp,mof_thermal,ames"
    """By default the paper's headline datasets, except TADF, which has to be downloaded by hand."""
    methods: str = f"{METHODS['classification']} {REMEDIES}"
    """Methods beside ERM, separated by spaces."""
