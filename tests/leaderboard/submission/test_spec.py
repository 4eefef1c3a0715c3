"""The description of a submission: valid fields, and hostile input for its parser."""

import pytest

from benchmark.errors import UserError
from leaderboard.submission.spec import parse_description

GOOD = b"""name: Mine
authors: [A, B]
version: 1.0
description: no
licence: CC-BY-4.0
compute: little
training_data: none
protocols: {halves/bace: 0123456789012345}
"""


def test_scalars_are_texts_as_written():
    result = parse_description(GOOD, "submission.yml")
    assert (result.version, result.description, result.authors) == ("1.0", "no", ("A", "B"))
    assert result.protocols == {"halves/bace": "0123456789012345"}
    unseen = GOOD.replace(b"description: no", b'description: "n\\0o\\x1b\\u202e"')
    assert parse_description(unseen, "submission.yml").description == "no"


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (GOOD + b"nane: x\n", "field 'nane'.*allowed: name, authors"),
        (GOOD + b"name: x\n", "expected a new field, found 'name' again .* line 9"),
        (GOOD.replace(b"licence: CC-BY-4.0\n", b""), "field 'licence': Field required"),
        (GOOD.replace(b"[A, B]", b"A"), r"field 'authors': expected a list, as in \[A, B\], found 'A'$"),
        (GOOD.replace(b"[A, B]", b"[]"), r"field 'authors': expected at least one, found '\[\]'$"),
        (GOOD.replace(b"1.0", b"../../etc"), "field 'version'.*found '../../etc'"),
        (GOOD + b"code: javascript:alert(1)\n", "field 'code'"),
        (GOOD + b"code: https://a/<script>\n", "field 'code'"),
        (GOOD + b"files: {prior.npy: 12}\n", r"field 'files\.prior\.npy'"),
        (GOOD.replace(b"Mine", b"!!python/object/apply:os.system [id]"), "field 'name'.*valid string"),
        (b"a: &a [x]\nb: [*a, *a]\n", r"aliases \(\*\) are not allowed .* line 2"),
        (b"[" * 30_000, "recursion"),
        (b"- x", "expected fields"),
        (b"", "expected fields"),
        (b"\xff\xfe", "not a YAML file"),
        (b"a: b: c", "not a YAML file"),
        (b"? [a]\n: b", "unhashable key"),
        (GOOD.replace(b"Mine", "Mi\u200bne".encode()), r"field 'name': .*invisible character U\+200B; remove it"),
        (GOOD.replace(b"Mine", "\u0415RM".encode()), "field 'name': .* Latin letters.* CYRILLIC CAPITAL LETTER IE"),
        *(
            (GOOD.replace(b"Mine", f"B{c}gging".encode()), f"field 'name': .* Latin letters.* {name}")
            for c, name in (
                ("\u0251", "ALPHA"),
                ("\u0131", "DOTLESS I"),
                ("\u017f", "LONG S"),
                ("a\u0300\u0301", "COMB"),
            )
        ),
        (GOOD.replace(b"Mine", "Mi\u3164ne".encode()), r"field 'name': .*U\+3164"),
        (GOOD.replace(b"Mine", "\u202eeniM".encode()), r"field 'name': .*U\+202E"),
        (GOOD.replace(b"Mine", b'"Mi\\x07ne"'), r"field 'name': .*U\+0007"),
    ],
)
def test_a_broken_description_is_refused_naming_line_or_field(spoilt, message):
    with pytest.raises(UserError, match=message):
        parse_description(spoilt, "submission.yml")
