"""Changes by an update of a model, beside those that would have come anyway. Beyond the paper.

A team retrains its model when new rows arrive. For each of several cut points, the old model is trained on the rows up
to the cut, and the new model on these and the next ones. The share of predictions that flip is compared with the share
that flip between two models trained on the old rows alone: flips by chance. The difference is due to the new rows.

Rows come in the order of their dates if the dataset is split by time, and in random order otherwise; with dates, all
test rows are later than all rows of the pool. Methods that use the earlier model (ERM at another train seed) are
compared with ERM that is trained again without it. For all other methods, the earlier model is their own.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.catalogue import QUALITY
from benchmark.measure.intervals import jackknife
from benchmark.measure.updates import by_pair, changes, paired, partners
from benchmark.registry import make_method
from benchmark.store.cell import Cell
from benchmark.study.context import CanonicalSeed, Context, retrainings, study
from benchmark.study.report import Axis, Chart, Head, Point, Report, Sampled, Sheet, SheetRow
from benchmark.study.text import in_points, percent
from benchmark.types import REFERENCE, Task

METHODS = "average_incumbent anchor distilled_incumbent rcp_anchor focal_distillation bagging extended_bagging svm"
KEPT = "ERM, seed kept"
"""ERM trained again from the initial weights of the earlier model, as when the random seed is fixed."""


class Outcome(NamedTuple):
    """Changes by the updates of one method on one dataset, (S / 2,) each: means over cuts, by pair of train seeds."""

    quality: np.ndarray
    """Accuracy or MAE of the new models."""
    flips: np.ndarray
    chance: np.ndarray
    good: np.ndarray
    bad: np.ndarray
    turnover: np.ndarray


Updated = Sequence[tuple[Cell, Cell]]
"""The old and the new cell of each update."""
Scopes = Sequence[tuple[str, str, Mapping[str, Outcome]]]
"""Title, order of rows, and outcomes by title of the method, ERM first: of each dataset, after their mean if any."""


@study("updates", title="What an update of a model changes")
class Updates:
    dataset: str = (
        "chembl_cyp1a2@split=time,moonshot_mpro@split=time,chembl_pxr@split=time,expansionrx_mbpb@split=time,"
        "bace,bbb_martins,dili"
    )
    """By default four sets in the order of time, and three in random order."""
    canonical_seed: CanonicalSeed = 99
    seeds: str = "10"
    methods: str = METHODS
    """Methods beside ERM, separated by spaces."""
    cuts: Annotated[int, Field(ge=1, le=20)] = 3
    """Number of updates."""
    start: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Share of the training pool that the first old model has."""
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    """Regression: a change above this, in the target's unit, is a flip; 0 stands for the MAE of ERM's old models."""

    def report(self, context: Context) -> Report:
        seeds = retrainings(self.seeds)
        try:
            partners(seeds)
        except ValueError as error:
            raise UserError(
                f"seeds={self.seeds}: {error}: give a number of seeds, as in seeds=10 or seeds=3"
            ) from error
        by_dataset = {name: self._outcomes(*pairs) for name, pairs in self.updates(context).items()}
        answer, sheets, charts = list[str](), list[Sheet](), list[Chart]()
        for task in ("classification", "regression"):
            scopes = _scopes({name: found for name, found in by_dataset.items() if load_spec(name).task == task})
            if scopes:
                answer += _sentences(task, scopes)
                sheets.append(self._sheet(task, scopes))
                charts.append(self._chart(task, scopes))
        return Report(answer, sheets, charts)

    def updates(self, context: Context) -> dict[str, tuple[dict[str, Updated], float]]:
        """Return by dataset the updates of each method, by title, ERM first, and the tolerance of a regression."""
        seeds = retrainings(self.seeds)
        return {name: self._updates(context, name, seeds) for name in expand(self.dataset)}

    def _updates(self, context: Context, name: str, seeds: Sequence[int]) -> tuple[dict[str, Updated], float]:
        spec = load_spec(name)
        grid = [[self.canonical_seed], seeds, "update"]
        (whole,) = context.cells([REFERENCE], [name], *grid)[name, REFERENCE]  # type: ignore[arg-type]
        pool = whole.facts.rows["train"]
        sizes = sorted({max(2, round(n)) for n in np.linspace(self.start * pool, pool, self.cuts + 1)})
        if len(sizes) <= self.cuts:
            raise UserError(f"{name}: a pool of {pool} rows is too small for {self.cuts} updates: set fewer cuts")
        methods = list(dict.fromkeys([REFERENCE, *self.methods.split()]))
        earlier = {m: make_method(m, spec.task, sampling="update").remedy.incumbent for m in methods}  # empty if none
        alone = list(dict.fromkeys([*(m for m in methods if not earlier[m]), *filter(None, earlier.values())]))
        pools = [f"{name}@train={n}" for n in sizes]
        grown = [f"{name}@train={n}@new={n - m}" for m, n in pairwise(sizes)]
        cells = dict(context.cells(alone, pools, *grid))  # type: ignore[arg-type]
        if users := [m for m in methods if earlier[m]]:
            cells |= context.cells(users, grown, *grid)  # type: ignore[arg-type]
        tolerance = self.tolerance
        if not tolerance:
            olds = [cells[pool_name, REFERENCE][0].predictions["id"] for pool_name in pools[:-1]]
            tolerance = float(np.mean([QUALITY[spec.task].mean(p) for p in olds]))
        updates: dict[str, Updated] = {}
        for m in methods:
            pairs = [
                (cells[old, earlier[m] or m][0], cells[new if earlier[m] else later, m][0])
                for old, later, new in zip(pools, pools[1:], grown, strict=False)
            ]
            updates[pairs[0][1].title] = pairs
        return updates, tolerance

    def _outcomes(self, updates: Mapping[str, Updated], tolerance: float) -> dict[str, Outcome]:
        """Return the outcome of each method on a dataset, by title, ERM first."""
        outcomes: dict[str, Outcome] = {}
        for title, pairs in updates.items():
            task = pairs[0][1].predictions["id"].task
            outcomes[title] = outcome(pairs, task, tolerance)
            if title == next(iter(updates)):
                outcomes[KEPT] = outcome(pairs, task, tolerance, same_seed=True)
            elif pairs[0][0].title != title:  # trained again on the old rows, the earlier model is not of this method
                unknown = np.full(len(outcomes[title].flips), np.nan)
                outcomes[title] = outcomes[title]._replace(chance=unknown)
        return outcomes

    def _where(self) -> str:
        return (
            f"ID test of split {self.canonical_seed}, {self.cuts} updates from {percent(self.start)} of the pool to all"
        )

    def _sheet(self, task: Task, scopes: Scopes) -> Sheet:
        rows = list[SheetRow]()
        for where, order, by_title in scopes:
            erm = next(iter(by_title.values()))
            for title, outcome in by_title.items():
                known = not np.isnan(outcome.chance).any()
                parts = [Sampled(outcome.chance), Sampled(outcome.flips - outcome.chance)] if known else ["–", "–"]
                deltas = [Sampled(outcome.bad - erm.bad), Sampled(outcome.quality - erm.quality)]
                shares = map(Sampled, (outcome.good, outcome.bad, outcome.turnover))
                row = [where, order, title, Sampled(outcome.quality), Sampled(outcome.flips), *parts, *shares]
                rows.append([*row, *(deltas if outcome is not erm else ["–", "–"])])
        if task == "classification":
            quality, delta = Head("Accuracy (%)", 100, 1, most=1), Head("Δ accuracy (pp)", 100, 1, signed=True)
        else:
            quality, delta = Head("MAE", 1, 3), Head("Δ MAE", 1, 3, signed=True)
        heads = [quality, Head("Flips (%)", 100, 1, most=1), Head("by chance (%)", 100, 1, most=1)]
        heads += [Head("by new rows (pp)", 100, 1, signed=True)]
        heads += [Head(f"{kind} (%)", 100, 1, most=1) for kind in ("Good flips", "Bad flips", "Top list replaced")]
        heads += [Head("Δ bad flips (pp)", 100, 1, signed=True), delta]
        tolerance = f"{self.tolerance:g}" if self.tolerance else "the MAE of ERM's old models"
        flip = "" if task == "classification" else f" A number flips if it moves by more than {tolerance}."
        caption = (
            f"{self._where()}. By chance: flips between two models trained on the old rows alone; by new rows: the "
            f"rest. Δ: difference from ERM trained anew, at equal seeds. {quality.text.partition(' (')[0]} is that of "
            f"the new models.{flip} Intervals of a dataset hold for other random seeds at these cut points, those of a "
            "mean for other families; they are not adjusted for their number."
        )
        return Sheet(task, f"Updates, {task}", caption, ["Dataset", "Order", "Method", *heads], rows)

    def _chart(self, task: Task, scopes: Scopes) -> Chart:
        scope, _, by_title = scopes[0]
        erm = next(iter(by_title.values()))
        sign, scale, what = (1, 100, "Δ accuracy (pp)") if task == "classification" else (-1, 1, "Fall of MAE")
        series = {
            title: [Point(Sampled(sign * (outcome.quality - erm.quality)), Sampled(outcome.bad - erm.bad), title)]
            for title, outcome in by_title.items()
            if outcome is not erm
        }
        about = f"{scope}. {self._where()}. Differences from ERM trained anew."
        x, y = Axis(what, scale), Axis("Δ bad flips (pp)", 100)
        return Chart(task, f"Bad flips and accuracy, {task}", about, x, y, series)


def _scopes(by_dataset: Mapping[str, Mapping[str, Outcome]]) -> Scopes:
    """Return the scopes of datasets; their mean, of two families or more, has a value for each family."""
    families: dict[str, list[str]] = {}
    scopes = list[tuple[str, str, Mapping[str, Outcome]]]()
    for name, outcomes in by_dataset.items():
        spec = load_spec(name)
        families.setdefault(spec.family, []).append(name)
        order = "time" if spec.split.startswith("time:") else "random"
        scopes.append((spec.title.removesuffix(", split=time"), order, outcomes))
    if len(families) < 2:
        return scopes

    def mean(title: str) -> Outcome:
        parts = [[[p.mean() for p in by_dataset[name][title]] for name in names] for names in families.values()]
        return Outcome(*np.array([np.mean(part, axis=0) for part in parts]).T)

    return [(f"mean of {len(families)} families", "", {title: mean(title) for title in scopes[0][2]}), *scopes]


def _sentences(task: Task, scopes: Scopes) -> list[str]:
    """Say how much an update changes, what part is chance, and which methods reduce bad flips."""
    where, _, by_title = scopes[0]
    where, erm = where.replace("mean of", "Mean of"), next(iter(by_title.values()))
    said = in_points(jackknife([erm.flips - erm.chance]))
    answer = [
        f"{where}, {task}: an update of ERM flips {percent(erm.flips.mean(), 1)} of the test predictions; "
        f"{percent(erm.chance.mean(), 1)} flip when the model is only trained again on the same rows. The new rows "
        f"account for {said}. {percent(erm.bad.mean(), 1)} are bad flips, {percent(erm.good.mean(), 1)} good."
    ]
    fewer = []
    for title, outcome in by_title.items():
        less = jackknife([outcome.bad - erm.bad])
        if outcome is not erm and less.high < 0:
            worse = jackknife([outcome.quality - erm.quality])
            quality = (
                f"accuracy {in_points(worse)}"
                if task == "classification"
                else f"MAE {worse.value:+.3f}".replace("-", "−")
            )
            fewer.append(f"{title} ({in_points(less)}; {quality})")
    if fewer:
        answer.append(f"Bad flips are shown to be fewer than with ERM trained anew with {'; '.join(fewer)}.")
    else:
        answer.append("No method is shown to have fewer bad flips than ERM trained anew.")
    return answer


def outcome(updates: Sequence[tuple[Cell, Cell]], task: Task, tolerance: float, same_seed: bool = False) -> Outcome:
    """Average the updates from old to new cells over cut points.

    A new run is compared with the old one of its seed's partner, or with that of its own seed with ``same_seed``.
    """
    rows = []
    for old, new in updates:
        before, after = old.predictions["id"], new.predictions["id"]
        both = (before.values, after.values) if same_seed else paired(before, after)
        said = changes(*both, after.y, task, tolerance)
        chance = changes(*paired(before, before), before.y, task, tolerance)
        parts = QUALITY[task].of_runs(after), said.flips, chance.flips, said.good, said.bad, said.turnover
        rows.append([by_pair(values) for values in parts])
    return Outcome(*np.mean(rows, axis=0))
