"""Images from the Hugging Face hub, or from a folder of the same layout, as rows of pixels."""

import hashlib
import importlib
import os
from typing import Any

import numpy as np
import pandas as pd

from benchmark.data import downloads
from benchmark.data.readers import LINE, REPEATED
from benchmark.data.spec import DatasetSpec
from benchmark.errors import UserError
from benchmark.files import install, offline

SPLIT, ID = "split", "id"
"""Columns added to the hub's table: the split of an image (train, validation or test), and its name."""


def load(spec: DatasetSpec) -> tuple[str, pd.DataFrame, np.ndarray]:
    """Return version, table and pixels (N, 3·side·side) of ``hf:OWNER/NAME``, uint8, row by row and channel last.

    ``features = ["pixels:SIDE"]``: the shorter side is resized to ``SIDE`` and the image cropped to its centre. Images
    come from ``hf/OWNER/NAME`` in a data folder, the hub's cache or the hub, in this order. Raises UserError.
    """
    name = spec.source.partition(":")[2]
    side = _side(spec)
    if offline():
        os.environ["HF_HUB_OFFLINE"] = "1"  # the library reads it on import
    try:
        load_dataset: Any = importlib.import_module("datasets").load_dataset
    except (ImportError, AttributeError) as error:  # any folder called datasets, such as the checkout's, is importable
        raise UserError(f"{spec.name}: images need Hugging Face's datasets: {install('vision')}") from error
    from PIL import ImageOps

    folder = downloads.image_folder(spec)
    try:
        parts = load_dataset(str(folder or name))
    except Exception as error:  # from the library, requests or the file system
        raise UserError(
            f"{spec.name}: cannot load {folder or name}: {str(error) or repr(error)}\n"
            f"  get it from: https://huggingface.co/datasets/{name}\n"
            f"  put it at:   {downloads.folders()[0] / downloads.image_place(spec)}"
        ) from error
    x = np.empty((sum(map(len, parts.values())), 3 * side * side), dtype=np.uint8)
    tables, below = [], iter(x)
    for part, rows in parts.items():
        if spec.target not in rows.column_names or "image" not in rows.column_names:
            raise UserError(f"{spec.name}: expected columns 'image' and {spec.target!r}, found {rows.column_names}")
        others = rows.remove_columns("image").to_pandas().astype(str).reset_index(drop=True)
        tables.append(
            others.assign(**{SPLIT: part, LINE: range(1, len(others) + 1), ID: [f"{part}/{i}" for i in others.index]})
        )
        for image in rows["image"]:
            square = ImageOps.fit(image.convert("RGB"), (side, side))
            next(below)[:] = np.asarray(square, dtype=np.uint8).ravel()
    table = pd.concat(tables, ignore_index=True).assign(**{REPEATED: False})
    version = hashlib.sha256(x.data)  # may be gigabytes, so avoid a copy
    version.update(table.to_csv().encode())
    return version.hexdigest()[:16], table, x


def _side(spec: DatasetSpec) -> int:
    kind, _, side = spec.features[0].partition(":")
    if len(spec.features) != 1 or kind != "pixels" or not side.isdecimal() or int(side) == 0:
        raise UserError(
            f"{spec.name}: features {list(spec.features)}: expected pixels:SIDE for images, as in pixels:224"
        )
    return int(side)
