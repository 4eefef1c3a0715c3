"""Deployable models of recorded cells: retrained, compared with what is recorded, and logged in MLflow.

The harness keeps the predictions of a retraining, not its networks. A model is therefore made by training the cell once
more, and logged only if that gives the recorded predictions.
"""

import io
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import _lru_cache_wrapper, cache
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from benchmark import registry
from benchmark.data.inputs import SMILES, Featuriser, inputs_of, refuse_images
from benchmark.data.problem import split_rows
from benchmark.data.rows import load_rows
from benchmark.data.spec import DatasetSpec, load_spec, with_features
from benchmark.errors import UserError
from benchmark.files import CHECKOUT, PACKAGE, own_methods
from benchmark.pipeline import Pipeline
from benchmark.run import served
from benchmark.run.isolation import copy_code
from benchmark.run.runner import Planned
from benchmark.store.cell import Cell
from benchmark.train.device import CPU
from benchmark.train.learner import installed
from benchmark.train.resampling import sample_for
from benchmark.types import PAPER, Predictions, Problem, Sample, Sampling

if TYPE_CHECKING:  # MLflow takes seconds to import
    from benchmark.store.tracking import Store

AUTO = "auto"
"""Value of ``--register`` that names each model after its dataset and method."""
TOLERANCE = 1e-5
"""Largest difference to a recorded prediction, absolute plus relative. Networks under ``nested`` and ``halves`` were
trained within the pool, where sums run in another order (tests/train/test_sample.py)."""
SUITE = ("benchmark", "leaderboard", "methods")
ANSWER = """
import json, sys
import pandas as pd
from benchmark.run import served
served._load_pyfunc(sys.argv[1]).predict(pd.read_json(sys.argv[2], orient="split", dtype=False))
print(json.dumps(sorted({name for name, module in sys.modules.items() if getattr(module, "__file__", None)})))
"""
"""Answers from a model in a new process, and prints the modules that this imports."""
KNOWN = ("CC(=O)Oc1ccccc1C(=O)O", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "CC(C)Cc1ccc(C(C)C(=O)O)cc1")
"""Aspirin, caffeine and ibuprofen: the example for a dataset of the user's own, whose molecules may be secret."""


def refuse(cells: Sequence[Planned], register: str) -> None:
    """Raise UserError, before anything is trained, for cells whose models cannot be logged or registered."""
    for cell in cells:
        refuse_images(load_spec(cell.dataset))
        if cell.key.device != CPU:
            raise UserError("--log-models trains on the CPU, which repeats no GPU's predictions: add --device cpu")
    if register and register != AUTO and len(cells) > 1:
        raise UserError(f"--register {register}: {len(cells)} models cannot be versions of one model: use {AUTO}")
    if register and not re.fullmatch(r"[\w. -]+", register):
        raise UserError(f"--register {register}: expected a name of letters, digits, spaces, '.', '-' and '_'")


def log_models(
    cells: Sequence[Planned], *, force: bool, jobs: int | None, register: str, report: Callable[[str], None]
) -> int:
    """Log the models of those ``cells`` that are recorded, and return how many could not be logged.

    A cell that has a model keeps it, unless ``force``. With ``register``, a name or ``AUTO``, each model becomes a
    version of a registered model. ``report`` is called with a line for each step. Raises TrackingError.
    """
    from benchmark.store import models
    from benchmark.store.opening import TrackingError
    from benchmark.store.tracking import Store

    store = Store()
    planned = {cell.key.digest: cell for cell in cells}
    recorded: dict[str, Cell] = {}
    for record in store.cells(only=planned):  # newest first
        recorded.setdefault(record.key.digest, record)
    for line in store.unreadable:
        report(line)
    failed = 0
    for digest, cell in planned.items():
        name = f"{cell.title} on {cell.key.place}"
        try:
            if digest not in recorded:
                raise UserError("the cell is not recorded")
            record = recorded[digest]
            model = "" if force else models.find(store, record.run_id)
            if model:
                report(f"has a model: {name}: models:/{model}")
            else:
                report(f"training {name} once more for its model, because predictions are kept and networks are not")
                model, note = _log(store, cell, record, jobs)
                report(f"logged the model of {name}: models:/{model} ({note})")
        except TrackingError:
            raise
        except UserError as error:
            failed += 1
            report(f"NO MODEL for {name}: {error}")
            continue
        if register:
            title = registered_name(cell) if register == AUTO else register
            version = models.register(store, record, model, title, _described(cell))
            report(f"registered as models:/{title}/{version}")
    return failed


def registered_name(cell: Planned) -> str:
    """Return the name of a cell's registered model: dataset, sampling if not the paper's, and method."""
    method = registry.spelled(cell.method, cell.problem.task, cell.problem.backbone, cell.key.sampling)
    parts = [cell.key.dataset, cell.key.sampling if cell.key.sampling != PAPER else "", method]
    return re.sub(r"[^\w.]+", "-", "-".join(filter(None, parts)))


def _log(store: "Store", cell: Planned, record: Cell, jobs: int | None) -> tuple[str, str]:
    """Log the model of a recorded cell; return its id, and a note on its size and predictions. Raises UserError."""
    from benchmark.store import models

    try:
        pool = Parallel(n_jobs=jobs or -1, inner_max_num_threads=1, backend="loky")
        same = cell.problem, cell.method, cell.key.sampling
        contents, values = zip(*pool(delayed(_retrained)(*same, seed) for seed in cell.key.seeds), strict=True)
    except TerminatedWorkerError as error:
        raise UserError("a worker process died: out of memory, or a crash in native code; try --jobs 1") from error
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError("".join(traceback.format_exception(error)).strip()) from error
    exact = _compare(record, {name: np.stack([of_run[name] for of_run in values]) for name in record.predictions})
    spec = load_spec(with_features(cell.dataset, cell.method.features))
    rows = load_rows(spec)
    split = split_rows(spec, rows, cell.key.canonical_seed)
    featuriser = Featuriser.of(spec, rows, split.train, cell.method.base.reads)
    columns = {SMILES: "string"} if featuriser.reads_molecules else {}
    columns |= dict.fromkeys(featuriser.numbers, "double") | dict.fromkeys(featuriser.texts, "string")
    inputs = inputs_of(spec, rows)[list(columns)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "model.pkl"
        served.write(data, cell.problem.task, featuriser, contents)
        model = served._load_pyfunc(str(data))
        for name, index in split.tests.items():
            _check_answers(model, inputs.iloc[index], record.predictions[name])
        size = data.stat().st_size
        key, dataset = cell.key, record.facts.dataset
        about = {
            **{name: getattr(key, name) for name in ("dataset", "sampling", "method", "canonical_seed", "problem")},
            **{name: getattr(dataset, name) for name in ("target", "unit", "licence")},
            "classes": list(spec.class_names),
            "log10": spec.log10,
            "params": dict(key.params),
            "retrainings": list(key.seeds),
            "cell": key.digest,
        }
        model_id = models.log(
            store,
            record,
            _described(cell),
            columns,
            served.OUTPUTS[cell.problem.task] | {served.REASON: "string"},
            loader_module=served.__name__,
            data_path=str(data),
            code_paths=_code(Path(folder)),
            pip_requirements=_requirements(data, inputs.iloc[split.tests["id"][:1]]),
            input_example=_example(spec, inputs, split.tests["id"]),
            metadata=about,
        )
    close = "equal the recorded ones to the bit" if exact else f"are within {TOLERANCE:g} of the recorded ones"
    return model_id, f"{size / 1e6:.3g} MB; its predictions {close}"


def _retrained(
    problem: Problem, method: Pipeline, sampling: Sampling, seed: int
) -> tuple[bytes, dict[str, np.ndarray]]:
    """Train at one seed in a worker; return the pickled predictor, and its predictions by test.

    Raises UserError for a predictor that cannot be saved.
    """
    fitted = method.fit(sample_for(problem, sampling, seed)[0])
    values = {name: fitted.predict(test.inputs) for name, test in problem.evals.items()}
    for pickler in (_WithoutSample, cloudpickle.Pickler):
        content = io.BytesIO()
        try:
            pickler(content).dump(fitted)
        except Exception as error:
            raise UserError(f"what fit of {method.name!r} returned cannot be saved with pickle: {error}") from error
        with suppress(Exception):  # a predictor that needs the rows fails without them, in any way
            loaded = pickle.loads(content.getvalue())
            if all(np.array_equal(loaded.predict(problem.evals[name].inputs), of) for name, of in values.items()):
                return content.getvalue(), {name: of.astype(np.float32) for name, of in values.items()}
    raise UserError(f"what fit of {method.name!r} returned predicts something else after it was saved with pickle")


class _WithoutSample(cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves out the rows of a sample, which most predictors hold and do not need: they may be secret, and large."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _lru_cache_wrapper) and "<locals>" in obj.__qualname__:  # cloudpickle has no way to save it
            return cache, (obj.__wrapped__,)
        if isinstance(obj, Sample) and len(obj):
            none = {name: getattr(obj, name)[:0].copy() for name in ("x", "y", "smiles", "rows", "bootstrap_pool")}
            return replace, (replace(obj, **none, targets=None),)
        return super().reducer_override(obj)


def _compare(record: Cell, values: Mapping[str, np.ndarray]) -> bool:
    """Return whether predictions equal those of a recorded cell to the bit. Raises UserError if they are not close."""
    exact = True
    for name, p in record.predictions.items():
        exact &= np.array_equal(values[name], p.values)
        if not np.allclose(values[name], p.values, rtol=TOLERANCE, atol=TOLERANCE):
            versions = ", ".join(f"{library} {version}" for library, version in record.facts.versions.items())
            raise UserError(
                f"the retrained predictions differ from the recorded ones by up to "
                f"{np.abs(values[name] - p.values).max():.2g} on the test {name!r}. These were recorded on "
                f"{record.facts.device}, with {versions}. To record the cell again here and log "
                "its model, add --force"
            )
    return exact


def _check_answers(model: served.Served, inputs: pd.DataFrame, p: Predictions) -> None:
    """Raise UserError if a model, given molecules as a user would, does not answer as its first retraining."""
    answers = model.predict(inputs)
    column = served.probability(p.values[0]) if p.task == "classification" else p.values[0, :, 0]
    got = answers["probability" if p.task == "classification" else "prediction"]
    if not answers[served.REASON].isna().all() or not np.allclose(
        got.to_numpy(float), column, rtol=TOLERANCE, atol=TOLERANCE
    ):
        raise UserError("the model does not give the recorded predictions from SMILES or numbers; please report this")


def _code(folder: Path) -> list[str]:
    """Copy the suite's packages, with the user's methods, and return their folders."""
    for source in (PACKAGE, Path(import_module("methods").__path__[0])):
        copy_code(source, folder / source.name)
    copy_code(own_methods(), folder / "methods")
    return [str(folder / name) for name in (PACKAGE.name, "methods")]


def _requirements(model: Path, row: pd.DataFrame) -> list[str]:
    """Return the pinned packages that a model imports to answer. Raises UserError for a module that no package has."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        row.to_json(file, orient="split")
        file.flush()
        words = [sys.executable, "-W", "ignore", "-c", ANSWER, str(model), file.name]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *filter(None, sys.path)])}
        asked = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if asked.returncode:
        raise UserError(f"the model does not answer in a process of its own: {asked.stderr.strip()[-1000:]}")
    loaded = {name.partition(".")[0] for name in json.loads(asked.stdout.splitlines()[-1])}
    distributions = packages_distributions()
    versions = {}
    for module in sorted(loaded - {*SUITE, *sys.stdlib_module_names}):
        if module in distributions:
            name = distributions[module][0]
            versions[name] = installed(name).partition("+")[0]  # 2.13.0+cpu is on no package index
        elif not module.startswith("_"):
            place = own_methods()
            raise UserError(f"a served model cannot import {module!r}, which no package has: move its code to {place}")
    return [f"{name}=={version}" for name, version in sorted(versions.items())]


def _example(spec: DatasetSpec, inputs: pd.DataFrame, test: np.ndarray) -> pd.DataFrame:
    """Return three rows for the page of the model; of a dataset of the user's own, nobody's molecules or numbers."""
    rows = inputs.iloc[test[:3]].reset_index(drop=True)
    if not spec.shipped:
        if SMILES in rows:
            rows[SMILES] = KNOWN[: len(rows)]
        for name in rows.columns.drop(SMILES, errors="ignore"):
            rows[name] = float(inputs[name].median()) if pd.api.types.is_numeric_dtype(inputs[name]) else ""
    return rows


def _described(cell: Planned) -> str:
    """Return the description of a model and its registered versions, in Markdown."""
    about, seeds, spec = cell.problem.about, cell.key.seeds, load_spec(cell.dataset)
    asked = f"class 1: {about.target}" if spec.task == "classification" else about.target
    if not spec.shipped:  # the names of the suite's targets say what class 1 is, and which logarithm
        named = ", ".join(f"{k} = {name}" for k, name in enumerate(spec.class_names) if name != str(k))
        asked = f"{about.target}: {named}" if named else f"log10 of {about.target}" if spec.log10 else asked
    column = "stability" if spec.task == "classification" else "spread"
    return (
        f"{cell.title} on {about.title or cell.key.dataset} ({asked}), split {cell.key.canonical_seed}, sampling "
        f"{cell.key.sampling}. Train seed {seeds[0]} answers; `{column}` compares it with {len(seeds) - 1} other "
        f"retrainings. Made by: `{cell.command} --log-models`"
    )
