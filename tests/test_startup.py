"""What a command has imported by its first output, and by its end: a heavy library would make every user wait."""

import json
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmark.files import CHECKOUT
from leaderboard.read.results import collect
from leaderboard.write.published import write as write_published
from tests.leaderboard.conftest import cell

LIGHT = {
    *("cloudpickle", "filelock", "markupsafe", "numpy", "packaging", "platformdirs", "pooch", "pydantic", "rich"),
    *("threadpoolctl", "typer", "yaml"),
}
"""Dependencies that every command may import: together they take less than half a second."""
TABLES = {"pandas", "pyarrow"}
TORCH = {"functorch", "torch", "torchgen"}
SCORES = TABLES | {"jinja2", "scipy", "scipy.special"}
PARTS = {"scipy.optimize", "scipy.special", "scipy.stats"}
"""Parts of a dependency that count on their own."""
FIRST: dict[str, set[str]] = {
    "benchmark --help": set(),
    "benchmark list": set(),
    "benchmark plan": set(),
    "benchmark health mine.toml": TABLES | {"rdkit"},
    "benchmark new-dataset mine.csv --target potency --to .": TABLES | {"rdkit", "tomli_w"},
    "leaderboard --help": set(),
    "leaderboard score runs.csv": SCORES,
    "leaderboard gate first.csv second.csv --max-flips 100%": SCORES,
    "leaderboard power --store kept": set(),
    "leaderboard submit submissions/mine/1.0 --verify": set(),
}
"""What else a command may have imported by its first output."""
WHOLE: dict[str, set[str]] = {
    "benchmark list": TORCH | {"rdkit", "scipy"},
    "leaderboard score runs.csv": SCORES,
    "leaderboard gate first.csv second.csv --max-flips 100%": SCORES,
    "leaderboard power --store kept": SCORES | {"scipy.optimize"},
}
"""What else a command may have imported by its end, where there is no tracking store."""

WATCHED = """
import atexit, importlib, io, json, os, sys

package, report, stop, *words = sys.argv[1:]
seen = {}

def note(when):
    seen.setdefault(when, sorted(sys.modules))
    with open(report, "w") as file:
        json.dump(seen, file)

class Watched(io.StringIO):
    def write(self, text):
        if text.strip():
            note("first")
            if stop == "the first output":
                os._exit(0)
        return len(text)

atexit.register(note, "last")
sys.argv = [package, *words]
sys.stdout = sys.stderr = Watched()
importlib.import_module(f"{package}.__main__").app()
"""


@cache
def dependencies() -> set[str]:
    """Return the names under which the suite's dependencies, and those of its extras, are imported."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {Requirement(line).name for line in project["dependencies"]}
    named |= {"chemprop", "datasets", "distributed", "lightgbm", "torch-geometric", "transformers"}
    plain = {*map(canonicalize_name, named)}
    return {module for module, of in packages_distributions().items() if plain & {*map(canonicalize_name, of)}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset of 40 molecules, predictions of four runs for 50 examples, and results of two methods."""
    folder = tmp_path_factory.mktemp("startup")
    rows = [f"{'C' * (n + 1)}O,{n % 2}" for n in range(40)]
    (folder / "mine.csv").write_text("\n".join(["SMILES,potency", *rows]) + "\n")
    fields = {"title": "Mine", "task": "classification", "group": "extra", "source": "tadf:mine.csv"}
    fields |= {"smiles": "SMILES", "target": "potency", "split": "random:0.8"}
    toml = "\n".join(f'{name} = "{value}"' for name, value in fields.items())
    (folder / "mine.toml").write_text(f'{toml}\nfeatures = ["morgan:2048:2"]\n')
    p = np.random.default_rng(0).random((4, 50))
    ids = [f"m{t}" for t in range(50)]
    runs = [pd.DataFrame({"example_id": ids, "p0": 1 - of, "p1": of, "y_true": (p[0] > 0.4).astype(int)}) for of in p]
    pd.concat([table.assign(run=r) for r, table in enumerate(runs)]).to_csv(folder / "runs.csv", index=False)
    for name, table in zip(("first", "second"), runs, strict=False):
        table.to_csv(folder / f"{name}.csv", index=False)
    of_two = [cell(method, np.stack([1 - p, p], axis=2), y=(p[0] > 0.4).astype(int)) for method in ("erm", "twin")]
    write_published(collect(of_two), folder / "kept", tables=False)
    return folder


@pytest.mark.parametrize("command", FIRST)
def test_a_command_imports_no_more_than_it_needs_by_its_first_output_and_by_its_end(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))  # a new home
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    package, *words = command.split()
    until = "the end" if command in WHOLE else "the first output"
    watched = [sys.executable, "-c", WATCHED, package, str(tmp_path / "seen.json"), until]
    subprocess.run([*watched, *words], cwd=folder, capture_output=True, check=True)
    heavy = (dependencies() | PARTS) - LIGHT
    seen = {when: heavy & {*names} for when, names in json.loads((tmp_path / "seen.json").read_text()).items()}
    assert seen["first"] <= FIRST[command]
    assert seen.get("last", set()) <= WHOLE.get(command, set())
    assert not list(tmp_path.glob("*.db")), "no store is created"


def test_all_heavy_libraries_are_counted() -> None:
    assert {"matplotlib", "mlflow", "pandas", "pyarrow", "rdkit", "sklearn", "torch"} <= dependencies() - LIGHT
