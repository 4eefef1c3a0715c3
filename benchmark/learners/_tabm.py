"""The network of ``tabm``."""

import torch
from torch import Tensor, nn

from benchmark.train.losses import fit_loss
from benchmark.train.modules import Batch


class Layer(nn.Module):
    """A linear layer that K members share but for factors of its inputs and outputs, and biases: (B, K, D) → (B, K, H).

    ``signs`` begins the factors of the inputs with random signs, which tell the members apart; all others begin at 1.
    """

    def __init__(self, members: int, inputs: int, outputs: int, signs: bool) -> None:
        super().__init__()
        shared = nn.Linear(inputs, outputs)
        self.weight = shared.weight
        self.bias = nn.Parameter(shared.bias.detach().repeat(members, 1))
        first = torch.randint(2, (members, inputs)) * 2.0 - 1 if signs else torch.ones(members, inputs)
        self.of_inputs, self.of_outputs = nn.Parameter(first), nn.Parameter(torch.ones(members, outputs))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x * self.of_inputs, self.weight) * self.of_outputs + self.bias


class Network(nn.Module):
    """From features (B, D) to the logarithm of the members' mean probabilities, or their mean number, (B, C)."""

    def __init__(self, members: int, inputs: int, hidden: int, outputs: int, dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i, width in enumerate((inputs, hidden)):
            layers += [Layer(members, width, hidden, signs=i == 0), nn.ReLU(), nn.Dropout(dropout)]
        self.body = nn.Sequential(*layers)
        heads = [nn.Linear(hidden, outputs) for _ in range(members)]
        self.heads = nn.Parameter(torch.stack([head.weight.detach().T for head in heads]))
        self.biases = nn.Parameter(torch.stack([head.bias.detach() for head in heads]))

    def members(self, x: Tensor) -> Tensor:
        """Return the outputs (K, B, C) of the members."""
        return torch.einsum("bkh,khc->kbc", self.body(x.float()[:, None]), self.heads) + self.biases[:, None]

    def forward(self, x: Tensor) -> Tensor:
        each = self.members(x)
        return each.mean(0) if each.shape[2] == 1 else each.log_softmax(-1).logsumexp(0)


def member_losses(batch: Batch) -> None:
    """Go backward from the mean of the members' own losses."""
    losses = [
        fit_loss(batch.task, outputs, targets.expand(len(outputs), *targets.shape)).mean()
        for outputs, targets in zip(batch.called("members"), batch.targets, strict=True)
    ]
    torch.stack(losses).sum().backward()
