"""λ tuned on each dataset by Bayesian optimisation (paper, appendix "Per-dataset Bayesian optimisation", Algorithm 3).

For each train seed, trials of λ minimise the churn between two independent twins on held-out folds of the training
pool, while accuracy may fall below that of λ = 0 by at most a tolerance. Twins with the median λ over seeds are then
trained and compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from benchmark.data.problem import load_problem
from benchmark.data.spec import expand, load_spec
from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.pipeline import Pipeline
from benchmark.registry import make_method
from benchmark.settings import parse_seeds, parse_splits
from benchmark.store.cell import Cell
from benchmark.study.bayes import search
from benchmark.study.context import Content, Context, GridStudy, Trainer, classifications, retrainings, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sampled, Sheet, SheetRow, head
from benchmark.study.text import summary


def tuned(record: Content) -> tuple[np.ndarray, float]:
    """Return the best λ of each train seed, and their median to four digits."""
    best = np.array([max(trials, key=lambda t: t[1])[0] for trials in record["trials"]])
    return best, float(f"{np.median(best):.4g}")


@study("bayes-lambda", title="λ tuned on each dataset")
@dataclass(frozen=True)
class BayesLambda(GridStudy):
    tuned: str = "3"
    """Train seeds to tune λ on; the paper uses all ten."""
    trials: PositiveInt = 50
    folds: Annotated[int, Field(ge=2)] = 3

    def report(self, context: Context) -> Report:
        (split,) = parse_splits(self.canonical_seed)
        seeds = retrainings(self.seeds)
        compared = list[tuple[SheetRow, Sequence[Cell], Sequence[Cell]]]()
        curves, answer = {}, []
        for name in classifications(expand(self.dataset)):
            spec = load_spec(name)
            title, twin = spec.title, make_method("twin", spec.task, backbone=spec.backbone)
            key = f"{name}, split {split}, seeds {self.tuned}, {self.trials} trials, {self.folds} folds"
            record = context.record(key, name, split, tune, twin, name, split, self.tuned, self.trials, self.folds)
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


def tune(
    trainer: Trainer, twin: Pipeline, name: str, split: int, tuned: str, trials: int, folds: int
) -> Mapping[str, list[list[list[float]]]]:
    """Run all trials of each train seed in ``tuned``."""
    pool = load_problem(name, split).without_tests()
    items = [(twin, pool, seed, trials, folds, f"{trainer.code} {seed} {folds}") for seed in parse_seeds(tuned)]
    return {"trials": [[list(t) for t in of_seed] for of_seed in trainer.map(search, items)]}
