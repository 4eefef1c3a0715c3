"""Walls around a process that runs a stranger's code: what it may read and write, and no network.

``stand`` is called by a fresh process, before it imports any library. On Linux, Landlock and namespaces hold all code.
Python's audit hook stands on every system and gives a clear message, but it does not hold what opens files or sockets
without Python: code in C, also that of libraries.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

SECONDS = 3600
"""CPU seconds of the process."""
MEMORY = 16 * 2**30
"""Bytes of the process's own memory."""
FILE = 2**30
"""Bytes of a file that it writes."""
SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/System/Library", "/Library/Frameworks"),
    *("/etc/ld.so.cache", "/etc/localtime", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat"),
    *("/sys/devices/system", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"),
)
"""What Python's libraries read of the system."""
NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")
PROGRAMS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")
READS = ("open", "os.listdir", "os.scandir")
CHANGES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "os.link",
    "os.symlink",
)
"""Audit events of Python (https://docs.python.org/3/library/audit_events.html)."""
SENTENCE = "a method may use its sample and nothing else"


def stand(readable: Sequence[str], hidden: Sequence[str], writable: str) -> list[str]:
    """Confine this process, for good, to reading ``readable`` without ``hidden``, and to writing below ``writable``.

    All are paths of files or folders, which may be missing. Returns a name for each wall that this system has.
    """
    trees = [os.path.realpath(path) for path in (*readable, *SYSTEM)]
    without = [os.path.realpath(path) for path in hidden]
    folder = os.path.realpath(writable)
    _limit()
    kernel = {"no network (namespace)": _unshare, "files (Landlock)": lambda: _landlock(trees, without, folder)}
    walls = [name for name, build in kernel.items() if sys.platform == "linux" and build()]
    sys.addaudithook(_hook(trees, without, folder))
    return [*walls, "files, network and programs (Python's audit hook)"]


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"RLIMIT_CPU": SECONDS, "RLIMIT_DATA": MEMORY, "RLIMIT_FSIZE": FILE, "RLIMIT_CORE": 0}
    for name, most in limits.items():
        with suppress(ValueError, OSError):  # a lower limit is in force, or the system does not know this one
            resource.setrlimit(getattr(resource, name), (most, most))


def _unshare() -> bool:
    """Move this process to a network without any interface, and away from the shared memory of others."""
    user, ipc, net = 0x10000000, 0x08000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWIPC, CLONE_NEWNET
    return bool(ctypes.CDLL(None, use_errno=True).unshare(user | ipc | net) == 0)


WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of rights to files that each version of Landlock knows; later ones know as many as the last."""
TRUNCATE = 1 << 14
OF_FILES = WRITE_FILE | READ_FILE | TRUNCATE


def _landlock(trees: Sequence[str], hidden: Sequence[str], writable: str) -> bool:
    """Hold this process with Landlock (Linux 5.13 and later; https://docs.kernel.org/userspace-api/landlock.html)."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    create, add, restrict = 444, 445, 446  # the same on all architectures
    version = call(create, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return False
    files = (1 << RIGHTS[min(version, 5)]) - 1
    # Rights to files; to bind and to connect with TCP; to reach processes outside by abstract sockets and signals.
    handled = struct.pack("QQQ", files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = ctypes.c_size_t(8 if version < 4 else 16 if version < 6 else 24)
    rules = call(create, handled, size, ctypes.c_uint(0))
    if rules < 0:
        return False

    def grant(path: str, rights: int) -> None:
        with suppress(OSError):  # missing on this system
            at = os.open(path, os.O_PATH)
            rights &= files if os.path.isdir(path) else files & OF_FILES
            call(add, rules, ctypes.c_int(1), struct.pack("=Qi", rights, at), ctypes.c_uint(0))
            os.close(at)

    for tree in trees:
        for path, whole in _without(tree, hidden):
            grant(path, READ_FILE | READ_DIR if whole else READ_DIR)
    grant("/dev/null", READ_FILE | WRITE_FILE)
    grant(writable, files)
    no_new_privileges = ctypes.CDLL(None, use_errno=True).prctl(38, 1, 0, 0, 0) == 0
    return bool(no_new_privileges and call(restrict, rules, ctypes.c_uint(0)) == 0)


def _without(tree: str, hidden: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the largest parts of ``tree`` with nothing hidden, and (with False) the folders that are left to list."""
    if tree in hidden:
        return
    if not any(_below(path, tree) for path in hidden):
        yield tree, True
        return
    yield tree, False
    with suppress(OSError):
        for name in os.listdir(tree):
            path = os.path.join(tree, name)
            if not os.path.islink(path):
                yield from _without(path, hidden)
            elif not any(_below(place, os.path.realpath(path)) for place in hidden):
                yield path, True


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _hook(trees: Sequence[str], hidden: Sequence[str], writable: str) -> Callable[[str, tuple[Any, ...]], None]:
    changing = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC

    def refuse(what: str) -> None:
        raise PermissionError(f"{SENTENCE}: this one tried to {what}")

    def check(given: Any, change: bool) -> None:
        path = os.path.realpath(os.fsdecode(given))
        readable = any(_below(path, tree) for tree in trees) and not any(_below(path, tree) for tree in hidden)
        if not _below(path, writable) and path != os.devnull and (change or not readable):
            refuse(f"{'change' if change else 'read'} {path}")

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in READS:
            if isinstance(given[0], str | bytes | os.PathLike):  # otherwise a file that is open, or the working folder
                check(given[0], event == "open" and bool(given[2] & changing))
        elif event in CHANGES:
            for path in given:
                if isinstance(path, str | bytes | os.PathLike):
                    check(path, True)
        elif event in NETWORK:
            refuse("use the network")
        elif event in PROGRAMS:
            refuse("start a program")

    return hook
