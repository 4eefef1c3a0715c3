"""Images from the Hugging Face hub, or from a folder of the same layout, as rows of pixels."""

from __future__ import annotations

import hashlib
import importlib
import os
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data import sources
from benchmark.data.readers import LINE, REPEATED
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError
from benchmark.files import install, offline

SPLIT = "split"
"""The column that says to which of the hub's splits an image belongs: train, validation, test."""


def load(spec: DatasetSpec) -> tuple[str, pd.DataFrame, np.ndarray]:
    """Version, table and pixels (N, 3·side·side) uint8, row by row and channel last, of ``hf:OWNER/NAME``.

    ``features = ["pixels:SIDE"]``: the shorter side is resized to ``SIDE`` and the centre cut out. The images are
    looked for below the data folders, at ``hf/OWNER/NAME``, then in the hub's cache and on the hub. Raises UserError.
    """
    name = spec.source.partition(":")[2]
    side = _side(spec)
    if offline():
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported
    try:
        load_dataset: Any = importlib.import_module("datasets").load_dataset
    except (ImportError, AttributeError) as error:  # any folder called datasets is a module, as that of the checkout
        raise UserError(f"{spec.name}: images need Hugging Face's datasets: {install('vision')}") from error
    folder = next((f / "hf" / name for f in sources.folders() if (f / "hf" / name).is_dir()), None)
    try:
        found = load_dataset(str(folder or name))
    except Exception as error:  # the library raises its own, requests' and the file system's
        raise UserError(
            f"{spec.name}: cannot load {folder or name}: {str(error) or repr(error)}\n"
            f"  get it from: https://huggingface.co/datasets/{name}\n"
            f"  put it at:   {sources.folders()[0] / 'hf' / name}"
        ) from error
    x = np.empty((sum(map(len, found.values())), 3 * side * side), dtype=np.uint8)
    tables, below = [], iter(x)
    for part, rows in found.items():
        if spec.target not in rows.column_names or "image" not in rows.column_names:
            raise UserError(f"{spec.name}: expected columns 'image' and {spec.target!r}, found {rows.column_names}")
        others = rows.remove_columns("image").to_pandas().astype(str).reset_index(drop=True)
        tables.append(
            others.assign(**{SPLIT: part, LINE: range(1, len(others) + 1), ID: [f"{part}/{i}" for i in others.index]})
        )
        for image in rows["image"]:
            next(below)[:] = _square(image, side)
    table = pd.concat(tables, ignore_index=True).assign(**{REPEATED: False})
    version = hashlib.sha256(x.data)  # gigabytes, not to be copied
    version.update(table.to_csv().encode())
    return version.hexdigest()[:16], table, x


ID = "id"


def _side(spec: DatasetSpec) -> int:
    kind, _, side = spec.features[0].partition(":")
    if len(spec.features) != 1 or kind != "pixels" or not side.isdecimal() or int(side) == 0:
        raise UserError(f"{spec.name}: features {list(spec.features)}: images need one, pixels:SIDE, as in pixels:224")
    return int(side)


def _square(image: Any, side: int) -> np.ndarray:
    from PIL import ImageOps

    return np.asarray(ImageOps.fit(image.convert("RGB"), (side, side)), dtype=np.uint8).ravel()
