"""The effect of weight decay alone on churn (paper, appendix "Weight-decay ablation")."""

from benchmark.data.spec import expand, load_spec
from benchmark.study.context import Context, GridStudy, classifications, study
from benchmark.study.report import Axis, Chart, Head, Measured, Point, Report, Sheet, SheetRow, compared, heads_compared
from benchmark.study.text import mean, percent, summary

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


@study("weight-decay", title="Weight decay and churn")
class WeightDecay(GridStudy):
    dataset: str = "bace,bbbp"

    def report(self, context: Context) -> Report:
        datasets = classifications(expand(self.dataset))
        named = {(d, decay): f"{d}@weight_decay={decay:g}" for d in datasets for decay in DECAYS}
        grid = self.cells(context, ["erm"], [*datasets, *named.values()])
        rows, series, answer = list[SheetRow](), {}, []
        for dataset in datasets:
            title, usual = load_spec(dataset).title, grid[dataset, "erm"]
            tried = {decay: grid[named[dataset, decay], "erm"] for decay in DECAYS}
            rows += [[title, f"{decay:g}", *compared(cells, usual)] for decay, cells in tried.items()]
            series[title] = [Point(decay, Measured("churn", cells, usual)) for decay, cells in tried.items()]
            churns = {mean("churn", cells): decay for decay, cells in tried.items()}
            low, recipe = churns[min(churns)], load_spec(dataset).recipe.weight_decay
            answer.append(
                f"On {title} the churn of ERM is {percent(min(churns), 1)} to {percent(max(churns), 1)} at weight "
                f"decays of {DECAYS[0]:g} to {DECAYS[-1]:g}. It is lowest at {low:g}: {summary(tried[low])}. At the "
                f"recipe's {recipe:g}: {summary(usual)}."
            )
        where = f"ERM, ID test, split {self.canonical_seed}; Δ to the recipe's own weight decay at equal bootstraps"
        header: list[str | Head] = ["Dataset", "Weight decay", *heads_compared("classification")]
        x, y = Axis("Weight decay", log=True), Axis("Δ churn (pp)", 100)
        about = "decays", "Weight decay and churn", f"{where}."
        return Report(answer, [Sheet(*about, header, rows)], [Chart(*about, x, y, series)])
