"""The roles of the columns in tables of predictions: by their names, and checked by what they contain.

The names are those that chemprop, scikit-learn, XGBoost, LightGBM, CatBoost, AutoGluon, DeepChem, H2O and MLflow write.
Where names and contents allow two readings, the user is asked.
"""

import csv
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmark.data.checks.missing import MISSING_WORDS, TOTAL, between_thousands, folded
from benchmark.errors import UserError, number_of
from leaderboard.scoring.files import NUMBER, Column, Table, number
from leaderboard.scoring.runs import LARGEST

EXAMPLE = (
    *("example_id", "id", "ids", "example", "molecule_id", "mol_id", "compound_id", "sampleid"),
    *("drug_id", "smiles", "smi", "drug"),  # TDC calls ids and SMILES Drug_ID and Drug
)
HEADINGS = ("compound id", "molecule id", "molecule chembl id", "molecule name", "compound name")
"""Headings of spreadsheets for ids, where the column above is none or repeats."""
INDEX = ("", "unnamed: 0", "__index_level_0__", "index", "row")
"""Names of the index that pandas writes."""
RUN = ("run", "run_id", "train_seed", "seed", "model", "retraining", "replicate", "bootstrap")
OTHER = ("evalset", "split", "dataset", "canonical_seed")
"""Columns that hold no predictions and must have a single value."""
TRAINED = frozenset(("train", "Train", "TRAIN", "training", "Training", "TRAINING"))
"""What a column of words, of any name, says of rows whose predictions are no test of a model."""
TASKS, MODELS = ("task", "endpoint", "property", "target_name"), ("model", "learner", "method", "algorithm")
"""Columns of words that must have a single one, unless those of ``MODELS`` tell the runs apart."""
ROLES: Mapping[str, frozenset[str]] = {
    role: frozenset(known.split("|"))
    for role, known in {
        "summary": "mean|avg|average|median|std|sd|stdev|var|variance|sem|unc|uncertainty|confidence|entropy|min|max"
        "|lower|upper|lwr|upr|count|votes|rank|time|runtime|stability|spread|reason|residual|error|correct|incorrect",
        "about": "fold|group|cluster|weight|scaffold|index|row|mw|logp|tpsa",
        "logit": "logit|logits|margin|rawformulaval",
        "probability": "prob|probs|proba|probability|probabilities",
        "predicted": "pred|preds|predict|prediction|predictions|predicted|output|outputs|yhat|hat",
        "truth": "true|truth|target|targets|actual|observed|obs|measured|experimental",
    }.items()
}
"""Words in the names of columns; the first role with such a word counts."""
SAMPLES = ("rep", "replicate", "repeat", "retraining", "bootstrap", "member", "fold", "r")
REPEATS = frozenset(("run", "runs", "seed", "seeds", "model", "models", *SAMPLES))
"""Words that number retrainings."""
PREDICTS = ROLES["predicted"] - {"output", "outputs"}
QUANTITIES = ROLES["about"] | {"confidence", "entropy", "rank", "time", "runtime", "stability", "residual", "error"}
"""Words for what a model may predict, as in ``logp_pred`` and ``fold0_pred``, while ``pred_std`` is no prediction."""
DESCRIPTORS = frozenset(("mw", "logp", "tpsa"))
AVERAGES = DESCRIPTORS | {"mean", "avg", "average", "median", "votes"}
"""Words of other roles in names of columns that may be predictions after all, if nothing else is."""
SUMMARIES = ROLES["summary"] | {"ensemble", "consensus", "all", "pooled"}
"""Words that in a column of runs name no run."""
SPELLED = PREDICTS | ROLES["probability"] | {"run", "runs", "seed", "seeds", "model", "models"}
"""Words that no column of true values has in its name."""
VERBS = frozenset(["y", "class", "label", "value", "values"]).union(
    REPEATS, *(ROLES[role] for role in ("probability", "predicted", "truth", "logit"))
)
"""Words that do not say what is predicted."""
EITHER = ("label", "labels", "class")
"""Names that may mean the predicted or the true class."""
NEGATIVE = frozenset(["inactive", "inactives", "negative", "neg", "nontoxic", "nonbinder", "decoy", "non", "not"])
"""Words that name the first of two classes; so do ``no``, ``false``, ``0`` and a minus at the end of a name."""
CLOSE = 0.0101
"""The most that two probabilities may be off a sum of one, as if rounded to two decimals; of more, half for each."""
NUMERIC = re.compile(r"((tensor|array|np\.float\d\d)\()?\W*\d(?!\d{1,3}-\d)")
"""The beginning of a text that has a number, as ``0,49``, ``[0.49]``, ``tensor(0.49)`` and ``<0.49 (0.1)``, but not of
a date."""
MARKED = re.compile(
    r"[-+]?\d*[.,]?\d+\s*(%|[mnpuµμ]M|(±|\+/-).*)|[-+]?\d*,\d+(\.\d+)?|[-+]?\d{1,3}([., ']\d{3})+([.,]\d+)?"
    r"|\[[-+]?\d*[.,]?\d+\]|[\u2212\u2013]\d*[.,]?\d+"
)
"""A number with a percent sign, a molar unit, an error, a decimal comma, marks between thousands, brackets or a dash in
place of its minus."""
LETTERS = r"[^\W\d_]"
ELEMENTS = {"na", "nd"}
"""Words for what is missing that are symbols of elements, too, if their second letter is small."""
UNITS = frozenset(re.split(r"\|", "molar|percent|log|ln|pm|nm|um|\u00b5m|\u03bcm|mm|mg|ug|\u00b5g|\u03bcg|ng|kcal|kj"))
"""Units, and scales, in names of columns and beside true values; a micro sign has two codes."""
FEW = 20
"""The most whole numbers that are classes and not counts, unless the user says so."""


@dataclass(frozen=True)
class Options:
    """The options for reading tables of predictions; where one is empty, names and contents decide.

    ``runs`` are columns, each a run; ``probabilities`` and ``logits`` are columns of one run, in the order of the
    classes, or the column of the second of two. ``classes`` are the classes in their order, ``truth`` a table of true
    values. ``task`` is the column of one task among several. With ``common``, examples that are not in all tables are
    left out.
    """

    kind: str = ""
    truth: Path | None = None
    truth_column: str = ""
    runs: tuple[str, ...] = ()
    probabilities: tuple[str, ...] = ()
    logits: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    task: str = ""
    common: bool = False


@dataclass(frozen=True)
class Grid:
    """The runs and examples of a table, and the row of each example in each run, ``at`` (R, T)."""

    example: str | None
    """None where the order of the rows identifies examples."""
    run: str
    runs: tuple[str, ...]
    ids: np.ndarray
    at: np.ndarray


@dataclass(frozen=True)
class Roles:
    """The columns of predictions: ``wide`` if each is a run, otherwise one, or one for each of ``classes``."""

    predicted: tuple[str, ...]
    truth: str = ""
    wide: bool = False
    classes: tuple[str, ...] = ()
    kind: str = ""
    """The kind of prediction, as far as the names of the columns say it."""


@dataclass
class Part:
    """A table, the rows of its examples, the roles of its columns, and its true values (T,) with where they are."""

    table: Table
    grid: Grid
    role: Roles
    truth: np.ndarray | None = None
    place: str = ""


def words(name: str) -> list[str]:
    """Return the words and numbers in the name of a column, of any script, in lower case."""
    return re.findall(rf"{LETTERS}+|\d+", name.lower())


def typed(names: Iterable[str]) -> str:
    """Return the value of an option that names columns or classes, as a shell and ``names_in`` read it.

    >>> print(typed(["p0", "p (active, 1)"]))
    'p0,"p (active, 1)"'
    """
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return shlex.quote(line.getvalue())


def names_in(text: str) -> tuple[str, ...]:
    """Return the names between commas; one that has a comma stands in quotes.

    >>> names_in('p0, "p (active, 1)",')
    ('p0', 'p (active, 1)')
    """
    rows = csv.reader(text.splitlines(keepends=True), skipinitialspace=True)
    return tuple(name.strip() for row in rows for name in row if name.strip())


def role_of(name: str) -> str:
    """Return the role that a name spells: a key of ``ROLES``, ``either``, or nothing."""
    lower = name.lower()
    if lower in EITHER:
        return "either"
    if lower in ("y", "y_true"):
        return "truth"
    if re.match(r"p[\W_]?(vals?|values?)(?![^\W_])", lower):
        return "summary"  # of a test, or of a conformal prediction
    if re.fullmatch(r"p(\d|[_ ]\D.*)?", lower):  # p1 and p_active, but neither pIC50 nor p53_pred
        return "probability"
    spelled = [word for word in words(name) if not word.isdigit()]
    if len(spelled) == 2 and spelled[0] in QUANTITIES and spelled[1] in PREDICTS:
        return "predicted"
    role = next((role for role, known in ROLES.items() if not known.isdisjoint(words(name))), "")
    of_run = role == "about" and REPEATS & {*spelled} and ROLES["about"] & {*spelled} <= DESCRIPTORS
    return "" if of_run else role  # no descriptor is of a run


def stem(name: str) -> tuple[str, ...]:
    """Return the words of a name that say what is predicted, such as those of a task, or a time as in ``pred_24h``.

    The class in a name such as KNIME's ``P (active=1)`` does not.
    """
    kept, last = [], ""
    verbs = VERBS | {"p"} if role_of(name) == "probability" else VERBS
    for word, unit in re.findall(rf"({LETTERS}+|\d+(?=({LETTERS}*)))", name.lower().partition("=")[0]):
        counts = word.isdigit() and (last in verbs or not last) and (not unit or unit in verbs)
        if not (word in verbs or counts):
            kept.append(word)
        last = word
    return tuple(kept)


def begins_with_numbers(column: Column) -> bool:
    """Return whether most of the different texts of a column begin with a number."""
    texts = column.encoded[1]
    return 2 * sum(bool(NUMERIC.match(text)) for text in texts) > len(texts)


def check_grouped(table: Table, what: str, texts: Sequence[str]) -> None:
    """Raise UserError for numbers whose points seem to stand between thousands."""
    if found := between_thousands(texts):
        raise UserError(
            f"{table.name}: {what}: in {found!r}, the point may be a decimal point or stand between thousands: write "
            f"{found.replace('.', '')} or {found}0, and all others alike"
        )


def negative(name: str) -> bool:
    """Return whether the name of a probability names the first of two classes, as ``prob_inactive`` and ``p0`` do."""
    *before, last = words(name) or [""]
    counted = last == "0" and bool(before) and before[-1] in {"p", "class", *ROLES["probability"]}
    ends = last in ("no", "nein", "false", "falsch", "faux") or name.endswith("-")
    return not NEGATIVE.isdisjoint(words(name)) or ends or counted


def numbered(names: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Group names that differ in one number alone, by what is left and right of it, in the order of the number."""
    groups: dict[tuple[str, str], dict[int, str]] = {}
    for name in names:
        for match in re.finditer(r"\d{1,99}", name):
            key = name[: match.start()].lower(), name[match.end() :].lower()
            groups.setdefault(key, {})[int(match.group())] = name
    return {key: [group[i] for i in sorted(group)] for key, group in groups.items() if len(group) > 1}


def example_of(tables: Sequence[Table], outside: Table | None) -> list[str | None]:
    """Return the column of ids in each table: by name, or else the only column of texts that are all different.

    None where the order of the rows identifies examples. Raises UserError if there is none.
    """
    lower = [{name.lower(): name for name in table.columns} for table in tables]
    also = {name.lower() for name in outside.columns} if outside else set(EXAMPLE)
    shared = [name for name in EXAMPLE if all(name in names for names in lower)]
    shared.sort(key=lambda name: name not in also)
    chosen: list[str | None] = []
    for table, names in zip(tables, lower, strict=True):
        known = [names[name] for name in (*shared, *EXAMPLE) if name in names]
        texts = [name for name, column in table.columns.items() if column.text and distinct(column)]
        index = [names[name] for name in INDEX if name in names and distinct(table.columns[names[name]])]
        chosen.append(next(iter([*known, *(texts if len(texts) == 1 else index)]), None))
    whole = [name is not None and distinct(table.columns[name]) for table, name in zip(tables, chosen, strict=True)]
    for heading in HEADINGS if not all(whole) else ():  # such as of a salt or a stereoisomer, whose SMILES repeats
        spaced = [{re.sub(r"[\s_-]+", " ", name.lower()): name for name in table.columns} for table in tables]
        named = [names.get(heading, "") for names in spaced]
        if all(name and distinct(table.columns[name]) for table, name in zip(tables, named, strict=True)):
            return [*named]
    for table, name in zip(tables, chosen, strict=True):
        if name is None and not table.ordered:
            raise UserError(
                f"{table.name}: no column of example ids: expected {', '.join(EXAMPLE)}, found "
                f"{', '.join(map(repr, table.columns))}: name one of them example_id"
            )
        if name is not None and name.lower() not in (*EXAMPLE, *INDEX):
            for other, column in table.columns.items():
                if other in column.encoded[1]:
                    raise UserError(
                        f"{table.name}: the column {other!r} has {other!r} among its rows, too, as if the line of "
                        "names of columns were missing: add it, such as example_id,y_true,p1, or if it is there, "
                        f"rename {name!r} to example_id"
                    )
    return chosen


def distinct(column: Column) -> bool:
    """Return whether a column has another text in each row, as the names of examples do."""
    codes, _ = column.encoded
    return bool((codes >= 0).all()) and len(np.unique(codes)) == len(codes)


def grid_of(table: Table, example: str | None, common: bool) -> Grid:
    """Find the row of each example in each run, −1 where a run lacks it.

    Raises UserError for one that is empty or there twice or, unless ``common``, missing.
    """
    named = [name for known in RUN for name in table.columns if name.lower() == known]
    if example is not None and not distinct(table.columns[example]):  # as a seed beside run, which names the experiment
        named.sort(key=lambda name: len(table.columns[name].encoded[1]) < 2)
    run = next(iter(named), "")
    r, runs = (filled(table, run), table.columns[run].encoded[1]) if run else (np.zeros(table.n, int), ["1"])
    t: np.ndarray = np.arange(table.n)
    ids: np.ndarray = t + 1
    odd = [(run, text, "run") for text in runs if SUMMARIES >= {*words(text)} - REPEATS > set()]
    if example is not None:
        t, ids = filled(table, example), table.columns[example].encoded[1]
        none = MISSING_WORDS - ELEMENTS
        odd += [(example, text, "example") for text in ids if TOTAL.fullmatch(text)]
        odd += [(example, text, "example") for text in ids if text in ("NA", "ND") or folded(text) in none]
    for column, text, what in odd:
        raise UserError(
            f"{table.name}, column {column!r}: {text!r} is by its name no {what}, but a summary of others or a missing "
            "value: leave out its rows or, if it is one, rename it"
        )
    if len(runs) * len(ids) > 2 * table.n:  # before memory is taken for all
        raise UserError(
            f"{table.name}: {number_of(table.n, 'row')}, but {number_of(len(runs), 'run')} in the column {run!r} and "
            f"{number_of(len(ids), 'example')}: expected a row for each run and example, because every run must "
            "have the same examples"
        )
    place, first = np.unique(r * len(ids) + t, return_index=True)
    if len(place) < table.n:
        i = int(np.setdiff1d(np.arange(table.n), first)[0])
        raise UserError(
            f"{table.name}, row {i + 1}: example {ids[t[i]]!r}{f' of run {runs[r[i]]!r}' * bool(run)} appears twice; "
            "write other models, tasks or test sets into files of their own; several runs need a column run; if "
            "another column names the examples, call it example_id"
        )
    at = np.full((len(runs), len(ids)), -1)
    at.flat[place] = first
    if (at < 0).any() and not common:
        r0, t0 = np.argwhere(at < 0)[0]
        raise UserError(
            f"{table.name}: run {runs[r0]!r} has {int((at[r0] >= 0).sum())} of {len(ids)} examples: {ids[t0]!r} is "
            "missing; every run must have the same examples; to leave out the others, add --common-rows"
        )
    return Grid(example, run, tuple(runs), np.array(ids, dtype=str), at)


def filled(table: Table, name: str) -> np.ndarray:
    """Return the codes of the texts of a column. Raises UserError for a row that is empty."""
    codes = table.columns[name].encoded[0]
    if (codes < 0).any():
        raise UserError(
            f"{table.name}, row {int((codes < 0).argmax()) + 1}: the column {name!r} is empty: leave out such rows"
        )
    return codes


class Reading:
    """Finds the roles of the columns of a table.

    ``same`` are the columns that do not differ between the tables that are compared, nor between the runs of one, where
    there are several; ``known`` are the columns in a file of true values.
    """

    def __init__(
        self, table: Table, grid: Grid, same: frozenset[str] | None, known: Sequence[str], options: Options
    ) -> None:
        self.table, self.grid, self.known, self.options = table, grid, known, options
        self.compared, self.same = same is not None, same or frozenset()
        said = (*options.runs, *options.probabilities, *options.logits, options.truth_column)
        for name in table.columns:
            words_in = table.columns[name].text and name not in (grid.run, grid.example)
            if name in said or not (words_in or name.lower() in OTHER):
                continue
            codes, texts = table.columns[name].encoded
            compared = np.unique(codes[grid.at])
            texts = texts[compared[compared >= 0]]
            part = name.lower() in OTHER or not TRAINED.isdisjoint(texts)
            if len(texts) > 1 and (part or self._several(name)):
                shown = f"{texts[0]!r} and {texts[1]!r}"
                what = "test set" if part else "task" if name.lower() in TASKS else "model"
                hint = ", or leave out the column if one model predicts all" * (what == "task")
                raise UserError(f"{table.name}: the column {name!r} has {shown}: keep the rows of one {what}{hint}")
        roles = {name: role_of(name) for name in table.columns}
        for boolean in (("true", "false"), ("y", "n")):
            pair = [name for name in roles if name.lower() in boolean]
            if self._whole(pair) or self._whole(pair, 100):  # its classes
                roles |= dict.fromkeys(pair, "")
        if table.output:
            roles = {name: "predicted" if role == "either" else role for name, role in roles.items()}
        none = {grid.example, grid.run, *(n for n in table.columns if n.lower() in (*OTHER, *INDEX, *EXAMPLE))}
        self.roles = {name: role for name, role in roles.items() if name not in none}
        if options.task:
            wanted = stem(options.task)
            own = [name for name in self.roles if name == options.task or (wanted and stem(name) == wanted)]
            mine = {name: self.roles[name] for name in own}
            if not mine:
                raise self.ask(table.columns, f"none is of the task {options.task!r}", "--task-column")
            self.roles = mine | {name: role for name, role in self.roles.items() if name in ("y_true", "truth")}

    def _several(self, name: str) -> bool:
        """Return whether words tell tasks apart or, of an example, models whose names differ in more than digits."""
        codes, texts = self.table.columns[name].encoded
        if name.lower() in TASKS:
            alone = not any(stem(other) == stem(name) for other in self.table.columns if other != name)
            return alone and name != self.options.task and (not self.compared or self._fixed([name]))
        moves = bool((codes[self.grid.at] != codes[self.grid.at[:1]]).any())
        return name.lower() in MODELS and moves and len({re.sub(r"\d", "", text) for text in texts}) > 1

    def ask(self, names: Iterable[str], why: str, option: str) -> UserError:
        """Return the error for columns that can be read in several ways."""
        shown = [repr(str(name)) for name in names]
        listed = ", ".join([*shown[:6], "…"] if len(shown) > 6 else shown)
        return UserError(f"{self.table.name}: {listed}: {why}; say which with {option}")

    def numbers(self, name: str) -> np.ndarray:
        """Return a column in the order of the grid, (R, T)."""
        return np.asarray(self.table.columns[name].numbers[self.grid.at])

    def find(self) -> Roles:
        """Raises UserError where two readings are possible."""
        said = self._said()
        chosen = said or self._classes() or self._named() or self._only()
        self._check_numeric(chosen)
        if not said:
            self._check_found(chosen)
            self._check_others(chosen)
            self._check_runs(chosen)
        return replace(chosen, truth=self._truth(chosen))

    def _pool(self, *roles: str) -> list[str]:
        """Return the columns with these roles that may be predictions: numbers, or texts that repeat, as classes do."""
        return [name for name, role in self.roles.items() if role in roles and self._usable(name)]

    def _usable(self, name: str) -> bool:
        column = self.table.columns[name]
        return not column.text or 2 * len(column.encoded[1]) <= max(4, self.table.n)

    def _fixed(self, names: Iterable[str]) -> bool:
        """Return whether columns differ in no table, so that they are predictions only if nothing else is."""
        return set(names) <= self.same

    def _unread(self) -> list[str]:
        """Return the columns that may be predictions by their names, if their texts were numbers."""
        return [
            name
            for name, role in self.roles.items()
            if not self._usable(name)
            and not self._fixed([name])
            and (
                role in ("probability", "predicted")
                or (
                    (role in ("", "either", "logit") or AVERAGES & set(words(name)))
                    and begins_with_numbers(self.table.columns[name])
                )
            )
        ]

    def _no_number(self, name: str) -> UserError:
        """Return the error for a column of texts that should be numbers."""
        codes, texts = self.table.columns[name].encoded
        row = next(t for t, code in enumerate(codes) if code >= 0 and not re.fullmatch(NUMBER, texts[code]))
        return UserError(
            f"{self.table.name}, row {row + 1}, column {name!r}: {texts[codes[row]]!r} is no number: write predictions "
            "as -0.491, without commas, percent signs (divide by 100), units and brackets; if these are classes, add "
            f"--runs {typed([name])} --kind labels; if the predictions are in another column, name it with --runs"
        )

    def _check_numeric(self, chosen: Roles) -> None:
        """Raise UserError for predictions that are numbers in another notation, which would be taken for classes."""
        for name in chosen.predicted if self.options.kind != "labels" else ():
            check_grouped(self.table, f"the column {name!r}", self.table.columns[name].encoded[1].tolist())
            texts = self.table.columns[name].encoded[1] if self.table.columns[name].text else ()
            if any(map(MARKED.fullmatch, texts)) or (
                len(texts) and not self._usable(name) and begins_with_numbers(self.table.columns[name])
            ):
                raise self._no_number(name)

    def _check_found(self, chosen: Roles) -> None:
        """Raise UserError for what may be true values, or a constant, taken because predictions were not recognised."""
        names, unread = chosen.predicted, self._unread()
        beside = {name for group in numbered(self.roles).values() if names[0] in group for name in group}
        fixed = self.compared and self._fixed(names)
        sure = ("probability", "predicted") if self.table.output else ("probability",)
        spelled = all(self.roles[name] in sure or SPELLED & set(words(name)) for name in names)
        constant = self.table.n > 1 and all(len(self.table.columns[name].encoded[1]) == 1 for name in names)
        if doubtful := [name for name in unread if fixed or constant or not spelled or name in beside]:
            raise self._no_number(doubtful[0])
        option = "--probabilities" if chosen.classes else "--runs"
        averages = [n for n in self.roles if AVERAGES & set(words(n)) and n not in names and not self._fixed([n])]
        if averages and (fixed or constant or not (spelled or chosen.wide)):
            raise self.ask([*names, *averages], "each may be the predictions", option)
        if not spelled and (constant or (fixed and not (chosen.classes and self._fractions(names)))):
            same = "in all rows" if constant else "in all tables, so it may be the true values"
            raise self.ask(names, f"the same {same}; if these are the predictions", option)

    def _fractions(self, names: Sequence[str]) -> bool:
        """Return whether columns have other numbers than 0 and 1, unlike true classes."""
        return any((self.numbers(name) != self.numbers(name).round()).any() for name in names)

    def _said(self) -> Roles | None:
        """Return the columns that an option names; of those of ``--runs``, each table may have some."""
        given = {name: getattr(self.options, name) for name in ("probabilities", "logits", "runs")}
        kind, columns = next(((name, columns) for name, columns in given.items() if columns), ("", ()))
        if more := [f"--{name}" for name, other in given.items() if other and name != kind]:
            raise UserError(f"--{kind} and {more[0]} both name the columns to read: give one of them")
        if twice := [name for name in columns if columns.count(name) > 1]:
            raise UserError(f"--{kind} {','.join(columns)}: names {twice[0]!r} twice")
        if self.grid.example in columns or self.grid.run in columns:
            raise UserError(f"--{kind} {','.join(columns)}: {self.table.name} has the examples or runs in one of these")
        here = tuple(name for name in columns if name in self.table.columns)
        for name in columns:
            if name not in here and (kind != "runs" or not here):
                raise self.table.missing(name, f"--{kind}")
        if not columns:
            return None
        if kind == "runs":
            return Roles(here, wide=len(here) > 1)
        return Roles(here, classes=_classes_of(here) if len(here) > 1 else (), kind=kind)

    def _classes(self) -> Roles | None:
        """Find the columns of class probabilities: numbered p0, p1, …, or columns that sum to one in every row."""
        family = sorted((n for n in self.roles if re.fullmatch(r"[pP]\d{1,9}", n)), key=lambda name: int(name[1:]))
        if len(family) > 1:
            first = int(family[0][1:])
            expected = [f"p{c}" for c in range(min(first, 1), min(first, 1) + len(family))]
            if [name.lower() for name in family] != expected:
                raise UserError(
                    f"{self.table.name}: probability columns {', '.join(family)}: expected {', '.join(expected)}"
                )
            return Roles(tuple(family), classes=_classes_of(family), kind="probabilities")
        pool = [n for n in self._pool("probability", "predicted", "") if self._within(n)]
        pool = [n for n in pool if not self._fixed([n])] or pool
        sets = [group for group in numbered(pool).values() if self._whole(group)] or [pool][: self._whole(pool)]
        sets = sets or [list(pair) for pair in combinations(pool[:64], 2) if self._whole(pair)]
        distinct = list({frozenset(names): names for names in sets}.values())
        if len(distinct) > 1:
            option = "--probabilities, or if they are several runs, one class of each with --runs"
            raise self.ask([n for names in distinct for n in names], "several sets of probabilities", option)
        if not distinct:
            percent = self._pool("probability")
            for names in [percent, *numbered(percent).values()]:
                if self._whole(names, 100):
                    raise UserError(
                        f"{self.table.name}: {', '.join(map(repr, names[:6]))} sum to 100 in each row, as percent: "
                        "expected probabilities that sum to 1: divide them by 100"
                    )
            return None
        classes = dict(zip(_classes_of(distinct[0]), distinct[0], strict=True))
        order = tuple(sorted(classes, key=natural))  # the same in every table
        return Roles(tuple(classes[name] for name in order), classes=order, kind="probabilities")

    def _within(self, name: str) -> bool:
        numbers = self.numbers(name)
        return bool(((numbers >= -CLOSE) & (numbers <= 1 + CLOSE)).all())

    def _whole(self, names: Sequence[str], total: float = 1) -> bool:
        """Return whether columns sum to ``total``, and of two, one falls as the other rises: runs near 0.5 do not."""
        if len(names) < 2:
            return False
        columns = [self.numbers(name).ravel() for name in names]
        if len(columns) == 2 and all(map(np.std, columns)) and np.corrcoef(columns)[0, 1] > -0.9:
            return False
        return bool((np.abs(sum(columns) - total) <= total * CLOSE * len(names) / 2).all())

    def _named(self) -> Roles | None:
        """Find predictions by name: a probability, a prediction, or columns of runs that differ in their number."""
        pool = self._pool("probability", "predicted", "")
        truth = any(role == "truth" for role in self.roles.values())
        families = [tuple(names) for key, names in numbered(pool).items() if self._repeats(key, names, truth)]
        grouped = {name for names in families for name in names}
        runs_in = [n for n in pool if not self.roles[n] and n not in grouped and REPEATS & set(words(n)[:-1])]
        families += [(name,) for name in pool if name not in grouped and self.roles[name]]
        families += [(name,) for name in runs_in if words(name)[-1].isdigit()]
        chances = [names for names in families if self.roles[names[0]] == "probability"]
        others = [names for names in families if names not in chances]
        options = chances or others  # of classes beside probabilities, see _check_others
        if chances and any(len(names) > 1 for names in others):
            options = chances + others
        if not options:
            for key, names in numbered(self._pool("about")).items():
                if self._repeats(key, names, truth) and not self._fixed(names):  # of columns fold0, fold1, …
                    if any(self.table.columns[name].text for name in names) or not self._fractions(names):
                        if self._pool("", "either"):
                            continue  # parts of the data
                        raise self.ask(names, "runs, or parts of the data", "--runs")
                    options.append(tuple(names))
        if not options:
            if logits := self._pool("logit"):
                raise self.ask(logits, "margins of a classifier, or values", "--logits (or --runs and --kind values)")
            return None
        if len(options) > 1:
            tasks = len({stem(names[0]) for names in options}) == len(options)
            names = [name for family in options for name in family]
            raise self.ask(names, "each may be the predictions", "--task-column or --runs" if tasks else "--runs")
        kind = "probabilities" if options is chances and len(chances) == 1 else ""
        return Roles(options[0], wide=len(options[0]) > 1, kind=kind)

    def _repeats(self, key: tuple[str, str], names: Sequence[str], truth: bool) -> bool:
        """Return whether what numbered columns share says that they are retrainings, and not times, doses or years."""
        left, right = words(key[0]), words(key[1])
        if not (left or right):
            return truth  # columns of one true value are no tasks
        if left and left[-1] in PREDICTS:  # pred_1, pred_2, but neither pred_24h nor pred_2025
            last = int(names[-1][len(key[0]) : len(names[-1]) - len(key[1])])
            return VERBS.issuperset(right) and "%" not in key[1] and last <= 2 * len(names)
        if left and left[-1] in REPEATS:
            return not key[1][:1].isalpha() or right[0] in VERBS
        return not left and right[0] in REPEATS

    def _only(self) -> Roles:
        """Find the only column that differs between tables, or that is in the file of true values.

        A column named as the truth counts only if a file has the true values under its name, and it differs.
        """
        pool = self._pool("", "either")
        if self.compared and not pool:
            pool = [name for name in self._pool("truth") if name in self.known and not self._fixed([name])]
        if self.options.task in pool:
            pool = [self.options.task]
        matched = [name for name in pool if name in self.known and not self._fixed([name])]
        moving = [name for name in pool if not self._fixed([name])]
        for names in (matched, moving, pool):
            if len(names) == 1 and (self.compared or len(pool) == 1):
                return Roles((names[0],))
        if not pool:
            if unread := self._unread():
                raise self._no_number(unread[0])
            raise UserError(
                f"{self.table.name}: no predictions: expected p0, p1, … or y_pred, found "
                f"{', '.join(map(repr, self.table.columns))}; name their column with --runs"
            )
        if self.roles.get(pool[0]) == "either" or any(self.roles[name] == "either" for name in moving or pool):
            raise self.ask(moving or pool, "predicted or true classes", "--runs and --truth-column")
        option = "--runs (each is a run) or --task-column (one task)"
        raise self.ask(moving or pool, "runs of one model, or tasks", option)

    def _check_others(self, chosen: Roles) -> None:
        """Raise UserError if another column is as likely the predictions as those that were found."""
        rest = [n for n in self._pool("probability", "predicted", "either") if n not in chosen.predicted]
        pool = self._pool("probability", "predicted", "either", "logit", "")
        moving = [n for n in pool if n not in chosen.predicted and not self._fixed([n])]
        first = chosen.predicted[0]
        if self._fixed(chosen.predicted) and moving:
            why = f"{first!r} is the same in all tables, others differ"
            raise self.ask([*chosen.predicted, *moving], why, "--runs")
        unnamed = [name for name in moving if self.roles[name] in ("", "logit")]
        own = {stem(name) for name, role in self.roles.items() if role in ("", "truth") and self._fixed([name])}
        if self.compared and unnamed and self.roles[first] and stem(first) and stem(first) not in own:
            raise self.ask([*chosen.predicted, *unnamed], "several columns differ between the tables", "--runs")
        if chosen.kind == "probabilities" and not chosen.wide:
            columns = [self.numbers(name) for name in chosen.predicted]
            p = np.stack([1 - columns[0], *columns] if len(columns) == 1 else columns)
            best, sure = p.argmax(axis=0), np.ptp(np.sort(p, axis=0)[-2:], axis=0) > 1e-6
            for name in [*rest, *(name for name in moving if not self.roles[name] and self._cuts(name, p))]:
                codes = self.table.columns[name].encoded[0][self.grid.at]
                if len(np.unique(codes)) > len(p) and not self.table.columns[name].text:
                    continue  # another probability or score
                pairs = np.unique(np.stack([best[sure], codes[sure]]), axis=1)
                if len(np.unique(pairs[0])) < pairs.shape[1] and (
                    self.roles[name] == "predicted" or name not in self.same
                ):
                    raise self.ask(
                        [name, *chosen.predicted],
                        "the classes are not those of the probabilities",
                        f"--runs {typed([name])} or --probabilities {typed(chosen.predicted)}",
                    )
            told = len(columns) == 2 or (len(columns) == 1 and first[-1:] == "1")
            falls = (np.diff(p[::-1] if len(columns) == 1 else p, axis=0) <= 0).all()
            if falls and not told and columns[0].size >= 10 and self._within(first):
                raise self.ask(
                    chosen.predicted,
                    "never less than that of the next class, so these may be sorted, from the predicted class on",
                    f"--probabilities {typed(chosen.predicted)}, if they are of the same classes in all rows, or "
                    "--runs",
                )

    def _cuts(self, name: str, p: np.ndarray) -> bool:
        """Return whether a column has two entries, which divide the probabilities (C, R, T) of two classes in two."""
        codes = self.table.columns[name].encoded[0][self.grid.at]
        sides = [p[-1][codes == code] for code in np.unique(codes)]
        if len(p) != 2 or len(sides) != 2:
            return False
        return bool(sides[0].max() <= sides[1].min() or sides[1].max() <= sides[0].min())

    def _check_runs(self, chosen: Roles) -> None:
        """Raise UserError for columns that are no runs of one model: unrelated, opposite, or on another scale."""
        if not chosen.wide or len(self.grid.runs) > 1:
            return
        columns = [self.table.columns[name] for name in chosen.predicted]
        values, names = np.stack([self.numbers(name)[0] for name in chosen.predicted]), np.array(chosen.predicted)

        def differ(mask: np.ndarray | np.bool, why: str) -> None:
            if mask.any() and not mask.all():
                raise self.ask(names[mask], f"{why}, unlike the others", "--runs")

        if values.shape[1] >= 10:
            differ(np.array([len(np.unique(column.encoded[0])) == 1 for column in columns]), "the same in every row")
        if any(column.text for column in columns):
            texts = {name: set(map(plain, self.table.columns[name].encoded[1])) for name in chosen.predicted}
            alone = [
                name
                for name, mine in texts.items()
                if all(others is mine or mine.isdisjoint(others) for others in texts.values())
            ]
            if alone:
                raise self.ask(alone, "no class in common with the other columns", "--runs")
            at = self.grid.at[0]
            self._check_agree(chosen, [np.array([*map(plain, c.encoded[1]), ""])[c.encoded[0][at]] for c in columns])
            return
        if not np.isfinite(values).all() or np.abs(values).max() > LARGEST:
            return  # the row is named when it is read
        whole, within = (values == values.round()).all(axis=1), ((values >= 0) & (values <= 1)).all(axis=1)
        if not self.options.kind and not within.all():
            differ(whole, "whole numbers")
            differ(~within, "beyond 0 to 1")
        if whole.all() and len(np.unique(values)) <= FEW and self.options.kind != "values":
            self._check_agree(chosen, [*values])
        spread = values.std(axis=1) > 0
        if spread.sum() < 2 or values.shape[1] < 10:
            return
        ranked, named = values[values.mean(axis=1).argsort()], not REPEATS.isdisjoint(words(names[0]))
        if not (named or whole.all()) and values.shape[1] >= 20 and (np.diff(ranked, axis=0) > 0).all():
            raise self.ask(names, "in the same order of size in every row, as quantiles are", "--runs")
        r = np.corrcoef(values[spread])
        if r.min() < -0.99:
            pair = names[spread][list(np.unravel_index(r.argmin(), r.shape))]
            why = "one is the opposite of the other, so they are no two runs"
            raise self.ask(pair, why, "--probabilities or --logits")
        np.fill_diagonal(r, -1)
        unrelated = names[spread][r.max(axis=1) < max(0.2, 2 / np.sqrt(values.shape[1]))]
        if len(unrelated) and len(r) > 2:  # of two weak models, neither is the odd one
            raise self.ask(unrelated, "without relation to the other columns", "--runs")

    def _check_agree(self, chosen: Roles, labels: Sequence[np.ndarray]) -> None:
        """Raise UserError for two columns of classes that hardly ever agree, such as the first and the second choice.

        They are two runs if chance alone would let them agree in few rows, as whole numbers of many sizes do.
        """
        for (one, a), (other, b) in combinations([*zip(chosen.predicted, labels, strict=True)][:64], 2):
            found = Counter(b.tolist())
            by_chance = sum(n * found[text] for text, n in Counter(a.tolist()).items()) / len(a)
            if by_chance >= 5 and 10 * (a == b).sum() < by_chance:
                raise self.ask([one, other], "hardly ever the same class, so they are no two runs", "--runs")

    def _truth(self, chosen: Roles) -> str:
        """Return the column of true values in the table; empty if there is none, or a file has them."""
        said = self.options.truth_column
        if self.options.truth:
            return ""
        if said and said in self.table.columns:
            return said
        free = [name for name in self.roles if name not in chosen.predicted]
        mine = stem(chosen.predicted[0])
        named = [name for name in free if self.roles[name] == "truth"]
        exact = [name for name in named if name.lower() == "y_true"]
        named = exact or [name for name in named if not (mine and stem(name)) or stem(name) == mine]
        named = named or [n for n in free if mine and not self.roles[n] and stem(n) == mine and self._usable(n)]
        if len(named) == 1 and self.compared and not self._fixed(named) and not exact and not self.roles[named[0]]:
            raise self.ask(named, "differs between the tables, so it is no true value", "--truth-column and --runs")
        if chosen.wide and len(named) == 1 and not self.roles[named[0]]:
            mean = np.mean([self.numbers(name) for name in chosen.predicted], axis=0)
            if np.allclose(mean, self.numbers(named[0]), atol=1e-4):
                return ""  # chemprop's mean of its models
        if not named:
            named = [name for name in free if self.roles[name] == "either"]
            if named and (not self._fixed(named) or self._fixed(chosen.predicted)):
                raise self.ask(named, "predicted or true classes", "--truth-column (and --runs)")
        if len(named) > 1:
            raise self.ask(named, "each may be the true values", "--truth-column")
        return named[0] if named else ""


def plain(text: str) -> str:
    """Normalise a class label for comparison: ``1.0``, ``1.00``, ``+1`` and ``True`` become ``1``."""
    text = {"true": "1", "false": "0"}.get(text.lower(), text)
    whole = re.fullmatch(r"\+?(-?\d+)(\.0*)?", text)
    return whole[1] if whole else text


def natural(text: str) -> tuple[float, str]:
    """Return a sort key that puts numbers first, in order of size."""
    value = number(text)
    return float("inf") if np.isnan(value) else value, text


def _classes_of(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the classes that columns of probabilities name: what differs between their names, or 0, 1, …"""
    if all(re.fullmatch(r"[pP]\d+", name) for name in columns):
        return tuple(name[1:] for name in columns)
    token = r"\d+\.\d+|(?:(?<![^\W_])[+-])?[^\W_]+(?:[+-](?![^\W_]))?"  # also -1 and BBB+
    tokens = [re.findall(token, name) or [name] for name in columns]
    alike = len({*map(len, tokens)}) == 1  # as many: task_0_class_0 and task_0_class_1 differ in their last
    placed = [[(i * alike, t) for i, t in enumerate(ts)] for ts in tokens]
    own = [[t for i, t in ts if not all((i, t) in others for others in placed)] for ts in placed]
    names = tuple(plain("_".join(ts)) for ts in own)
    return names if all(names) and len(set(names)) == len(names) else tuple(columns)
