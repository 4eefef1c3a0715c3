"""PyTDC, if installed, reads the same rows and leaves no trace in the process."""

from __future__ import annotations

import hashlib
import sys
import warnings
from importlib.util import find_spec

import pandas as pd
import pytest

from benchmark.data import downloads, readers
from benchmark.data.readers import REPEATED, clean, read
from benchmark.data.rows import load_rows
from benchmark.data.spec import dataset_names, load_spec
from benchmark.errors import UserError

pytestmark = pytest.mark.skipif(find_spec("tdc") is None, reason="PyTDC is not installed (see CONTRIBUTING.md)")

SKIN = load_spec("skin_reaction")
CONTENT = b'Drug_ID\tDrug\tY\r\n"a"\tCCO\t1\nb\tCCN\t0\nc\t"CCC"\t1\nb\tCCN\t0\nb\tCCN\t1\n'


def content_of(name: str) -> bytes:
    spec = load_spec(name)
    if downloads.locate(spec) is None:
        pytest.skip(f"{spec.source} is not here")
    return downloads.obtain(spec)[1]


def cleaned(content: bytes) -> pd.DataFrame:
    return clean(read(content, "table.tab"), content, SKIN)


def state() -> tuple[object, ...]:
    """Return the state that PyTDC would change by silencing warnings and extending the path."""
    return list(warnings.filters), list(sys.path), warnings.showwarning


@pytest.mark.parametrize("name", [name for name in dataset_names() if load_spec(name).source.startswith("tdc:")])
def test_pytdc_reads_the_rows_of_every_dataset_that_is_here(name, capfd, monkeypatch, tmp_path):
    content, before = content_of(name), state()
    spec, compared = load_spec(name), []
    through_pytdc = readers._through_pytdc

    def watched(task: str, dataset: str, content: bytes, ours: pd.DataFrame, spec: object) -> None:
        compared.append(len(ours))
        through_pytdc(task, dataset, content, ours, spec)

    monkeypatch.setattr(readers, "_through_pytdc", watched)
    monkeypatch.chdir(tmp_path)
    with_it = clean(read(content, name), content, spec)
    assert state() == before
    assert compared == [spec.rows - with_it[REPEATED].sum()]
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(readers, "find_spec", lambda name: None)
    pd.testing.assert_frame_equal(with_it, clean(read(content, name), content, spec))


def test_the_first_import_leaves_warnings_and_path_as_they_were(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "tdc"]:
        monkeypatch.delitem(sys.modules, module)
    before = state()
    cleaned(CONTENT)
    assert "tdc" in sys.modules
    assert state() == before
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", UserWarning, stacklevel=1)


def test_a_row_that_repeats_is_marked_as_pytdc_drops_it():
    assert cleaned(CONTENT)[REPEATED].tolist() == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"CCN\t1", b"CCN\t0", id="a label"),
        pytest.param(b'"CCC"', b'"CCCC"', id="a molecule"),
        pytest.param(b'c\t"CCC"\t1\n', b"", id="a row less"),
        pytest.param(b'"a"', b'z\tCCO\t0\n"a"', id="a row more"),
        pytest.param(b'"a"\tCCO\t1\nb\tCCN\t0\n', b'b\tCCN\t0\n"a"\tCCO\t1\n', id="the order"),
    ],
)
def test_where_pytdc_reads_other_rows_it_is_an_error_that_names_the_version_that_does_not(old, new):
    other = CONTENT.replace(old, new, 1)
    assert other != CONTENT
    before = state()
    with pytest.raises(UserError, match=r"skin_reaction: PyTDC reads \d rows.*pip install PyTDC==1\.1\.15"):
        clean(read(CONTENT, "table.tab"), other, SKIN)
    assert state() == before


@pytest.mark.parametrize("content", [b"", b"<html></html>", b"Drug_ID\tDrug\n1\tCCO\n"])
def test_what_pytdc_cannot_read_is_an_error_with_a_remedy(content):
    before = state()
    with pytest.raises(UserError, match=r"skin_reaction: PyTDC cannot read the file: .*pip uninstall PyTDC"):
        clean(read(CONTENT, "table.tab"), content, SKIN)
    assert state() == before


@pytest.mark.parametrize("change", [{"target": "y"}, {"smiles": "drug"}])
def test_an_unknown_column_is_answered_with_the_nearest_with_pytdc_too(change, tmp_path, monkeypatch):
    path = tmp_path / "tdc" / "skin_reaction.tab"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    monkeypatch.setenv("CHURN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path / "cache"))
    spec = SKIN.model_copy(update={"sha256": hashlib.sha256(CONTENT).hexdigest(), **change})
    with pytest.raises(UserError, match=r"unknown column of skin_reaction's file: .* did you mean"):
        load_rows(spec)


def test_rows_of_a_table_of_tdc_are_those_that_do_not_repeat(monkeypatch, tmp_path):
    monkeypatch.setenv("CHURN_CACHE_DIR", str(tmp_path))
    content_of("skin_reaction")
    load_rows.cache_clear()
    table = load_rows(SKIN).table
    assert len(table) == SKIN.rows
    assert table["used"].sum() == SKIN.parsable - table["repeated"].sum()
