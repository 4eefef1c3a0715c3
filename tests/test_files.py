"""The cache returns intact content, and rebuilds anything missing or damaged."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark import files as cache
from benchmark.data import rows
from benchmark.data.rows import Rows, load_rows
from benchmark.data.spec import DatasetSpec, load_spec
from benchmark.errors import UserError

CONTENT = bytes(range(256)) * 40
MEASURED = load_spec("b3db_measured")


@pytest.fixture
def derived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder for derived data."""
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    return tmp_path / "made"


def kept() -> bool:
    """Return whether an array was cached under the name ``one``; otherwise it is now."""
    asked: list[bool] = []

    def make() -> dict[str, np.ndarray]:
        asked.append(True)
        return {"x": np.arange(99)}

    assert cache.kept("one", make)["x"].tolist() == [*range(99)]
    return not asked


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


DAMAGE = {
    "its first byte flipped": lambda stored: bytes([stored[0] ^ 1]) + stored[1:],
    "its last byte flipped": lambda stored: stored[:-1] + bytes([stored[-1] ^ 0x80]),
    "cut in the checksum": lambda stored: stored[:20],
    "the content without its checksum": lambda stored: stored[32:],
}


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "deep" / "in" / "folders" / "name"
    for content in (CONTENT, b""):
        cache.write(path, content)
        assert cache.read(path) == content
    assert files(tmp_path) == ["deep/in/folders/name"]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_missing_or_damaged_file_is_made_again(derived, damage):
    assert not kept()
    (derived / "one").write_bytes(damage((derived / "one").read_bytes()))
    assert not kept()
    assert kept()


def test_a_write_that_breaks_off_leaves_what_was_there_and_nothing_else(tmp_path, full_disk):
    path = tmp_path / "name"
    cache.write(path, b"first")
    with full_disk:
        cache.write(path, CONTENT)
    assert cache.read(path) == b"first"
    assert files(tmp_path) == ["name"]


def test_a_file_is_saved_where_its_link_leads_a_device_stays_one_and_a_path_through_a_file_is_an_error(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    cache.save(tmp_path / "link", b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"text"
    (tmp_path / "null").symlink_to("/dev/null")
    cache.save(tmp_path / "null", b"text")
    assert (tmp_path / "null").is_char_device()
    with pytest.raises(UserError, match="file/name cannot be written: Not a directory"):
        cache.save(tmp_path / "file" / "name", b"text")


def test_a_home_that_is_a_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CHURN_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"CHURN_HOME=.*file is a file: name a folder"):
        cache.home()


def test_the_folder_may_be_named_from_home_or_from_here(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for named in ("~/mine", "mine"):
        monkeypatch.setenv("CHURN_CACHE_DIR", named)
        kept()
        assert files(tmp_path) == ["mine/made/one"]
    monkeypatch.setenv("CHURN_CACHE_DIR", "~nobody-of-this-name/mine")
    with pytest.raises(UserError, match=r"^CHURN_CACHE_DIR=~nobody-of-this-name/mine: .* Write the path in full"):
        kept()


# Rows and features


@pytest.fixture
def prepared(derived: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the datasets whose rows were prepared from the raw file, one per preparation."""
    names: list[str] = []
    prepare = rows._prepare

    def counted(raw, spec, x=None):
        names.append(spec.name)
        return prepare(raw, spec, x)

    monkeypatch.setattr(rows, "_prepare", counted)
    return names


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> DatasetSpec:
    """Thirty molecules of B3DB, in a table with further columns."""
    package = Path(find_spec("B3DB").submodule_search_locations[0])
    table = pd.read_csv(package / "B3DB_regression.tsv", sep="\t").head(30)[["NO.", "SMILES", "logBB", "group"]]
    path = tmp_path_factory.mktemp("small") / "small.csv"
    table.assign(other=table["SMILES"][::-1].to_numpy(), mass=table.index / 7).to_csv(path, index=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    read_as = {"features": ("columns", "morgan:64:2"), "ignore": ("other", "group")}
    return MEASURED.model_copy(update={"name": "small", "source": f"file:{path}", "sha256": digest, **read_as})


def load(spec: DatasetSpec) -> Rows:
    load_rows.cache_clear()  # as in another process
    return load_rows(spec)


def assert_equal(one: Rows, other: Rows) -> None:
    pd.testing.assert_frame_equal(one.table, other.table)
    for a, b in ((one.x, other.x), (one.scaled, other.scaled)):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert one.version == other.version


def test_rows_from_the_cache_are_those_from_the_file(prepared, small, monkeypatch, tmp_path):
    load(small)
    cached = load(small)
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "another"))
    assert_equal(cached, load(small))
    assert prepared == ["small", "small"]
    assert cached.scaled.tolist() == [True] * 2 + [False] * 64
    assert cached.x[:, :2].tolist() == [[i + 1, pytest.approx(i / 7)] for i in range(30)]


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [(rows.rdBase, "rdkitVersion", "1999.01.1"), (rows, "program", lambda *packages: "another")],
    ids=["RDKit", "code"],
)
def test_rows_made_by_another_rdkit_or_other_code_are_made_again(prepared, small, monkeypatch, where, name, value):
    load(small)
    monkeypatch.setattr(where, name, value)
    assert_equal(load(small), load(small))
    assert len(prepared) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"features": ("columns", "morgan:64:3")},
        {"ignore": ("other", "group", "mass")},
        {"smiles": "other", "ignore": ("SMILES", "group")},
        {"id": "NO."},
        {"target": "mass"},
        {"split": "given:group"},
    ],
    ids=str,
)
def test_what_was_made_for_another_description_is_made_again(prepared, small, change):
    changed = small.model_copy(update=change)
    before = load(small)
    first, second = load(changed), load(changed)
    assert len(prepared) == 2
    assert_equal(first, second)
    with pytest.raises(AssertionError):
        assert_equal(before, second)


def test_what_rows_do_not_depend_on_costs_nothing(prepared, small):
    load(small)
    load(small.model_copy(update={"title": "B3", "notes": "seen", "group": "dev"}))
    assert len(prepared) == 1


def test_another_file_in_the_same_place_is_read_anew(prepared, monkeypatch, tmp_path):
    tadf = load_spec("tadf").model_copy(update={"features": ("morgan:64:2",)})
    path = tmp_path / "tadf" / "subsidary.csv"
    path.parent.mkdir()
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    loaded = []
    for wavelength in ("500", "600"):
        path.write_text(f"model_name,compound.SMILES,standard_value\nEmissionWavelength,CCO,['{wavelength}']\n")
        rows.downloads.verified.cache_clear()  # as in another process
        loaded += [load(tadf), load(tadf)]
    assert [one.table["target"].tolist() for one in loaded] == [["500"], ["500"], ["600"], ["600"]]
    assert loaded[0].version != loaded[2].version
    assert len(prepared) == 2


def test_a_name_that_leads_out_of_a_folder_is_refused(tmp_path):
    assert cache.inside(tmp_path, "a/b.csv") == tmp_path / "a/b.csv"
    for name in ("../x", "a/../../x", "/etc/passwd", str(tmp_path.parent)):
        with pytest.raises(UserError, match="leads out of"):
            cache.inside(tmp_path, name)


def test_the_advised_installation_works_from_any_folder_and_of_a_wheel(tmp_path, monkeypatch):
    checkout = tmp_path / "my checkout"
    checkout.mkdir()
    monkeypatch.setattr(cache, "CHECKOUT", checkout)
    assert cache.install("boosting") == "pip install 'churn-benchmark[boosting]'"
    (checkout / "constraints.txt").touch()
    assert cache.install("boosting") == f"pip install -c '{checkout}/constraints.txt' -e '{checkout}[boosting]'"
    monkeypatch.chdir(checkout)
    assert cache.install() == "pip install -c constraints.txt -e ."


def test_a_file_in_place_of_the_folder_is_done_without(derived):
    derived.write_bytes(b"no folder")
    assert not kept()
    assert not kept()
    assert derived.read_bytes() == b"no folder"
