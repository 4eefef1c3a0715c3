"""Loading of a ``Problem`` by the name of its dataset."""

import hashlib
from collections import Counter
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache

import numpy as np
import pandas as pd

from benchmark.data.checks.missing import folded
from benchmark.data.features import fitted, standardise
from benchmark.data.rows import Rows, feature_columns, load_rows
from benchmark.data.spec import DatasetSpec, load_spec, with_features
from benchmark.data.splits import Split, first_rows, make_split
from benchmark.errors import UserError, number_of
from benchmark.learners import find
from benchmark.pipeline import Reading
from benchmark.train.learner import NetworkLearner
from benchmark.types import MLP, Examples, Problem, Reads, Recipe

EXACT = Context(prec=2**18, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Decimal numbers with all their digits, of which a field of a CSV file has fewer than that."""
LARGEST = 1e18
"""The largest target of a regression: single precision must hold its square."""
WORDS = {"false": "0", "true": "1"}


def digest(array: np.ndarray) -> str:
    """Return the first 16 hex digits of the sha256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:16]


def plain(texts: pd.Series) -> pd.Series:
    """Give equal numbers, and only these, one spelling (``1``, ``1.0`` → ``1``).

    Texts that are not all finite numbers are returned unchanged.
    """
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)
    return texts.map(_spelled) if np.isfinite(numbers).all() else texts


def _spelled(number: str) -> str:
    try:
        exact = EXACT.normalize(Decimal(number)) or Decimal()  # not -0
    except ArithmeticError:  # an exponent of a quintillion
        return number
    return f"{exact:f}" if abs(exact.adjusted()) < 20 else str(exact)


def labels(spec: DatasetSpec, table: pd.DataFrame) -> np.ndarray:
    """Return the class (int64) or target (float32) of each row of ``table``, which has ``target`` and ``line``.

    Classes are 0 and 1, or the places in ``classes`` of the spec; capitals and blanks in their names mean nothing.
    ``positive`` in the spec is the text of class 1, or ``>= median`` (paper, section Datasets) or ``>= 5`` to binarise
    a number; without it the column must hold 0 and 1, or false and true. Raises UserError naming line and value.
    """
    column, target = f"{spec.name}: column {spec.target!r}", table["target"]

    def refuse(wrong: np.ndarray, expected: str) -> None:
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise UserError(
                f"{column}, line {table['line'].iloc[row]}: expected {expected}, found {target.iloc[row]!r}"
            )

    if spec.task == "regression" or spec.cut:
        numbers = pd.to_numeric(target, errors="coerce").astype(float)
        refuse(~np.isfinite(numbers.to_numpy()), "a number")
        if spec.task == "regression":
            refuse(
                (numbers.abs() > LARGEST).to_numpy(),
                f"a number from -{LARGEST:g} to {LARGEST:g}, because models are trained in single precision",
            )
            y = numbers.to_numpy(dtype=np.float32)
            if len(np.unique(y)) < 2:
                raise UserError(
                    f"{column}: all {len(y)} rows are {y[0]:g} in single precision (float32): there is nothing to learn"
                )
            return y
        classes = numbers >= (numbers.median() if spec.cut == "median" else float(spec.cut))
    elif names := spec.classes or ((spec.negative, spec.positive) if spec.negative and spec.positive else ()):
        target = plain(target).map(folded)
        known = plain(pd.Series(names, dtype=str)).map(folded).tolist()
        if len({*known}) < len(known):
            raise UserError(f"{column}: two of the classes {', '.join(names)} mean the same: remove one from the TOML")
        refuse((~target.isin(known)).to_numpy(), f"one of {', '.join(names)}")
        if lacking := [name for name, text in zip(names, known, strict=True) if not (target == text).any()]:
            raise UserError(
                f"{column}: no row has the class {lacking[0]!r}: remove it from 'classes', or describe the "
                "table again with new-dataset"
            )
        return target.map(known.index).to_numpy(dtype=np.int64)
    elif spec.positive is not None:
        target, positive = plain(target), plain(pd.Series([spec.positive])).iloc[0]
        counts = Counter(target).most_common()
        if len(counts) != 2 or positive not in dict(counts):
            listed = ", ".join(f"{text!r} ({count})" for text, count in counts[:5])
            odd = next(text for text, _ in reversed(counts) if text != positive or len(counts) == 1)
            line = table["line"].iloc[int(np.flatnonzero(target == odd)[0])]
            raise UserError(
                f"{column}: expected {positive!r} and one other value, found {len(counts)}: {listed}; "
                f"{odd!r} is on line {line}"
            )
        classes = target == positive
    else:
        classes = pd.to_numeric(target.map(lambda text: WORDS.get(text.lower(), text)), errors="coerce")
        refuse(~classes.isin([0, 1]).to_numpy(), "0 or 1 (name class 1 with 'positive')")
    if classes.nunique() < 2:
        one = spec.class_names[int(classes.iloc[0])] if spec.cut else target.iloc[0]
        power = f" (of the logarithm, the cut is 10^{spec.cut} in the table)" if spec.cut and spec.log10 else ""
        raise UserError(f"{column}: all {len(target)} rows have one class, {one!r}{power}: nothing to learn")
    return classes.to_numpy(dtype=np.int64)


def split_rows(spec: DatasetSpec, rows: Rows, canonical_seed: int) -> Split:
    """Return the canonical split of the used rows, with the training pool reduced to ``spec.train`` rows.

    Raises UserError for an unknown split, an empty part, and a pool with fewer than ``spec.train`` rows.
    """
    used = rows.used
    columns = (used[name].tolist() for name in ("scaffold", "part", "line"))
    try:
        split = make_split(spec.split, canonical_seed, *columns)
    except UserError as error:
        raise UserError(f"{spec.name}: {error}") from error
    if spec.train is None:
        return split
    if spec.train > len(split.train):
        raise UserError(
            f"{spec.name}: the training pool of canonical seed {canonical_seed} has "
            f"{number_of(len(split.train), 'row')}: train={spec.train} is too many"
        )
    if spec.split.startswith("time:"):
        return replace(split, train=split.train[: spec.train])
    return replace(split, train=first_rows(split.train, spec.train, canonical_seed))


def known_rows(spec: DatasetSpec, rows: Rows, split: Split, canonical_seed: int) -> np.ndarray | None:
    """Return the places (O,) in the training pool of the rows before the last ``spec.new``; None if that is not given.

    These are the pool of the same dataset with ``new`` rows fewer. Raises UserError if fewer than two are left.
    """
    if spec.new is None:
        return None
    before = len(split.train) - spec.new
    if before < 2:
        raise UserError(
            f"{spec.name}: the training pool has {number_of(len(split.train), 'row')}: new={spec.new} is too many"
        )
    earlier = split_rows(spec.model_copy(update={"train": before}), rows, canonical_seed)
    return np.flatnonzero(np.isin(split.train, earlier.train))


def given(name: str, backbone: str, x: np.ndarray, scaled: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return features (N, D) for the backbone: numbers standardised on the rows ``train``, others unchanged.

    Raises UserError with the ``name`` of the problem if no feature varies over these rows.
    """
    if find(backbone).reads != "numbers" or not scaled.any():
        return x
    out = standardise(x, scaled, train)
    if out.shape[1] == 0:
        raise UserError(
            f"{name}: no feature is left: all {x.shape[1]} are constant or missing in the {len(train)} rows of the "
            "training pool: there is nothing to learn from"
        )
    return out


def _check_finite(spec: DatasetSpec, rows: Rows, train: np.ndarray, x: np.ndarray) -> None:
    """Raise UserError for a standardised number that single precision cannot hold, with its line and column."""
    if rows.scaled.any() and len(bad := np.argwhere(~np.isfinite(x))):
        row, kept = bad[0]
        column = np.flatnonzero(fitted(rows.x, rows.scaled, train)[0])[kept]
        of_table = spec.features == ("columns",)
        name = f"column {feature_columns(spec)[column]!r}" if of_table else f"feature {column + 1}"
        raise UserError(
            f"{spec.name}: line {rows.used['line'].iloc[row]}, {name}: {rows.x[row, column]:g} is too far from the "
            "numbers in the training pool: in units of their standard deviation, single precision cannot hold it"
        )


def checked(
    spec: DatasetSpec, rows: Rows, canonical_seed: int
) -> tuple[np.ndarray, np.ndarray, Split, np.ndarray | None]:
    """Return features and labels of the used rows, their split, and the rows that an earlier model had.

    Raises UserError for an unusable column or number, and a training pool with a single class or value.
    """
    y = labels(spec, rows.used)
    split = split_rows(spec, rows, canonical_seed)
    if len(np.unique(y[split.train])) < 2:
        what = "class" if spec.task == "classification" else "value"
        raise UserError(
            f"{spec.name}: all {len(split.train)} rows of the training pool of canonical seed {canonical_seed} have "
            f"the same {what}: there is nothing to learn. Add rows with another, or choose another split than "
            f"{spec.split!r} (new-dataset --split)"
        )
    known = known_rows(spec, rows, split, canonical_seed)
    scaled_on = split.train if known is None else split.train[known]  # as the earlier model has it
    x = given(spec.name, spec.backbone, rows.x, rows.scaled, scaled_on)
    _check_finite(spec, rows, scaled_on, x)
    return x, y, split, known


def load_problem(dataset: str, canonical_seed: int = 99) -> Problem:
    """Return the problem of ``dataset``, a name or the path of a TOML, split by ``canonical_seed``.

    ``bace@train=200@weight_decay=0.1`` is a variant, see ``load_spec``. Raises UserError for an unknown dataset, a
    missing or altered data file, an unusable column or number, and a training pool with a single class or value.
    """
    spec = load_spec(dataset)
    rows = load_rows(spec)
    x, y, split, known = checked(spec, rows, canonical_seed)
    used = rows.used
    ids = used["id"].to_numpy(dtype=str)
    bits, width = find(spec.backbone).reads == "numbers", max(1, int(used["smiles"].str.len().max()))

    def take(index: np.ndarray) -> Examples:  # of large tables, no part is held twice
        smiles = used["smiles"].to_numpy()[index].astype(f"U{width}")
        rows = x[index].astype(np.float32) if bits else x[index]
        return Examples(rows, y[index], ids[index], smiles)

    return Problem(
        name=spec.name,
        task=spec.task,
        n_outputs=len(spec.classes) or 2 if spec.task == "classification" else 1,
        train=take(split.train),
        evals={name: take(index) for name, index in split.tests.items()},
        canonical_seed=canonical_seed,
        recipe=spec.recipe,
        backbone=spec.backbone,
        about=spec.facts,
        fingerprints={
            "data": rows.version,
            "features": digest(rows.x),
            "labels": digest(y),
            "split": digest(np.concatenate(list(split.parts().values()))),
            **({} if known is None else {"known": digest(known)}),
            **started_from(spec.backbone),
        },
        earlier_rows=known,
    )


def refuse_reading(reading: Reading, name: str, dataset: str) -> None:
    """Raise UserError if the dataset ``name``, loaded as ``dataset``, has not what a pipeline reads; load nothing."""
    spec, learner = load_spec(dataset), reading.learner
    given: Reads = "pixels" if spec.features[0].startswith("pixels") else "numbers"
    given = "smiles" if spec.features == ("smiles",) else given
    if reading.reads == "smiles" and not spec.smiles:
        raise UserError(f"{name}: {learner} reads SMILES: name the SMILES column in 'smiles'")
    if reading.reads != "smiles" and reading.reads != given:
        features = ", ".join(spec.features)
        raise UserError(f"{name}: {learner} reads {reading.reads}, but the features are {features}")


_with_features = lru_cache(maxsize=1)(load_problem)
"""The last problem that a pipeline read with features of its own, which many pipelines have in common."""


def read_with(reading: Reading, problem: Problem, dataset: str) -> Problem:
    """Return ``problem``, loaded as ``dataset``, as a pipeline reads it: with its features, and its learner's recipe.

    Rows, labels and split are the same, and so are name and fingerprints: results stay comparable. Raises UserError.
    """
    refuse_reading(reading, problem.name, dataset)
    spec, learner = load_spec(dataset), reading.learner
    if reading.features and reading.reads == "numbers":
        name = with_features(dataset, reading.features)
        if name != dataset:
            other = _with_features(name, problem.canonical_seed)
            problem = replace(other, name=problem.name, fingerprints=problem.fingerprints, about=problem.about)
    if learner != problem.backbone:
        settings = dict(text.split("=", 1) for text in spec.name.split("@")[1:])
        changes = {name: value for name, value in settings.items() if name in Recipe.model_fields}
        update = Recipe.model_validate_strings(changes).model_dump(exclude_unset=True)
        unit = {"standardise": problem.recipe.standardise}  # of the target, whatever learns it
        recipe = reading.recipe.model_copy(update=unit | update) if reading.recipe else problem.recipe
        problem = replace(problem, recipe=recipe, backbone=learner)
    return problem


def started_from(backbone: str) -> dict[str, str]:
    """Return the entry of a learner other than the perceptron in the fingerprints: its name and pretrained weights."""
    if backbone == MLP:
        return {}
    learner = find(backbone)()
    weights = learner.weights() if isinstance(learner, NetworkLearner) else ""
    return {"backbone": f"{backbone} {weights}".strip()}


def fold(problem: Problem, i: int, k: int) -> Problem:
    """Return fold ``i`` (from 0) of ``k``-fold cross-validation on the training pool of ``problem``.

    The held-out fold is the only test set, ``id``; the others form the training pool. The canonical seed draws the
    folds, stratified by class. The test sets of ``problem`` are not used, and standardised columns are standardised
    again on the new training pool. A fold cannot be loaded by name and does not belong in the store.

    Raises ValueError if there is no fold ``i``, and UserError for a pool with fewer than ``k`` rows of a class.
    """
    if not 0 <= i < k or k < 2:
        raise ValueError(f"fold {i} of {k}: expected a number from 0 to {k - 1}, and at least 2 folds")
    pool, classes = problem.train, problem.task == "classification"
    fewest = int(np.unique(pool.y, return_counts=True)[1].min()) if classes else len(pool)
    if fewest < k:
        of = " of the rarer class" if classes else ""
        raise UserError(f"{problem.name}: {k} folds need {k} rows{of} in the training pool, found {fewest}")
    from sklearn.model_selection import KFold, StratifiedKFold  # scikit-learn takes a second to import

    splitter = (StratifiedKFold if classes else KFold)(k, shuffle=True, random_state=problem.canonical_seed)
    train, held_out = list(splitter.split(pool.x, pool.y))[i]
    scaled = pool.x.min(axis=0) < 0  # never true of bits or pixels, always of columns with mean 0 that vary
    pool = replace(pool, x=given(problem.name, problem.backbone, pool.x, scaled, train))
    return replace(
        problem,
        name=f"{problem.name}@fold={i + 1}of{k}",
        train=pool.take(train),
        evals={"id": pool.take(held_out)},
        fingerprints={**problem.fingerprints, "fold": f"{i + 1}of{k}-{digest(held_out)}"},
    )
