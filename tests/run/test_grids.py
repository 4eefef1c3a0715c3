"""Files of grids."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import tomli_w

from benchmark.commands import train
from benchmark.errors import UserError
from benchmark.files import CHECKOUT
from benchmark.run.driver import plan_grid
from benchmark.run.grids import read
from benchmark.store.cell import Grid
from benchmark.store.tracking import Store


def written(folder: Path, text: str) -> Path:
    path = folder / "grids.toml"
    path.write_text(text)
    return path


def test_a_block_combines_datasets_with_features_that_they_can_have(tmp_path: Path) -> None:
    of_one = {"features": ["", "atom_pairs.64"], "seeds": "2"}
    of_two = {"task": "regression", "learner": ["", "svm"], "tune": ["", "best"], "sampling": "paper"}
    blocks = [
        {"name": "one", "method": "erm, svm", "dataset": "glass,dili,esol"} | of_one,
        {"name": "two", "method": "erm", "dataset": "dili,esol"} | of_two,
        {"name": "three", "method": "erm,gin", "dataset": "glass,dili", "seeds": "2"},
        {"name": "four", "method": "erm", "dataset": "glass", "learner": ["", "gin"], "seeds": "2"},
    ]
    text = tomli_w.dumps({"block": blocks})
    one, two, three, four = read(written(tmp_path, text)).blocks
    bits = [Grid(["erm", "svm"], [name], [99], [1, 2], "halves") for name in ("glass", "dili", "esol")]
    assert [*one.grids()] == [[grid] for grid in [*bits, *(bits[i]._replace(features="atom_pairs.64") for i in (1, 2))]]
    plain = Grid(["erm"], ["esol"], [99], [*range(1, 11)], "paper")
    assert [*two.grids()] == [
        [plain._replace(learner=learner, tune=tune) for learner in ("", "svm") for tune in ("", "best")]
    ]
    plain = bits[0]._replace(methods=["erm"])  # the rows of glass are compositions, without SMILES
    assert [*three.grids()] == [[plain], [bits[1]._replace(methods=["erm", "gin"])]]
    assert [*four.grids()] == [[plain]]
    assert read(tmp_path / "grids.toml", "two").blocks == [two]


BLOCK = "[[block]]\nname = 'ab'\nmethod = 'erm'\ndataset = 'dili'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block = []", "not a file of grids, with tables [[block]]: 'block': List should have at least 1 item"),
        ("a = " + 3000 * "[", "not a file of grids"),
        (BLOCK.replace("dataset", "data"), "'block.0.dataset': Field required"),
        (f"seeds = 3\n{BLOCK}", "'seeds': Extra inputs"),
        (2 * BLOCK, "several blocks are called 'ab'"),
        (BLOCK, "did you mean 'ab'?"),
    ],
)
def test_a_mistake_in_a_file_of_grids_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read(written(tmp_path, text), "abc")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("method = 'erm,nope'", "unknown method 'nope'"),
        ("method = 'erm'\nlearner = ['nope']", "unknown .*'nope'"),
        ("method = ' , '", "method = ' , ': expected the name of a method"),
        ("method = 'erm'\nseeds = '3'", "under --sampling halves"),
        ("method = 'erm'\ntask = 'regression'", "no dataset in 'b3db_measured' is a regression"),
    ],
)
def test_a_mistake_in_a_later_block_is_named_before_anything_is_trained(tmp_path, own_store, fields, message):
    first = "[[block]]\nname = 'a'\nmethod = 'erm'\ndataset = 'b3db_measured'\nseeds = '2'\n"
    path = written(tmp_path, f"{first}[[block]]\nname = 'b'\ndataset = 'b3db_measured'\n{fields}")
    with pytest.raises(UserError, match=f"^block 'b': {message}"):
        train._run_grids(path, "", 1, "cpu")
    assert not (own_store / "mlflow.db").exists()


def test_the_grids_of_the_board_are_of_known_datasets_and_of_pipelines_that_can_be_trained() -> None:
    for module in ("lightgbm", "xgboost", "catboost"):
        pytest.importorskip(module)
    blocks = read(CHECKOUT / "leaderboard" / "pipelines.toml").blocks
    grids = [grid for block in blocks for grids in block.grids() for grid in grids]
    assert len({dataset for grid in grids for dataset in grid.datasets}) == 68


def test_a_block_of_settings_has_each_setting_of_the_grid(tmp_path: Path) -> None:
    text = "[[block]]\nname = 'a'\nmethod = 'mlp,twin'\ndataset = 'esol'\nsettings = true"
    ((grid,),) = read(written(tmp_path, text)).blocks[0].grids()
    assert grid.methods[:2] == ["mlp:epochs=3", "mlp:epochs=5"]
    assert grid.methods[-5:] == ["mlp", "twin:lam=10.0", "twin", "twin:lam=1.0", "twin:lam=0.3"]


@pytest.mark.slow
@pytest.mark.usefixtures("own_store")
def test_published_cells_are_not_trained_again_and_others_are(tmp_path: Path) -> None:
    text = 'published = "done"\n[[block]]\nname = "a"\nmethod = "knn,linear"\ndataset = "b3db_measured"\nseeds = "2"'
    path = written(tmp_path, text)
    (grid,) = next(read(path).blocks[0].grids())
    first, second = plan_grid(grid, {})
    (tmp_path / "done").mkdir()
    manifest = tmp_path / "done" / "manifest.json"
    manifest.write_text(json.dumps({"cells": [{"key": asdict(first.key)}]}))
    assert read(path).published == {first.key.digest}
    assert train._run_grids(path, "", 1, "cpu") == 0
    assert {cell.key.digest for cell in Store().cells()} == {second.key.digest}
    manifest.write_text('{"cells": [{}]}')
    with pytest.raises(UserError, match=r"done/manifest.json: cannot be read as published results"):
        read(path)
