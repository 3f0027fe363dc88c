"""Gradients of single rows, many rows at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch.func import functional_call, grad, jacrev, vmap

from skbound.collect._double import attention_by_formula, in_double, trained
from skbound.collect._probe import Probe
from skbound.evidence import GradientNorms

__all__ = ["gradient_norms", "logit_gradients", "loss_gradients"]

# Numbers that the gradients of one chunk may hold: 64 MiB.
_CHUNK = 2**23


def loss_gradients(probe: Probe, *, n_rows: int | None = None) -> Iterator[torch.Tensor]:
    """Go over the gradients of the rows' cross-entropies by the trained parameters.

    Parameters
    ----------
    probe : Probe
        Net and rows.
    n_rows : int or None, default=None
        Rows per chunk; None takes as many as fit into 64 MiB. The results do not depend on it.

    Yields
    ------
    torch.Tensor of shape (n_rows, n_parameters), float64
        Gradients, in the order of the rows; parameters in the order of ``named_parameters()``.
    """
    for found in _by_parameter(probe, n_rows):
        yield torch.cat([g.flatten(1) for g in found], dim=1)


def _by_parameter(probe: Probe, n_rows: int | None) -> Iterator[list[torch.Tensor]]:
    """Go over the gradients, one tensor of shape (n_rows, ...) for each parameter."""
    net = in_double(probe)
    parameters, fixed = trained(net.module)

    def loss(
        parameters: dict[str, torch.Tensor], row: torch.Tensor, label: torch.Tensor
    ) -> torch.Tensor:
        logits = functional_call(net.module, {**parameters, **fixed}, (row[None],))
        return F.cross_entropy(logits, label[None])

    of_rows = vmap(grad(loss), in_dims=(None, 0, 0))
    for rows, labels in net.chunks(n_rows or _rows_per_chunk(parameters, 1)):
        with attention_by_formula():
            found = of_rows(parameters, rows, labels)
        yield list(found.values())


def logit_gradients(
    probe: Probe,
    *,
    chosen: Callable[[str], bool] = lambda name: True,
    n_rows: int | None = None,
) -> Iterator[torch.Tensor]:
    """Go over the gradients of all logits by the trained parameters.

    Parameters
    ----------
    probe : Probe
        Net and rows.
    chosen : callable, default=all
        Whether to differentiate by a parameter, by its name.
    n_rows : int or None, default=None
        As in `loss_gradients`.

    Yields
    ------
    torch.Tensor of shape (n_rows, n_classes, n_parameters), float64
        Gradients, in the order of the rows.
    """
    net = in_double(probe)
    parameters, fixed = trained(net.module, chosen)

    def logits(parameters: dict[str, torch.Tensor], row: torch.Tensor) -> torch.Tensor:
        return functional_call(net.module, {**parameters, **fixed}, (row[None],))[0]

    of_rows = vmap(jacrev(logits), in_dims=(None, 0))
    for rows, _ in net.chunks(n_rows or _rows_per_chunk(parameters, n_logits(net))):
        with attention_by_formula():
            found = of_rows(parameters, rows)
        yield torch.cat([g.flatten(2) for g in found.values()], dim=2)


def gradient_norms(probe: Probe) -> GradientNorms:
    """Measure the gradient of each row's cross-entropy.

    Costs about one epoch of training in double precision.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    GradientNorms
        Of every row of the probe.
    """
    norms: list[NDArray[np.float64]] = []
    totals: list[torch.Tensor] = []
    for gradients in _by_parameter(probe, None):
        squares = torch.stack([g.flatten(1).square().sum(1) for g in gradients])
        norms.append(squares.sum(0).sqrt().cpu().numpy())
        sums = [g.sum(0) for g in gradients]
        totals = [t + s for t, s in zip(totals, sums, strict=True)] if totals else sums
    mean = math.sqrt(math.fsum(float(t.square().sum()) for t in totals)) / probe.n_samples
    return GradientNorms(per_row=np.concatenate(norms), of_mean=mean)


@torch.no_grad()
def n_logits(probe: Probe) -> int:
    """Return the number of logits of a net."""
    rows, _ = next(probe.chunks(1))
    return int(probe.module(rows).shape[1])


def _rows_per_chunk(parameters: dict[str, torch.Tensor], n_outputs: int) -> int:
    size = n_outputs * math.fsum(p.numel() for p in parameters.values())
    return int(min(512, max(1, _CHUNK // max(1, size))))
