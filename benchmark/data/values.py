"""Texts of a table as its dataset reads them: numbers, missing values, bounds, selected rows, a target a molecule."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from benchmark.data.checks.missing import folded
from benchmark.data.features import own_columns
from benchmark.data.readers import LINE, MISSING
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError

NUMBER = r"[-+\u2212]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
GROUPED = {
    ",": re.compile(r"[-+\u2212]?(?:\d{1,3}(?:\.\d{3})+|\d*)(?:,\d*)?(?:[eE][-+]?\d+)?"),
    ".": re.compile(r"[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?"),
}
"""Numbers with the decimal mark that is the key, perhaps with the other one between thousands."""
LESS = r"[=~≈]?[<\uff1c]|[≤\u2266\u2a7d\u226a]|l[te]e?\b|less"
GREATER = r"[=~≈]?[>\uff1e]|[≥\u2267\u2a7e\u226b]|g[te]e?\b|greater"
RELATION = re.compile(
    rf"'?(?:(?P<less>{LESS})|(?P<greater>{GREATER})|[=~≈]|eq\b|equals?|exact)"
    r"(?: than)?(?: or)?(?: equals?)?(?: to)?[<>=~≈]?'?",
    re.IGNORECASE,
)
"""A relation, in words or as in ``>= 10``, or alone in ChEMBL's spelling, ``'>='``."""


MICRO = str.maketrans("\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}", "uu")
"""What stands for the micro of units, as it is also typed."""


def spelled(text: str, decimal: str = "", suffix: str = "") -> str:
    """Return a number as Python writes it, without a suffix such as %; any other text as it is.

    >>> spelled("1.234,5 %", ",", "%"), spelled("95", suffix="%"), spelled("\u22127,5")
    ('1234.5', '95', '\u22127,5')
    """
    plain = text.strip()
    if suffix:
        plain = plain.translate(MICRO).removesuffix(suffix.translate(MICRO)).rstrip()
    if decimal and GROUPED[decimal].fullmatch(plain) and re.search(r"\d", plain):
        plain = plain.replace("." if decimal == "," else ",", "").replace(",", ".")
    plain = plain.replace("\u2212", "-")
    return plain if re.fullmatch(NUMBER, plain) else text


def mark(text: str, decimal: str) -> str:
    """Return how a number goes with the decimal mark ``decimal``; ``""`` if it has no mark, or is no number.

    ``own`` has it, ``other`` must have the other one, of ``either`` the mark may be a decimal mark or stand between
    thousands, and in ``thousands`` it does stand between these.

    >>> [mark(text, ",") for text in ("1,5", "1.5", "1.234", "1.234,5", "7", "x")]
    ['own', 'other', 'either', 'thousands', '', '']
    """
    other = "." if decimal == "," else ","
    if not GROUPED[decimal].fullmatch(text):
        return "other" if other in text and GROUPED[other].fullmatch(text) else ""
    if other not in text:
        return "own" if decimal in text else ""
    return "thousands" if decimal in text or text.count(other) > 1 else "either"


def marks(table: pd.DataFrame, names: Sequence[str], decimal: str, suffix: str = "") -> pd.DataFrame:
    """Return ``column``, ``line``, ``text`` and ``mark`` of the numbers with marks in some columns of a table of text.

    Numbers that the file holds as such have none.
    """
    found = [
        (name, line, text, kind)
        for name in names
        if name not in table.attrs.get("native", ())
        for line, text in zip(table.get(LINE, range(1, len(table) + 1)), table[name], strict=True)
        if isinstance(text, str) and (kind := mark(related(text)[1].removesuffix(suffix).rstrip(), decimal))
    ]
    return pd.DataFrame(found, columns=["column", "line", "text", "mark"])


def refuse_other_mark(table: pd.DataFrame, names: Sequence[str], spec: DatasetSpec, file: str) -> None:
    """Raise UserError if numbers of a table seem to have another decimal mark than ``spec``, a dataset's, says."""
    if not spec.decimal:
        return
    found = marks(table, names, spec.decimal, spec.suffix)
    wrong = found[found["mark"] == "other"]
    if not found["mark"].isin(["own", "thousands"]).any():
        wrong = found
    if len(wrong):
        column, line, text, _ = wrong.iloc[0]
        theirs, ours = ("point", "commas") if spec.decimal == "," else ("comma", "points")
        raise UserError(
            f"{file}: column {column!r}, line {line}: {text!r} seems to have a decimal {theirs}, but the numbers of "
            f"{spec.name} have decimal {ours}: write them so, without marks between thousands"
        )


def related(text: str) -> tuple[str, str]:
    """Return the relation before a number, ``""`` for none and for equality, and the rest.

    >>> related(">= 10"), related("=5"), related("'<'"), related("<unknown>")
    (('>', '10'), ('', '5'), ('<', ''), ('', '<unknown>'))
    """
    text = text.strip()
    found = RELATION.match(text)
    rest = text[found.end() :].lstrip() if found else text
    if found is None or (rest and not re.match(r"[-+\u2212.,]?\d", rest)):
        return "", text
    return ("<" if found["less"] else ">" if found["greater"] else ""), rest


def is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text.strip()) is not None


def is_missing(texts: pd.Series, words: tuple[str, ...], kept: Collection[str] = ()) -> pd.Series:
    """Return which texts (N,) stand for a missing value: those of every table, and ``words``, whatever their capitals.

    Those of every table are none where they are ``kept``, as names of classes are. Words that are numbers stand for all
    spellings of these, as -999 does for -999.0.
    """
    missing = texts.str.strip().isin(MISSING)
    if kept and missing.any():
        missing &= ~texts.map(folded).isin({folded(name) for name in kept})
    if words:
        missing |= texts.map(folded).isin({folded(word) for word in words})
        numbers = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").dropna()
        missing |= pd.to_numeric(texts, errors="coerce").isin(numbers) & bool(len(numbers))
    return missing


def legible(raw: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Return a table with plain numbers, without relations and empty where a value is missing, as the spec reads it.

    It changes the target, also where its minus is the typographic one, and, where they are features, the columns of
    numbers, in which a number that stands for a missing target, such as 0, is itself. Raises UserError for a column in
    which one mark would have both meanings.
    """
    minus = raw[spec.target].str.contains("\u2212", regex=False).any()
    if not (spec.missing or spec.decimal or spec.suffix or spec.bounds or minus):
        return raw
    names = [spec.target]
    if "columns" in spec.features:
        names.extend(own_columns(raw, spec).columns)
    changed = {}
    words = tuple(word for word in spec.missing if not is_number(word))
    for name in names:
        texts = raw[name]
        if spec.bounds and name == spec.target:
            texts = texts.map(lambda text: related(text)[1])
        decimal = "" if name in raw.attrs.get("native", ()) else spec.decimal
        if decimal:
            _refuse_both(texts, raw[LINE], name, spec)
        if decimal or spec.suffix or minus:
            texts = texts.map(
                lambda text, of=name, mark=decimal: spelled(text, mark, spec.suffix if of == spec.target else "")
            )
        missing = is_missing(texts, words)
        if name == spec.target:  # in which a number may be ignored as it is read, -999, or as it is written, -999,0
            missing = is_missing(texts, spec.missing, spec.class_names) | is_missing(raw[name], words, spec.class_names)
        changed[name] = texts.mask(missing, "")
    return raw.assign(**changed)


def _refuse_both(texts: pd.Series, lines: pd.Series, name: str, spec: DatasetSpec) -> None:
    """Raise UserError if 9.062 would be read as 9062, and 6.31 in the same column as it is, or the same with commas."""
    kinds = texts.map(lambda text: mark(text.strip().removesuffix(spec.suffix).rstrip(), spec.decimal))
    if (kinds == "either").any() and (kinds == "other").any():
        row = kinds[kinds == "other"].index[0]
        one, other = ("comma", "point") if spec.decimal == "," else ("point", "comma")
        raise UserError(
            f"{spec.name}: column {name!r}, line {lines[row]}: {texts[row]!r} has a decimal {other}, but the decimal "
            f"mark of the dataset is a {one}: correct the number, or the mark (--decimal, or 'decimal' in the TOML)"
        )


def undecided(raw: pd.DataFrame, numbers: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    """Return a mask (N,) of the rows to leave out because their target is a bound (>10) and not a value.

    A bound beyond the cut of a classification, which is of the logarithm if the spec takes it, decides the class.
    ``numbers`` is the table as ``legible`` returns it.
    """
    if spec.bounds != "exclude":
        return np.zeros(len(raw), dtype=bool)
    marks = relations(raw, spec.target, spec.relation, spec.name).map(lambda text: related(text)[0])
    bound = marks.isin(["<", ">"])
    if spec.cut and spec.cut != "median":
        value = pd.to_numeric(numbers[spec.target], errors="coerce")
        if spec.log10:
            value = np.log10(value.where(value > 0))
        cut = float(spec.cut)
        below = (value < cut) | ((value == cut) & _strictly_less(raw, spec))
        bound &= ~(((marks == ">") & (value >= cut)) | ((marks == "<") & below))
    return bound.to_numpy(dtype=bool)


def relations(raw: pd.DataFrame, target: str, column: str, where: str) -> pd.Series:
    """Return texts (N,) that say which targets are bounds: those with a mark of their own, others in ``column``.

    Raises UserError, with the line and ``where``, for a text in ``column`` that is no relation, beside a number.
    """
    if not column:
        return raw[target]
    known = raw[column].map(lambda text: text.strip() in MISSING or bool(RELATION.fullmatch(text.strip())))
    odd = raw[~known & raw[target].str.contains(r"\d")]
    if len(odd):
        raise UserError(
            f"{where}: column {column!r}, line {odd[LINE].iloc[0]}: {odd[column].iloc[0]!r} is no relation: write = or "
            "nothing for a value, < or > for a bound, ~ for an approximate value"
        )
    return raw[column].where(raw[target].map(lambda text: related(text)[0]) == "", raw[target])


def below_cut(raw: pd.DataFrame, text: pd.Series, spec: DatasetSpec) -> pd.Series:
    """Return targets (N,) in which <5 is a number below 5, where 5 is the cut: the number 5 is in class 1."""
    if spec.bounds != "exclude" or spec.cut in ("", "median"):
        return text
    at = (pd.to_numeric(text, errors="coerce") == float(spec.cut)) & _strictly_less(raw, spec)
    return text.mask(at, repr(float(np.nextafter(float(spec.cut), -np.inf))))


def _strictly_less(raw: pd.DataFrame, spec: DatasetSpec) -> pd.Series:
    texts = relations(raw, spec.target, spec.relation, spec.name)
    less = texts.map(lambda text: related(text)[0]) == "<"
    return less & ~texts.str.contains(r"[=≤\u2266\u2a7d]|\bl[te]?e\b|equal", case=False)


def excluded(raw: pd.DataFrame, spec: DatasetSpec) -> np.ndarray:
    """Return a mask (N,) of the rows whose text in a column of ``where`` is not one of those listed after it."""
    out = np.zeros(len(raw), dtype=bool)
    for column, *texts in spec.where:
        out |= ~raw[column].str.strip().isin(texts).to_numpy()
    return out


def scaled(raw: pd.DataFrame, rows: np.ndarray, spec: DatasetSpec) -> tuple[pd.Series, np.ndarray]:
    """Return the targets (N,) as text, as logarithms if the spec says so, and a mask (N,) of those outside ``limits``.

    ``rows`` (N,) marks the rows with a target. Raises UserError with the line of one that is no number, or that has no
    logarithm.
    """
    text = raw[spec.target].str.strip()
    if not (spec.limits or spec.log10):
        return text, np.zeros(len(raw), dtype=bool)
    numbers = _numbers(text, raw, rows, spec, "a number")
    low, high = spec.limits or (-np.inf, np.inf)
    inside = rows & (low <= numbers) & (numbers <= high)
    if spec.log10:
        numbers = np.log10(_numbers(text, raw, inside, spec, "a number above 0, for a logarithm", above=0.0))
    return text.mask(inside, [repr(float(n)) for n in numbers]), rows & ~inside


def merged(text: pd.Series, keys: pd.Series, rows: np.ndarray, raw: pd.DataFrame, spec: DatasetSpec) -> pd.DataFrame:
    """Return ``target``, one for each molecule by the rule ``merge`` of the spec, and ``merged``, the rows without one.

    ``keys`` (N,) tell molecules apart, ``rows`` (N,) marks those with a target. A molecule's target stands in its first
    row. It is the mean; or the majority's, and none if two lead; or, by ``drop``, the one that all its rows have, of
    those that ``meant`` tells apart. Raises UserError with the line of a target without which there is no mean.
    """
    out = np.zeros(len(text), dtype=bool)
    if not spec.merge:
        return pd.DataFrame({"target": text, "merged": out})
    targets = text.to_numpy(dtype=object).copy()
    if spec.merge == "mean":
        numbers = _numbers(text, raw, rows, spec, "a number, for a mean")
    meanings = meant(text, spec).to_numpy(dtype=object)
    for places in pd.Series(np.flatnonzero(rows)).groupby(keys.to_numpy()[rows], sort=False):
        of = places[1].to_numpy()
        if len(of) == 1:
            continue
        out[of[1:]] = True
        if spec.merge == "mean":
            targets[of[0]] = repr(float(numbers[of].mean()))
            continue
        (leading, most), *others = Counter(meanings[of]).most_common()
        if others and (spec.merge == "drop" or others[0][1] == most):
            out[of] = True
        targets[of[0]] = targets[of[meanings[of] == leading][0]]
    return pd.DataFrame({"target": targets, "merged": out}, index=text.index)


def meant(text: pd.Series, spec: DatasetSpec) -> pd.Series:
    """Return what a model learns of targets (N,), equal for equal ones however they are written.

    It is the side of the cut, the number, or the name of the class without capitals and blanks. The median is no cut
    here: it is known when all rows are.
    """
    numbers = pd.to_numeric(text, errors="coerce").astype(float)
    values = numbers if spec.cut in ("", "median") else numbers >= float(spec.cut)
    return values.astype(object).where(np.isfinite(numbers), text.map(folded))


def _numbers(
    text: pd.Series, raw: pd.DataFrame, rows: np.ndarray, spec: DatasetSpec, expected: str, above: float = -np.inf
) -> np.ndarray:
    """Return targets as numbers (N,), NaN outside ``rows``. Raises UserError for one that is not above ``above``."""
    numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    wrong = rows & ~(np.isfinite(numbers) & (numbers > above))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UserError(
            f"{spec.name}: column {spec.target!r}, line {raw[LINE].iloc[row]}: expected {expected}, found "
            f"{text.iloc[row]!r}; if it means a missing value, use --ignore-value {text.iloc[row]!r}"
        )
    numbers[~rows] = np.nan
    return numbers
