"""Ctrl-C at safe places: raised in the middle of a database call it may leave that half done, or be swallowed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False


@contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C is raised at the next ``checkpoint`` or at the end of the block; a second one at once."""
    global _asked
    if threading.current_thread() is not threading.main_thread():  # no other can have a signal handler
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        global _asked
        if _asked:
            raise KeyboardInterrupt
        _asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
        checkpoint()
    finally:
        signal.signal(signal.SIGINT, before)
        _asked = False


def checkpoint() -> None:
    """Raise KeyboardInterrupt if it was deferred."""
    if _asked:
        raise KeyboardInterrupt
