"""Properties of datasets that say what churn to expect: from local data, otherwise from the published file."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from benchmark.data.checks.expected_churn import Properties, published
from benchmark.data.spec import known_spec, load_spec
from benchmark.errors import UserError
from benchmark.files import named, program
from benchmark.store.cell import Cell
from leaderboard.read.jobs import Job, made
from leaderboard.read.results import Dataset, papers_or_first


def of_datasets(datasets: Sequence[Dataset]) -> dict[str, Properties | None]:
    """Return the properties of ``datasets`` by name; None for those without data, here or published, and for images.

    Nothing is downloaded. Published ones and local data count if their fingerprint is that of the results.
    """
    from benchmark.data.downloads import intact  # pooch

    for dataset in datasets:
        known = published()[1].get(dataset.name)
        if known and known.problem == _cell(dataset).key.problem:
            dataset.computed.setdefault("properties", known)
    fresh = {d.name: d for d in datasets if "properties" not in d.computed}
    jobs = {}
    for name, dataset in fresh.items():
        dataset.computed["properties"] = None
        if (spec := known_spec(name)) and intact(spec):
            key = _cell(dataset).key
            jobs[name] = Job(_name(name, key.problem), _computed, (name, key.canonical_seed, key.problem))
    for name, content in zip(jobs, made(jobs.values()), strict=True):
        fields = json.loads(content)
        fresh[name].computed["properties"] = fields and Properties(**fields)
    return {dataset.name: dataset.computed.get("properties") for dataset in datasets}


def _cell(dataset: Dataset) -> Cell:
    """Return a cell of the split whose properties count."""
    return dataset.cell(papers_or_first(dataset.splits))


def _name(name: str, problem: str) -> str:
    from rdkit import rdBase

    return named("properties", [program("benchmark", "leaderboard"), rdBase.rdkitVersion, name, problem], ".json")


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
