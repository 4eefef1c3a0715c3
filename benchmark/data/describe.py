"""Fields of a dataset's TOML, inferred from a user's table; what is inferred is said, and what is ambiguous refused."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, islice, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rdkit import Chem, rdBase

from benchmark.data import features, readers
from benchmark.data.checks.missing import MISSING_WORDS, TOTAL, far, folded
from benchmark.data.downloads import contents
from benchmark.data.problem import plain
from benchmark.data.readers import LINE, MISSING, refuse_repeated
from benchmark.data.spec import MANY_ROWS, SAMPLED
from benchmark.data.splits import moments, part_of
from benchmark.data.values import (
    GROUPED,
    NUMBER,
    RELATION,
    is_missing,
    is_number,
    marks,
    related,
    relations,
    spelled,
)
from benchmark.errors import UserError, did_you_mean, number_of

POSITIVE = re.compile(
    r"\+|y|yes|ja|pos|positive?|t|true|active|aktiv|toxic|hit|pass|inhibitor|binder|high|1", re.IGNORECASE
)
"""Texts that mean class 1 in a column with two values."""
NEGATIVE = re.compile(r"-|n|no|nein|neg|negative?|f|false|fail|low|0", re.IGNORECASE)
NEGATED = ("in", "non-", "non", "not ", "not_", "no ", "un")
GROUPS = re.compile(
    r"(^|[\W_])(patient|subject|donor|batch|plate|lot|cluster|scaffold|series|cohort|group)s?([\W_]?id)?$", re.I
)
"""Names of columns whose numbers tell which rows belong together."""
NAMES = re.compile(r"(^|[\W_])(id|name|identifier|number|no|nr|code|title)$|(compound|molecule|sample|batch)s?$", re.I)
"""Names of columns that name molecules."""
CUT = re.compile(r"\s*(?:>=|≥)\s*(\S.*?)\s*")
"""A class 1 of numbers from one on."""
UNIT_COLUMN = re.compile(
    r"(^|[\W_])units?$|(standard|activity|assay|measurement|result)[\W_]?type$|"
    r"^(endpoint|task|property|parameter|readout|target[\W_]name)$",
    re.IGNORECASE,
)
"""Names of columns of units, or of what was measured."""
UNIT = re.compile(
    r"%|percent|(?:pico|nano|micro|milli)?molar|(?:[munpfkµμ]?(?:M|mol|g|L|l|s|h|Pa|eV|J|cal|m|V)|cm|Å|°C|K|min|d|ppm|ppb)(?:[/·*.]?[munpfkcµμ]?(?:M|mol|g|L|l|s|h|min|m|kg)"
    r"(?:\^?-?\d)?)*"
)
"""Units as after a number or alone in a column."""
QUANTITY = re.compile(
    r"(p|log ?)?((IC|EC|AC|GI|CC|LC|LD|ED|TD|DC)_?\d\d|K_?[idm]|MIC|potency|inhibition)( app)?", re.IGNORECASE
)
"""Kinds of measurement, which are not compared as units are not."""
RELATIONS = re.compile(r"relation|qualifier|operator|modifier|censor", re.IGNORECASE)
"""Names of columns of relations, which are never offered as features: they tell part of the target."""
OF_ANY = frozenset(
    re.findall(r"\w+", "relation rel qualifier operator op modifier mod censor censored sign prefix standard activity")
    + re.findall(r"\w+", "assay value values type result measurement published")
)
"""Words in the name of a column of relations that do not say of which other column they are."""
CHOICES = {
    "task": ("classification", "regression"),
    "merge": ("mean", "majority", "drop"),
    "decimal": (",", "."),
    "bounds": ("exclude", "exact"),
}
MOST_ABOVE = 10
"""Rows that may stand above the names of the columns, by mistake."""
MOST_CLASSES = 10
MOST_CATEGORIES = 100
FEWEST_OF_CLASS = 10
"""Rows of the rarest of three or more classes; fewer are taken for a typing error."""
OWN = "own"
"""The group of a user's datasets, which are never averaged with others."""
ALIKE = 0.99
"""Correlation, of either sign, from which on two columns measure the same."""
FEWEST_TOLD, FEWEST_OF_RARER = 20, 5
"""Rows, and rows of the rarer class, from which on a column that orders them by their targets does so by no chance."""
SAMPLE = 200
"""Texts of a column that are parsed to see whether they are SMILES."""
YEARS = re.compile("year|jahr|yr", re.IGNORECASE)
DECIMAL = r"[-+\u2212]?(\d*\.(?!\d{3}$)\d+|(0|\d{4,})?\.\d+|\d*\.\d+[eE][-+]?\d+)"
"""A number whose point cannot stand between thousands."""
FOLDS = re.compile(r"(^|[\W_])(cv_?|k_?)?(fold|split)s?([\W_]?(id|no|nr|number|index))?$", re.IGNORECASE)
PARTS = re.compile(
    r"(is|in)?[\W_]?(train|training|test|valid|validation|holdout)([\W_]?(set|split|mask|flag|id))?", re.IGNORECASE
)
DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
"""A date written as a whole number."""
AMBIGUOUS = "their order is not clear: write them as in 2024-03-31, and --split time:COLUMN goes by them"
DECADES = 3
"""Orders of magnitude of a target from which on its logarithm is suggested."""
LOGARITHM = re.compile(r"log(?![a-z]{2})|p([iegx]c_?50|k[aid](?![a-z])|chembl)", re.IGNORECASE)
"""The beginning of names of logarithms, as pIC50, pKi and logD."""


def table_of(file: Path, sheet: str = "") -> tuple[bytes, pd.DataFrame]:
    """Return the content of a file and its table. Raises UserError."""
    try:
        state = os.stat(file)
        return _read(file, sheet, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error}") from error


@lru_cache(maxsize=1)
def _read(file: Path, sheet: str, *_: int) -> tuple[bytes, pd.DataFrame]:
    content = contents(file)
    return content, readers.read(content, str(file), sheet)


def columns_of(file: Path, sheet: str = "") -> list[str]:
    """Return the names of a table's columns. Raises UserError if it cannot be read."""
    return [name for name in table_of(file, sheet)[1].columns if name != LINE]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user says of a table; what is empty is inferred. Raises UserError for a choice that there is not."""

    target: str
    beside: Sequence[str] = ()
    """Other targets, each of a dataset of its own, which are no features."""
    smiles: str = ""
    id_column: str = ""
    task: str = ""
    split: str = ""
    positive: str = ""
    classes: Sequence[str] = ()
    merge: str = ""
    one_hot: Sequence[str] = ()
    ignore_value: Sequence[str] = ()
    decimal: str = ""
    bounds: str = ""
    log10: bool = False
    desalt: bool = False
    sheet: str = ""
    sample: str = ""

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if (given := getattr(self, name)) not in ("", *known):
                raise did_you_mean(name if name == "task" else f"--{name}", given, list(known))
        if self.classes and self.positive:
            raise UserError("--classes and --positive both name class 1: leave one of them out")
        if self.task == "regression" and (self.classes or self.positive):
            raise UserError("--task regression has no classes: leave it out, or --classes and --positive")
        if self.sample not in ("", "all") and not (self.sample.isdecimal() and int(self.sample) > 1):
            raise UserError(f"--sample {self.sample!r}: expected a number of rows, or all")
        targets = {self.target, *self.beside}
        for option, named, what in (
            ("--one-hot", self.one_hot, "feature"),
            ("--smiles", [self.smiles], "column of molecules"),
            ("--id", [self.id_column], "name of a row, which is published with its prediction"),
        ):
            if taken := targets & {*named}:
                raise UserError(f"{option} {min(taken)}: a target is no {what}")

    @property
    def columns(self) -> list[str]:
        """Columns that are named."""
        return [self.target, *filter(None, (self.smiles, self.id_column)), *self.one_hot]


def describe_file(file: Path, **options: Any) -> dict[str, Any]:
    """Return the TOML's fields for ``file``, inferring those that the ``Options`` leave open.

    ``notes`` says how it was read, a line each. Raises UserError naming row and column, and the option for what can be
    read in two ways.
    """
    given = Options(**options)
    content, table = table_of(file, given.sheet)
    columns = columns_of(file, given.sheet)
    for column in given.columns:
        if column not in columns:
            refuse_headless(columns, file.name)
            lines = table[LINE][(table[columns] == column).any(axis=1)]
            if len(lines) == 1 and lines.index[0] < MOST_ABOVE:
                raise UserError(
                    f"{file.name}: no column {column!r}, but it stands on line {lines.iloc[0]}: if the names of the "
                    "columns are there, remove what stands above them"
                )
            raise did_you_mean(f"column of {file.name}", column, columns)
    if table.empty:
        raise UserError(f"{file.name}: has a header and no rows: expected a row for each molecule or measurement")
    notes: list[str] = list(table.attrs["notes"])
    others = [name for name in columns if name != given.target]
    smiles = given.smiles or smiles_column(table, others, file.name, notes, "choose one with --smiles")
    refuse_repeated(table, [*given.columns, smiles], file.name)
    if smiles:
        _refuse_reactions(table, smiles, file.name)
    target, meaning = meaning_of(table, given, file.name, notes, smiles)
    if given.log10 and meaning["task"] == "classification" and not meaning.get("positive", "").startswith(">= "):
        raise UserError(f"{file.name}: --log10 needs a column of numbers, but {given.target!r} holds classes")
    if smiles:
        name = given.id_column or _names(table, columns, {given.target, smiles})
        split = given.split or "scaffold:0.8"
        roles: dict[str, Any] = {"smiles": smiles, "id": name, "features": ["morgan:2048:2"], "split": split}
    elif given.desalt:
        raise UserError(f"{file.name}: --desalt is for molecules, and no column holds SMILES: leave it out")
    else:
        roles = _of_rows(table, columns, given, meaning, notes, file.name)
        apart = {given.target, roles["id"], *roles["ignore"], *given.one_hot, *roles["split"].split(":")[1:2]}
        y = target.numbers if len(target.numbers) else target.texts.map(folded)
        for name in _given_away(table, [name for name in columns if name not in apart], y, meaning["decimal"]):
            notes.append(f"{name!r} tells the target: if it is made from it, leave it out ('ignore' in the TOML)")
    if meaning["task"] == "regression":
        roles["recipe"] = {"standardise": True}  # its unit may be any
    sample = int(given.sample) if given.sample.isdecimal() else SAMPLED
    if given.sample == "all" or len(table) <= (sample if given.sample else MANY_ROWS):
        sample = 0
    elif not given.sample:
        notes.append(
            f"methods are compared on a random sample of {SAMPLED:,} of {len(table):,} rows, as their time grows with "
            "the rows, of some with the square (--sample N, or all)"
        )
    fields = {
        "title": file.name.partition(".")[0],
        "group": OWN,
        "source": f"file:{file.resolve()}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": len(table),
        "sheet": given.sheet,
        "target": given.target,
        **meaning,
        "log10": given.log10,
        "desalt": given.desalt,
        "merge": given.merge,
        "sample": sample,
        "one_hot": [[name, *categories(table, name, file.name)] for name in given.one_hot],
        **roles,
        "notes": "\n".join(notes),
    }
    return {name: value for name, value in fields.items() if value or name == "ignore"}


def meaning_of(
    table: pd.DataFrame, given: Options, file: str, notes: list[str], smiles: str = ""
) -> "tuple[_Target, dict[str, Any]]":
    """Return the target of a table, and the TOML's fields that say what it means, with ``notes`` on both.

    Raises UserError as ``describe_file`` does.
    """
    target = _Target(table, given, file, notes)
    meaning = target.fields()
    if given.log10 and LOGARITHM.match(given.target):
        notes.append(
            f"{given.target!r} is by its name a logarithm already, and --log10 takes one of it: leave out --log10 if "
            "that is not meant"
        )
    if len(target.numbers) and not given.log10:
        notes += _doubts_of_numbers(target.numbers, given.target, meaning["task"] == "regression")
    notes += _mixed_units(table, [name for name in target.columns if name not in (given.target, smiles)])
    return target, meaning


def _of_rows(
    table: pd.DataFrame, columns: Sequence[str], given: Options, meaning: dict[str, Any], notes: list[str], file: str
) -> dict[str, Any]:
    """Return the fields of a table without molecules that say what its columns are; the mark of decimals goes to
    ``meaning``, if the target says nothing of it. Raises UserError if it differs between columns."""
    unclear = {}
    for name in columns:
        if not meaning["decimal"] and table[name].str.contains(",", regex=False).any():
            try:
                meaning["decimal"] = _decimal(table, name, _present(table[name]), "", notes)
            except UserError as error:
                unclear[name] = str(error).rpartition(": in ")[2]
    texts, numbers = _not_numbers(table, columns, meaning["decimal"])
    name = given.id_column or _id_column(table, columns, given.target, texts)
    if total := next((text for text in table[name][-2:] if TOTAL.fullmatch(text.strip())), ""):
        line = table[LINE][table[name] == total].iloc[0]
        raise UserError(
            f"{file}: column {name!r}, line {line}: {total!r} is by its name no row but a summary of the others: "
            "remove it or, if it is a row, rename it"
        )
    chosen = {given.target, name, *given.one_hot}
    divides = given.split.partition(":")[2].partition(":")[0]
    numbered = [column for column in columns if column != name and _is_row_number(table[column], column)]
    if numbered:
        notes.append(f"row numbers are no feature: {', '.join(map(repr, numbered))}")
    named = [column for column in columns if RELATIONS.search(column) and column not in {*texts, given.target}]
    telling = [column for column in named if _present(table[column]).nunique() <= 2]
    others = {*texts, *chosen, divides}
    parts = [column for column in columns if column not in others and _is_part(table[column], column)]
    for found, what in ((telling, "which values are bounds"), (parts, "which rows are for training")):
        if found:
            listed = ", ".join(map(repr, found))
            notes.append(f"no feature, as it may say {what}: {listed}; if not, take it out of ignore")
    unused = {*(texts.keys() - {*given.beside}), *numbered, *telling, *parts, *given.beside} - chosen
    ignored = [column for column in columns if column in unused]
    if odd := [
        f"{column!r} ({unclear.get(column, texts[column])})"
        for column in ignored
        if column in texts and column not in given.beside
    ]:
        notes.append(
            f"not features, because a text is no number: {', '.join(odd)}; numbers alone, or an empty cell, would make "
            "a column one"
        )
    others = chosen | unused
    read = [column for column in columns if column not in others]
    inputs = [column for column in read if column != divides]
    if meaning["decimal"] and not given.decimal:
        _refuse_two_marks(table, [*inputs, given.target], meaning, file)
    if not meaning["decimal"] and table.attrs["separator"] == ";":
        every = {column: _present(table[column]) for column in (*inputs, given.target)}
        if not any(of.str.fullmatch(DECIMAL).any() for of in every.values()):
            for column in (name for name in inputs if not every[name].str.contains(".", regex=False).all()):
                _refuse_grouped(table, column, every[column], file)
    for word in filter(is_number, given.ignore_value):
        if held := [column for column in read if is_missing(table[column], (word,)).any()]:
            notes.append(
                f"{word} stays a number in the features {', '.join(map(repr, held))}: empty fields are missing"
            )
    doubts = ((column, one) for column in inputs for one in far(numbers[column][np.isfinite(numbers[column])]))
    for column, one in islice(doubts, 5):
        notes.append(f"in the feature {column!r}, {one.said('row')}: if it is a missing value, leave the fields empty")
    return {"id": name, "features": ["columns"], "split": given.split or "random:0.8", "ignore": ignored}


def _is_part(texts: pd.Series, name: str) -> bool:
    """Return whether a column says by its name and its numbers, from 0 or 1 on, to which part or fold a row belongs."""
    most = 20 if FOLDS.search(name) else 2 if PARTS.fullmatch(name) else 0
    values = {*_present(texts)} if most else set()
    starts = (0,) if most == 2 else (0, 1)
    return 1 < len(values) <= most and any(values == {str(start + i) for i in range(len(values))} for start in starts)


def _refuse_two_marks(table: pd.DataFrame, columns: Sequence[str], meaning: dict[str, Any], file: str) -> None:
    """Raise UserError if numbers of some columns may have another decimal mark than the one in ``meaning``."""
    found = marks(table, columns, meaning["decimal"], meaning["suffix"])
    with_mark = found[found["mark"].isin(["own", "thousands"])]
    wrong = found[found["mark"] == "other"]
    if not (found["mark"] == "thousands").any():  # nothing shows that the other mark stands between thousands
        unclear = (found["mark"] == "either") & ~found["column"].isin(with_mark["column"])
        wrong = pd.concat([wrong, found[unclear]])
    if wrong.empty or with_mark.empty:
        return
    one, other = with_mark.iloc[0], wrong.iloc[0]
    names = ("comma", "point") if meaning["decimal"] == "," else ("point", "comma")
    raise UserError(
        f"{file}: column {one['column']!r}, line {one['line']}: {one['text']!r} has a decimal {names[0]}, but "
        f"{other['text']!r} in column {other['column']!r}, line {other['line']}, a {names[1]}: use one of them in all "
        f"columns, or say --decimal {meaning['decimal']} if the {names[1]} stands between thousands"
    )


class _Target:
    """The column to predict, and what its texts may mean."""

    def __init__(self, table: pd.DataFrame, given: Options, file: str, notes: list[str]):
        self.table, self.given, self.file, self.notes = table, given, file, notes
        self.name, self.columns = given.target, [*table.columns.drop(LINE)]
        self.where = f"{file}: column {self.name!r}"
        self.texts = table[self.name].str.strip().loc[lambda texts: texts != ""]
        self.numbers = pd.Series(dtype=float)
        """Those of a regression or a cut, without missing values and, if they are left out, bounds."""

    def fields(self) -> dict[str, Any]:
        """Return the fields of the TOML that say what the column means. Raises UserError."""
        given = self.given
        missing = self._missing((*given.classes, given.positive))
        if self.texts.empty:
            raise UserError(f"{self.where} is empty" + (f" but for {', '.join(map(repr, missing))}" if missing else ""))
        bare = self.texts.map(lambda text: related(text)[1])
        stripped = bool((bare != self.texts.str.strip()).any())
        decimal = given.decimal or _decimal(self.table, self.name, bare, self.file, self.notes)
        mark = "" if self.name in self.table.attrs["native"] else decimal
        suffix = self._suffix(bare)
        found: dict[str, Any] = {"missing": missing, "decimal": decimal, "suffix": suffix}
        positive = self._cut(given.positive, mark, suffix)
        bare = bare.map(lambda text: spelled(text, mark, suffix))
        numbers = pd.to_numeric(bare, errors="coerce").astype(float)
        if not np.isfinite(numbers).all():
            return found | self._of_words(numbers, positive)
        cut = positive.startswith(">= ")
        decides = cut and positive != ">= median"
        classes = numbers.nunique() < 3 and given.task != "regression"  # which have no relation
        relation = "" if classes else self._relation(numbers, mark, decides and given.bounds != "exact")
        written = relations(self.table, self.name, relation, self.file)[self.texts.index]
        bounds = written.map(lambda text: related(text)[0])
        if relation:
            stated = self.table[relation][self.texts.index].map(lambda text: related(text)[0])
            if len(wrong := self.texts[(stated != "") & (stated != bounds)]):
                raise UserError(
                    f"{self._at(wrong)}: {wrong.iloc[0]!r} is another bound than "
                    f"{self.table[relation][wrong.index[0]]!r} in column {relation!r}: correct one of them"
                )
        if relation or stripped:
            found |= {"relation": relation, "bounds": given.bounds or "exclude"}
        left_out = found.get("bounds") == "exclude"
        if approximate := int(written.str.match(r"\s*'?[~≈](?![<>])").sum()):
            self.notes.append(f"{approximate} of {len(bare)} values are approximate (~), and taken as they are")
        if censored := int((bounds != "").sum()):
            decided = " unless they decide the class" if decides else ""
            how = f"left out{decided} (--bounds exact keeps them)" if left_out else "taken as values"
            self.notes.append(f"{censored} of {len(bare)} values are bounds (< or >), {how}")
        if relation:
            self.notes.append(f"{relation!r} says which values are bounds, and is no feature")
        if decides and given.log10:
            power = positive.removeprefix(">= ")
            self.notes.append(f"the logarithm is cut: {positive} is >= 10^{power} in the table")
        values = numbers[bounds == ""] if left_out else numbers
        if cut:
            self.numbers = values
            return found | {"task": "classification", "positive": positive}
        continuous = censored or (suffix and bare.nunique() > 2)
        may_be_classes = given.task != "regression" and (given.classes or positive or given.task or not continuous)
        if may_be_classes and (of_classes := self._of_numbers(plain(bare), positive)):
            return found | of_classes
        self.numbers = values
        if values.empty:
            raise UserError(
                f"{self.where}: all {len(bare)} values are bounds (< or >): take them as values by --bounds exact, or "
                "cut them in two with --positive '>= 5'"
            )
        return found | {"task": "regression"}

    def _at(self, texts: pd.Series) -> str:
        """Return where the first of some texts of the column is."""
        return f"{self.where}, line {self.table[LINE][texts.index[0]]}"

    def _missing(self, kept: Sequence[str]) -> list[str]:
        """Leave out the words for missing values, with those that are ignored by choice, and return them.

        Those that are missing in every table, such as None, are classes only where they are ``kept``.
        """
        keys, ignored = self.texts.map(folded), self.given.ignore_value
        for word in ignored:
            columns = [self.name] if is_number(word) else self.columns
            if not any(is_missing(self.table[name], (word,)).any() for name in columns):
                raise UserError(f"{self.where}: --ignore-value {word!r}: no field holds it")
        chosen = is_missing(self.texts, tuple(ignored)) & bool(ignored)
        names = {folded(text) for text in kept}
        everywhere = self.texts.isin(MISSING) & ~keys.isin(names)
        words = (everywhere | keys.str.replace(". ", ".").isin(MISSING_WORDS - names)) & ~chosen
        if keys.isin(["+", "++"]).any():
            words &= keys != "-"
        rest = ~words & ~chosen
        others = keys[rest].unique()
        if len(others) == 1 and words.any() and not kept[-1]:
            word = self.texts[words].iloc[0]
            raise UserError(
                f"{self.where} holds only {self.texts[rest].iloc[0]!r} besides {word!r}, which may mean a missing "
                "value: if it is a class, name class 1 with --positive"
            )
        if len(others) < 2:
            words &= everywhere & (len(others) == 0)
        if words.any():
            classes = keys[rest].value_counts()
            frequent = len(classes) <= MOST_CLASSES and words.sum() >= classes.min() and not any(kept)
            doubt = frequent and not any(map(is_number, classes.index))
            hint = "; if it is a class, name all with --classes" if doubt else ""
            self.notes.append(f"taken as missing: {_counted(self.texts[words])}{hint}")
        self.texts = self.texts[~words & ~chosen]
        return [*dict.fromkeys([*ignored, *sorted({*keys[words]})])]

    def _relation(self, y: pd.Series, mark: str, decides: bool) -> str:
        """Return the column of relations that belongs to the target, with the numbers ``y``; ``""`` if there is none.

        One that by its name is of another column, as IC50_rel is of IC50, belongs to the target, too, if both measure
        the same. Raises UserError if it has bounds of a target that is the negative logarithm of another column, as
        pIC50 is of IC50, and their direction ``decides`` the class: it may be that of the other.
        """
        words = {name: {*re.findall(r"[a-z0-9]+", name.lower())} for name in self.columns}
        ours = words.pop(self.name)
        place = self.columns.index(self.name)

        def numbers(name: str) -> pd.Series:
            texts = self.table[name][y.index].map(lambda text: spelled(related(text)[1], mark))
            return pd.to_numeric(texts, errors="coerce").astype(float)

        def owner(name: str) -> str:
            """Return the column to which a relation belongs by its name; ``""`` if that is, or is like, the target."""
            own = words[name] - OF_ANY
            others = [other for other in words if other != name and own <= words[other]] if own else []
            alike = (abs(numbers(other).rank().corr(y.rank())) > ALIKE for other in others)
            return "" if words[name] & ours or any(alike) else next(iter(others), "")

        def distance(name: str) -> tuple[int, int]:
            return -len(words[name] & ours), abs(self.columns.index(name) - place)

        owners = {name: owner(name) for name in words if _is_relation(self.table[name], name)}
        chosen = min((name for name in owners if not owners[name]), key=distance, default="")
        bounded = {name for name in owners if self.table[name][y.index].map(lambda text: related(text)[0] != "").any()}
        if chosen and decides and chosen in bounded and not words[chosen] & ours:
            logs = {name: np.log10(numbers(name).where(lambda x: x > 0)) for name in words if name not in owners}
            if other := next((name for name, log in logs.items() if y.corr(log) < -ALIKE), ""):
                raise UserError(
                    f"{self.where}: {chosen!r} may be of {other!r}, which falls as {self.name!r} rises: > there is < "
                    f"here, and decides the class: write the relations of the target into a column '{self.name} "
                    f"relation', call {chosen!r} so if these are they, or say --bounds exact"
                )
        for name in (name for name in words if not chosen and (name in owners or RELATIONS.search(name))):
            texts = _present(self.table[name])
            if name in bounded:
                self.notes.append(
                    f"{name!r} is by its name of {owners[name]!r}: all values are taken as exact; if it is of the "
                    f"target, call it '{self.name} relation'"
                )
            elif len(texts) and (texts.nunique() <= 2 or not texts.map(is_number).all()):
                self.notes.append(f"{name!r} holds no relations, but {_counted(texts)}: all values are taken as exact")
        return chosen

    def _suffix(self, texts: pd.Series) -> str:
        """Return what follows every number, such as %, or most of many if no classes are named. Raises UserError if it
        differs."""
        given = self.given
        named = given.classes or given.positive or given.task == "classification"
        parts = texts.str.extract(rf"^([-+\u2212]?[\d.,]+(?:[eE][-+]?\d+)?)\s*({UNIT.pattern})?$")
        if parts[1].isna().all() or (parts[0].isna().any() and (named or parts[1].notna().mean() <= 0.5)):
            return ""
        parts = parts[parts[0].notna()]  # the others are named where they are
        if len(parts) < len(texts) and parts[0].nunique() <= MOST_CLASSES:
            return ""  # classes such as 4 h, 24 h and overnight
        counts = Counter(parts[1].fillna("").str.replace("μ", "µ"))
        if len(counts) > 1:
            listed = ", ".join(f"{unit or 'no unit'} ({number_of(n, 'row')})" for unit, n in counts.most_common())
            raise UserError(f"{self.where} mixes units: {listed}: convert all values to one unit")
        self.notes.append(f"numbers read without {parts[1].iloc[0]!r}")
        return str(parts[1].iloc[0])

    def _cut(self, positive: str, mark: str, suffix: str) -> str:
        """Return a cut of numbers as the TOML spells it, with the marks of the column; any other text as it is."""
        found = CUT.fullmatch(positive)
        if found is None or folded(positive) in {*self.texts.map(folded)}:
            return positive
        if folded(found[1]) == "median":
            return ">= median"
        cuts = {spelled(found[1], of, suffix) for of in ("", mark)}
        cuts = {format(Decimal(cut), "f") for cut in cuts if re.fullmatch(NUMBER, cut)}
        if len(cuts) != 1:
            raise UserError(
                f"{self.where}: --positive {positive!r}: expected '>= median' or a number that can be read in one way, "
                "as in '>= 5.5'"
            )
        return f">= {cuts.pop()}"

    def _of_numbers(self, texts: pd.Series, positive: str) -> dict[str, Any]:
        """Return the fields of numbers that are classes, none if they are not. Raises UserError if they may be."""
        task = self.given.task
        counts = Counter(texts)
        values = sorted(counts, key=float)
        between = len(values) == 3 and (values[0], values[2]) == ("0", "1")  # such as 0.5
        few = between or (3 <= len(values) <= MOST_CLASSES and all(re.fullmatch(r"-?\d+", value) for value in values))
        listed = ", ".join(f"{value} ({number_of(counts[value], 'row')})" for value in values[:MOST_CLASSES])
        if self.given.classes:
            return self._chosen(texts)
        if len(values) < 3:
            return self._two(values, positive)
        if positive:
            cut = re.search(NUMBER, positive)
            hint = f"; to cut numbers in two, use --positive '>= {cut[0] if cut else 'median'}'"
            raise self._classes(texts, f"{hint}: class 1 is the numbers from there on")
        if values == ["-1", "0", "1"]:
            raise UserError(
                f"{self.where}: expected two classes, found {listed}: if -1 means a missing value, --ignore-value -1; "
                "if it is a class, --classes=-1,0,1"
            )
        if task and few:
            self.notes.append(f"classes: {listed}")
            return {"task": task, "classes": values}
        if task:
            raise UserError(
                f"{self.where}: expected classes, found {len(values)} different numbers: say where to cut them, with "
                "--positive '>= median' or --positive '>= 5'"
            )
        if few and (({"0", "1"} < {*values} and len(values) == 3) or min(counts.values()) >= FEWEST_OF_CLASS):
            rare = min(values, key=lambda value: (value in ("0", "1"), counts[value]))
            line = self.table[LINE][texts.index[texts == rare][0]]
            hint = f"; if {rare} (line {line}) means a missing value, --ignore-value {rare}"
            if not re.fullmatch(r"-\d+|99*", rare) and 2 * counts[rare] > sorted(counts.values())[1]:
                hint = ""
            raise UserError(
                f"{self.where}: {listed}: classes or numbers? Use --task classification or --task regression{hint}"
            )
        return {}

    def _of_words(self, numbers: pd.Series, positive: str) -> dict[str, Any]:
        if self.given.classes:
            return self._chosen(self.texts)
        keys, task = self.texts.map(folded), self.given.task
        cut = task == "regression" or positive.startswith(">= ")
        first = {key: Counter(texts).most_common(1)[0][0] for key, texts in self.texts.groupby(keys)}
        texts = keys.map(first)
        known = sorted(text for key, text in first.items() if POSITIVE.fullmatch(key) or NEGATIVE.fullmatch(key))
        same = [f"{one!r} and {other!r}" for one, other in combinations(known, 2) if _synonyms(one, other)]
        if same and not cut and numbers.dropna().isin((0, 1)).all():
            hint = f"; {', '.join(same)} seem to be the same class: write each class in one way in the table"
            raise self._classes(texts, hint)
        if cut or numbers.notna().mean() > 0.5:
            odd = self.texts[~np.isfinite(numbers)]
            more = f"; all such texts: {_counted(odd)}" if odd.nunique() > 1 else ""
            hint = f"if it means a missing value, use --ignore-value {odd.iloc[0]!r}"
            if re.search(r"\d", odd.iloc[0]):
                hint = f"write a bound as in >10 and an approximate number as in ~10; {hint}"
            raise UserError(f"{self._at(odd)}: expected a number, found {odd.iloc[0]!r}; {hint}{more}")
        spellings = self.table[self.name][self.texts.index].nunique()
        if spellings > len(first) and len(first) <= MOST_CLASSES:
            listed = ", ".join(f"{text!r} ({number_of(n, 'row')})" for text, n in Counter(texts).most_common())
            self.notes.append(f"{spellings} spellings of {len(first)} classes, but for capitals and blanks: {listed}")
        values = sorted(first.values())
        if len(values) < 3:
            return self._two(values, positive)
        if not task and (quantities := texts[texts.str.match(r"\W{0,2}\d")]).size > 0.5 * len(texts):
            raise UserError(
                f"{self._at(quantities)}: expected a number or a word, found {quantities.iloc[0]!r}: write numbers "
                "alone, as in 1234.5, or say --task classification"
            )
        counts = Counter(texts)
        opposite = [two for two in combinations(values, 2) if _opposite(*two)]
        pair = max(opposite, key=lambda two: counts[two[0]] + counts[two[1]], default=())
        odd = [value for value in values if value not in pair] if pair else []
        if positive or len(values) > MOST_CLASSES or min(counts.values()) < FEWEST_OF_CLASS or odd:
            hint = ""
            if len(values) <= MOST_CLASSES:
                word = min(odd or values, key=lambda value: counts[value])
                hint = f"; if {word!r} means a missing value, use --ignore-value {word!r}; "
                hint += f"if it is a class, --classes '{','.join(values)}'"
            raise self._classes(texts, hint)
        return {"task": "classification", "classes": values}

    def _two(self, values: list[str], positive: str) -> dict[str, Any]:
        """Return the fields of two classes. Raises UserError for a single one, and if none is ``positive``."""
        if len(values) == 1:
            raise UserError(f"{self.where} holds only {values[0]!r}: there is nothing to learn")
        names = {folded(value): value for value in values}
        if not positive and [*names] == ["0", "1"]:
            return {"task": "classification"}
        one = names.get(folded(plain(pd.Series([positive])).iloc[0])) if positive else _class_one(values)
        if one is None:
            raise UserError(f"{self.where}: --positive {positive!r}: expected {values[0]!r} or {values[1]!r}")
        return {"task": "classification", "positive": one, "negative": next(v for v in values if v != one)}

    def _chosen(self, texts: pd.Series) -> dict[str, Any]:
        """Return the fields of the given classes, the first of which is class 0. Raises UserError for another text."""
        classes = [*self.given.classes]
        known = {folded(name) for name in plain(pd.Series(classes, dtype=object))}
        if len(known) < max(2, len(classes)):
            raise UserError(f"--classes: expected two or more different texts, found {', '.join(classes) or 'none'}")
        odd = texts[~texts.map(folded).isin(known)]
        if len(odd):
            raise UserError(
                f"{self._at(odd)}: expected one of {', '.join(classes)}, found {_counted(odd)}; if these mean missing "
                f"values, use --ignore-value {odd.iloc[0]!r}"
            )
        if len(classes) == 2:
            return {"task": "classification", "positive": classes[1], "negative": classes[0]}
        return {"task": "classification", "classes": classes}

    def _classes(self, texts: pd.Series, hint: str) -> UserError:
        """Return the error for a number of classes other than two; it locates the first row of the rarest."""
        rarest = Counter(texts).most_common()[-1][0]
        line = self.table[LINE][texts.index[texts == rarest][0]]
        return UserError(
            f"{self.where}: expected two classes, found {texts.nunique()}: {_counted(texts)}; {rarest!r} is on line "
            f"{line}{hint or '; remove the rows of the other classes, or merge classes'}"
        )


def _decimal(table: pd.DataFrame, column: str, texts: pd.Series, file: str, notes: list[str]) -> str:
    """Return the decimal mark of numbers with commas; ``""`` without. Raises UserError if it may be either."""
    _refuse_grouped(table, column, texts, file)
    commas = texts[texts.str.contains(r"^[^,]*\d*,\d", regex=True)]
    if commas.empty or not texts.str.fullmatch(r"[-+\u2212]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?\D{0,8}").mean() > 0.5:
        return ""
    bare = commas.str.extract(r"([-+\u2212\d.,eE]+)", expand=False)
    fits = {mark: bool(bare.map(lambda text, of=mark: bool(GROUPED[of].fullmatch(text))).all()) for mark in ",."}
    points = bool(texts.str.fullmatch(r"[-+\u2212]?\d*\.\d+([eE][-+]?\d+)?").any())
    where, lines = f"{file}: column {column!r}, line {table[LINE][commas.index[0]]}", table[LINE][texts.index]
    if fits[","] and points and not fits["."]:
        with_point = texts[texts.str.contains(".", regex=False)].iloc[0]
        raise UserError(
            f"{where}: {commas.iloc[0]!r} has a decimal comma, but {with_point!r} on line "
            f"{lines[texts == with_point].iloc[0]} a point: use one of them, or say --decimal ,"
        )
    if fits[","] and fits["."]:
        raise UserError(
            f"{where}: in {commas.iloc[0]!r}, the comma may be a decimal comma or stand between thousands: say "
            "--decimal , or --decimal ."
        )
    mark = "," if fits[","] else "." if fits["."] else ""
    if mark:
        read, other = spelled(bare.iloc[0], mark), "." if mark == "," else ","
        notes.append(f"{commas.iloc[0]!r} is read as {read} (--decimal {other} reads it otherwise)")
    return mark


def _refuse_grouped(table: pd.DataFrame, column: str, texts: pd.Series, file: str) -> None:
    """Raise UserError if all points in the texts of a column may stand between thousands: one where ``;`` separates the
    fields, else three, beside numbers without, of which one ends with a 0, as programs do not write decimals."""
    pointed = texts[texts.str.contains(".", regex=False)]
    thousands = pointed.str.fullmatch(rf"[-+\u2212]?[1-9]\d{{0,2}}(\.\d{{3}})+\s*({UNIT.pattern})?")
    elsewhere = 2 < len(pointed) < len(texts) and pointed.str.contains(r"0\b").any()
    enough = len(pointed) > 0 if table.attrs["separator"] == ";" else elsewhere
    if enough and thousands.all() and column not in table.attrs["native"]:
        raise UserError(
            f"{file}: column {column!r}, line {table[LINE][pointed.index[0]]}: in {pointed.iloc[0]!r}, the point may "
            "be a decimal point or stand between thousands: say --decimal . or --decimal ,"
        )


def _counted(texts: pd.Series) -> str:
    """Return the commonest texts with their numbers of rows."""
    counts = Counter(texts).most_common()
    return ", ".join(f"{text!r} ({count})" for text, count in counts[:5]) + (", …" if len(counts) > 5 else "")


def _opposite(one: str, other: str) -> bool:
    """Return whether two labels are each other's opposite, as active and inactive, or yes and no."""
    return any(
        a in [prefix + b for prefix in NEGATED] or (POSITIVE.fullmatch(a) and NEGATIVE.fullmatch(b))
        for a, b in permutations((folded(one), folded(other)))
    )


def _synonyms(one: str, other: str) -> bool:
    """Return whether two labels are a word and its beginning, as Yes and y, or a sign and a word, as 1 and TRUE."""
    short, long = sorted((folded(one), folded(other)), key=len)
    return (long.startswith(short) or not short.isalpha()) and any(
        kind.fullmatch(short) and kind.fullmatch(long) for kind in (POSITIVE, NEGATIVE)
    )


def _class_one(values: Sequence[str]) -> str:
    """Return class 1 of two texts: ``active`` of ``active, inactive``; else the affirmative one; else the last.

    What both say, and remarks in brackets, do not count if they hide it, as in ``high permeability (A)``.
    """
    one, other = (folded(value).partition("(")[0].split() for value in values)
    apart = [" ".join(word for word in a if word not in b and len(word) > 1) for a, b in ((one, other), (other, one))]
    for texts in (values, apart):
        if negated := [i for i in (0, 1) if any(folded(texts[1 - i]) == p + folded(texts[i]) for p in NEGATED)]:
            return values[negated[0]]
        affirmative = [i for i in (0, 1) if POSITIVE.fullmatch(texts[i]) or texts[i].endswith("+")]
        negative = [i for i in (0, 1) if NEGATIVE.fullmatch(texts[i]) or folded(texts[i]).startswith(("no ", "not "))]
        if len(affirmative) != 1 and len(negative) == 1:
            affirmative = [1 - negative[0]]
        if len(affirmative) == 1:
            return values[affirmative[0]]
    return values[-1]


def _present(texts: pd.Series) -> pd.Series:
    """Return the texts that stand for no missing value, without blanks around them."""
    there = texts.str.strip()
    return there[~there.isin(MISSING)]


def _is_relation(texts: pd.Series, name: str = "") -> bool:
    """Return whether a column holds relations of a value to the true one, such as = and >: all of its texts or, if its
    name or most of the texts say so, some."""
    there = _present(texts)
    known = there.map(lambda text: bool(RELATION.fullmatch(text))).astype(bool)
    signs = known & there.str.contains("[<>=≤≥]")
    return bool(known.any() and (known.all() or RELATIONS.search(name) or signs.mean() > 0.5))


def _is_unit(texts: pd.Series, name: str) -> bool:
    there = _present(texts)
    units = there.map(lambda text: bool(UNIT.fullmatch(text) or QUANTITY.fullmatch(re.sub(r"\s*\(.*\)$", "", text))))
    named = UNIT_COLUMN.search(name) and not there.map(is_number).any() and not there.map(part_of).notna().all()
    return len(there) > 0 and (bool(named) or bool(units.all()))


def _mixed_units(table: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return a line on each column of units, or of kinds of measurement, that holds several."""
    lines = []
    for name in columns:
        if _is_unit(table[name], name):
            counts = Counter(text.strip().replace("μ", "µ") for text in table[name] if text.strip() not in MISSING)
            if 1 < len({unit.replace("µ", "u") for unit in counts}) <= MOST_CATEGORIES:
                listed = ", ".join(f"{unit} ({number_of(n, 'row')})" for unit, n in counts.most_common(5))
                first = counts.most_common(1)[0][0]
                lines.append(
                    f"{name!r} differs: {listed}: not comparable: convert them or keep one with "
                    f'where = [["{name}", "{first}"]] in the TOML'
                )
    return lines


def _doubts_of_numbers(numbers: pd.Series, target: str, regression: bool) -> list[str]:
    """Return a line on a number that may mean a missing value, and, of a regression, on dates and on several orders of
    magnitude."""
    lines = []
    values = np.sort(numbers.unique())
    if regression and all(DATE.fullmatch(f"{value:.10g}") for value in values):
        lines.append(
            f"{target!r} may hold dates, such as {values[0]:.10g}, which are predicted as numbers: give another "
            "--target if that is not meant"
        )
    found = [*far(numbers.to_numpy())]
    lines += [f"{one.said('row')}: if it is a missing value, use --ignore-value {one.value:.10g}" for one in found]
    below = int((numbers == values[0]).sum())
    if below > 2 < len(values) and values[0] == -1 and values[1] >= 0 and -1 not in {one.value for one in found}:
        lines.append(f"-1 stands in {below} rows, below all others: if it means a missing value, use --ignore-value -1")
    least = values[values > 0][:1]
    if regression and not lines and values[0] >= 0 and len(least):
        decades = float(np.log10(values[-1] / least[0]))
        log = "--log10 predicts its logarithm, as is usual for concentrations"
        if values[0] == 0:
            log += f", but 0, in {number_of(below, 'row')}, has none: if it is a missing value, --ignore-value 0"
        if decades >= DECADES:
            lines.append(f"{target!r} spans {decades:.1f} orders of magnitude: {log}")
    return lines


def categories(table: pd.DataFrame, name: str, file: str) -> list[str]:
    """Return the different texts of a column in alphabetical order. Raises UserError for fewer than 2 or too many."""
    categories = sorted(set(_present(table[name])))
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        raise UserError(
            f"{file}: column {name!r}: expected 2 to {MOST_CATEGORIES} different texts for --one-hot, "
            f"found {len(categories)}"
        )
    return categories


def offers(file: Path, fields: dict[str, Any], targets: Sequence[str] = ()) -> list[str]:
    """Return what else the columns of a table could be used for: given splits, dates to split by, and groups.

    ``targets`` are those of other datasets of the table.
    """
    _, table = table_of(file, fields.get("sheet", ""))
    used = {*targets, fields["target"], fields.get("smiles"), fields.get("id"), fields.get("relation")}
    used |= {fields["split"].partition(":")[2].partition(":")[0], *(name for name, *_ in fields.get("one_hot", []))}
    lines = []
    for name in table.columns.drop(LINE):
        there = _present(table[name])
        if name in used or _is_relation(there) or RELATIONS.search(name) or _is_unit(there, name):
            continue
        if len(there) < 0.5 * len(table):
            continue
        words = {part_of(text) for text in there.unique()} if there.nunique() <= 5 else {None}
        numbers = pd.to_numeric(there, errors="coerce")
        if {"train"} < words <= {"train", "id", "ood", ""}:
            lines.append(
                f"{name!r} says which rows are for training and test: --split given:{name} takes them as they are"
            )
        elif _is_part(there, name) and {*there} == {"0", "1"}:
            lines.append(
                f"{name!r} holds 0 and 1: --split fold:{name} tests on the rows with 1, fold:{name}:0 on those with 0"
            )
        elif re.search(r"fold|split", name, re.I) and there.nunique() <= 20 and there.str.fullmatch(r"\D*\d+").all():
            lines.append(
                f"{name!r} holds numbers of folds: --split fold:{name} tests on the last, fold:{name}:0 on fold 0"
            )
        elif YEARS.search(name) and there.str.fullmatch(r"(19[5-9]|20[0-3])\d").all():
            lines.append(f"{name!r} holds years: --split time:{name} tests on the latest fifth of the rows")
        elif dates := _dates(there):
            split = f"--split time:{name} tests on the latest fifth of the rows"
            lines.append(f"{name!r} holds dates: {split if dates == 'clear' else AMBIGUOUS}")
        elif (
            (numbers.isna().all() or GROUPS.search(name))
            and 2 <= there.nunique() <= len(there) / 2
            and name not in table.attrs["repeated"]
        ):
            kind = "texts" if numbers.isna().all() else "numbers"
            line = f"{name!r} has {there.nunique()} different {kind}: --split group:{name} keeps each together"
            told = table.groupby(name)[fields["target"]].nunique().max() == 1  # so they may be made from the target
            if there.nunique() <= MOST_CATEGORIES and not told and kind == "texts":
                line += f"; --one-hot {name} makes them features"
            lines.append(line)
    return lines


def _dates(texts: pd.Series) -> str:
    """Return ``clear`` or ``ambiguous`` if all texts are dates; numbers are none, as they may be anything."""
    numbers = texts.str.replace(",", ".", n=1, regex=False).str.fullmatch(rf"\s*{NUMBER}\s*")
    if texts.nunique() < 3 or not texts.str.contains(r"\d").all() or numbers.any():
        return ""
    if texts.str.fullmatch(r"\D*\d+").mean() == 1 and texts.str.replace(r"\d", "", regex=True).nunique() == 1:
        return ""  # names with a number, such as E-0123
    try:
        moments(texts.iloc[:SAMPLE].tolist())
    except UserError as error:
        return "ambiguous" if " could be " in str(error) else ""
    return "clear"


def _given_away(table: pd.DataFrame, names: list[str], y: pd.Series, decimal: str) -> list[str]:
    """Return the columns of numbers that order rows by their targets ``y``, as a copy does, or the number that was
    cut."""
    numeric = pd.api.types.is_numeric_dtype(y)
    target = y if numeric else pd.Series(pd.factorize(y)[0], y.index)
    if not numeric and target.nunique() > 2:
        return []
    for rows in (y.index[:SAMPLE], y.index):  # of thousands of columns, few are left
        texts = table.loc[rows, names].map(lambda text: spelled(text, decimal)) if decimal else table.loc[rows, names]
        numbers, _ = features.numbers_in(texts)
        pairs = [(own, target[rows].to_numpy()) for own in numbers.T]
        names = [name for name, pair in zip(names, pairs, strict=True) if _orders(*pair, whole=len(rows) == len(y))]
    return names


def _orders(x: np.ndarray, y: np.ndarray, whole: bool) -> bool:
    """Return whether y rises, or falls, with x but for a hundredth, and rows with the same x have the same y; if these
    are the ``whole`` columns, too, whether that is no chance."""
    x, y = x[~np.isnan(x)], y[~np.isnan(x)]
    order, counts = np.argsort(x, kind="stable"), np.unique(y, return_counts=True)[1]
    same, steps = np.diff(x[order]) == 0, np.diff(y[order])
    if whole and (len(y) < FEWEST_TOLD or len(counts) < 2 or (len(counts) == 2 and counts.min() < FEWEST_OF_RARER)):
        return False
    if not steps[same].any() and bool((steps >= 0).all() or (steps <= 0).all()):
        return True
    ranks, own = (pd.Series(of).rank().to_numpy() for of in (x, y))  # a number that was rounded, or a row apart
    if not (np.ptp(ranks) and np.ptp(own)):
        return False
    most = np.corrcoef(np.arange(len(own)), np.sort(own))[0, 1]
    return bool(abs(np.corrcoef(ranks, own)[0, 1]) > ALIKE * most)


def _names(table: pd.DataFrame, columns: Sequence[str], used: set[str]) -> str:
    """Return the first column that is called like a name or an id and has another text in each row; else ``""``."""
    for name in columns:
        texts = table[name].str.strip()
        if name not in used and NAMES.search(name) and texts.is_unique and not texts.isin(MISSING).any():
            return name
    return ""


def _smiles_share(texts: pd.Series) -> float:
    """Return the share of texts that are SMILES of three or more atoms, in a sample."""
    there = _present(texts).drop_duplicates()
    there = there[there.str.len() < 5000].iloc[:SAMPLE]
    with rdBase.BlockLogs():  # of a reaction, the products
        found = [
            Chem.MolFromSmiles(text.split(">")[-1]) for text in there if not re.fullmatch(r"[A-Za-z]?[\d.,-]*", text)
        ]
    return sum(m is not None and m.GetNumAtoms() > 2 for m in found) / max(len(there), 1)


def refuse_headless(columns: Sequence[str], file: str) -> None:
    """Raise UserError if a name of a column is a SMILES, as in a table without a header."""
    for name in columns:
        if _smiles_share(pd.Series([name])):
            raise UserError(
                f"{file}: the first row should have the names of the columns, but {name[:60]!r} seems to be a "
                "molecule: put a header above it, such as SMILES,y"
            )


def smiles_column(table: pd.DataFrame, columns: Sequence[str], file: str, notes: list[str], remedy: str) -> str:
    """Return the column of SMILES, by its name or else by its content; ``""`` if there is none.

    Raises UserError, with the ``remedy``, if it may be several or the one that is named so holds none, and if its name
    is a SMILES, too.
    """
    named = [name for name in columns if "smiles" in name.lower()]
    exact = [name for name in named if name.lower() == "smiles"]
    one = next((of[0] for of in (exact, named) if len(of) == 1), "")
    if one and _smiles_share(table[one]) > 0:
        return one
    shares = {name: _smiles_share(table[name]) for name in columns}
    candidates = [name for name in named or columns if shares[name] > 0.6]
    other = [name for name in columns if shares[name] > 0.6 and name not in named]
    if len(candidates) > 1 or (named and not candidates and (other or not one)):
        listed = candidates or [*named, *other]
        raise UserError(f"{file}: several columns may hold the SMILES: {', '.join(listed)}; {remedy}")
    for name in columns if not candidates else ():
        for kind, mark in (("InChI", "^InChI="), ("molfiles", "M  END")):
            if table[name].str.contains(mark).mean() > 0.5:
                raise UserError(f"{file}: column {name!r} holds {kind}, which is not supported: add a column of SMILES")
    refuse_headless(candidates, file)
    if "" in candidates:
        raise UserError(f"{file}: the column of SMILES has no name: write SMILES above it")
    if candidates:
        notes.append(f"the SMILES are in {candidates[0]!r}, by its content")
    return next(iter(candidates), one)


def _refuse_reactions(table: pd.DataFrame, smiles: str, file: str) -> None:
    texts = table[smiles].str.strip()
    reactions = texts.str.fullmatch(r"[^>\s|]*>[^>]*>[^>\s]*(\s+\|.*\|)?")
    if reactions.sum() > 0.5 * (texts != "").sum():
        raise UserError(
            f"{file}: column {smiles!r}, line {table[LINE][reactions].iloc[0]}: {texts[reactions].iloc[0][:60]!r} is a "
            "reaction, and reactions are not supported: make a column of molecules, such as the products, and name it "
            "with --smiles"
        )


def _id_column(table: pd.DataFrame, columns: Sequence[str], target: str, texts: Iterable[str]) -> str:
    """Return the first column of texts, or else of whole numbers under a name that says so, that names each row."""
    for name in columns:
        if name != target and name in texts and table[name].is_unique:
            if not name:
                raise UserError("the column that names the rows has no name: write one above it, such as id")
            return name
    if (name := _names(table, columns, {target})) and table[name].str.fullmatch(r"\s*\d+\s*").all():
        return name
    raise UserError(
        "no column holds SMILES, and none holds a unique name for each row: choose --smiles or --id among "
        + ", ".join(filter(None, columns))
        + ", or add a column of names"
    )


def _is_row_number(texts: pd.Series, name: str) -> bool:
    """Return whether a column counts the rows, from 0, 1 or, if it is called so, any number."""
    start = texts.iloc[0] if len(texts) > 2 else ""
    if not re.fullmatch("[01]" if name.lower() not in ("", "index", "row") else r"\d{1,9}", start):
        return False
    return texts.tolist() == [str(i) for i in range(int(start), int(start) + len(texts))]


def _not_numbers(
    table: pd.DataFrame, columns: Sequence[str], mark: str
) -> tuple[dict[str, str], dict[str, np.ndarray]]:
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
