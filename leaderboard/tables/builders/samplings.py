"""What becomes of the paper's claims under each sampling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.measure.catalogue import ACCURACY, CHURN
from benchmark.measure.estimate import estimate
from benchmark.measure.intervals import Estimate, IntervalKind, weighted
from benchmark.measure.measure import Measure
from benchmark.store.cell import Cell
from leaderboard.read.results import Dataset, Results, unit_weights, with_studies
from leaderboard.tables.columns import common
from leaderboard.tables.layouts import Body, TableCell, listed
from leaderboard.tables.table import Value


@dataclass(frozen=True)
class Claim:
    """A question about two methods that the paper answers: does ``method`` have more (``sign`` 1) or less (−1)?"""

    question: str
    paper: str
    method: str
    reference: str = "erm"
    measure: Measure = CHURN
    sign: int = -1


CLAIMS = (
    Claim("Does a deep ensemble (K=5) churn less than ERM?", "no", "deep_ensemble"),
    Claim("Does MC dropout churn less than ERM?", "no", "mc_dropout"),
    Claim("Does SWA churn less than ERM?", "no", "swa"),
    Claim("Does bagging with K=5 churn less than ERM?", "yes", "bagging"),
    Claim("Is bagging with K=5 less accurate than ERM?", "no", "bagging", measure=ACCURACY),
    Claim("Does bagging with K=2 churn less than ERM?", "yes", "bagging:k=2"),
    Claim("Does twin-bootstrap churn less than ERM?", "yes", "twin"),
    Claim("Does twin-bootstrap churn less than bagging with K=2, at the same compute?", "yes", "twin", "bagging:k=2"),
    Claim("Is twin-bootstrap less accurate than ERM?", "yes, on some datasets", "twin", measure=ACCURACY),
    Claim(
        "Does twin-bootstrap churn less than twin-shared, whose networks have the same data?",
        "yes",
        "twin",
        "twin_shared",
    ),
)
"""Questions that the paper answers (abstract, section Results, overlap appendix)."""


def _sharing(results: Results) -> list[Results]:
    """Return the results under the samplings that share out data, all but ``update``, in the order of the tables."""
    return [part for part in reversed(results.every) if part.sampling != "update"]


def claims(results: Results, kind: IntervalKind) -> Body | None:
    """Return a row per question: the answer and the mean difference under each sampling, on the same datasets."""
    parts = _sharing(results)
    if len(parts) < 2:
        return None
    rows: list[tuple[TableCell, ...]] = []
    agree = []
    studied = [with_studies(part) for part in parts]
    for claim in CLAIMS:
        pairs = [_pairs(part, more, claim) for part, more in zip(parts, studied, strict=True)]
        shared = set.intersection(*(set(of) for of in pairs))
        if not shared:
            continue
        datasets = [[d for d in part.headline() if d.name in shared] for part in parts]
        values = [_answer(of, found, claim, kind) for of, found in zip(datasets, pairs, strict=True)]
        rows.append((claim.question, claim.paper, *values))
        agree.append([value.text.startswith("yes") == claim.paper.startswith("yes") for value in values])
    if not rows:
        return None
    counts = [f"{n} of {len(rows)} under {part.sampling}" for n, part in zip(np.sum(agree, axis=0), parts, strict=True)]
    header = ("Question", "The paper", *(part.sampling for part in parts))
    notes = (
        "Each cell gives the answer, the mean difference in percentage points over the headline datasets that have "
        "both methods under all samplings (each family counts once), and the number of families for which the answer "
        "is yes.",
        "yes: the interval excludes 0 in the direction of the question; no: it excludes 0 in the opposite direction; "
        "inconclusive: it includes 0. Answers are not adjusted for their number: "
        f"{len(rows) * len(parts)} tests, of {len(rows)} questions under {len(parts)} samplings. In the column The "
        "paper, no means that the paper reports no such effect.",
        f"Answers in agreement with the paper's: {listed(counts)}. An inconclusive answer agrees with a no.",
    )
    return Body(header, tuple(rows), results.headline(), notes)


Pair = tuple[Mapping[int, Cell], Mapping[int, Cell]]
"""The cells of two methods by canonical split."""


def _pairs(results: Results, studied: Results, claim: Claim) -> Mapping[str, Pair]:
    """Return the cells of the two methods of a claim on each headline dataset that has both, on the board's splits.

    They are those of ``studied``, the results with the cells that only a study asked for: these stand in for a method
    that the boards do not have.
    """
    splits = {dataset.name: dataset.splits for dataset in results.headline()}
    found = {}
    for dataset in studied.headline():
        on_board = splits.get(dataset.name, ())
        of = {e.spelled: {s: cell for s, cell in e.cells.items() if s in on_board} for e in dataset.entries}
        if of.get(claim.method) and of.get(claim.reference):
            found[dataset.name] = of[claim.method], of[claim.reference]
    return found


def _answer(datasets: Sequence[Dataset], pairs: Mapping[str, Pair], claim: Claim, kind: IntervalKind) -> Value:
    """Return the answer to a question from the mean over families, and on how many of them it is yes."""
    weights = unit_weights(datasets)
    each = [_difference(*pairs[dataset.name], claim.measure, kind) for dataset in datasets]
    families = {
        d.family: [e for e, other in zip(each, datasets, strict=True) if other.family == d.family] for d in datasets
    }
    yes = sum(_towards(weighted(of, np.full(len(of), 1 / len(of))), claim.sign) > 0 for of in families.values())
    mean = weighted(each, weights)
    answer = {1: "yes", -1: "no", 0: "inconclusive"}[_towards(mean, claim.sign)]
    value = Value.of(mean, 100, signed=True)
    return replace(value, text=f"{answer}: {value.text}, {yes} of {len(families)}")


def _difference(
    cells: Mapping[int, Cell], others: Mapping[int, Cell], measure: Measure, kind: IntervalKind
) -> Estimate:
    pairs = [(cells[split], others[split]) for split in cells if split in others]
    both = [(common(a, b).predictions["id"], common(b, a).predictions["id"]) for a, b in pairs]
    return estimate(measure, both, kind)


def _towards(difference: Estimate, sign: int) -> int:
    """Return 1 if the interval excludes 0 in the direction of ``sign``, −1 in the other, 0 if it includes 0."""
    return sign * int(np.sign(difference.value)) if difference.excludes_zero else 0
