"""Predictions for new molecules by the pipeline that a user's results recommend, and how sure it is of each.

The model that answers is trained on all rows of the dataset. The retrainings of the recorded cell are trained again,
because predictions are kept and models are not; they tell how far an answer depends on the training sample.

Shapes: R retrainings, G molecules that can be read, C outputs.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from joblib import Parallel, delayed

from benchmark.data.checks.nearest import bits, nearest, ranked, tanimoto
from benchmark.data.describe.columns import refuse_headless, smiles_column
from benchmark.data.describe.given import table_of
from benchmark.data.features import Parsed, morgan
from benchmark.data.inputs import SMILES, Featuriser, inputs_of
from benchmark.data.problem import fold, given, labels, split_rows
from benchmark.data.readers import LINE, MISSING, distinct
from benchmark.data.rows import feature_columns, load_rows
from benchmark.data.spec import DatasetSpec, load_spec, with_features
from benchmark.data.values import is_missing, spelled
from benchmark.errors import UserError, number_of
from benchmark.run.runner import Planned
from benchmark.store.cell import Cell
from benchmark.train.resampling import sample_for
from benchmark.types import Examples, Inputs, Predictions, Problem, Sampling
from leaderboard import my_data
from leaderboard.read.results import Results
from leaderboard.write.formats import literal

DOMAIN = 0.05
"""Share of the training molecules that would count as outside the domain themselves."""
FOLDS = 5
TOGETHER = 500
"""Molecules whose features a process computes at a time."""
ENOUGH = 2000
"""Training molecules that are compared with all others to find the similarity at which the domain ends."""


@dataclass(frozen=True)
class Answers:
    """Predictions for the molecules that can be read: ``whole`` (G, C) by the model of all rows, ``retrained``
    (R, G, C) by the retrainings of the cell, and for all molecules the ``reasons`` (T,) not to be read, or empty."""

    whole: np.ndarray
    retrained: np.ndarray
    reasons: np.ndarray


def recorded(results: Results, name: str, method: str) -> Cell:
    """Return the cell of dataset ``name`` that decisions go by: that of ``method``, or of the recommended one.

    Raises UserError where there is none, or no recommendation.
    """
    for dataset in my_data.of_names(results, [name]):
        names = ", ".join(sorted(entry.spelled for entry in dataset.entries))
        if not method:
            own = my_data.own(dataset)
            if own.flips:
                return own.flips.cell
            raise UserError(f"{name}: {own.sentences[-1]} Or choose a method with --method: {names}")
        chosen = [entry for entry in dataset.entries if method in (entry.spelled, entry.method, entry.title)]
        if len(chosen) != 1:
            raise UserError(f"--method {method}: expected one of those that are recorded on {name}: {names}")
        return next(iter(chosen[0].cells.values()))
    raise UserError(f"{results.source} has no results on {name}: run churn run --dataset {name} first")


def planned(cell: Cell) -> Planned:
    """Return the cell as its recorded command plans it. Raises UserError if that is another cell by now."""
    from benchmark.__main__ import app
    from benchmark.commands import train

    words = shlex.split(cell.facts.command)
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    chosen = command.make_context("run", words[words.index("run") + 1 :]).params
    names = ("method", "dataset", "canonical_seed", "sampling", "seeds", "learner", "features", "tune")
    cells = train._planned(train._grids(**{name: chosen[name] for name in names}), None, chosen["device"])
    for plan in cells:
        if plan.key.digest == cell.key.digest:
            return plan
    raise UserError(
        f"{cell.title} on {cell.key.dataset}: dataset or method have changed since it was recorded: run it again "
        f"with {cell.facts.command}"
    )


def answer(plan: Planned, table: pd.DataFrame, jobs: int | None, done: Callable[[], object] = lambda: None) -> Answers:
    """Return what a cell's models say about the rows of ``table``, which has the inputs of its dataset.

    ``done`` is called after each model. What a retraining says about a molecule of a test set is what is recorded.
    Without a row that can be read, no model is trained.
    """
    spec = load_spec(with_features(plan.dataset, plan.method.features))
    rows = load_rows(spec)
    pool = split_rows(spec, rows, plan.key.canonical_seed).train
    everything, reads = np.arange(len(rows.used)), plan.method.base.reads
    featurisers = [Featuriser.of(spec, rows, index, reads) for index in (pool, everything)]
    featurisers[0].check(table, table.attrs.get("file", "the table"))
    parts = max(1, len(table) // TOGETHER) if reads == "numbers" else 1  # SMILES are as wide as the longest of a table
    workers = Parallel(n_jobs=jobs or -1, inner_max_num_threads=1, backend="loky")
    index = np.array_split(np.arange(len(table)), parts)
    read_rows = workers(delayed(featurisers[0].read)(table.iloc[some]) for some in index)
    features = [np.concatenate(part) for part in zip(*read_rows, strict=True)]
    inputs, of_all, reasons = _both(*(featuriser.scale(*features) for featuriser in featurisers))
    if not len(of_all):
        none = np.empty((0, plan.problem.n_outputs), dtype=np.float32)
        return Answers(none, np.stack([none] * len(plan.key.seeds)), reasons)
    tasks = [(plan.problem, plan.key.sampling, seed, inputs) for seed in plan.key.seeds]
    values = _each(plan, [(whole(plan), "update", 1, of_all), *tasks], jobs, done)
    return Answers(values[0], np.stack(values[1:]), reasons)


def whole(plan: Planned) -> Problem:
    """Return the problem of a cell with all of its dataset's rows in the training pool, and no test set."""
    spec = load_spec(with_features(plan.dataset, plan.method.features))
    rows = load_rows(spec)
    x = given(spec.name, plan.problem.backbone, rows.x, rows.scaled, np.arange(len(rows.used)))
    train = Examples(
        x.astype(np.float32) if plan.method.base.reads == "numbers" else x,
        labels(spec, rows.used),
        rows.used["id"].to_numpy(dtype=str),
        rows.used["smiles"].to_numpy(dtype=str),
    )
    return replace(plan.problem, train=train, evals={}, earlier_rows=None)


def cross_fitted(plan: Planned, jobs: int | None, done: Callable[[], object] = lambda: None) -> Predictions:
    """Return predictions for every row of the dataset, each by retrainings that did not see its fold.

    ``FOLDS`` folds are held out in turn, and the cell's sampling draws from the rest. Run r is the r-th retraining in
    every fold. ``done`` is called after each model. Raises UserError for fewer rows of a class than folds.
    """
    problem = whole(plan)
    folds = [fold(problem, i, FOLDS) for i in range(FOLDS)]
    tasks = [(one, plan.key.sampling, seed, one.evals["id"].inputs) for one in folds for seed in plan.key.seeds]
    fitted = _each(plan, tasks, jobs, done)
    count, place = len(plan.key.seeds), {name: t for t, name in enumerate(problem.train.ids.tolist())}
    values = np.empty((count, len(problem.train), fitted[0].shape[-1]), dtype=np.float32)
    for i, one in enumerate(folds):
        rows = [place[name] for name in one.evals["id"].ids.tolist()]
        values[:, rows] = np.stack(fitted[i * count : (i + 1) * count])
    y = problem.train.y
    return Predictions(plan.key.seeds, problem.train.ids, y, values, problem.task, plan.key.sampling)


def _each(
    plan: Planned, tasks: Sequence[tuple[Problem, Sampling, int, Inputs]], jobs: int | None, done: Callable[[], object]
) -> list[np.ndarray]:
    values = []
    workers = Parallel(n_jobs=jobs or -1, inner_max_num_threads=1, backend="loky", return_as="generator")
    for value in workers(delayed(_fitted)(plan, *task) for task in tasks):
        values.append(value)
        done()
    return values


def _both(first: tuple[Inputs, np.ndarray], second: tuple[Inputs, np.ndarray]) -> tuple[Inputs, Inputs, np.ndarray]:
    """Keep the rows that both of two featurisers, standardised on other rows, can read."""
    reasons = np.where(first[1] == "", second[1], first[1])
    kept = [(inputs, reasons[said == ""] == "") for inputs, said in (first, second)]
    one, other = (Inputs(inputs.x[good], inputs.smiles[good]) for inputs, good in kept)
    return one, other, reasons


def _fitted(plan: Planned, problem: Problem, sampling: Sampling, seed: int, inputs: Inputs) -> np.ndarray:
    model = plan.method.fit(sample_for(problem, sampling, seed)[0])
    return model.predict(inputs.copy()).astype(np.float32)  # as recorded


def tabulate(spec: DatasetSpec, answers: Answers) -> pd.DataFrame:
    """Return one row per molecule of the table: the prediction, how sure it is, and why there is none.

    Classes: ``prediction`` in the user's words, ``P(class)`` of the model of all rows, and ``stability``, the share of
    the retrainings that predict the same class. Numbers: ``prediction``, and ``spread``, the standard deviation (n − 1)
    of the retrainings, in the unit of the target.
    """
    good = answers.reasons == ""
    if spec.task == "regression":
        columns = {"prediction": answers.whole[:, 0], "spread": answers.retrained[..., 0].std(axis=0, ddof=1)}
    else:
        classes, names = answers.whole.argmax(axis=-1), spec.class_names
        columns = {"prediction": np.array(names, dtype=object)[classes]}
        columns |= {f"P({name})": answers.whole[:, k] for k, name in enumerate(names)}
        columns["stability"] = (answers.retrained.argmax(axis=-1) == classes).mean(axis=0)
    table = pd.DataFrame(columns, index=np.flatnonzero(good)).reindex(range(len(good)))
    return table.assign(reason=answers.reasons)


def neighbours(spec: DatasetSpec, smiles: np.ndarray) -> pd.DataFrame:
    """Return for each SMILES (G,) the ``nearest`` molecule of the dataset, its ``similarity``, and whether it is
    ``outside`` the domain: less similar to its nearest than 95 % of the dataset's molecules are to theirs.

    The similarity is Tanimoto's, of Morgan fingerprints of radius 2 and 2,048 bits.
    """
    rows = load_rows(spec)
    everything = np.arange(len(rows.used))
    some = np.random.default_rng(0).permutation(everything)[:ENOUGH]
    ours = bits(spec, rows, everything)
    pairs = ranked(ours[some], ours, tanimoto, 2)
    own = [tanimoto(ours[[i]], ours[others[others != i][:1]])[0, 0] for i, others in zip(some, pairs, strict=True)]
    new = morgan(Parsed(smiles.tolist()), 2048, 2)
    similarity = nearest(new, ours)
    return pd.DataFrame(
        {
            "nearest": rows.used["smiles"].to_numpy()[ranked(new, ours, tanimoto, 1)[:, 0]],
            "similarity": similarity.round(3),
            "outside": np.where(similarity < np.quantile(own, DOMAIN), "yes", "no"),
        }
    )


def inputs(spec: DatasetSpec, path: Path, sheet: str = "") -> pd.DataFrame:
    """Return the table of new molecules with the column ``smiles`` that models read, and its own columns.

    Its ``attrs["notes"]`` say how it and the answers are read, and ``file`` has its path. Raises UserError if the file
    has no row, no column of SMILES under the dataset's name, the name SMILES or any other, or several.
    """
    table = table_of(path, sheet)[1].copy()
    if table.empty:
        refuse_headless(list(table.columns) if spec.smiles else [], str(path))
        raise UserError(f"{path}: has a header and no rows: expected a row for each prediction")
    table.attrs["file"], notes = str(path), table.attrs["notes"]
    for column, *known in spec.one_hot:
        texts = table[column].str.strip() if column in table else pd.Series(dtype=str)
        if len(odd := texts[~texts.isin([*known, *MISSING])]):
            listed = ", ".join(map(repr, odd.unique()[:5])) + (", …" if odd.nunique() > 5 else "")
            notes.append(
                f"column {column!r}: {number_of(len(odd), 'row')} with texts that are no category of {spec.name}, "
                f"{listed}: they are taken for none of {', '.join(known)}"
            )
    if spec.log10 and spec.task == "regression":
        notes.append(f"prediction and spread are decimal logarithms of {spec.target!r}")
    notes += _unlike(spec, table)
    if not spec.smiles:
        return table
    columns = [name for name in table.columns if name != LINE]
    alike = [name for name in columns if name.casefold() == SMILES]
    rename = f"rename the one that is meant to {spec.smiles!r}, as in the table of {spec.name}"
    chosen = spec.smiles if spec.smiles in columns else alike[0] if len(alike) == 1 else ""
    if not chosen and len(alike) > 1:
        raise UserError(f"{path}: several columns may hold the SMILES: {', '.join(alike)}; {rename}")
    chosen = chosen or smiles_column(table, columns, str(path), notes, rename)
    if not chosen:
        refuse_headless(columns, str(path))
        raise UserError(
            f"{path}: expected a column {spec.smiles!r}, as in the table of {spec.name}, or SMILES; found "
            f"{', '.join(map(repr, columns))}"
        )
    if chosen in table.attrs["repeated"]:
        raise UserError(f"{path}: several columns are called {chosen!r}: {rename}, and the others otherwise")
    if others := [name for name in columns if SMILES in name.casefold() and name != chosen]:
        notes.append(f"the SMILES are in {chosen!r}, as in the table of {spec.name}, not in {', '.join(others)}")
    table = table.assign(**{SMILES: table[chosen]})
    table.attrs["smiles"] = chosen
    return table


def _unlike(spec: DatasetSpec, table: pd.DataFrame) -> list[str]:
    """Return lines on columns that lack numbers, or have some beyond those of the dataset, as in another unit."""
    names = [name for name in feature_columns(spec) if name in table] if "columns" in spec.features else []
    if not names:
        return []
    ours, empty, beyond = inputs_of(spec, load_rows(spec)), [], []
    for name in names:
        decimal = "" if name in table.attrs["native"] else spec.decimal
        values = pd.to_numeric(table[name].map(lambda text, mark=decimal: spelled(text, mark)), errors="coerce")
        low, high = ours[name].min(), ours[name].max()
        far = values[(values < low) | (values > high)]
        if lacking := int(is_missing(table[name], spec.missing).sum()):
            empty.append(f"{name!r} ({number_of(lacking, 'row')})")
        if len(far):
            beyond.append(f"{name!r} ({number_of(len(far), 'row')}, such as {far.iloc[0]:g}; from {low:g} to {high:g})")
    what = {
        f"numbers that are missing, for which means in {spec.name} are taken": empty,
        f"columns with numbers beyond those that they have in {spec.name}": beyond,
    }
    return [f"{said}: {', '.join(of[:5])}{', …' if len(of) > 5 else ''}" for said, of in what.items() if of]


def to_csv(spec: DatasetSpec, table: pd.DataFrame, answers: Answers) -> str:
    """Return the answers as CSV, in the order of ``table``, with its line, name and SMILES before them.

    A text that a spreadsheet would read as a formula is quoted.
    """
    shown = [name for name in dict.fromkeys((spec.id, SMILES)) if name in table.columns]
    whole = tabulate(spec, answers)
    good = answers.reasons == ""
    if spec.smiles:
        near = neighbours(spec, table[SMILES].to_numpy()[good]).set_index(np.flatnonzero(good))
        whole = whole.join(near)[[*whole.columns[:-1], *near.columns, "reason"]]
    ours = ["line", *whole]  # which a column of names may be called
    names = distinct([*ours, *shown], ".", 1)[len(ours) :]
    given = {name: table[of].map(literal) for name, of in zip(names, shown, strict=True)}
    front = pd.DataFrame({"line": table[LINE], **given})
    joined = pd.concat([front.reset_index(drop=True), whole], axis=1)
    return str(joined.to_csv(index=False, float_format="%.4g", lineterminator="\n"))
