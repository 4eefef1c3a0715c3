"""Ctrl-C at safe points: raised inside a database call, it could be swallowed or leave the call half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False


@contextmanager
def deferred() -> Iterator[None]:
    """Defer Ctrl-C to the next ``checkpoint`` or the end of the block; a second one takes effect at once."""
    global _asked
    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
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
