"""The process that runs a submitted method, started by ``isolation``: one job, then it ends.

Messages go through the pipes of standard input and output, as a letter, a length and bytes. Nothing of the suite's data
is in this process: of a retraining, it gets the sample, and the features of the test molecules once it has trained.
"""

import io
import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

Message = tuple[bytes, bytes]
HEAD = struct.Struct(">cQ")
JOB, SAMPLE, TESTS = b"j", b"s", b"t"
WALLS, FILES, TRAINED, VALUES, CHECKED, WRONG, FAILED = b"w", b"d", b"r", b"v", b"c", b"u", b"f"
"""Kinds of message: to this process, and from it."""


def send(pipe: IO[bytes], kind: bytes, content: bytes) -> None:
    """Write a message."""
    pipe.write(HEAD.pack(kind, len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes], most: int) -> Message | None:
    """Read a message; None if the pipe has ended, or the message is longer than ``most`` bytes."""
    head = pipe.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, length = HEAD.unpack(head)
    content = pipe.read(length) if length <= most else b""
    return (kind, content) if len(content) == length else None


def main() -> None:
    """Do the job that comes in."""
    given, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the method prints is no message
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def take() -> bytes:
        message = receive(given, sys.maxsize)
        return message[1] if message else sys.exit(1)

    job = json.loads(take())
    sys.path[:] = job["path"]
    from benchmark.run.walls import stand

    send(out, WALLS, json.dumps(stand(job["readable"], job["hidden"], job["writable"])).encode())
    from benchmark.errors import UserError
    from benchmark.run.check import located

    training = False
    try:
        if job["task"]:
            _provided(out, take, job)
            method = _method(job)
            training = True
            _retrain(out, take, method, job)
        else:
            _provided(out, take, job)
            send(out, CHECKED, json.dumps(_check(job["method"], job["file"], job["tasks"])).encode())
    except (Exception, SystemExit) as error:
        mistake = isinstance(error, UserError) and not training
        send(out, *((WRONG, str(error).encode()) if mistake else (FAILED, located(error).encode())))


def _provided(out: IO[bytes], take: Callable[[], bytes], job: dict[str, Any]) -> None:
    """Ask for the files that the method declares, and wait until they are there."""
    from inspect import getfile

    from benchmark.registry import find, load_file

    cls = load_file(Path(job["file"])) if job["file"] else find(job["method"])[0]
    if cls.files:
        folder = str(Path(getfile(cls)).parent)
        send(out, FILES, json.dumps({"folder": folder, "files": dict(cls.files)}).encode())
        take()


def _check(method: str, file: str, only: list[str]) -> dict[str, Any]:
    from benchmark.errors import UserError
    from benchmark.registry import find, load_file, make_method
    from benchmark.run.check import check_method

    cls, settings = (load_file(Path(file)), []) if file else find(method)
    if settings:
        raise UserError(f"{method}: the check uses the defaults: leave out {':'.join(settings)}")
    tasks = [task for task in cls.tasks if task in only]
    failures = [f"{task}: {failure}" for task in tasks for failure in check_method(cls, task)]
    made = make_method(cls.name, cls.tasks[0]).reading
    reading = made._replace(recipe=made.recipe and made.recipe.model_dump())  # type: ignore[arg-type]
    return {"name": cls.name, "tasks": tasks, "reading": reading, "failures": failures}


def _method(job: dict[str, Any]) -> Any:
    from benchmark.registry import make_method, refuse_sampling

    about = job["backbone"], job["sampling"], job["learner"]
    method = make_method(job["method"], job["task"], None, *about)
    refuse_sampling(method, job["sampling"])
    return method


def _retrain(out: IO[bytes], take: Callable[[], bytes], method: Any, job: dict[str, Any]) -> None:
    import numpy as np

    from benchmark.run.runner import fit
    from benchmark.types import Inputs, Recipe, Sample

    with np.load(io.BytesIO(take())) as stored:
        arrays = dict(stored)
    sample = Sample(
        **{name: job[name] for name in ("seed", "sampling", "task", "n_outputs")},
        **arrays,
        recipe=Recipe(**job["recipe"]),
    )
    model = fit(method, sample)
    send(out, TRAINED, b"")
    with np.load(io.BytesIO(take())) as stored:
        inputs = Inputs(**stored)
    values = np.asarray(model.predict(inputs), dtype=np.float32)
    if values.shape != (len(inputs), sample.n_outputs):
        raise ValueError(f"predict(inputs) must have shape {(len(inputs), sample.n_outputs)}, got {values.shape}")
    send(out, VALUES, values.tobytes())


if __name__ == "__main__":
    main()
