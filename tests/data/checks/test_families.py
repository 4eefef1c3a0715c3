"""Families are checked by molecules and labels: the table of pairs is true, and the TOMLs agree with it."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from scipy.stats import pearsonr, spearmanr

from benchmark.data.checks.families import comparable, contradictions, listed, one, pairs
from benchmark.data.problem import labels
from benchmark.data.rows import load_table
from benchmark.data.spec import as_written, dataset_names, load_spec
from benchmark.files import shipped_datasets
from tests.data.conftest import described

NUMBERS = {"pearson": "", "spearman": "", "agreement": ""}
PUBLISHED = pd.read_csv(shipped_datasets() / "overlaps.csv", keep_default_na=False, na_values=NUMBERS)
SPECS = {name: as_written(name) for name in dataset_names()}


def test_the_families_and_groups_of_the_tomls_agree_with_the_published_pairs():
    assert contradictions(PUBLISHED, SPECS) == []


def test_every_published_verdict_follows_from_its_numbers():
    for row in PUBLISHED.itertuples():
        if min(abs(abs(row.pearson) - 0.7), abs(abs(row.spearman) - 0.7), abs(row.share - 0.5)) > 1e-4:
            assert row.one == one(row.share, row.pearson, row.spearman), row


def test_a_dataset_is_listed_with_all_that_share_its_molecules_its_family_first():
    first, second = (PUBLISHED[PUBLISHED[side] == "bbbp"] for side in ("first", "second"))
    found = listed("bbbp")
    assert sorted(found["second"]) == sorted([*first["second"], *second["first"]])
    assert set(found["of_first"]) == {*first["of_first"], *second["of_second"]}
    assert found.iloc[0]["one"] == "family"
    places = [("family", "group", "").index(one) for one in found["one"]]
    assert places == sorted(places)
    assert listed("a_table_of_ones_own").empty


def labelled(name: str) -> dict[str, float]:
    """The mean label of each molecule without stereochemistry, by a plain loop."""
    spec = load_spec(name)
    table = load_table(spec)
    used = table[table["used"]]
    found: dict[str, list[float]] = {}
    for smiles, y in zip(used["smiles"], labels(spec, used), strict=True):
        found.setdefault(Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False), []).append(float(y))
    return {smiles: float(np.mean(values)) for smiles, values in found.items()}


@pytest.mark.slow
@pytest.mark.usefixtures("staged_data")
def test_pairs_are_the_published_ones_and_those_of_a_plain_loop_with_scipys_correlations():
    names = ["b3db_logbb", "bioavailability_ma", "cyp2d6_substrate", "dili", "esol", "freesolv", "hia_hou"]
    here = comparable([SPECS[name] for name in [*names, "jdft2d", "mof_solvent", "mof_thermal"]])
    table, unread = pairs(here)
    known = {spec.name for spec in here}
    old = PUBLISHED[PUBLISHED["first"].isin(known) & PUBLISHED["second"].isin(known)].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, old, atol=1e-4, check_dtype=False)
    assert unread == []
    rows = []
    for (first, a), (second, b) in combinations([(name, labelled(name)) for name in names], 2):
        both = sorted(a.keys() & b.keys())
        share = len(both) / min(len(a), len(b))
        if len(both) >= 20 and share >= 0.2:
            x, y = ([of[smiles] for smiles in both] for of in (a, b))
            classes = SPECS[first].task == SPECS[second].task == "classification"
            correlations = pearsonr(x, y).statistic, spearmanr(x, y).statistic
            agreement = np.mean(np.equal(x, y)) if classes else math.nan
            verdict = one(share, *correlations)
            rows.append((first, second, len(both), len(a), len(b), share, *correlations, agreement, verdict))
    of_molecules = table[table["first"].isin(names) & table["second"].isin(names)].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_molecules, pd.DataFrame(rows, columns=table.columns))
    assert len(rows) >= 8


@pytest.mark.long
@pytest.mark.usefixtures("staged_data")
def test_the_published_pairs_are_those_of_all_datasets():
    pytest.importorskip("pymatgen.core")  # some datasets have formulas
    again, unread = pairs(comparable(list(SPECS.values())))
    assert unread == []
    pd.testing.assert_frame_equal(again, PUBLISHED, atol=1e-4, check_dtype=False)


@pytest.fixture
def dataset(tmp_path):
    """``dataset("mine", ["CCO,1"])`` is a dataset of these rows of SMILES and number."""
    return lambda name, rows: load_spec(described(tmp_path, "\n".join(["smiles,y", *rows]), name, task="regression"))


CHAINS = ["C" * n + "O" for n in range(1, 31)]


def test_the_same_molecules_with_labels_that_tell_each_other_are_one_family(dataset):
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    first = dataset("first", [f"{s},{v}" for s, v in zip(CHAINS, y, strict=True)])
    second = dataset("second", [f"O{s[:-1]},{3 - 2 * v}" for s, v in zip(CHAINS, y, strict=True)])  # spelled otherwise
    other = dataset("other", [f"{s},{v}" for s, v in zip(CHAINS, rng.permutation(y), strict=True)])
    table, _ = pairs([first, second, other])
    assert table["shared"].tolist() == [30, 30, 30]
    assert table["pearson"].iloc[0] == pytest.approx(-1)
    assert table["one"].tolist() == ["family", "group", "group"]
    lines = contradictions(table, {spec.name: spec for spec in (first, second, other)})
    assert "first and second share 30 molecules (100% of the smaller" in lines[0]
    assert lines[0].endswith("but are of the families first and second and the groups first and second")
    assert lines[1].endswith("but are of the groups first and other")
    named = {"family": "alcohols", "family_group": "chains"}
    agreed = {spec.name: spec.model_copy(update=named) for spec in (first, second)}
    assert contradictions(table, agreed | {"other": other.model_copy(update={"family_group": "chains"})}) == []


def test_a_molecule_counts_once_without_its_stereochemistry_and_with_its_mean_label(dataset):
    rows = [f"{s},{n}" for n, s in enumerate(CHAINS)]
    pair = [dataset("plain", [*rows, "CC(F)Cl,5"]), dataset("marked", [*rows, "C[C@H](F)Cl,4", "C[C@@H](F)Cl,6"])]
    table, _ = pairs(pair)
    assert table.loc[0, ["shared", "of_first", "of_second"]].tolist() == [31, 31, 31]
    assert table.loc[0, "pearson"] == pytest.approx(1)


def test_nineteen_molecules_are_too_few(dataset):
    rows = [f"{s},{n}" for n, s in enumerate(CHAINS)]
    table, _ = pairs([dataset("first", rows), dataset("nineteen", rows[:19])])
    assert table.empty
    assert len(pairs([load_spec("b3db_logbb"), load_spec("b3db_measured")])[0]) == 1


@pytest.mark.parametrize(
    ("share", "pearson", "spearman", "verdict"),
    [
        (0.2, 0.7, 0.1, "family"),
        (0.2, 0.1, -0.7, "family"),
        (0.49, 0.69, 0.69, ""),
        (0.5, 0.0, 0.0, "group"),
        (1.0, math.nan, math.nan, "group"),
        (0.19, 1.0, 1.0, ""),
    ],
)
def test_the_rule(share, pearson, spearman, verdict):
    assert one(share, pearson, spearman) == verdict


def test_a_file_that_was_altered_is_named_and_left_out(dataset, tmp_path):
    specs = [dataset(name, [f"{s},{n}" for n, s in enumerate(CHAINS)]) for name in ("first", "second")]
    (tmp_path / "second.csv").write_text("smiles,y\nC,1\n")
    assert pairs(specs)[1] == ["second"]
