"""ChemBERTa-77M-MTR on SMILES, fine-tuned (Ahmad et al. 2022, arXiv:2209.01712; paper, appendix on ChemBERTa)."""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.errors import UserError
from benchmark.learners._hub import Pretrained

LONGEST = 128
"""Maximum number of tokens; longer SMILES are truncated."""
TOKENIZER = "tokenizer.json"
MODEL = Pretrained("DeepChem/ChemBERTa-77M-MTR", "roberta", (TOKENIZER,))


class Network(nn.Module):
    """From SMILES (B,) to outputs (B, C): the transformer and a new two-layer head on its [CLS] token.

    The dropout rate is ``hidden_dropout_prob`` of the model's configuration unless one is given.
    """

    def __init__(self, n_outputs: int, dropout: float) -> None:
        from transformers import RobertaConfig, RobertaForSequenceClassification

        super().__init__()
        self.folder = MODEL.folder()
        tokenizer(self.folder)  # fails now if the package is missing
        config = RobertaConfig.from_pretrained(self.folder, num_labels=n_outputs)
        config.hidden_dropout_prob = dropout or config.hidden_dropout_prob
        self.padding = config.pad_token_id
        self.model = RobertaForSequenceClassification(config)
        MODEL.start(self.model)

    def forward(self, x: Sequence[str]) -> Tensor:
        texts = [torch.tensor(tokens(self.folder, smiles)) for smiles in x]
        ids = nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=self.padding)
        lengths = torch.tensor([len(text) for text in texts])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
        device = self.model.device
        return self.model(ids.to(device), attention_mask=mask.to(device)).logits


@lru_cache(maxsize=100_000)
def tokens(folder: Path, smiles: str) -> list[int]:
    """Return the token ids of a SMILES, including [CLS] and [SEP], at most ``LONGEST``."""
    return tokenizer(folder).encode(smiles).ids


@cache
def tokenizer(folder: Path) -> Any:
    """Load the tokenizer from the folder of the weights. Raises UserError if its file is not valid."""
    from tokenizers import Tokenizer

    try:
        loaded = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises nothing more specific
        raise UserError(f"{folder / TOKENIZER}: not a tokenizer: {error}") from error
    loaded.no_padding()
    loaded.enable_truncation(LONGEST)
    return loaded
