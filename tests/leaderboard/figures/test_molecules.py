"""Molecules: drawings for pages, and SMILES from local data."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmark.data import downloads
from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from leaderboard.figures import molecules
from leaderboard.figures.molecules import draw, structures
from leaderboard.read.results import Results, collect

from ..conftest import cell


def results(*datasets: str) -> Results:
    """Return cells as on the ID test of measured B3DB molecules, also under the names of other datasets."""
    test = load_problem("b3db_measured").evals["id"]
    cells = (cell("erm", np.full((2, len(test), 2), 0.5), y=test.y, dataset=name) for name in datasets)
    return collect(replace(one, predictions={"id": replace(one.predictions["id"], ids=test.ids)}) for one in cells)


def test_structures_are_the_smiles_of_the_test_examples():
    test = load_problem("b3db_measured").evals["id"]
    smiles = dict(zip(test.ids.tolist(), test.smiles.tolist(), strict=True))
    assert structures(results("b3db_measured")) == {"b3db_measured": smiles}


def test_datasets_without_local_data_are_left_out_without_touching_the_network(monkeypatch, tmp_path):
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CHURN_OFFLINE", "0")
    monkeypatch.setattr(downloads, "_download", lambda spec: pytest.fail(f"tried to download {spec.name}"))
    damaged = tmp_path / "cache" / "raw" / "molnet" / "bace.csv"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("mol,Class\nC,1\n")
    assert structures(results("bbbp", "bace", "a_dataset_of_mine", "mof_solvent", "waterbirds")) == {}
    assert damaged.is_file(), "drawing must not remove a file"


@pytest.mark.parametrize(
    "smiles", ["CC(=O)Nc1ccc(O)cc1", "C[C@H](N)C(=O)O", "[Na+].[Cl-]", "[CH3]", "C/C=C/C", "O=S(=O)(N)c1ccc(Br)cc1I"]
)
def test_a_drawing_is_an_element_without_ids_in_the_colour_of_its_page(smiles):
    svg = draw(smiles, 160, 110)
    root = ElementTree.fromstring(svg)
    assert svg.startswith("<svg")
    assert root.get("viewBox") == "0 0 1600 1100"
    assert [e for e in root.iter() if e.tag.endswith("}path")]
    assert not [e for e in root.iter() if "id" in e.attrib or "class" in e.attrib or e.tag.endswith("}rect")]
    assert "currentColor" in svg or smiles == "[Na+].[Cl-]"
    assert "#000000" not in svg
    assert len(svg) < 8000
    assert draw(smiles, 160, 110) == svg


def test_a_drawing_has_everything_that_rdkit_drew():
    smiles = "O=S(=O)(N)c1ccc(Br)cc1I"
    drawn = "".join(re.findall(r" d='([^']*)'", molecules._rdkit(smiles, 200, 150)))
    joined = "".join(shape.path for shape in molecules.shapes(smiles, 200, 150))
    assert drawn.count("M") == joined.count("M")
    assert sorted(re.findall(r"[-\d.]+", drawn)) == sorted(re.findall(r"[-\d.]+", joined))


@pytest.mark.parametrize("smiles", ["no molecule", ""])
def test_an_invalid_molecule_is_named(smiles):
    with pytest.raises(UserError, match=f"cannot draw '{smiles}'"):
        draw(smiles, 100, 100)
