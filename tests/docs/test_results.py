"""The pages on statistics and on citing results say what the suite does."""

import re

from benchmark.files import CHECKOUT
from leaderboard.write import cited

from .places import places

DOCS = CHECKOUT / "docs"
DEFINITIONS = (CHECKOUT / "leaderboard" / "templates" / "definitions.html").read_text(encoding="utf-8")


def text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def test_the_coverage_on_real_data_is_that_of_the_page_of_definitions() -> None:
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        for row in re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", DEFINITIONS)
    ]
    on_site = {row[0]: row[1:] for row in cells if len(row) == 5}
    on_page = [[cell.strip() for cell in line.strip("|").split("|")] for line in text("statistics").splitlines()]
    shown = {row[0]: row[1:] for row in on_page if row[0].startswith(("DILI,", "BACE,"))}
    assert len(shown) == 8
    assert shown.items() <= on_site.items()
    churns = [float(row[3].split()[0]) for name, row in shown.items() if "churn of" in name]
    lowest, highest = re.search(r"hold the true churn in (\d+) to (\d+) %", " ".join(text("paper").split())).groups()
    assert (round(min(churns)), round(max(churns))) == (int(lowest), int(highest))


def test_the_entry_and_the_snippet_on_citing_are_those_of_the_suite() -> None:
    page = text("results")
    one, _ = cited.find("halves/places")
    assert one.bibtex in page
    (snippet,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    scope: dict[str, object] = {}
    exec(snippet, scope)
    assert scope["cell"] == "svm.churn"
    assert cited.versions()[-1].name in page
    for address in re.findall(r"^churn cite (\S+)$", page, flags=re.M):
        cited.find(address)
    for folder in re.findall(r"leaderboard/published/[0-9.]+[\w/.]*", page):
        assert (CHECKOUT / folder).exists(), folder


def test_the_places_of_bagging_are_those_of_the_results() -> None:
    first, other = (places(sampling).loc["Bagging K=5", "Place"] for sampling in ("paper", "halves"))
    assert first == "1"
    assert f"Bagging comes first under the paper's sampling and has the places {other} under `halves`" in " ".join(
        text("faq").split()
    )
