"""Sums over paths: the net's squared weights, applied to ones."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from skbound._nn._attention import Attention
from skbound._nn._dropout import SeededDropout
from skbound._nn._embeddings import FeatureEmbedding, SequenceEmbedding
from skbound._nn._transformer import Block, Transformer
from skbound.collect._double import in_double
from skbound.collect._lipschitz import check_standard
from skbound.collect._probe import Probe
from skbound.exceptions import MissingEvidenceError

__all__ = ["path_norm", "paths"]


@torch.no_grad()
def path_norm(probe: Probe) -> float:
    """Return the sum over paths from inputs to logits of the product of squared weights.

    It is a forward pass of ones through squared weights; a bias is the weight of a path that starts
    there. Exact for chains of linear maps and ReLU; for Transformers a heuristic, see `paths`.

    Parameters
    ----------
    probe : Probe
        One row of it is read, for its shape.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    MissingEvidenceError
        If a module is of a kind for which paths are not defined.
    """
    net = in_double(probe.few(1))
    rows, _ = next(net.chunks(1))
    return float(paths(net.module, torch.ones_like(rows)).sum())


@singledispatch
def paths(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Carry sums over paths through a module.

    Linear maps and biases are squared, functions that are positively homogeneous are the identity,
    batch norms are the linear maps that they are after training. In a Transformer, by decision
    and not by any theorem: attention is the mean of the tokens' values (its weights are ``1 / T``),
    so that queries and keys do not count; GELU is the identity; a layer norm multiplies by its gain
    and adds its offset. Branches of a residual sum are different paths and add up.

    A rule for a module of one's own is a function registered with ``paths.register``.

    Parameters
    ----------
    module : nn.Module
        Part of a net.
    x : torch.Tensor
        For each number that the module reads, the sum over paths that lead to it.

    Returns
    -------
    torch.Tensor
        The same for each number that it returns.

    Raises
    ------
    MissingEvidenceError
        If there is no rule, or a Transformer has other parts than the standard ones.

    Examples
    --------
    >>> net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 1, bias=False))
    >>> for p in net.parameters():
    ...     p.requires_grad_(False).fill_(2.0)
    Parameter containing: ...
    >>> paths(net, torch.ones(1, 2))
    tensor([[96.]])
    """
    raise MissingEvidenceError(
        f"Paths through {type(module).__name__} are not defined. They are for chains of nn.Linear, "
        f"convolutions, ReLU and the like, and Transformers; register a rule with "
        f"skbound.collect.paths.register."
    )


@paths.register(nn.ReLU)
@paths.register(nn.LeakyReLU)
@paths.register(nn.Identity)
@paths.register(nn.Dropout)
@paths.register(SeededDropout)
def _(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    # A leaky slope is at most 1 in size: the path counts as if it were active.
    return x


@paths.register(nn.Flatten)
@paths.register(nn.MaxPool1d)
@paths.register(nn.MaxPool2d)
def _(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return module(x)


@paths.register
def _(module: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    for part in module:
        x = paths(part, x)
    return x


@paths.register(nn.Linear)
@paths.register(nn.Conv1d)
@paths.register(nn.Conv2d)
@paths.register(nn.Conv3d)
@paths.register(FeatureEmbedding)
@paths.register(SequenceEmbedding)
def _(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    # Each number that these return is a sum of inputs times one parameter, and of parameters.
    squares = {name: p.square() for name, p in module.named_parameters()}
    return functional_call(module, squares, (x,))


@paths.register(nn.BatchNorm1d)
@paths.register(nn.BatchNorm2d)
def _(module: Any, x: torch.Tensor) -> torch.Tensor:
    if module.running_mean is None:
        raise MissingEvidenceError(
            "A batch norm without running statistics is no fixed map, so it has no paths. Train "
            "with track_running_stats=True."
        )
    scale = (module.running_var + module.eps).rsqrt()
    offset = -module.running_mean * scale
    if module.affine:
        scale, offset = scale * module.weight, offset * module.weight + module.bias
    shape = (1, -1) + (1,) * (x.dim() - 2)
    return x * scale.square().view(shape) + offset.square().view(shape)


@paths.register
def _(module: nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    x = x if module.weight is None else x * module.weight.square()
    return x if module.bias is None else x + module.bias.square()


@paths.register
def _(module: Attention, x: torch.Tensor) -> torch.Tensor:
    n_tokens = x.shape[1]
    mixed = paths(module.value, x).sum(1, keepdim=True) / n_tokens**2
    return paths(module.output, mixed).expand_as(x)


@paths.register
def _(module: Block, x: torch.Tensor) -> torch.Tensor:
    x = x + paths(module.attention, paths(module.norm_attention, x))
    hidden = paths(module.expand, paths(module.norm_feed_forward, x))
    return x + paths(module.contract, hidden)


@paths.register
def _(module: Transformer, x: torch.Tensor) -> torch.Tensor:
    check_standard(module)
    tokens = paths(module.embedding, x)
    if module.cls_token is not None:
        first = module.cls_token.square().expand(len(tokens), 1, -1)
        tokens = torch.cat([first, tokens], dim=1)
    for block in module.blocks:
        tokens = paths(block, tokens)
    pooled = tokens[:, 0] if module.cls_token is not None else tokens.sum(1) / tokens.shape[1] ** 2
    return paths(module.head, paths(module.norm_head, pooled))
