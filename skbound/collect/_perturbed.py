"""Logits of nets whose weights are near the trained ones."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from skbound.collect._probe import Probe

__all__ = ["perturbed_logits"]

_DRAWS = 64
_ROWS = 200
_RADIUS = 0.1


@torch.no_grad()
def perturbed_logits(probe: Probe) -> NDArray[np.float64]:
    """Evaluate 64 nets drawn from a ball around the trained weights, on up to 200 rows.

    The radius is a tenth of the norm of all parameters. Draws are uniform in the ball, which with
    many parameters means near its surface. Costs 64 forward passes of these rows, in double
    precision.

    Parameters
    ----------
    probe : Probe
        Net and rows; 200 of them are drawn if it has more.

    Returns
    -------
    ndarray of shape (64, n_rows, n_classes)
        Logits.
    """
    few = probe.few(_ROWS)
    module = copy.deepcopy(probe.module).double()
    near = Probe(module, few.X, few.codes, few.prepare, few.seed)
    center = parameters_to_vector(module.parameters())
    radius = _RADIUS * float(center.norm())
    rng = np.random.default_rng([probe.seed, 1])
    found = []
    for _ in range(_DRAWS):
        direction = rng.standard_normal(len(center))
        length = radius * rng.uniform() ** (1.0 / len(center)) / np.linalg.norm(direction)
        vector_to_parameters(
            center + length * torch.as_tensor(direction, device=center.device), module.parameters()
        )
        logits = [module(inputs).cpu().numpy() for inputs, _ in near.chunks()]
        found.append(np.concatenate(logits))
    return np.stack(found)
