"""Training on a Dask cluster, either running or started by Slurm (extra ``[cluster]``)."""

import ctypes
import pickle
import tomllib
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from joblib.externals.loky.process_executor import TerminatedWorkerError

from benchmark.errors import UserError
from benchmark.files import install
from benchmark.types import Problem

PATIENCE = "20s"
"""Timeout for connecting to a scheduler."""


@contextmanager
def connect(scheduler: str = "", slurm: Path | None = None) -> Iterator[Any]:
    """Yield a Dask client of the scheduler at an address such as ``tcp://host:8786`` or of the Slurm jobs in ``slurm``.

    The TOML file ``slurm`` holds ``jobs``, the number of jobs, and the arguments of ``dask_jobqueue.SLURMCluster``
    (``cores``, ``memory``, ``queue``, ``walltime``, …). Raises UserError with the remedy.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError(f"a cluster needs Dask: {install('cluster')}") from error
    with ExitStack() as held:
        cluster = held.enter_context(closing(_slurm(slurm))) if slurm else None
        try:
            client = held.enter_context(closing(Client(cluster or scheduler, timeout=PATIENCE)))
            # Held here, because Dask drops what nobody waits for.
            importing = [client.submit(_import, workers=[address], pure=False) for address in client.nthreads()]
        except (OSError, ValueError) as error:
            remedy = "start one with: dask scheduler"
            raise UserError(f"no Dask scheduler answers at {scheduler or slurm}: {error}\n  {remedy}") from error
        held.callback(importing.clear)  # what is not done by the end need not be
        yield client


def _slurm(file: Path) -> Any:
    try:
        from dask_jobqueue.slurm import SLURMCluster

        options = tomllib.loads(file.read_text(encoding="utf-8"))
        jobs = options.pop("jobs")
        cluster = SLURMCluster(**options)
        cluster.scale(jobs=int(jobs))
    except ImportError as error:
        raise UserError(f"Slurm needs dask-jobqueue: {install('cluster')}") from error
    except KeyError as error:
        raise UserError(f"{file}: expected 'jobs', the number of Slurm jobs to start") from error
    except (OSError, tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise UserError(f"{file}: not a description of a Slurm cluster: {error}") from error
    return cluster


def spread(client: Any, work: Callable[..., Any], units: Sequence[tuple[Problem, Any]]) -> Iterator[Any]:
    """Yield ``work(problem, unit)`` for each (problem, unit) as it completes; each problem is sent once, compressed.

    A unit whose worker dies is retried on another. If that keeps happening, TerminatedWorkerError is raised once all
    others are done. Raises UserError if the scheduler is lost.
    """
    from distributed import KilledWorker, as_completed

    try:
        sent: dict[str, Any] = {}
        running = []
        for problem, unit in units:
            if problem.digest not in sent:  # as a task: scattered data would be lost with the worker that holds it
                sent[problem.digest] = client.submit(lambda x: x, _packed(problem), pure=False)
            running.append(client.submit(_do, work, sent[problem.digest], unit, pure=False))
        died = 0
        for future in as_completed(running):
            if isinstance(future.exception(), KilledWorker):
                died += 1
            else:
                yield future.result()
    except (OSError, TimeoutError, CancelledError) as error:  # distributed's CommClosedError is an OSError
        remedy = "finished work is kept; run the same command again to do the rest"
        raise UserError(f"the Dask scheduler was lost: {error}\n  {remedy}") from error
    if died:
        raise TerminatedWorkerError


def _packed(problem: Problem) -> bytes:
    """Return a problem as compressed bytes: most features are zeros, so AMES takes 1.3 MB instead of 65.

    Dask's own compression would leave the scheduler to hold every problem in full.
    """
    return zlib.compress(pickle.dumps(problem, protocol=5), level=1)


@lru_cache(maxsize=2)
def _unpacked(packed: bytes) -> Problem:
    """Return a problem on a worker, unpacked once for all its units, as the units of a problem follow each other."""
    problem: Problem = pickle.loads(zlib.decompress(packed))
    return problem


def _import() -> None:
    """Import PyTorch while the driver opens the store; what goes wrong does so again with the work itself."""
    import_module("benchmark.train.loop")


def _do(work: Callable[..., Any], packed: bytes, unit: Any) -> Any:
    _stop_profiler()
    _reuse_memory()
    return work(_unpacked(packed), unit)


def _stop_profiler() -> None:
    """Stop Dask's profiler, which reads the stacks of a worker's threads a hundred times a second.

    With it, training took 1.2 to 1.5 times the CPU time.
    """
    from distributed import get_worker

    worker = get_worker()
    for name in ("profile", "profile-cycle"):
        if callback := worker.periodic_callbacks.get(name):  # not where the cluster's settings turn it off
            worker.loop.add_callback(callback.stop)


@cache
def _reuse_memory() -> None:
    """Let glibc keep freed memory for the next tensor. Dask's nannies make it return each to the system, page by page.

    With their MALLOC_TRIM_THRESHOLD_ of 64 KiB, training took 1.3 times the CPU time. Other C libraries have no such
    setting.
    """
    trim, mmap = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(mmap, 32 << 20)  # glibc's largest
        library.mallopt(trim, 128 << 20)
