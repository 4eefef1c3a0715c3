"""What tables and figures take of each dataset, computed by worker processes and kept in the cache.

This is the larger part of a build. It depends on nothing but the cells of one dataset.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter

from benchmark.files import named, program
from benchmark.measure.catalogue import TOP_JACCARD
from benchmark.measure.intervals import Estimate, IntervalKind
from benchmark.registry import discover
from leaderboard.read.jobs import Job, digests, made, new, start
from leaderboard.read.results import Dataset, Results
from leaderboard.tables.boards import Board, Both, board, over_both
from leaderboard.tables.builders.comparisons import Curves, curves, flips_found
from leaderboard.tables.builders.scorecard import Card, card
from leaderboard.tables.columns import versus
from leaderboard.tables.influences import Influences, flipping, influences
from leaderboard.tables.layouts import by_method
from leaderboard.tables.order import values_of
from leaderboard.tables.power import typical

Kinds = Sequence[IntervalKind]
HIDDEN = versus(TOP_JACCARD)
"""The column of a table by method that boards do not have."""


class Computed(NamedTuple):
    """What is kept of a dataset. It is checked when it is read, because the cache may be shared."""

    boards: list[Board]
    card: Card
    influences: Influences
    flipping: Mapping[str, list[str]]
    values_of: Mapping[str, Mapping[str, list[Any]]]
    over_both: Both
    typical: list[tuple[int, float]]
    curves: Curves | None
    flips_found: Mapping[str, Estimate]
    hidden: Mapping[str, Estimate | None]


COMPUTED = TypeAdapter(Computed, config=ConfigDict(ser_json_inf_nan="constants"))
OF_DATASET = ("influences", "flipping", "values_of", "over_both", "typical", "curves", "flips_found")
"""What does not depend on the kind of intervals, with its key in ``Dataset.computed``."""


def prepare(results: Results, kind: IntervalKind) -> None:
    """Provide what is computed from each dataset, with intervals of ``kind``; decisions go by boards over runs, too."""
    of_kind = {id(dataset): (dataset, {kind: None}) for part in results.every for dataset in part.datasets}
    for dataset in (dataset for part in (results.front, *results.leading()) for dataset in part.datasets):
        of_kind[id(dataset)][1]["runs"] = None
    wanted = [(dataset, tuple(kinds)) for dataset, kinds in of_kind.values()]
    jobs = [Job(_name(dataset, kinds), _computed, (dataset, kinds)) for dataset, kinds in wanted]
    jobs.sort(key=new)  # those in the cache are read while the others are made
    start(jobs)
    contents = made(jobs)
    import_module("scipy.stats")  # this and the methods take a second to import, in which the other processes work
    discover()
    for job, content in zip(jobs, contents, strict=True):
        dataset, known = job.given[0], COMPUTED.validate_json(content)
        dataset.computed.update({("board", b.evalset, b.kind): b for b in known.boards})
        dataset.computed.update({(key,): getattr(known, key) for key in OF_DATASET})
        dataset.computed["card", kind] = known.card
        if _hides(dataset):
            dataset.computed["by_method", HIDDEN, kind] = known.hidden


def _hides(dataset: Dataset) -> bool:
    """Tell whether a table asks for the hidden column of a dataset."""
    return dataset.headline and dataset.reference is not None


def _name(dataset: Dataset, kinds: Kinds) -> str:
    code = [program("benchmark", "leaderboard"), kinds, dataset.name, dataset.notes, digests(dataset)]
    return named("boards", code, ".json")


def _computed(dataset: Dataset, kinds: Kinds) -> bytes:
    computed = Computed(
        boards=[board(dataset, evalset, kind) for kind in kinds for evalset in dataset.evalsets],
        card=card(dataset, kinds[0]),
        influences=influences(dataset),
        flipping=flipping(dataset),
        values_of=values_of(dataset),
        over_both=over_both(dataset),
        typical=typical(dataset),
        curves=curves(dataset),
        flips_found=flips_found(dataset),
        hidden=by_method(dataset, HIDDEN, kinds[0]) if _hides(dataset) else {},
    )
    return COMPUTED.dump_json(computed)
