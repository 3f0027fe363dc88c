"""The empirical neural tangent kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from skbound.collect._double import trained
from skbound.collect._gradients import logit_gradients
from skbound.collect._probe import Probe
from skbound.evidence import TangentKernel
from skbound.exceptions import MissingEvidenceError

__all__ = ["attention_kernel", "tangent_kernel"]

_ROWS = 200


def tangent_kernel(
    probe: Probe,
    *,
    chosen: Callable[[str], bool] = lambda name: True,
    n_rows: int | None = None,
) -> TangentKernel:
    """Compute the products of the gradients of all logits at up to 200 rows.

    The kernel is that of the module in the probe. Theorems about training near initialisation are
    about the kernel before training: for that, pass a probe of the untrained module.

    Costs one backward pass per class at those rows. The gradients of two chunks of rows are in
    memory at a time, and those of a chunk are computed
    once for each chunk before it, so a large net costs more time and not more memory.

    Parameters
    ----------
    probe : Probe
        Net and rows; 200 of them are drawn if it has more.
    chosen : callable, default=all
        Whether to differentiate by a parameter, by its name.
    n_rows : int or None, default=None
        Rows per chunk; None takes as many as fit into 64 MiB. The result does not depend on it.

    Returns
    -------
    TangentKernel
        With the labels of its rows.
    """
    few = probe.few(_ROWS)
    taken, _ = trained(probe.module, chosen)
    found: list[list[torch.Tensor]] = []
    left_ones = logit_gradients(few, chosen=chosen, n_rows=n_rows)
    n_classes = 0
    for place, left in enumerate(left_ones):
        n_classes = left.shape[1]
        left = left.flatten(0, 1)
        line = []
        rights = logit_gradients(few, chosen=chosen, n_rows=n_rows)
        for _, right in zip(range(place), rights, strict=False):
            line.append(left @ right.flatten(0, 1).T)
        found.append([*line, left @ left.T])
    return TangentKernel(
        gram=_symmetric(found),
        codes=np.asarray(few.codes),
        n_classes=n_classes,
        n_parameters=sum(p.numel() for p in taken.values()),
    )


def attention_kernel(probe: Probe) -> TangentKernel:
    """Compute the part of `tangent_kernel` that is due to the parameters of attention.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    TangentKernel
        Of what lies in submodules called "attention" and in ``nn.MultiheadAttention``: maps to
        queries, keys, values and outputs. The kernel of all parameters is the sum of this one and
        that of the others.

    Raises
    ------
    MissingEvidenceError
        If the net has no attention.
    """
    prefixes = [
        f"{name}."
        for name, module in probe.module.named_modules()
        if name.rpartition(".")[2] == "attention" or isinstance(module, nn.MultiheadAttention)
    ]
    if not prefixes:
        raise MissingEvidenceError(
            "The attention kernel is about nets with attention, and this one has none. Use "
            "tangent_kernel."
        )
    return tangent_kernel(probe, chosen=lambda name: name.startswith(tuple(prefixes)))


def _symmetric(lower: list[list[torch.Tensor]]) -> np.ndarray:
    """Put blocks on and below the diagonal together, and mirror them."""
    n = len(lower)
    blocks = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    rows = [
        torch.cat([b if j <= i else b.T for j, b in enumerate(line)], dim=1)
        for i, line in enumerate(blocks)
    ]
    return torch.cat(rows).cpu().numpy()
