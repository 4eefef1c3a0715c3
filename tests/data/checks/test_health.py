"""Faults of a dataset are located by line and agree with RDKit and with published numbers."""

import json

import numpy as np
import pytest
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from rdkit.DataStructs import BulkTanimotoSimilarity

from benchmark.data import features, rows
from benchmark.data.checks import health
from benchmark.data.checks.health import Left, Part, examine
from benchmark.data.checks.health_text import reports, to_lines, to_text
from benchmark.data.checks.molecules import molecules
from benchmark.data.problem import split_rows
from benchmark.data.rows import load_rows
from benchmark.data.spec import load_spec
from tests.data.conftest import described

MESSY = """smiles,y,part
CCO,1,train
OCC,0,train
Oc1ccccc1,1,train
Nc1ccccc1,0,train

CCCCCCCCCCCC,1,train
not-a-molecule,1,train
,1,train
CCC,,train
C(C)(C)(C)(C)C,n/a,id
c1ccccc1O,1,id
CCCCCCCCCCCCC,0,id
CCBr,0,id
CCS,1,valid
CCN,0,ood
"""


def dataset(folder, text, **fields):
    """Return the spec of a table with the columns smiles, y and (for the default split) part."""
    return load_spec(described(folder, text, **({"features": ["morgan:2048:2"], "split": "given:part"} | fields)))


def balanced(*rows):
    """Return a table with these rows (smiles,y) in the training pool, followed by four good ones."""
    fill = ["CCF,0,train", "CCCl,1,train", "CCBr,0,id", "CCI,1,id"]
    return "\n".join(["smiles,y,part", *(f"{row},train" for row in rows), *fill]) + "\n"


# Real data


@pytest.mark.usefixtures("staged_data")
def test_the_unparsable_rows_of_bbbp_are_the_published_eleven():
    health = examine(load_spec("bbbp"), 99)
    assert {left.reason for left in health.left_out} == {"unparsable"}
    assert [left.line for left in health.left_out] == [61, 63, 393, 616, 644, 647, 648, 649, 650, 651, 687]
    assert (health.rows, health.parsable, health.used) == (2050, 2039, 2039)
    assert all("Explicit valence for atom # " in left.text for left in health.left_out)


@pytest.mark.usefixtures("staged_data")
def test_bbb_martins_has_nine_exact_repetitions():
    health = examine(load_spec("bbb_martins"), 99)
    assert [left.reason for left in health.left_out] == ["repeated"] * 9
    assert (health.rows, health.parsable, health.used) == (2039, 2039, 2030)
    table = load_rows(load_spec("bbb_martins")).table.set_index("line")
    for left in health.left_out:
        earlier = table[table.index < left.line]
        assert left.text in earlier["smiles"].tolist()


@pytest.mark.usefixtures("staged_data")
def test_other_datasets_with_the_molecules_are_found_with_the_agreement_of_their_labels(tmp_path, monkeypatch):
    names = ["bbb_martins", "bbbp", "bace", "cyp2c9_substrate", "cyp2d6_substrate", "cyp3a4_substrate"]
    monkeypatch.setattr(health, "dataset_names", lambda: names)
    for name in ("bbbp", "cyp2c9_substrate"):
        examine(load_spec(name), 99)
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    molecules.cache_clear()
    monkeypatch.setattr(rows, "MurckoScaffoldSmiles", None)  # datasets are compared without their scaffolds,
    monkeypatch.setitem(features.FEATURES, "morgan", None)  # and without their fingerprints
    martins, *_ = examine(load_spec("bbbp"), 99, overlaps=True).overlaps
    assert (martins.dataset, martins.agreement, martins.one) == ("bbb_martins", 1.0, "family")
    assert martins.shared == martins.of == martins.of_other
    found = {other.dataset: other for other in examine(load_spec("cyp2c9_substrate"), 99, overlaps=True).overlaps}
    for other in (found["cyp2d6_substrate"], found["cyp3a4_substrate"]):
        assert other.shared / other.of > 0.99
        assert other.agreement < 0.75
        assert other.one == "group"


@pytest.mark.usefixtures("staged_data")
@pytest.mark.parametrize(
    ("name", "distinct", "conflicting"),
    [("bbbp", 1975, 10), ("clintox", 1461, 19), ("cyp2d6_substrate", 664, 1), ("herg", 648, 3)],
)
def test_distinct_and_conflicting_molecules_are_as_many_as_published(name, distinct, conflicting):
    health = examine(load_spec(name), 99)
    assert health.used - sum(len(repeat.lines) - 1 for repeat in health.repeats) == distinct
    assert sum(repeat.conflict for repeat in health.repeats) == conflicting
    for repeat in health.repeats:
        assert repeat.conflict == (len({float(target) for target in repeat.targets}) > 1)


@pytest.mark.parametrize(
    ("one", "other", "fields", "conflict"),
    [
        ("5.9", "6", {"positive": ">= 6"}, True),
        ("8.5", "9", {"positive": ">= median"}, False),
        ("0.5", "6", {"positive": ">= median"}, True),
        ("6.1", "7.5", {"task": "regression"}, True),
    ],
)
def test_targets_of_a_molecule_conflict_if_a_model_learns_different_ones(tmp_path, one, other, fields, conflict):
    fill = ["CCF,1,train", "CCCl,8,train", "CCBr,1,id", "CCI,8,id"]
    text = "\n".join(["smiles,y,part", f"CCO,{one},train", f"OCC,{other},train", *fill])
    assert [repeat.conflict for repeat in examine(dataset(tmp_path, text, **fields), 0).repeats] == [conflict]


@pytest.mark.usefixtures("staged_data")
def test_materials_are_compared_by_their_features():
    health = examine(load_spec("mof_thermal"), 99, overlaps=True)
    (pair,) = health.repeats
    table = load_rows(load_spec("mof_thermal")).table.set_index("line")
    assert len(pair.lines) == 2
    assert pair.what == ", ".join(table.loc[list(pair.lines), "id"])
    assert pair.targets == tuple(table.loc[list(pair.lines), "target"])
    assert (health.parsable, health.overlaps, health.left_out) == (None, (), ())
    assert health.parts["id"].in_train in (0, 1)
    assert health.parts["id"].near_train is None
    text = to_text(health)
    assert "rows with equal features: 1 (1 with conflicting targets)" in text
    assert "SMILES" not in text
    assert "molecules" not in text


# Near-duplicates


@pytest.mark.usefixtures("staged_data")
@pytest.mark.parametrize("name", ["skin_reaction", "herg", "freesolv"])
def test_as_many_test_molecules_are_near_the_training_pool_as_rdkit_says(name):
    spec = load_spec(name)
    split = split_rows(spec, load_rows(spec), 99)
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(MolFromSmiles(text)) for text in load_rows(spec).used["canonical"]]
    pool, parts = [prints[i] for i in split.train], examine(spec, 99).parts
    for part, index in split.tests.items():
        similar = [max(BulkTanimotoSimilarity(prints[i], pool)) for i in index]
        assert parts[part].near_train == sum(highest >= 0.95 for highest in similar)


# A small table with known faults


def test_every_row_that_is_left_out_is_reported_with_line_and_reason_and_the_parts_with_balance_and_leaks(tmp_path):
    health = examine(dataset(tmp_path, MESSY), 0)
    valence = "Explicit valence for atom # 0 C, 5, is greater than permitted"
    assert health.left_out == (
        Left(8, "unparsable", "not-a-molecule: not a SMILES"),
        Left(9, "no_smiles", ""),
        Left(10, "no_target", "CCC"),
        Left(11, "unparsable", f"C(C)(C)(C)(C)C: {valence}"),
        Left(11, "no_target", "C(C)(C)(C)(C)C"),
    )
    assert (health.rows, health.parsable, health.used) == (14, 11, 10)
    assert health.parts == {
        "train": Part(5, positive=3 / 5),
        "id": Part(3, positive=1 / 3, in_train=1, near_train=2),  # phenol itself; tridecane beside dodecane
        "ood": Part(1, positive=0.0, in_train=0, near_train=0),
    }


def test_a_regression_has_mean_and_standard_deviation_in_place_of_balance(tmp_path):
    text = "smiles,y,part\nCCO,1,train\nCCN,2,train\nCCC,6,train\nCCS,4,id\nCCF,5,id\n"
    health = examine(dataset(tmp_path, text, task="regression"), 0)
    train = health.parts["train"]
    assert (train.rows, train.positive, train.mean) == (3, None, 3.0)
    assert train.sd == pytest.approx(np.std([1, 2, 6]))
    assert health.parts["id"].mean == 4.5
    assert "training pool          3 rows, target 3 on average, standard deviation 2.16" in to_text(health)


# Reports


def test_the_text_shows_a_few_lines_of_a_kind_and_the_json_all(tmp_path):
    unparsable = [f"{'C' * n}(,1" for n in range(1, 26)]
    conflicts = [f"{smiles},{y}" for n in range(1, 24) for y, smiles in enumerate(("N" + "C" * n, "C" * n + "N"))]
    health = examine(dataset(tmp_path, balanced(*unparsable, *conflicts)), 0)
    lines = to_text(health).splitlines()
    assert sum("not a SMILES" in line for line in lines) == 5
    assert "    … and 20 more: all are listed by health --json" in lines
    assert sum(line.startswith("    lines ") for line in lines) == 5
    back = json.loads(health.to_json())
    assert (len(back["left_out"]), len(back["repeats"])) == (25, 23)


def test_a_run_warns_in_a_few_lines_and_keeps_the_json_and_the_text_in_short_lines(tmp_path):
    spec = dataset(tmp_path, MESSY)
    health = examine(spec, 0)
    assert to_lines(health) == [
        "mine: 10 of 14 rows are used",
        "  SMILES that RDKit cannot parse: 2 (line 8, 11)",
        "  no SMILES: 1 (line 9)",
        "  no target: 2 (line 10, 11)",
        "  duplicates with conflicting targets: 1 (line 2+3)",
        "  test set id has 3 rows: too few to measure churn, which needs about 30",
        "  test set ood has 1 row: too few to measure churn, which needs about 30",
        "  test set ood has only y = 0 in its 1 row: its accuracy is meaningless; try --split random:0.8 with "
        "new-dataset, or another canonical seed",
        "  2 molecules cannot be told apart by these features (morgan:2048:2), 2 of them beside one with another "
        "target; --features atom_pairs.4096 of run tells 100% of them apart",
    ]
    files = reports(spec, 0)
    assert files.keys() == {"health.json", "health.txt"}
    assert files["health.json"] == health.to_json()
    assert files["health.txt"].split() == to_text(health).split()
    assert max(map(len, to_text(health).splitlines())) > 90
    assert max(map(len, files["health.txt"].splitlines())) <= 90
