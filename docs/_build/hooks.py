"""What MkDocs does here beyond its plugins: generated pages, notebooks, files of the repository, links, formulas."""

from __future__ import annotations

import logging
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import nbformat
import reference
from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter
from PIL import Image
from pymdownx.slugs import slugify

from benchmark.files import CHECKOUT

FILES = {
    "community/contributing.md": "CONTRIBUTING.md",
    "reference/changelog.md": "CHANGELOG.md",
    "reference/dataset-files.md": "datasets/README.md",
    "reference/submissions.md": "submissions/README.md",
    "reference/paper-numbers.md": "RESULTS.md",
}
"""Pages that are files of the repository, by their place on the site."""
SECTION = re.compile(r"^#### `(\w+)`\n\n(.*?)(?=^#{2,4} |\Z)", re.M | re.S)
"""The section of a method in docs/methods.md, which is a page of its own on the site."""
METHODS = dict(SECTION.findall((CHECKOUT / "docs" / "methods.md").read_text("utf-8")))
log = logging.getLogger("mkdocs.hooks")
slug = slugify(case="lower")


def on_config(config: MkDocsConfig) -> None:
    config.markdown_extensions.append(Links())  # type: ignore[arg-type]
    if board := config.extra["board"]:
        config.nav.append({"Leaderboard": board})


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for uri, path in FILES.items():
        files.append(File.generated(config, uri, abs_src_path=str(CHECKOUT / path)))
    for name, text in METHODS.items():
        page = f"# `{name}`\n\n[All methods](methods.md)\n\n{text}"
        files.append(File.generated(config, f"reference/methods/{name}.md", content=page))
    for uri, text in reference.pages():
        files.append(File.generated(config, uri, content=text))
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            for uri, content in notebook(file.src_uri, file.content_bytes):
                files.append(File.generated(config, uri, content=content))
    config.nav = _expanded(config.nav, files)
    return files


def notebook(uri: str, content: bytes) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of the notebook at ``uri``, and its pictures, by their places on the site."""
    name = posixpath.splitext(uri)[0]
    stem = posixpath.basename(name)
    read = nbformat.reads(content.decode("utf-8"), as_version=4)
    resources = {"unique_key": stem, "output_files_dir": f"{stem}_files"}
    text, resources = MarkdownExporter().from_notebook_node(read, resources)
    text = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.S)  # pandas brings a style for each table
    text = re.sub(r'<table border="1" class="dataframe">', "<table>", text)
    title, _, rest = text.lstrip().partition("\n")
    yield f"{name}.md", f"{title}\n\n[Download this notebook]({stem}.ipynb){{ download }}\n\n{rest}"
    for place, picture in resources["outputs"].items():
        yield posixpath.join(posixpath.dirname(name), place), picture


def _expanded(nav: list[Any], files: Files) -> list[Any]:
    """Return the navigation with the pages of a folder in place of ``folder/*``."""
    entries: list[Any] = []
    for entry in nav:
        ((title, what),) = entry.items() if isinstance(entry, dict) else ((None, entry),)
        if isinstance(what, list):
            if inner := _expanded(what, files):
                entries.append({title: inner})
        elif what.endswith("/*"):
            folder = what.removesuffix("*")
            listed = re.findall(r"[\w/.-]+\.md", repr(nav))
            entries += sorted(
                file.src_uri
                for file in files.documentation_pages()
                if file.src_uri.startswith(folder) and file.src_uri not in listed
            )
        else:
            entries.append(entry)
    return entries


class Links(Extension):
    """Rewrites links to files of the repository, so that one text works there and on the site."""

    page: Page
    config: MkDocsConfig
    files: Files

    def extendMarkdown(self, md: Markdown) -> None:
        md.treeprocessors.register(_Links(md), "repository-links", 5)  # before MkDocs checks the links, at 0


class _Links(Treeprocessor):
    def run(self, root: Element) -> None:
        for element in root.iter("a"):
            if href := element.get("href"):
                _rewrite(element, href)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    Links.page, Links.config, Links.files = page, config, files
    if page.file.src_uri != "methods.md":
        return markdown
    return re.sub(r"^### .+\n", "", SECTION.sub("", markdown), flags=re.M)  # its tables lead to the pages of methods


def _rewrite(link: Element, href: str) -> None:
    """Lead ``link`` to the page that a file of the repository has become, or to the file in the repository.

    Without the repository's address, only the text of the latter remains. What is not there is left to MkDocs, which
    warns.
    """
    parts = urlsplit(href)
    uri = Links.page.file.src_uri
    home = "docs/methods.md" if uri.startswith("reference/methods/") else FILES.get(uri, f"docs/{uri}")
    if parts.scheme or parts.netloc or not (parts.path or home == "docs/methods.md"):
        return
    path = posixpath.normpath(posixpath.join(posixpath.dirname(home), parts.path)) if parts.path else home
    pages = {source: place for place, source in FILES.items()}
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    page = pages.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
    if page == "methods.md" and parts.fragment in METHODS:
        page, fragment = f"reference/methods/{parts.fragment}.md", ""
    page = re.sub(r"\.ipynb$", ".md", page) if uri != re.sub(r"\.ipynb$", ".md", page) else page
    if page in Links.files.src_uris:
        link.set("href", posixpath.relpath(page, posixpath.dirname(uri) or ".") + fragment)
    elif (CHECKOUT / path).exists() and not path.startswith(".."):
        if parts.fragment and path.endswith(".md") and parts.fragment not in _anchors(path):
            log.warning("%s links to %s, but %s has no heading of that name", uri, href, path)
        if repository := Links.config.extra["repository"]:
            link.set("href", f"{repository}/blob/main/{path}{fragment}")
        else:
            link.tag = "span"
            del link.attrib["href"]


@cache
def _anchors(path: str) -> set[str]:
    return {slug(line, "-") for line in re.findall(r"^#+ +(.+)$", (CHECKOUT / path).read_text("utf-8"), re.M)}


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put MathML in place of the formulas of arithmatex, complete the pictures, and keep units with their numbers."""

    def formula(found: re.Match[str]) -> str:
        latex = unescape(found[2])
        try:
            mathml: str = convert(latex, display="block" if found[1] == "div" else "inline")
        except Exception as error:
            raise ValueError(f"{page.file.src_uri}: the formula {latex} cannot be set: {error!r}") from error
        if unknown := re.search(r">(\\[A-Za-z]+)<", mathml):
            raise ValueError(f"{page.file.src_uri}: the formula {latex} has the unknown command {unknown[1]}")
        return mathml

    first = True

    def picture(found: re.Match[str]) -> str:
        nonlocal first
        file = files.get_file_from_path(
            posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), found[2]))
        )
        if file is None or found[2].endswith(".svg"):
            return found[0]
        with Image.open(BytesIO(file.content_bytes)) as image:
            size = f'width="{image.width}" height="{image.height}"'
        order, first = 'fetchpriority="high"' if first else 'loading="lazy"', False
        return f"{found[1]} {size} {order}"

    html = re.sub(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', formula, html, flags=re.S)
    html = re.sub(r'(<img [^>]*?\bsrc="([^":#]+)[^"]*")', picture, html)
    units = r"<pre.*?</pre>|(?<=\d) (?=%|pp\b)"  # what a program printed stays as it is
    return re.sub(units, lambda found: "\u00a0" if found[0] == " " else found[0], html, flags=re.S)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    return _finished(output)


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    return _finished(output) if template_name == "404.html" else output


def _finished(html: str) -> str:
    """Name the search for screen readers, show the text before the scripts, and load what disks need only there."""
    search = 'data-md-component="search" role="dialog"'
    html = html.replace(search, f'{search} aria-label="Search"')
    html = re.sub(
        r'<script src="([\w./]*/bundle\.\w+\.min\.js)"></script>',
        r"<script>requestAnimationFrame(()=>setTimeout(()=>document.body.append("
        r'Object.assign(document.createElement("script"),{src:"\1"}))))</script>',
        html,
    )
    return re.sub(
        r'<script src="([\w./]*iframe-worker\.js)"></script>',
        r"""<script>location.protocol==="file:"&&document.write('<script src="\1"><\/script>')</script>""",
        html,
    )
