"""How strongly the loss of a row changes when all parameters are scaled together."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch.autograd.functional import jvp
from torch.func import functional_call

from skbound.collect._double import attention_by_formula, in_double, trained
from skbound.collect._probe import Probe

__all__ = ["fisher_rao"]


def fisher_rao(probe: Probe) -> float:
    """Return the mean over rows of ``<gradient of the row's cross-entropy, w>^2``.

    ``w`` holds all trained parameters. The products are found by one derivative by a factor of all
    parameters; no row's gradient is stored. Costs about two epochs in double precision.

    Parameters
    ----------
    probe : Probe
        Net and rows; the labels are those of the rows, not drawn from the net.

    Returns
    -------
    float
        Square of the Fisher-Rao norm.
    """
    net = in_double(probe)
    parameters, _ = trained(net.module)
    one = torch.ones((), dtype=torch.float64, device=next(net.module.parameters()).device)
    squares = []
    for rows, labels in net.chunks():

        def logits(factor: torch.Tensor, rows: torch.Tensor = rows) -> torch.Tensor:
            scaled = {name: factor * value for name, value in parameters.items()}
            return functional_call(net.module, scaled, (rows,))

        with attention_by_formula():
            values, slopes = jvp(logits, one, one)
        residuals = values.softmax(dim=1) - F.one_hot(labels, values.shape[1])
        squares.append(float(((residuals * slopes).sum(dim=1) ** 2).sum()))
    return math.fsum(squares) / net.n_samples
