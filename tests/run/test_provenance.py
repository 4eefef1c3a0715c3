"""Where results come from."""

import torch

from benchmark.run.provenance import vectors


def test_vector_instructions_are_named_as_pytorch_names_them() -> None:
    assert vectors() == torch.backends.cpu.get_cpu_capability()
