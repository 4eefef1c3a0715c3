"""The cache of trained networks, shared by methods within one invocation and between invocations.

ERM, SWA, bagging and deep ensembles consist of the same networks: the same bootstrap, initialisation and batch
order, hence the same trajectory. Each network is trained once, and its predictions are cached under everything they
depend on. Coupled networks belong to one method; they are cached under the name of their cell, so that an interrupted
run need not train them again.
"""

from __future__ import annotations

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
from benchmark.source import fingerprint
from benchmark.train.backbone import find
from benchmark.train.device import CPU, Device
from benchmark.train.group import Group
from benchmark.train.loop import evaluate, one_thread, train
from benchmark.train.stack import Stack
from benchmark.types import MLP

Tests = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class StackPredictions:
    """Predictions by test set, and CPU seconds of training: (S, T, C) and per seed of a stack, (K, T, C) of a group."""

    values: dict[str, np.ndarray]
    seconds: float


def code(backbone: str = MLP) -> str:
    """Return 16 hex digits of the code that trains and evaluates networks of a backbone."""
    return fingerprint(train, evaluate, f"benchmark.backbones.{backbone}")


def predict_all(
    stacks: Sequence[Stack], tests: Tests, *, names: Sequence[str] = (), fresh: bool = False, device: Device = CPU
) -> list[StackPredictions | str]:
    """Return the predictions of each stack for ``tests`` after training on ``device``, or the traceback of its failure.

    Stacks share networks if they have the same training data. ``fresh`` ignores the cache. A coupling is a function,
    so coupled stacks are identified by ``names``, which must cover everything they depend on; coupled networks
    with an empty name are not cached.
    """
    names = names or [""] * len(stacks)
    results: list[StackPredictions | str] = [""] * len(stacks)
    sharing: dict[object, list[int]] = {}
    for i, stack in enumerate(stacks):
        alone = i if stack.coupling is not None else None
        sharing.setdefault((stack.problem.train.digest, stack.rule, alone), []).append(i)
    with one_thread():
        for indices in sharing.values():
            try:
                shared = _shared([stacks[i] for i in indices], tests, names[indices[0]], fresh, device)
                for i, groups in zip(indices, shared, strict=True):
                    values = {test: stacks[i].by_seed([g.values[test] for g in groups]).mean(axis=1) for test in tests}
                    results[i] = StackPredictions(values, sum(g.seconds for g in groups) / len(stacks[i].seeds))
            except Exception:
                for i in indices:
                    results[i] = traceback.format_exc()
    return results


def _shared(
    stacks: Sequence[Stack], tests: Tests, name: str, fresh: bool, device: Device
) -> list[list[StackPredictions]]:
    """Return the predictions of the groups of each stack, training a group of several stacks once.

    Coupled networks are a single stack, called ``name``.
    """
    rule, coupling, data = stacks[0].rule, stacks[0].coupling, stacks[0].problem.train
    backbone = find(rule.backbone)
    cacheable = coupling is None or bool(name)
    digests = {test: _hash(x) for test, x in tests.items()}
    common = [
        *([name] if coupling is not None else []),
        code(rule.backbone),
        backbone.weights(),
        backbone.versions,
        torch.__version__,
        device.name,
        _hash(data.x),
        _hash(data.y),
        asdict(rule) | {"recipe": rule.recipe.model_dump()},
    ]

    def keys(stack: Stack, group: Group) -> tuple[str, ...]:
        """The cache key for each test set."""
        parts = [*common, _hash(group.rows), group.keys, group.orders, stack.readout, stack.passes]
        return tuple(hashlib.sha256(json.dumps([*parts, digest]).encode()).hexdigest() for digest in digests.values())

    requests = [[(group, keys(stack, group)) for group in stack.groups()] for stack in stacks]
    results: dict[tuple[str, ...], StackPredictions] = {}
    missing: dict[object, Group] = {}
    for group, key in chain.from_iterable(requests):
        stored = _load(tests, key) if cacheable and not fresh else None
        if stored is None:
            missing[_hash(group.rows), group.keys, group.orders] = group
        else:
            results[key] = stored
    variants = {(stack.readout, stack.passes): stack for stack in stacks}
    readouts = [readout for readout, _ in variants]
    for part in train(data.x, data.y, list(missing.values()), rule, coupling, readouts, device):
        k = len(part.groups[0].keys)
        for stack in variants.values():
            networks = part.networks[stack.readout]
            values = {test: evaluate(networks, rule.task, stack.passes, x) for test, x in tests.items()}
            for g, group in enumerate(part.groups):
                own = StackPredictions({test: v[g * k : (g + 1) * k] for test, v in values.items()}, part.seconds)
                key = keys(stack, group)
                results[key] = own
                if cacheable:
                    for path, v in zip(map(_path, key), own.values.values(), strict=True):
                        write_arrays(path, {"values": v, "seconds": np.array(part.seconds)})
    return [[results[key] for _, key in groups] for groups in requests]


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
