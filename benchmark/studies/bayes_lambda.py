"""λ tuned on each dataset by Bayesian optimisation (paper, appendix "Per-dataset Bayesian optimisation", Algorithm 3).

For each train seed, trials of λ minimise the churn between two independent twins on held-out folds of the training
pool, while accuracy may fall below that of λ = 0 by at most a tolerance. Twins with the median λ over seeds are then
trained and compared. The optimiser is Optuna's Gaussian process (Matérn 5/2, expected improvement), resumable after a
kill.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from filelock import FileLock
from pydantic import Field, PositiveInt

from benchmark.data.problem import fold
from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.files import cache_folder
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method
from benchmark.run.runner import retrain
from benchmark.settings import parse_seeds, parse_splits
from benchmark.store.cell import Cell
from benchmark.study.context import Content, Context, GridStudy, Trainer, classifications, retrainings, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sampled, Sheet, SheetRow, head
from benchmark.study.text import summary
from benchmark.train import generator
from benchmark.types import Problem

LOW, HIGH = 1e-3, 1e4
INITIAL = 4
TOLERANCE, PENALTY = 0.02, 100
PARTNER = 10**6
"""Offset from a train seed to the seed of the second, independent twin of a trial."""


def tuned(record: Content) -> tuple[np.ndarray, float]:
    """Return the best λ of each train seed, and their median to four digits."""
    best = np.array([max(trials, key=lambda t: t[1])[0] for trials in record["trials"]])
    return best, float(f"{np.median(best):.4g}")


@study("bayes-lambda", title="λ tuned on each dataset")
class BayesLambda(GridStudy):
    tuned: str = "3"
    """Train seeds to tune λ on; the paper uses all ten."""
    trials: PositiveInt = 50
    folds: Annotated[int, Field(ge=2)] = 3

    def report(self, context: Context) -> Report:
        split, *others = parse_splits(self.canonical_seed)
        if others:
            raise UserError(f"canonical_seed={self.canonical_seed}: λ is tuned on one split: name one, such as {split}")
        seeds = retrainings(self.seeds)
        compared = list[tuple[SheetRow, Sequence[Cell], Sequence[Cell]]]()
        curves, answer = {}, []
        for name in classifications(expand(self.dataset)):
            spec = load_spec(name)
            title, twin = spec.title, make_method("twin", spec.task, backbone=spec.backbone)
            key = f"{name}, split {split}, seeds {self.tuned}, {self.trials} trials, {self.folds} folds"
            record = context.record(key, name, split, tune, twin, self.tuned, self.trials, self.folds)
            best, lam = tuned(record)
            texts = ["erm", "twin", f"twin:lam={lam!r}"]
            cells = [context.cells(texts, [name], [split], seeds)[name, text] for text in texts]
            selected = f"λ = {cells[1][0].key.params['lam']:g}"
            for other, against in ((selected, cells[1]), ("ERM", cells[0])):
                compared.append(([title, other, Sampled(best), f"{lam:g}"], cells[2], against))
            answer.append(
                f"{title}: median λ = {lam:g} of {len(best)} train seeds ({', '.join(f'{b:.3g}' for b in best)}): "
                f"{summary(cells[2])}. {selected}: {summary(cells[1])}. ERM: {summary(cells[0])}."
            )
            tried = [trial for trials in record["trials"] for trial in trials if trial[0] > 0]
            curves[title] = [Point(trial[0], Sampled(np.array([trial[2]]))) for trial in tried]
        tests = list(dict.fromkeys(e for _, ours, _ in compared for e in ours[0].predictions))
        measures = {"accuracy": head(ACCURACY, versus=True), "churn": head(CHURN, versus=True)}
        columns = [(quantity, test) for quantity in measures for test in tests]
        rows: list[SheetRow] = [
            [*first, *(Measured(q, ours, against, e) if e in ours[0].predictions else "–" for q, e in columns)]
            for first, ours, against in compared
        ]
        heads = [replace(measures[q], text=f"{e.upper()} {measures[q].text}") for q, e in columns]
        header: list[str | Head] = ["Dataset", "Against", Head("Mean λ", digits=4), "Median λ", *heads]
        caption = f"Twin at the tuned λ, as a difference to the rule's λ or ERM at equal bootstraps; split {split}."
        sheet = Sheet("tuned", "Tuned λ against the rule's and ERM", caption, header, rows)
        caption = "Churn between two twins on the held-out folds, for every trial of every train seed."
        x, y = Axis("λ", log=True), Axis("Validation churn (%)", 100)
        chart = Chart("trials", "Trials", caption, x, y, curves, joined=False)
        return Report(answer, [sheet], [chart])


def tune(trainer: Trainer, problem: Problem, twin: Pipeline, tuned: str, trials: int, folds: int) -> Content:
    """Run all trials of each train seed in ``tuned``."""
    pool = problem.without_tests()
    items = [(twin, pool, seed, trials, folds, f"{trainer.code} {seed} {folds}") for seed in parse_seeds(tuned)]
    return {"trials": [[list(t) for t in of_seed] for of_seed in trainer.map(search, items)]}


class Trial(NamedTuple):
    """One trial: the number, its score (higher is better), and the churn and accuracy behind the score."""

    value: float
    score: float
    churn: float
    accuracy: float


def optimise(score: Callable[[float], tuple[float, float, float]], trials: int, seed: int, keep: str) -> list[Trial]:
    """Run ``trials`` trials to maximise ``score`` over numbers from 1e-3 to 1e4; the first four are log-uniform.

    ``score`` returns (score, churn, accuracy). Each trial is cached under ``keep``, which must name all that the score
    depends on. The optimiser is reseeded for each trial: the result depends on ``seed`` alone, even after a kill.
    """
    import optuna
    from optuna.distributions import BaseDistribution, FloatDistribution
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    name = hashlib.sha256(f"{keep} {optuna.__version__}".encode()).hexdigest()[:16]
    folder = cache_folder() / "studies"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"{name}.lock"):  # two processes at once would each add every trial
        storage = JournalStorage(JournalFileBackend(str(folder / f"{name}.journal")))
        study = optuna.create_study(storage=storage, study_name=name, direction="maximize", load_if_exists=True)
        low, high = np.log10([LOW, HIGH])
        space: dict[str, BaseDistribution] = {"x": FloatDistribution(float(low), float(high))}
        initial = generator("other", seed).uniform(low, high, size=INITIAL)
        for number in range(len(study.get_trials(deepcopy=False)), trials):
            if number < INITIAL:
                x = float(initial[number])
            else:
                sampler = optuna.samplers.GPSampler(seed=1000 * seed + number, n_startup_trials=0)
                asked = optuna.create_study(direction="maximize", sampler=sampler)  # in memory: a kill leaves no trace
                asked.add_trials(study.get_trials(deepcopy=False))
                x = float(asked.ask(space).params["x"])
            value, churn, accuracy = score(10**x)
            found = {"churn": churn, "accuracy": accuracy}
            study.add_trial(optuna.create_trial(params={"x": x}, distributions=space, value=value, user_attrs=found))
        done = study.get_trials(deepcopy=False)[:trials]
    return [Trial(10 ** t.params["x"], float(t.values[0]), **t.user_attrs) for t in done]


def trial(twin: Pipeline, folds: list[Problem], seed: int, lam: float) -> tuple[float, float]:
    """Return the churn between two twins and the accuracy of the first on the held-out fold; means over ``folds``."""
    scores = []
    for part in folds:
        seeds = seed, seed + PARTNER
        p = retrain(replace(twin, remedy=replace(twin.remedy, lam=lam)), part, seeds)["id"]  # type: ignore[call-arg]
        scores.append((CHURN.mean(p), ACCURACY.of_runs(p)[0]))
    churn, accuracy = np.mean(scores, axis=0)
    return float(churn), float(accuracy)


def search(twin: Pipeline, pool: Problem, seed: int, trials: int, folds: int, keep: str) -> list[Trial]:
    """Run all trials of one train seed: λ = 0, four random λ, then the optimiser's (stage 1 of Algorithm 3)."""
    parts = [fold(pool, i, folds) for i in range(folds)]
    churn, baseline = trial(twin, parts, seed, 0.0)

    def score(lam: float) -> tuple[float, float, float]:
        churn, accuracy = trial(twin, parts, seed, lam)
        return -churn - PENALTY * max(0.0, baseline - TOLERANCE - accuracy), churn, accuracy

    return [Trial(0.0, -churn, churn, baseline), *optimise(score, trials - 1, seed, keep)]
