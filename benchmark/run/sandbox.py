"""Sandbox around a process that runs a stranger's code: nothing to write, no network, no other process, no secret.

bubblewrap (https://github.com/containers/bubblewrap) gives the process namespaces of its own, in which it has Python,
the libraries and what it is meant to read, all read-only, and an empty temporary folder of limited size. A filter of
system calls (libseccomp) refuses what two sandboxes could still share through the same files or the kernel: locks,
notices of access, keys, the state of the disk's cache, numbers and limits that count what all processes of a user or
of the machine have. ``/proc`` has a few made-up entries, and no process can start another.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

SECONDS = 3600
"""CPU seconds of the process; it ends after twice as many by the clock."""
FOLDER = 2**30
"""Bytes of its temporary folder."""
LIMITS = {"CPU": SECONDS, "AS": 16 * 2**30, "FSIZE": FOLDER, "CORE": 0, "NOFILE": 1024, "NPROC": 4096}
LIMITS |= {"SIGPENDING": 0, "MSGQUEUE": 0, "MEMLOCK": 0}
"""Limits of the process: ``AS`` are bytes of address space, ``NPROC`` threads (they do not hold root). Those of 0 are
of what the kernel counts for all processes of a user together."""
PROCESSORS = Path("/proc/cpuinfo")
PROCESS = {
    str(PROCESSORS): re.sub(rb"cpu MHz.*\n", b"", PROCESSORS.read_bytes() if PROCESSORS.exists() else b""),
    "/proc/self/statm": b"100000 50000 10000 1 0 50000 0\n",
    "/proc/self/maps": b"000000000000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n",
}
"""Stand-ins for what the kernel tells, the same in every sandbox: PyTorch reads the kind of the processors (their
speed, which depends on the load, is left out), CatBoost its memory in use, the C library the place of its stack, and
threadpoolctl its libraries, of which there are none to see."""
SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/alternatives"),
    *("/etc/ld.so.cache", "/etc/localtime"),
    *(f"/sys/devices/system/cpu/{name}" for name in ("kernel_max", "offline", "online", "possible", "present")),
    *(str(path) for name in ("cache", "topology") for path in Path("/sys/devices/system/cpu").glob(f"cpu*/{name}")),
)
"""What Python's libraries read of the system; of the processors, nothing that changes: neither load nor memory."""
REFUSED = (
    *("fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "unshare", "setns", "mount", "umount2"),
    *("flock", "inotify_init", "inotify_init1", "fanotify_init", "mincore", "preadv2"),
    *("memfd_create", "memfd_secret", "io_uring_setup", "io_setup", "add_key", "request_key", "keyctl"),
    *("bpf", "perf_event_open", "userfaultfd", "sysinfo", "syslog", "ustat", "shmctl", "mq_open"),
    *("socket", "socketpair", "sendmsg", "sendmmsg", "pipe", "pipe2", "epoll_create", "epoll_create1"),
    *("timer_create", "rt_sigqueueinfo", "rt_tgsigqueueinfo"),
)
"""System calls that give no permission."""
NEWER = range(449, 600)
"""Numbers of system calls that libseccomp may not know by name, from ``futex_waitv`` on; libraries do without them."""
COMMANDS = {5, 6, 7, 36, 37, 38, *range(1024, 1048)} - {1030}
"""Commands of ``fcntl`` that give no permission: locks, and those of Linux, such as leases, but for F_DUPFD_CLOEXEC."""
HUGE = 0x40000
"""MAP_HUGETLB: of such pages, all processes have a fixed number."""
PRIVATE = 128
"""FUTEX_PRIVATE_FLAG: a futex without it is one of all processes that have mapped the same file."""
ALLOW, ERROR, EPERM, EAGAIN, ENOSYS = 0x7FFF0000, 0x00050000, 1, 11, 38
MASKED_EQUAL = 7
CLONE_THREAD = 0x10000


class _Argument(ctypes.Structure):
    """``scmp_arg_cmp`` of libseccomp."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


@cache
def _filter() -> bytes:
    """Return the program that the kernel runs for each system call. Raises OSError without libseccomp."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(ALLOW))

    def refuse(name: str | int, error: int, *argument: int) -> None:
        number = name if isinstance(name, int) else library.seccomp_syscall_resolve_name(name.encode())
        given = (_Argument * 1)(_Argument(*argument)) if argument else None
        if number >= 0:  # otherwise this kind of machine, or this version of the library, does not have it
            library.seccomp_rule_add_array(rules, ERROR | error, number, bool(argument), given)

    for name in REFUSED:
        refuse(name, EPERM)
    for new in NEWER:
        refuse(new, ENOSYS)
    for command in COMMANDS:
        refuse("fcntl", EPERM, 1, MASKED_EQUAL, 2**32 - 1, command)  # the kernel takes 32 bits of 64
    refuse("mmap", EPERM, 3, MASKED_EQUAL, HUGE, HUGE)
    refuse("futex", EAGAIN, 1, MASKED_EQUAL, PRIVATE, 0)  # who joins a thread asks again
    refuse("clone", EPERM, 0, MASKED_EQUAL, CLONE_THREAD, 0)  # a process, not a thread
    refuse("clone3", ENOSYS)  # its flags cannot be seen; libraries then use clone
    with open(os.memfd_create("filter"), "w+b") as file:
        library.seccomp_export_bpf(rules, file.fileno())
        library.seccomp_release(rules)
        file.seek(0)
        return file.read()


@cache
def trouble() -> str:
    """Return why no sandbox works here, with the remedy; empty if one does."""
    if sys.platform != "linux":
        return "bubblewrap, which confines strangers' code, needs Linux: use the container in docs/containers.md"
    if not shutil.which("bwrap"):
        return "bubblewrap, which confines strangers' code, is not installed: apt-get install bubblewrap"
    try:
        child = start(["-I", "-S", "-c", ""], stderr=subprocess.PIPE)
    except OSError as error:
        return f"bubblewrap's filter of system calls cannot be made ({error}): apt-get install libseccomp2"
    said = child.communicate()[1].decode("utf-8", "replace").strip()[-500:]
    remedy = "allow user namespaces, as docs/containers.md says for containers and for Ubuntu"
    said = f"bubblewrap, which confines strangers' code, does not work here ({said}): {remedy}"
    return said if child.returncode else ""


def start(
    words: Sequence[str], readable: Iterable[tuple[str, str]] = (), hidden: Iterable[str] = (), **options: Any
) -> subprocess.Popen[bytes]:
    """Start Python with the arguments ``words`` in a sandbox, with the ``options`` of ``subprocess.Popen``.

    ``readable`` are files and folders with the paths that they have inside; folders of ``hidden`` are empty there.
    """
    python = os.path.realpath(sys.executable)
    bases = (os.path.join(base, "lib") for base in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix)))
    trees = [*((path, path) for path in (*SYSTEM, *bases, python)), *readable]
    bind = [word for source, target in trees for word in ("--ro-bind-try", os.path.realpath(source), target)]
    for path in map(os.path.realpath, hidden):
        above = [tree for tree in trees if f"{path}/".startswith(f"{tree[1]}/")]
        if any(os.path.isdir(source + path.removeprefix(target)) for source, target in above):  # not in a copy of code
            bind += ["--tmpfs", path, "--remount-ro", path]
    # Devices would have times that all can change; files take their place, and none gives random numbers.
    files = [_in_memory(content) for content in (_filter(), b"", bytes(range(256)) * 256, *PROCESS.values())]
    rules, empty, fixed, *of_process = map(str, files)
    made_up = [word for file, path in zip(of_process, PROCESS, strict=True) for word in ("--ro-bind-data", file, path)]
    command = [
        *("bwrap", "--unshare-all", "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--uid", "65534"),
        *("--gid", "65534", "--size", str(FOLDER), "--tmpfs", "/tmp", *bind, "--symlink", "/tmp", "/dev/shm"),
        *("--bind-data", empty, os.devnull, "--ro-bind-data", fixed, "/dev/urandom"),
        *(*made_up, "--symlink", python, "/proc/self/exe", "--remount-ro", "/"),
        *("--chdir", "/tmp", "--seccomp", rules, "--", python, *words),
    ]
    try:
        return subprocess.Popen(command, pass_fds=files, **options)
    finally:
        for file in files:
            os.close(file)


def _in_memory(content: bytes) -> int:
    file = os.memfd_create("sandbox")
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def limit() -> None:
    """Set ``LIMITS`` for this process, for good."""
    import resource  # not on Windows

    for name, most in LIMITS.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
