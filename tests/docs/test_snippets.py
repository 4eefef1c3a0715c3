"""What the pages tell a reader to do works: tutorials and notebooks run as they stand, every other block is checked.

A tutorial (``docs/tutorials/*.md``) runs in an empty folder, block after block:

- A block with a title (```` ```python title="models.py" ````) is written to the file of that name.
- A block of ``sh`` is run by bash, one of ``python`` without a title by Python. It must succeed, or exit as
  ``<!-- exit code 1 -->`` on the line before it says.
- A block of ``text`` after it has what was printed. A line ``…`` stands for any number of lines. Durations, times and
  long hexadecimal names may differ. After ``<!-- numbers vary -->``, for what networks have learned, all numbers, the
  order of the lines and one line in five may differ, because training amplifies the last bits, which depend on the CPU.

A notebook (``docs/notebooks/*.ipynb``) runs in an empty folder, too, and must not fail.

``python tests/docs/test_snippets.py --write [PAGE…]`` runs tutorials and notebooks and writes their outputs anew. Lines
stay elided where the words around them are the same; otherwise the whole output is written, to be shortened by hand.

On all other pages, commands are parsed without being run, Python is run, and YAML, TOML and JSON are read.
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from benchmark.files import CHECKOUT

TUTORIALS = {page.stem: page for page in sorted((CHECKOUT / "docs" / "tutorials").glob("*.md"))}
PAGES = {
    str(page.relative_to(CHECKOUT)): page
    for pattern in ("*.md", "docs/**/*.md", "datasets/*.md", "submissions/*.md")
    for page in sorted(CHECKOUT.glob(pattern))
    if page.stem not in ("CHANGELOG", "RESULTS") and page not in TUTORIALS.values()
}
NOTEBOOKS = {page.stem: page for page in sorted((CHECKOUT / "docs" / "notebooks").glob("*.ipynb"))}
SHORT = {"gate"}
"""Tutorials that take less than half a minute."""
FOREIGN = {
    *("cd", "codespell", "cp", "curl", "dask", "docker", "echo", "export", "git", "ls", "mkdocs", "mypy"),
    *("openssl", "pytest", "ruff", "sha256sum", "unzip", "uv", "xdg-open"),
}
"""Programs of others, whose options are not checked."""
HOME = "/home/you/churn"
"""The folder that outputs show in place of the one that the tutorial was run in."""

FENCE = re.compile(
    r"""^(?P<indent>[ ]*)```(?P<kind>\w*)(?:[ ]title="(?P<title>[^"]+)")?[ ]*\n"""
    r"""(?P<text>(?:(?!\1```).*\n)*)(?P=indent)```$""",
    re.M,
)
NOTE = re.compile(r"<!-- ([^\n]*?) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; ``start`` and ``end`` enclose its text, and ``note`` is the comment before it."""

    kind: str
    title: str
    text: str
    note: str
    start: int
    end: int
    line: int


def blocks(page: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(page):
        note = NOTE.search(page[: match.start()])
        text = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.M)
        line = page.count("\n", 0, match.start()) + 1
        found.append(
            Block(match["kind"], match["title"] or "", text, note[1] if note else "", *match.span("text"), line)
        )
    return found


# Tutorials


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a reader who has installed the suite and works in ``folder``."""
    kept = {name: value for name, value in os.environ.items() if not re.match("CHURN_|MLFLOW_|PYTEST_", name)}
    return {
        **kept,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "CHURN_HOME": str(folder),
        "CHURN_CACHE_DIR": str(folder.with_name(f"{folder.name}-cache")),
        "CHURN_OFFLINE": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PYTHONUNBUFFERED": "1",  # both streams in the order of a terminal
        "COLUMNS": "100",
    }


def empty(folder: str | Path) -> Path:
    """Make the empty folder that a page is run in."""
    home = Path(folder).resolve() / "churn"
    home.mkdir()
    return home


def outputs(page: str, folder: Path) -> list[tuple[Block, str]]:
    """Run a page in an empty folder, and return each block of ``text`` with what the command before it printed."""
    shown, printed = [], None
    for block in blocks(page):
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.kind in ("sh", "python"):
            words = ["bash", "-euo", "pipefail", "-c"] if block.kind == "sh" else [sys.executable, "-c"]
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            done = subprocess.run([*words, block.text], cwd=folder, env=surroundings(folder), **streams)
            printed = done.stdout.decode().replace(str(folder), HOME)
            expected = re.fullmatch(r"exit code (\d+)", block.note)
            code = int(expected[1]) if expected else 0
            assert done.returncode == code, f"line {block.line}: {block.text}\n{printed}"
        elif block.kind == "text":
            assert printed is not None, f"line {block.line}: an output without a command"
            shown.append((block, tidy(printed)))
            printed = None
        else:
            raise AssertionError(
                f"line {block.line}: a block of {block.kind or 'no language'} that nothing runs or checks"
            )
    return shown


def tidy(printed: str) -> str:
    """The printed lines that are not empty."""
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines() if line.strip())


def pattern(line: str, vary: bool) -> str:
    """What a line has to be equal in: all but durations and names drawn at random, and all numbers where they vary."""
    line = re.sub(r"\b[0-9a-f]{32}\b", "#", line)
    line = re.sub(r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?", "# s", line)
    line = re.sub(r"\b\d+(\.\d+)? (s|seconds?|min|minutes?|hours?)\b", "# s", line)
    if vary:
        line = re.sub(r"[−+-]?\d+(\.\d+)?", "#", line)
        line = re.sub(r"[─━═]+", "─", line)  # the borders of tables, which grow with numbers
    return " ".join(line.split())


def placed(block: Block, printed: str) -> str | None:
    """What ``block`` should show: the printed lines, less those that it elides; None where it does not fit them."""
    vary = block.note == "numbers vary"
    lines = printed.splitlines()
    have = [pattern(line, vary) for line in lines]
    parts: list[list[str]] = [[]]
    for line in block.text.splitlines():
        if line.strip() == "…":
            parts.append([])
        elif line.strip():
            parts[-1].append(pattern(line, vary))
    found = _anywhere(parts, have) if vary else _in_order(parts, have)
    if found is None:
        return None
    if len(parts) == 1:  # nothing is elided
        return printed if len(parts[0]) == len(lines) else None
    return "…\n".join("".join(f"{lines[i]}\n" for i in part) for part in found)


def _in_order(parts: list[list[str]], have: list[str]) -> list[range] | None:
    """Where each part stands in ``have``: the first at the top, the last at the bottom, the others in between."""
    text = "".join(f"{line}\n" for line in have)
    shown = ["".join(re.escape(f"{line}\n") for line in part) for part in parts]
    found = re.fullmatch("(?:.*\n)*?".join(f"({part})" for part in shown), text)
    if found is None:
        return None
    return [range(*(text.count("\n", 0, end) for end in found.span(i + 1))) for i in range(len(parts))]


def _anywhere(parts: list[list[str]], have: list[str]) -> list[list[int]] | None:
    """As ``_in_order``, for lines in any order; None if more than one in five is missing."""
    left = [(text, i) for i, text in enumerate(have)]
    found: list[list[int]] = []
    for part in parts:
        places = []
        for text in part:
            if (one := next((one for one in left if one[0] == text), None)) is not None:
                left.remove(one)
                places.append(one[1])
        found.append(sorted(places))
    shown = sum(map(len, parts))
    return found if shown - sum(map(len, found)) <= shown // 5 else None


def write(page: Path) -> None:
    """Run a tutorial and write its outputs anew, those that do not fit what is shown in full."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        home = empty(folder)
        for block, printed in reversed(outputs(text, home)):
            new = placed(block, printed)
            if new is None or new.count("\n") < block.text.count("\n"):
                new = printed
                print(f"{page.name}, line {block.line}: written in full; shorten it")
            text = text[: block.start] + new + text[block.end :]
    page.write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in TUTORIALS]
)
def test_a_tutorial_runs_as_it_stands_and_prints_what_it_shows(name: str, tmp_path: Path) -> None:
    home = empty(tmp_path)
    for block, printed in outputs(TUTORIALS[name].read_text(encoding="utf-8"), home):
        assert placed(block, printed) is not None, (
            f"{name}.md, line {block.line} shows\n{block.text}\nprinted\n{printed}"
        )


@pytest.mark.parametrize("name", TUTORIALS)
def test_each_figure_of_a_tutorial_is_in_its_outputs(name: str) -> None:
    page = TUTORIALS[name].read_text(encoding="utf-8")
    shown = {figure for block in blocks(page) for figure in re.findall(r"\d+\.\d+", block.text)}
    prose = re.sub(r"\[[^]]*\]\([^)]*\)|`[^`]*`|<!--.*?-->", "", FENCE.sub("", page), flags=re.S)
    assert set(re.findall(r"\d+\.\d+(?![.\d])", prose)) <= shown


# Notebooks


def executed(path: Path, folder: Path) -> Any:
    """Run a notebook in an empty folder, and return it with what its cells print and show. Raises on an error."""
    import nbclient
    import nbformat

    environment = surroundings(folder)
    if "CHURN_DATA_DIR" in os.environ:
        environment["CHURN_DATA_DIR"] = os.environ["CHURN_DATA_DIR"]
    else:
        del environment["CHURN_OFFLINE"]  # the table of DILI is downloaded
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=1200, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=environment)
    for cell in notebook.cells:
        printed = [output for output in cell.get("outputs", ()) if output.get("name") == "stdout"]
        for output in printed[1:]:  # parts of one text, as they arrived
            printed[0].text += output.text
            cell.outputs.remove(output)
    return nbformat.reads(nbformat.writes(notebook).replace(str(folder), HOME), as_version=4)


def write_notebook(path: Path) -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as folder:
        notebook = executed(path, empty(folder))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            # without the warnings of libraries
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    nbformat.write(notebook, path)


@pytest.mark.long
@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_runs_without_an_error_and_shows_what_its_cells_show(name: str, tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="install the extra docs to run notebooks")
    home = empty(tmp_path)
    committed = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))
    for before, after in zip(committed["cells"], executed(NOTEBOOKS[name], home).cells, strict=True):
        shown, printed = (
            [output for output in cell.get("outputs", ()) if output.get("name") != "stderr"] for cell in (before, after)
        )
        assert [o["output_type"] for o in shown] == [o["output_type"] for o in printed], before["source"]
        for old, new in zip(shown, printed, strict=True):
            was, now = (
                tidy("".join(o["text"] if "text" in o else o.get("data", {}).get("text/plain", ""))) for o in (old, new)
            )
            block = Block("text", "", was, "numbers vary", 0, 0, 0)
            assert placed(block, now) is not None, f"{name}.ipynb shows\n{was}\nprinted\n{now}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_committed_as_it_ran_from_top_to_bottom(name: str) -> None:
    cells = json.loads(NOTEBOOKS[name].read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [one for one in outputs if one["output_type"] == "error" or one.get("name") == "stderr"]


# Other pages


LISTED = [(name, block) for name, page in PAGES.items() for block in blocks(page.read_text(encoding="utf-8"))]


def of_kind(kind: str) -> list[Any]:
    """The blocks of a kind on these pages, after the name of their page."""
    return [pytest.param(name, one, id=f"{name}:{one.line}") for name, one in LISTED if one.kind == kind]


@cache
def group(program: str) -> Any:
    """The command line of ``mlflow``, ``benchmark`` or ``leaderboard``, which can be asked to parse."""
    if program == "mlflow":
        from mlflow.cli import cli

        return cli
    from benchmark.__main__ import app as benchmark_app
    from leaderboard.__main__ import app as leaderboard_app

    return typer.main.get_command({"benchmark": benchmark_app, "leaderboard": leaderboard_app}[program])


def parsed(program: str, words: list[str]) -> dict[str, Any]:
    """The parameters that ``program`` reads from ``words``, without running anything; fails if it refuses them."""
    if program == "churn":
        ours = {*group("benchmark").commands} - {"update"}
        trains = words[:1] == ["update"] and "--dataset" in words  # it hands these words on to the benchmark's
        program = "benchmark" if not words or words[0] in ours or trains else "leaderboard"
    command, name, context = group(program), program, None
    try:
        while True:
            context = command.make_context(name, list(words), parent=context)
            if not hasattr(command, "commands"):
                return dict(context.params)
            name, command, words = command.resolve_command(context, words)
    except Exception as error:
        if getattr(error, "exit_code", None) == 0:  # --help, --version
            return {}
        raise AssertionError(f"{program} {shlex.join(words)}: {getattr(error, 'message', error)}") from error


def commands(text: str) -> list[list[str]]:
    """The commands of a block of sh, as words, without assignments, comments and the targets of redirections."""
    text = re.sub(r"(^|\s)#.*", r"\1", text.replace("\\\n", " "), flags=re.M)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&<>()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    found: list[list[str]] = [[]]
    target = False
    for word in lexer:
        if set(word) <= set(";|&<>()\n"):
            target = ">" in word or "<" in word
            if not target:
                found.append([])
        elif target:
            target = False
        elif found[-1] or not re.match(r"[A-Z_]+=", word):
            found[-1].append(word)
    return [words for words in found if words]


def extras() -> set[str]:
    return set(tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def check(words: list[str], made: set[str]) -> None:
    """Fail if a command is not one that exists, with options that exist; ``made`` are files that its page makes."""
    program, *rest = words
    if program == "python" and rest[:1] == ["-m"]:
        program, rest = rest[1], rest[2:]
        if program in ("venv", "pip", "build", "http.server"):
            program = "pip" if program == "pip" else "echo"
    if program in ("benchmark", "leaderboard", "churn", "mlflow"):
        read = parsed(program, rest)
        if program == "mlflow" and rest[0] == "run" and read["uri"] == ".":
            points = yaml.safe_load((CHECKOUT / "MLproject").read_text())["entry_points"]
            point = points[read["entry_point"]]
            unknown = {given.partition("=")[0] for given in read["param_list"]} - set(point["parameters"])
            assert not unknown, f"{shlex.join(words)}: MLproject has no parameter {unknown}"
    elif program == "pip":
        for one in re.findall(r"(?:^| )(?:\.|churn-benchmark)\[([^]]+)\]", " ".join(rest)):
            assert set(one.split(",")) <= extras(), f"{shlex.join(words)}: no such extra"
        for option, file in pairwise(rest):
            assert option not in ("-c", "-r") or (CHECKOUT / file).is_file(), f"{shlex.join(words)}: no file {file}"
    elif program == "python" or "/" in program:
        file = rest[0] if program == "python" else program
        assert file.startswith("-") or file in made or (CHECKOUT / file).is_file(), (
            f"{shlex.join(words)}: no file {file}"
        )
    else:
        assert program in FOREIGN, f"{shlex.join(words)}: nothing runs or checks this command"
    for word in rest:
        if re.match(r"(\.github|benchmark|docs|leaderboard|tests)/[\w./-]+$", word):
            assert (CHECKOUT / word).exists(), f"{shlex.join(words)}: no path {word}"


@pytest.mark.parametrize(("name", "block"), of_kind("sh"))
def test_each_command_of_a_page_exists_with_its_options(name: str, block: Block) -> None:
    made = {text for page, one in LISTED if page == name for text in (one.title, one.note)}
    found = commands(block.text)
    assert found
    for words in found:
        check(words, made)


def test_each_block_of_a_page_is_run_parsed_or_read() -> None:
    uncovered = []
    for name, block in LISTED:
        if block.kind in ("yaml", "toml", "json"):
            read = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}[block.kind](block.text)
            for job in read.get("jobs", {}).values() if block.kind == "yaml" else ():
                for step in job["steps"]:
                    for words in commands(step.get("run", "")):
                        check(words, {"train.py", "predict.py"})
        elif block.kind not in ("sh", "python", "text", "bibtex"):
            uncovered.append(f"{name}:{block.line}: a block of {block.kind or 'no language'}")
    assert not uncovered


@pytest.mark.parametrize("name", PAGES)
def test_each_path_that_a_page_names_exists(name: str) -> None:
    text = FENCE.sub("", PAGES[name].read_text(encoding="utf-8"))
    named = re.findall(r"`((?:\.ci|\.github|benchmark|docs|leaderboard|tests)/[\w./*-]+)`", text)
    missing = [path for path in named if not any(CHECKOUT.glob(path.rstrip("/")))]
    assert not [path for path in missing if not re.search("[A-Z]{3}", path)]  # names in capitals stand for the reader's


@pytest.mark.parametrize(("name", "block"), of_kind("python"))
def test_the_python_of_a_page_runs(name: str, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHURN_HOME", str(tmp_path))
    with redirect_stdout(io.StringIO()):
        exec(block.text, {})


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit("usage: python tests/docs/test_snippets.py --write [PAGE…], as in --write gate")
    for name in sys.argv[2:] or [*TUTORIALS, *NOTEBOOKS]:
        stem = Path(name).stem
        write(TUTORIALS[stem]) if stem in TUTORIALS else write_notebook(NOTEBOOKS[stem])
