"""Better representations of molecules and their churn. Beyond the paper.

Each method is trained on the same samples with several representations: the dataset's own features, and those of the
variants ``DATASET@features=…``.
"""

from collections.abc import Mapping, Sequence

from benchmark.data.spec import expand, load_spec
from benchmark.errors import UserError
from benchmark.measure.intervals import Estimate
from benchmark.settings import items
from benchmark.store.cell import Cell
from benchmark.study.context import Context, GridStudy, classifications, one_per_family, study
from benchmark.study.report import Chart, Head, Point, Report, Sheet, SheetRow, axes, both, compared, heads_compared
from benchmark.study.text import change, in_points, over
from benchmark.types import Sampling

OWN = "own"
"""Stands for the features that the dataset's TOML names."""
BOTH = "morgan_counts.4096.2+atom_pairs.4096+rdkit_descriptors"


@study("representations", title="Representations of molecules and churn")
class Representations(GridStudy):
    dataset: str = "bace,dili,cyp2d6_substrate,pgp_broccatelli,bbb_martins"
    """By default the development set and four headline datasets."""
    seeds: str = "20"
    sampling: Sampling = "halves"
    methods: str = "erm,svm,random_forest"
    representations: str = f"morgan.4096.2,morgan_counts.4096.2,atom_pairs.4096,rdkit_descriptors,{BOTH}"
    """Features as a variant names them, compared with the dataset's own."""

    def report(self, context: Context) -> Report:
        datasets, methods = classifications(expand(self.dataset)), items(self.methods)
        tried = items(self.representations)
        if not tried:
            raise UserError("representations: name at least one, as in morgan_counts.4096.2")
        named = {(d, r): f"{d}@features={r}" for d in datasets for r in tried} | {(d, OWN): d for d in datasets}
        classifications([*named.values()])
        cells = self.cells(context, methods, [*named.values()], self.sampling)
        once = one_per_family(datasets)
        mean_of = f"mean of {len(once)} families"
        groups = ({mean_of: once} if len(once) > 1 else {}) | {load_spec(d).title: [d] for d in datasets}
        titles = {m: cells[datasets[0], m][0].title for m in methods}

        def of(names: Sequence[str], method: str, representation: str) -> list[Cell]:
            return [cell for d in names for cell in cells[named[d, representation], method]]

        rows = list[SheetRow]()
        for where, names in groups.items():
            for m in methods:
                usual = of(names, m, OWN)
                rows.append([where, titles[m], self._own(names), *compared(usual, usual)])
                rows += [[where, titles[m], _spelled(r), *compared(of(names, m, r), usual)] for r in tried]

        changes = {
            m: {r: tuple(change(key, of(once, m, r), of(once, m, OWN)) for key in ("churn", "accuracy")) for r in tried}
            for m in methods
        }
        scope = mean_of if len(once) > 1 else load_spec(once[0]).title
        answer = [_sentence(titles[m], scope, pairs) for m, pairs in changes.items()]
        answer.append(_total([pair for pairs in changes.values() for pair in pairs.values()]))
        where = f"ID test, {over(self.canonical_seed)}, sampling {self.sampling}"
        caption = (
            f"{where}. Δ is the difference to the same method on the dataset's own features, on the same samples. "
            "Intervals are not adjusted for the number of comparisons."
        )
        header: list[str | Head] = ["Dataset", "Method", "Features", *heads_compared("classification")]
        sheet = Sheet("representations", "Representations, accuracy and churn", caption, header, rows)
        numbered = {OWN: OWN} | {r: str(i) for i, r in enumerate(tried, start=1)}
        series = {
            titles[m]: [Point(*both(of(once, m, r)), label, r == OWN) for r, label in numbered.items()] for m in methods
        }
        legend = "; ".join(f"{label}: {_spelled(r)}" for r, label in numbered.items() if r != OWN)
        about = f"{scope[:1].upper()}{scope[1:]}, {where}. Large filled points: the dataset's own features. {legend}."
        title = "Accuracy and churn by representation"
        chart = Chart("representations", title, about, *axes("classification"), series, joined=False)
        return Report(answer, [sheet], [chart])

    @staticmethod
    def _own(datasets: Sequence[str]) -> str:
        """Name the features of the datasets' TOMLs if they are the same in all."""
        named = {", ".join(load_spec(d).features) for d in datasets}
        return f"{OWN} ({named.pop()})" if len(named) == 1 else OWN


def _spelled(representation: str) -> str:
    """Spell features as a TOML does.

    >>> _spelled("morgan_counts.4096.2+rdkit_descriptors")
    'morgan_counts:4096:2 + rdkit_descriptors'
    """
    return representation.replace(".", ":").replace("+", " + ")


Pair = tuple[Estimate, ...]
"""The changes of churn and of accuracy."""


def _sentence(title: str, scope: str, changes: Mapping[str, Pair]) -> str:
    """Sort representations by what the interval of their change of churn allows one to say."""
    kinds: dict[str, list[str]] = {"falls with": [], "rises with": [], "is not shown to change with": []}
    for representation, (churn, accuracy) in changes.items():
        kind = "falls with" if churn.high < 0 else "rises with" if churn.low > 0 else "is not shown to change with"
        kinds[kind].append(f"{_spelled(representation)} ({in_points(churn)}; accuracy {in_points(accuracy)})")
    said = "; it ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
    return f"{title}, {scope}, against the dataset's own features: churn {said}."


def _total(pairs: Sequence[Pair]) -> str:
    better = [churn for churn, accuracy in pairs if accuracy.low > 0]
    head = f"Of {len(pairs)} combinations of a method and a representation"
    if not better:
        return f"{head}, none is shown to be more accurate than the method on the dataset's own features."
    less, more = sum(churn.high < 0 for churn in better), sum(churn.low > 0 for churn in better)
    return (
        f"{head}, {len(better)} {'is' if len(better) == 1 else 'are'} shown to be more accurate than the method on the "
        f"dataset's own features; of these, {less} churn less, {more} churn more, and {len(better) - less - more} show "
        "no change of churn beyond the interval."
    )
