"""Refuse what a user's method reads beside its file without declaring it: results would not tell of a change."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.errors import UserError
from benchmark.files import data_in, watched
from benchmark.pipeline import Pipeline
from benchmark.run.code import own_parts
from benchmark.train.device import settings_kept


@contextmanager
def guarded(method: Pipeline) -> Iterator[None]:
    """Raise UserError where a file is opened below the folder of a user's part that its ``files`` lack.

    It is raised again at the end, as the method may have gone on. Its code is known without. What it sets for all of
    PyTorch and NumPy is undone, and no network is taken over from what it trained before.
    """
    parts = {(part.name, Path(part.place).resolve().parent, frozenset(part.files)) for part in own_parts(method)}
    refused: list[str] = []

    def refuse(file: Path) -> None:
        for name, folder, declared in parts:
            if below := data_in(folder, file, declared):
                refused.append(f"{name} reads {file} without declaring it: add {below!r} and its sha256 to files")
                raise UserError(refused[-1])

    if not parts:
        yield
        return
    from benchmark.train.loop import sharing_nothing  # imports PyTorch

    with watched(refuse), settings_kept(), sharing_nothing():
        yield
    if refused:
        raise UserError(refused[0])
