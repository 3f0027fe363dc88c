"""The Transformer classifier as a torch module: pre-norm blocks, read in one go."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from skbound._nn._aligned import AlignedLinear, aligned_attention
from skbound._nn._dropout import SeededDropout

__all__ = ["Transformer", "build_transformer"]


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

    def forward(self, queries: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Let (n, q, width) queries attend to (n, t, width) tokens; returns (n, q, width)."""
        q, k, v = (
            x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x in (self.query(queries), self.key(tokens), self.value(tokens))
        )
        mixed = aligned_attention(q, k, v, fused=self.fused)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Pre-norm block: attention, then a feed-forward map, each added to its input.

    Parameters
    ----------
    width, n_heads : int
        As in `Attention`.
    dropout : float
        Rate for both branches and the hidden layer.
    """

    def __init__(self, *, width: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(width=width, n_heads=n_heads)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.expand = AlignedLinear(width, 2 * width)
        self.contract = AlignedLinear(2 * width, width)
        self.dropout = SeededDropout(dropout)

    def forward(self, tokens: torch.Tensor, *, first_only: bool = False) -> torch.Tensor:
        """Map (n, t, width) to the same shape, or to the first token's (n, 1, width)."""
        normed = self.norm_attention(tokens)
        if first_only:
            x, queries = tokens[:, :1], normed[:, :1]
        else:
            x, queries = tokens, normed
        x = x + self.dropout(self.attention(queries, normed))
        hidden = self.dropout(F.gelu(self.expand(self.norm_feed_forward(x))))
        return x + self.dropout(self.contract(hidden))


class Transformer(nn.Module):
    """Encoder with a linear head; returns logits.

    Parameters
    ----------
    embedding : nn.Module
        Turns a batch into (n, t, width) tokens.
    n_classes : int
        Number of logits.
    width, depth, n_heads : int
        Token length, number of blocks, heads per block.
    dropout : float
        In [0, 1).
    pooling : {"cls", "mean"}
        What the head reads: an extra learned token, or the mean of all tokens.
    """

    def __init__(
        self,
        embedding: nn.Module,
        *,
        n_classes: int,
        width: int,
        depth: int,
        n_heads: int,
        dropout: float,
        pooling: str,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.cls_token = nn.Parameter(torch.empty(width)) if pooling == "cls" else None
        self.blocks = nn.ModuleList(
            Block(width=width, n_heads=n_heads, dropout=dropout) for _ in range(depth)
        )
        self.norm_head = nn.LayerNorm(width)
        self.head = AlignedLinear(width, n_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map a batch of n rows to (n, n_classes) logits."""
        tokens = self.embedding(x)
        if self.cls_token is None:
            for block in self.blocks:
                tokens = block(tokens)
            return self.head(self.norm_head(tokens.mean(1)))
        tokens = torch.cat([self.cls_token.expand(tokens.shape[0], 1, -1), tokens], dim=1)
        # The head reads one token only, so the last block computes only that one.
        for block in self.blocks[:-1]:
            tokens = block(tokens)
        tokens = self.blocks[-1](tokens, first_only=True)
        return self.head(self.norm_head(tokens[:, 0]))

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw all weights from `generator`: Xavier maps, quieter residual branches, small head."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()
        with torch.no_grad():
            for block in self.blocks:
                for branch_end in (block.attention.output, block.contract):
                    branch_end.weight.mul_(1.0 / math.sqrt(2 * len(self.blocks)))
        self.embedding.reset_parameters(generator)
        if self.cls_token is not None:
            nn.init.normal_(self.cls_token, std=0.25, generator=generator)
        nn.init.normal_(self.head.weight, std=0.02, generator=generator)


def build_transformer(make_embedding, *, seed: int, dtype: torch.dtype, **shape) -> Transformer:
    """Build a Transformer whose weights depend on `seed` alone.

    Parameters
    ----------
    make_embedding : callable
        Takes ``width`` and returns the embedding module.
    seed : int
        Seed of the initial weights.
    dtype : torch.dtype
        Type of the weights.
    **shape
        Remaining parameters of `Transformer`.

    Returns
    -------
    Transformer
        On the CPU, in training mode.
    """
    # Constructors of torch layers draw from the global generator; on the meta device they draw
    # nothing, so neither other threads nor the caller's random state are disturbed.
    with torch.device("meta"):
        module = Transformer(make_embedding(shape["width"]), **shape)
    module = module.to_empty(device="cpu").to(dtype)
    module.reset_parameters(torch.Generator().manual_seed(seed))
    return module
