"""Does weight decay alone reduce churn? (paper, appendix "Weight-decay ablation")"""

from __future__ import annotations

from dataclasses import dataclass

from benchmark.data.spec import expand, load_spec
from benchmark.lab.study import (
    Axis,
    Chart,
    Head,
    Lab,
    Measured,
    Point,
    Report,
    Sheet,
    SheetRow,
    classifications,
    compared,
    heads_compared,
    mean,
    percent,
    retrainings,
    study,
    summary,
)
from benchmark.settings import parse_splits

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


@study("weight-decay", title="Weight decay and churn")
@dataclass(frozen=True)
class WeightDecay:
    dataset: str = "bace,bbbp"
    canonical_seed: str = "99"
    seeds: str = "10"

    def report(self, lab: Lab) -> Report:
        datasets = classifications(expand(self.dataset))
        named = {(d, decay): f"{d}@weight_decay={decay:g}" for d in datasets for decay in DECAYS}
        splits, seeds = parse_splits(self.canonical_seed), retrainings(self.seeds)
        found = lab.cells(["erm"], [*datasets, *named.values()], splits, seeds)
        rows: list[SheetRow] = []
        series, answer = {}, []
        for dataset in datasets:
            title, usual = load_spec(dataset).title, found[dataset, "erm"]
            tried = {decay: found[named[dataset, decay], "erm"] for decay in DECAYS}
            rows += [[title, f"{decay:g}", *compared(cells, usual)] for decay, cells in tried.items()]
            series[title] = [Point(decay, Measured("churn", cells, usual)) for decay, cells in tried.items()]
            churns = {mean("churn", cells): (decay, cells) for decay, cells in tried.items()}
            low, lowest = churns[min(churns)]
            recipe = load_spec(dataset).recipe.weight_decay
            answer.append(
                f"On {title} the churn of ERM is {percent(min(churns), 1)} to {percent(max(churns), 1)} at weight "
                f"decays of {DECAYS[0]:g} to {DECAYS[-1]:g}; lowest at {low:g}: {summary(lowest)}; at the recipe's "
                f"{recipe:g}: {summary(usual)}."
            )
        where = f"ERM, ID test, split {self.canonical_seed}; Δ to the recipe's own weight decay at equal bootstraps"
        header: list[str | Head] = ["Dataset", "Weight decay", *heads_compared("classification")]
        x, y = Axis("Weight decay", log=True), Axis("Δ churn (pp)", 100)
        key, title, caption = "decays", "Weight decay and churn", f"{where}."
        return Report(answer, [Sheet(key, title, caption, header, rows)], [Chart(key, title, caption, x, y, series)])
