"""Upper bounds on how fast the logits change infinitely near to given rows, and what is seen."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import nn

from skbound._nn._transformer import Transformer
from skbound.collect._double import attention_by_formula, in_double
from skbound.collect._lipschitz import (
    check_standard,
    feed_forward_norm,
    folded,
    head_maps,
    log,
    log_lipschitz_upper,
    spectral_norm,
)
from skbound.collect._probe import Probe
from skbound.exceptions import MissingEvidenceError

__all__ = ["input_jacobians", "jacobian_norm", "local_log_lipschitz", "log_lipschitz_local_upper"]

_ROWS = 200
_CHUNK = 32


@singledispatch
def local_log_lipschitz(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Apply a module, and bound the norm of its Jacobian at each row.

    Parts without a rule of their own count with `log_lipschitz_upper`.

    Parameters
    ----------
    module : nn.Module
        In evaluation mode.
    x : torch.Tensor of shape (n, ...)
        Rows.

    Returns
    -------
    output : torch.Tensor of shape (n, ...)
        What the module makes of them.
    log_bound : torch.Tensor of shape (n,)
        Logarithm of a number that the spectral norm of each row's Jacobian does not exceed.

    Raises
    ------
    MissingEvidenceError
        If a part has no rule at all.
    """
    return module(x), x.new_full((len(x),), log_lipschitz_upper(module))


@local_log_lipschitz.register
def _(module: nn.Sequential, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    total = x.new_zeros(len(x))
    for part in module:
        x, own = local_log_lipschitz(part, x)
        total = total + own
    return x, total


@local_log_lipschitz.register
def _(module: nn.LayerNorm, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    return module(x), log(spectral_norm(folded(eye, module))) + _steepest(module, x).log()


@local_log_lipschitz.register
def _(module: Transformer, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    check_standard(module)
    embedding: Any = module.embedding
    block: Any
    tokens = embedding(x)
    total = x.new_full((len(x),), log_lipschitz_upper(embedding))
    if module.cls_token is not None:
        tokens = torch.cat([module.cls_token.expand(len(x), 1, -1), tokens], dim=1)
    for place, block in enumerate(module.blocks, start=1):
        first_only = module.cls_token is not None and place == len(module.blocks)
        tokens, own = _block(block, tokens, first_only=first_only)
        total = total + own
    pooled = tokens.mean(1) if module.cls_token is None else tokens[:, 0]
    last: Any = module.norm_head
    head = log(spectral_norm(folded(module.head.weight, last)))
    slope = _steepest(last, pooled)
    return module.head(last(pooled)), total + slope.log() + head


def _block(
    block: Any, tokens: torch.Tensor, *, first_only: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    queries = tokens[:, :1] if first_only else tokens
    normed = block.norm_attention(tokens)
    between = queries + block.attention(normed[:, : queries.shape[1]], normed)
    attention = _attention(block, tokens, queries) * _steepest(block.norm_attention, tokens)
    forward = feed_forward_norm(block) * _steepest(block.norm_feed_forward, between)
    return block(tokens, first_only=first_only), attention.log1p() + forward.log1p()


def _attention(block: Any, tokens: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    """Bound each row's Jacobian of attention by normalised tokens, in the largest token norm."""
    z, q = (_normalised(block.norm_attention, t) for t in (tokens, queries))
    total = z.new_zeros(len(z))
    for value, score, offset in head_maps(block.attention, block.norm_attention):
        pull = q @ score + offset
        weights = (pull @ z.mT).softmax(-1)
        means = weights @ z
        variance = (weights @ z.square().sum(-1, keepdim=True))[..., 0] - means.square().sum(-1)
        variance = variance.clamp(min=0.0)
        moved = spectral_norm(score) * variance + variance.sqrt() * pull.norm(dim=-1)
        total = total + spectral_norm(value) * (1.0 + moved.amax(-1))
    return total


def _normalised(norm: nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()


def _steepest(norm: nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    """Return the largest slope of a normalisation, without its gain, over the tokens of a row."""
    slopes = (x.var(-1, unbiased=False) + norm.eps).rsqrt()
    return slopes.flatten(1).amax(1) if slopes.ndim > 1 else slopes


@torch.no_grad()
def log_lipschitz_local_upper(probe: Probe) -> float:
    """Bound the logarithm of the norm of the Jacobian at every row of a probe.

    Parameters
    ----------
    probe : Probe
        Net and rows.

    Returns
    -------
    float
        Largest over the rows. Other rows may exceed it: it is no bound on a domain.

    Raises
    ------
    MissingEvidenceError
        If a part of the net has no rule.
    """
    net = in_double(probe)
    return max(float(local_log_lipschitz(net.module, x)[1].max()) for x, _ in net.chunks(_CHUNK))


def input_jacobians(net: Probe) -> np.ndarray:
    """Return the derivatives of logits by the module's input.

    Parameters
    ----------
    net : Probe
        In double precision; few rows.

    Returns
    -------
    ndarray of shape (n_samples, n_classes, n_inputs), float64
        Inputs as the module gets them, flattened.

    Raises
    ------
    MissingEvidenceError
        If the logits are no function of the input that has derivatives, as for token ids.
    """
    found = []
    with attention_by_formula():
        for x, _ in net.chunks(_CHUNK):
            logits = net.module(x.requires_grad_())
            rows = [
                torch.autograd.grad(one, x, retain_graph=True, allow_unused=True)[0]
                for one in logits.sum(0)
            ]
            if any(row is None for row in rows):
                raise MissingEvidenceError(
                    "This needs derivatives by the input, but the net looks its input up, as token "
                    "ids are, and has none. Use measures that need no Jacobian."
                )
            found.append(torch.stack(rows, dim=1).flatten(2).cpu().numpy())
    return np.concatenate(found)


def jacobian_norm(probe: Probe) -> float:
    """Measure how fast the logits change with the input at up to 200 rows.

    Costs one backward pass per class.

    Parameters
    ----------
    probe : Probe
        Net and rows; 200 of them are drawn if it has more.

    Returns
    -------
    float
        Largest spectral norm of a row's Jacobian: the Lipschitz constant is at least that.
    """
    jacobians = input_jacobians(in_double(probe.few(_ROWS)))
    return float(np.linalg.norm(jacobians, ord=2, axis=(1, 2)).max())
