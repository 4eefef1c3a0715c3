"""The data of the flip explorer: every retraining's prediction for every test example, as scripts to load."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic_core import to_json

from benchmark.files import named, program
from benchmark.measure.basics import predicted_class
from benchmark.measure.catalogue import example_churn
from benchmark.store.cell import Record
from benchmark.types import Predictions
from leaderboard.read.jobs import Job, digests, made
from leaderboard.read.results import Dataset, Entry, Results
from leaderboard.read.structures import Molecules
from leaderboard.site import nearest

STEPS = 80
"""Steps in which the numbers of an example of a regression are shown, a character each; common to most examples."""
DIGITS = "0123456789abcdefghijklmnopqrstuv"
"""Digits for five retrainings each."""


def shards(dataset: Dataset) -> list[tuple[str, str, int]]:
    """Return the name, test set and canonical split of each file of predictions, by split."""
    return [(f"{seed}-{evalset}", evalset, seed) for seed in dataset.splits for evalset in dataset.evalsets]


def packed(
    of: Iterable[tuple[Dataset, Mapping[str, str], Molecules | None]], records: Sequence[Record]
) -> Iterator[list[tuple[str, str]]]:
    """Return the ``files`` of each dataset, from its known SMILES and molecules; other processes write them."""

    def job(dataset: Dataset, smiles: Mapping[str, str], known: Molecules | None) -> Job:
        near = {name: nearest.content(dataset, test, seed, known, records) for name, test, seed in shards(dataset)}
        code = [program("benchmark", "leaderboard"), dataset.name, digests(dataset), smiles, near]
        return Job(named("explorer", code, ".json"), _packed, (dataset, smiles, near))

    return map(json.loads, made(job(*one) for one in of))


def _packed(*given: Any) -> bytes:
    return json.dumps([*files(*given)]).encode()


def files(dataset: Dataset, smiles: Mapping[str, str], near: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield name and content of a dataset's files: predictions by split and test set, and what the view of one example
    adds (``near-…``) to what is ``near`` by the name of such a file.
    """
    for name, evalset, seed in shards(dataset):
        entries = [entry for entry in dataset.entries if seed in entry.cells]
        predictions = [entry.cells[seed].predictions[evalset] for entry in entries]
        yield f"{name}.js", script(name, _predictions(entries, predictions, smiles))
        more = dict(near.get(name, {}))
        if dataset.task == "classification":
            positive = [p.values[..., 1] for p in predictions]
            more["means"] = _characters(50 * np.array([p.mean(axis=0) for p in positive]))
            more["deviations"] = _characters(50 * np.array([p.std(axis=0) for p in positive]))
        yield f"near-{name}.js", script(f"near-{name}", more)


def index(results: Results, smiles: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    """Return what the search for molecules needs: datasets [name, title], and test examples [dataset, id, SMILES]."""
    rows: dict[tuple[int, str], list[object]] = {}
    for number, dataset in enumerate(results.datasets):
        _, evalset, seed = shards(dataset)[0]
        p = dataset.cell(seed).predictions[evalset]
        rows |= {(number, i): [number, i, smiles.get(dataset.name, {}).get(i)] for i in p.ids.tolist()}
    return {"datasets": [[d.name, d.title] for d in results.datasets], "rows": [*rows.values()]}


def _predictions(
    entries: Sequence[Entry], predictions: Sequence[Predictions], smiles: Mapping[str, str]
) -> dict[str, object]:
    first = predictions[0]
    classes = first.task == "classification"
    if classes and first.values.shape[-1] == 2:
        packed: dict[str, object] = {"strips": _bits(predictions)}  # from which the page counts flips
    elif classes:
        packed = {"strips": [_classes(p) for p in predictions], "rates": _rates(predictions, 100)}
    else:
        every = np.concatenate([p.values[..., 0] for p in predictions])
        low, ranges = every.min(axis=0), np.ptp(every, axis=0)
        steps = np.maximum(ranges, np.median(ranges)) / STEPS
        steps[steps == 0] = 1
        packed = {"strips": _characters((every - low) / steps), "rates": _rates(predictions)}
        packed |= {"low": _rounded(low, 7), "steps": _rounded(steps, 7), "span": float(np.quantile(ranges, 0.9)) or 1}
    return packed | {
        "ids": first.ids.tolist(),
        "y": first.y.tolist() if classes else _rounded(first.y, 7),
        "smiles": [smiles.get(i) for i in first.ids.tolist()],
        "methods": [
            {"title": entry.title, "slug": entry.slug, "seeds": p.seeds}
            for entry, p in zip(entries, predictions, strict=True)
        ],
    }


def _rates(predictions: Sequence[Predictions], times: float = 1) -> list[list[float]]:
    return [_rounded(np.nan_to_num(np.broadcast_to(example_churn(p), len(p.ids)) * times), 3) for p in predictions]


def _classes(p: Predictions) -> list[str]:
    return ["".join(map(str, row)) for row in np.minimum(predicted_class(p.values).T, 9).tolist()]


def _bits(predictions: Sequence[Predictions]) -> list[str]:
    """Return the classes, of two, of each example: for each method its retrainings, as ``DIGITS``."""
    rows = [predicted_class(p.values).T for p in predictions]
    padded = np.hstack([np.pad(row, ((0, 0), (0, -row.shape[1] % 5))) for row in rows])
    numbers = padded.reshape(len(padded), -1, 5) @ (1 << np.arange(5)[::-1])
    return ["".join(DIGITS[number] for number in row) for row in numbers.tolist()]


def _characters(steps: np.ndarray) -> list[str]:
    """Return a text for each of T examples, with a character for each of ``steps`` (R, T): "(" is 0."""
    return [bytes(row).decode("ascii") for row in (np.rint(steps).astype(np.uint8) + ord("(")).T]


def _rounded(values: np.ndarray, digits: int) -> list[float]:
    return [float(f"{x:.{digits}g}") for x in values.tolist()]


def script(name: str, content: object) -> str:
    """Return a script that hands ``content``, compressed, to the page's own, which works from file:// too.

    Bytes are JSON already.
    """
    made = content if isinstance(content, bytes) else to_json(content)
    return f'load({json.dumps(name)},"{base64.b64encode(gzip.compress(made, 4, mtime=0)).decode()}");\n'
