"""Properties of datasets that say what churn to expect: from local data, otherwise from the published file."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmark.data.checks.expected_churn import Properties, published
from benchmark.data.spec import known_spec, load_spec
from benchmark.errors import UserError
from benchmark.files import named, program
from leaderboard.read.jobs import Job, made
from leaderboard.read.results import Dataset

SPLIT = 99
"""Canonical split whose properties count, as in the paper; otherwise, the first of a dataset."""


def split_of(dataset: Dataset) -> int:
    """Return the canonical split whose properties count."""
    return min(dataset.splits, key=lambda split: (split != SPLIT, split))


def of_datasets(datasets: Sequence[Dataset]) -> dict[str, Properties | None]:
    """Return the properties of ``datasets`` by name; None for those without data, here or published, and for images.

    Nothing is downloaded. Published ones and local data count if their fingerprint is that of the results.
    """
    for dataset in datasets:
        known = published()[1].get(dataset.name)
        if known and known.problem == _problem(dataset):
            dataset.computed.setdefault("properties", known)
    fresh = {d.name: d for d in datasets if "properties" not in d.computed}
    here = {name: d for name, d in fresh.items() if _here(name)}
    for dataset in fresh.values():
        dataset.computed["properties"] = None
    jobs = {name: Job(_name(d), _computed, (name, split_of(d), _problem(d))) for name, d in here.items()}
    for name, content in zip(jobs, made(jobs.values()), strict=True):
        fields = json.loads(content)
        fresh[name].computed["properties"] = fields and Properties(**fields)
    return {dataset.name: dataset.computed.get("properties") for dataset in datasets}


def _problem(dataset: Dataset) -> str:
    split = split_of(dataset)
    return next(entry.cells[split].key.problem for entry in dataset.entries if split in entry.cells)


def _here(name: str) -> bool:
    """Return whether the unaltered file of a registered dataset is on this machine."""
    from benchmark.data.downloads import locate, verified

    spec = known_spec(name)
    if spec is None or spec.source.startswith("hf:"):
        return False
    try:
        if (path := locate(spec)) is None:
            return False
        verified(path, spec)  # an altered file would be downloaded again
    except UserError:
        return False
    return True


def _name(dataset: Dataset) -> str:
    from rdkit import rdBase

    return named(
        "properties",
        [program("benchmark", "leaderboard"), rdBase.rdkitVersion, dataset.name, _problem(dataset)],
        ".json",
    )


def _computed(name: str, split: int, problem: str) -> bytes:
    """Return the properties of a dataset as JSON; ``null`` if its data are not those of the fingerprint ``problem``."""
    from benchmark.data.checks.health import examine  # RDKit
    from benchmark.data.problem import load_problem

    try:
        if load_problem(name, split).fingerprint != problem:
            return b"null"
        properties = examine(load_spec(name), split, expectation=True).properties
    except UserError:
        return b"null"
    return json.dumps(properties and asdict(properties) | {"problem": problem}).encode()
