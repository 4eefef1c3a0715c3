"""Canonical splits equal the published ones, and keep scaffolds together."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from benchmark.data.problem import digest, load_dataset
from benchmark.data.spec import dataset_names, load_spec
from benchmark.data.splits import make_split, scaffold_split
from benchmark.errors import UserError

REFERENCE = Path(os.environ.get("CHURN_DATA_DIR", "")).parent / "reference" / "splits.csv"
PUBLISHED = csv.DictReader(REFERENCE.read_text(encoding="utf-8").splitlines() if REFERENCE.is_file() else [])
ROWS = [row for row in PUBLISHED if row["dataset"] in dataset_names()]
ABSENT = pytest.param(
    {}, id="absent", marks=pytest.mark.skip("no reference/splits.csv beside the folder CHURN_DATA_DIR")
)

TEXTS = [
    "CCO",
    "CCN",
    "c1ccccc1",
    "Cc1ccccc1",
    "c1ccncc1",
    "C1CCCCC1",
    "OC1CCCCC1",
    "c1ccc2ccccc2c1",
    "C1CC1",
    "C1CCOC1",
]
MOLECULES = {text: MolFromSmiles(text) for text in TEXTS}
SCAFFOLDS = {text: MurckoScaffoldSmiles(mol=molecule) for text, molecule in MOLECULES.items()}


@pytest.mark.usefixtures("staged_data")
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['dataset']}-{row['canonical_seed']}") for row in ROWS] or [ABSENT]
)
def test_the_split_is_the_published_one_row_by_row(row):
    spec = load_spec(row["dataset"])
    examples, molecules = load_dataset(spec)
    assert len(examples) == int(row["n_parsed"])
    split = make_split(molecules, spec.split, int(row["canonical_seed"]))
    for part, rows in split._asdict().items():
        assert len(rows) == int(row[f"n_{part}"]), part
        assert digest(rows.astype("<i8")) == row[f"sha_{part}"], part


@settings(deadline=None)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=60), st.integers(0, 2**32 - 1), st.floats(0.1, 0.95))
def test_the_parts_hold_each_row_once_and_share_no_scaffold_with_ood(texts, seed, share):
    split = scaffold_split([MOLECULES[text] for text in texts], seed, share)
    assert sorted(np.concatenate(split).tolist()) == list(range(len(texts)))
    assert all(part.dtype == np.int64 for part in split)
    taken = len(split.train) + len(split.id)
    assert taken <= share * len(texts)
    assert len(split.id) == min(taken, max(1, taken // 5))
    seen = {SCAFFOLDS[texts[row]] for row in [*split.train, *split.id]}
    assert not seen & {SCAFFOLDS[texts[row]] for row in split.ood}


def test_the_split_depends_on_the_canonical_seed_and_on_nothing_else():
    molecules = [MOLECULES[text] for text in TEXTS * 5]
    first, again, other = (np.concatenate(scaffold_split(molecules, seed)) for seed in (99, 99, 7))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_mirror_images_share_a_scaffold():
    twins = [MolFromSmiles(text) for text in ("O=C1N[C@@H](c2ccccc2)CO1", "O=C1N[C@H](c2ccccc2)CO1")]
    split = scaffold_split(twins * 5, 99, share=0.5)
    assert len(split.ood) == 10  # either image alone would fit into the share, both together do not


@pytest.mark.parametrize("name", ["random:0.8", "scaffold", "scaffold:most"])
def test_an_unknown_split_is_an_error_that_shows_how_to_name_one(name):
    with pytest.raises(UserError, match=f"split '{name}'.*scaffold:0.8"):
        make_split(list(MOLECULES.values()), name, 99)


@pytest.mark.parametrize(("share", "part"), [(0.0, "train"), (1.0, "ood")])
def test_a_split_that_leaves_a_part_empty_is_an_error_that_names_the_part(share, part):
    with pytest.raises(UserError, match=f"leaves no molecule in '{part}'"):
        make_split(list(MOLECULES.values()), f"scaffold:{share}", 99)
