"""Weights that others trained: where they lie, which they are, and how part of a network starts from them."""

from __future__ import annotations

import hashlib
import os
import pickle
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from benchmark.errors import UserError
from benchmark.files import install, offline
from benchmark.train.backbone import Backbone

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""The files that may hold the weights, the better first; neither is ever unpickled into anything but tensors."""


@dataclass(frozen=True)
class Pretrained:
    """A model of the Hugging Face hub, ``OWNER/NAME``: of its network the ``part`` that is taken over.

    ``files`` are read besides its configuration and weights. All lie in one folder: ``CHURN_MODEL_DIR/OWNER/NAME``,
    or else the hub's cache, which is filled from the hub unless the network must not be touched. What the cache has
    is used as it is, whatever the hub has by now.
    """

    name: str
    part: str
    files: tuple[str, ...] = ()

    def folder(self) -> Path:
        """Where the files are. Raises UserError saying where they were looked for and how to get them."""
        mine = os.environ.get("CHURN_MODEL_DIR")
        if mine and (folder := Path(mine).expanduser() / self.name).is_dir():
            if lacks := self._lacks(folder):
                raise UserError(f"{folder}: {lacks} is missing\n{self._remedy()}")
            return folder
        try:
            from huggingface_hub import snapshot_download
            from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
        except ImportError as error:
            raise UserError(
                f"{self.name}: cannot import {error.name}: {install('pretrained')}\n{self._remedy()}"
            ) from error
        reason: object = "the network must not be touched (--offline)"
        for local in (True, False) if not offline() else (True,):
            for weights in WEIGHTS:
                try:
                    wanted = [CONFIG, weights, *self.files]
                    folder = Path(snapshot_download(self.name, allow_patterns=wanted, local_files_only=local))
                except LocalEntryNotFoundError as error:
                    reason = error if not local else reason
                except (HfHubHTTPError, OSError) as error:
                    reason = error
                else:
                    if not (lacks := self._lacks(folder)):
                        return folder
                    reason = f"{folder} has no {lacks}" if not local else reason
        raise UserError(f"{self.name}: no weights: {reason}\n{self._remedy()}")

    def digest(self) -> str:
        """16 hex digits of the configuration, the weights and the other files. Raises UserError if one is missing."""
        return _digest(self.folder(), self.files)

    def start(self, network: nn.Module) -> None:
        """Give ``network``'s attribute ``part`` the pretrained weights; what else it has keeps its own.

        Raises UserError for a file that is no such network's.
        """
        folder, start = self.folder(), f"{self.part}."
        theirs = _tensors(folder)
        taken = {name.removeprefix(start): value for name, value in theirs.items() if name.startswith(start)}
        own = getattr(network, self.part).state_dict()
        for name, value in own.items():
            found = taken.get(name)
            if found is None or found.shape != value.shape:
                what = (
                    "is missing" if found is None else f"has the shape {tuple(found.shape)}, not {tuple(value.shape)}"
                )
                raise UserError(f"{folder}: these weights are of another network: {start}{name} {what}")
        getattr(network, self.part).load_state_dict({name: taken[name] for name in own})

    def _lacks(self, folder: Path) -> str:
        """What a folder would have to have; empty if all is there."""
        missing = [file for file in (CONFIG, *self.files) if not (folder / file).is_file()]
        if not any((folder / file).is_file() for file in WEIGHTS):
            missing.append(" or ".join(WEIGHTS))
        return ", ".join(missing)

    def _remedy(self) -> str:
        mine = os.environ.get("CHURN_MODEL_DIR")
        place = Path(mine).expanduser() / self.name if mine else f"FOLDER/{self.name} with CHURN_MODEL_DIR=FOLDER"
        files = ", ".join([CONFIG, *self.files, " or ".join(WEIGHTS)])
        return f"  get {files}\n  from:      https://huggingface.co/{self.name}\n  put it at: {place}"


class FineTuned(Backbone):
    """A backbone that starts from ``model``."""

    extra = "pretrained"
    library = "transformers"
    model: ClassVar[Pretrained]

    def weights(self) -> str:
        return self.model.digest()


def _weights(folder: Path) -> Path:
    return next(folder / file for file in WEIGHTS if (folder / file).is_file())


@cache
def _digest(folder: Path, files: tuple[str, ...]) -> str:
    """Each file's own hash counts, so that no byte can pass from one file to the next."""
    found = [hashlib.sha256(path.read_bytes()).digest() for path in _read(folder, files)]
    return hashlib.sha256(b"".join(found)).hexdigest()[:16]


def _read(folder: Path, files: tuple[str, ...]) -> list[Path]:
    return [folder / CONFIG, *(folder / file for file in files), _weights(folder)]


@lru_cache(maxsize=1)
def _tensors(folder: Path) -> dict[str, Tensor]:
    """The tensors of a weights file by name, on the CPU. Raises UserError for one that holds anything else."""
    path = _weights(folder)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        found = dict(torch.load(path, map_location="cpu", weights_only=True))
    except (SafetensorError, pickle.UnpicklingError, OSError, RuntimeError, EOFError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: not the weights of a network: {str(error).splitlines()[0] if str(error) else repr(error)}\n"
            "  Get the file again. Nothing but tensors is read from it; one that needs more than that can be "
            f"converted to {WEIGHTS[0]} by those who trust it."
        ) from error
    return {name: value for name, value in found.items() if isinstance(value, Tensor)}
