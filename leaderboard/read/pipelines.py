"""What a row of the board is made of: learner, features, remedy and tuning, by their short names."""

from functools import cache
from typing import NamedTuple

from benchmark import registry
from benchmark.errors import UserError
from benchmark.pipeline import Learner, Part, Remedy, called
from benchmark.settings import features_of
from benchmark.store.cell import Cell
from benchmark.tuning import TITLES
from benchmark.types import REFERENCE

BETWEEN = " · "
"""What separates the parts of a title (see ``benchmark.registry.title``)."""


class Parts(NamedTuple):
    learner: str
    """Without its settings; if nobody but its author knows them, as of a submission, the title."""
    features: str
    remedy: str
    tuning: str
    """The rule by which settings were chosen, or those that are not the defaults, as in ``C=10.0``."""


def parts_of(cell: Cell) -> Parts:
    key = cell.key
    head, *others = title_of(cell).split(BETWEEN)
    remedy, used = known_part(key.method), known_part(key.learner or cell.facts.backbone)
    if not (remedy and issubclass(remedy, Remedy)):
        remedy, used = None, remedy
    trained = head if remedy is None else others[0] if key.learner and others else used.title if used else "–"
    learner, _, settings = trained.partition(", ")
    read = features_of(key.features)
    if not read and used and issubclass(used, Learner):
        read = used.features or ("smiles",) * (used.reads == "smiles")
    return Parts(
        learner,
        called(read or cell.facts.dataset.features),
        head if remedy and key.method != REFERENCE else "none",
        TITLES.get(key.tune) or settings or "default",
    )


def title_of(cell: Cell) -> str:
    """Return the title of a cell, with the short names of features that earlier results do not have."""
    names = features_of(cell.key.features)
    return cell.title.replace(" + ".join(names).replace(":", " "), called(names)) if names else cell.title


@cache  # to look a submission up in vain takes a millisecond, and each of its cells asks
def known_part(name: str) -> type[Part] | None:
    """Return the remedy or learner of a name; None if it is not installed, or was submitted."""
    try:
        return registry.find(name)[0]
    except UserError:
        return None
