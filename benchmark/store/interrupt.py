"""Ctrl-C between recordings: raised inside a database call, it could be swallowed or leave the call half done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block; a second one takes effect at once."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
        yield
        return
    asked = threading.Event()

    def ask(*_: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked.is_set():
        raise KeyboardInterrupt
