"""The description and the manifest: valid fields, and hostile input for their parsers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.errors import UserError
from leaderboard.submission.spec import Description, parse_description, parse_manifest, schema

GOOD = b"""name: Mine
authors: [A, B]
version: 1.0
description: no
licence: CC-BY-4.0
compute: little
training_data: none
"""


def test_scalars_are_texts_as_written():
    result = parse_description(GOOD, "submission.yml")
    assert (result.version, result.description, result.authors) == ("1.0", "no", ("A", "B"))


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (GOOD + b"nane: x\n", "field 'nane'.*allowed: name, authors"),
        (GOOD + b"name: x\n", "line 8: expected a new field, found 'name' again"),
        (GOOD.replace(b"licence: CC-BY-4.0\n", b""), "field 'licence': Field required"),
        (GOOD.replace(b"1.0", b"../../etc"), "field 'version'.*found '../../etc'"),
        (GOOD + b"code: javascript:alert(1)\n", "field 'code'"),
        (GOOD + b"code: https://a/<script>\n", "field 'code'"),
        (GOOD.replace(b"Mine", b"!!python/object/apply:os.system [id]"), "line 1.*the tag"),
        (b"a: &a [x]\nb: [*a, *a]\n", "line 1: anchors and aliases"),
        (b"[" * 30_000, "nested more than"),
        (b"- x", "expected fields"),
        (b"", "expected fields"),
        (b"\xff\xfe", "not a YAML file"),
        (b"a: b: c", "not a YAML file"),
        (b"? [a]\n: b", "expected a new field"),
        (GOOD.replace(b"Mine", "Mi\u200bne".encode()), r"field 'name': .*invisible character U\+200B; remove it"),
        (GOOD.replace(b"Mine", "\u202eeniM".encode()), r"field 'name': .*U\+202E"),
        (GOOD.replace(b"Mine", b'"Mi\\x07ne"'), r"field 'name': .*U\+0007"),
    ],
)
def test_a_broken_description_is_refused_naming_line_or_field(spoilt, message):
    with pytest.raises(UserError, match=message):
        parse_description(spoilt, "submission.yml")


def test_a_bomb_of_aliases_is_refused_before_it_grows():
    levels = [b"a0: &a0 [x]"] + [b"a%d: &a%d [%s]" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 40)]
    with pytest.raises(UserError, match="anchors and aliases"):
        parse_description(b"\n".join(levels), "submission.yml")


@pytest.mark.parametrize("spoilt", [b"[" * 100_000, b"{}", b"nan", b'{"suite": "1", "files": {}}', b"1" * 10_000])
def test_a_broken_manifest_is_refused(spoilt):
    with pytest.raises(UserError, match=r"manifest\.json"):
        parse_manifest(spoilt, "manifest.json")


@given(st.binary(max_size=300) | st.text(alphabet="&*!{}[]:-?|> \nab'\"#%@`", max_size=200).map(str.encode))
def test_no_text_does_more_than_be_refused(content):
    for parse in (parse_description, parse_manifest):
        with pytest.raises(UserError):
            parse(content, "x")


def test_the_schema_names_all_fields_and_allows_no_others():
    result = json.loads(json.dumps(schema()))
    assert set(result["properties"]) == set(Description.model_fields)
    assert result["additionalProperties"] is False
