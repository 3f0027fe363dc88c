"""Multi-head attention: by dot products, or by distances."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from skbound._nn._aligned import AlignedLinear, aligned_attention, aligned_matmul
from skbound._nn._places import Sight, rotated

__all__ = ["Attention", "DistanceAttention", "build_attention"]


class Attention(nn.Module):
    """Multi-head scaled dot-product attention.

    Parameters
    ----------
    width : int
        Length of a token vector, a multiple of `n_heads`.
    n_heads : int
        Number of heads.
    """

    def __init__(self, *, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        # False while a training differentiates twice.
        self.fused = True
        self.query = AlignedLinear(width, width)
        self.key = AlignedLinear(width, width)
        self.value = AlignedLinear(width, width)
        self.output = AlignedLinear(width, width)

    def forward(
        self, queries: torch.Tensor, tokens: torch.Tensor, sight: Sight | None = None
    ) -> torch.Tensor:
        """Let (n, q, width) queries attend to (n, t, width) tokens; returns (n, q, width).

        The queries are the first q of the tokens; `sight` says what they see of the others.
        """
        q, k, v = (
            x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x in (self.query(queries), self.key(tokens), self.value(tokens))
        )
        bias = None
        if sight is not None:
            q, k = rotated(q, sight.rotation), rotated(k, sight.rotation)
            bias = sight.bias_of(q.shape[-2])
        mixed = aligned_attention(q, k, v, bias, fused=self.fused)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class DistanceAttention(nn.Module):
    """Attention by distance: logits ``-|q_i - q_j|^2 / sqrt(head_width)``, one map for q and k.

    The values see a token only through that map: ``v = (W_q W_q^T / sqrt(head_width)) W_v x``, in
    each head. Far tokens then cannot move the output without losing their weight, which is why it
    is Lipschitz (Kim, Papamakarios and Mnih 2021, theorem 3.2).

    Parameters
    ----------
    width : int
        Length of a token vector, a multiple of `n_heads`.
    n_heads : int
        Number of heads.
    """

    def __init__(self, *, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        # False while a training differentiates twice.
        self.fused = True
        # A bias would cancel in the differences.
        self.query = AlignedLinear(width, width, bias=False)
        self.value = TiedValue(width, n_heads=n_heads)
        self.output = AlignedLinear(width, width)

    def forward(
        self, queries: torch.Tensor, tokens: torch.Tensor, sight: Sight | None = None
    ) -> torch.Tensor:
        """Let (n, q, width) queries attend to (n, t, width) tokens; returns (n, q, width)."""
        n_queries = queries.shape[-2]
        k = self.query(tokens).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        v, bias = self.value(k, self.query.weight), None
        if sight is not None:
            k = rotated(k, sight.rotation)
            bias = sight.bias_of(n_queries)
        q = k[..., :n_queries, :]
        # |q_i|^2 is the same for all j and cancels in the softmax; the rest is a dot product.
        scale = q.shape[-1] ** -0.5
        q = torch.cat([2.0 * q, torch.ones_like(q[..., :1])], -1)
        k = torch.cat([k, -k.square().sum(-1, keepdim=True)], -1)
        v = F.pad(v, (0, 1))
        mixed = aligned_attention(q, k, v, bias, scale=scale, fused=self.fused)[..., :-1]
        return self.output(mixed.transpose(1, 2).flatten(-2))


class TiedValue(nn.Linear):
    """Values of `DistanceAttention`, made of the keys: ``W_v (W_q^T k) / sqrt(head_width)``.

    Parameters
    ----------
    width : int
        Length of a token vector.
    n_heads : int
        Number of heads.
    """

    def __init__(self, width: int, *, n_heads: int) -> None:
        super().__init__(width, width)
        self.n_heads = n_heads

    # It is a linear map to those who look at weights or scale them, though not of one argument.
    def forward(  # type: ignore[override]
        self, keys: torch.Tensor, query: torch.Tensor
    ) -> torch.Tensor:
        """Map (n, n_heads, t, head_width) keys to values, by the (width, width) map of queries."""
        of_head = (self.n_heads, -1)
        own, tied = self.weight.unflatten(0, of_head), query.unflatten(0, of_head)
        # (n_heads, head_width, head_width): small, whatever the number of tokens.
        small = aligned_matmul(tied, own.transpose(1, 2)) * keys.shape[-1] ** -0.5
        return aligned_matmul(keys, small) + self.bias.unflatten(0, of_head).unsqueeze(1)


def build_attention(attention: str, *, width: int, n_heads: int) -> nn.Module:
    """Return attention by its name.

    Parameters
    ----------
    attention : {"dot", "l2"}
        Which kind.
    width, n_heads : int
        As in `Attention`.

    Returns
    -------
    nn.Module
        Takes queries, tokens and a `Sight`.
    """
    kinds = {"dot": Attention, "l2": DistanceAttention}
    return kinds[attention](width=width, n_heads=n_heads)
