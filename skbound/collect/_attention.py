"""Where the heads of attention look."""

from __future__ import annotations

import math
from functools import partial, singledispatch
from typing import Any

import numpy as np
import torch
from torch import nn

from skbound.collect._probe import Probe
from skbound.evidence import AttentionStatistics
from skbound.exceptions import MissingEvidenceError

__all__ = ["attention_statistics", "queries_and_keys"]

_ROWS = 512
_FIELDS = ("entropy", "span", "top_mass", "strength", "coherence")

Scored = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]


@singledispatch
def queries_and_keys(module: nn.Module, *inputs: Any, **options: Any) -> Scored:
    """Return the queries and keys whose scaled products are a module's attention logits.

    A rule for attention of one's own is a function registered with ``queries_and_keys.register``.
    Without one, a module is taken for dot-product attention if it has maps ``query`` and ``key``
    and a number ``n_heads``, as that of this package.

    Parameters
    ----------
    module : nn.Module
        Attention. Its queries are those of its first tokens, in their order.
    *inputs, **options
        As its ``forward`` gets them.

    Returns
    -------
    queries : torch.Tensor of shape (n, n_heads, n_queries, head_width)
        As they enter the product, rotated if need be.
    keys : torch.Tensor of shape (n, n_heads, n_tokens, head_width)
        Likewise.
    bias : torch.Tensor or None
        Added to ``queries @ keys^T / sqrt(head_width)``; broadcast to it, minus infinity where a
        token is not seen. Of type bool, it is true where a token is seen.

    Raises
    ------
    MissingEvidenceError
        If there is no rule, or queries and keys are turned by their places.
    """
    if not _has_maps(module):
        raise MissingEvidenceError(
            f"No rule tells queries and keys of {type(module).__name__}. Register one with "
            f"skbound.collect.queries_and_keys.register."
        )
    own: Any = module
    q, k = (
        x.unflatten(-1, (own.n_heads, -1)).transpose(1, 2)
        for x in (own.query(inputs[0]), own.key(inputs[1]))
    )
    sight: Any = inputs[2] if len(inputs) > 2 else options.get("sight")
    if sight is None:
        return q, k, None
    if sight.rotation is not None:
        raise MissingEvidenceError(
            "Statistics of attention do not know how places turn queries and keys. Use other "
            "position codes than rotary ones, or register a rule."
        )
    return q, k, sight.bias_of(q.shape[-2])


def _has_maps(module: nn.Module) -> bool:
    names = {name for name, _ in module.named_children()}
    return {"query", "key"} <= names and hasattr(module, "n_heads")


def attention_statistics(probe: Probe, *, n_rows: int = 128) -> AttentionStatistics:
    """Measure entropy, span, sharpness and keys of each head on up to 512 rows.

    Costs one forward pass of these rows.

    Parameters
    ----------
    probe : Probe
        Net and rows; 512 of them are drawn if it has more.
    n_rows : int, default=128
        Rows per chunk. Memory grows with it times heads times tokens squared; the result does not
        depend on it.

    Returns
    -------
    AttentionStatistics
        One row per attention module, in the order of ``module.named_modules()``.

    Raises
    ------
    MissingEvidenceError
        If the net has no attention, or its blocks have different numbers of heads.
    """
    few = probe.few(_ROWS)
    default = queries_and_keys.dispatch(object)
    found = {
        name: module
        for name, module in probe.module.named_modules()
        if _has_maps(module) or queries_and_keys.dispatch(type(module)) is not default
    }
    if not found:
        raise MissingEvidenceError(
            "This net has no attention that is known. Register a rule for its attention with "
            "skbound.collect.queries_and_keys.register."
        )
    sums: dict[str, torch.Tensor] = {}
    n_tokens: dict[str, int] = {}

    def look(name: str, module: nn.Module, inputs: tuple[Any, ...], options: dict) -> None:
        q, k, bias = queries_and_keys(module, *inputs, **options)
        total = _of_rows(q.double(), k.double(), bias).sum(1)
        sums[name] = sums[name] + total if name in sums else total
        n_tokens[name] = k.shape[-2]

    hooks = [
        module.register_forward_pre_hook(partial(look, name), with_kwargs=True)
        for name, module in found.items()
    ]
    try:
        with torch.no_grad():
            for inputs, _ in few.chunks(n_rows):
                few.module(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    used = [name for name in found if name in sums]
    if len({sums[name].shape for name in used}) != 1 or len(set(n_tokens.values())) != 1:
        raise MissingEvidenceError(
            "Statistics of attention need the same number of heads and tokens in all blocks, and "
            "those of this net differ."
        )
    means = torch.stack([sums[name] for name in used], dim=1).cpu().numpy() / few.n_samples
    return AttentionStatistics(
        names=tuple(used),
        n_tokens=n_tokens[used[0]],
        n_rows=few.n_samples,
        **{field: np.ascontiguousarray(means[i]) for i, field in enumerate(_FIELDS)},
    )


def _of_rows(q: torch.Tensor, k: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return the statistics of each row and head, of shape (5, n, n_heads)."""
    scale = 1.0 / math.sqrt(q.shape[-1])
    logits = scale * (q @ k.transpose(-1, -2))
    if bias is not None and bias.dtype == torch.bool:
        logits = logits.masked_fill(~bias, -torch.inf)
    elif bias is not None:
        logits = logits + bias.double()
    weights = logits.softmax(-1)
    n_queries, n_tokens = logits.shape[-2:]
    places = torch.arange(n_tokens, device=q.device, dtype=torch.float64)
    apart = (places[:n_queries, None] - places[None, :]).abs()
    top = logits.max(-1)
    lengths = k.norm(dim=-1)
    strength = scale * q.norm(dim=-1) * lengths.gather(-1, top.indices)
    unit = k / lengths.clamp_min(torch.finfo(torch.float64).tiny)[..., None]
    cosines = (unit @ unit.transpose(-1, -2)).abs()
    others = cosines - cosines.diagonal(dim1=-2, dim2=-1).diag_embed()
    coherence = others.amax((-2, -1)).clamp_max(1.0)
    per_query = (
        -torch.special.xlogy(weights, weights).sum(-1),
        (weights * apart).sum(-1),
        weights.amax(-1),
        strength,
    )
    return torch.stack([*(x.mean(-1) for x in per_query), coherence])
