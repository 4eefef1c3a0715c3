"""The rules: what makes a folder of predictions a result on the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark import __version__
from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.measure.basics import predicted_class
from benchmark.run.protocol import CANONICAL_SEEDS, TRAIN_SEEDS, bootstrap_fingerprint
from benchmark.run.provenance import facts_of
from benchmark.store.cell import Cell, CellKey
from benchmark.store.cell import Submission as Said
from benchmark.types import REFERENCE, Predictions, Problem
from leaderboard.read.results import slug, submitted
from leaderboard.submission.read import Folder, PredictionFile, open_folder, read_table
from leaderboard.submission.spec import Description
from leaderboard.tables.boards import COLLAPSED

MAX_SPLITS = 5
MAX_SEEDS = 100
SAME = 1e-6
"""Two predictions that differ by no more are the same: of two retrainings, or of two submissions."""
SUM_TOLERANCE = 1e-3
STATUS = "self-reported"


class Refused(UserError):
    """A submission that breaks rules; one line for each."""


@dataclass(frozen=True)
class Submission:
    """A submission that keeps all rules, with its predictions as the harness would have recorded them."""

    method: str
    description: Description
    cells: tuple[Cell, ...]


def validate(path: Path, submissions: Path | None = None, published: Sequence[Cell] = ()) -> Submission:
    """The submission in the folder METHOD/VERSION at ``path``.

    The truth, the examples and the bootstraps come from the suite, never from the submission. It is compared with
    ``submissions``, the folder of all others, and with the ``published`` cells. Raises UserError for what cannot be
    read, and Refused with a line for each rule that is broken: file, row, expected and found.
    """
    folder = open_folder(path)
    if folder.manifest.suite.split(".")[:2] != __version__.split(".")[:2]:
        raise UserError(f"manifest.json: suite {folder.manifest.suite[:40]!r}, expected {__version__}: export again")
    cells: list[Cell] = []
    wrong: list[str] = []
    for dataset in folder.files:
        try:
            cells += _cells(folder, dataset)
        except UserError as error:
            wrong.append(str(error))
    others = [*_others(submissions, folder.method)] if submissions else []
    others += [cell for cell in published if not _own(cell, folder.method)]
    if folder.method in suite_methods(published):
        wrong.append(
            f"folder {folder.method!r}: is the name of a method of the suite, whose rows these would be taken for; "
            "choose another"
        )
    taken = {key: other.key.method for other in others for key in (slug(_name(other)), slug(other.title))}
    names = (folder.description.name, f"{folder.description.name} {folder.description.version} ({STATUS})")
    if method := next((taken[key] for key in map(slug, names) if key in taken), None):
        wrong.append(
            f"submission.yml: name: {folder.description.name!r} is that of {method!r}, or so like it that both would "
            "have one page; choose another"
        )
    wrong += [line for cell in cells for line in _copies(cell, others)]
    if wrong:
        raise Refused("\n".join(wrong))
    return Submission(folder.method, folder.description, tuple(cells))


def _cells(folder: Folder, dataset: str) -> list[Cell]:
    file = read_table(folder.path, dataset)
    listed = folder.manifest.files[file.name]
    if listed.sha256 != file.sha256:
        raise UserError(f"{file.name}: sha256 {file.sha256}, expected {listed.sha256} as manifest.json says")
    if listed.rows != len(file):
        raise UserError(f"{file.name}: {len(file)} rows, expected {listed.rows} as manifest.json says")
    _check_values(file)
    splits, seeds = _check_seeds(file)
    made = []
    for canonical_seed in splits:
        problem = load_problem(dataset, canonical_seed)
        truth = {"problems": problem.fingerprint, "bootstraps": bootstrap_fingerprint(problem, seeds)}
        for field, expected in truth.items():
            if (found := getattr(listed, field).get(canonical_seed)) != expected:
                raise UserError(
                    f"manifest.json: {file.name}: {field} of canonical seed {canonical_seed}: expected {expected}, "
                    f"found {found}: trained on other data or other bootstraps; export the protocol again"
                )
        of_split = np.flatnonzero(file.canonical_seed == canonical_seed)
        predictions = _aligned(file, of_split, problem, seeds)
        _check_retrainings(file.name, canonical_seed, predictions, dataset in folder.description.collapsed)
        made.append(_cell(folder, problem, seeds, predictions, file.sha256))
    return made


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
            f"{file.where(row)}: expected probabilities that are at least 0 and sum to 1 (tolerance {SUM_TOLERANCE}), "
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


def _check_seeds(file: PredictionFile) -> tuple[list[int], tuple[int, ...]]:
    splits, seeds = (sorted(map(int, np.unique(column))) for column in (file.canonical_seed, file.train_seed))
    for kind, found, needed, most in (
        ("canonical_seed", splits, CANONICAL_SEEDS, MAX_SPLITS),
        ("train_seed", seeds, TRAIN_SEEDS, MAX_SEEDS),
    ):
        if len(found) > most:
            raise UserError(f"{file.name}: {kind}: {len(found)} different seeds, at most {most} are allowed")
        if found[0] < 0 or found[-1] >= 2**32:
            raise UserError(f"{file.name}: {kind}: expected seeds from 0 to 2^32 - 1, found {found[0]}, {found[-1]}")
        if missing := sorted(set(needed) - set(found)):
            raise UserError(f"{file.name}: {kind}: expected {_list(needed)}, found {_list(found)}: no {missing[0]}")
    return splits, tuple(seeds)


def _list(seeds: Iterable[int]) -> str:
    shown = [str(seed) for seed in seeds]
    return ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")


def _aligned(
    file: PredictionFile, rows: np.ndarray, problem: Problem, seeds: tuple[int, ...]
) -> dict[str, Predictions]:
    """The rows of one split as predictions in the problem's order; every example of every run exactly once."""
    sets = {name: i for i, name in enumerate(problem.evals)}
    evalset = np.array([sets.get(str(name), -1) for name in file.evalset_texts])[file.evalset[rows]]
    if (evalset < 0).any():
        row = int(rows[(evalset < 0).argmax()])
        raise UserError(f"{file.where(row)}: evalset: expected {' or '.join(sets)}")
    run = np.searchsorted(seeds, file.train_seed[rows])
    found = {}
    for name, test in problem.evals.items():
        place = {example: i for i, example in enumerate(test.ids.tolist())}
        known = np.array([place.get(str(text), -1) for text in file.example_texts])
        here = np.flatnonzero(evalset == sets[name])
        example = known[file.example[rows[here]]]
        if (example < 0).any():
            row = int(rows[here[(example < 0).argmax()]])
            raise UserError(f"{file.where(row)}: expected the id of an example of this test set; see test.parquet")
        cell = run[here] * len(test) + example
        count = np.bincount(cell, minlength=len(seeds) * len(test))
        if count.max(initial=0) > 1:
            first, second = here[cell == count.argmax()][:2]
            raise UserError(f"{file.where(int(rows[second]))}: is there already, in row {rows[first]}; expected once")
        if count.min() == 0:
            s, t = divmod(int(count.argmin()), len(test))
            raise UserError(
                f"{file.name}: canonical seed {problem.canonical_seed}, train seed {seeds[s]}, {name!r}: expected "
                f"{len(test)} examples, found {int((run[here] == s).sum())}: no row for example {str(test.ids[t])!r}"
            )
        values = np.empty((len(seeds) * len(test), file.values.shape[1]), dtype=np.float32)
        values[cell] = file.values[rows[here]]
        try:
            found[name] = Predictions.of(problem, name, seeds, values.reshape(len(seeds), len(test), -1))
        except ValueError as error:  # a float64 that no float32 can hold
            raise UserError(f"{file.name}: {name!r}: {error}") from error
    return found


def _check_retrainings(name: str, split: int, predictions: Mapping[str, Predictions], marked: bool) -> None:
    """A model that does not look at its bootstrap has no churn to measure, and a constant one has none to show."""
    where = f"{name}, canonical seed {split}"
    for evalset, p in predictions.items():
        if not marked and _constant(p):
            raise UserError(
                f"{where}, {evalset!r}: expected predictions that depend on the example, found the same for at least "
                f"{COLLAPSED:.0%} of all: name the dataset in 'collapsed' of submission.yml if this is meant"
            )
    values = np.concatenate([p.values for p in predictions.values()], axis=1)
    seeds = next(iter(predictions.values())).seeds
    for i, j in _equal_runs(values, values):
        if i < j and not marked:
            raise UserError(
                f"{where}: train seeds {seeds[i]} and {seeds[j]} have identical predictions for all "
                f"{values.shape[1]} examples; expected a model retrained on the bootstrap of each seed"
            )


def _constant(p: Predictions) -> bool:
    if p.task == "regression":
        return bool(np.ptp(p.values, axis=1).max() <= SAME)
    return bool(np.bincount(predicted_class(p.values).ravel()).max() / p.values[..., 0].size >= COLLAPSED)


def _equal_runs(a: np.ndarray, b: np.ndarray) -> Iterator[tuple[int, int]]:
    """Which runs of ``a`` (S, T, C) and of ``b`` (S', T, C) are the same."""
    for i, run in enumerate(a):
        near = np.abs(b[:, :8] - run[:8]).max(axis=(1, 2)) <= SAME  # most differ at once
        yield from ((i, int(j)) for j in np.flatnonzero(near) if np.abs(b[j] - run).max() <= SAME)


def _others(submissions: Path, method: str) -> Iterator[Cell]:
    """What other methods have submitted; what is kept there was valid when it came."""
    for path in sorted(submissions.glob("*/*/submission.yml")):
        if path.parent.parent.name != method:
            try:
                other = open_folder(path.parent)
                found = [cell for dataset in other.files for cell in _cells(other, dataset)]
            except UserError as error:
                raise UserError(
                    f"{path.parent}, another submission, which this one is compared with: {error}; mend it or take it "
                    "out of the folder of submissions"
                ) from error
            yield from found


def suite_methods(published: Iterable[Cell]) -> set[str]:
    """The names that no submission may have: of the reference, and of what the suite published of its own runs."""
    return {REFERENCE, *(cell.key.method for cell in published if not submitted(cell))}


def _own(published: Cell, method: str) -> bool:
    """Whether a published cell is an earlier submission of ``method``, which may be handed in again."""
    return published.key.method == method and submitted(published)


def _name(cell: Cell) -> str:
    return cell.facts.submission.name if cell.facts.submission else cell.title


def _copies(cell: Cell, others: Iterable[Cell]) -> Iterator[str]:
    for other in others:
        same = (other.key.dataset, other.key.problem) == (cell.key.dataset, cell.key.problem)
        for evalset, p in cell.predictions.items() if same else ():
            for i, j in _equal_runs(p.values, other.predictions[evalset].values):
                yield (
                    f"predictions/{cell.key.dataset}.parquet: train seed {p.seeds[i]}, {evalset!r}: the same as train "
                    f"seed {other.key.seeds[j]} of {other.key.method!r}; expected predictions of its own"
                )
                return


def _cell(
    folder: Folder, problem: Problem, seeds: tuple[int, ...], predictions: Mapping[str, Predictions], sha256: str
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
    )
    said = Said(
        status=STATUS,
        name=text.name,
        authors=", ".join(text.authors),
        licence=text.licence,
        compute=text.compute,
        training_data=text.training_data,
        sha256=sha256,
        code=text.code or "",
        paper=text.paper or "",
        superseded_by=text.superseded_by or "",
    )
    command = f"python -m leaderboard submit submissions/{folder.method}/{text.version}"
    unknown = {"versions": {"suite": __version__}, "commit": "unknown", "modified": None, "device": "unknown"}
    facts = facts_of(problem, command).model_copy(update=unknown | {"submission": said})
    title = f"{text.name} {text.version} ({STATUS})"
    return Cell(key, title, predictions, float("nan"), facts)
