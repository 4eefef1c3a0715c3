"""Encoded cells are checked field by field before they are used."""

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from benchmark.store.cell import Cell, CellKey, Facts, Submission, decode, decode_key, decode_record, digest, encode
from benchmark.types import Predictions

KEY = CellKey("bace", "twin", {"lam": 3.0}, 99, (1, 2), "0123456789abcdef", "fedcba9876543210")
FACTS = Facts(command="churn run --method twin", rows={"train": 9, "id": 3})


def predictions(seeds: tuple[int, ...] = (1, 2), y: object = (0, 1, 1), ids: str = "abc") -> Predictions:
    values = np.full((len(seeds), len(ids), 2), 0.5, dtype=np.float32)
    return Predictions(seeds, np.array(list(ids)), np.array(y), values, "classification")


def content() -> dict[str, Any]:
    """Return an encoded cell as it comes from JSON."""
    cell: dict[str, Any] = json.loads(json.dumps(encode(Cell(KEY, "Twin λ=3", {}, 1.5, FACTS))))
    return cell


def test_predictions_have_the_class_shares_of_the_training_pool_also_in_cells_of_0_1_0() -> None:
    facts = FACTS.model_copy(update={"class_rows": (6, 3)})
    assert Cell(KEY, "", {"id": predictions()}, 1.5, facts).predictions["id"].class_shares == (6 / 9, 3 / 9)
    assert Cell(KEY, "", {"id": predictions()}, 1.5, FACTS).predictions["id"].class_shares == ()
    known = replace(KEY, problem="031ca49ee0dd045f")
    assert Cell(known, "", {"id": predictions()}, 1.5, FACTS).predictions["id"].class_shares == (337 / 546, 209 / 546)


@pytest.mark.parametrize("field", ["key", "facts", "title", "fit_seconds", "key.dataset", "key.method", "key.seeds"])
def test_a_wrong_field_is_named(field: str) -> None:
    first, _, second = field.partition(".")
    for value in (None, "", "x" * 3000, -1, float("nan"), float("inf"), [], {}, "a/../\nb"):
        cell = content()
        cell[first] = cell[first] | {second: value} if second else value
        with pytest.raises(ValueError, match=f"^{first}: (|.*{second}.*: )"):
            decode(cell, {"id": predictions()})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("key.params", {"lam": [3]}),
        ("key.canonical_seed", 2**40),
        ("key.seeds", [1, 1]),
        ("key.device", "cpu\n"),
        *(("facts.rows", rows) for rows in ({"id": 3}, {"train": 9, "id": 4}, {"train": 9, "id": 3, "ood": 1})),
        ("facts.class_rows", [9]),
        ("facts.wall_seconds", float("inf")),
        ("facts.unknown", 1),
    ],
)
def test_a_value_that_cannot_be_is_refused(field: str, value: object) -> None:
    cell = content()
    first, _, second = field.partition(".")
    cell[first][second] = value
    with pytest.raises(ValueError, match=second):
        decode(cell, {"id": predictions()})


def test_a_missing_field_is_named() -> None:
    cell = content()
    del cell["fit_seconds"]
    with pytest.raises(ValueError, match=r"KeyError.*fit_seconds"):
        decode(cell, {"id": predictions()})


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({}, "the tests"),
        ({"id": predictions((2, 3))}, "train seeds"),
        ({"id": predictions(ids="abb")}, "repeated"),
        ({"id": predictions(y=(0, 1, 2))}, "labels from 0 to 1"),
        ({"id": predictions(y=("a", "b", "c"))}, "labels from 0 to 1"),
    ],
)
def test_predictions_that_contradict_the_fields_are_refused(stored: dict[str, Predictions], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode(content(), stored)


def test_a_key_that_differs_from_its_digest_is_refused_and_one_of_an_earlier_version_is_read() -> None:
    edited = content()["key"] | {"dataset": "esol"}
    with pytest.raises(ValueError, match=f"its digest is {decode_key(edited).digest}, expected {KEY.digest}"):
        decode_key(edited, KEY.digest)
    earlier = {name: value for name, value in content()["key"].items() if name != "sampling"}
    assert decode_key(earlier, digest(earlier)) == KEY


def test_a_key_by_version_0_1_0_is_read_with_revisions_and_keeps_its_digest() -> None:
    old = content()["key"] | {"method": "erm", "code": "74c926de3d8aa10e"}
    del old["learner"], old["features"], old["tune"]
    key = decode_key(old, digest(old))
    assert (key.code, key.digest) == (f"erm@1 mlp@1 trainer@1 {KEY.sampling}@1", digest(old))
    again = decode_key(asdict(key), key.digest)
    assert again == key
    newer = replace(key, code=key.code.replace("mlp@1", "mlp@2"))
    assert newer.digest != key.digest
    assert decode_key(asdict(newer), newer.digest) == newer


def test_another_learner_or_other_features_are_another_key() -> None:
    keys = [KEY, replace(KEY, learner="gin"), replace(KEY, learner="svm:C=3.0"), replace(KEY, features="minimol")]
    assert len({key.digest for key in keys}) == len({key.kind for key in keys}) == 4
    assert len({key.pipeline for key in keys}) == 4
    for key in keys:
        assert decode_key(asdict(key), key.digest) == key
    for name in ("learner", "features", "tune"):
        with pytest.raises(ValueError, match=f"key: {name}: "):
            decode_key(asdict(KEY) | {name: "../x y"})


def test_only_a_submission_may_have_taken_an_unknown_time() -> None:
    texts = dict.fromkeys(("status", "name", "authors", "licence", "compute", "training_data", "sha256"), "x")
    cell = content() | {"fit_seconds": float("nan")}
    cell["facts"]["submission"] = Submission(**texts).model_dump()
    assert np.isnan(decode(cell, {"id": predictions()}).fit_seconds)


def test_a_record_with_a_wrong_field_is_refused() -> None:
    record: dict[str, Any] = {"study": "members", "key": "report", "code": "0" * 16, "content": {"settings": {}}}
    assert decode_record(record).content == {"settings": {}}
    lacking = {name: value for name, value in record.items() if name != "code"}
    for wrong in (lacking, record | {"study": "../x"}, record | {"content": [1]}, record | {"more": 1}):
        with pytest.raises(ValueError, match=r"^record: "):
            decode_record(wrong)
