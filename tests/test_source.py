"""Fingerprints of code change with every edit that can change a number, and with no other."""

from __future__ import annotations

import importlib
import sys

import pytest

from benchmark import source

BASE = {
    "__init__.py": "",
    "method.py": '''
        """What it is."""
        from code_under_test import words
        from code_under_test.helpers import scaled as grown
        from code_under_test.registry import register

        RATE = 0.5
        """How fast."""

        @register("mine", title="Mine")
        class Method:
            k: int = 2
            """How many."""

            def fit(self, x: list[float]) -> float:
                # as in the book
                if self.k < 1:
                    raise ValueError(f"k must be at least 1, got {self.k}")
                return grown(sum(x), RATE) + words.OFFSET
    ''',
    "helpers.py": '''
        def scaled(x, by):
            """x times by."""
            from code_under_test.deep import power
            return power(x) * by

        def unused():
            return 1
    ''',
    "deep.py": "def power(x):\n    return x**2\n",
    "words.py": "OFFSET = 1.0\nGREETING = 'hello'\n",
    "registry.py": "def register(name, title):\n    return lambda cls: cls\n",
}


@pytest.fixture
def fingerprint_of(tmp_path, monkeypatch, edited_sources):
    """A function that returns the fingerprint of ``Method`` after edits of the package."""

    def compute(**edits: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir()))) / "code_under_test"
        folder.mkdir(parents=True)
        for name, text in {**BASE, **{f"{stem}.py": text for stem, text in edits.items()}}.items():
            (folder / name).write_text(_dedented(text), encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder.parent)
            for name in [name for name in sys.modules if name.partition(".")[0] == "code_under_test"]:
                del sys.modules[name]
            edited_sources()
            return source.fingerprint(importlib.import_module("code_under_test.method").Method)

    return compute


def _dedented(text: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in text.splitlines()).lstrip("\n") + "\n"


def edited(stem: str, old: str, new: str) -> dict[str, str]:
    assert old in BASE[f"{stem}.py"]
    return {stem: BASE[f"{stem}.py"].replace(old, new)}


@pytest.mark.parametrize(
    "edit",
    [
        edited("method", "# as in the book", "# as elsewhere"),
        edited("method", "What it is.", "Something else."),
        edited("method", "How fast.", "How quickly."),
        edited("method", "How many.", "How many there are."),
        edited("method", "k must be at least 1, got {self.k}", "{self.k} is too few"),
        edited("method", "-> float", "-> object"),
        edited("method", 'title="Mine"', 'title="My own"'),
        edited("method", "grown", "bigger"),
        edited("helpers", "x times by.", "By times x."),
        edited("helpers", "return 1", "return 2"),
        edited("words", "hello", "good day"),
        edited("registry", "lambda cls: cls", "lambda kind: kind"),
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_what_cannot_change_a_number_is_not_seen(fingerprint_of, edit):
    renamed = "bigger" in str(edit)  # names that a definition uses are part of it
    assert (fingerprint_of(**edit) == fingerprint_of()) is not renamed


@pytest.mark.parametrize(
    "edit",
    [
        edited("method", "RATE = 0.5", "RATE = 0.25"),
        edited("method", "k: int = 2", "k: int = 3"),
        edited("method", "self.k < 1", "self.k < 2"),
        edited("method", "words.OFFSET", "words.OFFSET / 2"),
        edited("helpers", "* by", "/ by"),
        edited("deep", "x**2", "x**3"),
        edited("words", "1.0", "2.0"),
        edited("words", "1.0", "1"),
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_an_edit_that_can_change_a_number_is_seen_in_whichever_module(fingerprint_of, edit):
    assert fingerprint_of(**edit) != fingerprint_of()


def test_a_definition_may_move_to_another_module(fingerprint_of):
    moved = edited("helpers", "code_under_test.deep", "code_under_test.deeper") | {"deeper": BASE["deep.py"]}
    assert fingerprint_of(**moved) == fingerprint_of()


def test_another_definition_under_the_same_name_is_seen(fingerprint_of):
    other = edited("helpers", "code_under_test.deep", "code_under_test.other")
    assert fingerprint_of(**other, other="def power(x):\n    return abs(x)\n") != fingerprint_of()


def test_a_statement_that_defines_nothing_counts_where_its_module_is_used(fingerprint_of):
    assert fingerprint_of(words=BASE["words.py"] + "print(GREETING)\n") != fingerprint_of()


def test_what_a_package_passes_on_is_found_where_it_is_defined(fingerprint_of):
    through = edited("method", "from code_under_test.helpers import", "from code_under_test.parts import")
    through |= {"parts": "from code_under_test.helpers import scaled\n"}
    assert fingerprint_of(**through) == fingerprint_of()


def test_an_installed_class_counts_by_name_and_version(monkeypatch, edited_sources):
    import sklearn
    from sklearn.naive_bayes import BernoulliNB, GaussianNB

    before = source.fingerprint(GaussianNB)
    assert before != source.fingerprint(BernoulliNB)
    monkeypatch.setattr(sklearn, "__version__", "0.0")
    edited_sources()
    assert source.fingerprint(GaussianNB) != before


def test_a_root_that_no_module_defines_is_refused():
    def inner():
        pass

    inner.__qualname__ = "nobody"
    with pytest.raises(ValueError, match="does not define nobody"):
        source.fingerprint(inner)


def test_every_version_of_python_gives_the_same_fingerprint(tmp_path):
    """The text has most kinds of syntax; Pythons 3.11 to 3.14 gave this fingerprint."""
    (tmp_path / "golden.py").write_text(GOLDEN, encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        assert source.fingerprint(importlib.import_module("golden").Everything) == "b242cc1d20e873e3"
    finally:
        sys.path.remove(str(tmp_path))


GOLDEN = '''
import math as m

LIMIT: float = 1e-12
NAMES = {"a": 1, "λ": 2.5, **{"b": -3j}}


async def wait(x, /, *rest, key=b"\\x00", **more):
    async with x as y, x:
        async for z in y:
            yield z


@property
def helper(x, *, deep=...):
    global LIMIT
    with x as y:
        (a, *b), c = y
    try:
        del a
    except (KeyError, ValueError) as error:
        raise RuntimeError("no") from error
    else:
        LIMIT += 1 if not b else c[1:2, ::3]
    finally:
        pass
    match c:
        case {"k": [1, *_], **others}:
            return others
        case 1 | None:
            pass
        case Everything(size=str() as s) if s:
            return f"{s!r:>{LIMIT}} {{}} " "end" f"{s}" rf"\\d{s}"
    while (n := m.floor(LIMIT)) and x is not None:
        if n > 2 and n <= 5 or n in (1, 2):
            break
        continue
    assert n, "words"
    return lambda q: [i for i in q], {i: j for i, j in x if i}, {*x}, (yield), (i for i in x)


class Everything:
    """Words."""

    size = helper
    items = [wait, NAMES, True, None, ~1, -LIMIT, lambda: 1_000 @ 2 // 3 % 4 << 5]
'''
