"""The paper's claims under each sampling."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.measure.catalogue import ACCURACY, CHURN, MATCHED_ACCURACY, MATCHED_CHURN
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.measure.measure import Measure
from leaderboard.read.results import Dataset, Results, with_studies
from leaderboard.tables.layouts import Body, TableCell, listed
from leaderboard.tables.pairwise import compared
from leaderboard.tables.table import Value


@dataclass(frozen=True)
class Claim:
    """A question about two methods that the paper answers: does ``method`` have less of ``measure``?"""

    question: str
    paper: str
    method: str
    reference: str = "erm"
    measure: Measure = CHURN


CLAIMS = (
    Claim("Does a deep ensemble (K=5) churn less than ERM?", "no", "deep_ensemble"),
    Claim("Does MC dropout churn less than ERM?", "no", "mc_dropout"),
    Claim("Does SWA churn less than ERM?", "no", "swa"),
    Claim("Does bagging with K=5 churn less than ERM?", "yes", "bagging"),
    Claim("Is bagging with K=5 less accurate than ERM?", "no", "bagging", measure=ACCURACY),
    Claim("Does bagging with K=2 churn less than ERM?", "yes", "bagging:k=2"),
    Claim("Does twin-bootstrap churn less than ERM?", "yes", "twin"),
    Claim("Does twin-bootstrap churn less than bagging with K=2, at the same compute?", "yes", "twin", "bagging:k=2"),
    Claim("Is twin-bootstrap less accurate than ERM?", "yes", "twin", measure=ACCURACY),
    Claim(
        "Does twin-bootstrap churn less than twin-shared, whose networks have the same data?",
        "yes",
        "twin",
        "twin_shared",
    ),
)
"""Questions that the paper answers (abstract, section Results, overlap appendix)."""

MATCHED = {CHURN: MATCHED_CHURN, ACCURACY: MATCHED_ACCURACY}
"""What each measure becomes if all retrainings call equally many molecules positive."""


def claims(results: Results, kind: IntervalKind) -> Body | None:
    """Return two rows per question, as the paper measures and matched: the answer and the mean difference under each
    sampling, on the same datasets."""
    parts = [part for part in reversed(results.every) if part.sampling != "update"]  # where retrainings share out data
    if len(parts) < 2:
        return None
    rows: list[tuple[TableCell, ...]] = []
    agree = []
    studied = [_studied(part) for part in parts]
    for claim in CLAIMS:
        has = [{d.name for d in some if d.entry(claim.method) and d.entry(claim.reference)} for some in studied]
        shared = set.intersection(*has)
        if not shared:
            continue
        datasets = [[d for d in some if d.name in shared] for some in studied]
        for measure in (claim.measure, MATCHED[claim.measure]):
            values = [_answer(some, replace(claim, measure=measure), kind) for some in datasets]
            rows.append((claim.question, measure.name, claim.paper, *values))
            agree.append([value.text.startswith("yes") == claim.paper.startswith("yes") for value in values])
    if not rows:
        return None
    plain, matched = np.sum(agree[::2], axis=0), np.sum(agree[1::2], axis=0)
    counts = [
        f"{n} of {len(rows) // 2} under {part.sampling} ({also} matched)"
        for n, also, part in zip(plain, matched, parts, strict=True)
    ]
    header = ("Question", "Measure", "The paper", *(part.sampling for part in parts))
    notes = (
        "Each cell gives the answer, the mean difference in percentage points over the headline datasets that have "
        "both methods under all samplings (each family counts once), and the number of families for which the answer "
        "is yes.",
        "yes: the interval excludes 0 in the direction of the question; no: it excludes 0 in the opposite direction; "
        "unclear: it includes 0. Answers are not adjusted for their number: "
        f"{len(rows) * len(parts)} tests, of {len(rows) // 2} questions by two measures under {len(parts)} samplings. "
        "In the column The paper, no means that the paper reports no such effect.",
        f"Answers in agreement with the paper's: {listed(counts)}. An unclear answer agrees with a no.",
    )
    return Body(header, tuple(rows), results.headline(), notes, explained=True)


def _studied(results: Results) -> list[Dataset]:
    """Return the headline datasets with entries that have the command line's names as titles, on the board's splits.

    Cells that only a study asked for stand in for a method that the boards do not have.
    """
    splits = {dataset.name: dataset.splits for dataset in results.headline()}
    studied = []
    for dataset in with_studies(results).headline():
        on_board = splits.get(dataset.name, ())
        cells = [(e, {s: cell for s, cell in e.cells.items() if s in on_board}) for e in dataset.entries]
        studied.append(
            replace(dataset, entries=tuple(replace(e, title=e.spelled, cells=kept) for e, kept in cells if kept))
        )
    return studied


def _answer(datasets: Sequence[Dataset], claim: Claim, kind: IntervalKind) -> Value:
    """Return the answer to a question from the mean over families, and on how many of them it is yes."""
    pair = compared(datasets, claim.method, claim.reference, claim.measure, kind)
    assert pair is not None

    def answer(difference: Estimate) -> str:
        if not difference.excludes_zero:
            return "unclear"
        return "yes" if difference.value < 0 else "no"

    yes = [answer(family) for family in pair.families].count("yes")
    value = Value.of(pair.mean, 100, signed=True)
    return replace(value, text=f"{answer(pair.mean)}: {value.text}, {yes} of {len(pair.families)}")
