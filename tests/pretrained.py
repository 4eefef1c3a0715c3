"""Small models with random weights in place of the pretrained ones."""

from pathlib import Path


def small_models(folder: Path) -> None:
    """Write small models with random weights in place of the pretrained ones, in the layout of ``CHURN_MODEL_DIR``."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers.utils import logging

    logging.disable_progress_bar()
    letters = ["[PAD]", "[CLS]", "[SEP]", *map(chr, range(33, 127))]
    tokenizer = Tokenizer(models.BPE({text: i for i, text in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1), add_prefix_space=False)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    roberta = transformers.RobertaConfig(vocab_size=len(letters), max_position_embeddings=140, **sizes)
    resnet = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    chemberta = folder / "DeepChem" / "ChemBERTa-77M-MTR"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.RobertaForSequenceClassification(roberta).save_pretrained(chemberta)
        transformers.ResNetForImageClassification(resnet).save_pretrained(folder / "microsoft" / "resnet-50")
    tokenizer.save(str(chemberta / "tokenizer.json"))
