"""Options and console shared by the commands."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from benchmark.types import Sampling

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


# Long metavars and texts make the help of a command longer than a screen; docs/running.md says more.
Methods = Annotated[str, typer.Option("--method", help="Methods: erm,twin:lam=30,bagging:k=2.")]
NAMED = "Datasets, groups or TOML files, with commas."
Datasets = Annotated[str, typer.Option("--dataset", help=NAMED, show_default=DEFAULT_DATASET)]
LearnerOption = Annotated[str, typer.Option("--learner", help="As in svm:C=10 or gin; otherwise the dataset's own.")]
FeaturesOption = Annotated[
    str, typer.Option("--features", help="As in morgan_counts.4096.2+rdkit_descriptors; otherwise the dataset's own.")
]
CHOSEN = "Settings: none chosen, the best, one-se (the simplest within a standard error), or transfer (others' best)."
TuneOption = Annotated[
    Literal["none", "best", "one-se", "transfer"], typer.Option("--tune", metavar="RULE", help=CHOSEN)
]
CanonicalSeeds = Annotated[str, typer.Option(help="Seeds of the split, with commas.")]
Seeds = Annotated[
    str, typer.Option(help="Train seeds: 10 (1 to 10), 1-10 or 1,3,5.", show_default="10; 20 under halves")
]
SEES = "What a retraining sees of the training pool: all (paper), one bootstrap (nested), a half (halves), or each row "
SEES += "once (update)."
SamplingOption = Annotated[Sampling, typer.Option("--sampling", metavar="NAME", help=SEES)]
SamplingByData = Annotated[
    Literal[Sampling, ""],
    typer.Option("--sampling", metavar="NAME", help=SEES, show_default="halves for own data, else paper"),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a hyperparameter, where methods have it.")
]
Grids = Annotated[Path | None, typer.Option("--grids", help="A TOML of grids, in place of these options.")]
BlockOption = Annotated[str, typer.Option("--block", help="The block of --grids to take.", show_default="all")]


def _go_offline(chosen: bool) -> bool:
    if chosen:
        os.environ["CHURN_OFFLINE"] = "1"  # in the environment, so that workers inherit it
    return chosen


Offline = Annotated[
    bool, typer.Option("--offline", callback=_go_offline, help="Never use the network (also: CHURN_OFFLINE=1).")
]
Jobs = Annotated[int | None, typer.Option(help="Worker processes.", show_default="one per core", min=1)]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda or auto.")]
