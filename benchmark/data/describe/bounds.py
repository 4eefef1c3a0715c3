"""Which values of a target are bounds, as in >10, and which column of relations says so."""

import re

import numpy as np
import pandas as pd

from benchmark.data.describe.columns import FEW_CODES, counted, is_relation, named, present
from benchmark.data.describe.given import Target
from benchmark.data.values import is_number, related, relations, spelled
from benchmark.errors import UserError

OF_ANY = frozenset(
    re.findall(r"\w+", "relation rel qualifier operator op modifier mod censor censored sign prefix standard activity")
    + re.findall(r"\w+", "assay value values type result measurement published")
)
"""Words in the name of a column of relations that do not say of which other column they are."""
ALIKE = 0.99
"""Correlation, of either sign, from which on two columns measure the same."""


def bounds_of(target: Target, relation: str, decides: bool) -> pd.Series:
    """Return the relation of each text of a target, ``""`` for a value; say how bounds and approximate ones are read.

    Raises UserError if a mark in the target contradicts the column ``relation``.
    """
    texts = target.texts
    written = relations(target.table, target.name, relation, target.file)[texts.index]
    bounds = written.map(lambda text: related(text)[0])
    if relation:
        column = target.table[relation][texts.index]
        stated = column.map(lambda text: related(text)[0])
        if len(wrong := texts[(stated != "") & (stated != bounds)]):
            raise UserError(
                f"{target.at(wrong)}: {wrong.iloc[0]!r} is another bound than {column[wrong.index[0]]!r} in column "
                f"{relation!r}: correct one of them"
            )
    if approximate := int(written.str.match(r"\s*'?[~≈](?![<>])").sum()):
        target.notes.append(f"{approximate} of {len(texts)} values are approximate (~), and taken as they are")
    if censored := int((bounds != "").sum()):
        decided = " unless they decide the class" if decides else ""
        how = "taken as values" if target.given.bounds == "exact" else f"left out{decided} (--bounds exact keeps them)"
        target.notes.append(f"{censored} of {len(texts)} values are bounds (< or >), {how}")
    if relation:
        target.notes.append(f"{relation!r} says which values are bounds, and is no feature")
    return bounds


def relation_of(target: Target, y: pd.Series, mark: str, decides: bool) -> str:
    """Return the column of relations that belongs to the target, with the numbers ``y``; ``""`` if there is none.

    One that by its name is of another column, as IC50_rel is of IC50, belongs to the target, too, if both measure
    the same. Raises UserError if it has bounds of a target that is the negative logarithm of another column, or by its
    name of one that is not there, as pIC50 is of IC50, and their direction ``decides`` the class, unless they are
    exact: it may be that of the other.
    """
    table = target.table.loc[y.index]
    words = {name: {*re.findall(r"[a-z0-9]+", name.lower())} for name in target.columns}
    ours = words.pop(target.name)
    place = target.columns.index(target.name)

    def numbers(name: str) -> pd.Series:
        texts = table[name].map(lambda text: spelled(related(text)[1], mark))
        return pd.to_numeric(texts, errors="coerce").astype(float)

    def owner(name: str) -> str:
        """Return the column to which a relation belongs by its name; ``""`` if that is, or is like, the target."""
        own = words[name] - OF_ANY
        others = [other for other in words if other != name and own <= words[other]] if own else []
        alike = (abs(numbers(other).rank().corr(y.rank())) > ALIKE for other in others)
        return "" if words[name] & ours or any(alike) else next(iter(others), "")

    def distance(name: str) -> tuple[int, int]:
        return -len(words[name] & ours), abs(target.columns.index(name) - place)

    owners = {name: owner(name) for name in words if is_relation(target.table[name], name)}
    if "" in owners:
        raise UserError(f"{target.file}: the column of relations has no name: write '{target.name} relation' above it")
    bounded = {name for name in owners if table[name].map(lambda text: related(text)[0] != "").any()}
    if chosen := min((name for name in owners if not owners[name]), key=distance, default=""):
        if decides and chosen in bounded and target.given.bounds != "exact":
            logs = {name: np.log10(numbers(name).where(lambda x: x > 0)) for name in words if name not in owners}
            other = next((name for name, log in logs.items() if y.corr(log) < -ALIKE), "")
            falling = {word for word in ours if word[0] == "p" and named(word, "logarithm")}
            apart = ((ours - words[other]) or ours) if other else falling
            if apart and not words[chosen] & apart:
                raise UserError(
                    f"{target.where}: {chosen!r} may be of {repr(other) if other else 'concentrations'}, which fall as "
                    f"{target.name!r} rises: > there is < here, and decides the class: write the relations of the "
                    f"target into a column '{target.name} relation', call {chosen!r} so if these are they, or say "
                    "--bounds exact"
                )
        return chosen
    for name in (name for name in words if name in owners or named(name, "relation")):
        texts = present(target.table[name])
        if name in bounded:
            target.notes.append(
                f"{name!r} is by its name of {owners[name]!r}: all values are taken as exact; if it is of the "
                f"target, call it '{target.name} relation'"
            )
        elif len(texts) and (texts.nunique() <= FEW_CODES or not texts.map(is_number).all()):
            target.notes.append(f"{name!r} holds no relations, but {counted(texts)}: all values are taken as exact")
    return ""
