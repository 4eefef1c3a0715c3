"""Bayesian optimisation of one positive number, here λ, resumable after a kill (paper, appendix "Per-dataset Bayesian
optimisation", Algorithm 3). The optimiser is Optuna's Gaussian process (Matérn 5/2, expected improvement).
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from filelock import FileLock

from benchmark.data.problem import fold
from benchmark.files import cache_folder
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.pipeline import Pipeline
from benchmark.run.runner import retrain
from benchmark.train import generator
from benchmark.types import Problem

LOW, HIGH = 1e-3, 1e4
INITIAL = 4
TOLERANCE, PENALTY = 0.02, 100
PARTNER = 10**6
"""Offset from a train seed to the seed of the second, independent twin of a trial."""


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
            attributes = {"churn": churn, "accuracy": accuracy}
            study.add_trial(
                optuna.create_trial(params={"x": x}, distributions=space, value=value, user_attrs=attributes)
            )
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
