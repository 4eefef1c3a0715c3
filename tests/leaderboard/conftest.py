"""Made-up results: what the leaderboard's tests look at."""

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from benchmark.measure.intervals import Estimate
from benchmark.store.cell import Cell, CellKey, Facts, Submission
from benchmark.types import DatasetFacts, Predictions
from leaderboard.figures import build
from leaderboard.read.results import Dataset, Results, collect
from leaderboard.tables.summary import Summary, SummaryRow
from leaderboard.tables.table import Table, Value

MakeCell = Callable[..., Cell]


def invoke(*words: str, catch_exceptions: bool = True) -> Result:
    """Run a command of the leaderboard: its exit code, what it prints, and its exception where it is not raised."""
    from leaderboard.__main__ import app

    return CliRunner().invoke(app, words, catch_exceptions=catch_exceptions)


def colour_contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """The contrast of two colours of sRGB values 0 to 255 (WCAG 2.2)."""
    x = np.array([one, other]) / 255
    linear = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    low, high = np.sort(linear @ [0.2126, 0.7152, 0.0722])
    return float((high + 0.05) / (low + 0.05))


def of_families(datasets: Iterable[Dataset], value: Callable[[Dataset], float]) -> list[float]:
    """The mean of a value over the datasets of each family."""
    families: dict[str, list[float]] = {}
    for dataset in datasets:
        families.setdefault(dataset.family, []).append(value(dataset))
    return [float(np.mean(values)) for values in families.values()]


def keyed(cell: Cell, **changes: Any) -> Cell:
    """A cell with another key."""
    return replace(cell, key=replace(cell.key, **changes))


def submitted(cell: Cell, status: str = "self-reported", marks: str = "") -> Cell:
    about = {"name": "New", "authors": "A", "licence": "CC0-1.0", "compute": "-", "training_data": "none"}
    return cell.with_facts(submission=Submission(status=status, sha256="0" * 64, marks=marks, **about))


def row_of(summary: Summary, title: str) -> SummaryRow:
    return next(row for row in summary.rows if row.title == title)


def compiled(body: str, folder: Path) -> str:
    """The log of pdflatex on an article of tables."""
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex (Debian: texlive-latex-recommended)")
    document = "\\documentclass{article}\n\\usepackage{array,booktabs,longtable}\n\\begin{document}\n"
    (folder / "all.tex").write_text(f"{document}{body}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True)
    log = run.stdout.decode(errors="replace")
    assert run.returncode == 0, log[-2000:]
    return log


@contextmanager
def without_figures() -> Iterator[None]:
    """Write sites without their figures, which take nine tenths of the time of a small one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "drawn", lambda drawings: iter(()))
        yield


def cell(
    method: str,
    values: np.ndarray,
    *,
    y: np.ndarray | None = None,
    dataset: str = "made_up",
    title: str = "",
    split: int = 99,
    seeds: tuple[int, ...] = (),
    params: Mapping[str, object] | None = None,
    seconds: float = 1.0,
    about: Mapping[str, str] | None = None,
    problem: str = "0123456789abcdef",
    ids: str = "m{:04d}",
) -> Cell:
    """A cell from its predicted values (R, T, C)."""
    n = values.shape[1]
    seeds = seeds or tuple(range(1, len(values) + 1))
    y = np.arange(n) % 2 if y is None else y
    task = "classification" if values.shape[2] > 1 else "regression"
    key = CellKey(dataset, method, dict(params or {}), split, seeds, problem, "c" * 16)
    known = {"title": dataset.replace("_", " ").capitalize(), "group": "headline", "family": dataset}
    facts = Facts(
        command=f"churn run --method {method} --dataset {dataset}",
        dataset=DatasetFacts(**{**known, "licence": "CC0-1.0", "cite": "-", **(about or {})}),
        rows={"train": 4 * n, "id": n},
        fingerprints={"data": "d", "split": "s"},
    )
    made = Predictions(seeds, np.array([ids.format(i) for i in range(n)]), y, values, task)
    return Cell(key, title or method.upper(), {"id": made}, seconds, facts)


@pytest.fixture(scope="session")
def make_cell() -> MakeCell:
    return cell


def sure(labels: np.ndarray) -> np.ndarray:
    """Probabilities (..., 2) of 0.9 and 0.1 for predicted classes."""
    return np.where(labels[..., None] == np.arange(2), 0.9, 0.1)


def flipping(rng: np.random.Generator, rate: float | np.ndarray, runs: int, n: int) -> np.ndarray:
    """Predicted classes (R, T), wrong for a share ``rate`` that each run draws anew; true ones alternate, from 0."""
    truth = np.arange(n) % 2
    return np.where(rng.random((runs, n)) < rate, 1 - truth, truth)


def noisy(rng: np.random.Generator, y: np.ndarray, noise: float, runs: int = 6) -> np.ndarray:
    """Probabilities (R, T, 2) of runs that see the truth through ``noise``, some of it common to all runs."""
    logit = (2 * y - 1) * 1.2 + rng.normal(size=len(y)) + noise * rng.normal(size=(runs, len(y)))
    p = 1 / (1 + np.exp(-logit))
    return np.stack([1 - p, p], axis=-1)


@pytest.fixture(scope="session")
def world(make_cell: MakeCell) -> Results:
    """Three headline datasets, a borderline and a regression one, four methods; with gaps.

    ``mid`` lacks the method ``calm`` and has one split; ``Wrong`` loses accuracy everywhere; ``small`` and ``twin of
    small`` are one family.
    """
    rng = np.random.default_rng(0)
    cells: list[Cell] = []
    noise = {"erm": 1.5, "bagging": 0.9, "calm": 0.4}
    groups = {"small": "dev", "twin_of_small": "headline", "mid": "headline", "edge": "borderline"}
    for dataset, group in groups.items():
        y = (rng.random(80) < 0.4).astype(int)
        family = "small" if dataset == "twin_of_small" else dataset
        about = {"group": group, "family": family}
        for split in (99,) if dataset == "mid" else (7, 99):
            made = partial(make_cell, y=y, dataset=dataset, split=split, about=about)
            for method, size in noise.items():
                more = {"params": {"k": 5}, "seconds": 5.0} if method == "bagging" else {}
                if (dataset, method) != ("mid", "calm"):
                    cells.append(made(method, noisy(rng, y, size), **more))
            constant = np.where(y[None, :, None] == np.arange(2), 0.3, 0.7).repeat(6, axis=0)
            cells.append(made("wrong", constant))
    y = np.linspace(-1, 1, 50).astype(np.float32)
    about = {"group": "regression", "unit": "log mol/l"}
    for method, size in noise.items():
        values = y[None, :, None] + size * rng.normal(size=(6, 50, 1))
        cells.append(make_cell(method, values, y=y, dataset="solubility", about=about))
    return collect(cells, "made up")


@pytest.fixture(scope="session")
def one_table() -> Table:
    """Texts that every format has to escape, a value with all marks, a missing one, and a header above the header."""
    best = Value.of(Estimate(-0.1, -0.2, -0.05), 100, 1, signed=True).but("best", "* †")
    return Table(
        key="main",
        title="Churn & <more>",
        caption="In 95 % of cases",
        header=("Dataset", "N", "Twin λ=300", "Group"),
        rows=(("BACE_x <dev>", Value("968", 968), best, "A|B"), ("DILI", Value("–"), Value("+0.3", 1 / 3), "A")),
        notes=("* is p < 0.05.",),
        over=(("", 2), ("Data-side", 2)),
    )
