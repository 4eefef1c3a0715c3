"""Classes are two unless all are named; a text that may be a mistake, or be no class, stops with its line."""

import shlex

import pytest

from benchmark.errors import UserError
from tests.data.conftest import fields_of

CLEAR = [("active", "inactive"), ("yes", "no"), ("0", "9"), ("-1", "1")]


@pytest.mark.parametrize("texts", [*CLEAR, ("ano", "ne"), ("good", "won't"), ("2", "1"), ("7", "9"), ("0", "-1")])
def test_where_texts_do_not_say_which_is_class_1_a_line_does(tmp_path, texts):
    fields = fields_of(tmp_path, texts)
    assert ("by the alphabet alone" in fields["notes"]) == (texts[0] in ("ano", "good"))
    assert ("class 1 is" in fields["notes"]) == (texts not in CLEAR)
    if fields["notes"]:
        (other,) = shlex.split(fields["notes"].partition("--positive ")[2])
        assert fields_of(tmp_path, texts, positive=other)["positive"] == other == fields["negative"]


@pytest.mark.parametrize("word", ["failed", "inconclusive", "Yes"])
@pytest.mark.parametrize("count", [1, 12])
def test_another_third_text_stops_with_its_line_and_the_option(tmp_path, word, count):
    texts = ["active", "inactive"] * 18
    texts[: 2 * count : 2] = [word] * count
    message = rf"found 3: .*{word!r}.* is on line \d+; if {word!r} means a missing value, use --ignore-value {word};"
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, texts)
    fields = fields_of(tmp_path, texts, ignore_value=[word])
    assert (fields["positive"], fields["negative"], fields["missing"]) == ("active", "inactive", [word])
    fields = fields_of(tmp_path, texts, classes=["inactive", word, "active"])
    assert fields["classes"] == ["inactive", word, "active"]


@pytest.mark.parametrize("texts", [["7", "1.2 ± 0.3", "4 ± 2"], ["1 234,5", "2 000", "7"], ["$5", "$7", "$9"]])
def test_texts_that_begin_with_a_number_are_no_classes_in_silence(tmp_path, texts):
    with pytest.raises(UserError, match=r"line \d: expected a number or a word, found '(?!7').* or say --task cl"):
        fields_of(tmp_path, texts)
    assert len(fields_of(tmp_path, texts, task="classification")["classes"]) == 3


@pytest.mark.parametrize(
    ("texts", "given", "message"),
    [
        (["active"], {}, r"'y' holds only 'active': there is nothing to learn$"),
        (["active", ""], {}, r"'y' holds only 'active': .*; if the empty fields are the other class, write it there"),
        *(
            (texts, {}, "classes or numbers\\? Use --task classification or --task regression")
            for texts in (["0", "1", "2"], ["1", "2", "3"], ["0", "1", "2", "2.0"], ["0", "0.5", "1"], [*"112123"])
        ),
        *(
            (["0", "1", "-1"], {"task": task}, r"-1 \(12 rows\).*--ignore-value -1; if it is a class, --classes=-1,0,1")
            for task in ("", "classification")
        ),
        (
            [*map(str, range(36))],
            {"task": "classification"},
            "found 36 different numbers: say where to cut .* --positive '>= median'",
        ),
        (["1", "1.0"], {}, "'y' holds only '1'"),
        (["low", "middle", "high", "huge"], {}, r"two classes, found 4: 'low' .*; if '.*' means a missing value"),
        (
            ["active", "inactive", "don't know"],
            *({}, """--ignore-value 'don'"'"'t know'; .* --classes 'active,don'"'"'t know,"""),
        ),
        (
            ["active", "inactive", "weak, odd"],
            *({}, "--ignore-value 'weak, odd'; if it is a class, write no commas in it"),
        ),
        (["Yes", "No", "y", "n"], {}, "'Yes' and 'y' seem to be the same class: write each class in one way"),
        (["TRUE", "FALSE", "1", "0"], {}, "'0' and 'FALSE', '1' and 'TRUE' seem to be the same class: write each"),
        (["0", "1", "0", "1", "0", "active"], {}, "'1' and 'active' seem to be the same class: write each class"),
        (["active", "inactive"], {"log10": True}, "--log10 needs a column of numbers"),
        *((texts, {"merge": "mean"}, "'y' holds classes, .* --merge majority or drop") for texts in (["0", "1"], "ab")),
    ],
)
def test_what_may_be_no_classes_is_refused_with_the_option_that_says_so(tmp_path, texts, given, message):
    with pytest.raises(UserError, match=message):
        fields_of(tmp_path, texts, **given)
