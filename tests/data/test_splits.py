"""Canonical splits match the published ones and keep scaffolds together."""

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from benchmark.data.problem import digest, split_rows
from benchmark.data.rows import load_rows
from benchmark.data.spec import dataset_names, load_spec
from benchmark.data.splits import given_split, make_split, random_split, scaffold_split
from benchmark.errors import UserError

from .conftest import described

REFERENCE = Path(os.environ.get("CHURN_DATA_DIR", "")).parent / "reference" / "splits.csv"
PUBLISHED = csv.DictReader(REFERENCE.read_text(encoding="utf-8").splitlines() if REFERENCE.is_file() else [])
ROWS = [row for row in PUBLISHED if row["dataset"] in dataset_names()]
ABSENT = pytest.param({}, id="absent", marks=pytest.mark.skip("no reference/splits.csv beside CHURN_DATA_DIR"))

TEXTS = [
    *("CCO", "CCN", "c1ccccc1", "Cc1ccccc1", "c1ccncc1"),
    *("C1CCCCC1", "OC1CCCCC1", "c1ccc2ccccc2c1", "C1CC1", "C1CCOC1"),
]
SCAFFOLDS = {text: MurckoScaffoldSmiles(mol=MolFromSmiles(text), includeChirality=False) for text in TEXTS}
ALL = [SCAFFOLDS[text] for text in TEXTS]


def split_of(name, parts, seed=99):
    """Return a split of rows on every fifth line with these entries in the split column."""
    return make_split(name, seed, [""] * len(parts), parts, range(2, 5 * len(parts), 5))


@pytest.mark.slow
@pytest.mark.usefixtures("staged_data")
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['dataset']}-{row['canonical_seed']}") for row in ROWS] or [ABSENT]
)
def test_the_split_is_the_published_one_row_by_row(row):
    spec = load_spec(row["dataset"])
    rows = load_rows(spec)
    assert len(rows.used) == int(row["n_parsed"])
    for part, index in split_rows(spec, rows, int(row["canonical_seed"])).parts().items():
        assert len(index) == int(row[f"n_{part}"]), part
        assert digest(index.astype("<i8")) == row[f"sha_{part}"], part


@settings(deadline=None)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=60), st.integers(0, 2**32 - 1), st.floats(0.1, 0.95))
def test_the_parts_hold_each_row_once_and_share_no_scaffold_with_ood(texts, seed, share):
    split = scaffold_split([SCAFFOLDS[text] for text in texts], seed, share)
    train, test, ood = split.train, split.tests["id"], split.tests["ood"]
    assert sorted([*train, *test, *ood]) == list(range(len(texts)))
    assert all(part.dtype == np.int64 for part in split.parts().values())
    taken = len(train) + len(test)
    assert taken <= share * len(texts)
    assert len(test) == min(taken, max(1, taken // 5))
    seen = {SCAFFOLDS[texts[row]] for row in [*train, *test]}
    assert not seen & {SCAFFOLDS[texts[row]] for row in ood}


@pytest.mark.parametrize("name", ["scaffold:0.8", "random:0.8"])
def test_the_split_depends_on_the_canonical_seed_and_on_nothing_else(name):
    first, again, other = (make_split(name, seed, ALL * 5, [""] * 50, range(50)).train for seed in (99, 99, 7))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# The first two are the published MOF tables (paper, tables of magnitudes and of filter outcomes)
@pytest.mark.parametrize(("n", "train"), [(3132, 2505), (2179, 1743), (10, 8), (3, 2)])
def test_a_random_split_holds_each_row_once_and_has_no_ood_test(n, train):
    split = random_split(n, 99)
    assert list(split.tests) == ["id"]
    assert (len(split.train), len(split.tests["id"])) == (train, n - train)
    assert sorted([*split.train, *split.tests["id"]]) == list(range(n))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("train test val ood train id", {"train": [0, 4], "id": [1, 5], "ood": [3]}),
        ("Train TEST valid Train TEST", {"train": [0, 3], "id": [1, 4]}),
        ("trainingset testing dev", {"train": [0], "id": [1]}),
        ("TR te Validation", {"train": [0], "id": [1]}),
        ("trn Holdout VAL", {"train": [0], "id": [1]}),
        ("train test_iid test_ood id_val", {"train": [0], "id": [1], "ood": [2]}),
        ("train_id iid_test external-validation iid_val", {"train": [0], "id": [1], "ood": [2]}),
    ],
)
def test_a_given_split_is_the_columns_however_it_is_written_and_validation_rows_are_left_out(words, parts):
    assert {part: rows.tolist() for part, rows in given_split(words.split(), range(9)).parts().items()} == parts


@pytest.mark.parametrize(
    ("split", "texts", "message"),
    [
        ("given:f", ["train", ""], "found '' in line 7; validation leaves a row out"),
        ("given:f", ["train", "train/val"], "found 'train/val' in line 7"),
        ("given:f", ["train", "trainval"], "found 'trainval' in line 7"),
        ("given:f", ["train", "holdout validation"], "found 'holdout validation' in line 7"),
        ("time:year", ["99", "01"], "column 'year', line 2: '99' may be a year of two digits"),
        ("time:Jahr", ["2016", "15"], "column 'Jahr', line 7: '15' may be a year of two digits"),
        ("time:assay_date", ["99", "01"], "column 'assay_date', line 2: '99' may be a year of two digits"),
        ("time:Year tested", ["99", "01"], "column 'Year tested', line 2: '99' may be a year of two digits"),
        ("time:batch", ["FY99", "FY01"], "'FY99' may be a year of two digits"),
        ("ood:f", ["train", "TRUE"], "found 'TRUE' in line 7; write one of these"),
        ("given:f", ["0", "1"], "found '0' in line 2; for numbers, --split fold:COLUMN:N tests on the rows with N"),
        ("fold:f", ["1", ""], "found '' in line 7: write the fold of the row"),
        ("fold:f", ["0", "x"], "expected numbers of folds, found 'x' in line 7"),
        ("fold:f", ["1", "1"], "no row in"),
        ("given:f", ["train", "ood"], "no row in 'id': write test in the column 'f'"),
        *((f"scaffold:{n}", ["", ""], r"no row in 'train': choose .* random:0\.8 \(new-dataset --") for n in (0, 0.8)),
        *((name, ["", ""], "no row in '(id|ood)': choose") for name in ("random:1.0", "random:0.0", "scaffold:1.0")),
        *(
            (name, ["", ""], f"split '{name}'.*scaffold:0.8")
            for name in ("randm:0.8", "scaffold", "scaffold:most", "given")
        ),
    ],
)
def test_a_split_that_cannot_be_is_refused_with_the_line_or_part(split, texts, message):
    with pytest.raises(UserError, match=message):
        split_of(split, texts)


@pytest.mark.parametrize(
    ("name", "texts", "test"),
    [
        *((name, ["0", "fold1", "2.0"] * 2, of) for name, of in (("f", [2, 5]), ("f:0", [0, 3]), ("f:1", [1, 4]))),
        ("f", ["fold-1", "fold-5", "Fold-2"], [1]),  # a hyphen after a word is no minus
        *(("f", texts, [1]) for texts in (["k-fold-1", "k-fold-2"], ["cv_-1", "cv_-2"])),
        *(("f", texts, [1]) for texts in (["-1", "0", "-2"], ["fold -2", "fold -1"])),
    ],
)
def test_one_fold_is_the_test_set_by_default_the_last(name, texts, test):
    split = split_of(f"fold:{name}", texts)
    assert split.tests["id"].tolist() == test
    assert sorted([*split.train, *test]) == [*range(len(texts))]


def test_mirror_images_share_a_scaffold(tmp_path):
    smiles = ["O=C1N[C@@H](c2ccccc2)CO1", "O=C1N[C@H](c2ccccc2)CO1"] * 5 + ["CCO"] * 10
    table = pd.DataFrame({"smiles": smiles, "y": [0, 1] * 10})
    used = load_rows(load_spec(described(tmp_path, table, split="scaffold:0.5"))).used
    assert used["scaffold"].nunique() == 2  # the ring system and the empty scaffold


def test_a_group_split_keeps_groups_together():
    groups = [f"g{i % 17}" for i in range(170)]
    split = split_of("group:series", groups)
    train, test = ({groups[i] for i in rows} for rows in split.parts().values())
    assert not train & test
    assert len(train) == 13  # 80 % of 17 groups, rounded down
    assert sorted(np.concatenate(list(split.parts().values()))) == list(range(170))


def test_an_ood_split_tests_on_the_marked_rows_and_splits_the_others_at_random():
    parts = ["train"] * 80 + ["test"] * 20
    split = split_of("ood:split", parts)
    assert split.tests["ood"].tolist() == list(range(80, 100))
    assert (len(split.train), len(split.tests["id"])) == (64, 16)
    assert set(split.train) | set(split.tests["id"]) == set(range(80))
    other = split_of("ood:split", parts, 7)
    assert set(other.train) != set(split.train)
    assert other.tests["ood"].tolist() == split.tests["ood"].tolist()
