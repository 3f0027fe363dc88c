"""Where tokens stand, what they may look at from there, and how distance counts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

__all__ = ["Places", "Sight", "alibi_slopes", "rotated", "rotation", "sinusoidal_codes", "visible"]

_LONGEST = 10_000.0


@dataclass(frozen=True)
class Sight:
    """What attention has to know about the places of one batch.

    Parameters
    ----------
    bias : torch.Tensor of shape (n or 1, n_heads or 1, t, t), or None
        Added to the logits of (query, key); minus infinity where the query must not look.
    rotation : torch.Tensor of shape (2, t, head_width // 2), or None
        Cosines and sines of the angles by which queries and keys are turned.
    """

    bias: torch.Tensor | None
    rotation: torch.Tensor | None

    def bias_of(self, n_queries: int) -> torch.Tensor | None:
        """Return the rows of the first queries."""
        return None if self.bias is None else self.bias[..., :n_queries, :]


class Places(nn.Module):
    """The geometry of a row of tokens, computed once.

    Parameters
    ----------
    n_tokens : int
        Tokens per row, without the "cls" token.
    cls_first : bool
        Whether a "cls" token stands before them.
    n_heads, head_width : int
        Heads, and numbers per head.
    positions : {"learned", "sinusoidal", "rotary", "alibi", "none"}
        As in ``TransformerArchitecture``.
    span : int or None
        Largest distance that is seen.
    causal : bool
        Whether tokens see earlier ones only.
    """

    bias: torch.Tensor | None
    rotation: torch.Tensor | None

    def __init__(
        self,
        n_tokens: int,
        *,
        cls_first: bool,
        n_heads: int,
        head_width: int,
        positions: str,
        span: int | None,
        causal: bool,
    ) -> None:
        super().__init__()
        self.n_tokens, self.cls_first, self.n_heads = n_tokens, cls_first, n_heads
        self.head_width, self.span, self.causal = head_width, span, causal
        self.alibi = positions == "alibi"
        n_places = n_tokens + cls_first
        shape = (1, n_heads if self.alibi else 1, n_places, n_places)
        limited = self.alibi or span is not None or causal
        # Filled by `fill`: where the module is built, tensors have no memory yet.
        self.register_buffer("bias", torch.empty(shape) if limited else None, persistent=False)
        turned = torch.empty(2, n_places, head_width // 2) if positions == "rotary" else None
        self.register_buffer("rotation", turned, persistent=False)

    @torch.no_grad()
    def fill(self) -> None:
        """Compute the numbers."""
        if self.rotation is not None:
            self.rotation.copy_(rotation(self.rotation.shape[1], self.head_width))
        if self.bias is None:
            return
        seen = visible(self.n_tokens, span=self.span, causal=self.causal, cls_first=self.cls_first)
        self.bias.zero_()
        if self.alibi:
            # The "cls" token has no place, so it has no distance.
            first = int(self.cls_first)
            place = torch.arange(self.n_tokens, dtype=torch.float64)
            distance = (place[:, None] - place).abs()
            slopes = alibi_slopes(self.n_heads)[:, None, None]
            self.bias[0, :, first:, first:].copy_(-slopes * distance)
        self.bias.masked_fill_(~seen, -torch.inf)

    def forward(self, real: torch.Tensor | None) -> Sight:
        """Return what the tokens of a batch see.

        Parameters
        ----------
        real : torch.Tensor of bool of shape (n, n_tokens), or None
            False for padding; None if all are real.

        Returns
        -------
        Sight
            In which nobody looks at padding, but each token at least at itself.
        """
        if real is None:
            return Sight(self.bias, self.rotation)
        if self.cls_first:
            real = torch.cat([torch.ones_like(real[:, :1]), real], dim=1)
        # Padding looks at itself: a softmax over nothing is not a number.
        itself = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
        seen = (real[:, None, :] | itself)[:, None]
        if self.bias is None:
            return Sight(seen, self.rotation)
        return Sight(torch.where(seen, self.bias, -torch.inf), self.rotation)


def sinusoidal_codes(n_tokens: int, width: int) -> torch.Tensor:
    """Return the codes of Vaswani et al. 2017, section 3.5.

    Parameters
    ----------
    n_tokens : int
        Positions, from 0.
    width : int
        Length of a code.

    Returns
    -------
    torch.Tensor of shape (n_tokens, width), float64
        Sines in even places, cosines in odd ones; place 2 i and 2 i + 1 of position p hold those of
        ``p / 10000 ** (2 i / width)``.
    """
    rates = _LONGEST ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(n_tokens, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :width]


def rotation(n_places: int, head_width: int) -> torch.Tensor:
    """Return the angles of Su et al. 2021, eq. 15, as cosines and sines.

    Parameters
    ----------
    n_places : int
        Places, from 0.
    head_width : int
        Numbers per head; an odd last one is not turned.

    Returns
    -------
    torch.Tensor of shape (2, n_places, head_width // 2), float64
        Cosine and sine of ``p / 10000 ** (i / half)`` for place p and pair i = 0 .. half - 1.
    """
    half = head_width // 2
    rates = _LONGEST ** (-torch.arange(half, dtype=torch.float64) / max(half, 1))
    angles = torch.arange(n_places, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.cos(), angles.sin()])


def rotated(x: torch.Tensor, turn: torch.Tensor | None) -> torch.Tensor:
    """Turn pairs of numbers, each place by its own angles.

    Parameters
    ----------
    x : torch.Tensor of shape (..., q, head_width)
        Queries or keys of the first q places.
    turn : torch.Tensor of shape (2, t, head_width // 2), or None
        From `rotation`; None leaves `x` as it is.

    Returns
    -------
    torch.Tensor of the same shape
        Number i of the first half is paired with number i of the second half.
    """
    if turn is None:
        return x
    half = turn.shape[-1]
    cos, sin = turn[:, : x.shape[-2]]
    a, b, rest = x.split([half, half, x.shape[-1] - 2 * half], dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], dim=-1)


def alibi_slopes(n_heads: int) -> torch.Tensor:
    """Return ``2 ** (-8 h / n_heads)`` for h = 1 .. n_heads (Press et al. 2022, section 3).

    Parameters
    ----------
    n_heads : int
        Heads; any number, also where it is no power of two.

    Returns
    -------
    torch.Tensor of shape (n_heads,), float64
        Largest first.
    """
    return 2.0 ** (-8.0 * torch.arange(1, n_heads + 1, dtype=torch.float64) / n_heads)


def visible(n_tokens: int, *, span: int | None, causal: bool, cls_first: bool) -> torch.Tensor:
    """Return who may look at whom.

    Parameters
    ----------
    n_tokens : int
        Tokens per row.
    span : int or None
        Largest distance.
    causal : bool
        Whether only earlier tokens and the token itself are seen.
    cls_first : bool
        Whether a "cls" token is stored first. It sees all. All see it, unless `causal`: then it
        counts as the last one.

    Returns
    -------
    torch.Tensor of bool of shape (t, t)
        Rows are queries, columns are keys; the diagonal is always True.
    """
    place = torch.arange(n_tokens)
    ahead = place[:, None] - place
    seen = torch.ones(n_tokens, n_tokens, dtype=torch.bool)
    if span is not None:
        seen &= ahead.abs() <= span
    if causal:
        seen &= ahead >= 0
    if not cls_first:
        return seen
    with_cls = torch.ones(n_tokens + 1, n_tokens + 1, dtype=torch.bool)
    with_cls[1:, 1:] = seen
    with_cls[1:, 0] = not causal
    return with_cls
