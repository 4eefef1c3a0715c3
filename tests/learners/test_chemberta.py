"""A small ChemBERTa: from SMILES and pretrained weights to predictions."""

import shutil
import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.problem import load_problem
from benchmark.errors import UserError
from benchmark.learners.chemberta import ChemBERTa
from benchmark.train.device import CPU, CUDA
from benchmark.train.modules import Draws
from tests.plain import needs_gpu, predicted
from tests.pretrained import small_models

SMILES = ["CCO", "c1ccccc1C(=O)Nc1ccncc1", "C" * 300, "N"]
VARIANT = "backbone=chemberta@batch_size=8@epochs=1@train=24"


@pytest.fixture
def folder(models: Path) -> Path:
    """One layer of ChemBERTa with a byte-level tokenizer for the characters of SMILES."""
    small_models(models)
    return models / "DeepChem" / "ChemBERTa-77M-MTR"


def network(n_outputs: int = 2, dropout: float = 0.0, key: tuple[int, int] = (1, 0)):
    with Draws("initialisation", key, CPU):
        return ChemBERTa().module(ChemBERTa.recipe, 0, n_outputs, dropout).eval()


def copied(folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the model to another folder of models and select that folder."""
    monkeypatch.setenv("CHURN_MODEL_DIR", str(root))
    return Path(shutil.copytree(folder, root / "DeepChem" / folder.name))


def assert_equal(state: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    import torch

    torch.testing.assert_close(dict(state), dict(expected), rtol=0, atol=0)


def test_outputs_are_those_of_the_librarys_own_model_and_do_not_depend_on_the_batch(folder):
    import torch
    from tokenizers import Tokenizer
    from transformers import RobertaForSequenceClassification

    ours, theirs = network(), RobertaForSequenceClassification.from_pretrained(folder).eval()
    theirs.classifier.load_state_dict(ours.model.classifier.state_dict())
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with torch.no_grad():
        together = ours(SMILES)
        for i, smiles in enumerate(SMILES):
            ids = tokenizer.encode(smiles).ids
            ids = ids if len(ids) <= 128 else [*ids[:127], ids[-1]]
            alone = theirs(torch.tensor([ids])).logits[0]
            torch.testing.assert_close(together[i], alone, rtol=1e-4, atol=1e-6)


def test_networks_differ_in_their_heads_alone_which_their_keys_draw(folder):
    import torch

    one, again, other = (network(key=key).state_dict() for key in ((1, 0), (1, 0), (1, 1)))
    assert_equal(one, again)
    assert {name for name in one if not torch.equal(one[name], other[name])} == {
        "model.classifier.dense.weight",
        "model.classifier.out_proj.weight",
    }


def test_a_regression_has_one_output_and_a_rate_of_dropout_replaces_the_models_own(folder):
    from torch import nn

    regression = network(n_outputs=1, dropout=0.25)
    assert regression.model.classifier.out_proj.out_features == 1
    for rate, model in ((0.25, regression), (0.1, network())):
        dropouts = {name: part.p for name, part in model.named_modules() if isinstance(part, nn.Dropout)}
        assert [p for name, p in dropouts.items() if "self" not in name.split(".")] == [rate] * 4


def test_weights_are_found_in_the_hubs_cache(folder, models, monkeypatch):
    before = network().state_dict()
    cached = models.with_name("hub") / "models--DeepChem--ChemBERTa-77M-MTR"
    shutil.copytree(folder, cached / "snapshots" / "0123")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0123", encoding="utf-8")
    monkeypatch.delenv("CHURN_MODEL_DIR")
    assert_equal(network().state_dict(), before)
    (cached / "snapshots" / "0123" / "tokenizer.json").unlink()  # as after an interrupted download
    with pytest.raises(UserError, match="no weights: downloads are disabled"):
        network()


def test_weights_as_pytorch_saves_them_are_read_too(folder, models, monkeypatch):
    import torch
    from safetensors.torch import load_file

    before = network().state_dict()
    other = copied(folder, models.with_name("other"), monkeypatch)
    torch.save(load_file(other / "model.safetensors"), other / "pytorch_model.bin")
    (other / "model.safetensors").unlink()
    assert_equal(network().state_dict(), before)


def test_a_damaged_weights_file_is_named_and_never_run(folder, tmp_path):
    import torch

    class Harm:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "harm",))

    torch.save({"roberta.x": Harm()}, harmful := BytesIO())
    (folder / "model.safetensors").unlink()
    for file, content in [
        ("pytorch_model.bin", harmful.getvalue()),
        ("pytorch_model.bin", b"<html>"),
        ("model.safetensors", b"<html>"),  # is taken first
    ]:
        (folder / file).write_bytes(content)
        with pytest.raises(UserError, match=f"{file}: not the weights of a network"):
            network()
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("method", ["erm", "twin:lam=10"])
def test_training_gives_the_same_twice_and_a_seed_alone_what_it_gives_in_company(folder, method):
    problem = load_problem(f"b3db_measured@{VARIANT}")
    assert problem.train.x.dtype == np.uint8
    both = predicted(problem, method, [1, 2])
    np.testing.assert_array_equal(predicted(problem, method, [2]), both[1:])
    assert not np.array_equal(both[0], both[1])


@needs_gpu
def test_a_gpu_gives_the_same_predictions_again(folder):
    problem = load_problem(f"b3db_measured@{VARIANT}")
    first = predicted(problem, "twin:lam=10", [1, 2], CUDA)
    np.testing.assert_array_equal(predicted(problem, "twin:lam=10", [1, 2], CUDA), first)


def test_other_weights_are_another_problem_and_the_same_elsewhere_are_not(folder, models, monkeypatch):
    from safetensors.torch import load_file, save_file

    before = load_problem(f"b3db_measured@{VARIANT}")
    assert before.fingerprints["backbone"].startswith("chemberta ")
    copied(folder, models.with_name("other"), monkeypatch)
    assert load_problem(f"b3db_measured@{VARIANT}").fingerprint == before.fingerprint
    changed = copied(folder, models.with_name("third"), monkeypatch)
    tensors = load_file(changed / "model.safetensors")
    tensors["roberta.embeddings.LayerNorm.bias"] += 1e-3
    save_file(tensors, changed / "model.safetensors")
    after = load_problem(f"b3db_measured@{VARIANT}")
    assert {k for k, v in after.fingerprints.items() if v != before.fingerprints[k]} == {"backbone"}


def test_without_the_model_the_error_says_where_it_belongs_and_where_to_get_it(models):
    with pytest.raises(UserError) as caught:
        load_problem(f"b3db_measured@{VARIANT}")
    for part in ("--offline", "https://huggingface.co/DeepChem/ChemBERTa-77M-MTR", str(models / "DeepChem/ChemBERTa")):
        assert part in str(caught.value)


def test_a_file_that_is_missing_is_named(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"ChemBERTa-77M-MTR: tokenizer\.json is missing\n  get config\.json, tok"):
        ChemBERTa().weights()


def test_weights_of_another_network_are_refused(folder):
    from transformers import BertConfig, BertForSequenceClassification

    small = BertConfig(vocab_size=9, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    before = (folder / "config.json").read_bytes()
    BertForSequenceClassification(small).save_pretrained(folder)
    (folder / "config.json").write_bytes(before)
    with pytest.raises(UserError, match="these weights belong to another network: roberta"):
        network()


def test_without_the_extra_and_the_model_the_error_names_both(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UserError, match=r"pip install -c constraints\.txt -e '\.\[pretrained\]'\n  get config\.json"):
        ChemBERTa().weights()
