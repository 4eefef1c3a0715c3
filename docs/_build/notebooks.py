"""Notebooks as pages, with the outputs that they have."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import nbformat
from nbconvert import MarkdownExporter


def page(uri: str, content: bytes) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of the notebook at ``uri``, and its pictures, by their places on the site."""
    name = posixpath.splitext(uri)[0]
    stem = posixpath.basename(name)
    notebook = nbformat.reads(content.decode("utf-8"), as_version=4)
    resources = {"unique_key": stem, "output_files_dir": f"{stem}_files"}
    text, resources = MarkdownExporter().from_notebook_node(notebook, resources)
    text = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.S)  # pandas brings a style for each table
    text = re.sub(r'<table border="1" class="dataframe">', "<table>", text)
    title, _, rest = text.lstrip().partition("\n")
    yield f"{name}.md", f"{title}\n\n[Download this notebook]({stem}.ipynb){{ download }}\n\n{rest}"
    for place, picture in resources["outputs"].items():
        yield posixpath.join(posixpath.dirname(name), place), picture
