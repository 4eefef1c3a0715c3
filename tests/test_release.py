"""Facts about a release that are written in several files agree, and the lock of the workflows is current."""

import re
import tomllib
from collections.abc import Iterable
from runpy import run_path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmark import __version__
from benchmark.files import CHECKOUT, published_results

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
LOCK = CHECKOUT / ".github" / "requirements.lock"


def pins(lines: Iterable[str]) -> dict[str, str]:
    """Return the versions of ``name==version …`` by canonical names; torch is locked by its address."""
    found: dict[str, str] = {}
    for line in lines:
        if match := re.match(r"([\w.-]+)(?:==| @ \S*?/[\w.]+-)([\w.!]+)", line):
            found[canonicalize_name(match[1])] = match[2]
    return found


def test_the_citation_names_the_version_of_the_package_and_its_published_results() -> None:
    assert CITATION["version"] == __version__
    assert published_results().is_dir()


def test_the_newest_release_in_the_changelog_has_the_version_and_date_of_the_citation() -> None:
    heading = re.search(r"^## (?!Unreleased$)(.*)$", (CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert heading[1] == f"{__version__} ({CITATION['date-released']})"


def test_the_workflows_try_every_python_that_the_package_names() -> None:
    named = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)}
    for workflow, job in (("ci", "wheel"), ("release", "try")):
        jobs = yaml.safe_load((CHECKOUT / ".github" / "workflows" / f"{workflow}.yml").read_text())["jobs"]
        tried = [(entry["python"], entry["resolution"]) for entry in jobs[job]["strategy"]["matrix"]["include"]]
        assert {python for python, _ in tried} == named
        assert (PROJECT["requires-python"].removeprefix(">="), "lowest-direct") in tried


def test_the_lock_of_the_workflows_has_all_that_is_required_at_the_tested_versions() -> None:
    locked = pins(LOCK.read_text().splitlines())
    tested = pins((CHECKOUT / "constraints.txt").read_text().splitlines())
    remedy = "write it anew with .github/scripts/lock"
    unused = run_path(str(CHECKOUT / ".github" / "scripts" / "lock"), run_name="lock")["UNUSED"]
    texts = [*PROJECT["dependencies"]]
    texts += [text for extra, of in PROJECT["optional-dependencies"].items() if extra not in unused for text in of]
    assert {canonicalize_name(Requirement(text).name) for text in texts} <= locked.keys(), remedy
    different = {name: (version, locked[name]) for name, version in tested.items() if locked.get(name) != version}
    assert not different, remedy
    assert locked.keys() - tested.keys() <= {"wheel"}, "constraints.txt lacks packages that are installed"


def test_every_package_in_the_lock_has_a_hash() -> None:
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.search(r" --hash=sha256:[0-9a-f]{64}$", line)] == []
