"""The data of the compare page: what its script needs for any two methods, datasets and measures.

The jackknife of a paired difference follows from each method's own values: its mean, and the influence of each run on
it. The script subtracts these, so no pair of methods is computed here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmark.measure.catalogue import scorecard
from benchmark.measure.matched import positives
from benchmark.measure.measure import Measure
from benchmark.types import TASKS
from leaderboard.read.results import Dataset, Results, slug
from leaderboard.site import explorer
from leaderboard.tables import power
from leaderboard.tables.boards import SUSPICIONS, board
from leaderboard.tables.columns import versus
from leaderboard.tables.influences import flipping, influences
from leaderboard.tables.summary import GROUP_TITLES, sets


def content(results: Results) -> dict[str, Any]:
    """Return the measures, methods, datasets and cells of one sampling's results.

    ``cells`` are by dataset and method a list of canonical splits: split and train seeds.
    """
    titles = results.methods()
    number = {title: i for i, title in enumerate(titles)}
    place = {dataset.name: i for i, dataset in enumerate(results.datasets)}
    entries = [entry for dataset in results.datasets for entry in dataset.entries]
    spelled = {entry.title: entry.spelled for entry in reversed(entries)}  # a variant may spell a default out
    return {
        "measures": {task: [_described(measure) for measure in scorecard(task)] for task in TASKS},
        "methods": [{"title": title, "slug": slug(title), "name": spelled[title]} for title in titles],
        "datasets": [
            {
                "name": dataset.name,
                "title": dataset.title,
                "family": dataset.family,
                "task": dataset.task,
                "unit": dataset.unit if dataset.task == "regression" else "",
                "left": _left_out(dataset, number),
                "tests": [name for name, test, _ in explorer.shards(dataset) if test == "id"],
                "positives": _positives(dataset),
                "least": power.typical(dataset),
            }
            for dataset in results.datasets
        ],
        "sets": [
            {
                "key": f"{task}/{group}",
                "title": title if (title := GROUP_TITLES[group]).lower() == task else f"{title} {task}",
                "datasets": [place[dataset.name] for dataset in members],
            }
            for (task, group), members in sets(results).items()
        ],
        "cells": [
            {
                number[entry.title]: [[s, cell.key.spelled_seeds] for s, cell in entry.cells.items()]
                for entry in dataset.entries
            }
            for dataset in results.datasets
        ],
    }


def flips(results: Results) -> list[dict[int, list[str]]]:
    """Return by dataset, method and canonical split which ID test examples flip (``influences.flipping``)."""
    number = {title: i for i, title in enumerate(results.methods())}
    return [{number[title]: of for title, of in flipping(dataset).items()} for dataset in results.datasets]


def values(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the name and JSON of two files of each measure, of its values by dataset, method and canonical split.

    One has its key as its name, and null in the place of datasets beyond the headline; the other, ``key-more``, has
    these, and is loaded when one of them is chosen. Values are the mean, and the influence of each run on it
    (``leaderboard.tables.influences``).
    """
    number = {title: i for i, title in enumerate(results.methods())}
    first = {d.name for (_, group), members in sets(results).items() if group == "headline" for d in members}
    for key in dict.fromkeys(measure.key for task in TASKS for measure in scorecard(task)):
        parts: tuple[list[str], list[str]] = [], []
        for dataset in results.datasets:
            splits = [f'"{number[title]}":{text}' for title, text in influences(dataset).get(key, {}).items()]
            for part, here in zip(parts, (dataset.name in first, dataset.name not in first), strict=True):
                part.append("{" + ",".join(splits) + "}" if here else "null")
        for name, part in zip((key, f"{key}-more"), parts, strict=True):
            yield name, f"[{','.join(part)}]".encode()


def _left_out(dataset: Dataset, number: Mapping[str, int]) -> dict[int, str]:
    """Return the marks of methods that are not to be preferred for low churn on a dataset, by their number."""
    bad = {"†", "†?", "collapsed", "control", *SUSPICIONS}
    rows = board(dataset, "id", "runs").rows
    return {number[row.title]: ", ".join(m for m in row.marks if m in bad) for row in rows if bad & {*row.marks}}


def _positives(dataset: Dataset) -> list[int]:
    """Return how many examples of each ID test matched churn calls positive; none but for two classes."""
    tests = [dataset.cell(split).predictions["id"] for split in dataset.splits]
    return [positives(p) for p in tests if p.values.shape[2] == 2]


def _described(measure: Measure) -> dict[str, Any]:
    column = versus(measure)
    return {
        "key": measure.key,
        "name": measure.name,
        "title": column.title,
        "scale": column.scale,
        "digits": column.digits,
        "better": measure.better,
    }
