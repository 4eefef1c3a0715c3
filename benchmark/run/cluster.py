"""The same units of work on a Dask cluster: one that runs already, or one that Slurm starts (extra ``[cluster]``)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.files import install
from benchmark.types import Problem

PATIENCE = "20s"
"""How long to wait for a scheduler."""


class ClusterError(UserError):
    """The cluster cannot be reached, or is gone; what was finished is kept."""


@contextmanager
def connect(scheduler: str = "", slurm: Path | None = None) -> Iterator[Any]:
    """A Dask client: of the scheduler at an address such as ``tcp://host:8786``, or of Slurm jobs as ``slurm`` says.

    The TOML ``slurm`` holds ``jobs``, how many to start, and what ``dask_jobqueue.SLURMCluster`` takes: ``cores``,
    ``memory``, ``queue``, ``walltime``, … Raises ClusterError or UserError with the remedy.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError(f"a cluster needs Dask: {install('cluster')}") from error
    cluster = _slurm(slurm) if slurm else None
    try:
        client = Client(cluster or scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        where = scheduler or str(slurm)
        raise ClusterError(
            f"no Dask scheduler answers at {where}: {error}\n  start one with: dask scheduler"
        ) from error
    try:
        yield client
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


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


def spread(
    client: Any,
    work: Callable[..., Any],
    units: Sequence[tuple[Problem, Any]],
    alone: Callable[[Any], Sequence[Any]],
    died: Callable[[Any], Any],
) -> Iterator[Any]:
    """``work(problem, unit)`` for each (problem, unit), as each is done; a problem is sent once.

    A unit whose worker dies is done again elsewhere. What was on several workers when they died is tried again in
    parts, ``alone(unit)``, one by one; for a part that kills its worker once more, ``died(part)`` is the result.
    Raises ClusterError when the scheduler is gone.
    """
    from distributed import KilledWorker, as_completed

    try:
        # A task rather than scattered data, which would be gone with the worker that holds it.
        problems = {problem.digest: problem for problem, _ in units}
        sent = {key: client.submit(_itself, problem, pure=False) for key, problem in problems.items()}
        running = {client.submit(work, sent[p.digest], unit, pure=False): (p, unit) for p, unit in units}
        suspects = []
        for future in as_completed(running):
            if isinstance(future.exception(), KilledWorker):
                problem, unit = running[future]
                suspects += [(problem, part) for part in alone(unit)]
            else:
                yield future.result()
        for problem, part in suspects:
            try:
                yield client.submit(work, sent[problem.digest], part, pure=False).result()
            except KilledWorker:
                yield died(part)
    except (OSError, TimeoutError, CancelledError) as error:  # distributed's CommClosedError is an OSError
        raise ClusterError(
            f"the Dask scheduler is gone: {error}\n"
            "  What was finished is kept: give the same command again, it does the rest."
        ) from error


def _itself(problem: Any) -> Any:
    return problem
