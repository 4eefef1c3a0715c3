"""Options and console shared by the commands."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from benchmark.types import SAMPLINGS, Sampling

DEFAULT_DATASET = "b3db_measured"
OWN_METHODS = ("erm", "kernel_ridge", "multi_kernel", "svm", "random_forest", "extra_trees")
"""Methods of a run on the user's own data: the reference, and the methods with the least churn and the highest
accuracy on the published board."""
OWN_TUNED = ("erm", "gradient_boosting")
"""Its other methods: a perceptron and boosting, with settings that each sample chooses (``--tune one-se``)."""
TUNED_ROWS = 1_000
"""Rows of the table up to which they do; the choice takes some twenty times as long as a training."""
PAIRWISE = ("svm", "multi_kernel", "kernel_ridge")
"""Those of them whose time and memory grow with the square of the rows, left out where there are many."""
ALL_METHODS = "erm,swa,mc_dropout,deep_ensemble,bagging:k=2,bagging,twin"

console = Console(soft_wrap=True, highlight=False, emoji=False)


def say(text: str) -> None:
    """Print a line as it is, but for what no terminal can show of a file's name."""
    console.print(text.encode(errors="replace").decode(), markup=False)


Methods = Annotated[
    str, typer.Option("--method", help="Methods, separated by commas, as in erm,twin:lam=30,bagging:k=2.")
]
NAMED = "Datasets, groups or paths of TOML files, separated by commas; bace@train=200 names a variant."
Datasets = Annotated[str, typer.Option("--dataset", help=NAMED, show_default=DEFAULT_DATASET)]
TRAINED = "What the methods train, as in svm:C=10 or gin (see list); also a method that trains one model."
OWN = "the dataset's own"
LearnerOption = Annotated[str, typer.Option("--learner", help=TRAINED, show_default=f"{OWN}, usually mlp")]
READ = "Features of molecules, joined by +, as in atom_pairs.4096+rdkit_descriptors."
FeaturesOption = Annotated[str, typer.Option("--features", help=READ, show_default=OWN)]
CHOSEN = (
    "How settings of the grid of a learner and a method are chosen: the defaults (none), by cross-validation within "
    "each sample the best or the most regularised within one standard error, or the one that is best for the datasets "
    "of the board (transfer)."
)
TuneOption = Annotated[Literal["none", "best", "one-se", "transfer"], typer.Option("--tune", help=CHOSEN)]
CanonicalSeeds = Annotated[str, typer.Option(help="Seeds of the train/test split, separated by commas.")]
COUNTED = "Train seeds: a count (10 means 1 to 10), a range (1-10) or a list (1,3,5)."
Seeds = Annotated[str, typer.Option(help=COUNTED, show_default="10; 20 under halves")]
SEES = (
    "What a retraining may see: the whole training pool (paper), one bootstrap of it (nested), one half, to be "
    "compared with the other half (halves), or every row with nothing resampled (update)."
)
SamplingOption = Annotated[Sampling, typer.Option("--sampling", help=SEES)]
SamplingByData = Annotated[
    Literal[Sampling, ""],
    typer.Option(
        "--sampling", metavar="|".join(SAMPLINGS), help=SEES, show_default="halves for your own data, paper otherwise"
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set a hyperparameter, for the methods that have it."),
]


Grids = Annotated[
    Path | None, typer.Option("--grids", help="A TOML of grids, in place of the options that describe one.")
]
BlockOption = Annotated[str, typer.Option("--block", help="The block of --grids to take.", show_default="all")]


def _go_offline(chosen: bool) -> bool:
    if chosen:
        os.environ["CHURN_OFFLINE"] = "1"  # in the environment, so that workers inherit it
    return chosen


Offline = Annotated[
    bool, typer.Option("--offline", callback=_go_offline, help="Never use the network (also: CHURN_OFFLINE=1).")
]
Jobs = Annotated[int | None, typer.Option(help="Worker processes.", show_default="one per core", min=1)]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda, or auto (a GPU if PyTorch can use one).")]
