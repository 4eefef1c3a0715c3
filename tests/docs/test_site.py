"""The documentation site: it is built without a warning, whole, and without requests to other hosts."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
import typer

import benchmark.__main__
import leaderboard.__main__
from benchmark.data.spec import as_written, dataset_names
from benchmark.files import CHECKOUT
from benchmark.measure.catalogue import CATALOGUE
from benchmark.studies import discover

pytest.importorskip("mkdocs", reason="the extra [docs] is not installed")
DOCS = CHECKOUT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=CHECKOUT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "REPOSITORY": "", "BOARD": "https://board.example/"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(DOCS / "_build"))
    yield {name: importlib.import_module(name) for name in ("hooks", "docstrings")}
    sys.path.remove(str(DOCS / "_build"))


def read(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def entries() -> Iterator[tuple[str, str]]:
    """Yield the generated pages, each with something that must be on it."""
    for program, app in (("benchmark", benchmark.__main__.app), ("leaderboard", leaderboard.__main__.app)):
        for name, command in cast(Any, typer.main.get_command(app)).commands.items():
            yield "reference/cli", f'id="python--m-{program}-{name}"'
            options = (option for one in command.params for option in one.opts if option.startswith("--"))
            yield from (("reference/cli", option) for option in options)
    writing = "Remedy Learner method NetworkLearner Estimators bootstrap generator Mean"
    for page, names in {"estimators": "MethodClassifier MethodRegressor retrain", "writing": writing}.items():
        yield from ((f"reference/api/{page}", f'.{name}" class="doc doc-heading"') for name in names.split())
    for name in dataset_names():
        yield f"reference/datasets/{name}", as_written(name).licence.split("<")[0]
        yield "reference/datasets/index", f'href="{name}.html"'
    for name in re.findall(r"^#### `(\w+)`$", (DOCS / "methods.md").read_text("utf-8"), re.M):
        yield "methods", f'href="reference/methods/{name}.html"'
        yield f"reference/methods/{name}", "<strong>"
    yield from (("reference/measures", f"<code>{measure.key}</code>") for measure in CATALOGUE)
    yield from (("reference/studies", f'<h2 id="{name}"') for name in discover())


@pytest.mark.slow
def test_commands_api_datasets_methods_measures_and_studies_are_on_their_pages(site: Path) -> None:
    shown = cache(lambda page: read(site, f"{page}.html"))
    assert [(page, text) for page, text in entries() if text not in shown(page)] == []
    assert len(shown("methods")) < 200_000


@pytest.mark.slow
def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    for path in site.rglob("*.html"):
        asked = re.findall(
            r'<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)="?(https?:)?//', path.read_text("utf-8")
        )
        assert not asked, path


@pytest.mark.slow
def test_files_of_the_repository_are_pages_whose_links_lead_to_pages(site: Path) -> None:
    page = read(site, "community/contributing.html")
    assert 'href="../architecture.html"' in page
    assert 'href="../reference/dataset-files.html#pretrained-features"' in page
    assert "datasets/TABLE.md" in page
    assert 'TABLE.md"' not in page  # without the address of a repository, only the text of such a link remains


@pytest.mark.slow
@pytest.mark.parametrize("start", ["glossary.html", "reference/datasets/bace.html"])
def test_the_search_works_in_a_browser_from_disk(site: Path, driver: Any, start: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get((site / start).as_uri())
    wait = WebDriverWait(driver, 60, 0.05)
    wait.until(lambda _: driver.execute_script("return !!window.document$"))  # the scripts of the theme run
    driver.find_element("css selector", "input[data-md-component=search-query]").send_keys("jackknife")
    found = wait.until(lambda _: driver.find_elements("css selector", ".md-search-result__link"))
    assert any("statistics.html" in link.get_attribute("href") for link in found)


def test_formulas_become_mathml(modules: dict[str, ModuleType]) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    show = modules["hooks"].on_page_content
    html = show(r'<p><span class="arithmatex">\(a &lt; \frac{1}{2}\)</span></p>', page=page, config=None, files=None)
    assert re.fullmatch(r"<p><math [^>]*>.*<mo>&#x0003C;</mo>.*<mfrac>.*</math></p>", html)
    with pytest.raises(ValueError, match=r"page\.md: the formula a\^ cannot be set"):
        show(r'<div class="arithmatex">\[a^\]</div>', page=page, config=None, files=None)
    with pytest.raises(ValueError, match=r"has the unknown command \\fracc"):
        show(r'<span class="arithmatex">\(\fracc{1}{2}\)</span>', page=page, config=None, files=None)


def test_a_notebook_becomes_a_page_with_its_outputs_and_no_script(modules: dict[str, ModuleType]) -> None:
    from nbformat import v4

    table = '<style scoped>td {}</style><table border="1" class="dataframe"><tr><td>12</td></tr></table>'
    shown = ("execute_result", {"text/html": table}), ("display_data", {"image/png": "aGVsbG8="})
    code = v4.new_code_cell("frame", outputs=[v4.new_output(kind, data) for kind, data in shown])
    notebook = v4.new_notebook(cells=[v4.new_markdown_cell("# Title\n\nText."), code])
    notebook.metadata = {"language_info": {"name": "python"}}
    made = dict(modules["hooks"].notebook("notebooks/one.ipynb", v4.writes(notebook).encode()))
    text = made.pop("notebooks/one.md")
    assert text.startswith("# Title\n\n[Download this notebook](one.ipynb)")
    assert "```python\nframe\n```" in text
    assert "<table><tr><td>12</td></tr></table>" in text
    assert "<style" not in text
    ((place, picture),) = made.items()
    assert picture == b"hello"
    assert f"]({place.removeprefix('notebooks/')})" in text
