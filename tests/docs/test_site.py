"""The documentation site: it is built without a warning, whole, and without requests to other hosts."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import typer

import benchmark.__main__
import leaderboard.__main__
from benchmark.data.spec import as_written, dataset_names
from benchmark.files import CHECKOUT
from benchmark.measure.catalogue import CATALOGUE

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


@pytest.mark.slow
@pytest.mark.parametrize("program", ["benchmark", "leaderboard"])
def test_every_command_and_option_is_on_the_page_of_the_command_line(site: Path, program: str) -> None:
    app = {"benchmark": benchmark.__main__.app, "leaderboard": leaderboard.__main__.app}[program]
    page = read(site, "reference/cli.html")
    commands: dict[str, Any] = typer.main.get_command(app).commands
    assert len(commands) > 10
    for name, command in commands.items():
        assert f'id="python--m-{program}-{name}"' in page
        for option in (option for one in command.params for option in one.opts if option.startswith("--")):
            assert option in page, f"{name} {option}"


@pytest.mark.slow
def test_the_estimators_and_what_methods_are_written_with_have_their_signatures(site: Path) -> None:
    estimators, writing = (read(site, f"reference/api/{page}.html") for page in ("estimators", "writing"))
    for name in ("MethodClassifier", "MethodRegressor", "retrain"):
        assert re.search(rf'<h2 id="[\w.]+\.{name}"', estimators), name
    for name in ("Remedy", "Learner", "method", "NetworkLearner", "Estimators", "bootstrap", "generator", "Mean"):
        assert re.search(rf'<h2 id="[\w.]+\.{name}"', writing), name


@pytest.mark.slow
def test_every_dataset_has_a_page_with_its_licence_and_the_index_leads_to_it(site: Path) -> None:
    index = read(site, "reference/datasets/index.html")
    for name in dataset_names():
        page = read(site, f"reference/datasets/{name}.html")
        assert as_written(name).licence.split("<")[0] in page
        assert f'href="{name}.html"' in index


@pytest.mark.slow
def test_every_method_has_a_page_to_which_the_page_of_methods_leads(site: Path) -> None:
    every = read(site, "methods.html")
    for name in re.findall(r"^#### `(\w+)`$", (DOCS / "methods.md").read_text("utf-8"), re.M):
        assert f'href="reference/methods/{name}.html"' in every
        assert "<strong>" in read(site, f"reference/methods/{name}.html")
    assert len(every) < 200_000


@pytest.mark.slow
def test_every_measure_and_study_is_listed(site: Path) -> None:
    measures, studies = read(site, "reference/measures.html"), read(site, "reference/studies.html")
    assert all(f"<code>{measure.key}</code>" in measures for measure in CATALOGUE)
    files = [path for path in (CHECKOUT / "benchmark" / "studies").glob("*.py") if path.stem != "__init__"]
    assert len(re.findall("<h2 id=", studies)) >= len(files)


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
