"""Where networks are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmark.errors import UserError

DeviceName = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Device:
    """A device, and how many networks it trains at a time.

    ``to_the_bit``: what shares a stack with a network changes nothing at all in it. That needs sums over one
    network at a time; a GPU does all at once, and differs in the last bits.
    """

    name: DeviceName
    networks_per_stack: int
    to_the_bit: bool


CPU = Device("cpu", 8, True)
"""More than eight do not help: the weights of a stack should stay near the caches."""
CUDA = Device("cuda", 128, False)
DEVICES: dict[str, Device] = {"cpu": CPU, "cuda": CUDA}


def device(name: str) -> Device:
    """``cpu``, ``cuda``, or the better of the two for ``auto``. Raises UserError for another, or without a GPU."""
    import torch  # takes seconds

    if name == "auto":
        return CUDA if torch.cuda.is_available() else CPU
    if name not in DEVICES:
        raise UserError(f"unknown device {name}: expected auto, {' or '.join(DEVICES)}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda needs a GPU that PyTorch can use, and there is none: leave the option out")
    return DEVICES[name]
