"""What is doubtful in a table that can be read is said, and other uses of its columns are offered."""

import numpy as np
import pandas as pd
import pytest

from benchmark.data.describe.fields import describe_file
from benchmark.data.describe.offers import offers
from benchmark.data.problem import load_problem
from benchmark.data.rows import load_rows
from tests.data.conftest import SMILES, csv, dataset, fields_of, labelled, materials, table


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["-1.2", "4.6", "2.5", "-999.0"], "-999"),
        (["-1.2", "4.6", "2.5", "-999.25"], "-999.25"),
        (["3.5", "9.9", "5", "99999"], "99999"),
        (["6.1", "7.3", "5", "-1"], "-1"),
        (["6.1", "7.3", "5", "-9.99"], "-9.99"),
        (["6.1", "7.3", "5", "0"], "0"),
        (["61", "730", "512.5", "100000"], "100000"),
        ([*(f"{i / 7:.3f}" for i in range(35)), "-999"], "-999"),
    ],
)
def test_a_number_far_from_all_others_is_pointed_at(tmp_path, texts, value):
    fields = fields_of(tmp_path, texts)
    assert fields["task"] == "regression"
    said = f"{value} stands in {36 // len(texts)} row"
    assert said in fields["notes"]
    assert f"--ignore-value {value}" in fields["notes"]
    assert fields_of(tmp_path, texts, ignore_value=[value])["notes"] == ""
    assert len(load_rows(dataset(tmp_path / "assay.csv", ignore_value=[value])).used) == 36 - 36 // len(texts)
    for cut in (">= 5.5", ">= median"):
        assert said in fields_of(tmp_path, texts, positive=cut)["notes"]
    assert fields_of(tmp_path, ["1.5", "20000", "3"], positive=">= 2")["notes"] == ""


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        *(("Endpoint", ["hERG", "logD"]), ("Parameter", ["IC50", "Emax"]), ("Measure", ["IC50 (nM)", "IC50 (uM)"])),
        *(("unit", ["nM", "uM"]), ("Standard Units", ["nanomolar", "micromolar"]), ("IC50 unit", ["nM", "uM"])),
        ("Standard Type", ["nM", "uM"]),
    ],
)
def test_endpoints_and_units_that_differ_between_rows_are_said(tmp_path, name, kinds):
    texts = ["18.2", "1.5", "131.8", "0.1"]
    for others in (["0", "1"], ["train", "test"], kinds[:1]):
        assert "differs" not in fields_of(tmp_path, table(texts, **{name: others}))["notes"]
    assert "differs" not in fields_of(tmp_path, table(texts, residue=["K", "V", "M"]))["notes"]
    assert "differs" not in fields_of(tmp_path, table(["", *texts], **{name: [kinds[1], *kinds[:1] * 4]}))["notes"]
    fields = fields_of(tmp_path, table(texts, **{name: [kinds[0], ""]}))
    assert f"'{name}' differs: {kinds[0]} (18 rows), nothing (18 rows)" in fields["notes"]
    beside = {name[:-1]: ["7", ""], name: [kinds[0], ""]}
    assert "differs" not in fields_of(tmp_path, table(texts, **beside))["notes"]
    fields = fields_of(tmp_path, table(texts, **{name: kinds}))
    assert f"'{name}' differs" in fields["notes"]
    assert f'where = [["{name}", "{kinds[0]}"]]' in fields["notes"]
    assert offers(tmp_path / "assay.csv", fields) == []


def test_dates_as_a_target_are_pointed_at_and_orders_of_magnitude_better_as_a_logarithm(tmp_path):
    dates = [f"20{year}0{month}28" for year in range(19, 25) for month in range(1, 7)]
    assert "'y' may hold dates, such as 20190128, which are predicted as numbers" in fields_of(tmp_path, dates)["notes"]
    assert "dates" not in fields_of(tmp_path, [*dates[1:], "20241345"])["notes"]
    texts = ["0.5", "120", "8000", "33"]
    assert "'y' spans 4.2 orders of magnitude: --log10" in fields_of(tmp_path, texts)["notes"]
    spec = dataset(csv(tmp_path, texts), log10=True)
    assert "orders" not in spec.notes
    assert labelled(spec)[SMILES[1]] == pytest.approx(np.log10(120), rel=1e-6)
    zeros = fields_of(tmp_path, ["0", *texts])["notes"]
    assert "spans 4.2 orders" in zeros
    assert "but 0, in 8 rows, has none: if it is a missing value, --ignore-value 0" in zeros
    for name in ("pIC50", "pGI50", "pKi", "logD", "-log IC50", "neg_log10_S", "potency", "pick"):
        fields = fields_of(tmp_path, table(["5", "6.5", "7"]).rename(columns={"y": name}), name, log10=True)
        doubted = "is by its name a logarithm already" in fields["notes"]
        assert doubted == (name not in ("potency", "pick")), name


@pytest.mark.parametrize(
    ("name", "texts", "offer"),
    [
        ("day", ["3/4/2021", "5/6/2021", "7/8/2021"], "their order is not clear: write them as in"),
        ("year", ["2019", "2020", "2021"], "--split time:year tests on the latest fifth"),
        ("quarter", ["2021-Q1", "2021-Q3", "2020-Q2"], "--split time:quarter tests on the latest fifth"),
        ("other", ["-1,27", "-0,5", "2,13"], "--split group:other"),
        ("other", ["2021-03-01", "2021-04-01", "9999-12-31"], "--split group:other"),  # which stands for none
    ],
)
def test_dates_are_offered_to_split_by_unless_their_order_is_not_clear(tmp_path, name, texts, offer):
    fields = fields_of(tmp_path, table(["0", "1"], **{name: texts}))
    (line,) = offers(tmp_path / "assay.csv", fields)
    assert offer in line


@pytest.mark.parametrize(
    ("name", "texts", "offer"),
    [
        ("Batch", ["A", "B", "C"], "--split group:Batch keeps each together; --one-hot Batch makes"),
        ("Lot (QC)", ["A", "B", "C"], "--split 'group:Lot (QC)' keeps each together; --one-hot 'Lot (QC)' makes"),
        ("cv fold", ["1.0", "2.0", "3.0"], "--split 'fold:cv fold' tests on the last, 'fold:cv fold:1' on fold 1"),
        ("Set", ["train", "external"], "--split group:Set keeps each together"),  # a split needs an ID test, too
    ],
)
def test_what_is_offered_can_be_typed_as_it_is(tmp_path, name, texts, offer):
    fields = fields_of(tmp_path, table(["0", "1"], **{name: texts}))
    (line,) = offers(tmp_path / "assay.csv", fields)
    assert offer in line


def test_names_dates_splits_and_groups_are_noticed(tmp_path):
    columns = {
        "Compound ID": [f"X-{i}" for i in range(36)],
        "measured": [f"{1 + i // 3:02}-{'JAN' if i % 3 else 'feb'}-24" for i in range(36)],
        "series": ["A", "B", "C"],
        "Set": ["Train", "Train", "TEST", "valid"],
        "fold": ["0", "1", "2"],
        "remark": [f"text {i}" for i in range(36)],
        "dose": [str(i * 7 % 36) for i in range(36)],
        "patient_id": [str(i // 4) for i in range(36)],
    }
    fields = fields_of(tmp_path, table(["0", "1"], **columns))
    assert fields["id"] == "Compound ID"
    assert offers(tmp_path / "assay.csv", fields) == [
        "'measured' holds dates: --split time:measured tests on the latest fifth of the rows",
        "'series' has 3 different texts: --split group:series keeps each together; "
        "--one-hot series makes them features",
        "'Set' says which rows are for training and test: --split given:Set takes them as they are",
        "'fold' holds numbers of folds: --split fold:fold tests on the last, fold:fold:0 on fold 0",
        "'patient_id' has 9 different numbers: --split group:patient_id keeps each together",
    ]
    assert offers(tmp_path / "assay.csv", fields, ["measured", "series", "Set", "fold", "patient_id"]) == [], (
        "targets are no features"
    )
    for split, rows in (("given:Set", (18, 9)), ("fold:fold", (24, 12)), ("fold:fold:0", (24, 12))):
        problem = load_problem(str(dataset(tmp_path / "assay.csv", split=split).path))
        assert (len(problem.train), len(problem.evals["id"])) == rows
    days = dict(zip(columns["Compound ID"], columns["measured"], strict=True))
    problem = load_problem(str(dataset(tmp_path / "assay.csv", split="time:measured").path))
    assert {days[i][3:6] for i in problem.evals["id"].ids.tolist()} == {"feb"}


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("target", ["stable", "strength"])
def test_a_column_that_may_be_made_from_the_target_is_pointed_at(tmp_path, target, decimal):
    """A copy, the number that was cut in two, one that has a hundredth of the other's unit, and one that is rounded."""
    strength = np.random.default_rng(1).normal(size=30).round(3)
    stable = np.where(strength > 0, "yes", "no")
    rows = materials(
        stable=stable,
        y=strength,
        copy=(strength > 0).astype(int),
        rounded=strength.round(1),
        rare=((strength > 0) & (np.arange(30) < 12)).astype(int),
        verdict=np.where(strength > 0, "A", "B"),
    )
    rows = rows.assign(strength=strength).drop(columns="stable" if target == "strength" else "strength")
    rows.assign(y=-100 * rows["y"]).to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=decimal)
    fields = describe_file(tmp_path / "rows.csv", target=target)
    told = [line.split("'")[1] for line in fields["notes"].splitlines() if "tells the target" in line]
    assert told == (["y", "rounded"] if target == "strength" else ["y", "copy", "rounded"])
    if target == "strength":
        for cut in (">= 0", ">= 1"):
            notes = describe_file(tmp_path / "rows.csv", target=target, positive=cut)["notes"]
            assert ("'copy' tells the target" in notes) == (cut == ">= 0")
    (metal, verdict) = offers(tmp_path / "rows.csv", fields)
    assert "--one-hot metal" in metal
    assert ("--one-hot verdict" in verdict) == (target == "strength")


@pytest.mark.parametrize("positives", [1, 15])
def test_a_column_that_orders_few_rows_of_a_class_may_do_so_by_chance(tmp_path, positives):
    ranks = np.arange(30)
    stable = np.where(ranks < positives, "yes", "no")
    measured = np.where(ranks < 25, ranks / 7, np.nan)
    rows = materials(stable=stable, x=measured, of_one=np.where(stable == "no", ranks, np.nan))
    notes = fields_of(tmp_path, rows, target="stable")["notes"]
    assert ("'x' tells the target" in notes) == (positives == 15)
    assert "'of_one' tells" not in notes, "it is empty where the class is another"


@pytest.mark.parametrize(
    ("target", "columns", "said"),
    [
        ("Yield_mean (%)", ["Yield_1", "yield SD", "Time (h)"], "of the target: 'Yield_1', 'yield SD': if"),
        ("yield strength", ["strength", "yield strength (PBE)"], "of the target: 'yield strength (PBE)': if"),
        ("y", ["x", "yield"], ""),
        ("y", ["x", "sample_id"], "'sample_id' is a feature: if it only names the rows, leave it out"),
    ],
)
def test_features_that_are_by_their_names_of_the_target_or_of_the_rows_are_pointed_at(tmp_path, target, columns, said):
    numbers = np.random.default_rng(1).permutation(1000).reshape(-1, 25)
    rows = pd.DataFrame(dict(zip([*columns, target], numbers, strict=False))).assign(name=[f"m{i}" for i in range(25)])
    if "sample_id" not in columns:
        rows = rows.assign(**{column: rows[column] / 8 for column in columns})
    notes = fields_of(tmp_path, rows, target=target).get("notes", "")
    assert said in notes if said else notes == ""
