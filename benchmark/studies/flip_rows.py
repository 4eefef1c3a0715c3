"""Training rows that flips depend on, compared with the nearest ones. Beyond the paper.

Many models are trained on random halves of the pool, as under the sampling halves. The first half of the halvings names
rows for each test molecule that flips, as ``benchmark/study/influence.py`` describes. The other half, which had no part
in this, shows for each named row whether the probability of class 1 really changes with its presence. Two rivals that
use nothing but similarity are tested in the same way, in the direction that the labels of their rows suggest: as many
nearest rows for each molecule, and for each named row another one that is equally similar.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from benchmark.data.checks.neighbours import similarities
from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.basics import pseudo_values
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method, refuse_sampling, title
from benchmark.run.runner import retrain
from benchmark.study import influence
from benchmark.study.context import CanonicalSeed, Content, Context, Trainer, binary_only, classifications, study
from benchmark.study.report import Head, Report, Sampled, Sheet, SheetRow
from benchmark.study.text import percent
from benchmark.train.resampling import sample_for
from benchmark.types import Problem

FLIPS = 0.1
"""A molecule flips if at least this share of the models that name rows predicts its rarer class."""
ALIKE = 0.05
"""Largest difference in similarity of two rows that count as equally similar to a molecule."""
AT_ONCE = 10
"""Halvings trained by one job."""


@study("flip-rows", title="Training rows that flips hang on")
class FlipRows:
    dataset: str = "bace,dili,pgp_broccatelli"
    canonical_seed: CanonicalSeed = 99
    method: str = "erm"
    halvings: Annotated[int, Field(ge=8)] = 300
    """Number of halvings: half of them name rows, and the other half test the named rows."""

    def report(self, context: Context) -> Report:
        rows, answer = list[SheetRow](), []
        for name in classifications(expand(self.dataset)):
            spec = load_spec(name)
            if not spec.smiles:
                raise UserError(f"{name}: this study needs SMILES; leave the dataset out of --dataset")
            method = make_method(self.method, spec.task, backbone=spec.backbone, sampling="halves")
            refuse_sampling(method, "halves")
            split = self.canonical_seed
            key = f"{name}, split {split}, {method}, {self.halvings} halvings"
            record = context.record(key, name, split, name_rows, method, self.halvings)
            who = [spec.title, title(method, spec.task)]
            named, nearest, paired, others = tried = comparisons(record)
            counts = [str(record[key]) for key in ("tests", "flipping")] + [str(named[:, 1].sum())]
            to_nearest = _share(named), _share(nearest), _ratio(named, nearest)
            to_others = str(paired[:, 1].sum()), _share(paired), _share(others), _ratio(paired, others)
            rows.append([*who, *counts, *to_nearest, *to_others])
            answer.append(f"{', '.join(who)}: {_sentence(record, tried)}")
        half = self.halvings // 2
        caption = (
            f"ID test of split {self.canonical_seed}. Of {self.halvings} random halvings of the training pool, "
            f"{self.halvings - half} name at most {influence.MOST} rows for each molecule of which at least "
            f"{percent(FLIPS)} of the models predict the rarer class: rows whose presence changes the probability of "
            f"class 1 by at least {100 * influence.LEAST:.0f} points with a posterior probability of "
            f"{percent(influence.CERTAIN)}. The other {half} halvings try them. Confirmed: the mean probability of "
            "class 1 with the row differs in the named direction from that without it, in a one-sided t-test over "
            f"halvings at {percent(influence.LEVEL)}; of rows without effect so many would be confirmed. Nearest rows: "
            "as many for each molecule, the most similar to it. Equally similar rows: for each named row another one, "
            f"whose similarity to the molecule differs by at most {ALIKE}, where there is one. Both are tried in the "
            "direction of their labels."
        )
        note = "Intervals are over test molecules, for the same models: the models of a halving serve all molecules."
        header: list[str | Head] = [
            *("Dataset", "Method", "Test molecules", "Flipping", "Named rows"),
            *(Head("Confirmed (%)", 100, 1, most=1), Head("Nearest rows, confirmed (%)", 100, 1, most=1)),
            Head("Ratio to nearest", digits=2),
            "Pairs of equally similar rows",
            *(Head(f"{which}, confirmed (%)", 100, 1, most=1) for which in ("Named of them", "Other of them")),
            Head("Ratio to equally similar", digits=2),
        ]
        return Report(answer, [Sheet("rows", "Training rows that flips hang on", caption, header, rows, [note])])


def comparisons(record: Content) -> list[np.ndarray]:
    """Return, for each molecule with named rows, how many were confirmed and tried, (M, 2): of the named rows, the
    nearest ones, the named rows that have an equally similar one, and these."""
    counts = []
    for molecule in record["molecules"]:
        named, nearest, alike = (molecule[part] for part in ("named", "nearest", "alike"))
        pairs = [(row, other) for row, other in zip(named, alike, strict=True) if other]
        parts = named, nearest, [row for row, _ in pairs], [other for _, other in pairs]
        counts.append([(sum(row["p"] <= influence.LEVEL for row in part), len(part)) for part in parts])
    return [*np.array([parts for parts in counts if parts[0][1]], dtype=int).reshape(-1, 4, 2).swapaxes(0, 1)]


def share(counts: np.ndarray) -> float:
    """Return the share of confirmed rows, from counts (M, 2) of confirmed and tried; nan if none was tried."""
    passed, tried = counts.sum(axis=0)
    return float(passed / tried) if tried else np.nan


def _share(counts: np.ndarray) -> Sampled:
    return _sampled(lambda keep: share(counts[keep]), len(counts))


def _ratio(ours: np.ndarray, theirs: np.ndarray) -> Sampled:
    return _sampled(lambda keep: share(ours[keep]) / (share(theirs[keep]) or np.nan), len(ours))


def _sampled(statistic: Callable[[np.ndarray], float], molecules: int) -> Sampled:
    return Sampled(pseudo_values(statistic, molecules) if molecules else np.array([np.nan]))


def _sentence(record: Content, tried: Sequence[np.ndarray]) -> str:
    named, nearest, paired, others = tried
    if not len(named):
        return f"no row can be named for any of the {record['flipping']} of {record['tests']} test molecules that flip."
    pairs = (
        f" Of {paired[:, 1].sum()} named rows for which there is an equally similar one they confirm "
        f"{percent(share(paired))}, and {percent(share(others))} of the equally similar ones."
    )
    return (
        f"{record['flipping']} of {record['tests']} test molecules flip; for {len(named)} of them {named[:, 1].sum()} "
        f"training rows are named. Other models confirm {percent(share(named))} of these rows, and "
        f"{percent(share(nearest))} of as many nearest rows.{pairs if paired[:, 1].sum() else ''}"
    )


def name_rows(trainer: Trainer, problem: Problem, method: Pipeline, halvings: int) -> Content:
    """Return what was asked, and what ``claims`` returns."""
    binary_only(problem)
    starts = range(0, halvings, AT_ONCE)
    items = [(problem, method, start, min(start + AT_ONCE, halvings)) for start in starts]
    parts = trainer.map(trained, items)
    about = {"dataset": problem.name, "split": problem.canonical_seed, "method": title(method, problem.task)}
    claimed = claims(problem, *(np.concatenate([part[i] for part in parts]) for i in range(2)))
    return about | {"halvings": halvings} | claimed


def trained(problem: Problem, method: Pipeline, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Train both models of the halvings ``start`` to ``stop`` − 1, counted from 0.

    Return which of the two had each row, 1 for the first and −1 for the second (H, N), and their probabilities of
    class 1 on the ID test (H, 2, T).
    """
    seeds = [seed for j in range(start, stop) for seed in (2 * j + 1, 2 * j + 2)]
    halves = np.zeros((stop - start, len(problem.train)), dtype=np.int8)
    for seed in seeds:
        halves[(seed - 1) // 2 - start, sample_for(problem, "halves", seed)[1]] = 1 if seed % 2 else -1
    values = retrain(method, problem, seeds, "halves")["id"].values
    return halves, values[..., 1].reshape(stop - start, 2, -1)


def claims(problem: Problem, halves: np.ndarray, chances: np.ndarray) -> dict[str, Any]:
    """Name rows by the first half of the halvings and try them by the others; arguments are as ``trained`` returns.

    Return how many molecules the ID test has (``tests``), how many of them are ``flipping``, and for each of these its
    ``id`` with the ``named``, the ``nearest`` and the equally similar (``alike``, or None) rows, each as in ``_tried``.
    """
    test = problem.evals["id"]
    first, second = np.array_split(np.arange(len(halves)), 2)
    share = (chances[first] > 0.5).mean(axis=(0, 1))
    flipping = np.flatnonzero(np.minimum(share, 1 - share) >= FLIPS)
    similarity = similarities(problem.train.smiles.tolist(), test.smiles[flipping].tolist())
    differences = chances[:, 0, flipping] - chances[:, 1, flipping]
    sign = 2.0 * problem.train.y - 1
    molecules: list[dict[str, Any]] = []
    if not len(flipping):
        return {"tests": len(test), "flipping": 0, "molecules": molecules}
    estimated = influence.effects(halves[first], differences[first], similarity, sign)
    for t, rows in enumerate(influence.named(estimated)):
        nearest = np.argsort(-similarity[:, t], kind="stable")[: len(rows)]
        others = alike(similarity[:, t], rows)
        about = problem, halves[second], chances[second][:, :, flipping[t]]
        molecules.append(
            {
                "id": str(test.ids[flipping[t]]),
                "named": _tried(*about, rows, np.sign(estimated.mean[rows, t])),
                "nearest": _tried(*about, nearest, sign[nearest]),
                "alike": [_tried(*about, row, sign[row])[0] if len(row) else None for row in others],
            }
        )
    return {"tests": len(test), "flipping": len(flipping), "molecules": molecules}


def alike(similarity: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return for each of the named ``rows`` (K,) the other row, (1,), that is closest to it in ``similarity`` (N,).

    Rows are (0,) if the closest differs by more than ``ALIKE``. No row is taken twice.
    """
    free = np.ones(len(similarity), dtype=bool)
    free[rows] = False
    others = []
    for row in rows:
        distance = np.where(free, np.abs(similarity - similarity[row]), np.inf)
        nearest = int(distance.argmin())
        others.append(np.array([nearest] if distance[nearest] <= ALIKE else [], dtype=int))
        free[others[-1]] = False
    return others


def _tried(
    problem: Problem, halves: np.ndarray, chances: np.ndarray, rows: np.ndarray, sign: np.ndarray
) -> list[dict[str, Any]]:
    """Try ``rows`` for a molecule with probabilities ``chances`` (H, 2): id, ``effect`` on that of class 1 with its
    95 % interval and one-sided p, and the share of models that predict class 1 ``with`` the row and ``without``."""
    held = halves[:, rows].astype(float)
    seen = influence.seen(held, np.repeat((chances[:, 0] - chances[:, 1])[:, None], len(rows), axis=1), sign)
    both = np.stack([held, -held], axis=1)  # ±1 for each of the two models of a halving
    class_one = (chances > 0.5)[:, :, None]
    shares = [(class_one & (both == side)).sum(axis=(0, 1)) / (both == side).sum(axis=(0, 1)) for side in (1, -1)]
    columns = {"effect": seen.effect, "low": seen.low, "high": seen.high, "p": seen.p}
    columns |= {"with": shares[0], "without": shares[1]}
    return [
        {"row": str(problem.train.ids[row])} | {key: float(f"{column[k]:.3g}") for key, column in columns.items()}
        for k, row in enumerate(rows)
    ]
