"""Nothing is trained twice: what methods share, within one invocation and between them.

ERM, SWA, bagging and deep ensembles are made of the same networks: the same bootstrap, initialisation and batch
order, hence the same trajectory. Each is trained once, and its predictions are kept in the cache under everything
that they depend on. Coupled networks are kept under the name of their cell: no other method has them, but after an
interrupt they need not be trained again.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
    """What a stack predicts: ``values`` (S, T, C) by test set, and the CPU seconds that training one seed takes."""

    values: dict[str, np.ndarray]
    seconds: float


@dataclass(frozen=True)
class _Kept:
    """Predictions (K, T, C) of one group by test set, and the CPU seconds of its training."""

    values: dict[str, np.ndarray]
    seconds: float


def code(backbone: str = MLP) -> str:
    """16 hex digits of the code that trains networks of a backbone and evaluates them."""
    return fingerprint(train, evaluate, f"benchmark.backbones.{backbone}")


def predict_all(
    stacks: Sequence[Stack], tests: Tests, *, names: Sequence[str] = (), fresh: bool = False, device: Device = CPU
) -> list[StackPredictions | str]:
    """What each of ``stacks`` predicts for ``tests`` after training on ``device``, or the traceback of its failure.

    All must be of one problem's data, or else bring their own; ``fresh`` trains also what the cache has. ``names``
    tell couplings apart, which are functions: each says all that its stack's depends on, or is empty, and then
    coupled networks are not kept.
    """
    names = names or [""] * len(stacks)
    results: list[StackPredictions | str] = [""] * len(stacks)
    with one_thread():
        for alike in _alike(stacks):
            try:
                kept = _shared([stacks[i] for i in alike], tests, names[alike[0]], fresh, device)
                for i, own in zip(alike, kept, strict=True):
                    values = {name: stacks[i].by_seed([one.values[name] for one in own]).mean(axis=1) for name in tests}
                    results[i] = StackPredictions(values, sum(one.seconds for one in own) / len(stacks[i].seeds))
            except Exception:
                for i in alike:
                    results[i] = traceback.format_exc()
    return results


def _alike(stacks: Sequence[Stack]) -> Iterable[list[int]]:
    """Stacks whose networks can be the same: on the same rows of data, by the same rule, without a coupling."""
    found: dict[object, list[int]] = {}
    for i, stack in enumerate(stacks):
        alone = i if stack.coupling is not None else None
        found.setdefault((stack.problem.train.digest, stack.rule, alone), []).append(i)
    return found.values()


def _shared(stacks: Sequence[Stack], tests: Tests, name: str, fresh: bool, device: Device) -> list[list[_Kept]]:
    """The predictions of the groups of each stack; a group that several stacks have is trained once.

    Coupled networks are a stack of their own, called ``name``.
    """
    first = stacks[0]
    x, y = first.problem.train.x, first.problem.train.y
    looked = {test: _hash(of) for test, of in tests.items()}
    coupling = [name] if first.coupling is not None else []
    keeps = first.coupling is None or bool(name)
    common = [
        *coupling,
        code(first.rule.backbone),
        find(first.rule.backbone).weights(),
        find(first.rule.backbone).versions,
        torch.__version__,
        device.name,
        _hash(x),
        _hash(y),
        asdict(first.rule) | {"recipe": first.rule.recipe.model_dump()},
    ]

    def key(group: Group, readout: float, passes: int, test: str) -> str:
        own = [*common, _hash(group.rows), group.keys, group.orders, readout, passes, looked[test]]
        return hashlib.sha256(json.dumps(own).encode()).hexdigest()

    wanted = [
        [
            (group, stack.readout, {name: key(group, stack.readout, stack.passes, name) for name in tests})
            for group in stack.groups()
        ]
        for stack in stacks
    ]
    have: dict[str, _Kept] = {}
    missing: dict[tuple[object, ...], Group] = {}
    variants: dict[tuple[float, int], Stack] = {}
    for stack, groups in zip(stacks, wanted, strict=True):
        variants[stack.readout, stack.passes] = stack
        for group, _, keys in groups:
            found = _load(keys) if keeps and not fresh else None
            if found is None:
                missing[_hash(group.rows), group.keys, group.orders] = group
            else:
                have["".join(keys.values())] = found
    readouts = [share for share, _ in variants]
    for part in train(x, y, list(missing.values()), first.rule, first.coupling, readouts, device):
        k = len(part.groups[0].keys)
        for (readout, _), stack in variants.items():
            networks, task = part.networks[readout], stack.problem.task
            values = {test: evaluate(networks, task, stack.passes, of) for test, of in tests.items()}
            for g, group in enumerate(part.groups):
                own = _Kept({name: v[g * k : (g + 1) * k] for name, v in values.items()}, part.seconds)
                keys = {name: key(group, readout, stack.passes, name) for name in tests}
                have["".join(keys.values())] = own
                if keeps:
                    _save(keys, own)
    return [[have["".join(keys.values())] for _, _, keys in groups] for groups in wanted]


def _hash(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).ravel().data).hexdigest()


def _path(key: str) -> Path:
    return cache_folder() / "networks" / key[:2] / key


def _load(keys: Mapping[str, str]) -> _Kept | None:
    values, seconds = {}, 0.0
    for name, key in keys.items():
        stored = read_arrays(_path(key))
        if stored is None:
            return None
        values[name], seconds = stored["values"], float(stored["seconds"])
    return _Kept(values, seconds)


def _save(keys: Mapping[str, str], kept: _Kept) -> None:
    for name, key in keys.items():
        write_arrays(_path(key), {"values": kept.values[name], "seconds": np.array(kept.seconds)})
