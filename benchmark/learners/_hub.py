"""Pretrained weights: locate and identify their files, and initialise part of a network with them."""

import pickle
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmark.errors import UserError
from benchmark.files import folder_of, hash_of, install, offline

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""File names of weights in order of preference. Only tensors are ever unpickled from them."""


@dataclass(frozen=True)
class Pretrained:
    """A model ``OWNER/NAME`` of the Hugging Face hub, of which the submodule ``part`` is reused.

    ``files`` are required in addition to configuration and weights. All are in one folder:
    ``CHURN_MODEL_DIR/OWNER/NAME``, or the hub's cache, which is filled from the hub unless offline. Cached files are
    used even if the hub has newer ones.
    """

    name: str
    part: str
    files: tuple[str, ...] = ()

    def folder(self) -> Path:
        """Return the folder of the files. Raises UserError with the reason and how to get them if they are missing."""
        mine = folder_of("CHURN_MODEL_DIR")
        if mine and (folder := mine / self.name).is_dir():
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
        reason: object = "downloads are disabled (--offline)"
        for weights, local in [(WEIGHTS[0], True), *([] if offline() else [(name, False) for name in WEIGHTS])]:
            try:
                wanted = [CONFIG, weights, *self.files]
                folder = Path(snapshot_download(self.name, allow_patterns=wanted, local_files_only=local))
            except (HfHubHTTPError, OSError) as error:
                reason = reason if isinstance(error, LocalEntryNotFoundError) and local else error
                continue
            if not (lacks := self._lacks(folder)):
                return folder
            reason = reason if local else f"{folder} has no {lacks}"
        raise UserError(f"{self.name}: no weights: {reason}\n{self._remedy()}")

    def digest(self) -> str:
        """Return 16 hex digits that identify all files. Raises UserError if one is missing."""
        folder = self.folder()
        return _digest(folder / CONFIG, *(folder / file for file in self.files), _weights(folder))

    def start(self, network: nn.Module) -> None:
        """Load the pretrained weights into the submodule ``part`` of ``network``.

        Raises UserError if the weights do not fit.
        """
        folder, part, prefix = self.folder(), getattr(network, self.part), f"{self.part}."
        state = {name.removeprefix(prefix): t for name, t in _tensors(folder).items() if name.startswith(prefix)}
        try:
            missing = part.load_state_dict(state, strict=False).missing_keys
        except RuntimeError as error:
            raise UserError(f"{folder}: these weights belong to another network: {error}") from error
        if missing:
            raise UserError(f"{folder}: these weights belong to another network: {prefix}{missing[0]} is missing")

    def _lacks(self, folder: Path) -> str:
        """Return the names of missing files; empty if the folder is complete."""
        missing = [file for file in (CONFIG, *self.files) if not (folder / file).is_file()]
        if not any((folder / file).is_file() for file in WEIGHTS):
            missing.append(" or ".join(WEIGHTS))
        return ", ".join(missing)

    def _remedy(self) -> str:
        mine = folder_of("CHURN_MODEL_DIR")
        place = mine / self.name if mine else f"FOLDER/{self.name} with CHURN_MODEL_DIR=FOLDER"
        files = ", ".join([CONFIG, *self.files, " or ".join(WEIGHTS)])
        return f"  get {files}\n  from:      https://huggingface.co/{self.name}\n  put it at: {place}"


def _weights(folder: Path) -> Path:
    return next(folder / file for file in WEIGHTS if (folder / file).is_file())


@cache
def _digest(*files: Path) -> str:
    return hash_of(files)


@lru_cache(maxsize=1)
def _tensors(folder: Path) -> dict[str, Tensor]:
    """Load the tensors of a weights file by name, on the CPU. Raises UserError if it holds anything else."""
    path = _weights(folder)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = dict(torch.load(path, map_location="cpu", weights_only=True))
    except (SafetensorError, pickle.UnpicklingError, OSError, RuntimeError, EOFError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: not the weights of a network: {(str(error) or repr(error)).splitlines()[0]}\n"
            "  Download the file again. Only tensors are read from it: if it holds anything else and you trust it, "
            f"convert it to {WEIGHTS[0]}."
        ) from error
    return {name: value for name, value in content.items() if isinstance(value, Tensor)}
