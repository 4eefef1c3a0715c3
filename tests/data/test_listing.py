"""The registry is complete, and its statements about the availability of data are true."""

import re

import pytest

from benchmark.data import downloads, listing, readers
from benchmark.data.listing import how_to_get, markdown, summary
from benchmark.data.spec import as_written, dataset_names, expand, fields_of, load_spec
from benchmark.files import CHECKOUT, shipped_datasets

PAPER = {
    "dev": "bace",
    "headline": "dili cyp2d6_substrate pgp_broccatelli tadf mof_thermal bbb_martins bbbp ames",
    "borderline": "skin_reaction hia_hou herg",
    "excluded": "cyp2c9_substrate cyp3a4_substrate clintox bioavailability_ma mof_solvent",
    "regression": "esol freesolv lipo",
    "scope": "waterbirds",
}
COLLECTIONS = {"wu2018moleculenet", "huang2021tdc"}
UNVERIFIED = {"tadf", "waterbirds"}
BIBTEX = (shipped_datasets() / "datasets.bib").read_text(encoding="utf-8")


CUT = r"Active from a pKi of ([\d.]+), inactive up to ([\d.]+)\."


# The registry


@pytest.mark.parametrize("group", PAPER)
def test_every_dataset_of_the_paper_is_there_in_its_group(group):
    names = {name for name in dataset_names() if load_spec(name).group == group}
    assert names == set(PAPER[group].split())


def test_every_dataset_says_what_it_is_whose_it_is_and_how_to_check_it():
    for name in dataset_names():
        fields = fields_of(name)[1]
        wanted = ["title", "target_name", "licence", "cite"] + ([] if name in UNVERIFIED else ["rows", "sha256"])
        assert [field for field in wanted if not fields.get(field)] == [], name


def test_every_dataset_cites_an_entry_and_every_entry_is_cited_or_a_collection():
    keys = re.findall(r"^@\w+\{([^,\s]+),", BIBTEX, flags=re.M)
    cited = {load_spec(name).cite for name in dataset_names()}
    assert len(keys) == len(set(keys)) == BIBTEX.count("\n@")
    assert cited | COLLECTIONS == set(keys)
    assert not cited & COLLECTIONS


def test_every_entry_says_who_what_when_and_where_to_find_it():
    for entry in re.split(r"\n(?=@)", BIBTEX)[1:]:
        fields = set(re.findall(r"^\s+(\w+)\s*=\s*\{", entry, flags=re.M))
        assert {"author", "title", "year"} <= fields, entry
        assert fields & {"doi", "eprint", "url"}, entry
        assert entry.count("{") == entry.count("}"), entry


def test_the_guide_shows_a_summary_of_the_registry_and_a_table_all_of_it():
    specs = [as_written(name) for name in dataset_names()]
    lines = [f"| `{name}` | {' | '.join(counts)} |\n" for (name, *counts), _ in summary(specs)]
    assert f" --- |\n{''.join(lines)}\n" in (CHECKOUT / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert markdown() in (shipped_datasets() / "TABLE.md").read_text(encoding="utf-8")


def test_every_dataset_is_counted_in_the_summary_by_its_suites_and_its_group():
    specs = [as_written(name) for name in dataset_names()]
    lines = {cells[0]: (cells, {spec.name for spec in members}) for cells, members in summary(specs)}
    assert list(lines)[:4] == ["large", "lite", "pipelines", "updates"]
    assert set().union(*(members for _, members in lines.values())) == set(dataset_names())
    assert lines["headline"][1] == set(PAPER["headline"].split())
    assert lines["regression"][0] == ("regression", "0", "3", "3", "2", "642–4,200")
    assert lines["dev"][0][-1] == "1,513"
    cells, members = lines["wide"]
    assert int(cells[1]) + int(cells[2]) == len(members)
    assert members == set(expand("wide"))


@pytest.mark.usefixtures("staged_data")
def test_the_notes_state_the_authors_cuts_of_simpd():
    sets = [name for name in dataset_names() if name.startswith("simpd_") and name.endswith("_active")]
    assert len(sets) == 32
    for name in sets:
        spec = as_written(name)
        table = readers.read(downloads.obtain(spec)[1], name)
        potency, active = table["pchembl_value"].astype(float), table["active"].astype(float) == 1
        lowest, highest = (float(text) for text in re.search(CUT, spec.notes).groups())
        assert (lowest, highest) == (potency[active].min(), potency[~active].max())


# Availability


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with a network and without raw files."""
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CHURN_OFFLINE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "address", "place", "offline"),
    [
        ("bace", "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/bace.csv", "molnet/bace.csv", "1"),
        ("dili", "https://dataverse.harvard.edu/api/access/datafile/4259585", "tdc/dili.tab", "1"),
        ("tadf", "https://doi.org/10.6084/m9.figshare.24004182", "tadf/subsidary.csv", "0"),
    ],
)
def test_what_is_not_downloaded_has_as_its_remedy_the_address_and_the_place(
    bare, monkeypatch, name, address, place, offline
):
    monkeypatch.setenv("CHURN_OFFLINE", offline)
    assert how_to_get(load_spec(name)) == f"get it from {address} and put it at {bare / 'data' / place}"


def test_a_group_does_without_what_must_be_fetched_by_hand_and_says_so(bare):
    kept, (line,) = listing.obtainable("headline,bace")
    assert line.startswith("skipped: tadf: get it from https://")
    assert set(kept) == {name for name in expand("headline,bace") if name != "tadf"}
    assert listing.obtainable("tadf,headline") == (expand("tadf,headline"), [])
    made_of_others = {name for name in expand("updates") if load_spec(name).source.startswith("chembl35:")}
    kept, lines = listing.obtainable("updates")
    assert made_of_others
    assert made_of_others & set(kept) == set()
    assert len(kept) + len(lines) == len(expand("updates"))


@pytest.mark.parametrize(
    ("module", "name", "remedy"),
    [
        (downloads, "b3db", "B3DB_classification.tsv ships in a package that is not installed: pip install qc-B3DB"),
        (listing, "waterbirds", "pip install -c constraints.txt -e '.[vision]'"),
    ],
)
def test_a_package_that_data_need_and_that_is_not_installed_is_named(bare, monkeypatch, module, name, remedy):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    how = how_to_get(load_spec(name))
    assert how.startswith(remedy)


def test_a_table_of_the_user_that_is_gone_is_named_with_its_toml(bare):
    spec = load_spec("bace").model_copy(update={"source": f"file:{bare}/mine.csv", "path": bare / "mine.toml"})
    how = how_to_get(spec)
    assert str(bare / "mine.csv") in how
    assert str(bare / "mine.toml") in how
