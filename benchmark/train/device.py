"""Devices that networks are trained on."""

from dataclasses import dataclass
from typing import Literal

from benchmark.errors import UserError


@dataclass(frozen=True)
class Device:
    """A device and the number of networks it trains at a time; 0 leaves the number to the backbone.

    ``to_the_bit``: a network's result is bit for bit the same whatever shares its stack. This requires sums over
    one network at a time; a GPU sums over all at once, and results differ in the last bits.
    """

    name: Literal["cpu", "cuda"]
    networks_per_stack: int
    to_the_bit: bool


CPU = Device("cpu", 0, True)
CUDA = Device("cuda", 128, False)
DEVICES: dict[str, Device] = {"cpu": CPU, "cuda": CUDA}


def device(name: str) -> Device:
    """Return the device called ``name``; ``auto`` prefers a GPU. Raises UserError if it is unknown or not available."""
    import torch  # takes seconds

    if name == "auto":
        return CUDA if torch.cuda.is_available() else CPU
    if name not in DEVICES:
        raise UserError(f"unknown device {name}: expected auto, {' or '.join(DEVICES)}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda needs a GPU that PyTorch can use, but none is available: omit the option")
    return DEVICES[name]
