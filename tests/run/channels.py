"""Ways in which one process can tell another something: ``python channels.py send|receive FOLDER CHANNEL...``.

Changes of files are in ``test_sandbox``.

``FOLDER`` is one that both can see. A sender prints a line when it has sent everything, and stays; a receiver prints
the channels that it heard something on.
"""

import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

C = ctypes.CDLL(None, use_errno=True)
KEPT = []
"""What a sender must keep open."""
SESSION = -3  # the keys of the session


def listening(family: int, address: object) -> socket.socket:
    server = socket.socket(family)
    KEPT.append(server)
    server.bind(address)
    server.listen()


def connects(family: int, address: object) -> bool:
    with socket.socket(family) as client:
        return client.connect_ex(address) == 0


def locks(path: Path, kind: int) -> None:
    file = path.open()
    KEPT.append(file)
    fcntl.lockf(file, kind) if kind == fcntl.LOCK_SH else fcntl.flock(file, fcntl.LOCK_EX)


def is_flocked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def is_locked(path: Path) -> bool:
    """Ask for the lock that would keep a writer out (struct flock of 64-bit Linux)."""
    with path.open() as file:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        return struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK


def leases(path: Path) -> None:
    file = path.open()
    KEPT.append(file)
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def holds_lease(path: Path) -> bool:
    return "LEASE" in Path("/proc/locks").read_text()


def reads_later(path: Path) -> None:
    def read() -> None:
        while True:
            path.read_text()
            time.sleep(0.05)

    threading.Thread(target=read, daemon=True).start()


def is_watched(path: Path) -> bool:
    watcher = C.inotify_init()
    if watcher < 0 or C.inotify_add_watch(watcher, os.fsencode(path), 0x20) < 0:  # IN_OPEN
        raise PermissionError
    return bool(select.select([watcher], [], [], 2)[0])


def key(folder: Path) -> int:
    return crc32(os.fsencode(folder)) >> 1


def port(folder: Path) -> tuple[str, int]:
    return "127.0.0.1", 20_000 + crc32(os.fsencode(folder)) % 10_000


def shared_memory(folder: Path, flags: int) -> int:
    segment: int = C.shmget(key(folder), 4096, flags)
    if segment < 0:
        raise OSError
    return segment


def keeps_key() -> None:
    call = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
    if C.syscall(call, b"user", b"churn-channel", b"1", ctypes.c_size_t(1), SESSION) < 0:
        raise PermissionError


def has_key() -> bool:
    call = {"x86_64": 249, "aarch64": 218}[os.uname().machine]
    return bool(C.syscall(call, b"user", b"churn-channel", None, 0) > 0)


def mapped(path: Path) -> int:
    C.mmap.restype = ctypes.c_void_p
    address: int = C.mmap(None, ctypes.c_size_t(4096), 1, 1, os.open(path, os.O_RDONLY), ctypes.c_long(0))
    return address


def futex(address: int, operation: int, value: int) -> int:
    call = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
    return int(C.syscall(call, ctypes.c_void_p(address), operation, value, None, None, 0))


def waits(path: Path) -> None:
    address = mapped(path)
    value = ctypes.c_int.from_address(address).value
    threading.Thread(target=futex, args=(address, 0, value), daemon=True).start()
    time.sleep(0.5)


def hint(path: Path, command: int, value: int) -> int:
    hinted = ctypes.c_uint64(value)
    if C.fcntl(os.open(path, os.O_RDONLY), command, ctypes.byref(hinted)):
        raise PermissionError
    return hinted.value


def locks_by_64_bits(path: Path) -> bool:
    call = {"x86_64": 72, "aarch64": 25}[os.uname().machine]
    asked = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
    return not C.syscall(call, os.open(path, os.O_RDONLY), ctypes.c_ulong(2**32 + fcntl.F_SETLK), asked)


CHANNELS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "locks (flock)": (
        lambda folder: locks(folder / "flocked", fcntl.LOCK_EX),
        lambda folder: is_flocked(folder / "flocked"),
    ),
    "locks (POSIX)": (
        lambda folder: locks(folder / "locked", fcntl.LOCK_SH),
        lambda folder: is_locked(folder / "locked"),
    ),
    "leases": (lambda folder: leases(folder / "leased"), lambda folder: holds_lease(folder / "leased")),
    "notices of access": (
        lambda folder: reads_later(folder / "watched"),
        lambda folder: is_watched(folder / "watched"),
    ),
    "temporary files": (
        lambda folder: Path("/tmp", folder.name).write_text("1"),
        lambda folder: Path("/tmp", folder.name).read_text(),
    ),
    "abstract sockets": (
        lambda folder: listening(socket.AF_UNIX, f"\0{folder}"),
        lambda folder: connects(socket.AF_UNIX, f"\0{folder}"),
    ),
    "the local network": (
        lambda folder: listening(socket.AF_INET, port(folder)),
        lambda folder: connects(socket.AF_INET, port(folder)),
    ),
    "shared memory": (
        lambda folder: Path("/dev/shm", folder.name).write_text("1"),
        lambda folder: Path("/dev/shm", folder.name).read_text(),
    ),
    "shared memory (System V)": (lambda folder: shared_memory(folder, 0o1600), lambda folder: shared_memory(folder, 0)),
    "semaphores (System V)": (
        lambda folder: C.semget(key(folder), 1, 0o1600),
        lambda folder: C.semget(key(folder), 1, 0) >= 0,
    ),
    "queues (System V)": (lambda folder: C.msgget(key(folder), 0o1600), lambda folder: C.msgget(key(folder), 0) >= 0),
    "/proc": (
        lambda folder: None,
        lambda folder: any(
            b"send\0" + os.fsencode(folder) in p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline")
        ),
    ),
    "signals": (
        lambda folder: (folder / "pid").write_text(str(os.getpid())),
        lambda folder: os.kill(int((folder / "pid").read_text()), signal.SIGCONT) is None,
    ),
    "keys of the kernel": (lambda folder: keeps_key(), lambda folder: has_key()),
    "futexes of a file": (
        lambda folder: waits(folder / "file"),
        lambda folder: futex(mapped(folder / "file"), 1, 1) > 0,
    ),
    "hints of a file": (
        lambda folder: hint(folder / "file", 1036, 3),
        lambda folder: hint(folder / "file", 1035, 0) == 3,
    ),
    "locks (64 bits)": (lambda folder: None, lambda folder: locks_by_64_bits(folder / "file")),
    "memory and processes in use": (lambda folder: None, lambda folder: C.sysinfo(bytes(400)) == 0),
    "memory in use": (lambda folder: None, lambda folder: Path("/sys/devices/system/node/node0/meminfo").read_text()),
    "numbers and sizes of pipes": (lambda folder: None, lambda folder: os.pipe()),
    "numbers of sockets": (lambda folder: None, lambda folder: socket.socketpair()),
    "queues (POSIX)": (lambda folder: None, lambda folder: C.mq_open(b"/channel", os.O_CREAT, 0o600, None) >= 0),
    "signals that wait": (lambda folder: None, lambda folder: C.timer_create(1, None, bytes(64)) == 0),
    "the disk's cache": (
        lambda folder: None,
        lambda folder: bool(os.preadv(os.open(folder / "file", os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT)),
    ),
}


def clean(folder: Path) -> None:
    """Remove what a sender left outside ``folder``."""
    for place in ("/tmp", "/dev/shm"):
        Path(place, folder.name).unlink(missing_ok=True)
    C.shmctl(C.shmget(key(folder), 0, 0), 0, None)
    C.semctl(C.semget(key(folder), 0, 0), 0, 0)
    C.msgctl(C.msgget(key(folder), 0), 0, None)


def main() -> None:
    role, folder, names = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    heard = []
    for name in names:
        try:
            if CHANNELS[name][role == "receive"](folder) and role == "receive":
                heard.append(name)
        except Exception:  # this way is closed
            continue
    print(", ".join(heard), flush=True)
    if role == "send":
        time.sleep(120)


if __name__ == "__main__":
    main()
