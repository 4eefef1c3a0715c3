"""The share of the churn between halves that comes from noisy labels, and that at near-ties. Beyond the paper.

The noise of real labels is unknown, so it is taken away and put back. The training labels of a pool are replaced by
the classes that a teacher predicts for them out of fold: the same molecules, but labels without noise. Then labels
are drawn with the teacher's probabilities, which puts back as much noise as the teacher cannot explain. If churn with
the drawn labels is like churn with the real ones, its difference from churn without noise is the part due to noise.
What the features do not show counts as noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmark.data.spec import expand, load_spec
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.measure.intervals import jackknife
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method, title
from benchmark.run.runner import retrain
from benchmark.settings import refuse_lone_halves
from benchmark.study.context import CanonicalSeed, Context, Trainer, binary_only, classifications, retrainings, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow, head
from benchmark.study.text import percent
from benchmark.train import generator
from benchmark.types import Problem

WORLDS = ("real", "without noise", "drawn anew")
"""Labels of the training pool: as measured, the teacher's classes, and drawn with the teacher's probabilities."""
FOLDS = 5
NEAR = 0.1
"""Near-ties: test molecules whose mean probability over all retrainings is within this of one half."""


@study("label-floor", title="Churn without label noise")
class LabelFloor:
    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins,bbbp"
    canonical_seed: CanonicalSeed = 99
    seeds: str = "20"
    methods: str = "erm svm"
    """Methods, separated by spaces."""
    teacher: str = "svm"
    """The method whose predictions replace the labels."""

    def report(self, context: Context) -> Report:
        rows, answer, series = list[SheetRow](), [], dict[str, list[Point]]()
        teacher = make_method(self.teacher, "classification", sampling="halves")
        names, seeds = classifications(expand(self.dataset)), sorted(retrainings(self.seeds))
        refuse_lone_halves(seeds, "halves")
        for text in self.methods.split():
            method = make_method(text, "classification", sampling="halves")
            shown = title(method, "classification")
            gone, kept = dict[str, float](), dict[str, float]()  # by family, of its first dataset
            for place, name in enumerate(names):
                spec = load_spec(name)
                key = f"{name}, split {self.canonical_seed}, {method}, teacher {teacher}, seeds {self.seeds}"
                own = (
                    make_method(name_of, spec.task, backbone=spec.backbone, sampling="halves")
                    for name_of in (text, self.teacher)
                )
                record = context.record(key, name, self.canonical_seed, without_noise, *own, seeds)
                churn = {world: Sampled(np.array(record["churn"][world])) for world in WORLDS}
                right = Sampled(np.array(record["accuracy"]))
                near = [Sampled(np.array(record[part])) for part in ("near", "near_flips")]
                rows.append([spec.title, shown, right, *churn.values(), *near])
                relative = Sampled(churn[WORLDS[1]].values / churn["real"].values.mean())
                series.setdefault(shown, []).append(Point(place, relative))
                real, clean, drawn = (values.values.mean() for values in churn.values())
                gone.setdefault(spec.family, 1 - clean / drawn)
                kept.setdefault(spec.family, drawn / real)
            answer.append(_sentence(shown, *(np.array([*parts.values()]) for parts in (gone, kept))))
        where = f"ID test, split {self.canonical_seed}, sampling halves, teacher {title(teacher, 'classification')}"
        caption = (
            f"{where}. Churn with the real training labels; with the classes that the teacher predicts out of fold; "
            f"with labels drawn with its probabilities. Near-ties: test molecules whose mean probability is within "
            f"{NEAR} of one half; their share of the test and of the flips."
        )
        churns = [replace(head(CHURN), text=f"Churn, {world} (%)") for world in WORLDS]
        near_ties = [Head("Near-ties (%)", 100, 1, most=1), Head("of flips (%)", 100, 1, most=1)]
        header: list[str | Head] = ["Dataset", "Method", head(ACCURACY), *churns, *near_ties]
        sheet = Sheet("worlds", "Churn with and without label noise", caption, header, rows)
        x = Axis("", names=[load_spec(name).title for name in names])
        y = Axis("Churn without noise, in the real churn")
        about = f"{where}. The rest is a matter of the number of rows."
        chart = Chart("worlds", "Churn that is left without label noise", about, x, y, series)
        return Report(answer, [sheet], [chart])


def _sentence(shown: str, gone: np.ndarray, kept: np.ndarray) -> str:
    """Say what part of churn goes with the noise, over families (F,), and how real the drawn labels are."""
    part, real = jackknife([gone]), jackknife([kept])
    ends = "" if np.isnan(part.low) else f" [{100 * part.low:.0f}, {100 * part.high:.0f}]"
    of_real = "" if np.isnan(real.low) else f" [{real.low:.2f}, {real.high:.2f}]"
    scope = f"mean over {len(gone)} families" if len(gone) > 1 else "one family"
    return (
        f"{shown}, {scope}: without label noise churn would be {percent(part.value)}{ends} lower than with drawn "
        f"labels, which give {real.value:.2f}{of_real} times the churn of the real ones."
    ).replace("-", "−")


def without_noise(
    trainer: Trainer, problem: Problem, method: Pipeline, teacher: Pipeline, seeds: Sequence[int]
) -> Mapping[str, object]:
    """Return ``churn`` (J,) of each world; and with real labels ``accuracy`` (J,), and the shares ``near`` (J,) of the
    test molecules and ``near_flips`` (J,) of the flips that are near-ties, for J halvings."""
    binary_only(problem)
    places = np.concatenate([_held_out(problem, fold) for fold in range(FOLDS)])
    p = np.empty(len(places))
    p[places] = np.concatenate(trainer.map(out_of_fold, [(problem, teacher, fold) for fold in range(FOLDS)]))
    drawn = generator("other", problem.canonical_seed).random(len(p)) < p
    labels = dict(zip(WORLDS, (problem.train.y, p > 0.5, drawn), strict=True))
    worlds = [replace(problem, train=replace(problem.train, y=y.astype(np.int64))) for y in labels.values()]
    pairs = [(seeds[i], seeds[i + 1]) for i in range(0, len(seeds), 2)]
    values = trainer.map(of_halving, [(world, method, pair) for world in worlds for pair in pairs])
    classes = np.array(values).reshape(len(WORLDS), len(pairs), 2, -1)
    flips = (classes[:, :, 0] > 0.5) != (classes[:, :, 1] > 0.5)
    near = np.abs(classes[0].mean(axis=(0, 1)) - 0.5) < NEAR
    right = (classes[0] > 0.5) == problem.evals["id"].y
    return {
        "churn": {world: by_halving.mean(axis=1).tolist() for world, by_halving in zip(WORLDS, flips, strict=True)},
        "accuracy": right.mean(axis=(1, 2)).tolist(),
        "near": [float(near.mean())] * len(pairs),
        "near_flips": [float(by_halving[near].sum() / max(by_halving.sum(), 1)) for by_halving in flips[0]],
    }


def _held_out(problem: Problem, fold: int) -> np.ndarray:
    """Return the rows of the pool that a fold holds out; folds are drawn at random, whatever the labels."""
    return np.array_split(generator("other", problem.canonical_seed, 1).permutation(len(problem.train)), FOLDS)[fold]


def out_of_fold(problem: Problem, teacher: Pipeline, fold: int) -> np.ndarray:
    """Return the probabilities of class 1 that ``teacher`` predicts for a fold after training on the others."""
    held_out, pool = _held_out(problem, fold), problem.train
    rest = np.setdiff1d(np.arange(len(pool)), held_out)
    inside = replace(problem, train=pool.take(rest), evals={"id": pool.take(held_out)})
    return np.asarray(retrain(teacher, inside, (1,), "update")["id"].values[0, :, 1])


def of_halving(problem: Problem, method: Pipeline, seeds: tuple[int, int]) -> np.ndarray:
    """Return the probabilities (2, T) of class 1 from the two models of one halving."""
    return np.asarray(retrain(method, problem, seeds, "halves")["id"].values[:, :, 1])
