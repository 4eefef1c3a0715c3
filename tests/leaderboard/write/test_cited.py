"""Addresses of published numbers: they lead to the numbers, and neither changes."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest

from benchmark.errors import UserError
from benchmark.files import CHECKOUT
from benchmark.store.folder import SUMS, sums
from leaderboard.__main__ import app
from leaderboard.read.published import PUBLISHED
from leaderboard.tables.table import Value
from leaderboard.write import cited
from leaderboard.write.formats import to_csv, to_json
from tests.conftest import call

KEPT_ELSEWHERE = {"manifest.json", "predictions", "expected.json", "structures.parquet"}
"""What a version that is not the newest has only in its wheel."""


@pytest.fixture(scope="module")
def tables() -> dict[str, cited.Frozen]:
    return {one.name: one for folder in cited.versions() for one in cited.tables(folder)}


def test_each_number_of_each_published_table_has_an_address_of_its_own(tables: dict[str, cited.Frozen]) -> None:
    assert len(tables) > 100

    def numbers(cells: Iterable[str | Value]) -> int:
        return sum(not isinstance(cell, str) and cell.number == cell.number for cell in cells)

    for one in tables.values():
        every, found = numbers(cell for row in one.table.rows for cell in row), numbers(one.cells.values())
        named = sum(not isinstance(row[0], str) for row in one.table.rows)
        assert every - named <= found <= every, one.name
        assert all(re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", address) for address in one.cells), one.name


def test_a_table_read_from_its_file_is_written_to_the_same_bytes(tables: dict[str, cited.Frozen]) -> None:
    newest = [one for one in tables.values() if one.version != "0.1.0"]  # whose numbers have more digits
    assert newest
    for one in newest:
        for suffix, write in ((".json", to_json), (".csv", to_csv)):
            assert write(one.table) == one.csv.with_suffix(suffix).read_text(encoding="utf-8"), one.name


@pytest.mark.parametrize(
    ("address", "file", "row", "column"),
    [
        ("0.1.0/halves/places#svm.churn", "halves/places.csv", {"Method": "SVM"}, "Churn (%)"),
        (
            "0.1.0/paper/main#bace.twin-bootstrap-lambda-300",
            "main.csv",
            {"Dataset": "BACE (dev)"},
            "Twin-bootstrap λ=300",
        ),
        ("0.1.0/paper/samplings#swa.halves-delta-churn", "samplings.csv", {"Method": "SWA"}, "halves: Δ churn (pp)"),
        (
            "https://churn.example/board/cite/0.1.0/studies/access-access.html#bagging-k-5.bace.from-seeing-more",
            "study-access-access.csv",
            {"Method": "Bagging K=5", "Dataset": "BACE"},
            "From seeing more (pp)",
        ),
    ],
)
def test_an_address_leads_to_its_number_today_as_ever(address, file, row, column):
    """These addresses are spelled out because they may be in print: a change of how they are made would break them."""
    frozen, cell = cited.find(address)
    data = pd.read_csv(cited.PUBLISHED.parent / "0.1.0" / "tables" / file)
    expected = data[(data[list(row)] == pd.Series(row)).all(axis=1)].iloc[0]
    assert frozen.cells[cell].number == expected[column]
    assert frozen.sha256 == hashlib.sha256((PUBLISHED.parent / "0.1.0" / "tables" / file).read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("halves/place#svm.churn", "unknown table of the results .*'halves/place': did you mean 'halves/places'"),
        (" 0.1.0/halves/place", "unknown table of the results 0.1.0: 'halves/place': did you mean 'halves/places'"),
        ("halves/places#svm.chrn", "unknown cell of the table halves/places: 'svm.chrn': did you mean 'svm.churn'"),
        ("v0.1.0/halves/places#svm.churn", "unknown version of the published results 'v0.1.0': did you mean '0.1.0'"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused_with_what_is_spelled_alike(address: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        cited.find(address)


def test_the_command_prints_the_number_and_what_to_cite(capsys: pytest.CaptureFixture[str]) -> None:
    call("cite", "halves/places#svm.churn", which=app)
    frozen, cell = cited.find("halves/places#svm.churn")
    said = capsys.readouterr().out
    assert f"svm.churn: {frozen.cells[cell].text}" in said
    assert frozen.sha256 in said
    call("cite", which=app)
    assert f"{frozen.version}/{frozen.name}  {frozen.table.title}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("folder", sorted({*cited.versions(), PUBLISHED}), ids=lambda folder: folder.name)
def test_each_file_of_published_results_has_the_checksum_listed_with_them(folder: Path) -> None:
    listed, found = ({*text.splitlines()} for text in ((folder / SUMS).read_text(encoding="utf-8"), sums(folder)))
    assert found <= listed, (
        f"files in {folder} differ from its {SUMS}: restore them, or before the release write both anew with "
        f"churn export {folder} --store {folder}"
    )
    missing = {line.split()[1].partition("/")[0] for line in listed - found}
    assert not missing or (folder != PUBLISHED and missing <= KEPT_ELSEWHERE)


def test_a_released_version_has_not_changed() -> None:
    for line in (PUBLISHED.parent / "released.sha256").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            digest, name = line.split()
            content = (PUBLISHED.parent / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest, f"{name} was released: publish another version"


def test_each_version_with_a_date_in_the_changelog_is_frozen() -> None:
    changelog = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.findall(r"^## \[?(\d+\.\d+\.\d+)\]?.*\d{4}-\d\d-\d\d", changelog, flags=re.M)
    missing = {v for v in dated if (PUBLISHED.parent / v).is_dir()} - {folder.name for folder in cited.versions()}
    assert not missing, f"{missing}: cd leaderboard/published && sha256sum VERSION/{SUMS} >> released.sha256"
