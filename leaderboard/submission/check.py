"""The rules that a folder of predictions must meet to enter the leaderboard."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark import __version__
from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.run.protocol import CANONICAL_SEEDS, TRAIN_SEEDS, samples_fingerprint
from benchmark.run.provenance import facts_of
from benchmark.settings import lone_halves
from benchmark.store.cell import Cell, CellKey
from benchmark.store.cell import Submission as SubmissionFacts
from benchmark.types import REFERENCE, Predictions, Problem, Sampling
from leaderboard.read.results import slug, submitted
from leaderboard.submission.audit import comparable, copied, marks
from leaderboard.submission.read import Folder, PredictionFile, file_of, open_folder, read_table
from leaderboard.submission.spec import Description
from leaderboard.tables.boards import COLLAPSED, SUSPICIONS, constant

MAX_SPLITS = 5
MAX_SEEDS = 100
SAME = 1e-6
"""Largest difference between the predictions of two retrainings that count as identical."""
NEAR = 0.01
"""Mean difference between the runs of a halving, in standard deviations of the predictions over the examples, that is
too small for two models without a common training row: the smallest of any published halving is 0.2."""
SUM_TOLERANCE = 1e-3
STATUS = "self-reported"


class Refused(UserError):
    """A submission that breaks rules, with a line for each."""


@dataclass(frozen=True)
class Submission:
    """A submission that meets all rules, with its predictions as the harness would have recorded them."""

    method: str
    description: Description
    cells: tuple[Cell, ...]

    @property
    def remarks(self) -> list[str]:
        """A line for each mark of a file: these results are not ranked there."""
        marked = {
            file_of(cell.key.sampling, cell.key.dataset): cell.facts.submission.marks.split()
            for cell in self.cells
            if cell.facts.submission
        }
        return [f"{file}: marked, not ranked. {SUSPICIONS[mark]}" for file, marks in marked.items() for mark in marks]


def validate(path: Path, submissions: Path | None = None, published: Sequence[Cell] = ()) -> Submission:
    """Read and check the submission in the folder METHOD/VERSION at ``path``.

    The truth, the examples and the training rows come from the suite, never from the submission. It is compared with
    ``submissions``, the folder of all others, and with the ``published`` cells. Raises UserError for unreadable files,
    and Refused with a line for each broken rule: file, row, expected and found.
    """
    folder = open_folder(path)
    if folder.manifest.suite.split(".")[:2] != __version__.split(".")[:2]:
        raise UserError(
            f"manifest.json: suite {folder.manifest.suite[:40]!r}, expected {__version__}: export the protocol again "
            "with this version"
        )
    cells: list[Cell] = []
    errors: list[str] = []
    for sampling, dataset in folder.files:
        try:
            cells += _cells(folder, sampling, dataset)
        except UserError as error:
            errors.append(str(error))
    halved = _under_halves(folder)
    if halved and (lacking := next((file for file in folder.files if file[1] not in halved), None)):
        errors.append(
            f"{file_of(*lacking)}: {lacking[1]} has no results under halves, but {halved[0]} has: add "
            f"{file_of('halves', lacking[1])}, or submit {lacking[1]} as another version"
        )
    others = [*_others(submissions, folder.method)] if submissions else []
    others += [
        cell for cell in published if not (cell.key.method == folder.method and submitted(cell))
    ]  # a resubmission
    if folder.method in suite_methods(published):
        errors.append(f"folder {folder.method!r}: this name belongs to a method of the suite; choose another")
    taken = {key: other.key.method for other in others for key in (slug(_name(other)), slug(other.title))}
    names = (folder.description.name, _title(folder))
    if method := next((taken[key] for key in map(slug, names) if key in taken), None):
        errors.append(
            f"submission.yml: name: {folder.description.name!r} is taken by {method!r}, or so similar that both "
            "pages would have the same address; choose another"
        )
    errors += [line for cell in cells for line in _copies(cell, others)]
    if errors:
        raise Refused("\n".join(errors))
    return Submission(folder.method, folder.description, tuple(_marked(cell, others) for cell in cells))


def _under_halves(folder: Folder) -> list[str]:
    return [dataset for sampling, dataset in folder.files if sampling == "halves"]


def _title(folder: Folder) -> str:
    """Return the title of a submission's rows, which says so if its retrainings were never independent samples."""
    mark = "" if _under_halves(folder) else ", not under halves"
    return f"{folder.description.name} {folder.description.version} ({STATUS}{mark})"


def _cells(folder: Folder, sampling: Sampling, dataset: str) -> list[Cell]:
    file = read_table(folder.path, sampling, dataset)
    listed = folder.manifest.files[file.name]
    if listed.sha256 != file.sha256:
        raise UserError(f"{file.name}: sha256 {file.sha256}, expected {listed.sha256} as in manifest.json")
    if listed.rows != len(file):
        raise UserError(f"{file.name}: {len(file)} rows, expected {listed.rows} as in manifest.json")
    _check_values(file)
    splits, seeds = _check_seeds(file, sampling)
    cells = []
    for canonical_seed in splits:
        problem = load_problem(dataset, canonical_seed)
        truth = {"problems": problem.fingerprint, "samples": samples_fingerprint(problem, sampling, seeds)}
        for field, expected in truth.items():
            if (value := getattr(listed, field).get(canonical_seed)) != expected:
                raise UserError(
                    f"manifest.json: {file.name}: {field} of canonical seed {canonical_seed}: expected {expected}, "
                    f"found {value}: the manifest comes from a protocol with other data, training rows or train seeds; "
                    "export the protocol again, retrain, and write the manifest again"
                )
        of_split = np.flatnonzero(file.canonical_seed == canonical_seed)
        predictions = _aligned(file, of_split, problem, seeds)
        may_collapse = dataset in folder.description.collapsed
        _check_retrainings(f"{file.name}, canonical seed {canonical_seed}", predictions, sampling, may_collapse)
        cells.append(_cell(folder, problem, sampling, seeds, predictions, file.sha256))
    return cells


def _check_values(file: PredictionFile) -> None:
    if not (finite := np.isfinite(file.values)).all():
        row, c = (int(i) for i in np.argwhere(~finite)[0])
        raise UserError(f"{file.where(row)}: expected finite numbers, found {file.values[row, c]}")
    if file.values.shape[1] == 1:
        return
    values = file.values.astype(np.float64)
    off = np.maximum(np.abs(values.sum(axis=1) - 1), -values.min(axis=1))
    if off.max() > SUM_TOLERANCE:
        row = int(np.argmax(off > SUM_TOLERANCE))
        raise UserError(
            f"{file.where(row)}: expected probabilities of at least 0 that sum to 1 (tolerance {SUM_TOLERANCE}), "
            f"found {file.values[row].tolist()}"
        )
    if file.label is None:
        return
    inside = (file.label >= 0) & (file.label < values.shape[1])
    given = np.take_along_axis(values, np.where(inside, file.label, 0)[:, None], axis=1)[:, 0]
    disagree = ~inside | (given < values.max(axis=1) - SAME)
    if disagree.any():
        row = int(disagree.argmax())
        raise UserError(
            f"{file.where(row)}: y_pred: expected {values[row].argmax()}, the most probable class of "
            f"{file.values[row].tolist()}, found {file.label[row]}"
        )


def _check_seeds(file: PredictionFile, sampling: Sampling) -> tuple[list[int], tuple[int, ...]]:
    splits, seeds = (sorted(map(int, np.unique(column))) for column in (file.canonical_seed, file.train_seed))
    for kind, given, needed, most in (
        ("canonical_seed", splits, CANONICAL_SEEDS, MAX_SPLITS),
        ("train_seed", seeds, TRAIN_SEEDS[sampling], MAX_SEEDS),
    ):
        if len(given) > most:
            raise UserError(f"{file.name}: {kind}: {len(given)} different seeds; at most {most} are allowed")
        if given[0] < 0 or given[-1] >= 2**32:
            raise UserError(f"{file.name}: {kind}: expected seeds from 0 to 2^32 - 1, found {given[0]}, {given[-1]}")
        if missing := sorted(set(needed) - set(given)):
            raise UserError(f"{file.name}: {kind}: expected {_list(needed)}, found {_list(given)}: no {missing[0]}")
    if sampling == "halves" and (alone := lone_halves(seeds)):
        raise UserError(
            f"{file.name}: train_seed: expected both train seeds of each halving, 2j-1 and 2j; found {_list(alone)} "
            "without the other seed of the halving: add the missing seeds, or remove these"
        )
    return splits, tuple(seeds)


def _list(seeds: Iterable[int]) -> str:
    shown = [str(seed) for seed in seeds]
    return ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")


def _aligned(
    file: PredictionFile, rows: np.ndarray, problem: Problem, seeds: tuple[int, ...]
) -> dict[str, Predictions]:
    """Arrange the rows of one split in the problem's order, with every example of every run exactly once."""
    sets = {name: i for i, name in enumerate(problem.evals)}
    evalset = np.array([sets.get(str(name), -1) for name in file.evalset_texts])[file.evalset[rows]]
    if (evalset < 0).any():
        row = int(rows[(evalset < 0).argmax()])
        raise UserError(f"{file.where(row)}: evalset: expected {' or '.join(sets)}")
    run = np.searchsorted(seeds, file.train_seed[rows])
    predictions = {}
    for name, test in problem.evals.items():
        place = {example: i for i, example in enumerate(test.ids.tolist())}
        position = np.array([place.get(str(text), -1) for text in file.example_id_texts])
        of_set = np.flatnonzero(evalset == sets[name])
        example = position[file.example_id[rows[of_set]]]
        if (example < 0).any():
            row = int(rows[of_set[(example < 0).argmax()]])
            raise UserError(f"{file.where(row)}: expected the id of an example of this test set; see test.parquet")
        cell = run[of_set] * len(test) + example
        count = np.bincount(cell, minlength=len(seeds) * len(test))
        if count.max(initial=0) > 1:
            first, second = of_set[cell == count.argmax()][:2]
            raise UserError(f"{file.where(int(rows[second]))}: duplicates row {rows[first]}; expected once")
        if count.min() == 0:
            s, t = divmod(int(count.argmin()), len(test))
            raise UserError(
                f"{file.name}: canonical seed {problem.canonical_seed}, train seed {seeds[s]}, {name!r}: expected "
                f"{len(test)} examples, found {int((run[of_set] == s).sum())}: no row for example {str(test.ids[t])!r}"
            )
        values = np.empty((len(seeds) * len(test), file.values.shape[1]), dtype=np.float32)
        values[cell] = file.values[rows[of_set]]
        try:
            predictions[name] = Predictions.of(problem, name, seeds, values.reshape(len(seeds), len(test), -1))
        except ValueError as error:  # a float64 that no float32 can hold
            raise UserError(f"{file.name}: {name!r}: {error}") from error
    return predictions


def _check_retrainings(
    where: str, predictions: Mapping[str, Predictions], sampling: Sampling, may_collapse: bool
) -> None:
    """Refuse constant predictions and retrainings that are the same: neither has a meaningful churn."""
    if may_collapse and all(map(constant, predictions.values())):
        return
    for evalset, p in predictions.items():
        if constant(p) and not may_collapse:
            raise UserError(
                f"{where}, {evalset!r}: expected predictions that depend on the example, found the same for at least "
                f"{COLLAPSED:.0%} of all: if intended, add the dataset to 'collapsed' in submission.yml"
            )
    values = np.concatenate([p.values for p in predictions.values()], axis=1)
    first = next(iter(predictions.values()))
    if same := next(((i, j) for i, j in _equal_runs(values, values) if i < j), None):
        i, j = (first.seeds[run] for run in same)
        raise UserError(
            f"{where}: train seeds {i} and {j} have identical predictions for all {values.shape[1]} examples; expected "
            "a model of its own for each seed, trained on the rows of that seed alone"
        )
    if sampling == "halves" and (apart := _apart(first.seeds, values)) <= NEAR:
        raise UserError(
            f"{where}: in every halving, the predictions of the two runs differ by at most {apart:.1g} of their "
            f"standard deviation; expected more than {NEAR} in at least one halving, because the two runs must have no "
            "training row in common: train the model of each seed on its own training file, never on both files of a "
            "halving"
        )


def _apart(seeds: Sequence[int], values: np.ndarray) -> float:
    """Return the mean difference between the two runs of the halving where it is largest, in standard deviations."""
    run = {seed: values[i].astype(np.float64) for i, seed in enumerate(seeds)}
    pairs = [(run[seed], run[seed + 1]) for seed in seeds if seed % 2]
    with np.errstate(divide="ignore"):  # two different constants are infinitely far apart
        return float(max(np.abs(a - b).mean() / np.mean([a.std(axis=0), b.std(axis=0)]) for a, b in pairs))


def _equal_runs(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the pairs of identical runs of ``a`` (S, T, C) and ``b`` (S', T, C)."""
    for i, run in enumerate(a):
        near = np.abs(b[:, :8] - run[:8]).max(axis=(1, 2)) <= SAME  # most differ early
        yield from ((i, int(j)) for j in np.flatnonzero(near) if np.abs(b[j] - run).max() <= SAME)


def _others(submissions: Path, method: str) -> Iterator[Cell]:
    """Yield the cells submitted by other methods, which were valid when accepted."""
    for path in sorted(submissions.glob("*/*/submission.yml")):
        if path.parent.parent.name != method:
            try:
                other = open_folder(path.parent)
                cells = [cell for sampling, dataset in other.files for cell in _cells(other, sampling, dataset)]
            except UserError as error:
                raise UserError(
                    f"{path.parent}, another submission to compare with: {error}; repair it or remove it from the "
                    "folder of submissions"
                ) from error
            yield from cells


def suite_methods(published: Iterable[Cell]) -> set[str]:
    """Return the names reserved for the suite: the reference, and the methods of its published runs."""
    return {REFERENCE, *(cell.key.method for cell in published if not submitted(cell))}


def _name(cell: Cell) -> str:
    return cell.facts.submission.name if cell.facts.submission else cell.title


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
    """Return the cell with the marks that its predictions earn."""
    assert cell.facts.submission is not None
    found = " ".join(marks(cell, others))
    return cell.with_facts(submission=cell.facts.submission.model_copy(update={"marks": found}))


def _cell(
    folder: Folder,
    problem: Problem,
    sampling: Sampling,
    seeds: tuple[int, ...],
    predictions: Mapping[str, Predictions],
    sha256: str,
) -> Cell:
    text = folder.description
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
    submission = SubmissionFacts(
        status=STATUS,
        authors=", ".join(text.authors),
        sha256=sha256,
        **text.model_dump(exclude={"authors", "version", "description", "collapsed"}, exclude_none=True),
    )
    command = f"churn submit submissions/{folder.method}/{text.version}"
    unknown = {"versions": {"suite": __version__}, "commit": "unknown", "modified": None, "device": "unknown"}
    facts = facts_of(problem, command).model_copy(update=unknown | {"submission": submission})
    return Cell(key, _title(folder), predictions, float("nan"), facts)
