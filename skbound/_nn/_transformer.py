"""The Transformer classifier as a torch module, read in one go."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from skbound._nn._activations import ACTIVATIONS
from skbound._nn._aligned import AlignedLinear
from skbound._nn._attention import build_attention
from skbound._nn._dropout import SeededDropout
from skbound._nn._initialise import draw_head, draw_maps
from skbound._nn._norms import build_norm
from skbound._nn._places import Places, Sight, sinusoidal_codes
from skbound.architectures import TransformerArchitecture

__all__ = ["Transformer", "build_transformer"]


class Block(nn.Module):
    """Attention, then a feed-forward map, each added to its input, with norms before or after.

    Parameters
    ----------
    width, n_heads : int
        As in `Attention`.
    dropout : float
        Rate for both branches and the hidden layer.
    parts : TransformerArchitecture
        Which norms, attention and activation.
    """

    def __init__(
        self, *, width: int, n_heads: int, dropout: float, parts: TransformerArchitecture
    ) -> None:
        super().__init__()
        self.norm_attention = build_norm(parts.norm, width)
        self.attention = build_attention(parts.attention, width=width, n_heads=n_heads)
        self.norm_feed_forward = build_norm(parts.norm, width)
        self.expand = AlignedLinear(width, 2 * width)
        self.contract = AlignedLinear(2 * width, width)
        self.dropout = SeededDropout(dropout)
        # A name, as not every function of torch can be pickled.
        self.activation, self.norm_first = parts.activation, parts.norm_first

    def forward(
        self, tokens: torch.Tensor, sight: Sight | None = None, *, first_only: bool = False
    ) -> torch.Tensor:
        """Map (n, t, width) to the same shape, or to the first token's (n, 1, width)."""
        seen = self.norm_attention(tokens) if self.norm_first else tokens
        if first_only:
            x, queries = tokens[:, :1], seen[:, :1]
        else:
            x, queries = tokens, seen
        x = x + self.dropout(self.attention(queries, seen, sight))
        if not self.norm_first:
            x = self.norm_attention(x)
            return self.norm_feed_forward(x + self._feed_forward(x))
        return x + self._feed_forward(self.norm_feed_forward(x))

    def _feed_forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.dropout(ACTIVATIONS[self.activation](self.expand(x)))
        return self.dropout(self.contract(hidden))


class Transformer(nn.Module):
    """Encoder, or decoder where attention is causal, with a head; returns logits.

    Parameters
    ----------
    embedding : nn.Module
        Turns a batch into (n, t, width) tokens. If it has a true ``padded``, its ``real_tokens``
        says which of them are no padding; a false ``ordered`` says that their order means nothing;
        ``drop_positions()`` removes position codes of its own.
    n_classes : int
        Number of logits.
    width, depth, n_heads : int
        Token length, number of blocks, heads per block.
    dropout : float
        In [0, 1).
    pooling : {"cls", "mean"}
        What the head reads: an extra learned token, or the mean of all tokens.
    parts : TransformerArchitecture or None, default=None
        What it is put together from; None takes the standard.

    Raises
    ------
    ValueError
        If the parts need an order that the tokens do not have, or wider heads.
    """

    codes: torch.Tensor | None

    def __init__(
        self,
        embedding: Any,
        *,
        n_classes: int,
        width: int,
        depth: int,
        n_heads: int,
        dropout: float,
        pooling: str,
        parts: TransformerArchitecture | None = None,
    ) -> None:
        super().__init__()
        parts = TransformerArchitecture() if parts is None else parts
        _check_places(parts, embedding, width // n_heads)
        self.init, self.activation = parts.init, parts.activation
        self.embedding = embedding
        if parts.positions != "learned" and hasattr(embedding, "drop_positions"):
            embedding.drop_positions()
        self.padded = getattr(embedding, "padded", False)
        self.cls_token = nn.Parameter(torch.empty(width)) if pooling == "cls" else None
        self.blocks = nn.ModuleList(
            Block(width=width, n_heads=n_heads, dropout=dropout, parts=parts) for _ in range(depth)
        )
        self.norm_head = build_norm(parts.norm, width)
        self.head_hidden = AlignedLinear(width, width) if parts.head == "mlp" else None
        self.head = AlignedLinear(width, n_classes)
        waves = torch.empty(embedding.n_tokens, width) if parts.positions == "sinusoidal" else None
        self.register_buffer("codes", waves, persistent=False)
        self.places = None
        if self.padded or (parts.needs_order and parts.positions != "sinusoidal"):
            self.places = Places(
                embedding.n_tokens,
                cls_first=self.cls_token is not None,
                n_heads=n_heads,
                head_width=width // n_heads,
                positions=parts.positions,
                span=parts.span,
                causal=parts.causal,
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map a batch of n rows to (n, n_classes) logits."""
        tokens = self.embedding(x)
        real = self.embedding.real_tokens(x) if self.padded else None
        sight = None if self.places is None else self.places(real)
        if self.codes is not None:
            tokens = tokens + self.codes
        features = self.norm_head(self._pooled(tokens, real, sight))
        if self.head_hidden is not None:
            features = ACTIVATIONS[self.activation](self.head_hidden(features))
        return self.head(features)

    def _pooled(
        self, tokens: torch.Tensor, real: torch.Tensor | None, sight: Sight | None
    ) -> torch.Tensor:
        """Turn (n, t, width) tokens into one vector per row, through all blocks."""
        if self.cls_token is None:
            for block in self.blocks:
                tokens = block(tokens, sight)
            return tokens.mean(1) if real is None else _mean_of_real(tokens, real)
        tokens = torch.cat([self.cls_token.expand(tokens.shape[0], 1, -1), tokens], dim=1)
        # The head reads one token only, so the last block computes only that one.
        for block in self.blocks[:-1]:
            tokens = block(tokens, sight)
        return self.blocks[-1](tokens, sight, first_only=True)[:, 0]

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw all weights from `generator`, and compute what depends on places only."""
        draw_maps(self, self.init, generator)
        self.embedding.reset_parameters(generator)
        if self.cls_token is not None:
            nn.init.normal_(self.cls_token, std=0.25, generator=generator)
        draw_head(self, self.init, generator)
        if self.codes is not None:
            self.codes.copy_(sinusoidal_codes(*self.codes.shape))
        if self.places is not None:
            self.places.fill()


def _mean_of_real(tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Average the tokens that are no padding."""
    kept = torch.where(real[..., None], tokens, 0.0)
    return kept.sum(1) / real.sum(1, keepdim=True)


def _check_places(parts: TransformerArchitecture, embedding: Any, head_width: int) -> None:
    """Refuse parts that read an order or pairs of numbers where there are none."""
    if parts.needs_order and not getattr(embedding, "ordered", True):
        raise ValueError(
            f"The columns of a table have no order, so positions must be 'learned' or 'none', span "
            f"None and causal False, got positions={parts.positions!r}, span={parts.span} and "
            f"causal={parts.causal}. If the columns have one, reshape them to X[:, :, None]."
        )
    if parts.positions == "rotary" and head_width < 2:
        raise ValueError(
            f"positions='rotary' turns pairs of numbers, so width must be at least 2 n_heads, got "
            f"{head_width} number per head. Take fewer heads."
        )


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
