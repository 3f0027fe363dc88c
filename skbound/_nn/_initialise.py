"""First weights of a Transformer, from a generator and, for one kind, from training rows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

__all__ = ["draw_head", "draw_maps", "scale_to_norm", "scale_to_unit_variance"]

_HEAD_STD = 0.02


def draw_maps(net: Any, init: str, generator: torch.Generator) -> None:
    """Draw all linear maps of a Transformer and reset its layer norms; biases become 0.

    Parameters
    ----------
    net : Transformer
        Changed in place.
    init : {"xavier", "he", "lsuv", "spectral"}
        As in ``TransformerArchitecture``; for "lsuv" the orthogonal start of
        `scale_to_unit_variance`.
    generator : torch.Generator
        Source of randomness.
    """
    for module in net.modules():
        if isinstance(module, nn.Linear):
            _draw(module.weight, init, generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()
    if init == "spectral":
        return
    with torch.no_grad():
        for branch_end in _branch_ends(net):
            branch_end.weight.mul_(_quieter(net))


def draw_head(net: Any, init: str, generator: torch.Generator) -> None:
    """Draw the last map small, so that the first predictions are nearly uniform.

    Parameters
    ----------
    net : Transformer
        Changed in place.
    init : {"xavier", "he", "lsuv", "spectral"}
        "spectral" keeps the norm that `draw_maps` gave it.
    generator : torch.Generator
        Source of randomness.
    """
    if init != "spectral":
        nn.init.normal_(net.head.weight, std=_HEAD_STD, generator=generator)


def _draw(weight: torch.Tensor, init: str, generator: torch.Generator) -> None:
    if init == "he":
        nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)
    elif init == "lsuv":
        nn.init.orthogonal_(weight, generator=generator)
    else:
        nn.init.xavier_uniform_(weight, generator=generator)
        if init == "spectral":
            scale_to_norm(weight)


@torch.no_grad()
def scale_to_norm(weight: torch.Tensor, norm: float = 1.0) -> None:
    """Scale a matrix, in place, to a spectral norm.

    Parameters
    ----------
    weight : torch.Tensor of shape (n_outputs, n_inputs)
        Not zero.
    norm : float, default=1.0
        Largest singular value afterwards, up to rounding.
    """
    # By a singular value decomposition: power iteration would stop below the norm.
    largest = torch.linalg.matrix_norm(weight.double(), ord=2)
    weight.mul_((norm / largest).to(weight.dtype))


@torch.no_grad()
def scale_to_unit_variance(net: Any, X: torch.Tensor, n_rows: int = 512) -> None:
    """Scale each linear map but the head, so that its outputs have variance 1 on given rows.

    Layer-sequential unit variance (Mishkin and Matas 2016, algorithm 1). Biases are 0 at the start,
    so an output is linear in its map and one scaling per map is exact: one pass over the rows does
    it. A map that ends a branch gets variance ``1 / (2 depth)``, as with other initial weights. A
    map whose outputs are constant is left alone.

    Parameters
    ----------
    net : Transformer
        With weights from ``reset_parameters``; changed in place.
    X : torch.Tensor of shape (n, ...)
        Prepared rows; none that the certificate is computed from.
    n_rows : int, default=512
        Rows used: so many, evenly spread over `X`.
    """
    steps = -(-len(X) // n_rows)
    targets = dict.fromkeys(_branch_ends(net), _quieter(net))

    def rescale(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        std = output.double().std(unbiased=False)
        if not std > 0.0:
            return output
        factor = (targets.get(module, 1.0) / std).to(output.dtype)
        module.weight.mul_(factor)
        return output * factor

    maps = [m for m in net.modules() if isinstance(m, nn.Linear) and m is not net.head]
    handles = [module.register_forward_hook(rescale) for module in maps]
    training = net.training
    try:
        net.eval()
        net(X[::steps].to(next(net.parameters()).device))
    finally:
        net.train(training)
        for handle in handles:
            handle.remove()


def _branch_ends(net: Any) -> list[Any]:
    """Return the maps whose outputs are added to their block's input."""
    return [end for block in net.blocks for end in (block.attention.output, block.contract)]


def _quieter(net: Any) -> float:
    """Return the factor with which the sum of all branches keeps the size of one."""
    return 1.0 / math.sqrt(2 * len(net.blocks))
