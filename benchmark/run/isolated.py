"""The process that runs a submitted method in a sandbox, started by ``isolation``: one job, then it ends.

Messages go through a socket, which is standard input: a letter, then JSON or arrays. Nothing of the suite's data is in
this process: of a retraining, it gets the sample, and the features of the test molecules once it has trained.
"""

import json
import os
import shutil
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

FILES, TRAINED, VALUES, CHECKED, WRONG, FAILED = b"d", b"r", b"v", b"c", b"u", b"f"
"""Kinds of message from this process."""
ABOUT = ("seed", "sampling", "task", "n_outputs")
"""What a job says of the sample, beside its arrays and recipe."""
COMPILED, WRITABLE = "train/compiled", "/tmp/compiled"
"""Where the loops are that Numba has compiled, and where this process has its own copy."""


def main() -> None:
    pipe = Connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    job = json.loads(pipe.recv_bytes())
    sys.path[:] = job["path"]
    with suppress(OSError):  # nothing was compiled yet
        shutil.copytree(Path(__file__).parents[1] / COMPILED, WRITABLE)
    from benchmark.run.sandbox import limit

    limit()
    from pydantic import TypeAdapter

    from benchmark.errors import UserError, located
    from benchmark.registry import make_method, named, refuse_sampling

    training = False
    try:
        cls, settings = named(job["method"])
        if cls.files:  # wait until they are there
            pipe.send_bytes(FILES + json.dumps([str(Path(cls.place).parent), dict(cls.files)]).encode())
            pipe.recv_bytes()
        if job["task"]:
            method = make_method(job["method"], job["task"], None, job["backbone"], job["sampling"])
            refuse_sampling(method, job["sampling"])
            training = True
            _retrain(pipe, method, job)
        else:
            from benchmark.run.check import Checked, checked  # imports pandas

            pipe.send_bytes(CHECKED + TypeAdapter(Checked).dump_json(checked(cls, settings, job["tasks"])))
    except BaseException as error:
        mistake = isinstance(error, UserError) and not training
        kind, text = (WRONG, str(error)) if mistake else (FAILED, located(error))
        pipe.send_bytes(kind + text.encode("utf-8", "replace"))


def _retrain(pipe: Connection, method: Any, job: dict[str, Any]) -> None:
    import numpy as np

    from benchmark.files import unpacked
    from benchmark.types import Inputs, Recipe, Sample

    given: dict[str, Any] = {name: job[name] for name in ABOUT}
    given |= unpacked(pipe.recv_bytes())
    model = method.fit(Sample(**given, recipe=Recipe(**job["recipe"])))
    pipe.send_bytes(TRAINED)
    inputs = Inputs(**unpacked(pipe.recv_bytes()))
    values = np.asarray(model.predict(inputs), dtype=np.float32)
    if values.shape != (len(inputs), job["n_outputs"]):
        raise ValueError(f"predict(inputs) must have shape {(len(inputs), job['n_outputs'])}, got {values.shape}")
    pipe.send_bytes(VALUES + values.tobytes())


if __name__ == "__main__":
    main()
