"""What a net was before training, on the rows that it was then trained on."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from skbound.collect._probe import Probe
from skbound.evidence import InitialState
from skbound.exceptions import MissingEvidenceError

__all__ = ["initial_state"]


def initial_state(probe: Probe, *, n_rows: int = 512) -> InitialState:
    """Measure weights and gradient before training, in double precision.

    Costs about one epoch of training.

    Parameters
    ----------
    probe : Probe
        With the net before training as `initial`.
    n_rows : int, default=512
        Rows per chunk; the result does not depend on it.

    Returns
    -------
    InitialState
        Over the parameters that are trained.

    Raises
    ------
    MissingEvidenceError
        If the net before training is not known.
    """
    if probe.initial is None:
        raise MissingEvidenceError(
            "The net before training was not recorded. Pass it as Probe(initial=...); "
            "TransformerClassifier records it."
        )
    module: nn.Module = copy.deepcopy(probe.initial).double().eval()
    module.zero_grad(set_to_none=True)
    before = Probe(module, probe.X, probe.codes, probe.prepare, probe.seed)
    with torch.enable_grad():
        for inputs, labels in before.chunks(n_rows):
            loss = F.cross_entropy(module(inputs), labels, reduction="sum") / probe.n_samples
            loss.backward()
    trained = [p for p in module.parameters() if p.requires_grad]
    gradients = [p.grad for p in trained if p.grad is not None]
    return InitialState(weight_norm=_norm(trained), gradient_norm=_norm(gradients))


@torch.no_grad()
def _norm(tensors: list) -> float:
    return float(sum(float(t.square().sum()) for t in tensors) ** 0.5)
