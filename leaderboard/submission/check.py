"""The rules that a folder of predictions must meet to enter the leaderboard."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from benchmark import __version__
from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.run.check import SAME as NEAR
from benchmark.run.check import apart
from benchmark.run.protocol import CANONICAL_SEEDS, MOST_SEEDS, MOST_SPLITS, TRAIN_SEEDS, protocol_fingerprint
from benchmark.run.provenance import facts_of
from benchmark.settings import refuse_lone_halves
from benchmark.store.cell import Cell, CellKey
from benchmark.store.cell import Submission as SubmissionFacts
from benchmark.types import PAPER, REFERENCE, Predictions, Problem, Sampling
from leaderboard.read.results import slug, submitted
from leaderboard.submission.audit import comparable, copied, marks
from leaderboard.submission.read import Folder, file_of, folders, open_folder, read_table
from leaderboard.submission.spec import Description
from leaderboard.tables.boards import COLLAPSED, SUSPICIONS, constant

SAME = 1e-6
"""Largest difference between the predictions of two retrainings that count as identical."""
SUM_TOLERANCE = 1e-3
STATUS = "self-reported"


@dataclass(frozen=True)
class Submission:
    """A submission that meets all rules, with its predictions as the harness would have recorded them."""

    method: str
    description: Description
    cells: tuple[Cell, ...]

    @property
    def remarks(self) -> list[str]:
        """A line for each mark of a file: these results are not ranked there."""
        lines = (
            f"{file_of(cell.key.sampling, cell.key.dataset)}: marked, not ranked. {SUSPICIONS[mark]}"
            for cell in self.cells
            if (of := cell.facts.submission)
            for mark in of.marks.split()
        )
        return [*dict.fromkeys(lines)]


def validate(path: Path, submissions: Path | None = None, published: Sequence[Cell] = ()) -> Submission:
    """Read and check the submission in the folder METHOD/VERSION at ``path``.

    The truth, the examples and the training rows come from the suite, never from the submission. It is compared with
    ``submissions``, the folder of all others, and with the ``published`` cells. Raises UserError for unreadable files,
    and with a line for each broken rule: file, row, expected and found.
    """
    folder = open_folder(path)
    cells: list[Cell] = []
    errors: list[str] = []
    for file in folder.files:
        try:
            cells += _cells(folder, *file)
        except UserError as error:
            errors.append(str(error))
    halved = _under_halves(folder)
    if halved and (lacking := next((dataset for _, dataset in folder.files if dataset not in halved), "")):
        errors.append(
            f"{lacking} has no results under halves, but {halved[0]} has: add {file_of('halves', lacking)}, or submit "
            f"{lacking} as another version"
        )
    others = [*_others(submissions, folder.method)] if submissions else []
    # An earlier version of this submission is no other one.
    others += [cell for cell in published if not (cell.key.method == folder.method and submitted(cell))]
    if folder.method in {REFERENCE, *(cell.key.method for cell in published if not submitted(cell))}:
        errors.append(f"folder {folder.method!r}: this name belongs to a method of the suite; choose another")
    taken = {slug(cell.title): cell.key.method for cell in others}
    taken |= {slug(of.name): cell.key.method for cell in others if (of := cell.facts.submission)}
    if method := taken.get(slug(folder.description.name)) or taken.get(slug(_title(folder))):
        errors.append(
            f"submission.yml: name: {folder.description.name!r} is taken by {method!r}, or so similar that both "
            "pages would have the same address; choose another"
        )
    errors += [line for cell in cells for line in _copies(cell, others)]
    if errors:
        raise UserError("\n".join(errors))
    return Submission(folder.method, folder.description, tuple(_marked(cell, others) for cell in cells))


def _under_halves(folder: Folder) -> list[str]:
    return [dataset for sampling, dataset in folder.files if sampling == "halves"]


def _title(folder: Folder) -> str:
    """Return the title of a submission's rows, which says so if its retrainings were never independent samples."""
    mark = "" if _under_halves(folder) else ", not under halves"
    return f"{folder.description.name} {folder.description.version} ({STATUS}{mark})"


def _cells(folder: Folder, sampling: Sampling, dataset: str) -> Iterator[Cell]:
    """Yield the cells of a file, one for each canonical seed. Raises UserError for the first rule that it breaks."""
    text, name = folder.description, file_of(sampling, dataset)
    rows, sha256 = read_table(folder.path, sampling, dataset)
    _check_values(name, rows)
    splits, seeds = _check_seeds(name, rows, sampling)
    problems = [load_problem(dataset, canonical_seed) for canonical_seed in splits]
    expected = protocol_fingerprint(problems, sampling, seeds)
    if (given := text.protocols.get(f"{sampling}/{dataset}")) != expected:
        raise UserError(
            f"submission.yml: protocols: {sampling}/{dataset}: expected {expected}, found {given}: give the "
            "fingerprint that export-protocol has printed; if that is another, its data, training rows or seeds are "
            "not those of this version and these predictions: export the protocol again and retrain"
        )
    own = text.model_dump(exclude={"authors", "version", "description", "protocols", "collapsed"}, exclude_none=True)
    submission = SubmissionFacts(status=STATUS, authors=", ".join(text.authors), sha256=sha256, **own)
    known = {"versions": {"suite": __version__}, "commit": "unknown", "modified": None, "device": "unknown"}
    command = f"churn submit submissions/{folder.method}/{text.version}"
    for problem in problems:
        of_split = rows[rows["canonical_seed"] == problem.canonical_seed]
        predictions = _aligned(name, of_split, problem, seeds)
        may_collapse = dataset in text.collapsed
        check_retrainings(f"{name}, canonical seed {problem.canonical_seed}", predictions, sampling, may_collapse)
        key = CellKey(
            dataset=problem.name,
            method=folder.method,
            params={"version": text.version},
            canonical_seed=problem.canonical_seed,
            seeds=seeds,
            problem=problem.fingerprint,
            code=sha256[:16],
            device="unknown",
            sampling=sampling,
        )
        facts = facts_of(problem, command).model_copy(update=known | {"submission": submission})
        yield Cell(key, _title(folder), predictions, float("nan"), facts)


def _where(name: str, row: pd.Series) -> str:
    """Name a row, counted from 0."""
    return (
        f"{name}, row {row.name} (canonical seed {row['canonical_seed']}, train seed {row['train_seed']}, "
        f"{str(row['evalset'])[:20]!r}, example {str(row['example_id'])[:80]!r})"
    )


def _numbers(rows: pd.DataFrame) -> np.ndarray:
    return rows[[column for column in ("p0", "p1", "y_pred") if column in rows]].to_numpy()


def _check_values(name: str, rows: pd.DataFrame) -> None:
    values = _numbers(rows).astype(np.float64)
    wrong, expected = ~np.isfinite(values).all(axis=1), "finite numbers"
    if values.shape[1] > 1:
        with np.errstate(invalid="ignore"):
            wrong |= (np.abs(values.sum(axis=1) - 1) > SUM_TOLERANCE) | (values.min(axis=1) < -SUM_TOLERANCE)
        expected = f"finite probabilities of at least 0 that sum to 1 (tolerance {SUM_TOLERANCE})"
    if wrong.any():
        first = int(wrong.argmax())
        raise UserError(f"{_where(name, rows.iloc[first])}: expected {expected}, found {values[first].tolist()}")


def _check_seeds(name: str, rows: pd.DataFrame, sampling: Sampling) -> tuple[list[int], tuple[int, ...]]:
    splits, seeds = (sorted(map(int, rows[column].unique())) for column in ("canonical_seed", "train_seed"))
    for kind, given, needed, most in (
        ("canonical_seed", splits, CANONICAL_SEEDS, MOST_SPLITS),
        ("train_seed", seeds, TRAIN_SEEDS[sampling], MOST_SEEDS),
    ):
        missing = sorted(set(needed) - set(given))
        if len(given) > most or given[0] < 0 or given[-1] >= 2**32 or missing:
            shown = ", ".join(map(str, given[:20])) + (", …" if len(given) > 20 else "")
            raise UserError(
                f"{name}: {kind}: expected {', '.join(map(str, needed))}, and at most {most} seeds from 0 to 2^32 - 1, "
                f"found {shown}{f': no {missing[0]}' if missing else ''}"
            )
    try:
        refuse_lone_halves(seeds, sampling)
    except UserError as error:
        raise UserError(f"{name}: train_seed: {error}") from error
    return splits, tuple(seeds)


def _aligned(name: str, rows: pd.DataFrame, problem: Problem, seeds: tuple[int, ...]) -> dict[str, Predictions]:
    """Arrange the rows of one split in the problem's order, with every example of every run exactly once."""
    tests = [(evalset, example) for evalset, test in problem.evals.items() for example in test.ids.tolist()]
    of_row = pd.MultiIndex.from_frame(rows[["evalset", "example_id"]])
    example = pd.MultiIndex.from_tuples(tests).get_indexer(of_row)
    if (example < 0).any():
        where = _where(name, rows.iloc[int((example < 0).argmax())])
        raise UserError(f"{where}: expected the test set and id of an example in test.parquet")
    place = np.searchsorted(seeds, rows["train_seed"]) * len(tests) + example
    count = np.bincount(place, minlength=len(seeds) * len(tests))
    if count.max(initial=0) > 1:
        first, second = np.flatnonzero(place == count.argmax())[:2]
        raise UserError(f"{_where(name, rows.iloc[second])}: duplicates row {rows.index[first]}; expected once")
    if count.min() == 0:
        run, missing = divmod(int(count.argmin()), len(tests))
        raise UserError(
            f"{name}: canonical seed {problem.canonical_seed}, train seed {seeds[run]}: expected {len(tests)} "
            f"examples, found {count.reshape(-1, len(tests))[run].sum()}: no row for {tests[missing]}"
        )
    with np.errstate(over="ignore"):  # a float64 that no float32 can hold is refused below
        values = _numbers(rows)[np.argsort(place)].reshape(len(seeds), len(tests), -1).astype(np.float32)
    return by_test(name, problem, seeds, values)


def by_test(
    where: str, problem: Problem, seeds: tuple[int, ...], values: np.ndarray, sampling: Sampling = PAPER
) -> dict[str, Predictions]:
    """Return values (S, T, C) for the examples of all tests as predictions by test. Raises UserError."""
    ends = np.cumsum([len(test) for test in problem.evals.values()])[:-1]
    try:
        parts = zip(problem.evals, np.split(values, ends, axis=1), strict=True)
        return {evalset: Predictions.of(problem, evalset, seeds, part, sampling) for evalset, part in parts}
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def check_retrainings(
    where: str, predictions: Mapping[str, Predictions], sampling: Sampling, may_collapse: bool
) -> None:
    """Refuse constant predictions and retrainings that are all alike: neither has a meaningful churn.

    Raises UserError. Of halves, the two retrainings of each halving are compared.
    """
    if may_collapse and all(map(constant, predictions.values())):
        return
    for evalset, p in predictions.items():
        if constant(p) and not may_collapse:
            raise UserError(
                f"{where}, {evalset!r}: expected predictions that depend on the example, found the same for at least "
                f"{COLLAPSED:.0%} of all: if intended, add the dataset to 'collapsed' in submission.yml"
            )
    values = np.concatenate([p.values for p in predictions.values()], axis=1)
    seeds = next(iter(predictions.values())).seeds
    for i, j in combinations(range(len(seeds)), 2):
        first, second = values[i], values[j]
        # most differ early
        if np.abs(first[:8] - second[:8]).max() <= SAME and np.abs(first - second).max() <= SAME:
            raise UserError(
                f"{where}: train seeds {seeds[i]} and {seeds[j]} have identical predictions for all {len(first)} "
                "examples; expected a model of its own for each seed, trained on the rows of that seed alone"
            )
    step = 2 if sampling == "halves" else 1
    largest = max(apart(values[i], values[i + 1]) for i in range(0, len(values) - 1, step))
    if largest <= NEAR:
        raise UserError(
            f"{where}: the predictions of two retrainings on different rows differ by at most {largest:.1g} of their "
            f"standard deviation; expected more than {NEAR} at least once: train the model of each seed on its own "
            "training file, never on both files of a halving"
        )


def _others(submissions: Path, method: str) -> Iterator[Cell]:
    """Yield the cells submitted by other methods, which were valid when accepted."""
    for path in folders(submissions):
        if path.parent.name != method:
            try:
                other = open_folder(path)
                cells = [cell for file in other.files for cell in _cells(other, *file)]
            except UserError as error:
                raise UserError(
                    f"{path}, another submission to compare with: {error}; repair it or remove it from the "
                    "folder of submissions"
                ) from error
            yield from cells


def _copies(cell: Cell, others: Iterable[Cell]) -> Iterator[str]:
    file = file_of(cell.key.sampling, cell.key.dataset)
    for other in others:
        for evalset, p in cell.predictions.items() if comparable(cell, other) else ():
            if found := copied(p, other.predictions[evalset]):
                i, j = found
                yield (
                    f"{file}: train seed {p.seeds[i]}, {evalset!r}: the same as train "
                    f"seed {other.key.seeds[j]} of {other.key.method!r} apart from noise; expected original predictions"
                )
                return


def _marked(cell: Cell, others: Sequence[Cell]) -> Cell:
    assert cell.facts.submission is not None
    found = " ".join(marks(cell, others))
    return cell.with_facts(submission=cell.facts.submission.model_copy(update={"marks": found}))
