"""What a column holds, by its name and its texts: molecules, names, relations, units, parts of a split."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data import features
from benchmark.data.readers import LINE, MISSING
from benchmark.data.splits import part_of
from benchmark.data.values import RELATION, is_number, spelled
from benchmark.errors import UserError, number_of

NAMED = {
    "fold": r"(^|[\W_])(cv_?|k_?)?(fold|split)s?([\W_]?(id|no|nr|number|index))?$",
    "group": r"(^|[\W_])(patient|subject|donor|batch|plate|lot|cluster|scaffold|series|cohort|group)s?([\W_]?id)?$",
    "logarithm": r"^((neg\w*[\W_])?\W*log(?![a-z]{2})|p([a-z]{2}_?50|k[aid](?![a-z])|mic$|chembl))",
    "part": r"^(is|in)?[\W_]?(train|training|test|valid|validation|holdout)([\W_]?(set|split|mask|flag|id))?$",
    "relation": r"(?<!cor)relation|qualifier|operator|modifier|[cz]ens(or|ur|ier)"
    r"|[\u5173\u95dc]\u7cfb|\u95a2\u4fc2|\u4e0d\u7b49\u53f7|\u5220\u5931",
    "row": r"(^|[\W_])(id|name|identifier|number|no|nr|code|title)$|(compound|molecule|sample|batch)s?$",
    "unit": r"(^|[\W_])units?$|(standard|activity|assay|measurement|result)[\W_]?type$|"
    r"^(endpoint|task|property|parameter|readout|target[\W_]name)$",
    "year": r"year|jahr|yr",
}
"""Names of columns, whatever their capitals, by what they say of these. A group is known by it if it has numbers, a
unit may be what was measured, and a relation is never offered as a feature: it tells part of the target."""
UNIT = re.compile(
    r"%|percent|(?:pico|nano|micro|milli)?molar|(?:[munpfkµμ]?(?:M|mol|g|L|l|s|h|Pa|eV|J|cal|m|V)|cm|Å|°C|K|min|d|ppm|ppb)(?:[/·*.]?[munpfkcµμ]?(?:M|mol|g|L|l|s|h|min|m|kg)"
    r"(?:\^?-?\d)?)*"
)
"""Units as after a number or alone in a column."""
QUANTITY = re.compile(
    r"(p|log ?)?((IC|EC|AC|GI|CC|LC|LD|ED|TD|DC)_?\d\d|K_?[idm]|MIC|potency|inhibition)( app)?", re.IGNORECASE
)
"""Kinds of measurement, which are not compared as units are not."""
MOST_CLASSES, MOST_CATEGORIES = 10, 100
FEW_CODES = 3
"""Different numbers in a column that by its name may say which values are bounds, such as -1, 0 and 1."""
MOST_RELATIONS = 6
"""Different texts of a column of relations that also has others, as OK beside >."""
SOME = 0.2
"""Share of texts that are SMILES from which on a column may be that of the molecules."""
SAMPLE = 200
"""Texts of a column that are parsed to see whether they are SMILES."""


def named(name: str, kind: str) -> bool:
    """Return whether the name of a column says that it is of a kind in ``NAMED``."""
    return re.search(NAMED[kind], name, re.IGNORECASE) is not None


def at(table: pd.DataFrame, column: str, texts: pd.Series, file: str) -> str:
    """Return where the first of some texts of a column is."""
    return f"{file}: column {column!r}, line {table[LINE][texts.index[0]]}"


def in_rows(counts: Iterable[tuple[str, int]]) -> str:
    """Return texts with their numbers of rows, as in ``nM (3 rows), µM (1 row)``."""
    return ", ".join(f"{text} ({number_of(n, 'row')})" for text, n in counts)


def counted(texts: pd.Series) -> str:
    """Return the commonest texts, quoted, with their numbers of rows."""
    counts = Counter(texts).most_common()
    return ", ".join(f"{text!r} ({count})" for text, count in counts[:5]) + (", …" if len(counts) > 5 else "")


def present(texts: pd.Series) -> pd.Series:
    """Return the texts that stand for no missing value, without blanks around them."""
    there = texts.str.strip()
    return there[~there.isin(MISSING)]


def is_relation(texts: pd.Series, name: str = "") -> bool:
    """Return whether a column holds relations of a value to the true one, such as = and >: all of its texts or, if its
    name says so, most of them are signs or there are few others, such as OK, some."""
    there = present(texts)
    known = there.map(lambda text: bool(RELATION.fullmatch(text))).astype(bool)
    signs = known & there.str.contains(r"[^\w\s'~≈]")
    few = there.nunique() <= MOST_RELATIONS and (signs & (there != "=")).any()
    return bool(known.any() and (known.all() or named(name, "relation") or signs.mean() > 0.5 or few))


def is_unit(texts: pd.Series, name: str) -> bool:
    """Return whether a column holds units, or kinds of measurement: by its name, or all of its texts."""
    there = present(texts)
    if there.empty or any(map(is_number, there)):
        return False
    units = (UNIT.fullmatch(text) or QUANTITY.fullmatch(re.sub(r"\s*\(.*\)$", "", text)) for text in there)
    if named(name, "unit"):
        return any(part_of(text) is None for text in there)
    return all(units) and any(len(text) > 1 for text in there)  # one letter may mean anything


def is_part(texts: pd.Series, name: str) -> bool:
    """Return whether a column says by its name and its numbers, from 0 or 1 on, to which part or fold a row belongs."""
    most = 20 if named(name, "fold") else 2 if named(name, "part") else 0
    values = {*present(texts).str.removesuffix(".0")} if most else set()
    starts = (0,) if most == 2 else (0, 1)
    return 1 < len(values) <= most and any(values == {str(start + i) for i in range(len(values))} for start in starts)


def is_row_number(texts: pd.Series, name: str) -> bool:
    """Return whether a column counts the rows, from 0 or 1 or, if it is called so, in any order and with gaps."""
    start = texts.iloc[0] if len(texts) > 2 else ""
    if re.fullmatch(r"index|row|(unnamed: \d+)?", name, re.IGNORECASE):
        return bool(start) and texts.is_unique and bool(texts.str.fullmatch(r"\d{1,9}").all())
    if not re.fullmatch("[01]", start):
        return False
    return texts.tolist() == [str(i) for i in range(int(start), int(start) + len(texts))]


def categories(table: pd.DataFrame, name: str, file: str) -> list[str]:
    """Return the different texts of a column in alphabetical order. Raises UserError for fewer than 2 or too many."""
    categories = sorted(set(present(table[name])))
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        raise UserError(
            f"{file}: column {name!r}: expected 2 to {MOST_CATEGORIES} different texts for --one-hot, "
            f"found {len(categories)}"
        )
    return categories


def not_numbers(table: pd.DataFrame, columns: Sequence[str], mark: str) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the columns that hold no number, or anything else, with the line and text of the first that is none; and
    the numbers (N,) of all columns."""
    own = table[columns]
    if mark:
        texts = own.columns.difference(table.attrs["native"])
        own = own.assign(**{name: own[name].map(lambda text: spelled(text, mark)) for name in texts})
    numbers, missing = features.numbers_in(own)
    others = {}
    for name, odd, empty in zip(columns, (np.isnan(numbers) & ~missing).T, missing.T, strict=True):
        if odd.any():
            row = table.iloc[int(odd.argmax())]
            others[name] = f"line {row[LINE]}: {row[name][:40]!r}"
        elif empty.all():
            others[name] = "empty"
    return others, dict(zip(columns, numbers.T, strict=True))


def names_column(table: pd.DataFrame, columns: Sequence[str], used: set[str]) -> str:
    """Return the first column that is called like a name or an id and has another text in each row; else ``""``."""
    for name in columns:
        texts = table[name].str.strip()
        if name not in used and named(name, "row") and texts.is_unique and not texts.isin(MISSING).any():
            return name
    return ""


def id_column(table: pd.DataFrame, columns: Sequence[str], target: str, texts: Iterable[str]) -> str:
    """Return the first column of texts, or else of whole numbers under a name that says so, that names each row.

    ``texts`` are the columns that hold no numbers. Raises UserError if there is none, or it has no name.
    """
    for name in columns:
        if name != target and name in texts and table[name].is_unique:
            if not name:
                raise UserError("the column that names the rows has no name: write one above it, such as id")
            return name
    if (name := names_column(table, columns, {target})) and table[name].str.fullmatch(r"\s*\d+\s*").all():
        return name
    raise UserError(
        "no column holds SMILES, and none holds a unique name for each row: choose --smiles or --id among "
        + ", ".join(filter(None, columns))
        + ", or add a column of names"
    )


def smiles_column(table: pd.DataFrame, columns: Sequence[str], file: str, notes: list[str], remedy: str) -> str:
    """Return the column of SMILES, by its name or else by its content; ``""`` if there is none.

    Raises UserError, with the ``remedy``, if it may be several or the one that is named so holds none, and if its name
    is a SMILES, too.
    """
    called = [name for name in columns if "smiles" in name.lower()]
    exact = [name for name in called if name.lower() == "smiles"]
    one = next((of[0] for of in (exact, called) if len(of) == 1), "")
    if one and smiles_share(table[one]) > 0:
        return one
    shares = {name: smiles_share(table[name]) for name in columns}
    filled = [name for name, share in shares.items() if share > 0.6]
    candidates = [name for name in filled if name in called or not called]
    other = [name for name in filled if name not in called]
    if len(candidates) > 1 or (called and not candidates and (other or not one)):
        listed = candidates or [*called, *other]
        raise UserError(f"{file}: several columns may hold the SMILES: {', '.join(listed)}; {remedy}")
    for name in columns if not candidates else ():
        for kind, mark in (("InChI", "^InChI="), ("molfiles", "M  END")):
            if table[name].str.contains(mark).mean() > 0.5:
                raise UserError(f"{file}: column {name!r} holds {kind}, which is not supported: add a column of SMILES")
    for name, share in shares.items() if not (candidates or one) else ():
        if share > SOME:
            notes.append(f"{share:.0%} of the texts of {name!r} are SMILES: if these are the molecules, {remedy}")
    refuse_headless(candidates, file)
    if "" in candidates:
        raise UserError(f"{file}: the column of SMILES has no name: write SMILES above it")
    if candidates:
        notes.append(f"the SMILES are in {candidates[0]!r}, by its content")
    return next(iter(candidates), one)


def refuse_headless(columns: Sequence[str], file: str) -> None:
    """Raise UserError if a name of a column is a SMILES, as in a table without a header."""
    for name in columns:
        if smiles_share(pd.Series([name])):
            raise UserError(
                f"{file}: the first row should have the names of the columns, but {name[:60]!r} seems to be a "
                "molecule: put a header above it, such as SMILES,y"
            )


def refuse_reactions(table: pd.DataFrame, smiles: str, file: str) -> None:
    """Raise UserError if most texts of a column of SMILES are reactions."""
    texts = table[smiles].str.strip()
    reactions = texts[texts.str.fullmatch(r"[^>\s|]*>[^>]*>[^>\s]*(\s+\|.*\|)?")]
    if len(reactions) > 0.5 * (texts != "").sum():
        raise UserError(
            f"{at(table, smiles, reactions, file)}: {reactions.iloc[0][:60]!r} is a reaction, and reactions are not "
            "supported: make a column of molecules, such as the products, and name it with --smiles"
        )


def smiles_share(texts: pd.Series) -> float:
    """Return the share of texts that are SMILES of three or more atoms, in a sample."""
    there = present(texts).drop_duplicates()
    there = there[there.str.len() < 5000].iloc[:SAMPLE]
    with rdBase.BlockLogs():  # of a reaction, the products
        found = [
            Chem.MolFromSmiles(text.split(">")[-1]) for text in there if not re.fullmatch(r"[A-Za-z]?[\d.,-]*", text)
        ]
    return sum(m is not None and m.GetNumAtoms() > 2 for m in found) / max(len(there), 1)
