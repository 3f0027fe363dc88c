"""All trained numbers of a net in one vector."""

from __future__ import annotations

import torch

from skbound.collect._double import trained
from skbound.collect._layers import as_array
from skbound.collect._probe import Probe
from skbound.evidence import ParameterVectors

__all__ = ["parameters"]


def parameters(probe: Probe) -> ParameterVectors:
    """Return the trained parameters, and the same before training where they were kept.

    Parameters
    ----------
    probe : Probe
        Its rows do not matter.

    Returns
    -------
    ParameterVectors
        Frozen parameters are left out.
    """
    now, _ = trained(probe.module)
    before = None
    if probe.initial is not None:
        states = dict(probe.initial.named_parameters())
        before = as_array(torch.cat([states[name].flatten() for name in now]))
    return ParameterVectors(
        trained=as_array(torch.cat([p.flatten() for p in now.values()])), initial=before
    )
