"""The cache of trained networks, shared by methods within one invocation and between invocations.

ERM, SWA, bagging and deep ensembles consist of the same networks: the same bootstrap, initialisation and batch
order, hence the same trajectory. Each network is trained once, and its predictions are cached under everything they
depend on. Coupled networks belong to one method; they are cached under the name of their cell, so that an interrupted
run need not train them again.
"""

import hashlib
import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from benchmark.files import cache_folder, read_arrays, write_arrays
from benchmark.train import REVISION
from benchmark.train.backbone import find
from benchmark.train.device import CPU, Device
from benchmark.train.group import Group
from benchmark.train.loop import evaluate, one_thread, train
from benchmark.train.stack import Stack
from benchmark.types import MLP, Examples, Sample

Tests = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class StackPredictions:
    """Predictions by test set, and CPU seconds of training: (S, T, C) and per train seed of a request, (K, T, C) of a
    group, (T, C) of a part."""

    values: dict[str, np.ndarray]
    seconds: float


def code(backbone: str = MLP) -> str:
    """Return the revisions of the trainer and of a backbone."""
    return f"trainer@{REVISION} {backbone}@{find(backbone).revision}"


@dataclass(frozen=True)
class Part:
    """The stack of one train seed, its data ``x`` (N, D) and ``y`` (N,), and the places (R,) of its sample in them."""

    stack: Stack
    x: np.ndarray
    y: np.ndarray
    places: np.ndarray

    def groups(self) -> list[Group]:
        """Return the groups of the stack, with rows of the data."""
        return self.stack.groups(self.places)


def on_its_own(stack: Stack) -> Part:
    """Return a part that is trained on nothing but its sample."""
    return Part(stack, stack.sample.x, stack.sample.y, np.arange(len(stack.sample)))


def in_pool(stack: Stack, sample: Sample, pool: Examples, places: np.ndarray) -> Part:
    """Return a part that is trained on its rows of the training pool, so that retrainings can be trained together.

    ``sample`` is what the method was given; a stack on other data, such as changed labels, is trained on its own.
    """
    if stack.sample.x is sample.x and stack.sample.y is sample.y:
        return Part(stack, pool.x, pool.y, places)
    return on_its_own(stack)


def predict_all(
    requests: Sequence[Sequence[Part]],
    tests: Tests,
    *,
    names: Sequence[str] = (),
    fresh: bool = False,
    device: Device = CPU,
) -> list[StackPredictions | str]:
    """Return, for each request, its predictions for ``tests`` after training on ``device``, or a traceback.

    A request is a method's parts, one for each train seed. Parts share networks if they have the same training data.
    ``fresh`` ignores the cache. A coupling is a function, so requests with coupled stacks are identified by ``names``,
    which must cover everything they depend on but the train seeds; coupled networks without a name are not cached.
    """
    names = names or [""] * len(requests)
    sharing: dict[object, list[tuple[int, int]]] = {}
    for i, parts in enumerate(requests):
        for s, part in enumerate(parts):
            stack, alone = part.stack, i if part.stack.coupling is not None else None
            shape = stack.rows.shape if alone is not None else stack.rows.shape[1:]
            sharing.setdefault((id(part.x), id(part.y), stack.rule, shape, alone), []).append((i, s))
    predictions: dict[tuple[int, int], StackPredictions] = {}
    errors: dict[int, str] = {}
    with one_thread():
        for members in sharing.values():
            try:
                shared = _shared([requests[i][s] for i, s in members], tests, names[members[0][0]], fresh, device)
                predictions |= zip(members, shared, strict=True)
            except Exception:
                errors |= dict.fromkeys((i for i, _ in members), traceback.format_exc())
    results: list[StackPredictions | str] = []
    for i, parts in enumerate(requests):
        own = [predictions[i, s] for s in range(len(parts))] if i not in errors else []
        values = {test: np.stack([one.values[test] for one in own]) for test in tests if own}
        seconds = sum(one.seconds for one in own) / len(parts)
        results.append(errors.get(i) or StackPredictions(values, seconds))
    return results


def _shared(parts: Sequence[Part], tests: Tests, name: str, fresh: bool, device: Device) -> list[StackPredictions]:
    """Return the predictions (T, C) and CPU seconds of each part, training a group of several parts once.

    All have one rule and the same data. Coupled ones belong to one request, called ``name``.
    """
    rule, coupled, x, y = parts[0].stack.rule, parts[0].stack.coupling is not None, parts[0].x, parts[0].y
    backbone = find(rule.backbone)
    cacheable = not coupled or bool(name)
    digests = {test: _hash(values) for test, values in tests.items()}
    common = [
        *([name] if coupled else []),
        code(rule.backbone),
        backbone.weights(),
        backbone.versions,
        torch.__version__,
        device.name,
        _hash(x),
        _hash(y),
        asdict(rule) | {"recipe": rule.recipe.model_dump()},
    ]

    def keys(stack: Stack, group: Group) -> tuple[str, ...]:
        """The cache key for each test set."""
        what = [*common, _hash(group.data_rows), group.keys, group.orders, stack.readout, stack.passes]
        return tuple(hashlib.sha256(json.dumps([*what, digest]).encode()).hexdigest() for digest in digests.values())

    requests = [[(group, keys(part.stack, group)) for group in part.groups()] for part in parts]
    results: dict[tuple[str, ...], StackPredictions] = {}
    missing: dict[object, Group] = {}
    for group, key in chain.from_iterable(requests):
        stored = _load(tests, key) if cacheable and not fresh else None
        if stored is None:
            missing[_hash(group.data_rows), group.keys, group.orders] = group
        else:
            results[key] = stored
    variants = {(part.stack.readout, part.stack.passes): part.stack for part in parts}
    readouts = [readout for readout, _ in variants]
    for trained in train(x, y, list(missing.values()), rule, readouts, device):
        k = len(trained.groups[0].keys)
        for stack in variants.values():
            networks = trained.networks[stack.readout]
            values = {test: evaluate(networks, rule.task, stack.passes, t) for test, t in tests.items()}
            for g, group in enumerate(trained.groups):
                own = StackPredictions({test: v[g * k : (g + 1) * k] for test, v in values.items()}, trained.seconds)
                key = keys(stack, group)
                results[key] = own
                if cacheable:
                    for path, v in zip(map(_path, key), own.values.values(), strict=True):
                        write_arrays(path, {"values": v, "seconds": np.array(trained.seconds)})
    return [
        StackPredictions(
            {test: np.concatenate([results[key].values[test] for _, key in groups]).mean(axis=0) for test in tests},
            sum(results[key].seconds for _, key in groups),
        )
        for groups in requests
    ]


def _hash(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).ravel().data).hexdigest()


def _path(key: str) -> Path:
    return cache_folder() / "networks" / key[:2] / key


def _load(tests: Tests, keys: Sequence[str]) -> StackPredictions | None:
    values, seconds = {}, 0.0
    for test, key in zip(tests, keys, strict=True):
        stored = read_arrays(_path(key))
        if stored is None:
            return None
        values[test], seconds = stored["values"], float(stored["seconds"])
    return StackPredictions(values, seconds)
